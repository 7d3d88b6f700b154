//! The certificate for hosts that have none, when nobody gave one: where a render finds it.
//!
//! It is an input of the render as watched objects are, in a store of its own, and never made by it: all replicas
//! render the same.

use crate::{HAProxyTemplateConfigSpec, ObjectRef, Snapshot, external_names, host_holds};
use serde_json::Value;

/// The name of its store. No watched resource has such a name.
pub const STORE: &str = "default certificate";

/// Whether a configuration wants one: its `extraContext.defaultCertificate` is a dict, empty or with the name of a
/// Secret, in whose place it stands while that cannot be used.
#[must_use]
pub fn is_wanted(spec: &HAProxyTemplateConfigSpec) -> bool {
    spec.templating_settings.extra_context.get("defaultCertificate").is_some_and(Value::is_object)
}

/// The name of the Secret that keeps that of the configuration `config`, in the configuration's namespace.
#[must_use]
pub fn secret_name(config: &str) -> String {
    format!("{config}-default-certificate")
}

/// `before`, the store until now, with `secret` (a Secret of type `kubernetes.io/tls`) as its only object, or none.
#[must_use]
pub fn store(mut before: Snapshot, secret: Option<&Value>) -> Snapshot {
    let name = |field: &str| {
        secret
            .and_then(|s| s.pointer(&format!("/metadata/{field}")))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (namespace, own) = (name("namespace"), name("name"));
    before.retain(|o| secret.is_some() && (&*o.reference.namespace, &*o.reference.name) == (namespace, own));
    if let Some(secret) = secret {
        before.put(ObjectRef::new(STORE, namespace, own), secret);
    }
    before.set_synced();
    before
}

impl HAProxyTemplateConfigSpec {
    /// The names of all stores that a render reads: those of the watched resources, and where they are wanted those of the
    /// default certificate, of external names and of what is kept of hosts.
    pub fn stores(&self) -> impl Iterator<Item = &str> {
        let certificate = is_wanted(self).then_some(STORE);
        let names = external_names::is_wanted(self).then_some(external_names::STORE);
        let holds = host_holds::is_wanted(self).then_some(host_holds::STORE);
        self.watched_resources.keys().map(String::as_str).chain(certificate).chain(names).chain(holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_store_holds_the_newest_secret_and_nothing_else() {
        let secret = |name: &str| json!({"metadata": {"namespace": "edge", "name": name}});
        let first = store(Snapshot::full(), Some(&secret("a")));
        assert!(first.is_synced() && first.get("edge", "a").is_some());
        assert!(store(first.clone(), Some(&secret("a"))).is_unchanged_since(&first));
        let second = store(first, Some(&secret("b")));
        assert_eq!(second.iter().map(|o| &*o.reference.name).collect::<Vec<_>>(), ["b"]);
        let none = store(second, None);
        assert!(none.is_empty() && none.is_synced());
    }
}
