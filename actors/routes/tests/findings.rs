//! What is found at Ingresses: each kind with its place, as long as its cause is there, and at nobody else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod certificates;

use certificates::secret;
use haptic_model::{
    ActiveConfig, Finding, FindingKind, FindingKind::*, Findings, ObjectRef, Snapshot, Snapshots,
};
use haptic_routes::{Routes, store_of};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};

const DAY: u64 = 24 * 3600;

/// A cluster with the Service `web`, which has the port 80 (http).
struct Cluster {
    routes: Routes,
    stores: BTreeMap<Arc<str>, Snapshot>,
    context: Value,
    hosts: Value,
}

impl Cluster {
    fn new() -> Self {
        let empty = || {
            let mut store = Snapshot::full();
            store.set_synced();
            store
        };
        let stores = ["ingresses", "services", "secrets", "configmaps"].map(|name| (name.into(), empty()));
        let mut cluster =
            Self { routes: Routes::default(), stores: stores.into(), context: json!({}), hosts: json!([]) };
        cluster.service("shop", "web");
        cluster
    }

    fn put(&mut self, store: &str, namespace: &str, name: &str, mut object: Value) {
        object["metadata"]["namespace"] = json!(namespace);
        object["metadata"]["name"] = json!(name);
        self.stores.get_mut(store).unwrap().put(ObjectRef::new(store, namespace, name), &object);
    }

    fn remove(&mut self, store: &str, namespace: &str, name: &str) {
        self.stores.get_mut(store).unwrap().remove(&ObjectRef::new(store, namespace, name));
    }

    fn service(&mut self, namespace: &str, name: &str) {
        let ports = json!([{"name": "http", "port": 80}]);
        self.put("services", namespace, name, json!({"metadata": {}, "spec": {"ports": ports}}));
    }

    /// From now on it has Secrets and ConfigMaps with our label, too.
    fn watch_labelled(&mut self) {
        let empty = self.stores["secrets"].clone();
        let labelled = ["labelledsecrets", "labelledconfigmaps"];
        self.stores.extend(labelled.map(|name| (Arc::<str>::from(name), empty.clone())));
    }

    fn findings(&mut self) -> Findings {
        drop(self.beside());
        self.routes.findings()
    }

    /// What an Ingress of the namespace shop got.
    fn set(&mut self, name: &str) -> Value {
        let stores = self.beside();
        let sets = stores.get(&store_of("ingresses")).unwrap();
        sets.get("shop", name).map(|set| set.value().unwrap()).unwrap_or_default()
    }

    fn beside(&mut self) -> Snapshots {
        let watched = |version: &str, resources: &str| json!({"apiVersion": version, "resources": resources});
        let of_store = |name: &str| match name {
            "ingresses" => watched("networking.k8s.io/v1", "ingresses"),
            _ => watched("v1", name.trim_start_matches("labelled")),
        };
        let resources: serde_json::Map<String, Value> =
            self.stores.keys().map(|name| (name.to_string(), of_store(name))).collect();
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}}, "hosts": self.hosts,
            "templatingSettings": {"extraContext": self.context},
            "watchedResources": resources,
        });
        let config = ActiveConfig::of("c", "n", serde_json::from_value(spec).unwrap());
        let stores =
            self.stores.iter().map(|(name, store)| (name.clone(), Arc::new(store.clone()))).collect();
        self.routes.beside(&config, &Snapshots::new(stores))
    }

    fn of(&mut self, namespace: &str, name: &str) -> Vec<Finding> {
        self.findings().of(&ObjectRef::new("ingresses", namespace, name)).to_vec()
    }

    fn kinds(&mut self) -> Vec<FindingKind> {
        self.of("shop", "shop").into_iter().map(|finding| finding.kind).collect()
    }

    /// What is found at this Ingress.
    fn found(&mut self, ingress: Value) -> Vec<Finding> {
        self.put("ingresses", "shop", "shop", ingress);
        self.of("shop", "shop")
    }

    /// The one thing that is found at it.
    fn one(&mut self, ingress: Value) -> Finding {
        let mut found = self.found(ingress.clone());
        assert_eq!(found.len(), 1, "{ingress}: {found:?}");
        found.remove(0)
    }
}

