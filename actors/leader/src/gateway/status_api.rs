//! Reads objects of the Gateway API and writes their statuses.

use super::kinds::StatusKey;
use crate::api_server::{CallFailure, forbidden, in_time};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
};
use serde_json::{Map, Value, json};

/// The API server.
#[derive(Clone)]
pub(crate) struct GatewayStatusApi {
    client: Client,
}

/// Why a status was not read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StatusFailure {
    /// Somebody else wrote meanwhile.
    Conflict,
    /// There is no such object.
    Gone,
    /// A right is missing; the sentence names it.
    Forbidden(String),
    /// The API server will never take it.
    Refused(String),
    /// No answer, or one that may be another later.
    Failed(String),
}

impl GatewayStatusApi {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// The object as it is now.
    pub(crate) async fn read(&self, resource: &ApiResource, key: &StatusKey) -> Result<Value, StatusFailure> {
        let found = self.in_time(resource, key, "get", self.api(resource, key).get(&key.name)).await?;
        as_value(&found, key)
    }

    /// Replaces these fields of the status, if the object still has this version.
    pub(crate) async fn write(
        &self,
        resource: &ApiResource,
        key: &StatusKey,
        version: &str,
        fields: Map<String, Value>,
    ) -> Result<Value, StatusFailure> {
        let patch = Patch::Merge(json!({ "metadata": { "resourceVersion": version }, "status": fields }));
        let (api, params) = (self.api(resource, key), PatchParams::default());
        let call = api.patch_status(&key.name, &params, &patch);
        let written = self.in_time(resource, key, "patch", call).await?;
        as_value(&written, key)
    }

    fn api(&self, resource: &ApiResource, key: &StatusKey) -> Api<DynamicObject> {
        let client = self.client.clone();
        if key.namespace.is_empty() {
            Api::all_with(client, resource)
        } else {
            Api::namespaced_with(client, &key.namespace, resource)
        }
    }

    async fn in_time<T>(
        &self,
        resource: &ApiResource,
        key: &StatusKey,
        verb: &str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, StatusFailure> {
        let status = match in_time(call).await {
            Ok(answer) => return Ok(answer),
            Err(CallFailure::Refused(status)) => status,
            Err(CallFailure::Unanswered(why)) => return Err(StatusFailure::Failed(why)),
        };
        Err(match status.code {
            404 => StatusFailure::Gone,
            409 => StatusFailure::Conflict,
            403 => {
                let part = if verb == "patch" { "/status" } else { "" };
                let right = format!("{verb} on {}{part} ({})", resource.plural, resource.group);
                StatusFailure::Forbidden(forbidden(&status, right))
            }
            400 | 422 => StatusFailure::Refused(format!("{key}: {}", status.message)),
            _ => StatusFailure::Failed(status.message),
        })
    }
}

fn as_value(object: &DynamicObject, key: &StatusKey) -> Result<Value, StatusFailure> {
    serde_json::to_value(object).map_err(|error| StatusFailure::Failed(format!("{key}: {error}")))
}
