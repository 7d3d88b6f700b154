//! Secrets and ConfigMaps that options name, in the namespace of who names them.

use serde_json::{Map, Value};
use std::{collections::BTreeSet, sync::Arc};

/// The options that name objects, and the consequence where one is not there.
static OPTIONS: [(&str, NamedKind, &str); 6] = [
    ("auth-secret", NamedKind::Secret, "all requests are refused"),
    ("client-ca-secret", NamedKind::Secret, "all requests are refused"),
    ("error-pages", NamedKind::ConfigMap, "errors have HAProxy's own pages"),
    ("server-ca-config-map", NamedKind::ConfigMap, "no server is trusted"),
    ("server-ca-secret", NamedKind::Secret, "no server is trusted"),
    ("server-certificate-secret", NamedKind::Certificate, "no server gets requests"),
];

/// The kind of an object that an option names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NamedKind {
    /// A labelled Secret.
    Secret,
    /// A Secret with a certificate and its key.
    Certificate,
    /// A labelled ConfigMap.
    ConfigMap,
}

/// An object that an option names, in the namespace of who names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamedObject {
    pub option: &'static str,
    pub kind: NamedKind,
    pub name: Arc<str>,
    /// The consequence where it is not there.
    pub without: &'static str,
}

/// The objects that the options of groups name, each once.
pub(crate) fn named_by<'o>(groups: impl Iterator<Item = &'o Map<String, Value>>) -> Vec<NamedObject> {
    let named = groups.flat_map(|options| {
        OPTIONS.iter().filter_map(move |&(option, kind, without)| {
            // What the class names is the operator's.
            let name = options.get(option)?.as_str().filter(|name| !name.contains('/'))?.into();
            let asks_nobody = option == "client-ca-secret"
                && options.get("client-certificate").and_then(Value::as_str) == Some("optional");
            let without = if asks_nobody { "no client is asked for a certificate" } else { without };
            Some(NamedObject { option, kind, name, without })
        })
    });
    named.collect::<BTreeSet<NamedObject>>().into_iter().collect()
}