fn path(path: &str, kind: &str, service: &str, port: Value) -> Value {
    json!({"path": path, "pathType": kind, "backend": {"service": {"name": service, "port": port}}})
}

fn of_host(host: &str, paths: Vec<Value>) -> Value {
    json!({"metadata": {}, "spec": {"rules": [{"host": host, "http": {"paths": paths}}]}})
}

fn plain() -> Value {
    of_host("shop.example", vec![path("/", "Prefix", "web", json!({"number": 80}))])
}

fn annotated(annotations: &[(&str, &str)]) -> Value {
    let mut ingress = plain();
    for (name, text) in annotations {
        let name = if name.contains('/') { (*name).to_owned() } else { format!("haproxy-haptic.org/{name}") };
        ingress["metadata"]["annotations"][name] = json!(text);
    }
    ingress
}

fn with_tls(secret: Option<&str>) -> Value {
    let mut ingress = plain();
    ingress["spec"]["tls"] = json!([{"hosts": ["shop.example"], "secretName": secret}]);
    ingress
}

#[test]
fn what_is_well_has_no_finding() {
    assert_eq!(Cluster::new().found(plain()), []);
}

#[test]
fn a_service_and_a_port_that_are_not_there_are_found_until_they_come() {
    let mut cluster = Cluster::new();
    let missing =
        cluster.one(of_host("a.example", vec![path("/x", "Exact", "nosvc", json!({"number": 80}))]));
    assert_eq!(missing.kind, ServiceMissing);
    assert_eq!(
        (missing.place.host.as_deref(), missing.place.path.as_deref()),
        (Some("a.example"), Some("/x"))
    );
    assert!(missing.sentence.contains("Service nosvc, which is not there"), "{}", missing.sentence);
    cluster.service("other", "nosvc");
    assert_eq!(cluster.kinds(), [ServiceMissing], "that of another namespace is none");
    cluster.service("shop", "nosvc");
    assert_eq!(cluster.kinds(), []);
    cluster.remove("services", "shop", "nosvc");
    assert_eq!(cluster.kinds(), [ServiceMissing]);
    let port = cluster.one(of_host("a.example", vec![path("/", "Prefix", "web", json!({"name": "https"}))]));
    assert!(port.kind == PortMissing && port.sentence.contains("80 (http)"), "{port:?}");
}

#[test]
fn a_service_that_auth_url_asks_is_found_missing_until_it_comes_in_any_namespace() {
    let mut cluster = Cluster::new();
    let missing = cluster.one(annotated(&[("auth-url", "http://sso.edge.svc/check")]));
    assert_eq!(missing.kind, ServiceMissing);
    assert_eq!(missing.place.annotation.as_deref(), Some("haproxy-haptic.org/auth-url"));
    cluster.service("edge", "sso");
    assert_eq!(cluster.kinds(), []);
    cluster.remove("services", "edge", "sso");
    assert_eq!(cluster.kinds(), [ServiceMissing]);
    let canary = [("canary-service", "web2:80"), ("canary-weight", "5")];
    assert_eq!(cluster.one(annotated(&canary)).kind, ServiceMissing);
    for option in ["default-service", "error-service"] {
        let missing = cluster.one(annotated(&[(option, "sorry:80")]));
        assert!(missing.kind == ServiceMissing && missing.sentence.contains(option), "{missing:?}");
    }
}

