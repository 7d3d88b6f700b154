//! Ingresses of one host, and routes of one namespace.

use super::*;
use std::{collections::BTreeSet, time::Instant};

fn names(routes: &[Value]) -> Vec<&str> {
    routes.iter().map(|route| route["metadata"]["name"].as_str().unwrap()).collect()
}

/// The first path of an Ingress, and another one behind it.
fn and_path(text: &str, path: &str, other: &str) -> String {
    let (_, first) = text.split_once("      paths:\n").unwrap();
    format!("{text}{}", first.replace(&format!("path: {path}\n"), &format!("path: {other}\n")))
}

fn with_tls(text: &str) -> String {
    text.replace("spec:\n", "spec:\n  tls: [{hosts: [a.example], secretName: a-tls}]\n")
}

#[test]
fn an_ingress_stays_where_one_of_its_host_does() {
    let admin = ingress(
        "admin",
        &[("nginx.ingress.kubernetes.io/whitelist-source-range", "10.0.0.0/8")],
        "a.example",
        "/admin",
    );
    let (web, other) = (ingress("web", &[], "a.example", "/"), ingress("other", &[], "b.example", "/"));
    let (file, routes) = done(Family::IngressNginx, &format!("{admin}---\n{web}---\n{other}"));
    assert_eq!(names(&routes), ["other"], "{}", file.text);
    assert!(why(&file, "shop/web").contains("Ingress shop/admin is for host a.example as well"), "{file:?}");
    let certificates = ingress(
        "admin",
        &[("nginx.ingress.kubernetes.io/auth-tls-secret", "shop/ca")],
        "a.example",
        "/admin",
    );
    let (file, routes) = done(Family::IngressNginx, &format!("{certificates}---\n{web}"));
    assert!(routes.is_empty() && !why(&file, "shop/web").is_empty(), "{}", file.text);
    let snippet = ingress(
        "admin",
        &[("nginx.ingress.kubernetes.io/server-snippet", "deny all;")],
        "a.example",
        "/admin",
    );
    let (file, routes) = done(Family::IngressNginx, &format!("{web}---\n{snippet}"));
    assert!(routes.is_empty() && !why(&file, "shop/web").is_empty(), "{}", file.text);
    let plain = ingress("admin", &[], "a.example", "/admin");
    let (file, routes) = done(Family::IngressNginx, &format!("{plain}---\n{web}"));
    assert_eq!(names(&routes), ["admin", "web"], "{}", file.text);
}

#[test]
fn an_ingress_that_cannot_be_edited_keeps_those_of_its_host() {
    let web = ingress("web", &[], "a.example", "/");
    let item = "kind: List\nitems:\n- kind: Ingress\n  metadata: {name: a, namespace: shop}\n  spec: {rules: [{host: A.example}]}\n";
    let (file, routes) = done(Family::HaproxyOrg, &format!("{web}---\n{item}"));
    assert!(routes.is_empty() && why(&file, "shop/web").contains("shop/a"), "{}", file.text);
}

#[test]
fn tls_of_another_ingress_of_the_host_redirects() {
    let text = format!(
        "{}---\n{}",
        ingress("a", &[], "a.example", "/"),
        with_tls(&ingress("b", &[], "a.example", "/b"))
    );
    for family in [Family::IngressNginx, Family::HaproxyIngress] {
        let (file, routes) = done(family, &text);
        assert_eq!(names(&routes), ["a", "a-http", "b", "b-http"], "{}", file.text);
    }
    let (file, routes) = done(Family::HaproxyOrg, &text);
    assert_eq!(names(&routes), ["a", "b", "b-http"], "{}", file.text);
}

#[test]
fn an_ingress_stays_where_a_gateway_would_ask_its_paths_in_another_order() {
    let regex = [("nginx.ingress.kubernetes.io/use-regex", "true")];
    let (root, api) = (ingress("a", &regex, "a.example", "/"), ingress("b", &[], "a.example", "/api"));
    let (file, routes) = done(Family::IngressNginx, &format!("{root}---\n{api}"));
    assert!(routes.is_empty() && file.text.contains("ignores case"), "{}", file.text);
    let (x, y) = (ingress("a", &regex, "a.example", "/x"), ingress("b", &[], "a.example", "/y"));
    let (file, routes) = done(Family::IngressNginx, &format!("{x}---\n{y}"));
    assert_eq!(names(&routes), ["a", "b"], "{}", file.text);

    let main = and_path(&root, "/", "/api");
    let canary = [
        ("nginx.ingress.kubernetes.io/canary", "true"),
        ("nginx.ingress.kubernetes.io/canary-by-header", "X-A"),
    ];
    let canary = ingress("c", &canary, "a.example", "/");
    let (file, routes) = done(Family::IngressNginx, &format!("{main}---\n{canary}"));
    assert!(routes.is_empty() && why(&file, "shop/a").contains("ignores case"), "{}", file.text);
    assert_eq!(done(Family::IngressNginx, &main).1.len(), 1);

    let text = ingress("a", &[], "a.example", "/app");
    let untyped = and_path(&text, "/app", "/app/x");
    let (first, last) = untyped.rsplit_once("        pathType: Prefix\n").unwrap();
    let (file, routes) = done(Family::HaproxyIngress, &format!("{first}{last}"));
    assert!(routes.is_empty() && why(&file, "shop/a").contains("ignores case"), "{}", file.text);
}

