//! What can be known of the admission webhook's settings without a cluster.

use haptic_model::{Diagnostic, HAProxyTemplateConfigSpec, crd::WebhookSpec};
use std::time::Duration;

/// A certificate that lives shorter would be replaced all the time.
const SHORTEST: Duration = Duration::from_secs(30);

pub(super) fn problems(spec: &HAProxyTemplateConfigSpec, problems: &mut Vec<Diagnostic>) {
    let Some(webhook) = &spec.webhook() else { return };
    let mut wrong = |field: &str, what: String, help: &str| {
        let field = format!("spec.controller.{field}");
        problems.push(Diagnostic::error("basic", what).at_field(field).help(help));
    };
    if spec.controller.webhook_port == 0 {
        wrong(
            "webhookPort",
            "the webhook has no port".into(),
            "Use 9443, or remove controller.webhook and enableValidationWebhook",
        );
    }
    for (field, name) in names(webhook) {
        if !is_object_name(name) {
            let what = format!("{name:?} cannot be the name of an object");
            wrong(field, what, "Use lower case letters, digits, - and .");
        }
    }
    let certificate = &webhook.certificate;
    if certificate.secret_name.is_some() && certificate.directory.is_some() {
        wrong(
            "webhook.certificate",
            "secretName and directory exclude each other".into(),
            "Give one of them, or none and let the leader make the certificate",
        );
    }
    if certificate.secret_name.as_ref() == Some(&webhook.secret_name) {
        let what = format!("{:?} is the leader's own Secret", webhook.secret_name);
        wrong("webhook.certificate.secretName", what, "Name another one, or leave it out");
    }
    match certificate.lifetime.duration() {
        Ok(lifetime) if lifetime >= SHORTEST => {}
        Ok(_) => {
            wrong("webhook.certificate.lifetime", "must be at least 30s".into(), "The default is 2160h");
        }
        Err(why) => wrong("webhook.certificate.lifetime", why, "The default is 2160h"),
    }
    if webhook.client_ca_bundle.as_ref().is_some_and(|pem| !pem.contains("-----BEGIN CERTIFICATE-----")) {
        let what = "there is no PEM certificate".into();
        wrong("webhook.clientCaBundle", what, "Give the certificates that sign the API server's own one");
    }
}

fn names(webhook: &WebhookSpec) -> impl Iterator<Item = (&'static str, &str)> {
    let own = [
        ("webhook.configurationName", &*webhook.configuration_name),
        ("webhook.serviceName", &*webhook.service_name),
        ("webhook.secretName", &*webhook.secret_name),
    ];
    let given = webhook.certificate.secret_name.as_deref();
    own.into_iter().chain(given.map(|name| ("webhook.certificate.secretName", name)))
}

/// A DNS subdomain, as Kubernetes wants names to be.
fn is_object_name(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.len() <= 253
        && name.chars().all(inner)
        && edge(name.chars().next())
        && edge(name.chars().next_back())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn said(webhook: Value) -> Vec<String> {
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "controller": {"webhook": webhook},
        });
        let (mut problems, spec) = (Vec::new(), serde_json::from_value(spec).unwrap());
        super::problems(&spec, &mut problems);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_defaults_are_enough_and_each_bad_setting_is_named() {
        assert_eq!(said(json!({})), Vec::<String>::new());
        for (webhook, expected) in [
            (json!({"serviceName": "My_Service"}), "webhook.serviceName"),
            (json!({"certificate": {"secretName": "a", "directory": "/b"}}), "exclude each other"),
            (json!({"certificate": {"secretName": "haptic-webhook"}}), "the leader's own Secret"),
            (json!({"certificate": {"lifetime": "1s"}}), "at least 30s"),
            (json!({"clientCaBundle": "nothing"}), "no PEM certificate"),
        ] {
            let said = said(webhook);
            assert!(said.len() == 1 && said[0].contains(expected), "{said:?}, not {expected:?}");
        }
    }

    #[test]
    fn a_resource_that_is_to_be_checked_asks_for_the_webhook() {
        let spec = |switch: bool, port: u16| {
            let spec = json!({
                "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
                "controller": {"webhookPort": port},
                "watchedResources": {
                    "x": {"apiVersion": "v1", "resources": "secrets", "enableValidationWebhook": switch},
                },
            });
            serde_json::from_value::<haptic_model::HAProxyTemplateConfigSpec>(spec).unwrap()
        };
        assert_eq!(spec(true, 9443).webhook(), Some(haptic_model::crd::WebhookSpec::default()));
        assert_eq!(spec(false, 9443).webhook(), None);
        for (switch, wrong) in [(true, 1), (false, 0)] {
            let mut problems = Vec::new();
            super::problems(&spec(switch, 0), &mut problems);
            assert_eq!(problems.len(), wrong, "the webhook has no port");
        }
    }
}