#[test]
fn secrets_and_config_maps_that_options_name_are_found_missing_until_they_come() {
    let mut cluster = Cluster::new();
    cluster.watch_labelled();
    cluster.put("secrets", "shop", "shop-tls", secret(&["shop.example"], 0, 90));
    for (option, kind, store) in [
        ("auth-secret", SecretMissing, "labelledsecrets"),
        ("client-ca-secret", SecretMissing, "labelledsecrets"),
        ("error-pages", ConfigMapMissing, "labelledconfigmaps"),
        ("server-ca-config-map", ConfigMapMissing, "labelledconfigmaps"),
        ("server-ca-secret", SecretMissing, "labelledsecrets"),
        ("server-certificate-secret", SecretMissing, "labelledsecrets"),
        ("server-certificate-secret", SecretMissing, "secrets"),
    ] {
        let mut ingress = annotated(&[("protocol", "https"), (option, "needed")]);
        ingress["spec"]["tls"] = with_tls(Some("shop-tls"))["spec"]["tls"].clone();
        let missing = cluster.one(ingress);
        let place = missing.place.annotation.as_deref();
        assert_eq!((missing.kind, place), (kind, Some(&*format!("haproxy-haptic.org/{option}"))));
        assert!(missing.sentence.contains("shop/needed"), "{}", missing.sentence);
        let needed = || secret(&["needed.example"], 0, 90);
        cluster.put(store, "other", "needed", needed());
        assert_eq!(cluster.kinds(), [kind], "that of another namespace is none");
        cluster.put(store, "shop", "needed", needed());
        assert_eq!(cluster.kinds(), [], "{option} in {store}");
        cluster.remove(store, "shop", "needed");
        assert_eq!(cluster.kinds(), [kind], "{option} in {store}");
    }
    assert_eq!(cluster.found(plain()), [], "nothing of it is left");
}

#[test]
fn the_certificate_that_servers_are_shown_expires_as_those_of_hosts() {
    let mut cluster = Cluster::new();
    cluster.put("secrets", "shop", "shown", secret(&["haproxy.example"], 0, 100));
    let shown = annotated(&[("protocol", "https"), ("server-certificate-secret", "shown")]);
    cluster.put("ingresses", "shop", "shop", shown);
    let now = Instant::now();
    cluster.routes.set_time(now);
    for (day, kinds, next) in [
        (50, vec![], Some(36)),
        (91, vec![CertificateExpiring], Some(6)),
        (101, vec![CertificateExpired], None),
    ] {
        cluster.routes.set_date(UNIX_EPOCH + Duration::from_secs(day * DAY));
        assert_eq!(cluster.kinds(), kinds, "day {day}");
        assert_eq!(cluster.routes.due(), next.map(|days| now + Duration::from_secs(days * DAY)), "day {day}");
    }
    let found = cluster.of("shop", "shop");
    assert_eq!(found[0].place.annotation.as_deref(), Some("haproxy-haptic.org/server-certificate-secret"));
    cluster.put("secrets", "shop", "shown", secret(&["haproxy.example"], 90, 180));
    assert_eq!(cluster.kinds(), [], "it is renewed");
}

#[test]
fn the_certificate_of_a_tcp_service_is_found_missing_and_expired_at_the_service() {
    let mut cluster = Cluster::new();
    cluster.context = json!({"tcpPorts": [5432]});
    let annotations =
        json!({"haproxy-haptic.org/tcp-ports": "5432:http", "haproxy-haptic.org/tcp-tls-secret": "db-tls"});
    let ports = json!([{"name": "http", "port": 80}]);
    let service = json!({"metadata": { "annotations": annotations }, "spec": { "ports": ports }});
    cluster.put("services", "shop", "db", service);
    let found =
        |cluster: &mut Cluster| cluster.findings().of(&ObjectRef::new("services", "shop", "db")).to_vec();
    let missing = found(&mut cluster);
    assert_eq!(missing.len(), 1, "{missing:?}");
    let place = missing[0].place.annotation.as_deref();
    assert_eq!((missing[0].kind, place), (SecretMissing, Some("haproxy-haptic.org/tcp-tls-secret")));
    cluster.put("secrets", "shop", "db-tls", secret(&["db.example"], 0, 100));
    assert_eq!(found(&mut cluster), []);
    let now = Instant::now();
    cluster.routes.set_time(now);
    cluster.routes.set_date(UNIX_EPOCH + Duration::from_secs(98 * DAY));
    assert_eq!(found(&mut cluster)[0].kind, CertificateExpiring);
    assert_eq!(cluster.routes.due(), Some(now + Duration::from_secs(2 * DAY)));
    cluster.remove("secrets", "shop", "db-tls");
    assert_eq!(found(&mut cluster)[0].kind, SecretMissing);
}

