//! The resource's status at the API server.

use crate::api_server;
use haptic_model::{HAProxyTemplateConfig, crd::HAProxyTemplateConfigStatus};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
};
use serde_json::json;

/// Reads and writes one configuration's status.
#[derive(Clone)]
pub struct StatusApi {
    api: Api<DynamicObject>,
    name: String,
}

/// What is at the API server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusAtServer {
    /// `metadata.uid`, for events about it.
    pub uid: Option<String>,
    /// Its status; empty when it was never written.
    pub status: HAProxyTemplateConfigStatus,
}

impl StatusApi {
    /// For configuration `namespace/name`.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: &str) -> Self {
        let kind = ApiResource::erase::<HAProxyTemplateConfig>(&());
        Self { api: Api::namespaced_with(client, namespace, &kind), name: name.to_owned() }
    }

    /// The status that the resource has; `None` when there is no such resource.
    ///
    /// # Errors
    /// The API server's words.
    pub async fn read(&self) -> Result<Option<StatusAtServer>, String> {
        let found = in_time(self.api.get_opt(&self.name)).await?;
        Ok(found.map(|object| StatusAtServer {
            uid: object.metadata.uid.clone(),
            // One that somebody else wrote and that does not fit is as good as none: it is replaced.
            status: object
                .data
                .get("status")
                .and_then(|status| serde_json::from_value(status.clone()).ok())
                .unwrap_or_default(),
        }))
    }

    /// Replaces the status.
    ///
    /// # Errors
    /// The API server's words, with what to allow when it is a matter of rights.
    pub async fn write(&self, status: &HAProxyTemplateConfigStatus) -> Result<(), String> {
        let patch = Patch::Merge(json!({ "status": status }));
        in_time(self.api.patch_status(&self.name, &PatchParams::default(), &patch)).await.map(drop)
    }
}

async fn in_time<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    let rights = "get on haproxytemplateconfigs and patch on haproxytemplateconfigs/status";
    api_server::in_time(call).await.map_err(|failure| failure.explained(rights))
}
