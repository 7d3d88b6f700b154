//! Which Services lead back to HAProxy, as slices, Services and pods come and go.

use super::*;
use serde_json::{Value, json};

fn config() -> ActiveConfig {
    let spec = json!({
        "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
        "templatingSettings": {"extraContext": {"httpPort": 7080, "tcpPorts": [5432]}},
        "watchedResources": {
            "services": {"apiVersion": "v1", "resources": "services"},
            "endpoints": {"apiVersion": "discovery.k8s.io/v1", "resources": "endpointslices"},
        },
    });
    ActiveConfig::of("edge", "edge", serde_json::from_value(spec).unwrap())
}

fn fleet(addresses: &[&str]) -> Fleet {
    let pod = |ip: &&str| HaproxyPod::at("edge", ip, (ip.parse::<IpAddr>().unwrap(), 5555));
    Fleet { pods: addresses.iter().map(pod).collect(), ..Fleet::default() }
}

/// A Service, and an EndpointSlice of it with one endpoint.
#[derive(Clone)]
struct Stores {
    services: Snapshot,
    slices: Snapshot,
}

impl Stores {
    fn new() -> Self {
        Self { services: Snapshot::full(), slices: Snapshot::full() }
    }

    fn with(mut self, namespace: &str, name: &str, spec: Value, endpoint: &str, ports: Value) -> Self {
        let status =
            json!({"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}, {"hostname": "lb.example"}]}});
        let service = json!({"spec": spec, "status": status});
        apply(&mut self.services, "services", namespace, name, &service);
        let slice = json!({"metadata": {"labels": {SERVICE_NAME: name}},
            "endpoints": [{"addresses": [endpoint]}], "ports": ports});
        apply(&mut self.slices, "endpoints", namespace, name, &slice);
        self
    }

    /// Those of HAProxy's own Service.
    fn with_haproxys(self) -> Self {
        let spec = json!({"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9", "fd00:96::9"],
            "externalIPs": ["198.51.100.9"], "ports": [
                {"name": "http", "port": 80}, {"name": "postgres", "port": 5432}, {"name": "metrics", "port": 9101}]});
        let ports = json!([{"name": "http", "port": 7080}, {"name": "postgres", "port": 5432},
            {"name": "metrics", "port": 9101}]);
        self.with("edge", "haproxy", spec, "10.1.0.1", ports)
    }

    fn snapshots(&self) -> Snapshots {
        let stores = [("services", &self.services), ("endpoints", &self.slices)];
        Snapshots::new(stores.map(|(name, store)| (Arc::<str>::from(name), Arc::new(store.clone()))).into())
    }
}

fn apply(store: &mut Snapshot, resource: &str, namespace: &str, name: &str, value: &Value) {
    store.put(ObjectRef::new(resource, namespace, name), value);
}

/// Those of these addresses and ports at which there is a way back.
fn leading(found: &Snapshots, asked: &[(&str, u64)]) -> Vec<String> {
    let store = found.get(STORE).unwrap();
    let leads = asked.iter().filter(|(address, port)| has(store, address.parse().unwrap(), *port));
    leads.map(|(address, port)| format!("{address} {port}")).collect()
}

const ASKED: [(&str, u64); 8] = [
    ("10.96.0.9", 80),
    ("fd00:96::9", 5432),
    ("198.51.100.9", 80),
    ("203.0.113.9", 80),
    // Nothing is served there that leads further.
    ("10.96.0.9", 9101),
    ("10.96.0.9", 7080),
    ("10.96.0.8", 80),
    ("10.1.0.1", 7080),
];

const ALL: [&str; 4] = ["10.96.0.9 80", "fd00:96::9 5432", "198.51.100.9 80", "203.0.113.9 80"];

#[test]
fn each_address_of_haproxys_own_service_leads_back_at_the_ports_that_haproxy_listens_at() {
    let stores = Stores::new().with_haproxys();
    let found = FleetServices::default().beside(&config(), &stores.snapshots(), &fleet(&["10.1.0.1"]));
    assert_eq!(leading(&found, &ASKED), ALL);
    let none = FleetServices::default().beside(&config(), &stores.snapshots(), &Fleet::default());
    assert_eq!(leading(&none, &ASKED), [""; 0]);
}

#[test]
fn at_the_nodes_of_haproxys_pods_node_ports_of_its_service_lead_back() {
    let spec = json!({"type": "NodePort", "clusterIP": "10.96.0.9", "ports": [
        {"name": "http", "port": 80, "nodePort": 30080}, {"name": "metrics", "port": 9101, "nodePort": 30101}]});
    let ports = json!([{"name": "http", "port": 7080}, {"name": "metrics", "port": 9101}]);
    let stores = Stores::new().with("edge", "haproxy", spec, "10.1.0.1", ports);
    let mut fleet = fleet(&["10.1.0.1"]);
    let asked = [
        ("10.0.0.7", 30080),
        ("fd00::7", 30080),
        ("10.0.0.7", 80),
        ("10.0.0.7", 30101),
        ("10.96.0.9", 30080),
        ("10.0.0.8", 30080),
    ];
    let mut kept = FleetServices::default();
    let mut found = |fleet: &Fleet| leading(&kept.beside(&config(), &stores.snapshots(), fleet), &asked);
    assert_eq!(found(&fleet), [""; 0]);
    fleet.pods[0].node_addresses = ["10.0.0.7", "fd00::7"].map(|address| address.parse().unwrap()).into();
    assert_eq!(found(&fleet), ["10.0.0.7 30080", "fd00::7 30080"]);
}

#[test]
fn who_leads_to_a_port_of_haproxys_node_leads_back() {
    let spec = json!({"clusterIP": "10.96.0.8", "ports": [{"port": 80}]});
    let stores = Stores::new().with("mallory", "round", spec, "10.0.0.7", json!([{"port": 443}]));
    let mut fleet = fleet(&["10.1.0.1"]);
    (fleet.pods[0].node_addresses, fleet.pods[0].host_ports) = (vec!["10.0.0.7".parse().unwrap()], vec![443]);
    let found = FleetServices::default().beside(&config(), &stores.snapshots(), &fleet);
    assert_eq!(leading(&found, &ASKED), ["203.0.113.9 80", "10.96.0.8 80"]);
}

#[test]
fn what_has_changed_is_known_as_if_it_had_always_been_so() {
    let (config, with, without) = (config(), Stores::new().with_haproxys(), Stores::new());
    let mut moved = with.clone();
    let spec = json!({"clusterIP": "10.96.0.8", "ports": [{"name": "http", "port": 80}]});
    moved = moved.with("edge", "haproxy", spec, "10.1.0.1", json!([{"name": "http", "port": 7080}]));
    let mut kept = FleetServices::default();
    let pods = [fleet(&["10.1.0.1"]), fleet(&["10.1.0.2"]), Fleet::default()];
    for fleet in [&pods[0], &pods[1], &pods[0], &pods[2], &pods[0]] {
        for stores in [&without, &with, &moved, &with, &without, &moved] {
            let snapshots = stores.snapshots();
            let fresh = FleetServices::default().beside(&config, &snapshots, fleet);
            let found = kept.beside(&config, &snapshots, fleet);
            assert_eq!(leading(&found, &ASKED), leading(&fresh, &ASKED));
        }
    }
    assert_eq!(
        leading(&kept.beside(&config, &moved.snapshots(), &pods[0]), &ASKED),
        ["203.0.113.9 80", "10.96.0.8 80"]
    );
}

#[test]
fn a_service_that_somebody_writes_leads_back_at_its_own_addresses_and_takes_nobody_elses() {
    let spec = json!({"clusterIP": "10.96.0.8", "externalIPs": ["198.51.100.9"], "ports": [{"port": 80}]});
    let leading = |endpoint: &str, port: u16| {
        let stores = Stores::new().with("mallory", "round", spec.clone(), endpoint, json!([{"port": port}]));
        let fleet = fleet(&["10.1.0.1"]);
        leading(&FleetServices::default().beside(&config(), &stores.snapshots(), &fleet), &ASKED)
    };
    let back = ["203.0.113.9 80", "10.96.0.8 80"];
    assert_eq!(leading("10.1.0.1", 7080), back);
    assert_eq!(leading("::ffff:10.1.0.1", 5432), back);
    assert_eq!(leading("10.1.0.1", 5555), back);
    // The address may be its node's, and the port somebody else's.
    assert_eq!(leading("10.1.0.1", 6443), [""; 0]);
    assert_eq!(leading("10.1.0.2", 7080), [""; 0]);
}

#[test]
fn a_service_that_comes_is_no_news_to_who_leads_to_pods() {
    let (config, fleet, mut services) = (config(), fleet(&["10.1.0.1"]), FleetServices::default());
    let versions = |found: &Snapshots| {
        let store = found.get(STORE).unwrap();
        ["10.244.1.7", "10.96.0.200"].map(|address| store.version_of(&key(address.parse().unwrap())))
    };
    let before = versions(&services.beside(&config, &Stores::new().snapshots(), &fleet));
    let with = Stores::new().with_haproxys().snapshots();
    let after = versions(&services.beside(&config, &with, &fleet));
    assert!(before[0] == after[0] && before[1] != after[1], "{before:?} {after:?}");
    assert_eq!(versions(&services.beside(&config, &with, &fleet)), after);
}