#[test]
fn options_that_do_nothing_are_found_at_their_annotation() {
    let mut cluster = Cluster::new();
    for (option, text, kind) in [
        ("ssl-redirect", "true", OptionWithoutEffect),
        ("cors-allow-methods", "GET", OptionWithoutEffect),
        ("rate-limit-period", "hour", OptionWithoutEffect),
        ("redirect-code", "301", OptionWithoutEffect),
        ("hsts-subdomains", "true", OptionWithoutEffect),
        ("auth-realm", "Shop", OptionWithoutEffect),
        ("paths", "/nowhere: {retries: 1}", OptionWithoutEffect),
        ("timeout-servr", "1s", OptionUnknown),
    ] {
        let found = cluster.one(annotated(&[(option, text)]));
        let place = found.place.annotation.as_deref();
        assert_eq!((found.kind, place), (kind, Some(&*format!("haproxy-haptic.org/{option}"))), "{found:?}");
    }
    // Beside the default certificate clients show theirs where a rule names the host.
    let mut verified = annotated(&[("client-ca-secret", "clients")]);
    assert_eq!(cluster.found(verified.clone()), []);
    verified["spec"]["rules"][0].as_object_mut().unwrap().remove("host");
    assert_eq!(cluster.one(verified).kind, OptionWithoutEffect);
    let ports = json!([{"port": 80}]);
    let annotations = json!({"haproxy-haptic.org/retries": "many", "haproxy-haptic.org/redirect-to": "/x"});
    let service = json!({"metadata": {"annotations": annotations}, "spec": {"ports": ports}});
    cluster.put("services", "shop", "web", service);
    cluster.found(plain());
    let mut kinds = cluster.kinds();
    kinds.dedup();
    assert_eq!(kinds, [OptionWithoutEffect, OptionUnreadable]);
}

#[test]
fn syntax_of_other_programs_is_found_where_it_stands() {
    let mut cluster = Cluster::new();
    let found = cluster.one(annotated(&[("redirect-to", "https://new.example$request_uri")]));
    assert_eq!(found.kind, TakenLiterally);
    let at =
        |text: &str, kind: &str| of_host("a.example", vec![path(text, kind, "web", json!({"number": 80}))]);
    for text in [r"/regex/.*\.php$", "/api/*", "/api(/|$)(.*)"] {
        let found = cluster.one(at(text, "ImplementationSpecific"));
        assert_eq!((found.kind, found.place.path.as_deref()), (TakenLiterally, Some(text)));
    }
    assert_eq!(cluster.found(at("/api/*", "Exact")), [], "who writes Exact means it");
    assert_eq!(cluster.found(at("/wiki/A_(b)", "Prefix")), []);
    let mut pattern = at(r"/regex/.*\.php$", "ImplementationSpecific");
    pattern["metadata"]["annotations"] = json!({"haproxy-haptic.org/path-type": "regex"});
    assert_eq!(cluster.found(pattern), []);
}

#[test]
fn annotations_of_other_controllers_are_one_finding_with_their_counterparts() {
    let mut cluster = Cluster::new();
    let found = cluster.one(annotated(&[
        ("nginx.ingress.kubernetes.io/ssl-redirect", "true"),
        ("traefik.ingress.kubernetes.io/router.tls", "true"),
    ]));
    assert_eq!(found.kind, ForeignAnnotation);
    assert!(found.sentence.contains("here ssl-redirect"), "{}", found.sentence);
    assert_eq!(found.place.annotation.as_deref(), Some("nginx.ingress.kubernetes.io/ssl-redirect"));
}

