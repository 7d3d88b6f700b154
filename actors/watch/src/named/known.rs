//! The objects that a named store could hold: all of its resource, by their metadata. Pure.

use crate::update::ListScope;
use haptic_model::{ObjectRef, gateway::NamespacedName};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

/// What is known of them.
#[derive(Debug, Default)]
pub(crate) struct KnownObjects {
    /// By name, then by namespace.
    by_name: HashMap<Arc<str>, BTreeMap<Arc<str>, KnownObject>>,
    /// Whether everything that others named at the start is held.
    pub is_ready: bool,
}

#[derive(Debug)]
struct KnownObject {
    reference: Arc<ObjectRef>,
    scope: ListScope,
    /// `metadata.resourceVersion` of what is held.
    held: Option<Arc<str>>,
}

/// What a change of metadata means for the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetadataChange {
    /// It is held in this very version.
    Same,
    /// It is held, and has changed.
    Changed,
    /// It is not held: whether anybody names it is to be seen.
    NotHeld,
}

/// Of which namespaces the objects are that a name alone is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach<'n> {
    /// This one.
    Namespace(&'n str),
    /// All: what a configuration says, or a ConfigMap, may be a default for everybody.
    Everywhere,
}

/// An object to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToFetch {
    pub scope: ListScope,
    pub reference: Arc<ObjectRef>,
}

impl KnownObjects {
    /// An object is there, in the version `stamp`.
    pub fn see(&mut self, scope: &ListScope, reference: &Arc<ObjectRef>, stamp: &str) -> MetadataChange {
        let of_name = self.by_name.entry(reference.name.clone()).or_default();
        let known = of_name.entry(reference.namespace.clone()).or_insert_with(|| KnownObject {
            reference: reference.clone(),
            scope: scope.clone(),
            held: None,
        });
        match &known.held {
            Some(held) if **held == *stamp => MetadataChange::Same,
            Some(_) => MetadataChange::Changed,
            None => MetadataChange::NotHeld,
        }
    }

    /// The store has the object in the version `stamp`; an empty one is none that there is.
    pub fn hold(&mut self, reference: &ObjectRef, stamp: &Arc<str>) {
        let of_name = self.by_name.get_mut(&reference.name);
        if let Some(known) = of_name.and_then(|of_name| of_name.get_mut(&reference.namespace)) {
            known.held = Some(stamp.clone());
        }
    }

    /// Whether the store was given the object.
    pub fn is_held(&self, reference: &ObjectRef) -> bool {
        let known = self.by_name.get(&reference.name).and_then(|of_name| of_name.get(&reference.namespace));
        known.is_some_and(|known| known.held.is_some())
    }

    /// An object is gone; whether it was held.
    pub fn forget(&mut self, reference: &ObjectRef) -> bool {
        let Some(of_name) = self.by_name.get_mut(&reference.name) else { return false };
        let was_held = of_name.remove(&reference.namespace).is_some_and(|known| known.held.is_some());
        if of_name.is_empty() {
            self.by_name.remove(&reference.name);
        }
        was_held
    }

    /// Forgets the objects of which this says so.
    pub fn forget_all(&mut self, is_gone: impl Fn(&ListScope, &Arc<ObjectRef>) -> bool) {
        self.by_name.retain(|_, of_name| {
            of_name.retain(|_, known| !is_gone(&known.scope, &known.reference));
            !of_name.is_empty()
        });
    }

    /// What is to be fetched so that `object` is held.
    pub fn to_fetch(&self, (namespace, name): &NamespacedName) -> Option<ToFetch> {
        let known = self.by_name.get(name)?.get(namespace)?;
        Some(ToFetch { scope: known.scope.clone(), reference: known.reference.clone() })
    }

