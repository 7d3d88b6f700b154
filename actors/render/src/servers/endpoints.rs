//! The servers behind a port of a Service, from its EndpointSlices (`discovery.k8s.io/v1`), or from what its name leads to.
//!
//! Follows what kube-proxy does: only ready endpoints count, and where there are none those that still serve while
//! they terminate. What may be no server is left out ([`destinations`](super::destinations)). Knows nothing of templates'
//! output.

use super::destinations::{Destinations, Refusal};
use crate::value::Value;
use haptic_model::external_names::{ExternalTarget, Resolved};
use haptic_routes::names::name_of;
use std::{collections::BTreeSet, net::IpAddr, sync::Arc};

/// The most servers that are looked at. A backend with more is none that HAProxy could use well.
const MOST_SERVERS: usize = 20_000;
/// The most ports of a Service or a slice that are looked through, for each port that somebody asks for.
const MOST_PORTS: usize = 1000;

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// `ADDRESS_PORT` as HAProxy takes it, the same as long as the endpoint lives.
    pub name: String,
    /// An IP address, in brackets when it is one of IPv6.
    pub address: String,
    /// Its port.
    pub port: u64,
    /// Whether a Service of type ExternalName leads there.
    pub external: bool,
    /// Whether the configuration names its network.
    pub named: bool,
}

/// The servers that a port of a Service leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// By address, each once.
    pub servers: Vec<Server>,
    /// The addresses that are no servers though the objects name them, and why: the first few.
    pub left_out: Vec<String>,
    /// How many more there are.
    pub more_left_out: usize,
    /// Whether any of it would be a server if its network were allowed.
    pub is_refused: bool,
}

/// The facts beside the objects themselves.
pub struct Surroundings<'s> {
    /// Where servers may be.
    pub destinations: Destinations<'s>,
    /// The addresses of the name of an ExternalName.
    pub resolved: &'s dyn Fn(&Arc<str>) -> Option<Resolved>,
    /// Whether a Service that leads to HAProxy's own pods has that address and port.
    pub leads_to_fleet: &'s dyn Fn(IpAddr, u64) -> bool,
}

impl Surroundings<'_> {
    fn refusal(&self, address: IpAddr, port: u64) -> Option<Refusal> {
        self.destinations.refusal(address, port).or_else(|| {
            let leads_back = !self.destinations.names(address) && (self.leads_to_fleet)(address, port);
            leads_back.then_some(Refusal::FleetService)
        })
    }
}

/// The servers of `port` (a number or name) of `service`, whose EndpointSlices are `slices`.
///
/// Of a dual-stack Service those of its first address family count, so that no pod is there twice.
///
/// # Errors
/// When an object cannot be read.
pub fn servers(
    service: &Value,
    slices: &[Value],
    port: &Value,
    surroundings: &Surroundings<'_>,
) -> Result<Found, String> {
    if text(service, &["spec", "type"])?.as_deref() == Some("ExternalName") {
        return external(service, port, surroundings);
    }
    let mut found = Found::default();
    let Some(port_name) = port_name(service, port)? else { return Ok(Found::default()) };
    let family = text(service, &["spec", "ipFamilies", "0"])?;
    let (mut ready, mut leaving) = (BTreeSet::new(), BTreeSet::new());
    for slice in slices {
        let slice = &slice.unread();
        let of_family = text(slice, &["addressType"])?;
        let foreign = |family: &str| of_family.as_deref().is_some_and(|own| own != family);
        if of_family.as_deref() == Some("FQDN") || family.as_deref().is_some_and(foreign) {
            continue;
        }
        let Some(number) = slice_port(slice, &port_name)? else { continue };
        for endpoint in items(slice, "endpoints")? {
            let into = match state(endpoint)? {
                State::Ready => &mut ready,
                State::Leaving => &mut leaving,
                State::Absent => continue,
            };
            // The addresses of one endpoint all lead to the same pod.
            let Some(address) = text(endpoint, &["addresses", "0"])? else { continue };
            let Ok(address) = address.parse() else {
                let slice = slice_name(slice)?;
                found.leave_out(|| format!("{}, which is no IP address, of {slice}", quoted(&address)));
                continue;
            };
            match surroundings.refusal(address, number) {
                None => _ = into.insert((address, number)),
                Some(why) => found.refuse(address, number, why, &format!("of {}", slice_name(slice)?)),
            }
        }
        if ready.len() + leaving.len() > MOST_SERVERS {
            return Err(format!("the Service has more than {MOST_SERVERS} endpoints"));
        }
    }
    let chosen = if ready.is_empty() { leaving } else { ready };
    found.servers =
        chosen.into_iter().map(|(address, port)| server(address, port, false, surroundings)).collect();
    Ok(found)
}

