//! The admission webhook as an administrator registers it, for one journey's namespace only.

use crate::{configuration::Configuration, scene::Scene};
use serde_json::{Value, json};
use std::net::Ipv4Addr;

/// The name of the Service in front of the controllers.
pub const SERVICE: &str = "haptic-webhook";

/// The Secret that the leader makes.
pub const SECRET: &str = "haptic-webhook";

/// The ValidatingWebhookConfiguration of a journey, without what the leader adds.
#[must_use]
pub fn webhooks(namespace: &str, failure_policy: &str) -> Value {
    let webhook = |name: &str, group: &str, version: &str, resource: &str| {
        json!({
            "name": format!("{name}.{namespace}.example"), "failurePolicy": failure_policy,
            "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 10,
            "clientConfig": { "service": { "name": SERVICE, "namespace": namespace, "port": 443 } },
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
            "rules": [{
                "apiGroups": [group], "apiVersions": [version], "resources": [resource],
                "operations": ["CREATE", "UPDATE", "DELETE"], "scope": "Namespaced",
            }],
        })
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": namespace },
        "webhooks": [
            webhook("configurations", "haproxy-haptic.org", "v1alpha1", "haproxytemplateconfigs"),
            webhook("ingresses", "networking.k8s.io", "v1", "ingresses"),
        ],
    })
}

/// The Service in front of controllers at `addresses`, and its endpoints, as Kubernetes' own controllers would write them.
#[must_use]
pub fn service(addresses: &[Ipv4Addr]) -> [Value; 2] {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": SERVICE },
        "spec": { "ports": [{ "name": "webhook", "port": 443, "targetPort": 9443 }], "selector": { "app": "haptic" } },
    });
    let ready = json!({ "ready": true, "serving": true, "terminating": false });
    let endpoints: Vec<Value> =
        addresses.iter().map(|a| json!({ "addresses": [a], "conditions": ready })).collect();
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": { "name": format!("{SERVICE}-1"), "labels": { "kubernetes.io/service-name": SERVICE } },
        "addressType": "IPv4", "endpoints": endpoints,
        "ports": [{ "name": "webhook", "port": 9443, "protocol": "TCP" }],
    });
    [service, slice]
}

/// `configuration` with the webhook for Ingresses, and these settings of it.
#[must_use]
pub fn configuration(scene: &Scene, configuration: Configuration, settings: &Value) -> Value {
    let mut manifest = configuration.manifest;
    manifest["spec"]["controller"]["webhook"] = settings.clone();
    manifest["spec"]["controller"]["webhook"]["configurationName"] = json!(scene.namespace);
    manifest["spec"]["watchedResources"]["ingresses"]["enableValidationWebhook"] = json!(true);
    manifest
}
