//! Reads and writes the record at the API server.

use super::record;
use crate::api_server;
use haptic_model::{
    ActiveConfig, HAProxyTemplateConfig,
    crd::{HAProxyGeneralFile, PublishedFile},
};
use kube::{
    Api, Client, Resource,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;

/// What the resource is, for those who list them.
const LABEL: &str = "haproxy-haptic.org/record-of";

/// The record of one configuration.
pub struct HostHoldsApi {
    files: Api<HAProxyGeneralFile>,
    configs: Api<HAProxyTemplateConfig>,
    config: String,
    name: String,
}

/// Why it is not read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HoldsFailure {
    /// Somebody has to change something first.
    #[error("{0}")]
    Refused(String),
    /// It may be done the next time.
    #[error("{0}")]
    NotDone(String),
}

impl HostHoldsApi {
    /// That of `config`.
    #[must_use]
    pub fn new(client: &Client, config: &ActiveConfig) -> Self {
        Self {
            files: Api::namespaced(client.clone(), &config.namespace),
            configs: Api::namespaced(client.clone(), &config.namespace),
            config: config.name.to_string(),
            name: record::name_of(&config.name),
        }
    }

    /// The record as it is; `None`: there is none.
    ///
    /// # Errors
    /// The API server's words, with what to do.
    pub async fn read(&self) -> Result<Option<PublishedFile>, HoldsFailure> {
        let ours = ListParams::default().fields(&format!("metadata.name={}", self.name));
        let found = in_time(self.files.list(&ours)).await?;
        Ok(found.items.into_iter().next().map(|found| found.spec.file))
    }

    /// What is said of a record that says nothing.
    #[must_use]
    pub fn unreadable(&self, why: &str) -> HoldsFailure {
        HoldsFailure::Refused(format!(
            "{why}. Delete HAProxyGeneralFile {}, and a new one is written",
            self.name
        ))
    }

    /// Writes it, whatever was there.
    ///
    /// # Errors
    /// The API server's words, with what to do.
    pub async fn write(&self, file: &PublishedFile) -> Result<(), HoldsFailure> {
        let config = in_time(self.configs.get_metadata(&self.config)).await?;
        let owner = config.metadata.uid.map(|uid| {
            json!([{
                "apiVersion": HAProxyTemplateConfig::api_version(&()), "kind": HAProxyTemplateConfig::kind(&()),
                "name": self.config, "uid": uid,
            }])
        });
        // A label's value has at most 63 characters.
        let label: String = self.config.chars().take(63).collect();
        let object = json!({
            "apiVersion": HAProxyGeneralFile::api_version(&()),
            "kind": HAProxyGeneralFile::kind(&()),
            "metadata": {
                "name": self.name,
                "labels": { LABEL: label.trim_end_matches(['-', '.']) },
                "ownerReferences": owner.unwrap_or_else(|| json!([])),
            },
            "spec": file,
        });
        let parameters = PatchParams::apply("haptic").force();
        in_time(self.files.patch(&self.name, &parameters, &Patch::Apply(object))).await.map(drop)
    }
}

async fn in_time<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, HoldsFailure> {
    api_server::in_time(call).await.map_err(|failure| {
        let code = failure.code();
        let why = failure.explained("list, create and patch on haproxygeneralfiles");
        match code {
            Some(403) => HoldsFailure::Refused(why),
            Some(404) => HoldsFailure::Refused(api_server::unknown("haproxygeneralfiles")),
            _ => HoldsFailure::NotDone(why),
        }
    })
}
