//! Reads the Service that the addresses come from, and writes the status of Ingresses.

use super::changes::StatusChange;
use crate::api_server::in_time;
use k8s_openapi::api::{core::v1::Service, networking::v1::Ingress};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;

/// The Service `namespace/name`; `None` when there is none.
///
/// # Errors
/// The API server's words.
pub async fn service(client: &Client, namespace: &str, name: &str) -> Result<Option<Service>, String> {
    let api: Api<Service> = Api::namespaced(client.clone(), namespace);
    let rights = format!("get on services in namespace {namespace}");
    in_time(api.get_opt(name)).await.map_err(|failure| failure.explained(rights))
}

/// Writes one status. An Ingress that is gone needs none.
///
/// # Errors
/// The API server's words.
pub async fn write(client: &Client, change: &StatusChange) -> Result<(), String> {
    let api: Api<Ingress> = Api::namespaced(client.clone(), &change.name.0);
    let patch = Patch::Merge(json!({ "status": { "loadBalancer": { "ingress": change.addresses } } }));
    match in_time(api.patch_status(&change.name.1, &PatchParams::default(), &patch)).await {
        Err(failure) if failure.code() == Some(404) => Ok(()),
        answer => answer
            .map(drop)
            .map_err(|failure| failure.explained("patch on ingresses/status (networking.k8s.io)")),
    }
}