/// The address of `service` itself, behind which the cluster chooses a server; of one of type ExternalName what its name leads to.
/// A headless Service has none.
///
/// # Errors
/// When the Service cannot be read.
pub fn of_service(service: &Value, port: &Value, surroundings: &Surroundings<'_>) -> Result<Found, String> {
    if text(service, &["spec", "type"])?.as_deref() == Some("ExternalName") {
        return external(service, port, surroundings);
    }
    let mut found = Found::default();
    let Some(port) = find_port(service, port)? else { return Ok(found) };
    let number = port.field("port")?.and_then(number).filter(|port| PORTS.contains(port));
    let address = text(service, &["spec", "clusterIP"])?.unwrap_or_default();
    match (address.parse(), number) {
        (Ok(address), Some(port)) => match surroundings.refusal(address, port) {
            None => found.servers.push(server(address, port, false, surroundings)),
            Some(why) => found.refuse(address, port, why, "of the Service itself"),
        },
        _ => found.leave_out(|| "the address of a Service, which has none (clusterIP)".to_owned()),
    }
    Ok(found)
}

impl Found {
    fn refuse(&mut self, address: IpAddr, port: u64, why: Refusal, whence: &str) {
        self.leave_out(|| format!("{address} port {port}, {why}, {whence}"));
        self.is_refused = true;
    }

    /// Thousands of sentences would be nobody's help and everybody's memory.
    fn leave_out(&mut self, sentence: impl FnOnce() -> String) {
        if self.left_out.len() < SAID {
            self.left_out.push(sentence());
        } else {
            self.more_left_out += 1;
        }
    }
}

/// A user's text, as much of it as anybody reads.
fn quoted(text: &str) -> String {
    format!("{:?}", text.chars().take(60).collect::<String>())
}

fn slice_name(slice: &Value) -> Result<String, String> {
    Ok(format!("EndpointSlice {}", text(slice, &["metadata", "name"])?.unwrap_or_default()))
}

/// The most that is told of addresses that are left out.
const SAID: usize = 3;

/// The ports that a server can have.
const PORTS: std::ops::RangeInclusive<u64> = 1..=65535;

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

fn server(address: IpAddr, port: u64, external: bool, surroundings: &Surroundings<'_>) -> Server {
    let written = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
    let named = surroundings.destinations.names(address);
    Server { name: name(address, port), address: written, port, external, named }
}

/// The servers of a host outside of the cluster: those whose network the configuration names.
#[must_use]
pub fn of_host(host: &str, port: &Value, surroundings: &Surroundings<'_>) -> Found {
    let Some(port) = number(port).filter(|port| PORTS.contains(port)) else { return Found::default() };
    let mut found = at_addresses(host, port, surroundings);
    let (named, others): (Vec<Server>, Vec<Server>) =
        found.servers.into_iter().partition(|server| server.named);
    found.servers = named;
    for other in others {
        found.leave_out(|| format!("{} port {port}, which {} leads to", other.address, quoted(host)));
        found.is_refused = true;
    }
    found
}

fn external(service: &Value, port: &Value, surroundings: &Surroundings<'_>) -> Result<Found, String> {
    let Some(host) = text(service, &["spec", "externalName"])? else { return Ok(Found::default()) };
    let named = find_port(service, port)?.and_then(|p| p.field("port").ok().flatten().and_then(number));
    // Such a Service need not list its ports.
    let port = named.or_else(|| number(port)).filter(|port| PORTS.contains(port));
    Ok(port.map_or_else(Found::default, |port| at_addresses(&host, port, surroundings)))
}

