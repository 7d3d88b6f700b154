//! What the names of Services of type ExternalName lead to: where a render finds it.
//!
//! The addresses are an input of the render as watched objects are, in a store of their own, and never asked for by it:
//! the same stores give the same files. One object of the store is one name.

use crate::{HAProxyTemplateConfigSpec, Object, ObjectRef, Snapshot, store::Key};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

/// The name of the store. No watched resource has such a name.
pub const STORE: &str = "external names";

/// The longest name there is (RFC 1035, 2.3.4), without the dot at its end.
const LONGEST: usize = 253;

/// What `spec.externalName` of a Service says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternalTarget {
    /// An address, written as one.
    Address(IpAddr),
    /// A name to ask for: in lower case, with no dot at its end.
    Name(Arc<str>),
    /// Neither.
    Neither,
}

/// What is known of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// In their order, each once.
    pub addresses: Vec<IpAddr>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// All that is known, by name.
pub type ExternalNames = BTreeMap<Arc<str>, Resolved>;

impl ExternalTarget {
    /// Reads it.
    ///
    /// What ends in a number is an address or nothing: `127.1`, `0x7f000001` and `2130706433` are addresses to some
    /// programs, and names to none (WHATWG URL, "ends in a number").
    #[must_use]
    pub fn of(external_name: &str) -> Self {
        let text = external_name.strip_suffix('.').unwrap_or(external_name).to_ascii_lowercase();
        if let Ok(address) = text.parse() {
            return Self::Address(address);
        }
        let is_label = |label: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            (1..=63).contains(&label.len()) && label.bytes().all(fits)
        };
        let is_number = |label: &str| {
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let hexadecimal = |text: &str| {
                text.strip_prefix("0x").is_some_and(|x| x.bytes().all(|b| b.is_ascii_hexdigit()))
            };
            digits(label) || hexadecimal(label)
        };
        let is_name = text.len() <= LONGEST && text.split('.').all(is_label);
        if is_name && !text.rsplit('.').next().is_some_and(is_number) {
            Self::Name(text.into())
        } else {
            Self::Neither
        }
    }
}

impl HAProxyTemplateConfigSpec {
    /// The names of the stores that hold Services.
    pub fn service_stores(&self) -> impl Iterator<Item = &str> {
        let services = |(_, watched): &(&String, &crate::crd::WatchedResource)| {
            watched.api_version == "v1" && watched.resources == "services"
        };
        self.watched_resources.iter().filter(services).map(|(name, _)| name.as_str())
    }
}

/// Whether a configuration wants them: it watches Services.
#[must_use]
pub fn is_wanted(spec: &HAProxyTemplateConfigSpec) -> bool {
    spec.service_stores().next().is_some()
}

/// Where the store has `name`.
#[must_use]
pub fn key(name: &Arc<str>) -> Key {
    [name.clone()].into()
}

/// `before`, the store until now, with what is known now.
#[must_use]
pub fn store(mut before: Snapshot, known: &ExternalNames) -> Snapshot {
    before.retain(|object| known.contains_key(&object.reference.name));
    for (name, resolved) in known {
        let json = serde_json::to_vec(resolved).unwrap_or_default();
        before.apply(Object::new(ObjectRef::new(STORE, "", name), json), key(name));
    }
    before.set_synced();
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_name_an_address_or_neither() {
        for name in [
            "shop.example",
            "a",
            "localhost",
            "db.other.svc.cluster.local",
            "_x._tcp.example",
            "1.example",
            "0x7f.1.a",
            "0xfg",
        ] {
            assert_eq!(ExternalTarget::of(name), ExternalTarget::Name(name.into()), "{name}");
        }
        assert_eq!(ExternalTarget::of("Shop.Example."), ExternalTarget::Name("shop.example".into()));
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "203.0.113.7"] {
            assert_eq!(ExternalTarget::of(address), ExternalTarget::Address(address.parse().unwrap()));
        }
        let long = format!("{}.example", ["a"; 130].join("."));
        for neither in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            "a b",
            "a:80",
            "[::1]",
            "a/b",
            "ä.example",
            "127.1",
            "0x7f.1",
            "0x7f000001",
            "2130706433",
            "0177.0.0.1",
            "127.0.0.256",
            "a.0x7f",
            "example.1",
            "fe80::1%eth0",
            "a\nb",
            &long,
        ] {
            assert_eq!(ExternalTarget::of(neither), ExternalTarget::Neither, "{neither}");
        }
        assert_eq!(ExternalTarget::of("127.0.0.1."), ExternalTarget::Address("127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn the_store_holds_what_is_known_and_changes_with_it_alone() {
        let resolved =
            |address: &str| Resolved { addresses: vec![address.parse().unwrap()], why: String::new() };
        let mut known: ExternalNames =
            [("a.example".into(), resolved("10.0.0.1")), ("b.example".into(), resolved("10.0.0.2"))].into();
        let first = store(Snapshot::full(), &known);
        assert!(first.is_synced() && first.len() == 2);
        assert!(store(first.clone(), &known).is_unchanged_since(&first));
        known.insert("a.example".into(), resolved("10.0.0.3"));
        let second = store(first.clone(), &known);
        let version = |store: &Snapshot, name: &str| store.version_of(&key(&name.into()));
        assert_ne!(version(&first, "a.example"), version(&second, "a.example"));
        assert_eq!(version(&first, "b.example"), version(&second, "b.example"));
        known.remove("a.example");
        assert_eq!(store(second, &known).len(), 1);
    }
}