    /// What they are called.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_name.keys()
    }

    /// Those that are not held.
    pub fn not_held(&self) -> impl Iterator<Item = &Arc<ObjectRef>> {
        let all = self.by_name.values().flat_map(BTreeMap::values);
        all.filter(|known| known.held.is_none()).map(|known| &known.reference)
    }

    /// Those that are named by one of these words and that are not held. An object of a namespace names those of others only
    /// where the other namespace is one of its words, too.
    ///
    /// It costs as much as there are words and objects of such names, whatever they are.
    pub fn missing<'w>(
        &self,
        reach: Reach<'_>,
        words: impl Iterator<Item = &'w str> + Clone,
    ) -> BTreeSet<NamespacedName> {
        let mut missing = BTreeSet::new();
        let mut looked_up = HashSet::new();
        let mut elsewhere = Vec::new();
        for word in words.clone() {
            let Some((name, of_name)) = self.by_name.get_key_value(word) else { continue };
            if !looked_up.insert(word) {
                continue;
            }
            for (of, known) in of_name.iter().filter(|(_, known)| known.held.is_none()) {
                match reach {
                    Reach::Namespace(namespace) if **of != *namespace => elsewhere.push((of, name)),
                    _ => drop(missing.insert((of.clone(), known.reference.name.clone()))),
                }
            }
        }
        if !elsewhere.is_empty() {
            let words: HashSet<&str> = words.collect();
            let named = elsewhere.into_iter().filter(|(of, _)| words.contains(&***of));
            missing.extend(named.map(|(of, name)| (of.clone(), name.clone())));
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(namespace: &str, name: &str) -> Arc<ObjectRef> {
        Arc::new(ObjectRef::new("secrets", namespace, name))
    }

    fn known(all: &[(&str, &str)]) -> KnownObjects {
        let mut known = KnownObjects::default();
        for (namespace, name) in all {
            known.see(&"".into(), &reference(namespace, name), "1");
        }
        known
    }

    fn missing(known: &KnownObjects, namespace: &str, text: &str) -> Vec<String> {
        let reach = if namespace == "*" { Reach::Everywhere } else { Reach::Namespace(namespace) };
        let all = known.missing(reach, text.split(' '));
        all.iter().map(|(namespace, name)| format!("{namespace}/{name}")).collect()
    }

    #[test]
    fn an_object_names_those_of_its_namespace_and_others_with_theirs() {
        let known = known(&[("a", "tls"), ("b", "tls"), ("c", "tls"), ("a", "other")]);
        assert_eq!(missing(&known, "a", "x tls tls y"), ["a/tls"]);
        assert_eq!(missing(&known, "a", "b tls"), ["a/tls", "b/tls"]);
        assert_eq!(missing(&known, "", "c tls"), ["c/tls"]);
        assert_eq!(missing(&known, "d", "tls"), [""; 0]);
        assert_eq!(missing(&known, "a", "b c"), [""; 0]);
        assert_eq!(missing(&known, "*", "x tls"), ["a/tls", "b/tls", "c/tls"]);
    }

    #[test]
    fn what_is_held_is_missed_no_more_until_it_is_gone() {
        let mut known = known(&[("a", "tls")]);
        let tls = reference("a", "tls");
        assert_eq!(known.see(&"".into(), &tls, "2"), MetadataChange::NotHeld);
        known.hold(&tls, &"2".into());
        assert_eq!(missing(&known, "a", "tls"), [""; 0]);
        assert_eq!(known.see(&"".into(), &tls, "2"), MetadataChange::Same);
        assert_eq!(known.see(&"".into(), &tls, "3"), MetadataChange::Changed);
        assert!(known.forget(&tls) && !known.forget(&tls));
        assert_eq!(missing(&known, "a", "tls"), [""; 0]);
        assert_eq!(known.see(&"".into(), &tls, "4"), MetadataChange::NotHeld);
        assert_eq!(missing(&known, "a", "tls"), ["a/tls"]);
        known.forget_all(|scope, _| &**scope == "other");
        assert_eq!(known.not_held().count(), 1);
        known.forget_all(|scope, _| scope.is_empty());
        assert_eq!(known.not_held().count(), 0);
    }
}
