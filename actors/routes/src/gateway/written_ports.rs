//! The ports that Services of Gateways have, by the Gateway: there may be thousands of Services, and of Gateways' ports.

use super::objects::ServiceFacts;
use haptic_model::gateway::{NamespacedName, service_name};
use std::{collections::HashMap, sync::Arc};

/// The port of HAProxy behind each of a Gateway's, as its Service has it. The Service is known by its name: others say nothing, whatever labels
/// they have.
pub(super) struct WrittenPorts<'s>(HashMap<(&'s str, &'s str), &'s ServiceFacts>);

impl<'s> WrittenPorts<'s> {
    pub fn of(services: &'s [Arc<ServiceFacts>]) -> Self {
        let named = |service: &'s Arc<ServiceFacts>| {
            ((&*service.metadata.namespace, &*service.metadata.name), &**service)
        };
        Self(services.iter().map(named).collect())
    }

    /// The port in the Service that was made for the Gateway with this uid.
    pub fn at(&self, gateway: &NamespacedName, uid: &str, port: u16) -> Option<u16> {
        self.service_of(gateway).filter(|service| service.is_of_gateway(uid))?.port(port)?.target_number()
    }

    /// Whether the Service of a Gateway, which may be gone, leads to this port of HAProxy.
    pub fn lead_to(&self, gateway: &NamespacedName, target: u16) -> bool {
        let mut ports = self.service_of(gateway).into_iter().flat_map(|service| &service.spec.ports);
        ports.any(|one| one.target_number() == Some(target))
    }

    fn service_of(&self, gateway: &NamespacedName) -> Option<&'s ServiceFacts> {
        let name = service_name(&gateway.1);
        self.0.get(&(&*gateway.0, &*name)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn service(name: &str, uid: &str) -> Arc<ServiceFacts> {
        let owner = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "name": "web", "uid": uid,
            "controller": true});
        let ports = json!([
            {"port": 80, "targetPort": 20_000},
            {"port": 90, "targetPort": "http"},
            {"port": 443, "targetPort": 20_001}
        ]);
        let metadata = json!({"namespace": "infra", "name": name, "ownerReferences": [owner]});
        let service = json!({"metadata": metadata, "spec": {"ports": ports}});
        Arc::new(serde_json::from_value(service).unwrap())
    }

    #[test]
    fn the_service_that_was_made_for_a_gateway_says_its_ports_and_no_other() {
        let gateway = ("infra".into(), "web".into());
        let all = [service("decoy", "1"), service(&service_name("web"), "1")];
        let written = WrittenPorts::of(&all);
        assert_eq!(
            [80, 443, 90, 8080].map(|port| written.at(&gateway, "1", port)),
            [Some(20_000), Some(20_001), None, None]
        );
        assert_eq!(written.at(&gateway, "2", 80), None, "it was made for a Gateway that is gone");
        assert!(written.lead_to(&gateway, 20_001) && !written.lead_to(&gateway, 80));
        let decoys = [service("decoy", "1")];
        let decoys = WrittenPorts::of(&decoys);
        assert_eq!((decoys.at(&gateway, "1", 80), decoys.lead_to(&gateway, 20_001)), (None, false));
    }
}
