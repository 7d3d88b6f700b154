//! What Ingresses of a namespace say of a host for each other: the route model is asked, as it is for Ingresses that are served.

use super::{manifest::with_numbers, noted::NotedIngress};
use crate::migrate::convert::manifest::annotations_of;
use haptic_routes::{
    class::Classes,
    contest::Age,
    families::neighbours::{HostOptions, OptionValues, PathOfType},
    ingress,
    matching::host_of,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// What is said of one host.
#[derive(Debug, Default)]
struct KnownHost {
    /// Whether all of its paths are expressions.
    patterns: bool,
    tls: bool,
    canaries: BTreeMap<PathOfType, OptionValues>,
}

/// By which what an Ingress says counts first: its age, namespace and name.
type SeniorityOf<'i> = (Age, &'i str, &'i str);

/// What it says of hosts.
type HostsSaid = Vec<(Arc<str>, HostOptions)>;

/// All hosts, by namespace and name.
#[derive(Debug, Default)]
pub(super) struct KnownHosts(HashMap<(String, Arc<str>), KnownHost>);

impl KnownHosts {
    /// By all Ingresses, of which the oldest counts first.
    pub fn of(ingresses: &[NotedIngress], classes: &Classes) -> Self {
        let mut all: Vec<(SeniorityOf<'_>, HostsSaid)> = Vec::new();
        for one in ingresses {
            let (age, hosts) = ingress::host_options(&as_stored(one), classes);
            all.push(((age, &one.namespace, &one.name), hosts));
        }
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut known = Self::default();
        for ((_, namespace, _), hosts) in all {
            for (host, options) in hosts {
                let of_host = known.0.entry((namespace.to_owned(), host)).or_default();
                of_host.patterns |= options.patterns;
                of_host.tls |= options.tls;
                for (path, canary) in options.canaries {
                    of_host.canaries.entry(path).or_insert(canary);
                }
            }
        }
        known
    }

    fn host(&self, namespace: &str, host: &str) -> Option<&KnownHost> {
        self.0.get(&(namespace.to_owned(), host_of(host)))
    }

    pub fn has_patterns(&self, namespace: &str, host: &str) -> bool {
        self.host(namespace, host).is_some_and(|known| known.patterns)
    }

    pub fn has_tls(&self, namespace: &str, host: &str) -> bool {
        self.host(namespace, host).is_some_and(|known| known.tls)
    }

    pub fn canary(&self, namespace: &str, host: &str, path: &str, kind: &str) -> Option<&OptionValues> {
        self.host(namespace, host)?.canaries.get(&(path.to_owned(), kind.to_owned()))
    }
}

/// An Ingress as the API server would have it.
fn as_stored(noted: &NotedIngress) -> Vec<u8> {
    let NotedIngress { namespace, name, value, .. } = noted;
    let created = value.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    let metadata = json!({
        "namespace": namespace, "name": name, "annotations": annotations_of(value), "creationTimestamp": created,
    });
    json!({"metadata": metadata, "spec": with_numbers(value.get("spec"))}).to_string().into_bytes()
}
