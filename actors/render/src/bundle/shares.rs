//! Shares of what all objects use together, and the objects that take too much of it.
//!
//! Where everybody's objects together do not fit, those of the namespaces that take most are left out, so far that the others fit:
//! so nobody with little stands back for many with much, in however many namespaces they are.

use haptic_attribution::faults::Fault;
use haptic_model::{Diagnostic, FileKey, FileKind, Limit, ObjectRef, crd::LimitsSpec};
use haptic_text::{Fragment, Text, TextRun};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The use of a namespace: all of it, and object by object.
type NamespaceUsage<'o> = (usize, Vec<(&'o Arc<ObjectRef>, usize)>);

/// The objects that are beyond `most` of what `taken` says each of them takes, in the order in which they come.
pub(crate) fn beyond<'o>(
    taken: impl IntoIterator<Item = (&'o Arc<ObjectRef>, usize)>,
    most: usize,
) -> BTreeSet<Arc<ObjectRef>> {
    let mut of: BTreeMap<&str, NamespaceUsage<'o>> = BTreeMap::new();
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

/// The share of one namespace.
#[derive(Clone, Copy, Debug)]
enum NamespaceShare {
    Half,
    /// Many clusters have nearly all their servers in one namespace.
    ThreeQuarters,
}

impl NamespaceShare {
    fn part_of(self, most: usize) -> usize {
        match self {
            Self::Half => most / 2,
            Self::ThreeQuarters => most - most.div_ceil(4),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Half => "half",
            Self::ThreeQuarters => "three quarters",
        }
    }
}

/// The share of one file that the objects of all namespaces have together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileShare {
    limit: Limit,
    most: usize,
    of_namespace: NamespaceShare,
    /// The things that are counted, in the plural.
    counted: &'static str,
    count: fn(&Fragment) -> usize,
    count_run: fn(&TextRun) -> usize,
}

impl FileShare {
    /// Of a map its lines, of haproxy.cfg its servers.
    pub fn of(kind: FileKind, limits: &LimitsSpec) -> Option<Self> {
        match kind {
            FileKind::Map => Some(Self {
                limit: Limit::MapEntries,
                most: limits.map_entries,
                of_namespace: NamespaceShare::Half,
                counted: "lines",
                count: |fragment| fragment.blame().lines.len(),
                count_run: TextRun::lines,
            }),
            FileKind::Config => Some(Self {
                limit: Limit::Servers,
                most: limits.servers,
                of_namespace: NamespaceShare::ThreeQuarters,
                counted: "servers",
                count: |fragment| fragment.blame().servers,
                count_run: TextRun::servers,
            }),
            _ => None,
        }
    }

    /// That there is too much of it: of the objects of a namespace that has more than its share those that come last are at fault; where
    /// no namespace has, those of the namespaces that have most, and the templates where no objects have.
    pub fn exceeded(&self, key: &FileKey, text: &Text) -> Vec<Fault> {
        let Self { most, of_namespace, counted, .. } = *self;
        let (share, all) =
            (of_namespace.part_of(most), text.runs().iter().map(self.count_run).sum::<usize>());
        if all <= share {
            return Vec::new();
        }
        let mut of: BTreeMap<&str, usize> = BTreeMap::new();
        let mut last: BTreeSet<&Arc<ObjectRef>> = BTreeSet::new();
        for (object, taken) in self.taken(text) {
            let used = of.entry(&object.namespace).or_default();
            *used += taken;
            if *used > share {
                last.insert(object);
            }
        }
        if !last.is_empty() {
            let fault = |object: &Arc<ObjectRef>| {
                let whose = &*object.namespace;
                let message = format!(
                    "{key} has more than {share} {counted} of objects of namespace {whose:?}, {} of what all may have",
                    of_namespace.word()
                );
                self.fault_of(object, message)
            };
            return last.into_iter().map(fault).collect();
        }
        if all <= most {
            return Vec::new();
        }
        let message = format!("{key} has {all} {counted}, of {most} that it may have");
        let of_none = all - of.values().sum::<usize>();
        if of_none > most {
            let help = "Look for a loop that prints too much, or raise the limit";
            return vec![Fault::of_templates(self.problem(message).help(help))];
        }
        let fault = |object: &Arc<ObjectRef>| {
            let whose = &*object.namespace;
            let has = of.get(whose).copied().unwrap_or_default();
            self.fault_of(
                object,
                format!("{message}, and {has} of them are of objects of namespace {whose:?}"),
            )
        };
        beyond(self.taken(text), most - of_none).iter().map(fault).collect()
    }

    /// The use of each object's blocks, where they have any.
    fn taken<'t>(&self, text: &'t Text) -> impl Iterator<Item = (&'t Arc<ObjectRef>, usize)> {
        let count = self.count;
        let of_objects =
            text.fragments().iter().filter_map(move |f| Some((f.blame().block.as_ref()?, count(f))));
        of_objects.filter(|(_, taken)| *taken > 0)
    }

    fn problem(&self, message: String) -> Diagnostic {
        Diagnostic::error("render", message).at_field(self.limit.field())
    }

    fn fault_of(&self, object: &Arc<ObjectRef>, message: String) -> Fault {
        let problem = self.problem(message).of_object(Some(object.clone()));
        Fault::of_templates(problem.help("Delete what is not needed, or raise the limit"))
            .of(Some(object.clone()))
    }
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
