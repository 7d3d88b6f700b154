//! Who of those that ask for one thing has it.
//!
//! The namespace that asked first has it: that of the oldest object, of equal ages the first by namespace and name. A
//! namespace that had it keeps its age there as long as it is remembered ([`super::memory`]).

use haptic_model::ObjectRef;
use std::sync::Arc;

/// When an object was created. The API server writes all times alike, so they are compared as texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    /// `metadata.creationTimestamp`.
    Since(Arc<str>),
    /// Without one it is younger than all others.
    Unknown,
}

/// An object that asks for one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claimant {
    pub age: Age,
    pub object: Arc<ObjectRef>,
    /// Only for what no other object of its namespace takes.
    pub fallback: bool,
    /// Whether it names a CA for clients.
    pub verifies: bool,
}

/// All that ask for one thing, the first one first.
#[derive(Clone, Debug, Default)]
pub(super) struct Claimants(Vec<Claimant>);

/// Who has a thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub namespace: Arc<str>,
    /// What its namespace is compared by.
    pub age: Age,
    /// The object of it that has the thing; none while it is kept for a namespace whose object is gone.
    pub object: Option<Claimant>,
}

/// What is remembered of a namespace that has, or had, a thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seniority {
    pub namespace: Arc<str>,
    pub age: Age,
}

/// A thing that only one can have.
#[derive(Clone, Debug, Default)]
pub(super) struct Contest {
    pub claimants: Claimants,
    /// As of the last [`Self::decide`].
    pub holder: Option<Holder>,
}

impl Claimant {
    fn rank(&self) -> (&Age, &ObjectRef) {
        (&self.age, &self.object)
    }
}

impl Claimants {
    pub fn enter(&mut self, claimant: Claimant) {
        match self.0.binary_search_by(|other| other.rank().cmp(&claimant.rank())) {
            Ok(place) => self.0.splice(place..=place, [claimant]).for_each(drop),
            Err(place) => self.0.insert(place, claimant),
        }
    }

    pub fn leave(&mut self, age: &Age, object: &ObjectRef) {
        if let Ok(place) = self.0.binary_search_by(|other| other.rank().cmp(&(age, object))) {
            self.0.remove(place);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Claimant> {
        self.0.iter()
    }

    pub fn first(&self) -> Option<&Claimant> {
        self.0.first()
    }

    /// Those of one namespace.
    pub fn of<'c>(&'c self, namespace: &'c str) -> impl Iterator<Item = &'c Claimant> {
        self.0.iter().filter(move |claimant| *claimant.object.namespace == *namespace)
    }
}

impl Contest {
    /// Finds the holder among those that ask and who is remembered. Whether it is another one than before.
    pub fn decide(&mut self, remembered: Option<&Seniority>) -> bool {
        let before = self.holder.take();
        self.holder = self.elected(remembered);
        before != self.holder
    }

    fn elected(&self, remembered: Option<&Seniority>) -> Option<Holder> {
        let first = self.claimants.first();
        let rank = |claimant: &Claimant| (claimant.age.clone(), claimant.object.namespace.clone());
        let first = first.map(rank);
        let remembered = remembered.map(|known| (known.age.clone(), known.namespace.clone()));
        let (age, namespace) = [first, remembered].into_iter().flatten().min()?;
        let own = || self.claimants.of(&namespace);
        let object = own().find(|claimant| !claimant.fallback).or_else(|| own().next()).cloned();
        Some(Holder { namespace, age, object })
    }
}
