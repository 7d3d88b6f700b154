//! What the last generations were made from, for `haptic record`: bounded, readable while it is written, kept across
//! restarts of its writer.
//!
//! Snapshots share what did not change, so a generation takes no more memory than its changed objects.

use haptic_model::{ActiveConfig, Generation, pipeline::Attempt};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

/// No more generations are kept, whatever the configuration asks for.
const MOST_KEPT: usize = 1000;

/// A handle to the generations kept; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Recording(Arc<Mutex<VecDeque<Taken>>>);

/// One generation as kept.
#[derive(Clone, Debug)]
pub struct Taken {
    /// When it was rendered.
    pub at: SystemTime,
    /// From what.
    pub attempt: Arc<Attempt>,
}

impl Recording {
    /// Keeps `attempt`, unless it or a newer one is kept already, and no more than `size` generations in all.
    pub fn keep(&self, attempt: &Arc<Attempt>, at: SystemTime, size: usize) {
        let mut kept = self.lock();
        if kept.back().is_none_or(|last| last.generation() < attempt.reconcile.generation) {
            kept.push_back(Taken { at, attempt: attempt.clone() });
        }
        let surplus = kept.len().saturating_sub(size.min(MOST_KEPT));
        kept.drain(..surplus);
    }

    /// The kept generations, oldest first.
    #[must_use]
    pub fn generations(&self) -> Vec<Taken> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Taken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
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
        Digest, Fleet, Quarantine, Snapshots,
        pipeline::{Cause, Reconcile},
    };
    use std::time::Instant;

    fn attempt(generation: u64) -> Arc<Attempt> {
        let spec = serde_json::json!({"credentialsSecretRef": {"name": "c"},
            "podSelector": {"matchLabels": {"a": "b"}}});
        let config = ActiveConfig::of("edge", "haptic", serde_json::from_value(spec).unwrap());
        let generation = Generation(generation);
        Arc::new(Attempt {
            reconcile: Reconcile { generation, cause: Cause::default(), triggered: Instant::now() },
            config: Arc::new(config),
            given: Arc::default(),
            snapshots: Snapshots::default(),
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
    fn fewer_are_kept_from_the_next_generation_on_and_none_when_none_are_wanted() {
        let recording = Recording::default();
        (1..=10).for_each(|number| recording.keep(&attempt(number), SystemTime::now(), 10));
        recording.keep(&attempt(11), SystemTime::now(), 2);
        assert_eq!(kept(&recording), [10, 11]);
        recording.keep(&attempt(12), SystemTime::now(), 0);
        assert_eq!(kept(&recording), [0_u64; 0]);
    }
}
