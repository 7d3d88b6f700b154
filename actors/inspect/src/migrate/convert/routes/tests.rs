//! Ingresses and the routes that stand in their place.

use super::*;
use crate::migrate::configuration;

mod together;

fn converter(family: Family, data: &[(&str, &str)]) -> RouteConverter {
    let data = data.iter().map(|(key, text)| ((*key).to_owned(), json!(text))).collect();
    let config = configuration(family, None).unwrap();
    RouteConverter::new(&config, family, &data, "edge/gw".parse().unwrap())
}

/// The converted file, and the routes in it.
fn done(family: Family, text: &str) -> (RoutedFile, Vec<Value>) {
    done_by(converter(family, &[]), text)
}

fn done_by(mut converter: RouteConverter, text: &str) -> (RoutedFile, Vec<Value>) {
    converter.note(text).unwrap();
    let file = converter.convert(text).unwrap();
    let manifests = edit::manifests(&file.text).unwrap();
    let routes = manifests.into_iter().map(|one| one.value).filter(|one| is_of_kind(one, "HTTPRoute"));
    (file, routes.collect())
}

fn ingress(name: &str, annotations: &[(&str, &str)], host: &str, path: &str) -> String {
    let lines: String =
        annotations.iter().map(|(key, text)| format!("    {key}: {}\n", json!(text))).collect();
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {name}\n  namespace: shop\n  annotations:\n    team: shop\n{lines}\
spec:\n  rules:\n  - host: {host}\n    http:\n      paths:\n      - path: {path}\n        pathType: Prefix\n        backend:\n          service:\n            name: web\n            port:\n              number: 80\n"
    )
}

fn nginx(key: &str) -> String {
    format!("nginx.ingress.kubernetes.io/{key}")
}

fn ours(key: &str) -> String {
    format!("haproxy-haptic.org/{key}")
}

fn service(annotations: &[(&str, &str)], spec: &str) -> String {
    let lines: String =
        annotations.iter().map(|(key, text)| format!("    {key}: {}\n", json!(text))).collect();
    format!(
        "kind: Service\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n    team: shop\n{lines}{spec}"
    )
}

/// What keeps an Ingress of a file.
fn why<'f>(file: &'f RoutedFile, name: &str) -> &'f str {
    let one = file.ingresses.iter().find(|one| one.name == name).unwrap();
    one.stays.as_deref().unwrap_or_default()
}

#[test]
fn an_ingress_becomes_a_route_and_comments_stay() {
    let text = ingress("a", &[("haproxy.org/timeout-server", "30s")], "a.example", "/shop");
    let text = text.replace("timeout-server: \"30s\"", "timeout-server: 30s # the report");
    let text = format!("# The shop.\n{text}---\nkind: Service\nmetadata: {{name: web}}\n");
    let (file, routes) = done(Family::HaproxyOrg, &text);
    assert!(file.text.starts_with("# The shop.\n# the report\n"), "{}", file.text);
    assert!(file.text.ends_with("---\nkind: Service\nmetadata: {name: web}\n"), "{}", file.text);
    let [RoutedIngress { name, routes: 1, left, stays: None, refused: None }] = &file.ingresses[..] else {
        panic!("{file:?}")
    };
    assert!(name == "shop/a" && left.is_empty(), "{file:?}");
    let [route] = &routes[..] else { panic!("{routes:#?}") };
    assert_eq!(route["metadata"], json!({"annotations": {"team": "shop"}, "name": "a", "namespace": "shop"}));
    // All scalars are read as texts.
    let rule = json!({
        "matches": [{"path": {"type": "PathPrefix", "value": "/shop"}}],
        "backendRefs": [{"name": "web", "port": "80"}],
        "timeouts": {"request": "30s"},
    });
    assert_eq!(route["spec"]["rules"], json!([rule]), "{}", file.text);
    assert_eq!(route["spec"]["hostnames"], json!(["a.example"]));
    assert_eq!(route["spec"]["parentRefs"], json!([{"namespace": "edge", "name": "gw"}]));
}

