//! The faults that keep a render from being a bundle: those of objects one by one, and those of the templates themselves.
//!
//! An object that is at fault never stops the pass: its block prints nothing, and the others go on. So one render names
//! all of them. Whoever left those objects out of the stores would get a bundle; [`crate::quarantine`] does.

use haptic_model::{Diagnostic, ObjectRef, store::Read};
use std::{collections::BTreeMap, sync::Arc};

/// The most sentences that are kept of one object.
pub const MOST_OF_ONE: usize = 8;
/// The most sentences that are told in one list.
pub const MOST_TOLD: usize = 100;

/// One thing that cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The object whose block was being printed, the outermost one, or that `register_error` named; none: the templates
    /// themselves. What is wrong may name another one, which that block read.
    pub object: Option<Arc<ObjectRef>>,
    /// How it came.
    pub kind: FaultKind,
    /// The fault.
    pub diagnostic: Diagnostic,
    /// The things that the object's block had read beside the object until then, if they are known.
    pub reads: Option<Arc<[Read]>>,
}

/// How a fault came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The templates say so: `register_error`.
    Registered,
    /// The block failed.
    Failed,
    /// A value that cannot stand where it was printed.
    Value,
}

/// Everything that keeps a render from being a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// By object, at most [`MOST_OF_ONE`] each, in an order that does not depend on what was kept from earlier renders.
    pub objects: BTreeMap<Arc<ObjectRef>, Vec<Fault>>,
    /// Of no object: leaving objects out does not help, as far as anybody knows.
    pub others: Vec<Diagnostic>,
}

impl Fault {
    /// The templates' own.
    #[must_use]
    pub fn of_templates(diagnostic: Diagnostic) -> Self {
        Self { object: None, kind: FaultKind::Failed, diagnostic, reads: None }
    }

    /// The same, of this object.
    #[must_use]
    pub fn of(self, object: Option<Arc<ObjectRef>>) -> Self {
        Self { object, ..self }
    }
}

impl Faults {
    /// Faults of the templates alone.
    #[must_use]
    pub fn of_templates(others: Vec<Diagnostic>) -> Self {
        Self { others, ..Self::default() }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.others.is_empty()
    }

    /// All faults, the templates' own first; no longer than anybody reads.
    #[must_use]
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        let objects = self.objects.into_values().flatten().map(|fault| fault.diagnostic);
        let mut all: Vec<_> = self.others.into_iter().chain(objects).collect();
        if let Some(more @ 1..) = all.len().checked_sub(MOST_TOLD) {
            all.truncate(MOST_TOLD);
            all.push(Diagnostic::error("render", format!("and {more} more")));
        }
        all
    }

    /// The first sentence about each object.
    pub fn messages(&self) -> impl Iterator<Item = (&Arc<ObjectRef>, &Diagnostic)> {
        self.objects.iter().filter_map(|(object, faults)| Some((object, &faults.first()?.diagnostic)))
    }
}

impl FromIterator<Fault> for Faults {
    /// Sorts them by object; what is told twice is there once.
    fn from_iter<T: IntoIterator<Item = Fault>>(all: T) -> Self {
        let mut faults = Self::default();
        for fault in all {
            match &fault.object {
                Some(object) => faults.objects.entry(object.clone()).or_default().push(fault),
                None => faults.others.push(fault.diagnostic),
            }
        }
        for of_one in faults.objects.values_mut() {
            of_one.sort_by_cached_key(|fault| {
                (fault.kind, place(&fault.diagnostic), fault.diagnostic.to_string())
            });
            of_one.dedup();
            of_one.truncate(MOST_OF_ONE);
        }
        faults.others.dedup();
        faults
    }
}

fn place(diagnostic: &Diagnostic) -> Option<(Arc<str>, u32, u32)> {
    diagnostic.template.as_ref().map(|place| (place.template.clone(), place.line, place.column))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(object: Option<&str>, message: &str) -> Fault {
        let object = object.map(|name| Arc::new(ObjectRef::new("ingresses", "n", name)));
        Fault::of_templates(Diagnostic::error("render", message)).of(object)
    }

    #[test]
    fn faults_are_told_by_object_once_each_and_bounded_whatever_came_first() {
        let of = |all: &mut dyn Iterator<Item = Fault>| all.collect::<Faults>();
        let all = || (0..20).map(|n| fault(Some("a"), &format!("{:02}", n / 2))).chain([fault(None, "t")]);
        let faults = of(&mut all());
        assert_eq!(faults, of(&mut all().collect::<Vec<_>>().into_iter().rev()));
        let (object, of_one) = faults.objects.first_key_value().unwrap();
        assert_eq!((&*object.name, of_one.len()), ("a", MOST_OF_ONE));
        assert_eq!(faults.messages().next().unwrap().1.message, "00");
        assert_eq!(faults.into_diagnostics().first().unwrap().message, "t");
    }
}
