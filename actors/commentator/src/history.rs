//! The latest events, for `/debug/events`: bounded, readable while it is written, kept across restarts of its writer.
//!
//! Of each [`Sort`] as many are kept as of any other: what comes by the thousand pushes out nothing that is rare.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use haptic_model::{Event, Generation};
use serde::Serialize;

use crate::event_log::{LogLine, MessageLevel};

/// A handle to the events kept; clones share them.
#[derive(Clone, Debug, Default)]
pub struct History(Arc<Mutex<Ring>>);

#[derive(Debug, Default)]
struct Ring {
    entries: BTreeMap<Sort, VecDeque<Arc<HistoryEntry>>>,
    /// Number of the next entry.
    next: u64,
}

/// How often something happens, roughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    /// With each change of an object.
    Figure,
    /// With each generation.
    Step,
    /// Warnings, and what has to do with no generation: pods, leadership, configurations.
    News,
}

/// One event as kept.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// Counts all events since the process started; a gap means that so many were lost, and the entry after it says so, or
    /// that of so long ago only the rarer ones are kept.
    pub number: u64,
    /// Milliseconds since 1970.
    pub unix_ms: u128,
    /// The event's name.
    pub kind: &'static str,
    /// The generation it belongs to.
    pub generation: Option<Generation>,
    /// Its importance.
    pub level: MessageLevel,
    /// The commentary.
    pub text: String,
    /// The object it concerns.
    pub object: Option<String>,
}

impl History {
    /// No events yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps `event` as told in `line`, and no more than `size` events of its sort.
    pub fn keep(&self, event: &Event, line: &LogLine, size: usize) {
        let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let mut ring = self.lock();
        if let Event::EventsLost { events } = event {
            ring.next += events;
        }
        let entry = HistoryEntry {
            number: ring.next,
            unix_ms,
            kind: event.kind(),
            generation: event.generation(),
            level: line.level,
            text: line.text.clone(),
            object: line.object.clone(),
        };
        ring.next += 1;
        ring.entries.entry(Sort::of(&entry)).or_default().push_back(Arc::new(entry));
        for entries in ring.entries.values_mut() {
            entries.drain(..entries.len().saturating_sub(size));
        }
    }

    /// Up to `limit` of the latest events, oldest first.
    #[must_use]
    pub fn latest(&self, limit: usize) -> Vec<Arc<HistoryEntry>> {
        let mut entries: Vec<Arc<HistoryEntry>> = self.lock().entries.values().flatten().cloned().collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        entries.drain(..entries.len().saturating_sub(limit));
        entries
    }

    /// The kept events of one generation, oldest first.
    #[must_use]
    pub fn of_generation(&self, generation: Generation) -> Vec<Arc<HistoryEntry>> {
        let mut entries = self.latest(usize::MAX);
        entries.retain(|entry| entry.generation == Some(generation));
        entries
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sort {
    fn of(entry: &HistoryEntry) -> Self {
        match (entry.level, entry.generation) {
            (MessageLevel::Trace, _) => Self::Figure,
            (MessageLevel::Debug | MessageLevel::Info, Some(_)) => Self::Step,
            _ => Self::News,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_figures_or_generations_pushes_out_no_news() {
        let history = History::new();
        let add = |event: Event, level: MessageLevel| {
            history.keep(&event, &LogLine { level, text: format!("{level:?}"), object: None }, 10);
        };
        add(Event::PodDiscovered { pod: "edge/a".into() }, MessageLevel::Info);
        add(Event::DriftFound { pod: "edge/a".into(), what: "weights".into() }, MessageLevel::Warn);
        (1..=1000).for_each(|generation| keep(&history, generation, 10));
        for objects in 0..1000 {
            add(Event::StoreSize { resource: "endpoints".into(), objects }, MessageLevel::Trace);
        }
        let kinds: Vec<_> = history.latest(99).iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds[..2], ["PodDiscovered", "DriftFound"]);
        assert_eq!(kinds.iter().filter(|kind| **kind == "ReconcileStarted").count(), 10);
        assert_eq!(kinds.len(), 22);
        assert_eq!(history.of_generation(Generation(1000)).len(), 1);
    }

    fn keep(history: &History, generation: u64, size: usize) {
        let event = Event::ReconcileStarted {
            generation: Generation(generation),
            cause: haptic_model::pipeline::Cause::default(),
            waited: std::time::Duration::ZERO,
        };
        let line =
            LogLine { level: MessageLevel::Info, text: format!("reconcile {generation}"), object: None };
        history.keep(&event, &line, size);
    }

    #[test]
    fn only_the_latest_are_kept_and_numbers_go_on() {
        let history = History::new();
        (1..=10).for_each(|generation| keep(&history, generation, 3));
        let numbers: Vec<_> = history.latest(99).iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, [7, 8, 9]);
        assert_eq!(history.latest(1)[0].text, "reconcile 10");
    }

    #[test]
    fn a_smaller_size_takes_effect_at_the_next_event() {
        let history = History::new();
        (1..=10).for_each(|generation| keep(&history, generation, 100));
        keep(&history, 11, 2);
        assert_eq!(history.latest(99).len(), 2);
        keep(&history, 12, 0);
        assert!(history.latest(99).is_empty());
    }

    #[test]
    fn the_events_of_one_generation_are_found() {
        let history = History::new();
        for generation in [1, 2, 1] {
            keep(&history, generation, 100);
        }
        assert_eq!(history.of_generation(Generation(1)).len(), 2);
    }
}
