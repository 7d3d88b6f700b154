//! Who gets which port, and what is said of those that get none.

use super::*;
use haptic_model::{Finding, FindingKind};

/// Services and ConfigMaps, and what became of them.
struct Cluster {
    model: TcpModel,
    stores: BTreeMap<Arc<str>, Snapshot>,
    context: Value,
}

impl Cluster {
    fn new(context: Value) -> Self {
        let stores = ["services", "labelledconfigmaps", "tcps"].map(|name| (Arc::from(name), empty()));
        Self { model: TcpModel::default(), stores: stores.into(), context }
    }

    fn put(&mut self, store: &str, [namespace, name]: [&str; 2], object: &Value) {
        self.stores.get_mut(store).unwrap().put(ObjectRef::new(store, namespace, name), object);
    }

    /// A Service with these annotations, created on that day, with port 5432 (pg).
    fn service(&mut self, at: [&str; 2], day: u8, annotations: &[(&str, &str)]) {
        let annotations: Map<String, Value> = annotations
            .iter()
            .map(|(name, text)| (format!("haproxy-haptic.org/{name}"), json!(text)))
            .collect();
        let object = json!({"metadata": {"annotations": annotations, "creationTimestamp": format!("2026-01-{day:02}T00:00:00Z")},
            "spec": {"ports": [{"name": "pg", "port": 5432}, {"name": "dns", "port": 53, "protocol": "UDP"}]}});
        self.put("services", at, &object);
    }

    /// The Service that has each port.
    fn held(&mut self) -> String {
        let watched = |resources: &str| json!({"apiVersion": "v1", "resources": resources});
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "templatingSettings": {"extraContext": self.context},
            "watchedResources": {"services": watched("services"), "labelledconfigmaps": watched("configmaps"),
                "tcps": {"apiVersion": "ingress.v3.haproxy.org/v3", "resources": "tcps"}},
        });
        let config = ActiveConfig::of("c", "n", serde_json::from_value(spec).unwrap());
        let stores =
            self.stores.iter().map(|(name, store)| (name.clone(), Arc::new(store.clone()))).collect();
        let snapshots = Snapshots::new(stores);
        let all = self.model.beside(&config, &snapshots, snapshots.clone());
        let sets = all.get(&store_of(NEEDS)).unwrap();
        let mut held: Vec<String> = sets
            .iter()
            .map(|object| {
                let set: Value = serde_json::from_slice(&object.json.bytes()).unwrap();
                let text = |pointer: &str| {
                    set.pointer(pointer).map(Value::to_string).unwrap_or_default().replace('"', "")
                };
                format!(
                    "{}={}/{}:{}",
                    text("/port"),
                    text("/metadata/namespace"),
                    text("/backend/service"),
                    text("/backend/port")
                )
            })
            .collect();
        held.sort();
        held.join(" ")
    }

    fn found(&self, store: &str, [namespace, name]: [&str; 2]) -> Vec<Finding> {
        self.model.findings().of(&ObjectRef::new(store, namespace, name)).to_vec()
    }
}

const DB: [&str; 2] = ["shop", "db"];

#[test]
fn a_service_gets_listed_ports_that_nobody_older_has() {
    let mut cluster = Cluster::new(json!({"tcpPorts": [5432, "9000-9002"]}));
    cluster.service(DB, 5, &[("tcp-ports", "5432, 9001:pg,7000")]);
    assert_eq!(cluster.held(), "5432=shop/db:5432 9001=shop/db:pg");
    let found = cluster.found("services", DB);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found.iter().any(|one| one.sentence.contains("port 7000 is none that the operator lists")),
        "{found:?}"
    );
    // An older one of somebody else comes, and goes.
    cluster.service(["evil", "older"], 1, &[("tcp-ports", "5432")]);
    assert_eq!(cluster.held(), "5432=evil/older:5432 9001=shop/db:pg");
    assert!(cluster.found("services", DB).iter().any(|one| one.kind == FindingKind::RouteConflict));
    cluster.service(["evil", "older"], 1, &[]);
    assert_eq!(cluster.held(), "5432=shop/db:5432 9001=shop/db:pg");
    // The operator says whose it is.
    cluster.service(["evil", "older"], 1, &[("tcp-ports", "5432")]);
    cluster.context = json!({"tcpPorts": [{"ports": "5432-5433", "namespaces": ["shop"]}]});
    assert_eq!(cluster.held(), "5432=shop/db:5432");
    assert!(
        cluster.found("services", ["evil", "older"]).iter().any(|one| one.kind == FindingKind::HostConflict)
    );
    // The operator lists it no more.
    cluster.context = json!({"tcpPorts": []});
    assert_eq!(cluster.held(), "");
}

