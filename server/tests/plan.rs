//! `haptic plan` between folders: its exit codes, and what it says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use serde_json::Value;
use std::{
    fs,
    process::{Command, Stdio},
};
use tempfile::TempDir;

const CONFIG: &str = r#"apiVersion: haproxy-haptic.org/v1alpha1
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

struct Place(TempDir);

struct Done {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Place {
    /// `config.yaml`, `manifests/shop.yaml`, and in `running` what is rendered of both.
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.0.path().join("manifests")).unwrap();
        place.write("config.yaml", CONFIG);
        place.service("10.0.0.1");
        let rendered =
            place.haptic(&["render", "-f", "config.yaml", "--resources", "manifests", "--out", "running"]);
        assert_eq!(rendered.code, Some(0), "{}", rendered.err);
        place
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn service(&self, address: &str) {
        self.write(
            "manifests/shop.yaml",
            &format!(
                "apiVersion: v1\nkind: Service\nmetadata: {{name: shop}}\nspec: {{clusterIP: {address}}}\n"
            ),
        );
    }

    fn haptic(&self, arguments: &[&str]) -> Done {
        let haproxy = std::env::var_os("HAPTIC_HAPROXY_3_4")
            .expect("HAPTIC_HAPROXY_3_4 is not set: run this test through `make test`");
        let mut command = Command::new(env!("CARGO_BIN_EXE_haptic"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command.env_remove("KUBECONFIG").env("HAPTIC_HAPROXY_3_4", haproxy);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Done { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    fn plan(&self, more: &[&str]) -> Done {
        let desired = ["plan", "running", "-f", "config.yaml", "--resources", "manifests"];
        self.haptic(&[&desired[..], more].concat())
    }
}

#[test]
fn no_change_ends_with_0_and_a_change_with_3_and_its_operations() {
    let place = Place::new();
    let same = place.plan(&[]);
    assert_eq!(
        (same.code, same.out.as_str()),
        (Some(0), "running (HAProxy 3.4): no change\n"),
        "{}",
        same.err
    );
    place.service("10.0.0.2");
    let changed = place.plan(&[]);
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
    let place = Place::new();
    place.write("config.yaml", &CONFIG.replace("balance random", "balance first"));
    let rendered =
        place.haptic(&["render", "-f", "config.yaml", "--resources", "manifests", "--out", "desired"]);
    assert_eq!(rendered.code, Some(0), "{}", rendered.err);
    let planned =
        place.haptic(&["plan", "running", "desired", "--output", "json", "--haproxy-version", "3.0"]);
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
    let place = Place::new();
    let must = |arguments: &[&str], code: i32, words: &str| {
        let done = place.haptic(arguments);
        assert_eq!(done.code, Some(code), "{arguments:?}: {}", done.err);
        assert!(done.err.contains(words), "{arguments:?}: {words:?} is not in\n{}", done.err);
    };
    must(&["plan", "running", "nowhere"], 1, "cannot read nowhere");
    must(&["plan", "running", "manifests"], 1, "manifests holds no haproxy.cfg");
    must(&["plan"], 2, "two folders");
    must(&["plan", "running"], 2, "two folders");
    must(&["plan", "running", "-f", "config.yaml"], 2, "--resources DIR");
    must(&["plan", "running", "--name", "shop"], 2, "cannot be used with");
    must(&["plan", "--name", "shop"], 1, "--kubeconfig FILE");
    place.write("config.yaml", &CONFIG.replace("balance random", "balance randm"));
    must(&["plan", "running", "-f", "config.yaml", "--resources", "manifests"], 1, "randm");
}
