//! What was received recently: how often the like has happened within some time, and whether the same was emitted just now.

use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::{Duration, Instant},
};

use haptic_model::Event;

use super::EventContext;

/// The same complaint is emitted again after this long at the soonest.
const REPEATED_AFTER: Duration = Duration::from_secs(60);
/// Complaints that are remembered.
const COMPLAINTS: usize = 512;

/// The latest events by kind and subject, in a ring, and the latest complaints.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    ring: VecDeque<Received>,
    /// When each complaint was emitted last.
    complaints: HashMap<u64, Instant>,
}

#[derive(Clone, Debug)]
struct Received {
    at: Instant,
    kind: &'static str,
    subject: Option<Arc<str>>,
}

impl Recent {
    /// Keeps `event`, and of all no more than the moment allows.
    pub(super) fn keep(&mut self, event: &Event, moment: &EventContext<'_>) {
        self.ring.push_back(Received { at: moment.now, kind: event.kind(), subject: subject(event) });
        let surplus = self.ring.len().saturating_sub(moment.remembered);
        self.ring.drain(..surplus);
    }

    /// How often `kind` was received of `subject` (of anybody) until `now`.
    pub(super) fn count(&self, kind: &str, subject: Option<&str>, now: Instant, within: Duration) -> usize {
        let lately = self.ring.iter().rev().take_while(|received| now.duration_since(received.at) <= within);
        let alike = |received: &&Received| {
            received.kind == kind && (subject.is_none() || received.subject.as_deref() == subject)
        };
        lately.filter(alike).count()
    }

    /// How often `kind` was received between the newest event, which is of the kind `last`, and the one of that kind before it.
    pub(super) fn count_since_last(&self, last: &str, kind: &str, now: Instant, within: Duration) -> usize {
        let before = self.ring.iter().rev().skip(1).take_while(|received| received.kind != last);
        let lately = before.take_while(|received| now.duration_since(received.at) <= within);
        lately.filter(|received| received.kind == kind).count()
    }

    /// Events and complaints remembered.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.ring.len(), self.complaints.len())
    }

    /// Whether the same complaint, of the same, was emitted just now; otherwise it counts as emitted.
    pub(super) fn is_repeated(&mut self, event: &Event, now: Instant) -> bool {
        let Some(text) = failure_of(event) else { return false };
        let mut hasher = DefaultHasher::new();
        (event.kind(), subject(event), text).hash(&mut hasher);
        let key = hasher.finish();
        let is_recent = |emitted: &Instant| now.duration_since(*emitted) < REPEATED_AFTER;
        if self.complaints.get(&key).is_some_and(is_recent) {
            return true;
        }
        if self.complaints.len() >= COMPLAINTS {
            self.complaints.retain(|_, emitted| is_recent(emitted));
        }
        if self.complaints.len() < COMPLAINTS {
            self.complaints.insert(key, now);
        }
        false
    }
}

/// Who or what an event is about.
fn subject(event: &Event) -> Option<Arc<str>> {
    match event {
        Event::DeployFailed { pod, .. } | Event::DriftFound { pod, .. } | Event::Deployed { pod, .. } => {
            Some(Arc::clone(pod))
        }
        Event::WatchFailed { resource, .. } => Some(Arc::clone(resource)),
        Event::ObjectMalformed { object, .. } => Some(object.to_string().into()),
        _ => None,
    }
}

/// What may come again and again in the same text.
fn failure_of(event: &Event) -> Option<&str> {
    match event {
        Event::DeployFailed { message, .. }
        | Event::WatchFailed { message, .. }
        | Event::ObjectMalformed { message, .. } => Some(message),
        Event::DriftFound { what, .. } => Some(what),
        _ => None,
    }
}
