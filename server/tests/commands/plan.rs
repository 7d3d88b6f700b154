//! `haptic plan` between folders: its exit codes, and what it says.

use crate::place::{Done, Place};
use serde_json::{Value, json};

/// A server for each Service.
pub const CONFIG: &str = r#"apiVersion: haproxy-haptic.org/v1alpha1
kind: HAProxyTemplateConfig
metadata: {name: shop}
spec:
  credentialsSecretRef: {name: credentials}
  podSelector: {matchLabels: {app: haproxy}}
  watchedResources:
    services: {apiVersion: v1, resources: services}
  haproxyConfig:
    template: |
      defaults
        mode http
        timeout client 1s
        timeout connect 1s
        timeout server 1s
      frontend web
        bind 127.0.0.1:7999
        default_backend all
      backend all
        balance random
        {{#each (list "services") as |service|}}
        server {{service.metadata.name}} {{service.spec.clusterIP}}:80
        {{/each}}
"#;

/// `config.yaml`, `manifests/shop.yaml`, and in `running` what is rendered of both.
struct Shop(Place);

impl Shop {
    fn new() -> Self {
        let shop = Self(Place::new());
        shop.configured(CONFIG);
        shop.at("10.0.0.1");
        shop.rendered("running");
        shop
    }

    fn configured(&self, config: &str) {
        self.0.write("config.yaml", config);
    }

    /// Its Service has this address.
    fn at(&self, address: &str) {
        let spec = format!("metadata: {{name: shop}}\nspec: {{clusterIP: {address}}}\n");
        self.0.write("manifests/shop.yaml", &format!("apiVersion: v1\nkind: Service\n{spec}"));
    }

    fn rendered(&self, out: &str) {
        let render = ["render", "-f", "config.yaml", "--resources", "manifests", "--out", out];
        self.0.haptic(&render).must(0, &[]);
    }

    fn plan(&self) -> Done {
        self.0.haptic(&["plan", "running", "-f", "config.yaml", "--resources", "manifests"])
    }
}

#[test]
fn no_change_ends_with_0_and_a_change_with_3_and_its_operations() {
    let shop = Shop::new();
    let same = shop.plan();
    assert_eq!(
        (same.code, same.out.as_str()),
        (Some(0), "running (HAProxy 3.4): no change\n"),
        "{}",
        same.err
    );
    shop.at("10.0.0.2");
    let changed = shop.plan();
    assert_eq!(changed.code, Some(3), "{}", changed.err);
    for part in [
        "running (HAProxy 3.4): runtime only, 1 operation\n  set server all/shop addr 10.0.0.2 port 80\n",
        "--- running/haproxy.cfg\n+++ desired/haproxy.cfg\n@@ ",
        "-  server shop 10.0.0.1:80\n+  server shop 10.0.0.2:80\n",
    ] {
        assert!(changed.out.contains(part), "{part:?} is not in\n{}", changed.out);
    }
}

#[test]
fn two_folders_are_compared_and_programs_get_json() {
    let shop = Shop::new();
    shop.configured(&CONFIG.replace("balance random", "balance first"));
    shop.rendered("desired");
    let planned =
        shop.0.haptic(&["plan", "running", "desired", "--output", "json", "--haproxy-version", "3.0"]);
    assert_eq!(planned.code, Some(3), "{}", planned.err);
    let json: Value = serde_json::from_str(&planned.out).unwrap();
    assert_eq!(json["changes"], true);
    let pod = &json["pods"][0];
    assert_eq!((&pod["verdict"], &pod["haproxyVersion"]), (&"reload".into(), &"3.0".into()), "{json:#}");
    assert!(pod["reasons"][0].as_str().unwrap().contains("backend all"), "{json:#}");
    assert!(pod["files"][0]["diff"].as_str().unwrap().contains("+  balance first\n"), "{json:#}");
}

#[test]
fn what_cannot_be_compared_ends_with_1_and_wrong_usage_with_2() {
    let shop = Shop::new();
    let must = |arguments: &[&str], code: i32, words: &str| {
        shop.0.haptic(arguments).must_complain(&arguments.join(" "), code, &[words]);
    };
    must(&["plan", "running", "nowhere"], 1, "cannot read nowhere");
    must(&["plan", "running", "manifests"], 1, "manifests holds no haproxy.cfg");
    must(&["plan"], 2, "two folders");
    must(&["plan", "running"], 2, "two folders");
    must(&["plan", "running", "-f", "config.yaml"], 2, "--resources DIR");
    must(&["plan", "running", "--name", "shop"], 2, "cannot be used with");
    must(&["plan", "--name", "shop"], 1, "--kubeconfig FILE");
    shop.configured(&CONFIG.replace("balance random", "balance randm"));
    must(&["plan", "running", "-f", "config.yaml", "--resources", "manifests"], 1, "randm");
}

/// An Ingress with these annotations, its Service and its server, and beside it one without.
fn annotated(options: &[(&str, &str)]) -> String {
    let ingress = |name: &str, annotations: Value| {
        let backend = json!({"service": {"name": "shop", "port": {"number": 80}}});
        let path = json!({"path": "/", "pathType": "ImplementationSpecific", "backend": backend});
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations},
            "spec": {"rules": [{"host": format!("{name}.example"), "http": {"paths": [path]}}]},
        })
    };
    let annotations =
        options.iter().map(|(name, value)| (format!("haproxy-haptic.org/{name}"), json!(value)));
    let all = [
        ingress("shop", Value::Object(annotations.collect())),
        ingress("other", json!({})),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop", "namespace": "default"},
            "spec": {"ports": [{"port": 80, "targetPort": 8080}]}}),
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "shop-1", "namespace": "default", "labels": {"kubernetes.io/service-name": "shop"}},
            "addressType": "IPv4", "ports": [{"port": 8080}], "endpoints": [{"addresses": ["10.0.0.1"]}]}),
    ];
    all.map(|object| object.to_string()).join("\n---\n")
}

