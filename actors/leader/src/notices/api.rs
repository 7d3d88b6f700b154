//! Writes notices as Kubernetes Events (`events.k8s.io/v1`).

use super::notice::{Notice, NoticeSubject};
use crate::api_server::in_time;
use haptic_model::{HAProxyTemplateConfig, HaproxyPod, Oversized, Snapshots, pipeline::PodState};
use haptic_text::Digest;
use jiff::Timestamp;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event as KubernetesEvent},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{
    Api, Client, Resource,
    api::PostParams,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// Where Events about what has no namespace are kept.
const CLUSTER_SCOPED: &str = "default";
/// So much of an object's name is in that of an Event, of 253 bytes that it may have.
const LONGEST_NAME: usize = 200;
/// So many digits tell the Events about an object apart.
const DIGITS: usize = 32;

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
        let about = self.reference(&notice.about, known);
        let writing = async {
            if notice.once {
                self.write_once(notice, &about).await
            } else {
                self.record(notice, &about).await
            }
        };
        let rights = "create on events (events.k8s.io) in the namespaces of watched objects";
        in_time(writing).await.map_err(|failure| failure.explained(rights))
    }

    async fn record(&self, notice: &Notice, about: &ObjectReference) -> kube::Result<()> {
        let event = Event {
            type_: if notice.warning { EventType::Warning } else { EventType::Normal },
            reason: notice.reason.to_owned(),
            note: Some(notice.note.clone()),
            action: notice.action.to_owned(),
            secondary: None,
        };
        // One that has written before makes a series of what has the same reason, and keeps the first one's note. Nothing is said
        // twice in the time that a series lasts.
        let recorder = Recorder::new(self.client.clone(), self.reporter.clone());
        recorder.publish(&event, about).await
    }

    /// Its name is made of what it says, so the API server has it once whoever writes it: a replica that leads anew says nothing
    /// again that is still there.
    async fn write_once(&self, notice: &Notice, about: &ObjectReference) -> kube::Result<()> {
        let namespace = about.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        let events: Api<KubernetesEvent> =
            Api::namespaced(self.client.clone(), namespace.unwrap_or(CLUSTER_SCOPED));
        let event = KubernetesEvent {
            metadata: ObjectMeta { name: Some(name_of(notice, about)), ..ObjectMeta::default() },
            type_: Some(if notice.warning { "Warning" } else { "Normal" }.to_owned()),
            reason: Some(notice.reason.to_owned()),
            action: Some(notice.action.to_owned()),
            note: Some(notice.note.clone()),
            event_time: Some(MicroTime(Timestamp::now())),
            regarding: Some(about.clone()),
            reporting_controller: Some(self.reporter.controller.clone()),
            reporting_instance: self.reporter.instance.clone(),
            ..KubernetesEvent::default()
        };
        match events.create(&PostParams::default(), &event).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            result => result.map(|_| ()),
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

/// The object's name, and a digest of everything that the notice says of it.
fn name_of(notice: &Notice, about: &ObjectReference) -> String {
    let object = about.name.as_deref().unwrap_or_default();
    let said = [about.uid.as_deref().unwrap_or_default(), object, notice.reason, &notice.note].join("\n");
    let start = object.get(..object.floor_char_boundary(LONGEST_NAME)).unwrap_or_default();
    let start = start.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let digest = Digest::of(said.as_bytes()).to_string();
    format!("{start}.{}", digest.get(..DIGITS).unwrap_or_default())
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
