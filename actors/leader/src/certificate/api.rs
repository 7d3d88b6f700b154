//! Reads and writes the Secret of the default certificate.

use crate::api_server::in_time;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// One Secret.
#[derive(Clone, Debug)]
pub struct SecretApi {
    api: Api<Secret>,
    namespace: String,
    name: String,
}

impl SecretApi {
    /// The Secret `namespace/name`.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: String) -> Self {
        Self { api: Api::namespaced(client, namespace), namespace: namespace.to_owned(), name }
    }

    /// It as it is now; `None`: there is none.
    ///
    /// # Errors
    /// The API server's words.
    pub async fn read(&self) -> Result<Option<Value>, String> {
        let found = self.in_time("get", self.api.get_opt(&self.name)).await?;
        found.map(|secret| self.complete(&secret)).transpose()
    }

    /// Writes it: a new one, or its data into exactly the one that was `found`, whose metadata stays. What another replica
    /// wrote in between stays; it is read next.
    ///
    /// # Errors
    /// The API server's words.
    pub async fn write(&self, secret: &Value, found: Option<&Value>) -> Result<Value, String> {
        let written = match found {
            None => {
                let secret: Secret = serde_json::from_value(secret.clone()).map_err(|e| e.to_string())?;
                self.in_time("create", self.api.create(&PostParams::default(), &secret)).await?
            }
            Some(found) => {
                let version = found.pointer("/metadata/resourceVersion");
                let patch = json!({ "metadata": { "resourceVersion": version }, "data": secret.get("data") });
                let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
                self.in_time("patch", self.api.patch(&self.name, &params, &patch)).await?
            }
        };
        self.complete(&written)
    }

    fn complete(&self, secret: &Secret) -> Result<Value, String> {
        serde_json::to_value(secret).map_err(|e| format!("Secret {}/{}: {e}", self.namespace, self.name))
    }

    async fn in_time<T>(&self, verb: &str, call: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
        let rights = format!("{verb} on Secret {} in namespace {}", self.name, self.namespace);
        in_time(call).await.map_err(|failure| failure.explained(rights))
    }
}