/// The servers that a name leads to.
fn at_addresses(host: &str, port: u64, surroundings: &Surroundings<'_>) -> Found {
    let addresses = match addresses_of(host, surroundings) {
        Ok(addresses) => addresses,
        Err(why) => return Found { left_out: vec![why], ..Found::default() },
    };
    let mut found = Found::default();
    for address in addresses {
        match surroundings.refusal(address, port) {
            None => found.servers.push(server(address, port, true, surroundings)),
            Some(why) => found.refuse(address, port, why, &format!("which {} leads to", quoted(host))),
        }
    }
    found
}

/// The addresses that an `externalName` leads to, or why to none.
fn addresses_of(host: &str, surroundings: &Surroundings<'_>) -> Result<Vec<IpAddr>, String> {
    let said = quoted(host);
    match ExternalTarget::of(host) {
        ExternalTarget::Address(address) => Ok(vec![address]),
        ExternalTarget::Neither => Err(format!("{said}, which is neither a host name nor an IP address")),
        ExternalTarget::Name(name) => match (surroundings.resolved)(&name) {
            Some(Resolved { addresses, .. }) if !addresses.is_empty() => Ok(addresses),
            Some(Resolved { why, .. }) => Err(format!("{said}: {why}")),
            // It is asked for at this moment.
            None => Ok(Vec::new()),
        },
    }
}

/// `ADDRESS_PORT`, in characters that HAProxy takes.
fn name(address: IpAddr, port: u64) -> String {
    name_of(&[&address.to_string(), &port.to_string()], "").unwrap_or_default()
}

/// The name of a Service's port, "" if it has none; slices name their ports so.
fn port_name(service: &Value, port: &Value) -> Result<Option<String>, String> {
    let Some(found) = find_port(service, port)? else { return Ok(None) };
    Ok(Some(text(found, &["name"])?.unwrap_or_default()))
}

fn find_port<'s>(service: &'s Value, wanted: &Value) -> Result<Option<&'s Value>, String> {
    let key = if number(wanted).is_some() { "port" } else { "name" };
    let ports = few_ports(field(service, &["spec"])?, "Service")?;
    for port in ports {
        // A port of UDP may have the number of one of TCP.
        if port.field(key)? == Some(wanted) && is_of_tcp(port)? {
            return Ok(Some(port));
        }
    }
    Ok(None)
}

fn is_of_tcp(port: &Value) -> Result<bool, String> {
    Ok(match port.field("protocol")? {
        Some(Value::Text(protocol)) => **protocol == *"TCP",
        _ => true,
    })
}

fn few_ports<'v>(of: &'v Value, kind: &str) -> Result<&'v [Value], String> {
    let ports = items(of, "ports")?;
    match ports.len() > MOST_PORTS {
        true => Err(format!(
            "the {kind} has {} ports, and {MOST_PORTS} are looked through: make several Services of it",
            ports.len()
        )),
        false => Ok(ports),
    }
}