#[test]
fn a_port_has_the_certificate_of_who_has_the_port() {
    let mut cluster = Cluster::new(json!({"tcpPorts": [5432]}));
    let asking = |secret: &'static str| [("tcp-ports", "5432"), ("tcp-tls-secret", secret)];
    cluster.service(DB, 1, &asking("own"));
    cluster.service(["shop", "later"], 2, &asking("another"));
    assert_eq!(cluster.held(), "5432=shop/db:5432");
    let ports = cluster.model.ports.get("", "all").unwrap();
    let ports: Value = serde_json::from_slice(&ports.json.bytes()).unwrap();
    assert_eq!(ports["ports"][0]["tls"]["secret"], "own");
}

#[test]
fn what_cannot_be_read_and_may_guard_it_serves_nothing() {
    for (option, text) in
        [("tcp-allow-from", "10.0.0.0/33"), ("tcp-tls-secret", "A b"), ("tcp-ports", "5432/udp")]
    {
        let mut cluster = Cluster::new(json!({"tcpPorts": [5432]}));
        let ports = [("tcp-ports", "5432"), (option, text)];
        cluster.service(DB, 1, &ports);
        assert_eq!(cluster.held(), "", "{option}");
        assert_eq!(cluster.found("services", DB).len(), 1, "{option}");
    }
}

#[test]
fn ports_and_services_that_are_not_there_and_udp_are_found() {
    let mut cluster = Cluster::new(json!({"tcpPorts": ["1-40"]}));
    cluster.service(DB, 1, &[("tcp-ports", "1:nosuch, 2:dns, 3:pg")]);
    cluster.held();
    let found = cluster.found("services", DB);
    let kinds: Vec<FindingKind> = found.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::PortMissing, FindingKind::BackendInvalid], "{found:?}");
}

#[test]
fn ranges_are_bounded_and_ports_of_haproxys_own_are_none() {
    for (given, problem) in [
        (json!(["1-1000"]), "more than 256 ports"),
        (json!([7080]), "another one of HAProxy's"),
        (json!(["7050-7090"]), "another one of HAProxy's"),
        (json!([0]), "must be a port"),
        (json!(["9-1"]), "must be a port"),
        (json!([{}]), "must be a port"),
        (json!([{"ports": 5432}]), "must be a port"),
    ] {
        let context = json!({"tcpPorts": given, "httpPort": 7080});
        let listed = ListedPorts::of(context.as_object().unwrap());
        assert!(
            listed.problems.len() == 1 && listed.problems[0].contains(problem),
            "{given}: {:?}",
            listed.problems
        );
    }
}

