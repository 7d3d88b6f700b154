//! What Services among the manifests say.

use super::manifest::MovedIngress;
use crate::migrate::convert::manifest::{annotations_of, name_of};
use haptic_routes::options::{PREFIX, Settings, Written, level::Level};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// A Service among the manifests.
#[derive(Debug)]
struct NotedService {
    annotations: BTreeMap<String, String>,
    /// What annotations of ours say.
    options: Written,
    /// Numbers of ports by their names.
    ports: BTreeMap<String, u16>,
    /// Whether it is another name of something that is no part of the cluster.
    is_external_name: bool,
}

/// All of them, by namespace and name.
#[derive(Debug, Default)]
pub(super) struct NotedServices(HashMap<(String, String), NotedService>);

impl NotedServices {
    pub fn note(&mut self, service: &Value, settings: &Settings) {
        let annotations = annotations_of(service);
        let own = annotations.iter().filter_map(|(key, text)| Some((key.strip_prefix(PREFIX)?, &**text)));
        let noted = NotedService {
            options: Written::read(Level::Service, own, settings),
            ports: ports_of(service),
            is_external_name: service.pointer("/spec/type").and_then(Value::as_str) == Some("ExternalName"),
            annotations,
        };
        self.0.insert(name_of(service), noted);
    }

    fn of(&self, namespace: &str, name: &str) -> Option<&NotedService> {
        self.0.get(&(namespace.to_owned(), name.to_owned()))
    }

    pub fn options(&self, namespace: &str, name: &str) -> Option<&Written> {
        self.of(namespace, name).map(|service| &service.options)
    }

    pub fn is_external_name(&self, namespace: &str, name: &str) -> bool {
        self.of(namespace, name).is_some_and(|service| service.is_external_name)
    }

    /// The number of a port that has a name.
    pub fn port(&self, namespace: &str, name: &str, port: &str) -> Option<u16> {
        self.of(namespace, name)?.ports.get(port).copied()
    }

    /// The annotations of those that the paths of an Ingress lead to.
    pub fn annotations(
        &self,
        namespace: &str,
        ingress: &MovedIngress,
    ) -> Vec<(Arc<str>, &BTreeMap<String, String>)> {
        let of = |name: &str| Some((Arc::from(name), &self.of(namespace, name)?.annotations));
        ingress.services().into_iter().filter_map(of).collect()
    }
}

/// The ports of a Service that have names.
fn ports_of(service: &Value) -> BTreeMap<String, u16> {
    let ports = service.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten();
    let one = |port: &Value| {
        let text = |field: &str| port.get(field).and_then(Value::as_str);
        Some((text("name")?.to_owned(), text("port")?.parse::<u16>().ok()?))
    };
    ports.filter_map(one).collect()
}
