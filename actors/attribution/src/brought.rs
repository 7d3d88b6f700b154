//! The faults that a change brings: an old fault of another object never blocks somebody else. Pure.

use crate::faults::Faults;
use haptic_model::{Diagnostic, ObjectRef};
use std::{collections::HashSet, sync::Arc};

/// The faults among `after` that were not there `before`, when `changed` is what changed in between.
///
/// Where an old one may have hidden others, whatever else fails now may be one of these: then only faults of the changed
/// objects count.
#[must_use]
pub fn brought(
    after: &[Diagnostic],
    before: &[Diagnostic],
    hidden: bool,
    changed: &HashSet<Arc<ObjectRef>>,
) -> Vec<Diagnostic> {
    let known: HashSet<_> = before.iter().map(key).collect();
    let new = after.iter().filter(|fault| !known.contains(&key(fault)));
    new.filter(|fault| !hidden || is_of(fault, changed)).cloned().collect()
}

/// The sentences about each object at fault, with the name of a changed one where it is one's fault.
#[must_use]
pub fn diagnostics(faults: &Faults, changed: &HashSet<Arc<ObjectRef>>) -> Vec<Diagnostic> {
    let of_objects =
        faults.objects.iter().flat_map(|(owner, all)| all.iter().map(move |fault| (owner, fault)));
    let named = of_objects.map(|(owner, fault)| {
        let named = fault
            .diagnostic
            .object
            .as_ref()
            .filter(|named| changed.contains(*named) || !changed.contains(owner));
        let object = named.unwrap_or(owner).clone();
        fault.diagnostic.clone().of_object(Some(object))
    });
    faults.others.iter().cloned().chain(named).collect()
}

/// Whether it is about one of these objects.
#[must_use]
pub fn is_of(fault: &Diagnostic, objects: &HashSet<Arc<ObjectRef>>) -> bool {
    fault.object.as_ref().is_some_and(|object| objects.contains(object))
}

/// The parts that make a fault the same one: not the line of the output, which moves.
#[derive(PartialEq, Eq, Hash)]
struct FaultKey<'f> {
    source: &'f str,
    message: &'f str,
    object: Option<&'f ObjectRef>,
    template: Option<(&'f str, u32)>,
    field: Option<&'f str>,
}

fn key(fault: &Diagnostic) -> FaultKey<'_> {
    FaultKey {
        source: fault.source,
        message: &fault.message,
        object: fault.object.as_deref(),
        template: fault.template.as_ref().map(|at| (&*at.template, at.line)),
        field: fault.field.as_deref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::FileKey;

    fn object(name: &str) -> Arc<ObjectRef> {
        Arc::new(ObjectRef::new("ingresses", "shop", name))
    }

    fn fault(message: &str, name: &str) -> Diagnostic {
        Diagnostic::error("render", message).of_object(Some(object(name)))
    }

    fn new(after: &[Diagnostic], before: &[Diagnostic]) -> usize {
        let hidden = before.iter().any(|fault| fault.message == "old");
        brought(after, before, hidden, &HashSet::from([object("web")])).len()
    }

    #[test]
    fn every_fault_counts_where_there_was_none() {
        assert_eq!(new(&[fault("bad", "web"), fault("worse", "other")], &[]), 2);
    }

    #[test]
    fn a_fault_that_was_there_is_no_reason_wherever_its_line_is_now() {
        let moved = fault("bad", "web").at_output(FileKey::config(), 7, "x");
        assert_eq!(new(&[moved], &[fault("bad", "web").at_output(FileKey::config(), 5, "x")]), 0);
    }

    #[test]
    fn behind_an_old_fault_only_those_of_the_changed_object_count() {
        let before = [fault("old", "other")];
        assert_eq!(new(&[fault("hidden until now", "third")], &before), 0);
        assert_eq!(new(&[fault("new", "web")], &before), 1);
        assert_eq!(new(&[Diagnostic::error("render", "of nobody")], &before), 0);
    }
}