#[test]
fn what_is_not_carried_is_said_and_what_guards_access_keeps_the_ingress() {
    let limit = ingress("a", &[("haproxy.org/rate-limit-requests", "10")], "a.example", "/");
    let (file, routes) = done(Family::HaproxyOrg, &limit);
    assert_eq!(routes.len(), 1, "{}", file.text);
    assert!(file.text.contains("# not carried: haproxy.org/rate-limit-requests: "), "{}", file.text);
    let guarded = ingress("a", &[("haproxy.org/allow-list", "10.0.0.0/8")], "a.example", "/");
    let (file, routes) = done(Family::HaproxyOrg, &guarded);
    assert!(routes.is_empty() && file.ingresses[0].stays.is_some(), "{file:?}");
    assert!(file.text.starts_with("# no HTTPRoute: haproxy.org/allow-list: "), "{}", file.text);
    assert!(file.text.ends_with(&guarded), "{}", file.text);
    assert_eq!(done(Family::HaproxyOrg, &file.text).0.text, file.text, "what is said once is not said again");
}

#[test]
fn https_is_redirected_to_by_a_route_at_port_80() {
    let text = ingress("a", &[], "a.example", "/");
    let text = text.replace("spec:\n", "spec:\n  tls: [{hosts: [a.example], secretName: a-tls}]\n");
    let (file, routes) = done(Family::IngressNginx, &text);
    let [over_tls, in_clear] = &routes[..] else { panic!("{}", file.text) };
    assert_eq!(over_tls["spec"]["parentRefs"][0]["port"], "443");
    assert_eq!(
        (&in_clear["metadata"]["name"], &in_clear["spec"]["parentRefs"][0]["port"]),
        (&json!("a-http"), &json!("80"))
    );
    let filter =
        json!([{"type": "RequestRedirect", "requestRedirect": {"scheme": "https", "statusCode": "308"}}]);
    assert_eq!(in_clear["spec"]["rules"][0]["filters"], filter);
    let note = "# TLS: the HTTPS listener of Gateway edge/gw for a.example must have Secret shop/a-tls\n";
    assert!(file.text.contains(note) && file.ingresses[0].left.is_empty(), "{}", file.text);
}

#[test]
fn a_canary_is_a_part_of_the_route_whose_requests_it_shares() {
    let (header, weight, canary) = (nginx("canary-by-header"), nginx("canary-weight"), nginx("canary"));
    let main = ingress("a", &[], "a.example", "/");
    let annotations = [(&*canary, "true"), (&*header, "X-Try"), (&*weight, "20")];
    let shared = ingress("b", &annotations, "a.example", "/").replace("name: web", "name: new");
    let (file, routes) = done(Family::IngressNginx, &format!("{main}---\n{shared}"));
    let [route] = &routes[..] else { panic!("{}", file.text) };
    let rules = route["spec"]["rules"].as_array().unwrap();
    let of = |rule: &Value| (rule["matches"][0]["headers"][0]["value"].clone(), rule["backendRefs"].clone());
    let all: Vec<(Value, Value)> = rules.iter().map(of).collect();
    let (web, new) = (json!({"name": "web", "port": "80"}), json!({"name": "new", "port": "80"}));
    let shares = json!([
        {"name": "web", "port": "80", "weight": "80"}, {"name": "new", "port": "80", "weight": "20"},
    ]);
    let wanted = [(json!("always"), json!([new])), (json!("never"), json!([web])), (Value::Null, shares)];
    assert_eq!(all, wanted, "{}", file.text);
    assert!(file.text.contains("# the canary is part of the HTTPRoute of Ingress shop/a\n"), "{}", file.text);
    let (alone, _) = done(Family::IngressNginx, &shared);
    assert!(alone.ingresses[0].stays.is_some(), "{alone:?}");
}

#[test]
fn hosts_with_the_same_rules_share_a_route() {
    let text = ingress("a", &[], "a.example", "/");
    let (_, rule) = text.split_once("  rules:\n").unwrap();
    let both = format!(
        "{text}{}{}",
        rule.replace("a.example", "b.example"),
        rule.replace("a.example", "c.example").replace("path: /", "path: /c")
    );
    let (file, routes) = done(Family::HaproxyIngress, &both);
    let names: Vec<(&Value, &Value)> =
        routes.iter().map(|one| (&one["metadata"]["name"], &one["spec"]["hostnames"])).collect();
    let wanted = [(&json!("a"), &json!(["a.example", "b.example"])), (&json!("a-2"), &json!(["c.example"]))];
    assert_eq!(names, wanted, "{}", file.text);
}

