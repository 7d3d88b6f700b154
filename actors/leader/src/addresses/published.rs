//! Which addresses Ingresses get: those of a Service, those that the configuration names, or both.

use k8s_openapi::api::{core::v1::Service, networking::v1::IngressLoadBalancerIngress as Address};
use std::net::IpAddr;

/// The addresses of `service`, then `configured` ones; no address twice.
///
/// Of a Service of type `LoadBalancer` those that its cloud gave it, of any its `externalIPs`, and if it has neither
/// its cluster address, which is all that reaches it.
#[must_use]
pub fn addresses(service: Option<&Service>, configured: &[String]) -> Vec<Address> {
    let mut all: Vec<Address> = service.map(of_service).unwrap_or_default();
    all.extend(configured.iter().map(|text| address(text)));
    let mut unique: Vec<Address> = Vec::new();
    for one in all {
        if !unique.contains(&one) {
            unique.push(one);
        }
    }
    unique
}

fn of_service(service: &Service) -> Vec<Address> {
    let balancer = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let given = balancer.and_then(|balancer| balancer.ingress.as_deref()).unwrap_or_default();
    let mut found: Vec<Address> = given
        .iter()
        .map(|one| Address { ip: one.ip.clone(), hostname: one.hostname.clone(), ports: None })
        .collect();
    let Some(spec) = &service.spec else { return found };
    found.extend(spec.external_ips.iter().flatten().map(|ip| address(ip)));
    let waits = spec.type_.as_deref() == Some("LoadBalancer");
    if found.is_empty() && !waits {
        let cluster = spec.cluster_ip.iter().filter(|ip| ip.parse::<IpAddr>().is_ok());
        found.extend(cluster.map(|ip| address(ip)));
    }
    found
}

/// An IP address, or else a host name.
fn address(text: &str) -> Address {
    let is_ip = text.parse::<IpAddr>().is_ok();
    let text = Some(text.to_owned());
    if is_ip {
        Address { ip: text, ..Address::default() }
    } else {
        Address { hostname: text, ..Address::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn service(value: Value) -> Service {
        serde_json::from_value(value).unwrap()
    }

    fn shown(service: Option<&Service>, configured: &[&str]) -> Vec<String> {
        let configured: Vec<String> = configured.iter().map(|&text| text.to_owned()).collect();
        let text = |one: Address| one.ip.or(one.hostname.map(|host| format!("host {host}"))).unwrap();
        addresses(service, &configured).into_iter().map(text).collect()
    }

    #[test]
    fn a_load_balancers_addresses_come_first_and_none_twice() {
        let service = service(json!({
            "spec": {"type": "LoadBalancer", "externalIPs": ["192.0.2.9"], "clusterIP": "10.0.0.1"},
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}, {"hostname": "lb.example"}]}}
        }));
        let shown = shown(Some(&service), &["192.0.2.7", "edge.example"]);
        assert_eq!(shown, ["192.0.2.7", "host lb.example", "192.0.2.9", "host edge.example"]);
    }

    #[test]
    fn a_load_balancer_without_an_address_has_none_yet() {
        let service = service(json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1"}}));
        assert!(shown(Some(&service), &[]).is_empty());
    }

    #[test]
    fn another_service_is_reached_at_its_cluster_address() {
        assert_eq!(shown(Some(&service(json!({"spec": {"clusterIP": "10.0.0.1"}}))), &[]), ["10.0.0.1"]);
        assert!(shown(Some(&service(json!({"spec": {"clusterIP": "None"}}))), &[]).is_empty());
    }

    #[test]
    fn without_a_service_there_are_the_configured_ones() {
        assert_eq!(shown(None, &["2001:db8::1"]), ["2001:db8::1"]);
    }
}