#[test]
fn an_ingress_is_read_again_when_what_it_names_comes_changes_and_goes() {
    let mut cluster = Cluster::new();
    let config = json!({"global-allowed-response-headers": "X-A"});
    cluster.context = json!({"annotationFamilies": {"ingress-nginx": {"config": config}}});
    let mut ingress = plain();
    ingress["metadata"] = json!({"annotations": {"nginx.ingress.kubernetes.io/custom-headers": "headers"}});
    cluster.put("ingresses", "shop", "a", ingress);
    let is_closed =
        |cluster: &mut Cluster| cluster.of("shop", "a").iter().any(|found| found.kind == ForeignUnreadable);
    assert!(is_closed(&mut cluster));
    cluster.put("configmaps", "edge", "headers", json!({"data": {"X-A": "1"}}));
    assert!(is_closed(&mut cluster));
    cluster.put("configmaps", "shop", "headers", json!({"data": {"X-A": "1"}}));
    assert!(!is_closed(&mut cluster));
    cluster.put("configmaps", "shop", "headers", json!({"data": {"X-B": "1"}}));
    assert!(is_closed(&mut cluster));
    cluster.put("configmaps", "shop", "headers", json!({"data": {"X-A": "2"}}));
    assert!(!is_closed(&mut cluster));
    cluster.remove("configmaps", "shop", "headers");
    assert!(is_closed(&mut cluster));
}

#[test]
fn a_guard_that_comes_while_an_ingress_waits_for_its_reload_counts_at_its_turn() {
    let mut cluster = Cluster::new();
    cluster.context = json!({
        "annotationFamilies": {"haproxy-ingress": {}},
        "reloadsPerMinute": {"object": 1, "namespace": 1},
    });
    let begin = Instant::now();
    cluster.routes.set_time(begin);
    let compressed = |host: &str| {
        let mut ingress = of_host(host, vec![path("/", "Prefix", "web", json!({"number": 80}))]);
        ingress["metadata"]["annotations"]["haproxy-haptic.org/compression"] = json!("gzip");
        ingress
    };
    cluster.set("none");
    for number in 0..5_u64 {
        cluster.routes.set_time(begin + Duration::from_secs(number));
        cluster.put("ingresses", "shop", &format!("a{number}"), compressed("a.example"));
        cluster.set("none");
    }
    cluster.routes.set_time(begin + Duration::from_secs(6));
    cluster.put("ingresses", "shop", "late", compressed("late.example"));
    assert_eq!(cluster.set("late"), Value::Null, "it waits");
    let ports = json!([{"name": "http", "port": 80}]);
    let guard = json!({"haproxy-ingress.github.io/allowlist-source-range": "10.0.0.0/8"});
    cluster.put(
        "services",
        "shop",
        "web",
        json!({"metadata": {"annotations": guard}, "spec": {"ports": ports}}),
    );
    assert_eq!(cluster.set("late"), Value::Null, "it still waits");
    cluster.routes.set_time(begin + Duration::from_secs(400));
    let set = cluster.set("late").to_string();
    assert!(set.contains("10.0.0.0/8"), "{set}");
}

#[test]
fn what_certificates_must_be_named_and_cannot_be_asked_closes_the_host_for_others_too() {
    let mut cluster = Cluster::new();
    cluster.context = json!({"annotationFamilies": {"ingress-nginx": {}}});
    let mut ingress = with_tls(None);
    ingress["metadata"]["annotations"] = json!({"nginx.ingress.kubernetes.io/auth-tls-secret": "shop/ca"});
    let beside = of_host("shop.example", vec![path("/b", "Prefix", "web", json!({"number": 80}))]);
    cluster.put("ingresses", "shop", "a", ingress.clone());
    cluster.put("ingresses", "shop", "b", beside);
    assert!(!cluster.set("b").to_string().contains("closed"));
    ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/auth-tls-match-cn"] =
        json!("CN=(anna|bert)");
    cluster.put("ingresses", "shop", "a", ingress);
    assert!(cluster.set("b").to_string().contains("closed"), "{}", cluster.set("b"));
}

#[test]
fn thousands_of_other_names_and_paths_are_as_many_routes_as_an_object_may_have() {
    let mut cluster = Cluster::new();
    cluster.context = json!({"annotationFamilies": {"ingress-nginx": {}}});
    let paths = (0..2_000).map(|number| path(&format!("/{number}"), "Exact", "web", json!({"number": 80})));
    let mut ingress = of_host("shop.example", paths.collect());
    let aliases: Vec<String> = (0..4_000).map(|number| format!("a{number}.example")).collect();
    ingress["metadata"]["annotations"] =
        json!({"nginx.ingress.kubernetes.io/server-alias": aliases.join(",")});
    let found: Vec<FindingKind> = cluster.found(ingress).into_iter().map(|one| one.kind).collect();
    assert!(found.contains(&TooManyRoutes) && found.contains(&ForeignDiffers), "{found:?}");
}

