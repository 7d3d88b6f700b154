//! Why a Service has no servers.

use super::{
    super::explanation::Context,
    fields::{list, part, text},
};
use haptic_model::{Object, ObjectRef, Snapshot};
use serde_json::Value;
use std::sync::Arc;

/// A Service and a port of it, as an object names them.
pub struct ServiceRef<'a> {
    pub object: &'a ObjectRef,
    pub namespace: &'a str,
    pub name: &'a str,
    /// Either this, or a number.
    pub port_name: Option<&'a str>,
    pub port_number: Option<&'a Value>,
}

impl ServiceRef<'_> {
    /// `None` if it has servers, or nothing is known of it.
    pub fn why_without_servers(&self, context: &Context<'_>) -> Option<String> {
        let Self { object, namespace, name, .. } = self;
        let services = store(context, "services")?;
        let is_it = |object: &&Arc<Object>| {
            *object.reference.namespace == **namespace && *object.reference.name == **name
        };
        let Some(service) = services.iter().find(is_it).and_then(|service| service.value().ok()) else {
            return Some(format!("{object}: there is no Service {namespace}/{name}"));
        };
        let endpoints = self.endpoints(context)?;
        let is_ready = |endpoint: &&Value| part(endpoint, "/conditions/ready") != false;
        match (endpoints.len(), endpoints.iter().filter(is_ready).count()) {
            (0, _) => {
                Some(format!("Service {namespace}/{name} has no endpoints: does its selector match a pod?"))
            }
            (all, 0) => {
                Some(format!("Service {namespace}/{name} has {all} endpoints, and none of them is ready"))
            }
            _ => self.why_without_port(&service),
        }
    }

    fn endpoints(&self, context: &Context<'_>) -> Option<Vec<Value>> {
        let slices = store(context, "endpointslices")?;
        let of_namespace = slices.iter().filter(|object| *object.reference.namespace == *self.namespace);
        let of_service = of_namespace
            .filter_map(|object| object.value().ok())
            .filter(|slice| text(slice, "/metadata/labels/kubernetes.io~1service-name") == Some(self.name));
        Some(of_service.flat_map(|slice| list(&slice, "/endpoints").to_vec()).collect())
    }

    fn why_without_port(&self, service: &Value) -> Option<String> {
        let is_named = |port: &Value| match self.port_name {
            Some(name) => text(port, "/name") == Some(name),
            None => port.pointer("/port") == self.port_number,
        };
        let port = match (self.port_name, self.port_number) {
            (Some(name), _) => name.to_owned(),
            (None, Some(number)) => number.to_string(),
            (None, None) => return None,
        };
        let is_there = list(service, "/spec/ports").iter().any(is_named);
        let Self { namespace, name, .. } = self;
        (!is_there).then(|| format!("Service {namespace}/{name} does not have the port {port}"))
    }
}

fn store<'c>(context: &Context<'c>, resources: &str) -> Option<&'c Arc<Snapshot>> {
    let watched = &context.config.spec.watched_resources;
    let known = watched.iter().find(|(_, watched)| watched.resources == resources)?;
    context.snapshots.get(known.0)
}