#[test]
fn config_maps_of_other_controllers_ask_as_they_do_there() {
    let rows = |family: &str, rows: Value| {
        let mut cluster = Cluster::new(json!({"tcpPorts": ["1-40"],
            "annotationFamilies": {family: {"tcpServices": "edge/tcp"}}}));
        cluster.service(DB, 9, &[]);
        cluster.put("labelledconfigmaps", ["edge", "tcp"], &json!({"metadata": {}, "data": rows}));
        let held = cluster.held();
        let claims = cluster.model.asked.values().flat_map(|claims| claims.claims.clone());
        let how: Vec<String> = claims
            .map(|claim| {
                format!(
                    "{} {} {:?} {}",
                    claim.port,
                    claim.accept_proxy,
                    claim.send_proxy,
                    claim.tls.is_some()
                )
            })
            .collect();
        (held, how.join(", "), cluster.found("labelledconfigmaps", ["edge", "tcp"]).len())
    };
    let nginx = rows(
        "ingress-nginx",
        json!({"1": "shop/db:5432", "2": "shop/db:pg:PROXY", "3": "shop/db:pg::PROXY", "4": "db:1", "x": "shop/db:1"}),
    );
    let expected = "1 false None false, 2 true None false, 3 false Some(\"v1\") false".to_owned();
    assert_eq!(nginx, ("1=shop/db:5432 2=shop/db:pg 3=shop/db:pg".to_owned(), expected, 2));
    let org = rows("haproxy-org", json!({"1": "shop/db:5432", "2": "shop/db:pg:ssl", "3": "shop/db:pg:tls"}));
    let expected = "1 false None false, 2 false None true".to_owned();
    assert_eq!(org, ("1=shop/db:5432 2=shop/db:pg".to_owned(), expected, 1));
    let ingress = rows(
        "haproxy-ingress",
        json!({"1": "shop/db:pg:PROXY:PROXY-V1:edge/tls:-", "2": "shop/db:pg::PROXY", "3": "shop/db:pg:::edge/tls:-:edge/ca"}),
    );
    let expected = "1 true Some(\"v1\") true, 2 false Some(\"v2\") false".to_owned();
    assert_eq!(ingress, ("1=shop/db:pg 2=shop/db:pg".to_owned(), expected, 2));
}

#[test]
fn nothing_of_udp_is_served_and_that_is_found() {
    let mut cluster = Cluster::new(json!({"tcpPorts": ["1-40"],
        "annotationFamilies": {"ingress-nginx": {"udpServices": "edge/udp"}}}));
    cluster.service(DB, 9, &[]);
    cluster.put(
        "labelledconfigmaps",
        ["edge", "udp"],
        &json!({"metadata": {}, "data": {"1": "shop/db:5432", "2": "shop/db:dns"}}),
    );
    assert_eq!(cluster.held(), "");
    let found = cluster.found("labelledconfigmaps", ["edge", "udp"]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|finding| finding.kind == FindingKind::ForeignNotServed), "{found:?}");
}

#[test]
fn custom_resources_of_haproxytech_ask_for_services_of_their_namespace() {
    let mut cluster = Cluster::new(json!({"tcpPorts": ["1-40", {"ports": 50, "namespaces": ["other"]}]}));
    cluster.service(DB, 9, &[("tcp-ports", "1:pg")]);
    let entry = |name: &str, frontend: Value| json!({"name": name, "frontend": frontend, "service": {"name": "db", "port": 5432}});
    let rules = json!([{"type": "content", "action": "reject"}]);
    cluster.put("tcps", DB, &json!({"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}, "spec": [
        entry("taken", json!({"binds": {"v4": {"port": 1}}})),
        entry("plain", json!({"binds": [{"port": 2}, {"port": 3, "accept_proxy": true}], "tcplog": true})),
        entry("tls", json!({"binds": {"v4": {"port": 4, "ssl": true, "ssl_certificate": "tls"}}})),
        entry("others", json!({"binds": {"v4": {"port": 50}}})),
        entry("guarded", json!({"binds": {"v4": {"port": 5}}, "tcp_request_rule_list": rules})),
        entry("abroad", json!({"binds": {"v4": {"port": 6, "ssl": true, "ssl_certificate": "edge/tls"}}})),
        entry("nowhere", json!({})),
    ]}));
    // It is older than the Service.
    assert_eq!(cluster.held(), "1=shop/db:5432 2=shop/db:5432 3=shop/db:5432 4=shop/db:5432");
    let found = cluster.found("tcps", DB);
    let said = |part: &str| {
        assert!(found.iter().any(|finding| finding.sentence.contains(part)), "{part}: {found:?}")
    };
    said("guarded: has tcp_request_rule_list");
    said("abroad: has TLS without a Secret of its namespace");
    said("nowhere: its frontend has no binds");
    said("others: port 50 is for other namespaces");
    cluster.put("tcps", DB, &json!({"metadata": {}, "spec": "x"}));
    assert_eq!(cluster.held(), "1=shop/db:pg");
    assert_eq!(cluster.found("tcps", DB).len(), 1);
}
