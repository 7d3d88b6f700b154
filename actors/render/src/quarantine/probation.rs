//! Namespaces whose objects have had bundle after bundle refused: what changes there waits for a while, and nobody else does.
//!
//! One object is slowed down by itself. Thousands that take turns would still have every bundle refused, each for the first
//! time. So refusals are counted by namespace and watched resource, once a bundle. Pure.

use haptic_model::{Diagnostic, ObjectRef};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

/// So many refused bundles ...
const STRIKES: u32 = 8;
/// ... within this time are too many.
const WINDOW: Duration = Duration::from_secs(60);
/// For so long what changes waits then.
const PROBATION: Duration = Duration::from_secs(30);

/// A watched resource and a namespace.
type Kind = (Arc<str>, Arc<str>);

/// Who was refused lately.
#[derive(Debug, Default)]
pub(super) struct Probation(BTreeMap<Kind, Record>);

#[derive(Debug)]
struct Record {
    strikes: u32,
    since: Instant,
    until: Option<Instant>,
}

impl Probation {
    /// A bundle was refused because of these objects.
    pub fn strike<'o>(&mut self, blamed: impl Iterator<Item = &'o Arc<ObjectRef>>, now: Instant) {
        let kinds: BTreeSet<Kind> =
            blamed.map(|object| (object.resource.clone(), object.namespace.clone())).collect();
        self.0
            .retain(|_, record| now < record.since + WINDOW || record.until.is_some_and(|until| now < until));
        for kind in kinds {
            let record = self.0.entry(kind).or_insert(Record { strikes: 0, since: now, until: None });
            record.strikes += 1;
            if record.strikes >= STRIKES {
                // Half as many are enough the next time.
                *record = Record { strikes: STRIKES / 2, since: now, until: Some(now + PROBATION) };
            }
        }
    }

    /// Those whose changes wait, and until when.
    pub fn under(&self, now: Instant) -> Vec<(Arc<str>, Arc<str>, Instant)> {
        let under = self.0.iter().filter_map(|((resource, namespace), record)| {
            let until = record.until.filter(|until| now < *until)?;
            Some((resource.clone(), namespace.clone(), until))
        });
        under.collect()
    }
}

/// Why an object waits that nobody found fault with.
pub(super) fn sentence(resource: &str, namespace: &str) -> Diagnostic {
    let message = format!(
        "checks refused what {resource} of namespace {namespace} changed {STRIKES} times within a minute, so changes of them wait \
         for {} s",
        PROBATION.as_secs()
    );
    Diagnostic::error("render", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_is_refused_again_and_again_waits_and_one_with_many_bad_objects_at_once_does_not() {
        let start = Instant::now();
        let objects: Vec<_> =
            (0..100).map(|n| Arc::new(ObjectRef::new("ingresses", "evil", &n.to_string()))).collect();
        let mut probation = Probation::default();
        probation.strike(objects.iter(), start);
        assert!(probation.under(start).is_empty(), "one bundle is one strike");
        for second in 1..8 {
            probation.strike(objects.iter().skip(second).take(1), start + Duration::from_secs(second as u64));
        }
        let now = start + Duration::from_secs(8);
        let under: Vec<_> = probation.under(now).into_iter().map(|(_, namespace, _)| namespace).collect();
        assert_eq!(under, ["evil".into()]);
        assert!(probation.under(now + PROBATION).is_empty());
        for second in 0..8_u32 {
            probation.strike(objects.iter().take(1), now + PROBATION + WINDOW * second);
        }
        assert!(probation.under(now + PROBATION + WINDOW * 7).is_empty(), "now and then is no attack");
    }
}
