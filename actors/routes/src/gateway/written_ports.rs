//! The ports that Services of Gateways have, by the Gateway: there may be thousands of Services, and of Gateways' ports.

use super::objects::{KnownPort, ServiceFacts};
use haptic_model::gateway::{GATEWAY_NAME, NamespacedName, gateway_label};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// A Service's namespace and the Gateway that its label names.
type LabelledGateway<'s> = (&'s str, &'s str);

/// Which port of HAProxy stands behind each of a Gateway's, as Services have it.
pub(super) struct WrittenPorts<'s>(HashMap<LabelledGateway<'s>, BTreeMap<u16, Option<u16>>>);

impl<'s> WrittenPorts<'s> {
    /// Of two Services of a Gateway that have a port the first one counts.
    pub fn of(services: &'s [Arc<ServiceFacts>]) -> Self {
        let mut all: HashMap<LabelledGateway<'s>, BTreeMap<u16, Option<u16>>> = HashMap::new();
        for service in services {
            let Some(label) = service.metadata.labels.get(GATEWAY_NAME) else { continue };
            let ports = all.entry((&service.metadata.namespace, label)).or_default();
            for port in &service.spec.ports {
                ports.entry(port.port).or_insert_with(|| target_of(port));
            }
        }
        Self(all)
    }

    /// The port in a Gateway's Service.
    pub fn at(&self, gateway: &NamespacedName, port: u16) -> Option<u16> {
        let label = gateway_label(&gateway.1);
        *self.0.get(&(&*gateway.0, label.as_str()))?.get(&port)?
    }
}

fn target_of(port: &KnownPort) -> Option<u16> {
    u16::try_from(port.target_port.as_ref()?.as_u64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// The port by the definition: all Services are looked at.
    fn defined(services: &[Arc<ServiceFacts>], gateway: &NamespacedName, port: u16) -> Option<u16> {
        let label = gateway_label(&gateway.1);
        let of_gateway = services.iter().filter(|service| {
            service.metadata.namespace == gateway.0
                && service.metadata.labels.get(GATEWAY_NAME) == Some(&label)
        });
        let mut ports = of_gateway.flat_map(|service| &service.spec.ports);
        target_of(ports.find(|one| one.port == port)?)
    }

    fn any_service() -> impl Strategy<Value = Arc<ServiceFacts>> {
        let target =
            prop::sample::select(vec![json!(1), json!(2), json!("http"), json!(70_000), Value::Null]);
        let ports = prop::collection::vec((1_u16..4, target), 0..4);
        let names = || prop::sample::select(vec!["a", "b"]);
        (names(), prop::option::of(names()), ports).prop_map(|(namespace, label, ports)| {
            let ports: Vec<Value> =
                ports.iter().map(|(port, target)| json!({"port": port, "targetPort": target})).collect();
            let labels: BTreeMap<&str, &str> = label.into_iter().map(|label| (GATEWAY_NAME, label)).collect();
            let metadata = json!({"namespace": namespace, "labels": labels});
            let service = json!({"metadata": metadata, "spec": {"ports": ports}});
            Arc::new(serde_json::from_value(service).unwrap())
        })
    }

    proptest! {
        #[test]
        fn one_look_finds_the_port_that_looking_at_all_services_finds(
            services in prop::collection::vec(any_service(), 0..8),
        ) {
            let written = WrittenPorts::of(&services);
            for (namespace, gateway) in [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")] {
                let gateway = (namespace.into(), gateway.into());
                for port in 0..5 {
                    prop_assert_eq!(written.at(&gateway, port), defined(&services, &gateway, port));
                }
            }
        }
    }
}