#[test]
fn paths_are_rewritten_as_far_as_a_filter_does() {
    let target = nginx("rewrite-target");
    let (file, routes) = done(Family::IngressNginx, &ingress("a", &[(&*target, "/v2")], "a.example", "/v1"));
    let rule = &routes[0]["spec"]["rules"][0];
    assert_eq!(rule["matches"][0]["path"]["type"], "RegularExpression", "{}", file.text);
    let filters = rule["filters"].as_array().unwrap();
    let rewrite = filters.iter().find(|filter| filter["type"] == "URLRewrite").unwrap();
    assert_eq!(rewrite["urlRewrite"]["path"]["replaceFullPath"], "/v2", "{}", file.text);
    let (file, routes) =
        done(Family::IngressNginx, &ingress("a", &[(&*target, "/$1")], "a.example", "/v1/(.*)/x"));
    assert!(routes.is_empty() && file.ingresses[0].stays.is_some(), "{}", file.text);
}

#[test]
fn ports_by_name_are_those_of_services_among_the_manifests() {
    let text = ingress("a", &[], "a.example", "/").replace("number: 80", "name: http");
    let (file, _) = done(Family::HaproxyOrg, &text);
    assert!(file.ingresses[0].stays.is_some(), "{file:?}");
    let service = "---\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  ports:\n  - name: http\n    port: 8080\n";
    let (file, routes) = done(Family::HaproxyOrg, &format!("{text}{service}"));
    assert_eq!(routes[0]["spec"]["rules"][0]["backendRefs"][0]["port"], "8080", "{}", file.text);
}

#[test]
fn who_makes_certificates_is_told_at_the_gateway() {
    let text = ingress("a", &[], "a.example", "/").replace("team: shop", "cert-manager.io/issuer: ca");
    let (file, _) = done(Family::HaproxyOrg, &text);
    assert!(file.text.contains("# not carried: cert-manager.io/issuer: cert-manager reads"), "{}", file.text);
}

#[test]
fn what_cannot_be_edited_is_refused() {
    let item = "kind: List\nitems:\n- kind: Ingress\n  metadata:\n    name: a\n";
    let (file, _) = done(Family::HaproxyOrg, item);
    assert!(file.text == item && file.ingresses[0].refused.is_some(), "{file:?}");
    for wrong in ["gw", "/gw", "edge/gw/", "a/b/c/d"] {
        assert!(wrong.parse::<RouteParent>().is_err(), "{wrong}");
    }
}

#[test]
fn longer_expressions_come_first() {
    let text = ingress("a", &[(&*nginx("use-regex"), "true")], "a.example", "/a");
    let (_, path) = text.split_once("      paths:\n").unwrap();
    let both = format!("{text}{}", path.replace("path: /a", "path: /a/[0-9]+"));
    let (file, routes) = done(Family::IngressNginx, &both);
    let rules = routes[0]["spec"]["rules"].as_array().unwrap();
    let values: Vec<&Value> = rules.iter().map(|rule| &rule["matches"][0]["path"]["value"]).collect();
    assert_eq!(values, ["(?i)/a/[0-9]+.*", "(?i)/a.*"], "{}", file.text);
}

#[test]
fn a_default_backend_is_a_route_for_all_hosts_with_what_guards_it() {
    let text = |annotations: &str, tls: &str| {
        format!(
            "kind: Ingress\nmetadata:\n  name: a\n  annotations:\n    team: shop\n{annotations}spec:\n{tls}  defaultBackend: {{service: {{name: web, port: {{number: 80}}}}}}\n"
        )
    };
    let (file, routes) = done(Family::HaproxyOrg, &text("", ""));
    let [route] = &routes[..] else { panic!("{}", file.text) };
    assert!(route["spec"].get("hostnames").is_none(), "{}", file.text);
    assert_eq!(route["spec"]["rules"][0]["matches"], json!([{"path": {"type": "PathPrefix", "value": "/"}}]));
    let (file, routes) = done(Family::HaproxyOrg, &text("    haproxy.org/allow-list: 10.0.0.0/8\n", ""));
    assert!(routes.is_empty() && file.ingresses[0].stays.is_some(), "{}", file.text);
    let (file, routes) = done(Family::IngressNginx, &text("", "  tls: [{secretName: a-tls}]\n"));
    assert_eq!(routes.len(), 2, "{}", file.text);
}

