//! Where the watched objects are written: a folder of manifests, or an API server.

use crate::{
    ensure,
    failure::{Failure, Outcome},
    manifest,
};
use kube::Client;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use tokio::task::JoinSet;

/// The bytes of a file that is no burden by itself: `haptic local` reads a file as a whole, as no API server sends its objects.
const FILE: usize = 1 << 20;
/// Requests to the API server at once, while the objects of the beginning are made.
const AT_ONCE: usize = 16;

const GATEWAY_API: &str = "/apis/gateway.networking.k8s.io/v1";

#[derive(Clone, Copy)]
enum Verb {
    Create,
    Delete,
}

/// A place for objects.
#[derive(Clone)]
pub enum Objects {
    /// One file an object.
    Folder {
        /// The folder.
        path: PathBuf,
        /// The namespace of objects that name none.
        namespace: String,
    },
    /// An API server.
    Cluster {
        /// Its administrator.
        client: Client,
        /// The namespace of objects that name none.
        namespace: String,
    },
}

impl Objects {
    /// Writes objects that are not there yet.
    pub async fn create_all(&self, manifests: impl Iterator<Item = Value>) -> Outcome {
        let mut writing = JoinSet::new();
        for manifest in manifests {
            if writing.len() >= AT_ONCE
                && let Some(done) = writing.join_next().await
            {
                done??;
            }
            let objects = self.clone();
            writing.spawn(async move { objects.create(&manifest).await });
        }
        while let Some(done) = writing.join_next().await {
            done??;
        }
        Ok(())
    }

    /// Writes what belongs together: one file, or one object of the API server after the other.
    pub async fn create_together(&self, manifests: [Value; 3]) -> Outcome {
        if let Self::Folder { path, namespace } = self {
            return put_file(path, namespace, manifests.to_vec());
        }
        for manifest in &manifests {
            self.create(manifest).await?;
        }
        Ok(())
    }

    /// Writes any number of objects at once: as few files as hold them, or all that the API server takes. Gives how many it took.
    pub async fn create_group(&self, name: &str, manifests: Vec<Value>) -> Outcome<usize> {
        if let Self::Folder { path, namespace } = self {
            let count = manifests.len();
            for (number, part) in in_parts(manifests).into_iter().enumerate() {
                put_named(path, &group_file(name, number), namespace, part)?;
            }
            return Ok(count);
        }
        let namespaces: BTreeSet<String> = manifests.iter().filter_map(own_namespace).collect();
        let namespaces = namespaces.iter().map(|name| manifest::namespace(name)).collect();
        // Most are there already.
        self.each_at_once(namespaces, Verb::Create).await;
        Ok(self.each_at_once(manifests, Verb::Create).await)
    }

    /// Whether an API server would take an object, in the namespace of those that name none: it is not stored.
    pub async fn would_be_taken(&self, manifest: &Value) -> Outcome {
        let Self::Cluster { client, namespace } = self else { return Ok(()) };
        let mut manifest = manifest.clone();
        manifest["metadata"]["namespace"] = Value::from(namespace.as_str());
        let request = http::Request::post(format!("{}?dryRun=All", collection(&manifest, namespace)?));
        let request = request.header("content-type", "application/json");
        client.request_text(request.body(manifest.to_string().into_bytes())?).await?;
        Ok(())
    }

    /// Takes away what [`Objects::create_group`] wrote.
    pub async fn delete_group(&self, name: &str, manifests: Vec<Value>) -> Outcome {
        if let Self::Folder { path, .. } = self {
            let file = |number| path.join(group_file(name, number));
            fs::remove_file(file(0))?;
            return Ok((1..).map(file).take_while(|file| file.exists()).try_for_each(fs::remove_file)?);
        }
        let wanted = manifests.len();
        let done = self.each_at_once(manifests, Verb::Delete).await;
        ensure(done == wanted, format!("{} of {wanted} objects of {name} were not taken away", wanted - done))
    }

