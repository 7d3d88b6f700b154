//! Reads the Service that the addresses come from, and writes the status of Ingresses.

use super::changes::StatusChange;
use k8s_openapi::api::{core::v1::Service, networking::v1::Ingress};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;
use std::time::Duration;

/// The longest time of one call.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The Service `namespace/name`; `None` when there is none.
///
/// # Errors
/// The API server's words.
pub async fn service(client: &Client, namespace: &str, name: &str) -> Result<Option<Service>, String> {
    let api: Api<Service> = Api::namespaced(client.clone(), namespace);
    in_time(api.get_opt(name), || format!("get on services in namespace {namespace}")).await
}

/// Writes one status. An Ingress that is gone needs none.
///
/// # Errors
/// The API server's words.
pub async fn write(client: &Client, change: &StatusChange) -> Result<(), String> {
    let api: Api<Ingress> = Api::namespaced(client.clone(), &change.name.0);
    let patch = Patch::Merge(json!({ "status": { "loadBalancer": { "ingress": change.addresses } } }));
    let params = PatchParams::default();
    let call = api.patch_status(&change.name.1, &params, &patch);
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Ok(()),
        Ok(answer) => explained(answer, || "patch on ingresses/status (networking.k8s.io)".into()).map(drop),
        Err(_) => Err(late()),
    }
}

async fn in_time<T>(
    call: impl Future<Output = kube::Result<T>>,
    right: impl Fn() -> String,
) -> Result<T, String> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(answer) => explained(answer, right),
        Err(_) => Err(late()),
    }
}

fn explained<T>(answer: kube::Result<T>, right: impl Fn() -> String) -> Result<T, String> {
    answer.map_err(|error| match error {
        kube::Error::Api(status) if status.code == 403 => format!("{}. Allow {}", status.message, right()),
        other => other.to_string(),
    })
}

fn late() -> String {
    format!("the API server did not answer within {} s", TIMEOUT.as_secs())
}