#[test]
fn what_named_objects_say_is_told_or_keeps_the_ingress() {
    let text = ingress("a", &[("haproxy.org/cr-backend", "a")], "a.example", "/");
    assert!(why(&done(Family::HaproxyOrg, &text).0, "shop/a").contains("cr-backend"));
    let text = ingress("a", &[], "a.example", "/");
    let of_service = format!("{text}---\n{}", service(&[("haproxy.org/cr-backend", "a")], ""));
    assert!(why(&done(Family::HaproxyOrg, &of_service).0, "shop/a").contains("cr-backend"));
    let (file, _) = done_by(converter(Family::HaproxyOrg, &[("cr-backend", "shop/a")]), &text);
    assert!(why(&file, "shop/a").contains("cr-backend"), "{file:?}");
    let (file, routes) = done_by(converter(Family::IngressNginx, &[("proxy-set-headers", "shop/a")]), &text);
    assert_eq!(routes.len(), 1, "{}", file.text);
    assert!(file.ingresses[0].left.iter().any(|left| left.contains("proxy-set-headers")), "{file:?}");
    let named = ingress("a", &[("nginx.ingress.kubernetes.io/custom-headers", "shop/a")], "a.example", "/");
    let (file, _) = done(Family::IngressNginx, &named);
    assert!(file.ingresses[0].left.iter().any(|left| left.contains("custom-headers")), "{file:?}");
}

#[test]
fn annotations_of_ours_at_services_count() {
    let text = ingress("a", &[], "a.example", "/");
    let with = |key: &str, value: &str| format!("{text}---\n{}", service(&[(&*ours(key), value)], ""));
    let (file, _) = done(Family::HaproxyOrg, &with("protocol", "https"));
    assert!(why(&file, "shop/a").contains("haproxy-haptic.org/protocol"), "{}", file.text);
    let (file, routes) = done(Family::HaproxyOrg, &with("timeout-server", "7s"));
    assert_eq!(routes[0]["spec"]["rules"][0]["timeouts"]["request"], "7s", "{}", file.text);
}

#[test]
fn an_omitted_path_is_all_paths() {
    let paths = "/:\n  timeout-server: 7s\n";
    let text = ingress("a", &[("haproxy-haptic.org/paths", paths)], "a.example", "/");
    for text in [text.replace("      - path: /\n        pathType", "      - pathType"), text] {
        let (file, routes) = done(Family::IngressNginx, &text);
        assert_eq!(routes[0]["spec"]["rules"][0]["timeouts"]["request"], "7s", "{}", file.text);
    }
}

#[test]
fn what_ours_say_counts_before_what_a_family_says_of_one_path() {
    let own = [("haproxy-haptic.org/canary-service", "other:80"), ("haproxy-haptic.org/canary-weight", "5")];
    let main = ingress("a", &own, "a.example", "/");
    let other = ingress(
        "b",
        &[
            ("nginx.ingress.kubernetes.io/canary", "true"),
            ("nginx.ingress.kubernetes.io/canary-weight", "20"),
        ],
        "a.example",
        "/",
    );
    let (file, routes) = done(Family::IngressNginx, &format!("{main}---\n{other}"));
    let backends = &routes[0]["spec"]["rules"][0]["backendRefs"];
    assert_eq!(
        (&backends[1]["name"], &backends[1]["weight"]),
        (&json!("other"), &json!("5")),
        "{}",
        file.text
    );
    let open = [("no-tls-redirect-locations", "/")];
    for (annotations, count) in [(&[][..], 1), (&[("haproxy-haptic.org/ssl-redirect", "true")], 2)] {
        let text = ingress("a", annotations, "a.example", "/");
        let text = text.replace("spec:\n", "spec:\n  tls: [{hosts: [a.example], secretName: a-tls}]\n");
        let (file, routes) = done_by(converter(Family::IngressNginx, &open), &text);
        assert_eq!(routes.len(), count, "{}", file.text);
    }
    let guarded = ingress("a", &[("haproxy-haptic.org/auth-secret", "users")], "a.example", "/");
    let open = [("no-auth-locations", "/")];
    let (file, _) = done_by(converter(Family::IngressNginx, &open), &guarded);
    assert!(why(&file, "shop/a").contains("auth-secret"), "{}", file.text);
}

