//! `haptic config view`.

use crate::place::Place;

const OWN: &str = r#"apiVersion: haproxy-haptic.org/v1alpha1
kind: HAProxyTemplateConfig
metadata: {name: edge}
spec:
  libraries: [base, ssl, ingress]
  credentialsSecretRef: {name: credentials}
  podSelector: {matchLabels: {app: haproxy}}
  files:
    404.http: {template: "mine\n"}
"#;

#[test]
fn a_configuration_is_shown_whole_and_reading_that_shows_the_same() {
    let place = Place::new();
    place.write("config.yaml", OWN);
    let shown = place.haptic(&["config", "view", "-f", "config.yaml"]);
    shown.must(0, &["minDeploymentInterval: 2s", "ingresses:", "template: |\n        mine"]);
    place.write("whole.yaml", &shown.out);
    assert_eq!(place.haptic(&["config", "view", "-f", "whole.yaml"]).out, shown.out);
}

#[test]
fn a_configuration_that_cannot_be_read_is_not_shown() {
    let place = Place::new();
    place.haptic(&["config", "view"]).must(2, &["--file"]);
    place.haptic(&["config", "view", "-f", "absent.yaml"]).must(1, &["absent.yaml", "No such file"]);
    place.write("wrong.yaml", &OWN.replace("podSelector:", "podSelektor:"));
    place.haptic(&["config", "view", "-f", "wrong.yaml"]).must(1, &["podSelektor"]);
}
