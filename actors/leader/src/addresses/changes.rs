//! Which Ingresses have another status than they should.

use haptic_model::{Snapshot, gateway::NamespacedName};
use k8s_openapi::api::networking::v1::IngressLoadBalancerIngress as Address;
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// One status to write.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusChange {
    /// Whose.
    pub name: NamespacedName,
    /// What it should be; nothing: it is not served any more.
    pub addresses: Vec<Address>,
}

/// What this process has written, for stores that leave the status out, and to know what to clear.
#[derive(Clone, Debug, Default)]
pub struct WrittenStatuses(HashMap<NamespacedName, Vec<Address>>);

impl WrittenStatuses {
    /// Remembers a write that succeeded.
    pub fn note(&mut self, change: &StatusChange) {
        self.0.insert(change.name.clone(), change.addresses.clone());
    }

    /// The statuses to write so that those of `served` have `addresses` and others do not.
    ///
    /// What another controller wrote to an Ingress that we do not serve is left alone: cleared is only what this
    /// process wrote, or what has exactly our addresses, as the leader before us wrote them.
    pub fn changes(
        &mut self,
        ingresses: &Snapshot,
        served: &HashSet<NamespacedName>,
        addresses: &[Address],
    ) -> Vec<StatusChange> {
        self.0.retain(|(namespace, name), _| ingresses.get(namespace, name).is_some());
        let mut changes = Vec::new();
        for object in ingresses.iter() {
            let name = (Arc::clone(&object.reference.namespace), Arc::clone(&object.reference.name));
            let seen = object.value().ok().and_then(|value| status_in(&value));
            let has = seen.or_else(|| self.0.get(&name).cloned());
            let ours = has.as_deref() == Some(addresses) || self.0.get(&name).is_some_and(|w| !w.is_empty());
            let wanted: &[Address] = if served.contains(&name) { addresses } else { &[] };
            let is = has.unwrap_or_default();
            if is != wanted && (served.contains(&name) || ours) {
                changes.push(StatusChange { name, addresses: wanted.to_vec() });
            }
        }
        changes
    }
}

/// The addresses in an object's status; `None` when the store has no status of it.
fn status_in(ingress: &Value) -> Option<Vec<Address>> {
    let status = ingress.get("status")?;
    let addresses = status.pointer("/loadBalancer/ingress").cloned().unwrap_or(Value::Array(Vec::new()));
    let mut addresses: Vec<Address> = serde_json::from_value(addresses).ok()?;
    addresses.iter_mut().for_each(|address| address.ports = None);
    Some(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::ObjectRef;
    use serde_json::json;

    fn ip(ip: &str) -> Address {
        Address { ip: Some(ip.to_owned()), ..Address::default() }
    }

    fn name(name: &str) -> NamespacedName {
        ("default".into(), name.into())
    }

    /// Ingresses by name, each with the address in its status.
    fn store(ingresses: &[(&str, Option<&str>)]) -> Snapshot {
        let mut store = Snapshot::full();
        for (name, address) in ingresses {
            let ingress: Vec<Value> = address.iter().map(|ip| json!({"ip": ip})).collect();
            let object = json!({"status": {"loadBalancer": {"ingress": ingress}}});
            store.put(ObjectRef::new("ingresses", "default", name), &object);
        }
        store
    }

    #[test]
    fn served_ones_get_the_addresses_once() {
        let (mut written, served) = (WrittenStatuses::default(), HashSet::from([name("a"), name("b")]));
        let all = store(&[("a", None), ("b", Some("192.0.2.7")), ("c", None)]);
        let changes = written.changes(&all, &served, &[ip("192.0.2.7")]);
        assert_eq!(changes, [StatusChange { name: name("a"), addresses: vec![ip("192.0.2.7")] }]);
        let after = store(&[("a", Some("192.0.2.7")), ("b", Some("192.0.2.7")), ("c", None)]);
        assert!(written.changes(&after, &served, &[ip("192.0.2.7")]).is_empty());
    }

    #[test]
    fn one_that_is_not_served_any_more_is_cleared_whoever_of_us_wrote_it() {
        let all = store(&[("a", Some("192.0.2.7")), ("foreign", Some("198.51.100.1"))]);
        let changes = WrittenStatuses::default().changes(&all, &HashSet::new(), &[ip("192.0.2.7")]);
        assert_eq!(changes, [StatusChange { name: name("a"), addresses: vec![] }]);
    }

    #[test]
    fn what_this_process_wrote_is_cleared_when_no_address_is_left() {
        let (mut written, served) = (WrittenStatuses::default(), HashSet::from([name("a")]));
        written.note(&StatusChange { name: name("a"), addresses: vec![ip("192.0.2.7")] });
        let all = store(&[("a", Some("192.0.2.7"))]);
        assert_eq!(
            written.changes(&all, &served, &[]),
            [StatusChange { name: name("a"), addresses: vec![] }]
        );
    }

    #[test]
    fn a_store_without_statuses_is_written_to_once() {
        let mut store = Snapshot::full();
        store.put(ObjectRef::new("ingresses", "default", "a"), b"{}".as_slice());
        let (mut written, served) = (WrittenStatuses::default(), HashSet::from([name("a")]));
        let changes = written.changes(&store, &served, &[ip("192.0.2.7")]);
        assert_eq!(changes.len(), 1);
        written.note(&changes[0]);
        assert!(written.changes(&store, &served, &[ip("192.0.2.7")]).is_empty());
    }
}
