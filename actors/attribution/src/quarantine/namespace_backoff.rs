//! Namespaces whose objects have had bundle after bundle refused: what changes there waits, and nobody else does.
//!
//! One object is slowed down by itself. Thousands that take turns would still have every bundle refused, each for the first
//! time, and each time a search for those at fault, for which everybody waits. So refusals are counted by namespace, once
//! a bundle. A namespace that is throttled is not searched: what changed there goes back at once, and is tried again when
//! a bundle without it has passed, so rarely that others have most of the checks' time. Pure.

use super::{InvolvedObjects, RenderTiming};
use haptic_model::{Diagnostic, Generation};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

/// The number of refused bundles from which on a namespace is throttled ...
const THROTTLED_FROM: u32 = 2;
/// ... and after this time without another one, one of them is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(300);
/// More are not counted, so that it ends.
const MOST_REFUSALS: u32 = 4;
/// What is tried again waits so many times as long as others waited for what was refused, and not shorter or longer than this.
const SHARE_OF_OTHERS: u32 = 4;
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The namespaces that had bundles refused lately.
#[derive(Clone, Debug, Default)]
pub(super) struct NamespaceBackoff(BTreeMap<Arc<str>, RefusalRecord>);

#[derive(Clone, Debug)]
struct RefusalRecord {
    counted: u32,
    last: Instant,
    /// The first render that knew: when it passes, the others had their turn.
    known_to: Generation,
    /// When changes are tried again.
    until: Instant,
    /// The watched resources whose changes were at fault.
    resources: BTreeSet<Arc<str>>,
}

impl RefusalRecord {
    fn refusals(&self, now: Instant) -> u32 {
        let forgotten = now.saturating_duration_since(self.last).as_secs() / FORGOTTEN_AFTER.as_secs();
        self.counted.saturating_sub(u32::try_from(forgotten).unwrap_or(u32::MAX))
    }

    fn is_throttled(&self, now: Instant) -> bool {
        self.refusals(now) >= THROTTLED_FROM
    }
}

impl NamespaceBackoff {
    /// A bundle was refused because of changes of these resources in `namespace`, which took everybody `took`.
    pub fn refuse_again(
        &mut self,
        namespace: Arc<str>,
        resources: BTreeSet<Arc<str>>,
        took: Duration,
        timing: &RenderTiming<'_>,
    ) {
        let now = timing.now;
        self.0.retain(|_, record| record.refusals(now) > 0);
        let record = self.0.entry(namespace).or_insert_with(|| RefusalRecord {
            counted: 0,
            last: now,
            known_to: timing.generation,
            until: now,
            resources: BTreeSet::new(),
        });
        record.counted = (record.refusals(now) + 1).min(MOST_REFUSALS);
        (record.last, record.known_to) = (now, timing.generation);
        record.until = now + (took * SHARE_OF_OTHERS).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        record.resources.extend(resources);
    }

    /// Namespaces in which those at fault are looked for first.
    pub fn throttled(&self, now: Instant) -> BTreeSet<Arc<str>> {
        let throttled = self.0.iter().filter(|(_, record)| record.is_throttled(now));
        throttled.map(|(namespace, _)| namespace.clone()).collect()
    }

    /// Those of them whose changes wait, with the resources that are involved.
    pub fn waiting(&self, timing: &RenderTiming<'_>) -> InvolvedObjects {
        let passed = timing.good.map(|good| good.generation);
        let waits = |record: &RefusalRecord| timing.now < record.until || passed < Some(record.known_to);
        let waiting = self.0.iter().filter(|(_, record)| record.is_throttled(timing.now) && waits(record));
        waiting.map(|(namespace, record)| (namespace.clone(), record.resources.clone())).collect()
    }

    /// When some of what waits is tried again.
    pub fn next_try(&self, now: Instant) -> Option<Instant> {
        let throttled = self.0.values().filter(|record| record.is_throttled(now));
        throttled.map(|record| record.until).filter(|until| now < *until).min()
    }
}

/// Why an object waits that nobody found fault with.
pub(super) fn message(namespace: &str) -> Diagnostic {
    let message = format!(
        "checks refused changes of namespace {namespace} again and again, so what changes there waits: up to a minute, and until a \
         configuration without it has passed"
    );
    Diagnostic::error("render", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn timing(generation: u64, now: Instant) -> RenderTiming<'static> {
        RenderTiming { generation: Generation(generation), now, good: None }
    }

    fn refuse_again(namespace_backoff: &mut NamespaceBackoff, generation: u64, took: Duration, now: Instant) {
        namespace_backoff.refuse_again(
            "evil".into(),
            ["ingresses".into()].into(),
            took,
            &timing(generation, now),
        );
    }

    #[test]
    fn a_namespace_waits_from_its_second_refused_bundle_on_for_as_long_as_it_cost_others_and_is_forgiven() {
        let start = Instant::now();
        let mut namespace_backoff = NamespaceBackoff::default();
        refuse_again(&mut namespace_backoff, 1, SECOND, start);
        assert!(namespace_backoff.throttled(start).is_empty(), "one bundle is no habit");
        let mut pauses = Vec::new();
        for (generation, took) in [(2, Duration::ZERO), (3, 2 * SECOND), (4, 100 * SECOND)] {
            refuse_again(&mut namespace_backoff, generation, took, start);
            pauses.push((namespace_backoff.next_try(start).unwrap() - start).as_secs());
        }
        assert_eq!(pauses, [1, 8, 60]);
        let then = start + 61 * SECOND;
        assert_eq!(namespace_backoff.waiting(&timing(5, then)).len(), 1, "no bundle without it has passed");
        assert!(!namespace_backoff.throttled(start + 2 * FORGOTTEN_AFTER).is_empty());
        assert!(namespace_backoff.throttled(start + 3 * FORGOTTEN_AFTER).is_empty());
        let later = start + 20 * FORGOTTEN_AFTER;
        for time in 0..8 {
            refuse_again(&mut namespace_backoff, 20, SECOND, later + time * (FORGOTTEN_AFTER + SECOND));
        }
        assert!(
            namespace_backoff.throttled(later + 8 * FORGOTTEN_AFTER).is_empty(),
            "now and then is no attack"
        );
    }
}
