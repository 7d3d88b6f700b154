//! Who takes too much of what all share.
//!
//! Where everybody's objects together do not fit, those of the namespaces that take most are left out, so far that the others fit:
//! so nobody with little stands back for many with much, in however many namespaces they are.

use haptic_model::ObjectRef;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// What a namespace takes: all of it, and object by object.
type Taken<'o> = (usize, Vec<(&'o Arc<ObjectRef>, usize)>);

/// The objects that are beyond `most` of what `taken` says each of them takes, in the order in which they come.
pub(crate) fn beyond<'o>(
    taken: impl IntoIterator<Item = (&'o Arc<ObjectRef>, usize)>,
    most: usize,
) -> BTreeSet<Arc<ObjectRef>> {
    let mut of: BTreeMap<&str, Taken<'o>> = BTreeMap::new();
    let mut all = 0_usize;
    for (object, more) in taken {
        let (sum, objects) = of.entry(&object.namespace).or_default();
        (*sum, all) = (*sum + more, all + more);
        objects.push((object, more));
    }
    let mut namespaces: Vec<_> = of.into_values().collect();
    namespaces.sort_by_key(|(sum, _)| *sum);
    let mut beyond = BTreeSet::new();
    // What each could have if all wanted as much.
    let share = most / namespaces.len().max(1);
    while all > most {
        let Some((_, objects)) = namespaces.pop() else { break };
        let mut kept = 0;
        for (object, takes) in objects {
            if kept + takes > share {
                beyond.insert(object.clone());
                all -= takes;
            } else {
                kept += takes;
            }
        }
    }
    beyond
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(namespace: &str, number: usize) -> Arc<ObjectRef> {
        Arc::new(ObjectRef::new("ingresses", namespace, &format!("{number:03}")))
    }

    #[test]
    fn those_who_take_most_stand_back_and_nobody_with_little() {
        let bad: Vec<_> = (0..100).map(|n| (object(&format!("bad{n}"), 0), 900)).collect();
        let good: Vec<_> = (0..50).map(|n| (object("good", n), 10)).collect();
        let all = bad.iter().chain(&good).map(|(object, takes)| (object, *takes));
        let beyond = beyond(all, 10_000);
        assert!(beyond.iter().all(|object| object.namespace.starts_with("bad")), "{beyond:?}");
        assert_eq!(beyond.len(), 90);
    }

    #[test]
    fn of_one_namespace_the_first_objects_stay() {
        let all: Vec<_> = (0..10).map(|n| (object("n", n), 10)).collect();
        let beyond = beyond(all.iter().map(|(object, takes)| (object, *takes)), 35);
        let names: Vec<&str> = beyond.iter().map(|object| &*object.name).collect();
        assert_eq!(names, ["003", "004", "005", "006", "007", "008", "009"]);
    }

    proptest! {
        #[test]
        fn what_is_left_fits_and_whoever_fits_with_all_is_left(
            taken in proptest::collection::vec((0..20_u8, 0..100_usize), 0..60),
            most in 0..2_000_usize,
        ) {
            let all: Vec<_> =
                taken.iter().enumerate().map(|(n, (whose, takes))| (object(&whose.to_string(), n), *takes)).collect();
            let beyond = beyond(all.iter().map(|(object, takes)| (object, *takes)), most);
            let left: usize = all.iter().filter(|(object, _)| !beyond.contains(object)).map(|(_, takes)| takes).sum();
            prop_assert!(left <= most);
            if all.iter().map(|(_, takes)| takes).sum::<usize>() <= most {
                prop_assert!(beyond.is_empty());
            }
        }
    }
}
