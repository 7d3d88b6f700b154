//! The servers behind a port of a Service, from its EndpointSlices (`discovery.k8s.io/v1`).
//!
//! Follows what kube-proxy does: only ready endpoints count, and where there are none those that still serve while
//! they terminate. Knows nothing of templates' output.

use crate::{names::name_of, value::Value};
use std::collections::BTreeMap;

/// So many servers are looked at. A backend with more is none that HAProxy could use well.
const MOST_SERVERS: usize = 20_000;

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// `ADDRESS_PORT` as HAProxy takes it, the same as long as the endpoint lives.
    pub name: String,
    /// An IP address, in brackets when it is one of IPv6; a host name when `external`.
    pub address: String,
    /// Its port.
    pub port: u64,
    /// Whether the address is the host name of a Service of type ExternalName.
    pub external: bool,
}

/// The servers of `port` (a number or name) of `service`, whose EndpointSlices are `slices`: by address, each once.
///
/// Of a dual-stack Service those of its first address family count, so that no pod is there twice.
///
/// # Errors
/// When an object cannot be read.
pub fn servers(service: &Value, slices: &[Value], port: &Value) -> Result<Vec<Server>, String> {
    if text(service, &["spec", "type"])?.as_deref() == Some("ExternalName") {
        return external(service, port);
    }
    let Some(port_name) = port_name(service, port)? else { return Ok(Vec::new()) };
    let family = text(service, &["spec", "ipFamilies", "0"])?;
    let (mut ready, mut leaving) = (BTreeMap::new(), BTreeMap::new());
    for slice in slices {
        let slice = &slice.unread();
        let of_family = text(slice, &["addressType"])?;
        let foreign = |family: &str| of_family.as_deref().is_some_and(|own| own != family);
        if of_family.as_deref() == Some("FQDN") || family.as_deref().is_some_and(foreign) {
            continue;
        }
        let Some(number) = slice_port(slice, &port_name)? else { continue };
        for endpoint in items(slice, "endpoints")? {
            let into = match state(&endpoint)? {
                State::Ready => &mut ready,
                State::Leaving => &mut leaving,
                State::Absent => continue,
            };
            // The addresses of one endpoint all lead to the same pod.
            if let Some(address) = text(&endpoint, &["addresses", "0"])? {
                into.insert((address, number), ());
            }
        }
        if ready.len() + leaving.len() > MOST_SERVERS {
            return Err(format!("the Service has more than {MOST_SERVERS} endpoints"));
        }
    }
    let chosen = if ready.is_empty() { leaving } else { ready };
    Ok(chosen.into_keys().map(|(address, port)| server(&address, port)).collect())
}

enum State {
    Ready,
    /// It terminates and still answers.
    Leaving,
    Absent,
}

fn state(endpoint: &Value) -> Result<State, String> {
    let condition = |name: &str| -> Result<Option<bool>, String> {
        let conditions = field(endpoint, &["conditions"])?;
        Ok(match conditions.field(name)? {
            Some(Value::Bool(value)) => Some(*value),
            _ => None,
        })
    };
    // Unknown counts as ready and serving, and as not terminating (discovery/v1 EndpointConditions).
    let ready = condition("ready")?.unwrap_or(true);
    let leaving = condition("terminating")?.unwrap_or(false) && condition("serving")?.unwrap_or(ready);
    Ok(match (ready, leaving) {
        (true, _) => State::Ready,
        (false, true) => State::Leaving,
        (false, false) => State::Absent,
    })
}

fn server(address: &str, port: u64) -> Server {
    let name = name(address, port);
    let address = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    Server { name, address, port, external: false }
}

fn external(service: &Value, port: &Value) -> Result<Vec<Server>, String> {
    let Some(host) = text(service, &["spec", "externalName"])? else { return Ok(Vec::new()) };
    let named = find_port(service, port)?.and_then(|p| p.field("port").ok().flatten().and_then(number));
    // Such a Service need not list its ports.
    let Some(port) = named.or_else(|| number(port)) else { return Ok(Vec::new()) };
    let host = host.trim_end_matches('.').to_owned();
    Ok(vec![Server { name: name(&host, port), address: host, port, external: true }])
}

fn name(address: &str, port: u64) -> String {
    name_of(&[address, &port.to_string()], "").unwrap_or_default()
}

/// The name of a Service's port, "" if it has none; slices name their ports so.
fn port_name(service: &Value, port: &Value) -> Result<Option<String>, String> {
    let Some(found) = find_port(service, port)? else { return Ok(None) };
    Ok(Some(text(&found, &["name"])?.unwrap_or_default()))
}

fn find_port(service: &Value, wanted: &Value) -> Result<Option<Value>, String> {
    let key = if number(wanted).is_some() { "port" } else { "name" };
    let spec = field(service, &["spec"])?;
    for port in items(spec, "ports")? {
        if port.field(key)? == Some(wanted) {
            return Ok(Some(port));
        }
    }
    Ok(None)
}