#[test]
fn options_take_a_reload_where_the_reference_says_so() {
    let shop = Shop(Place::new());
    shop.configured(
        "libraries: [base, ssl, ingress]\ncredentialsSecretRef: {name: c}\npodSelector: {matchLabels: {app: haproxy}}\n\
         templatingSettings: {extraContext: {ingressClass: {withoutClass: true}}}\n",
    );
    let reference = include_str!("../../../docs/reference/libraries.md");
    type Annotations = &'static [(&'static str, &'static str)];
    let options: [(Annotations, &str, &str); 11] = [
        (&[], "concurrency-limit", "5"),
        (&[("health-check", "tcp")], "health-check-fall", "5"),
        (&[("health-check", "tcp")], "health-check-interval", "7s"),
        (&[("health-check", "tcp")], "health-check-rise", "5"),
        (&[], "max-connections", "5"),
        (&[("max-connections", "5")], "max-queue", "5"),
        (&[("health-check", "tcp")], "passive-check", "answers"),
        (&[("rate-limit", "5")], "rate-limit-burst", "5"),
        (&[("path-type", "regex")], "rewrite-target", "/x"),
        (&[], "slow-start", "5s"),
        (&[], "timeout-server", "5s"),
    ];
    for (with, option, value) in options {
        shop.0.write("manifests/shop.yaml", &annotated(with));
        shop.rendered("running");
        shop.0.write("manifests/shop.yaml", &annotated(&[with, &[(option, value)]].concat()));
        let planned = shop.plan();
        assert_eq!(planned.code, Some(3), "{option}: {}", planned.err);
        let row = format!("| `{option}` | ");
        let row = reference.lines().find(|line| line.starts_with(&row)).unwrap();
        let is_told = row.ends_with("| change |") || row.ends_with("| first use |");
        assert_eq!(planned.out.contains("HAProxy 3.4): reload"), is_told, "{option}: {}", planned.out);
    }
}
