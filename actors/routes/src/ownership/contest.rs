//! The contest for one holding: which of those that ask for it has it.
//!
//! The namespace that asked first has it: that of the oldest object, of equal ages the first by namespace and name. Within a namespace the last
//! by name is the first where its own controller has it so. A namespace that had it keeps its age there as long as it is remembered ([`crate::ownership::memory`]).

use haptic_model::{HostHold, ObjectRef};
use std::{cmp::Ordering, sync::Arc};

/// When an object was created. The API server writes all times alike, so they are compared as texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    /// `metadata.creationTimestamp`.
    Since(Arc<str>),
    /// Without one it is younger than all others.
    Unknown,
}

/// How firmly requests are asked for: what is less counts before what is more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimPriority {
    /// As it is written.
    #[default]
    Asked,
    /// For what no other route of the same match in its namespace takes, whatever its age.
    Fallback,
    /// Other names of a host: for what no other route of the same match takes, whatever its age, and not at a host that another
    /// namespace has.
    Spare,
    /// A family's redirect of another host, or of the root of one's own: for what no other route takes, neither one of a wildcard over
    /// that host nor one for all paths of this one, and not at a host that another namespace has.
    Redirect,
    /// For what nobody else asks for, of whatever namespace: nothing is there (404), and what the object says of requests counts.
    Rest,
}

/// An object that asks for one holding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claimant {
    pub age: Age,
    pub object: Arc<ObjectRef>,
    /// As [`crate::claims::Claims::is_last_first`].
    pub is_last_first: bool,
    /// How firmly.
    pub standing: ClaimPriority,
    /// Whether it names a CA for clients.
    pub verifies: bool,
}

/// All that ask for one holding, the first one first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claimants(Vec<Claimant>);

/// The namespace that has a holding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub namespace: Arc<str>,
    /// The age that its namespace is compared by.
    pub age: Age,
    /// The object of it that has the holding; none while it is kept for a namespace whose object is gone.
    pub object: Option<Claimant>,
}

/// The memory of a namespace that has, or had, a holding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seniority {
    pub namespace: Arc<str>,
    pub age: Age,
}

/// A holding that only one can have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contest {
    pub claimants: Claimants,
    /// As of the last [`Self::decide`].
    pub holder: Option<Holder>,
}

impl Seniority {
    /// The same as it is written down, of a namespace that has an object there.
    pub fn hold(&self) -> HostHold {
        let age = match &self.age {
            Age::Since(age) => Some(age.clone()),
            Age::Unknown => None,
        };
        HostHold { namespace: self.namespace.clone(), age, gone: None }
    }
}

impl Claimant {
    /// Whether it asks for the holding, and has not only what nobody else asks for.
    pub fn asks(&self) -> bool {
        matches!(self.standing, ClaimPriority::Asked | ClaimPriority::Fallback)
    }

    fn rank(&self) -> ClaimantRank<'_> {
        ClaimantRank { age: &self.age, object: &self.object, is_last_first: self.is_last_first }
    }
}

/// By which claimants are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClaimantRank<'c> {
    pub age: &'c Age,
    pub object: &'c ObjectRef,
    pub is_last_first: bool,
}

impl Ord for ClaimantRank<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_name = || match self.is_last_first {
            true => other.object.name.cmp(&self.object.name),
            false => self.object.name.cmp(&other.object.name),
        };
        let place = |rank: &Self| (&*rank.object.resource, &*rank.object.namespace, rank.is_last_first);
        self.age.cmp(other.age).then_with(|| place(self).cmp(&place(other))).then_with(by_name)
    }
}

impl PartialOrd for ClaimantRank<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Claimants {
    pub fn enter(&mut self, claimant: Claimant) {
        match self.0.binary_search_by(|other| other.rank().cmp(&claimant.rank())) {
            Ok(place) => self.0.splice(place..=place, [claimant]).for_each(drop),
            Err(place) => self.0.insert(place, claimant),
        }
    }

    pub fn leave(&mut self, rank: ClaimantRank<'_>) {
        if let Ok(place) = self.0.binary_search_by(|other| other.rank().cmp(&rank)) {
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

    /// The namespace and age that count for the holder, if another namespace waits for the holding.
    pub fn awaited(&self) -> Option<Seniority> {
        let Holder { namespace, age, .. } = self.holder.as_ref()?;
        let is_other = |claimant: &Claimant| claimant.object.namespace != *namespace;
        let is_awaited = self.claimants.iter().any(is_other);
        is_awaited.then(|| Seniority { namespace: namespace.clone(), age: age.clone() })
    }

    fn elected(&self, remembered: Option<&Seniority>) -> Option<Holder> {
        let first = self.claimants.iter().find(|claimant| claimant.asks());
        let rank = |claimant: &Claimant| (claimant.age.clone(), claimant.object.namespace.clone());
        let first = first.map(rank);
        let remembered = remembered.map(|known| (known.age.clone(), known.namespace.clone()));
        let rest = || self.claimants.first().map(rank);
        let (age, namespace) = [first, remembered].into_iter().flatten().min().or_else(rest)?;
        let object = self.claimants.of(&namespace).min_by_key(|claimant| claimant.standing).cloned();
        Some(Holder { namespace, age, object })
    }
}