#[test]
fn no_two_ingresses_have_routes_of_one_name() {
    let two = ingress("shop", &[], "a.example", "/");
    let (_, rule) = two.split_once("  rules:\n").unwrap();
    let two = format!("{two}{}", rule.replace("a.example", "b.example").replace("path: /", "path: /b"));
    let beside = ingress("shop-2", &[], "c.example", "/");
    let (file, routes) = done(Family::HaproxyOrg, &format!("{two}---\n{beside}"));
    assert_eq!(names(&routes).into_iter().collect::<BTreeSet<_>>().len(), 3, "{}", file.text);
    assert!(names(&routes).contains(&"shop") && names(&routes).contains(&"shop-2"), "{}", file.text);

    let web = with_tls(&ingress("web", &[], "a.example", "/"));
    let beside = ingress("web-http", &[], "c.example", "/");
    let (file, routes) = done(Family::IngressNginx, &format!("{web}---\n{beside}"));
    assert_eq!(names(&routes).into_iter().collect::<BTreeSet<_>>().len(), 3, "{}", file.text);

    let long = with_tls(&ingress(&"a".repeat(253), &[], "a.example", "/"));
    let (file, routes) = done(Family::IngressNginx, &long);
    assert_eq!(routes.len(), 2, "{}", file.text);
    assert!(names(&routes).iter().all(|name| name.len() <= 253), "{}", file.text);
}

#[test]
fn only_what_is_converted_says_something_of_others() {
    let of_class =
        |text: String, class: &str| text.replace("spec:\n", &format!("spec:\n  ingressClassName: {class}\n"));
    let by = || {
        let mut converter = converter(Family::IngressNginx, &[]);
        converter.classes = vec!["nginx".to_owned()];
        converter
    };
    let canary =
        [("nginx.ingress.kubernetes.io/canary", "true"), ("nginx.ingress.kubernetes.io/canary-weight", "20")];
    let canary = ingress("b", &canary, "a.example", "/").replace("name: web", "name: new");
    let main = ingress("a", &[], "a.example", "/");
    let text = format!("{}---\n{}", of_class(main.clone(), "other"), of_class(canary.clone(), "nginx"));
    let (file, routes) = done_by(by(), &text);
    assert!(routes.is_empty() && why(&file, "shop/b").contains("no Ingress with path"), "{}", file.text);
    let text = format!("{}---\n{}", of_class(main, "nginx"), of_class(canary, "other"));
    let (file, routes) = done_by(by(), &text);
    let backends = &routes[0]["spec"]["rules"][0]["backendRefs"];
    assert_eq!(*backends, json!([{"name": "web", "port": "80"}]), "{}", file.text);
}

#[test]
fn many_paths_and_canaries_cost_as_much_each_as_few_do() {
    const MANY: usize = 3_000;
    let path = |number| {
        format!(
            "      - {{path: /p{number}/, pathType: Prefix, backend: {{service: {{name: web, port: {{number: 80}}}}}}}}\n"
        )
    };
    let paths: String = (0..MANY).map(path).collect();
    let with_paths = |text: String| {
        let (head, _) = text.split_once("      - path").unwrap();
        format!("{head}{paths}")
    };
    let canary =
        [("nginx.ingress.kubernetes.io/canary", "true"), ("nginx.ingress.kubernetes.io/canary-weight", "20")];
    let main = with_paths(ingress("a", &[], "a.example", "/"));
    let text = format!("{main}---\n{}", with_paths(ingress("b", &canary, "a.example", "/")));
    let start = Instant::now();
    let (file, routes) = done(Family::IngressNginx, &text);
    assert_eq!((routes.len(), file.ingresses[0].left.len()), (MANY.div_ceil(16), MANY));
    let one =
        |number| format!("{}---\n", ingress(&format!("i{number}"), &[], "a.example", &format!("/{number}")));
    let apart: String = (0..MANY).map(one).collect();
    assert_eq!(done(Family::IngressNginx, &apart).1.len(), MANY);
    // What is quadratic takes many minutes.
    assert!(start.elapsed().as_secs() < 100, "{:?}", start.elapsed());
}
