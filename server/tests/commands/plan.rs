//! `haptic plan` between folders: its exit codes, and what it says.

use crate::place::{Done, Place};
use serde_json::Value;

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