fn slice_port(slice: &Value, name: &str) -> Result<Option<u64>, String> {
    for port in few_ports(slice, "EndpointSlice")? {
        // No port is copied.
        let is_named = match port.field("name")? {
            Some(Value::Text(own)) => **own == *name,
            _ => name.is_empty(),
        };
        if is_named {
            return Ok(port.field("port")?.and_then(number).filter(|n| PORTS.contains(n)));
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

fn items<'v>(value: &'v Value, key: &str) -> Result<&'v [Value], String> {
    Ok(match value.field(key)? {
        Some(Value::List(items)) => items,
        _ => &[],
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
    use haptic_model::Fleet;
    use serde_json::{Value as Json, json};

    /// `known.example` leads to four addresses, `gone.example` to none, others are not known.
    fn found(service: Json, slices: &[Json], port: Json) -> Found {
        let slices: Vec<Value> = slices.iter().map(Value::from).collect();
        let spec = json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}}});
        let (spec, fleet) = (serde_json::from_value(spec).unwrap(), Fleet::default());
        let resolved = |name: &Arc<str>| {
            let known = ["10.0.0.7", "127.0.0.1", "169.254.169.254", "fd00::7"];
            match &**name {
                "known.example" => {
                    Some(Resolved { addresses: known.map(|a| a.parse().unwrap()).into(), why: String::new() })
                }
                "gone.example" => Some(Resolved { addresses: vec![], why: "it does not exist".into() }),
                _ => None,
            }
        };
        let surroundings = Surroundings {
            destinations: Destinations::new(&spec, &fleet),
            resolved: &resolved,
            leads_to_fleet: &|address, port| address.to_string() == "10.96.0.9" && port == 80,
        };
        servers(&Value::from(&service), &slices, &Value::from(&port), &surroundings).unwrap()
    }

    fn names(service: Json, slices: &[Json], port: Json) -> Vec<String> {
        let found = found(service, slices, port);
        assert_eq!(found.left_out, [""; 0]);
        found.servers.into_iter().map(|s| format!("{}={}:{}", s.name, s.address, s.port)).collect()
    }

    fn service() -> Json {
        json!({"spec": {"ports": [{"name": "web", "port": 80}, {"name": "admin", "port": 81}]}})
    }

    fn slice(port_name: &str, port: u16, endpoints: Json) -> Json {
        json!({"addressType": "IPv4", "ports": [{"name": port_name, "port": port}], "endpoints": endpoints})
    }

    fn endpoint(address: &str, conditions: Json) -> Json {
        json!({"addresses": [address], "conditions": conditions})
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
    fn of_two_ports_with_one_number_that_of_tcp_counts() {
        let port =
            |name: &str, port: u16, protocol: &str| json!({"name": name, "port": port, "protocol": protocol});
        let service = json!({"spec": {"ports": [port("quic", 443, "UDP"), port("web", 443, "TCP")]}});
        let slice = json!({"addressType": "IPv4", "ports": [port("quic", 1, "UDP"), port("web", 2, "TCP")],
            "endpoints": [{"addresses": ["10.0.0.1"]}]});
        assert_eq!(
            names(service.clone(), std::slice::from_ref(&slice), json!(443)),
            ["10.0.0.1_2=10.0.0.1:2"]
        );
        assert!(names(service, &[slice], json!("quic")).is_empty());
    }

    #[test]
    fn endpoints_that_leave_count_only_where_none_is_ready() {
        let leaving = endpoint("10.0.0.2", json!({"ready": false, "serving": true, "terminating": true}));
        let gone = endpoint("10.0.0.3", json!({"ready": false, "serving": false, "terminating": true}));
        let starting = endpoint("10.0.0.4", json!({"ready": false, "serving": false, "terminating": false}));
        let all = json!([
            endpoint("10.0.0.1", json!({"ready": true, "serving": true, "terminating": false})),
            leaving,
            gone,
            starting
        ]);
        assert_eq!(names(service(), &[slice("web", 1, all)], json!(80)), ["10.0.0.1_1=10.0.0.1:1"]);
        let none_ready = json!([leaving, gone, starting]);
        assert_eq!(names(service(), &[slice("web", 1, none_ready)], json!(80)), ["10.0.0.2_1=10.0.0.2:1"]);
    }

    #[test]
    fn a_service_has_an_address_of_its_own_unless_it_is_headless() {
        let servers = |address: Json, port: Json| {
            let mut service = service();
            service["spec"]["clusterIP"] = address;
            let spec =
                json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}}});
            let (spec, fleet) = (serde_json::from_value(spec).unwrap(), Fleet::default());
            let surroundings = Surroundings {
                destinations: Destinations::new(&spec, &fleet),
                resolved: &|_| None,
                leads_to_fleet: &|address, port| address.to_string() == "10.96.0.8" && port == 81,
            };
            let found = of_service(&Value::from(&service), &Value::from(&port), &surroundings).unwrap();
            let names = found.servers.iter().map(|s| format!("{}:{}", s.address, s.port));
            (names.collect::<Vec<_>>(), found.left_out.join(", "))
        };
        assert_eq!(
            servers(json!("10.96.0.7"), json!("admin")),
            (vec!["10.96.0.7:81".to_owned()], String::new())
        );
        assert_eq!(servers(json!("fd00::7"), json!(80)).0, ["[fd00::7]:80"]);
        assert_eq!(servers(json!("10.96.0.7"), json!(70)), (vec![], String::new()));
        for (address, why) in
            [(json!("None"), "has none"), (json!(null), "has none"), (json!("127.0.0.1"), "loopback")]
        {
            let (none, said) = servers(address, json!(80));
            assert!(none.is_empty() && said.contains(why), "{said}");
        }
        assert_eq!(servers(json!("10.96.0.8"), json!(80)).0, ["10.96.0.8:80"]);
        let (none, said) = servers(json!("10.96.0.8"), json!(81));
        assert!(none.is_empty() && said.contains("a Service that leads back to HAProxy"), "{said}");
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

    fn external_name(name: &str) -> Json {
        json!({"spec": {"type": "ExternalName", "externalName": name}})
    }

    #[test]
    fn an_external_name_is_the_servers_that_it_leads_to() {
        let found = found(external_name("Known.example."), &[], json!(443));
        let servers: Vec<(&str, &str, bool)> =
            found.servers.iter().map(|s| (&*s.name, &*s.address, s.external)).collect();
        assert_eq!(servers, [("10.0.0.7_443", "10.0.0.7", true), ("fd00::7_443", "[fd00::7]", true)]);
        assert_eq!(
            found.left_out,
            [
                "127.0.0.1 port 443, a loopback address, which \"Known.example.\" leads to",
                "169.254.169.254 port 443, a link-local address, which \"Known.example.\" leads to",
            ]
        );
        assert_eq!(names(external_name("203.0.113.7"), &[], json!(80)), ["203.0.113.7_80=203.0.113.7:80"]);
        assert!(names(external_name("known.example"), &[], json!(70000)).is_empty());
        assert!(names(external_name("new.example"), &[], json!(80)).is_empty());
    }

    #[test]
    fn a_service_that_leads_back_to_haproxy_is_no_server() {
        let slice = slice("web", 80, json!([{"addresses": ["10.96.0.9"]}, {"addresses": ["10.0.0.1"]}]));
        for found in
            [found(service(), &[slice], json!(80)), found(external_name("10.96.0.9"), &[], json!(80))]
        {
            assert!(found.servers.iter().all(|server| server.address != "10.96.0.9"), "{found:?}");
            assert!(
                found.left_out[0].contains("a port of a Service that leads back to HAProxy"),
                "{found:?}"
            );
            assert!(found.is_refused);
        }
        assert_eq!(names(external_name("10.96.0.9"), &[], json!(81)), ["10.96.0.9_81=10.96.0.9:81"]);
    }

    #[test]
    fn an_external_name_that_leads_nowhere_is_no_server_and_says_why() {
        for (name, why) in [
            ("gone.example", "does not exist"),
            ("127.0.0.1", "loopback"),
            ("::ffff:127.0.0.1", "loopback"),
            ("0x7f.1", "neither"),
            ("2130706433", "neither"),
        ] {
            let found = found(external_name(name), &[], json!(80));
            assert!(found.servers.is_empty());
            assert!(
                found.left_out[0].contains(why)
                    && found.left_out[0].contains(name.trim_start_matches("::ffff:")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn of_a_slice_what_may_be_no_server_is_left_out_and_the_others_stay() {
        let endpoints = ["10.0.0.1", "169.254.169.254", "localhost", "127.1", "10.0.0.2", "64:ff9b::7f00:1"];
        let endpoints: Vec<Json> = endpoints.iter().map(|address| json!({"addresses": [address]})).collect();
        let mut slice = slice("web", 8080, json!(endpoints));
        slice["metadata"] = json!({"name": "by-hand"});
        let found = found(service(), &[slice], json!(80));
        assert_eq!(found.servers.iter().map(|s| &*s.address).collect::<Vec<_>>(), ["10.0.0.1", "10.0.0.2"]);
        assert_eq!((found.left_out.len(), found.more_left_out), (3, 1));
        assert_eq!(
            found.left_out[0],
            "169.254.169.254 port 8080, a link-local address, of EndpointSlice by-hand"
        );
    }

    #[test]
    fn more_ports_than_are_looked_through_are_told_and_no_port_is_looked_for() {
        let ports = |count: u32| -> Vec<Json> {
            (1..=count).map(|n| json!({"name": format!("p{n}"), "port": n})).collect()
        };
        let service = |count| Value::from(&json!({"spec": {"ports": ports(count)}}));
        let wanted = Value::from(&json!("p1"));
        assert!(find_port(&service(1000), &wanted).unwrap().is_some());
        let why = find_port(&service(1001), &wanted).unwrap_err();
        assert!(why.contains("has 1001 ports, and 1000 are looked through"), "{why}");
        assert!(slice_port(&Value::from(&json!({"ports": ports(1001)})), "p1").is_err());
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
