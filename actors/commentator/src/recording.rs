//! What the last generations were made from, for `haptic record`: bounded, readable while it is written, kept across
//! restarts of its writer.
//!
//! Snapshots share what did not change, so a generation takes no more memory than the objects that changed after it. Of those it
//! keeps the only copy, so they are counted: whoever changes large objects again and again has fewer generations kept.

use haptic_model::{ActiveConfig, Generation, pipeline::Attempt};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

/// No more generations are kept, whatever the configuration asks for.
const MOST_KEPT: usize = 1000;
/// Nor more bytes of objects that are not what they were then.
const MOST_BYTES: usize = 32 << 20;

/// A handle to the generations kept; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Recording(Arc<Mutex<VecDeque<RecordedGeneration>>>);

/// One generation as kept.
#[derive(Clone, Debug)]
pub struct RecordedAttempt {
    /// When it was rendered.
    pub at: SystemTime,
    /// From what.
    pub attempt: Arc<Attempt>,
}

#[derive(Debug)]
struct RecordedGeneration {
    taken: RecordedAttempt,
    /// Bytes of its objects that the next one does not have.
    alone: usize,
}

impl Recording {
    /// Keeps `attempt`, unless it or a newer one is kept already, and no more than `size` generations in all.
    pub fn keep(&self, attempt: &Arc<Attempt>, at: SystemTime, size: usize) {
        let mut kept = self.lock();
        if kept.back().is_none_or(|last| last.taken.generation() < attempt.reconcile.generation) {
            if let Some(last) = kept.back_mut() {
                last.alone = last.taken.attempt.bytes_alone(attempt);
            }
            kept.push_back(RecordedGeneration {
                taken: RecordedAttempt { at, attempt: attempt.clone() },
                alone: 0,
            });
        }
        let surplus = kept.len().saturating_sub(size.min(MOST_KEPT));
        kept.drain(..surplus);
        while kept.iter().map(|kept| kept.alone).sum::<usize>() > MOST_BYTES {
            kept.pop_front();
        }
    }

    /// The kept generations, oldest first.
    #[must_use]
    pub fn generations(&self) -> Vec<RecordedAttempt> {
        self.lock().iter().map(|kept| kept.taken.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<RecordedGeneration>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordedAttempt {
    /// Its number.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.attempt.reconcile.generation
    }
}

/// How many generations `config` wants to be kept; none while there is no configuration.
#[must_use]
pub fn wanted(config: Option<&ActiveConfig>) -> usize {
    config.map_or(0, |config| config.spec.controller.recording.generations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{
        Fleet, ObjectRef, Quarantine, Snapshot, Snapshots,
        pipeline::{Cause, Reconcile},
    };
    use haptic_text::Digest;
    use std::time::Instant;

    fn attempt(generation: u64) -> Arc<Attempt> {
        attempt_from(generation, Snapshots::default())
    }

    /// One made from an object `a/big` of so many bytes, `b/small`, and nothing else.
    fn attempt_with(generation: u64, bytes: usize) -> Arc<Attempt> {
        let mut store = Snapshot::full();
        for (namespace, name, bytes) in [("a", "big", bytes), ("b", "small", 10)] {
            let json = vec![b'0' + u8::try_from(generation % 10).unwrap(); bytes];
            store.put(ObjectRef::new("ingresses", namespace, name), json);
        }
        attempt_from(generation, Snapshots::default().with("ingresses".into(), Arc::new(store)))
    }

    /// One that was given these objects, all of which are held back.
    fn attempt_without(generation: u64, bytes: usize) -> Arc<Attempt> {
        let given = Arc::new(attempt_with(generation, bytes).snapshots.clone());
        Arc::new(Attempt { given, ..Attempt::clone(&attempt(generation)) })
    }

    fn attempt_from(generation: u64, snapshots: Snapshots) -> Arc<Attempt> {
        let spec = serde_json::json!({"credentialsSecretRef": {"name": "c"},
            "podSelector": {"matchLabels": {"a": "b"}}});
        let config = ActiveConfig::of("edge", "haptic", serde_json::from_value(spec).unwrap());
        let generation = Generation(generation);
        Arc::new(Attempt {
            reconcile: Reconcile { generation, cause: Cause::default(), triggered: Instant::now() },
            config: Arc::new(config),
            given: Arc::default(),
            snapshots,
            fleet: Arc::new(Fleet::default()),
            held: Quarantine::default(),
            outcome: Ok(Digest::of(b"")),
        })
    }

    fn kept(recording: &Recording) -> Vec<u64> {
        recording.generations().iter().map(|taken| taken.generation().0).collect()
    }

    #[test]
    fn only_the_latest_generations_are_kept_and_each_once() {
        let recording = Recording::default();
        for number in [1, 2, 2, 1, 3, 2, 3, 4, 5] {
            recording.keep(&attempt(number), SystemTime::now(), 3);
        }
        assert_eq!(kept(&recording), [3, 4, 5]);
    }

    #[test]
    fn large_objects_that_change_all_the_time_are_not_kept_in_every_version() {
        let recording = Recording::default();
        for number in 1..=8 {
            recording.keep(&attempt_with(number, MOST_BYTES / 4), SystemTime::now(), 10);
        }
        assert_eq!(
            kept(&recording),
            [5, 6, 7, 8],
            "three of which three quarters are theirs alone, and the last"
        );
        let recording = Recording::default();
        for number in 1..=8 {
            recording.keep(&attempt_without(number, MOST_BYTES / 4), SystemTime::now(), 10);
        }
        assert_eq!(kept(&recording), [5, 6, 7, 8], "what is held back is kept as well");
        let recording = Recording::default();
        (1..=8).for_each(|number| recording.keep(&attempt_with(number, 1000), SystemTime::now(), 10));
        assert_eq!(kept(&recording).len(), 8);
    }

    #[test]
    fn fewer_are_kept_from_the_next_generation_on_and_none_when_none_are_wanted() {
        let recording = Recording::default();
        (1..=10).for_each(|number| recording.keep(&attempt(number), SystemTime::now(), 10));
        recording.keep(&attempt(11), SystemTime::now(), 2);
        assert_eq!(kept(&recording), [10, 11]);
        recording.keep(&attempt(12), SystemTime::now(), 0);
        assert_eq!(kept(&recording), [0_u64; 0]);
    }
}