    /// Some at a time; how many times it went well.
    async fn each_at_once(&self, manifests: Vec<Value>, verb: Verb) -> usize {
        let (mut working, mut done) = (JoinSet::new(), 0);
        let well = |outcome: Option<Result<Outcome, _>>| usize::from(matches!(outcome, Some(Ok(Ok(())))));
        for manifest in manifests {
            if working.len() >= AT_ONCE {
                done += well(working.join_next().await);
            }
            let objects = self.clone();
            working.spawn(async move {
                match verb {
                    Verb::Create => objects.create(&manifest).await,
                    Verb::Delete => objects.delete(&manifest).await,
                }
            });
        }
        while !working.is_empty() {
            done += well(working.join_next().await);
        }
        done
    }

    /// Writes an object that is not there yet.
    pub async fn create(&self, manifest: &Value) -> Outcome {
        match self {
            Self::Folder { path, namespace } => put_file(path, namespace, vec![manifest.clone()]),
            Self::Cluster { client, namespace } => {
                let request = http::Request::post(collection(manifest, namespace)?);
                let request = request.header("content-type", "application/json");
                client.request_text(request.body(manifest.to_string().into_bytes())?).await?;
                Ok(())
            }
        }
    }

    /// Deletes what belongs together, in the order in which it is taken away: the first of `manifests` last.
    pub async fn delete_together(&self, manifests: &[Value; 3]) -> Outcome {
        for manifest in manifests.iter().rev() {
            self.delete(manifest).await?;
        }
        Ok(())
    }

    /// Deletes an object.
    pub async fn delete(&self, manifest: &Value) -> Outcome {
        match self {
            // The file of objects that belong together is named after the first of them.
            Self::Folder { path, .. } => match fs::remove_file(path.join(file_name(manifest))) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
                _ => Ok(()),
            },
            Self::Cluster { client, namespace } => {
                let path = format!("{}/{}", collection(manifest, namespace)?, name(manifest));
                if manifest["metadata"]["finalizers"].is_array() {
                    // Nobody here does what it waits for.
                    let free = json!({ "metadata": { "name": name(manifest), "finalizers": null } });
                    let patch =
                        http::Request::patch(&path).header("content-type", "application/merge-patch+json");
                    match client.request_text(patch.body(free.to_string().into_bytes())?).await {
                        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
                        freed => drop(freed?),
                    }
                }
                match client.request_text(http::Request::delete(path).body(Vec::new())?).await {
                    // It was refused when it was to be made, or goes with another one of its name.
                    Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                    deleted => deleted.map(drop).map_err(Failure::from),
                }
            }
        }
    }

    /// Changes an object: a file is replaced by renaming, an object of the API server is patched.
    pub async fn change(&self, manifest: &Value) -> Outcome {
        match self {
            Self::Folder { path, namespace } => put_file(path, namespace, vec![manifest.clone()]),
            Self::Cluster { client, namespace } => {
                let path = format!("{}/{}", collection(manifest, namespace)?, name(manifest));
                let request =
                    http::Request::patch(path).header("content-type", "application/merge-patch+json");
                client.request_text(request.body(manifest.to_string().into_bytes())?).await?;
                Ok(())
            }
        }
    }
}

/// Writes one file with `manifests`, named after the first, whole or not at all.
fn put_file(folder: &Path, namespace: &str, manifests: Vec<Value>) -> Outcome {
    let file = manifests.first().map(file_name);
    let file = file.ok_or_else(|| Failure::new("no manifests to write"))?;
    put_named(folder, &file, namespace, manifests)
}

