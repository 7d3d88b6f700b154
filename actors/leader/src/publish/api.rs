//! The published resources at the API server.

use super::content::{CONFIG, FileToPublish, KINDS};
use crate::api_server;
use haptic_model::crd::{HAProxyCfgStatus, PublishedFile};
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    core::{GroupVersionKind, PartialObjectMeta},
};
use serde_json::json;
use std::collections::BTreeMap;

/// Says which configuration an object belongs to.
const LABEL: &str = "haproxy-haptic.org/configuration";
/// The digest of the file that was written.
const DIGEST: &str = "haproxy-haptic.org/digest";
/// Why its content is not there.
const OMITTED: &str = "haproxy-haptic.org/omitted";
const GROUP: &str = "haproxy-haptic.org";
const VERSION: &str = "v1alpha1";

/// Each file that is at the API server, by plural and name.
pub type WrittenFiles = BTreeMap<(String, String), PublishedFileAtServer>;

/// A file at the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedFileAtServer {
    /// Of its content.
    pub digest: String,
    /// Its path and why its content is not there.
    pub omitted: Option<String>,
}

/// Reads and writes what is published of one configuration.
pub struct PublishApi {
    client: Client,
    namespace: String,
    config: String,
    owner: String,
}

impl PublishApi {
    /// For configuration `namespace/config`, whose `metadata.uid` is `owner`.
    #[must_use]
    pub fn new(client: Client, namespace: &str, config: &str, owner: &str) -> Self {
        Self { client, namespace: namespace.into(), config: config.into(), owner: owner.into() }
    }

    /// What is there already.
    ///
    /// # Errors
    /// The API server's words, with what to do.
    pub async fn read(&self) -> Result<(WrittenFiles, HAProxyCfgStatus), String> {
        let mut written = WrittenFiles::new();
        let ours = ListParams::default().labels(&format!("{LABEL}={}", self.label()));
        for plural in KINDS {
            let api: Api<PartialObjectMeta<DynamicObject>> =
                Api::namespaced_with(self.client.clone(), &self.namespace, &resource(plural));
            for object in in_time(plural, api.list_metadata(&ours)).await? {
                // What belongs to a configuration that was deleted goes with it, unless it is written again.
                let owners = object.metadata.owner_references.unwrap_or_default();
                let is_ours = owners.iter().any(|owner| owner.uid == self.owner);
                let mut annotations = object.metadata.annotations.unwrap_or_default();
                let digest = annotations.remove(DIGEST).filter(|_| is_ours).unwrap_or_default();
                let found = PublishedFileAtServer { digest, omitted: annotations.remove(OMITTED) };
                written.insert((plural.to_owned(), object.metadata.name.unwrap_or_default()), found);
            }
        }
        let found = in_time(CONFIG, self.api(CONFIG).get_opt(&self.config)).await?;
        let status = found.and_then(|object| object.data.get("status").cloned());
        Ok((written, status.and_then(|status| serde_json::from_value(status).ok()).unwrap_or_default()))
    }

    /// Writes one file, whatever was there; what is there then.
    ///
    /// # Errors
    /// The API server's words, with what to do.
    pub async fn write(
        &self,
        file: &FileToPublish,
        spec: &PublishedFile,
    ) -> Result<PublishedFileAtServer, String> {
        let omitted = spec.omitted.as_ref().map(|why| format!("{}: {why}", spec.path));
        let mut annotations = BTreeMap::from([(DIGEST, &file.digest)]);
        annotations.extend(omitted.iter().map(|omitted| (OMITTED, omitted)));
        let object = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": kind(file.plural),
            "metadata": {
                "name": file.name,
                "labels": { LABEL: self.label() },
                "annotations": annotations,
                "ownerReferences": [{
                    "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "HAProxyTemplateConfig",
                    "name": self.config, "uid": self.owner,
                }],
            },
            "spec": spec,
        });
        let api = self.api(file.plural);
        let parameters = PatchParams::apply("haptic").force();
        in_time(file.plural, api.patch(&file.name, &parameters, &Patch::Apply(object))).await?;
        Ok(PublishedFileAtServer { digest: file.digest.clone(), omitted })
    }

    /// Writes the status.
    ///
    /// # Errors
    /// The API server's words, with what to do.
    pub async fn write_status(&self, status: &HAProxyCfgStatus) -> Result<(), String> {
        // What is absent now must not stay: pods are a list, which is replaced as a whole.
        let patch = Patch::Merge(json!({ "status": status }));
        let api = self.api(CONFIG);
        in_time(CONFIG, api.patch_status(&self.config, &PatchParams::default(), &patch)).await.map(drop)
    }

    /// Deletes what is no file any more.
    ///
    /// # Errors
    /// The API server's words, with what to do.
    pub async fn delete(&self, (plural, name): &(String, String)) -> Result<(), String> {
        let api = self.api(plural);
        let gone = async {
            match api.delete(name, &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                done => done.map(drop),
            }
        };
        in_time(plural, gone).await
    }

    fn api(&self, plural: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource(plural))
    }

    /// A label's value has at most 63 characters, a name up to 253.
    fn label(&self) -> String {
        match self.config.len() {
            0..=63 => self.config.clone(),
            _ => haptic_text::Digest::of(self.config.as_bytes()).to_string().chars().take(40).collect(),
        }
    }
}

fn kind(plural: &str) -> &'static str {
    match plural {
        "haproxymapfiles" => "HAProxyMapFile",
        "haproxygeneralfiles" => "HAProxyGeneralFile",
        "haproxycrtlistfiles" => "HAProxyCRTListFile",
        _ => "HAProxyCfg",
    }
}

fn resource(plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, kind(plural)), plural)
}

async fn in_time<T>(plural: &str, call: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    api_server::in_time(call).await.map_err(|failure| match failure.code() {
        Some(404) => api_server::unknown(plural),
        _ => failure.explained(format_args!(
            "list, get, create, patch and delete on {plural}, and patch on haproxycfgs/status"
        )),
    })
}
