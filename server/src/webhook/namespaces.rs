//! The labels of a namespace: whether a watched resource takes an object may depend on them.

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::{Map, Value};
use std::time::Duration;

/// A review does not wait longer for them.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks the API server.
#[derive(Clone)]
pub struct Namespaces(Client);

impl Namespaces {
    /// Through this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    /// The labels of `namespace`; none when it is gone.
    ///
    /// # Errors
    /// Why they are not known.
    pub async fn labels(&self, namespace: &str) -> Result<Map<String, Value>, String> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
        let api: Api<DynamicObject> = Api::all_with(self.0.clone(), &kind);
        let found = tokio::time::timeout(PATIENCE, api.get_metadata_opt(namespace)).await;
        let unread = |why: String| format!("the labels of namespace {namespace} cannot be read: {why}");
        let found = found.map_err(|_| unread("the API server does not answer".into()))?;
        let found = found.map_err(|error| unread(error.to_string()))?;
        let labels = found.and_then(|namespace| namespace.metadata.labels).unwrap_or_default();
        Ok(labels.into_iter().map(|(name, value)| (name, Value::String(value))).collect())
    }
}