fn put_named(folder: &Path, file: &str, namespace: &str, mut manifests: Vec<Value>) -> Outcome {
    for manifest in manifests.iter_mut().filter(|manifest| manifest["metadata"]["namespace"].is_null()) {
        manifest["metadata"]["namespace"] = Value::from(namespace);
    }
    let unfinished = folder.join(format!(".{file}"));
    fs::write(&unfinished, manifests.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    Ok(fs::rename(&unfinished, folder.join(file))?)
}

fn group_file(name: &str, number: usize) -> String {
    format!("{name}.{number}.json")
}

/// At least one part, and none with two objects that is larger than [`FILE`].
fn in_parts(manifests: Vec<Value>) -> Vec<Vec<Value>> {
    let mut parts = vec![Vec::new()];
    let mut bytes = 0;
    for manifest in manifests {
        let size = manifest.to_string().len();
        if bytes > 0 && bytes + size > FILE {
            parts.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        if let Some(part) = parts.last_mut() {
            part.push(manifest);
        }
    }
    parts
}

fn own_namespace(manifest: &Value) -> Option<String> {
    manifest["metadata"]["namespace"].as_str().map(str::to_owned)
}

fn file_name(manifest: &Value) -> String {
    format!("{}-{}.json", manifest["kind"].as_str().unwrap_or_default(), name(manifest))
}

fn name(manifest: &Value) -> &str {
    manifest["metadata"]["name"].as_str().unwrap_or_default()
}

/// Where the API server has objects of this kind: in their own namespace, or in this one.
fn collection(manifest: &Value, namespace: &str) -> Outcome<String> {
    let namespace = manifest["metadata"]["namespace"].as_str().unwrap_or(namespace);
    let (group, plural) = match manifest["kind"].as_str() {
        Some("Service") => ("/api/v1", "services"),
        Some("Secret") => ("/api/v1", "secrets"),
        Some("ConfigMap") => ("/api/v1", "configmaps"),
        Some("EndpointSlice") => ("/apis/discovery.k8s.io/v1", "endpointslices"),
        Some("Ingress") => ("/apis/networking.k8s.io/v1", "ingresses"),
        Some("Gateway") => (GATEWAY_API, "gateways"),
        Some("ListenerSet") => (GATEWAY_API, "listenersets"),
        Some("HTTPRoute") => (GATEWAY_API, "httproutes"),
        Some("GRPCRoute") => (GATEWAY_API, "grpcroutes"),
        Some("TLSRoute") => (GATEWAY_API, "tlsroutes"),
        Some("TCPRoute") => (GATEWAY_API, "tcproutes"),
        Some("BackendTLSPolicy") => (GATEWAY_API, "backendtlspolicies"),
        Some("ReferenceGrant") => (GATEWAY_API, "referencegrants"),
        Some("Namespace") => return Ok("/api/v1/namespaces".to_owned()),
        kind => {
            return Err(Failure::new(format!("the API server is not asked for objects of kind {kind:?}")));
        }
    };
    Ok(format!("{group}/namespaces/{namespace}/{plural}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_changed_manifest_is_the_same_file_and_nothing_unfinished_stays() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::Folder { path: dir.path().into(), namespace: "here".into() };
        let service = |port: u16| json!({ "kind": "Service", "metadata": { "name": "a" }, "port": port });
        objects.create_all([service(1)].into_iter()).await.unwrap();
        objects.change(&service(2)).await.unwrap();
        let files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files, [dir.path().join("Service-a.json")]);
        let read: Value = serde_json::from_str(&fs::read_to_string(&files[0]).unwrap()).unwrap();
        assert_eq!((&read["port"], &read["metadata"]["namespace"]), (&json!(2), &json!("here")));
        objects.delete(&service(2)).await.unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn objects_are_sent_where_the_api_server_has_their_kind() {
        assert_eq!(
            collection(&json!({ "kind": "EndpointSlice" }), "n").unwrap(),
            "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices"
        );
        assert_eq!(
            collection(&json!({ "kind": "HTTPRoute" }), "n").unwrap(),
            "/apis/gateway.networking.k8s.io/v1/namespaces/n/httproutes"
        );
        assert!(collection(&json!({ "kind": "Pod" }), "n").is_err());
    }
}
