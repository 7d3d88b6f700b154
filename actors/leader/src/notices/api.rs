//! Writes notices as Kubernetes Events (`events.k8s.io/v1`).

use super::notice::{Notice, NoticeSubject};
use haptic_model::{HAProxyTemplateConfig, HaproxyPod, Oversized, Snapshots, pipeline::PodState};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client, Resource,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// One call takes no longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Writes notices.
#[derive(Clone)]
pub struct NoticeApi {
    client: Client,
    reporter: Reporter,
    namespace: Arc<str>,
    name: Arc<str>,
}

/// Where what a notice is about is found.
pub struct NoticeTargets<'a> {
    /// The watched objects.
    pub snapshots: &'a Snapshots,
    /// The pods.
    pub pods: &'a BTreeMap<HaproxyPod, PodState>,
    /// The configuration's uid.
    pub config: Option<&'a str>,
}

impl NoticeApi {
    /// Speaks for the process `identity`, about configuration `namespace/name` and what it makes.
    #[must_use]
    pub fn new(client: Client, identity: &str, namespace: Arc<str>, name: Arc<str>) -> Self {
        let reporter = Reporter {
            controller: "haproxy-haptic.org/controller".into(),
            instance: Some(identity.to_owned()),
        };
        Self { client, reporter, namespace, name }
    }

    /// Writes `notice`. What it is about may be gone or unreadable: then it is a notice about the configuration.
    ///
    /// # Errors
    /// The API server's words, with what to allow when it is a matter of rights.
    pub async fn write(&self, notice: &Notice, known: &NoticeTargets<'_>) -> Result<(), String> {
        let event = Event {
            type_: if notice.warning { EventType::Warning } else { EventType::Normal },
            reason: notice.reason.to_owned(),
            note: Some(notice.note.clone()),
            action: notice.action.to_owned(),
            secondary: None,
        };
        let about = self.reference(&notice.about, known);
        // One that has written before makes a series of what has the same reason, and keeps the first one's note. Nothing is said
        // twice in the time that a series lasts.
        let recorder = Recorder::new(self.client.clone(), self.reporter.clone());
        match tokio::time::timeout(PATIENCE, recorder.publish(&event, &about)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => Err(format!(
                "{}. Allow create on events (events.k8s.io) in the namespaces of watched objects",
                status.message
            )),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("the API server did not answer within {} s", PATIENCE.as_secs())),
        }
    }

    fn reference(&self, about: &NoticeSubject, known: &NoticeTargets<'_>) -> ObjectReference {
        let found = match about {
            NoticeSubject::Config => None,
            NoticeSubject::Object(object) => known
                .snapshots
                .get(&object.resource)
                .and_then(|store| store.get(&object.namespace, &object.name))
                .and_then(|object| object.value().ok())
                .and_then(|value| reference_to(&value)),
            NoticeSubject::Oversized(oversized) => Some(reference_to_oversized(oversized)),
            NoticeSubject::Namespace(name) => (!name.is_empty()).then(|| reference_to_namespace(name)),
            NoticeSubject::Pod(name) => {
                known.pods.keys().find(|pod| pod.to_string() == **name).map(pod_reference)
            }
        };
        found.unwrap_or_else(|| self.config_reference(known.config))
    }

    fn config_reference(&self, uid: Option<&str>) -> ObjectReference {
        ObjectReference {
            api_version: Some(HAProxyTemplateConfig::api_version(&()).into_owned()),
            kind: Some(HAProxyTemplateConfig::kind(&()).into_owned()),
            namespace: Some(self.namespace.to_string()),
            name: Some(self.name.to_string()),
            uid: uid.map(str::to_owned),
            ..ObjectReference::default()
        }
    }
}

fn reference_to_oversized(oversized: &Oversized) -> ObjectReference {
    let text = |text: &Arc<str>| Some(text.to_string()).filter(|text| !text.is_empty());
    ObjectReference {
        api_version: text(&oversized.api_version),
        kind: text(&oversized.kind),
        namespace: text(&oversized.object.namespace),
        name: text(&oversized.object.name),
        uid: text(&oversized.uid),
        ..ObjectReference::default()
    }
}

/// `kubectl describe namespace` finds it by name; the API server keeps it in the namespace `default`.
fn reference_to_namespace(name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".into()),
        kind: Some("Namespace".into()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}

fn pod_reference(pod: &HaproxyPod) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".into()),
        kind: Some("Pod".into()),
        namespace: Some(pod.namespace.to_string()),
        name: Some(pod.name.to_string()),
        uid: Some(pod.uid.to_string()),
        ..ObjectReference::default()
    }
}

fn reference_to(object: &Value) -> Option<ObjectReference> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some(ObjectReference {
        api_version: Some(text("/apiVersion")?),
        kind: Some(text("/kind")?),
        namespace: text("/metadata/namespace"),
        name: Some(text("/metadata/name")?),
        uid: text("/metadata/uid"),
        ..ObjectReference::default()
    })
}
