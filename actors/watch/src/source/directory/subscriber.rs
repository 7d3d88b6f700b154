//! One watch of a directory: which objects it takes, and the way to its pump.

use super::manifest::{Manifest, ManifestIdentity};
use crate::{
    ingest::{Ingest, Ingested},
    spec::WatchSpec,
    update::{ListScope, Update},
};
use haptic_model::{
    ObjectRef,
    crd::WatchedResource,
    selector::{FieldSelector, LabelSelector, SelectorError},
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::mpsc::Sender;

/// Labels of the namespaces for which there is a manifest.
pub(crate) type NamespaceLabels = BTreeMap<Arc<str>, Map<String, Value>>;

/// A watch that listens.
pub(super) struct DirectorySubscriber {
    spec: Arc<WatchSpec>,
    ingest: Arc<Ingest>,
    selection: Selection,
    out: Sender<Update>,
}

/// The selectors of a watch. They do what the API server does in a cluster.
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    namespaces: Option<LabelSelector>,
    named: Vec<String>,
}

impl DirectorySubscriber {
    pub(super) fn new(
        spec: &Arc<WatchSpec>,
        ingest: Arc<Ingest>,
        out: Sender<Update>,
    ) -> Result<Self, SelectorError> {
        Ok(Self { selection: Selection::new(&spec.resource)?, spec: spec.clone(), ingest, out })
    }

    /// Whether the pump still listens.
    pub(super) fn listens(&self) -> bool {
        !self.out.is_closed()
    }

    /// Whether both send to the same pump.
    pub(super) fn is_for_the_same_as(&self, other: &Self) -> bool {
        self.out.same_channel(&other.out)
    }

    /// Whether it watches this kind at all.
    pub(super) fn watches(&self, identity: &ManifestIdentity) -> bool {
        identity.is_of(&self.spec.resource.api_version, &self.spec.resource.resources)
    }

    /// Whether the labels of namespaces matter to it.
    pub(super) fn selects_namespaces(&self) -> bool {
        self.selection.namespaces.is_some()
    }

    pub(super) fn begin(&self) {
        self.send(Update::Scopes([everything()].into()));
        self.send(Update::ListBegun(everything()));
    }

    pub(super) fn end(&self) {
        self.send(Update::ListEnded(everything()));
    }

    /// A manifest during a list.
    pub(super) fn list(&self, manifest: &Manifest, namespaces: &NamespaceLabels) {
        if self.watches(&manifest.identity) && self.selection.selects(manifest, namespaces) {
            self.give(manifest, Update::Listed);
        }
    }

    /// An object whose file cannot be read at present.
    pub(super) fn keep(&self, identity: &ManifestIdentity) {
        if self.watches(identity) {
            self.send(Update::Kept(everything(), self.reference(identity)));
        }
    }

    /// A manifest that is new or changed.
    pub(super) fn put(&self, manifest: &Manifest, namespaces: &NamespaceLabels) {
        if !self.watches(&manifest.identity) {
            return;
        }
        if self.selection.selects(manifest, namespaces) {
            self.give(manifest, Update::Put);
        } else {
            self.gone(&manifest.identity);
        }
    }

    /// An object that is not there any more.
    pub(super) fn gone(&self, identity: &ManifestIdentity) {
        if self.watches(identity) {
            self.send(Update::Gone(everything(), self.reference(identity)));
        }
    }

    fn give(&self, manifest: &Manifest, taken: impl FnOnce(ListScope, Ingested) -> Update) {
        self.send(self.ingest.update(manifest.value.clone(), &everything(), taken));
    }

    fn reference(&self, identity: &ManifestIdentity) -> Arc<ObjectRef> {
        Arc::new(ObjectRef {
            resource: self.spec.name.clone(),
            namespace: identity.namespace.clone(),
            name: identity.name.clone(),
        })
    }

    /// Waits for the pump when it is behind; what is sent to one that has ended is lost.
    fn send(&self, update: Update) {
        drop(self.out.blocking_send(update));
    }
}

impl Selection {
    /// The selectors of `resource`.
    ///
    /// # Errors
    /// The first that cannot be read.
    pub(crate) fn new(resource: &WatchedResource) -> Result<Self, SelectorError> {
        Ok(Self {
            labels: LabelSelector::parse(resource.label_selector.as_deref().unwrap_or_default())?,
            fields: FieldSelector::parse(resource.field_selector.as_deref().unwrap_or_default())?,
            namespaces: resource.selects_namespaces().map(LabelSelector::parse).transpose()?,
            named: resource.namespaces.clone(),
        })
    }

    /// Whether the API server would give this object to the watch.
    pub(crate) fn selects(&self, manifest: &Manifest, namespaces: &NamespaceLabels) -> bool {
        let namespace = &manifest.identity.namespace;
        let labels = manifest.value.pointer("/metadata/labels").and_then(Value::as_object);
        (self.named.is_empty() || self.named.iter().any(|name| **name == **namespace))
            && self
                .namespaces
                .as_ref()
                .is_none_or(|selector| selects_namespace(selector, namespace, namespaces))
            && self.labels.matches(labels)
            && self.fields.matches(&manifest.value)
    }
}

/// Every namespace carries its own name as a label, with or without a manifest.
fn selects_namespace(selector: &LabelSelector, namespace: &Arc<str>, known: &NamespaceLabels) -> bool {
    let mut labels = known.get(namespace).cloned().unwrap_or_default();
    labels.insert("kubernetes.io/metadata.name".into(), Value::String(namespace.to_string()));
    selector.matches(Some(&labels))
}

fn everything() -> ListScope {
    ListScope::from("")
}