#[test]
fn what_the_definition_of_routes_refuses_is_not_written() {
    let rewritten =
        [("haproxy-haptic.org/rewrite-path", "/v2"), ("haproxy-haptic.org/match-methods", "GET, POST")];
    let (file, routes) = done(Family::HaproxyOrg, &ingress("a", &rewritten, "a.example", "/v1"));
    let rules = routes[0]["spec"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 2, "{}", file.text);
    assert!(rules.iter().all(|rule| rule["matches"].as_array().unwrap().len() == 1), "{}", file.text);
    let (file, routes) = done(
        Family::HaproxyOrg,
        &ingress("a", &[("haproxy-haptic.org/rewrite-path", "/")], "a.example", "/v1"),
    );
    let filter = &routes[0]["spec"]["rules"][0]["filters"][0]["urlRewrite"]["path"];
    assert_eq!(filter["replacePrefixMatch"], "/", "{}", file.text);
    let refused: [&[(&str, &str)]; 4] = [
        &[("haproxy-haptic.org/match-methods", "GET, PROPFIND")],
        &[
            ("haproxy-haptic.org/match-headers", "X-A: 1"),
            ("haproxy-haptic.org/match-headers-regex", "x-a: ^1"),
        ],
        &[("haproxy-haptic.org/match-query", "a=")],
        &[
            ("haproxy-haptic.org/canary-service", "new:80"),
            ("haproxy-haptic.org/canary-header", "X-A"),
            ("haproxy-haptic.org/match-headers", "x-a: 1"),
        ],
    ];
    for annotations in refused {
        let (file, routes) = done(Family::HaproxyOrg, &ingress("a", annotations, "a.example", "/"));
        assert!(routes.is_empty() && file.ingresses[0].stays.is_some(), "{}", file.text);
    }
    let long = format!("/{}", "a".repeat(1_100));
    for path in ["/a//b", "/a b", &long] {
        let (file, routes) = done(Family::HaproxyOrg, &ingress("a", &[], "a.example", path));
        assert!(routes.is_empty() && file.ingresses[0].stays.is_some(), "{}", file.text);
    }
}

#[test]
fn requests_over_https_are_redirected_by_the_methods_that_count() {
    let annotations =
        [("haproxy-haptic.org/rewrite-path", "/v2"), ("haproxy-haptic.org/match-methods", "GET, POST")];
    let text = ingress("a", &annotations, "a.example", "/v1");
    let text = text.replace("spec:\n", "spec:\n  tls: [{hosts: [a.example], secretName: a-tls}]\n");
    let (file, routes) = done(Family::IngressNginx, &text);
    let in_clear = &routes[1]["spec"]["rules"][0];
    assert_eq!(in_clear["matches"].as_array().unwrap().len(), 2, "{}", file.text);
}

#[test]
fn what_no_route_leads_to_keeps_the_ingress() {
    let text = ingress("a", &[], "a.example", "/");
    let external = service(&[], "spec:\n  type: ExternalName\n  externalName: other.example\n");
    let (file, _) = done(Family::HaproxyOrg, &format!("{text}---\n{external}"));
    assert!(why(&file, "shop/a").contains("ExternalName"), "{}", file.text);
    for (family, annotation) in [
        (Family::IngressNginx, nginx("ssl-passthrough")),
        (Family::HaproxyOrg, "haproxy.org/ssl-passthrough".to_owned()),
        (Family::HaproxyIngress, "haproxy-ingress.github.io/ssl-passthrough".to_owned()),
        (Family::HaproxyOrg, ours("ssl-passthrough")),
    ] {
        let (file, routes) = done(family, &ingress("a", &[(&*annotation, "true")], "a.example", "/"));
        assert!(routes.is_empty() && file.ingresses[0].stays.is_some(), "{annotation} {}", file.text);
    }
}

#[test]
fn a_slash_that_is_added_or_removed_is_told() {
    let text = ingress("a", &[("haproxy-haptic.org/trailing-slash", "add")], "a.example", "/");
    let (file, _) = done(Family::HaproxyOrg, &text);
    assert!(file.ingresses[0].left.iter().any(|left| left.contains("trailing-slash")), "{file:?}");
}

#[test]
fn what_stands_behind_an_ingress_in_its_document_is_not_lost() {
    let text = ingress("a", &[], "a.example", "/");
    let both = format!("{text}...\nkind: Secret\nmetadata:\n  name: a\n");
    let (file, _) = done(Family::HaproxyOrg, &both);
    assert!(file.text == both && file.ingresses[0].refused.is_some(), "{file:?}");
    let (file, routes) = done(Family::HaproxyOrg, &format!("{text}...\n---\nkind: Secret\n"));
    assert!(routes.len() == 1 && file.text.ends_with("---\nkind: Secret\n"), "{}", file.text);
}