#[test]
fn what_is_no_host_path_or_backend_is_found_there() {
    let mut cluster = Cluster::new();
    let on = |host: &str, text: &str, kind: &str| {
        of_host(host, vec![path(text, kind, "web", json!({"number": 80}))])
    };
    for (ingress, kind) in [
        (on("shop_1..example", "/", "Prefix"), HostInvalid),
        (on("a.example", "x y", "Prefix"), PathInvalid),
        (on("a.example", "/", "Suffix"), PathInvalid),
        (on("a.example", "/a//b", "Prefix"), PathRespelled),
        (of_host("a.example", vec![path("/", "Prefix", "web", json!({}))]), BackendInvalid),
        (json!({"metadata": {}, "spec": {"rules": 1}}), ObjectUnreadable),
    ] {
        let found = cluster.one(ingress);
        assert_eq!(found.kind, kind, "{found:?}");
    }
    let twice = ["web", "web"].map(|service| path("/", "Prefix", service, json!({"number": 80})));
    assert_eq!(cluster.one(of_host("a.example", twice.into())).kind, RouteRepeated);
}

#[test]
fn a_conflict_names_the_winner_and_ends_with_it() {
    let mut cluster = Cluster::new();
    let mut winner = plain();
    winner["metadata"]["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
    cluster.service("old", "web");
    cluster.put("ingresses", "old", "first", winner);
    let found = cluster.one(plain());
    assert_eq!(found.kind, RouteConflict);
    assert!(found.sentence.contains("is taken by ingresses old/first, which is older"), "{}", found.sentence);
    assert_eq!(cluster.of("old", "first"), []);
    cluster.remove("ingresses", "old", "first");
    assert_eq!(cluster.kinds(), []);
    cluster.hosts = json!([{"hosts": ["shop.example"], "namespaces": ["edge"]}]);
    let found = cluster.of("shop", "shop");
    assert_eq!((found[0].kind, found[0].place.host.as_deref()), (HostConflict, Some("shop.example")));
}

#[test]
fn a_host_without_a_certificate_is_found_until_its_secret_comes() {
    let mut cluster = Cluster::new();
    let missing = cluster.one(with_tls(Some("shop-tls")));
    assert_eq!((missing.kind, missing.place.host.as_deref()), (NoCertificate, Some("shop.example")));
    assert!(missing.sentence.contains("shop/shop-tls"), "{}", missing.sentence);
    cluster.put("secrets", "shop", "shop-tls", secret(&["shop.example"], 0, 90));
    assert_eq!(cluster.kinds(), []);
    cluster.remove("secrets", "shop", "shop-tls");
    assert_eq!(cluster.kinds(), [NoCertificate]);
    let unnamed = cluster.one(with_tls(None));
    assert!(unnamed.kind == NoCertificate && unnamed.sentence.contains("names no Secret"), "{unnamed:?}");
    cluster.context = json!({"defaultCertificate": {"namespace": "edge", "name": "all"}});
    cluster.put("secrets", "edge", "all", secret(&["*.example"], 0, 90));
    assert_eq!(cluster.kinds(), [], "the operator's certificate covers it");
    cluster.put("secrets", "edge", "all", secret(&["*.other"], 0, 90));
    assert_eq!(cluster.kinds(), [CertificateDoesNotCover]);
}

#[test]
fn a_certificate_must_cover_the_host_by_its_names() {
    let mut cluster = Cluster::new();
    for (names, covers) in [
        (&["SHOP.example"][..], true),
        (&["*.example"], true),
        (&["other.example", "shop.example"], true),
        (&["*.shop.example"], false),
        (&["example"], false),
        (&[], false),
    ] {
        cluster.put("secrets", "shop", "shop-tls", secret(names, 0, 90));
        let found = cluster.found(with_tls(Some("shop-tls")));
        let kinds: Vec<FindingKind> = found.iter().map(|finding| finding.kind).collect();
        assert_eq!(
            kinds,
            if covers { vec![] } else { vec![CertificateDoesNotCover] },
            "{names:?}: {found:?}"
        );
    }
}

#[test]
fn time_alone_makes_a_certificate_late_and_then_expired() {
    let mut cluster = Cluster::new();
    cluster.put("secrets", "shop", "shop-tls", secret(&["shop.example"], 10, 100));
    cluster.put("ingresses", "shop", "shop", with_tls(Some("shop-tls")));
    assert_eq!(cluster.kinds(), [], "without a date nothing expires");
    let now = Instant::now();
    cluster.routes.set_time(now);
    for (day, kinds, next) in [
        (9, vec![CertificateExpired], Some(1)),
        (11, vec![], Some(75)),
        (85, vec![], Some(1)),
        (91, vec![CertificateExpiring], Some(6)),
        (98, vec![CertificateExpiring], Some(2)),
        (101, vec![CertificateExpired], None),
    ] {
        cluster.routes.set_date(UNIX_EPOCH + Duration::from_secs(day * DAY));
        assert_eq!(cluster.kinds(), kinds, "day {day}");
        let is_urgent = cluster.of("shop", "shop").iter().any(|one| one.sentence.contains("very soon"));
        assert_eq!(is_urgent, day == 98, "day {day}");
        assert_eq!(cluster.routes.due(), next.map(|days| now + Duration::from_secs(days * DAY)), "day {day}");
    }
    cluster.put("secrets", "shop", "shop-tls", secret(&["shop.example"], 90, 180));
    assert_eq!(cluster.kinds(), [], "it is renewed");
}

#[test]
fn of_one_object_few_findings_are_kept() {
    let mut cluster = Cluster::new();
    let paths = (0..500).map(|n| path(&format!("/{n}"), "Prefix", &format!("no{n}"), json!({"number": 80})));
    let found = cluster.found(of_host("a.example", paths.collect()));
    assert_eq!((found.len(), &*found[20].sentence), (21, "and 480 more like these"));
    assert!(found.iter().all(|finding| finding.kind == ServiceMissing));
}

#[test]
fn passthrough_is_found_where_it_is_switched_off_or_somebody_elses() {
    let mut cluster = Cluster::new();
    let passing = || annotated(&[("ssl-passthrough", "true")]);
    let off = cluster.one(passing());
    assert_eq!(off.kind, OptionWithoutEffect);
    assert!(off.sentence.contains("passthrough: true"), "{}", off.sentence);
    cluster.context = json!({"passthrough": true});
    assert_eq!(cluster.found(passing()), []);
    // What could not be asked of a connection that is not opened keeps TLS here.
    let guarded = annotated(&[("ssl-passthrough", "true"), ("auth-secret", "users")]);
    let found = cluster.one(guarded);
    assert!(found.sentence.contains("auth-secret") && found.sentence.contains("it ends here"), "{found:?}");
    // No path / and no host.
    let mut below = of_host("shop.example", vec![path("/api", "Prefix", "web", json!({"number": 80}))]);
    below["metadata"]["annotations"] = json!({"haproxy-haptic.org/ssl-passthrough": "true"});
    assert!(cluster.one(below).sentence.contains("a path /"));
    let mut every = of_host("", vec![path("/", "Prefix", "web", json!({"number": 80}))]);
    every["metadata"]["annotations"] = json!({"haproxy-haptic.org/ssl-passthrough": "true"});
    assert!(cluster.one(every).sentence.contains("rules without a host"));
}

#[test]
fn passthrough_of_a_host_that_others_have_is_found_and_so_is_what_it_takes_from_others() {
    let mut cluster = Cluster::new();
    cluster.context = json!({"passthrough": true});
    cluster.service("other", "web");
    let older = |text: &str| {
        let mut ingress = of_host("shop.example", vec![path(text, "Prefix", "web", json!({"number": 80}))]);
        ingress["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        ingress
    };
    cluster.put("ingresses", "other", "older", older("/api"));
    let found = cluster.found(annotated(&[("ssl-passthrough", "true")]));
    let is_told = |one: &Finding| {
        one.kind == HostConflict && one.sentence.contains("is held by namespace other; it ends here")
    };
    assert!(found.iter().any(is_told), "{found:?}");
    // The host becomes free, and is again taken.
    cluster.remove("ingresses", "other", "older");
    assert_eq!(cluster.of("shop", "shop"), []);
    // Who comes later is told that TLS does not come there; it ends when that does.
    let mut later = older("/api");
    later["metadata"]["creationTimestamp"] = json!(null);
    cluster.put("ingresses", "shop", "later", later);
    let told = |cluster: &mut Cluster| {
        cluster.of("shop", "later").into_iter().map(|finding| finding.sentence).collect::<String>()
    };
    assert!(told(&mut cluster).contains("over HTTP only"), "{}", told(&mut cluster));
    assert_eq!(cluster.found(plain()), []);
    assert_eq!(told(&mut cluster), "");
}

#[test]
fn who_is_asked_behind_a_route_needs_one_that_is_for_the_object() {
    let mut cluster = Cluster::new();
    let asking = |host: &str| {
        let mut ingress = of_host(host, vec![path("/app", "Prefix", "web", json!({"number": 80}))]);
        ingress["metadata"]["annotations"]["haproxy-haptic.org/auth-url"] =
            json!("https://$host/oauth2/auth?x=1");
        ingress
    };
    let answering = |host: &str| of_host(host, vec![path("/oauth2", "Prefix", "web", json!({"number": 80}))]);
    let found = cluster.one(asking("shop.example"));
    assert_eq!((found.kind, found.place.host.as_deref()), (ServiceMissing, Some("shop.example")));
    assert!(found.sentence.contains("the route of shop.example/oauth2/auth, and there is none"), "{found:?}");
    // In another namespace, at the host itself and at a wildcard over it.
    let asked = |cluster: &mut Cluster| -> Vec<Finding> {
        let found = cluster.of("shop", "shop").into_iter();
        found.filter(|found| found.place.annotation.is_some()).collect()
    };
    cluster.service("login", "web");
    for host in ["shop.example", "*.example"] {
        cluster.put("ingresses", "login", "login", answering(host));
        let found = asked(&mut cluster);
        assert_eq!(found.iter().map(|found| found.kind).collect::<Vec<_>>(), [HostConflict], "{found:?}");
        assert!(found[0].sentence.contains("ingresses login/login: spec.hosts must"), "{found:?}");
    }
    cluster.remove("ingresses", "login", "login");
    assert_eq!(cluster.kinds(), [ServiceMissing]);
    cluster.put("ingresses", "login", "login", answering("shop.example"));
    cluster.hosts = json!([{"hosts": ["shop.example"], "namespaces": ["login", "shop"]}]);
    assert_eq!(cluster.kinds(), []);
    cluster.hosts = json!([]);
    assert_eq!(asked(&mut cluster).len(), 1);
    cluster.remove("ingresses", "login", "login");
    cluster.put("ingresses", "shop", "login", answering("shop.example"));
    assert_eq!(cluster.kinds(), []);
    // A route that is guarded as well would answer for itself; what guards it comes and goes.
    let mut guarded = answering("shop.example");
    guarded["metadata"]["annotations"]["haproxy-haptic.org/auth-url"] = json!("http://web/check");
    cluster.put("ingresses", "shop", "login", guarded);
    let found = asked(&mut cluster);
    assert_eq!(found.iter().map(|found| found.kind).collect::<Vec<_>>(), [ServiceMissing], "{found:?}");
    assert!(found[0].sentence.contains("ingresses shop/login, which auth-url guards as well"), "{found:?}");
    cluster.put("ingresses", "shop", "login", answering("shop.example"));
    assert_eq!(cluster.kinds(), []);
    cluster.remove("ingresses", "shop", "login");
    let mut whole = asking("shop.example");
    whole["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/");
    let found = cluster.one(whole);
    assert!(found.sentence.contains("ingresses shop/shop, which auth-url guards as well"), "{found:?}");
    // Requests below a wildcard have hosts that nobody knows.
    assert_eq!(cluster.found(asking("*.example")), []);
}