fn slice_port(slice: &Value, name: &str) -> Result<Option<u64>, String> {
    for port in items(slice, "ports")? {
        if text(&port, &["name"])?.unwrap_or_default() == name {
            return Ok(port.field("port")?.and_then(number).filter(|n| (1..=65535).contains(n)));
        }
    }
    Ok(None)
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(n) => n.as_u64(),
        _ => None,
    }
}

fn items(value: &Value, key: &str) -> Result<Vec<Value>, String> {
    Ok(match value.field(key)? {
        Some(Value::List(items)) => items.to_vec(),
        _ => Vec::new(),
    })
}

fn field<'v>(value: &'v Value, keys: &[&str]) -> Result<&'v Value, String> {
    let mut here = value;
    for key in keys {
        match here.field(key)? {
            Some(next) => here = next,
            None => return Ok(&Value::Missing),
        }
    }
    Ok(here)
}

fn text(value: &Value, keys: &[&str]) -> Result<Option<String>, String> {
    Ok(match field(value, keys)? {
        Value::Text(text) if !text.is_empty() => Some(text.to_string()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn names(service: Json, slices: &[Json], port: Json) -> Vec<String> {
        let slices: Vec<Value> = slices.iter().map(Value::from).collect();
        let servers = servers(&Value::from(&service), &slices, &Value::from(&port)).unwrap();
        servers.into_iter().map(|s| format!("{}={}:{}", s.name, s.address, s.port)).collect()
    }

    fn service() -> Json {
        json!({"spec": {"ports": [{"name": "web", "port": 80}, {"name": "admin", "port": 81}]}})
    }

    fn slice(port_name: &str, port: u16, endpoints: Json) -> Json {
        json!({"addressType": "IPv4", "ports": [{"name": port_name, "port": port}], "endpoints": endpoints})
    }

    fn endpoint(address: &str, ready: bool, serving: bool, terminating: bool) -> Json {
        json!({"addresses": [address], "conditions": {"ready": ready, "serving": serving, "terminating": terminating}})
    }

    #[test]
    fn a_port_is_found_by_number_and_by_name_and_leads_to_the_pods_own_port() {
        let slices = [slice("web", 8080, json!([{"addresses": ["10.0.0.1"]}])), slice("admin", 9, json!([]))];
        assert_eq!(names(service(), &slices, json!(80)), ["10.0.0.1_8080=10.0.0.1:8080"]);
        assert_eq!(names(service(), &slices, json!("web")), ["10.0.0.1_8080=10.0.0.1:8080"]);
        assert!(names(service(), &slices, json!("nonesuch")).is_empty());
        assert!(names(service(), &slices, json!(8080)).is_empty());
    }

    #[test]
    fn endpoints_that_leave_count_only_where_none_is_ready() {
        let leaving = endpoint("10.0.0.2", false, true, true);
        let gone = endpoint("10.0.0.3", false, false, true);
        let starting = endpoint("10.0.0.4", false, false, false);
        let all = json!([endpoint("10.0.0.1", true, true, false), leaving, gone, starting]);
        assert_eq!(names(service(), &[slice("web", 1, all)], json!(80)), ["10.0.0.1_1=10.0.0.1:1"]);
        let none_ready = json!([leaving, gone, starting]);
        assert_eq!(names(service(), &[slice("web", 1, none_ready)], json!(80)), ["10.0.0.2_1=10.0.0.2:1"]);
    }

    #[test]
    fn an_endpoint_in_two_slices_is_one_server() {
        let twice = || slice("web", 1, json!([{"addresses": ["10.0.0.1"]}]));
        assert_eq!(names(service(), &[twice(), twice()], json!(80)).len(), 1);
    }

    #[test]
    fn of_a_dual_stack_service_the_first_family_counts() {
        let v4 = slice("web", 1, json!([{"addresses": ["10.0.0.1"]}]));
        let mut v6 = slice("web", 1, json!([{"addresses": ["fd00::1"]}]));
        v6["addressType"] = json!("IPv6");
        let mut service = service();
        service["spec"]["ipFamilies"] = json!(["IPv6", "IPv4"]);
        assert_eq!(names(service, &[v4, v6], json!(80)), ["fd00::1_1=[fd00::1]:1"]);
    }

    #[test]
    fn an_external_name_is_a_server_with_a_host_name() {
        let service = json!({"spec": {"type": "ExternalName", "externalName": "api.example.com."}});
        let servers = servers(&Value::from(&service), &[], &Value::from(&json!(443))).unwrap();
        assert_eq!(
            (&*servers[0].address, servers[0].port, servers[0].external),
            ("api.example.com", 443, true)
        );
    }

    #[test]
    fn a_thousand_endpoints_in_several_slices_are_a_thousand_servers() {
        let slices: Vec<Json> = (0..12)
            .map(|s| {
                let endpoints: Vec<Json> =
                    (0..100).map(|e| json!({"addresses": [format!("10.0.{s}.{e}")]})).collect();
                slice("web", 8080, json!(endpoints))
            })
            .collect();
        assert_eq!(names(service(), &slices, json!(80)).len(), 1200);
    }
}
