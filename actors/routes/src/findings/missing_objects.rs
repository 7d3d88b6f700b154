//! Secrets and ConfigMaps that options name and that are not there. Those of certificates are looked at as those of `spec.tls`.

use super::certificates::SecretsAtTime;
use crate::{
    claims::{Claims, QualifiedName},
    objects::named_objects::NamedKind,
    options,
    sentences::shortened,
};
use haptic_model::{Finding, FindingKind, ObjectRef, Snapshot};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// The objects that name others of one kind, by the namespaces and names of these.
type NamedBy = HashMap<(Arc<str>, Arc<str>), BTreeSet<Arc<ObjectRef>>>;

/// The objects that options name, and whether they are there.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedObjects {
    there: SecretsAtTime,
    secrets: NamedBy,
    config_maps: NamedBy,
}

impl NamedObjects {
    /// Takes up what is different, and says of whom something else is found than before.
    pub fn update(&mut self, now: &SecretsAtTime) -> BTreeSet<Arc<ObjectRef>> {
        let before = std::mem::replace(&mut self.there, now.clone());
        let mut involved = BTreeSet::new();
        for (was, is, named_by) in [
            (&before.labelled, &now.labelled, &self.secrets),
            (&before.config_maps, &now.config_maps, &self.config_maps),
        ] {
            match (was, is) {
                (Some(was), Some(is)) => {
                    for name in come_and_gone(was, is) {
                        involved.extend(named_by.get(&name).into_iter().flatten().cloned());
                    }
                }
                (None, None) => {}
                // Nobody could tell before, or nobody can any more.
                _ => involved.extend(named_by.values().flatten().cloned()),
            }
        }
        involved
    }

    /// An object names what it names.
    pub fn add(&mut self, object: &Arc<ObjectRef>, claims: &Claims) {
        for named in &claims.named_objects {
            if let Some(named_by) = self.of_kind(named.kind) {
                let key = (object.namespace.clone(), named.name.clone());
                named_by.entry(key).or_default().insert(object.clone());
            }
        }
    }

    /// It does not any more.
    pub fn remove(&mut self, object: &Arc<ObjectRef>, claims: &Claims) {
        for named in &claims.named_objects {
            let Some(named_by) = self.of_kind(named.kind) else { continue };
            let key = (object.namespace.clone(), named.name.clone());
            if let Some(objects) = named_by.get_mut(&key) {
                objects.remove(object);
                if objects.is_empty() {
                    named_by.remove(&key);
                }
            }
        }
    }

    /// The objects that name one.
    pub fn naming(&self, kind: NamedKind, name: &QualifiedName) -> impl Iterator<Item = &Arc<ObjectRef>> {
        let named_by = match kind {
            NamedKind::Secret => Some(&self.secrets),
            NamedKind::ConfigMap => Some(&self.config_maps),
            NamedKind::Certificate => None,
        };
        named_by.and_then(|named_by| named_by.get(name)).into_iter().flatten()
    }

    fn of_kind(&mut self, kind: NamedKind) -> Option<&mut NamedBy> {
        match kind {
            NamedKind::Secret => Some(&mut self.secrets),
            NamedKind::ConfigMap => Some(&mut self.config_maps),
            NamedKind::Certificate => None,
        }
    }

    /// The findings at an object of that namespace for those that it names and that are not there.
    pub fn missing(&self, namespace: &str, claims: &Claims) -> Vec<Finding> {
        let missing = claims.named_objects.iter().filter_map(|named| {
            let (store, kind, word) = match named.kind {
                NamedKind::Secret => (&self.there.labelled, FindingKind::SecretMissing, "Secret"),
                NamedKind::ConfigMap => (&self.there.config_maps, FindingKind::ConfigMapMissing, "ConfigMap"),
                NamedKind::Certificate => return None,
            };
            if store.as_ref()?.get(namespace, &named.name).is_some() {
                return None;
            }
            let needs_label = named.kind == NamedKind::ConfigMap || self.there.needs_label;
            let label = if needs_label { " with the label haproxy-haptic.org/use" } else { "" };
            let (name, without) = (shortened(&named.name), named.without);
            let sentence = format!("there is no {word} {namespace}/{name}{label}: {without}");
            Some(options::finding(kind, named.option, sentence))
        });
        missing.collect()
    }
}

/// The namespaces and names of objects that are in one of the two stores only.
fn come_and_gone(was: &Snapshot, is: &Snapshot) -> Vec<(Arc<str>, Arc<str>)> {
    let moved = is.differences_from(was).filter(|moved| moved.before.is_none() || moved.after.is_none());
    let objects = moved.filter_map(|moved| Some(moved.after.or(moved.before)?.0));
    objects.map(|object| (object.reference.namespace.clone(), object.reference.name.clone())).collect()
}
