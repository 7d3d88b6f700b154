//! Makes, corrects and deletes Services and EndpointSlices.

use crate::api_server::{CallFailure, forbidden, in_time};
use haptic_model::gateway::NamespacedName;
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::Value;
use std::fmt;

/// What is made for a Gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceKind {
    Service,
    Slice,
}

/// The API server.
#[derive(Clone)]
pub(crate) struct ServiceApi {
    client: Client,
}

/// Why something was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServiceFailure {
    /// It, or its namespace, is gone.
    Gone,
    /// The API server's words, with what to allow when it is a matter of rights.
    Failed(String),
}

impl ServiceApi {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Makes it; `None`: there is one of that name.
    pub(crate) async fn create(
        &self,
        kind: ServiceKind,
        wanted: &Value,
    ) -> Result<Option<Value>, ServiceFailure> {
        let object: DynamicObject = serde_json::from_value(wanted.clone())
            .map_err(|error| ServiceFailure::Failed(error.to_string()))?;
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let (api, params) = (self.api(kind, &namespace), PostParams::default());
        match self.in_time(kind, "create", api.create(&params, &object)).await {
            Ok(made) => serde_json::to_value(&made)
                .map(Some)
                .map_err(|error| ServiceFailure::Failed(error.to_string())),
            Err((Some(409), _)) => Ok(None),
            Err(failure) => Err(explained(failure)),
        }
    }

    pub(crate) async fn read(
        &self,
        kind: ServiceKind,
        name: &NamespacedName,
    ) -> Result<Value, ServiceFailure> {
        let api = self.api(kind, &name.0);
        let found = self.in_time(kind, "get", api.get(&name.1)).await.map_err(explained)?;
        serde_json::to_value(&found).map_err(|error| ServiceFailure::Failed(error.to_string()))
    }

    /// Merges `patch` into it.
    pub(crate) async fn patch(
        &self,
        kind: ServiceKind,
        name: &NamespacedName,
        patch: &Value,
    ) -> Result<(), ServiceFailure> {
        let (api, params, patch) = (self.api(kind, &name.0), PatchParams::default(), Patch::Merge(patch));
        self.in_time(kind, "patch", api.patch(&name.1, &params, &patch)).await.map(drop).map_err(explained)
    }

    /// Deletes exactly the one with this uid.
    pub(crate) async fn delete(
        &self,
        kind: ServiceKind,
        name: &NamespacedName,
        uid: &str,
    ) -> Result<(), ServiceFailure> {
        let preconditions = Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None });
        let (api, params) =
            (self.api(kind, &name.0), DeleteParams { preconditions, ..DeleteParams::default() });
        self.in_time(kind, "delete", api.delete(&name.1, &params)).await.map(drop).map_err(explained)
    }

    fn api(&self, kind: ServiceKind, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &kind.resource())
    }

    async fn in_time<T>(
        &self,
        kind: ServiceKind,
        verb: &str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, (Option<u16>, String)> {
        in_time(call).await.map_err(|failure| match failure {
            CallFailure::Refused(status) if status.code == 403 => {
                (Some(403), forbidden(&status, format_args!("{verb} on {}", kind.resource().plural)))
            }
            CallFailure::Refused(status) => (Some(status.code), status.message),
            CallFailure::Unanswered(why) => (None, why),
        })
    }
}

fn explained((code, words): (Option<u16>, String)) -> ServiceFailure {
    if code == Some(404) { ServiceFailure::Gone } else { ServiceFailure::Failed(words) }
}

impl ServiceKind {
    fn resource(self) -> ApiResource {
        match self {
            Self::Service => ApiResource::erase::<Service>(&()),
            Self::Slice => ApiResource::erase::<EndpointSlice>(&()),
        }
    }
}

impl fmt::Display for ServiceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Service => "Service",
            Self::Slice => "EndpointSlice",
        })
    }
}
