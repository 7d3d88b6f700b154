//! The memory of former holders, so that an object that is deleted and created again does not lose a holding to
//! somebody who waited.
//!
//! A namespace that loses the object that its age on a holding comes from keeps that age: as long as it has another object
//! there, and for the time of the hold when it has none. Time comes from outside.
//!
//! The memory is written down for the next controller, and so is who has what others wait for: its object may be deleted
//! while no controller runs.

use super::contest::{Age, Contest, Holder, Seniority};
use crate::matching::Match;
use haptic_model::{HostHold, host_holds::HeldByText};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

/// The most holdings that are kept for those that are gone; beyond that the namespace that has most of them loses its oldest.
const MOST: usize = 100_000;

/// A holding: only one namespace can have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Holding {
    /// The requests of a match.
    Requests(Match),
    /// A host: its TLS and client verification.
    Host(Arc<str>),
}

/// When a render happens, and for how long holdings are kept.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// On a clock that only goes on.
    pub now: Instant,
    /// How long a holding is kept for a namespace that is gone.
    pub hold: Duration,
}

/// Everything that is remembered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    kept: HashMap<Holding, RememberedHolder>,
    /// Those that are gone, by namespace, in the order in which they went. One that came back is still there.
    gone: BTreeMap<Arc<str>, VecDeque<(Instant, Holding)>>,
    waiting: usize,
    written: HeldByText,
    /// The name of each holding in `written`.
    texts: HashMap<Holding, Arc<str>>,
}

#[derive(Clone, Debug)]
struct RememberedHolder {
    seniority: Seniority,
    /// Since when its namespace has no object there.
    gone: Option<Instant>,
}

impl Holding {
    /// The host it is about.
    pub fn host(&self) -> &str {
        match self {
            Self::Requests(wanted) => &wanted.host,
            Self::Host(host) => host,
        }
    }
}

impl Memory {
    /// The seniority that counts for a holding.
    pub fn of(&self, holding: &Holding) -> Option<&Seniority> {
        self.kept.get(holding).map(|kept| &kept.seniority)
    }

    /// Takes note of what became of a holding's holder, before the next one is elected.
    pub fn note(&mut self, holding: &Holding, contest: &Contest, now: Instant) {
        let Some(Holder { namespace, age, object }) = &contest.holder else { return };
        // Who has what nobody asks for has nothing to keep.
        if object.as_ref().is_some_and(|object| !object.asks()) {
            return;
        }
        let seniority = || Seniority { namespace: namespace.clone(), age: age.clone() };
        match contest.claimants.of(namespace).find(|claimant| claimant.asks()) {
            Some(own) if own.age <= *age => drop(self.kept.remove(holding)),
            Some(_) => drop(
                self.kept.insert(holding.clone(), RememberedHolder { seniority: seniority(), gone: None }),
            ),
            // Without an object it is gone already, and may just have been forgotten.
            None if object.is_some() => {
                self.kept
                    .insert(holding.clone(), RememberedHolder { seniority: seniority(), gone: Some(now) });
                self.gone.entry(namespace.clone()).or_default().push_back((now, holding.clone()));
                self.waiting += 1;
            }
            None => {}
        }
    }

    /// Writes down what counts for a holding, after its holder was elected: what is remembered, or who has what others wait for.
    pub fn write(&mut self, holding: &Holding, contest: &Contest) {
        let hold = match (self.kept.get(holding), contest.awaited()) {
            (Some(kept), _) => Some(HostHold { gone: kept.gone, ..kept.seniority.hold() }),
            (None, Some(seniority)) => Some(seniority.hold()),
            (None, None) => None,
        };
        match (hold, self.texts.get(holding)) {
            (Some(hold), Some(text)) if self.written.get(text) == Some(&hold) => {}
            (Some(hold), Some(text)) => drop(self.written.insert(text.clone(), hold)),
            (Some(hold), None) => {
                let Ok(text) = serde_json::to_string(holding) else { return };
                let text: Arc<str> = text.into();
                self.texts.insert(holding.clone(), text.clone());
                self.written.insert(text, hold);
            }
            (None, Some(text)) => {
                self.written.remove(text);
                self.texts.remove(holding);
            }
            (None, None) => {}
        }
    }

    /// The text to be read by the next controller.
    pub fn written(&self) -> &HeldByText {
        &self.written
    }

    /// Remembers what another memory had written down, but for what it knows itself, and says of what. What is no holding is of a later
    /// revision, and passed over.
    pub fn read(&mut self, written: &HeldByText, now: Instant) -> Vec<Holding> {
        let mut read = Vec::new();
        for (text, HostHold { namespace, age, gone }) in written {
            let Ok(holding) = serde_json::from_str::<Holding>(text) else { continue };
            if self.kept.contains_key(&holding) {
                continue;
            }
            let (gone, age) = (gone.unwrap_or(now), age.clone().map_or(Age::Unknown, Age::Since));
            let seniority = Seniority { namespace: namespace.clone(), age };
            self.kept.insert(holding.clone(), RememberedHolder { seniority, gone: Some(gone) });
            self.gone.entry(namespace.clone()).or_default().push_back((gone, holding.clone()));
            self.waiting += 1;
            read.push(holding);
        }
        for queue in self.gone.values_mut() {
            queue.make_contiguous().sort_by_key(|(gone, _)| *gone);
        }
        read
    }

    /// Forgets what was kept long enough, or is too much, and says what it is.
    pub fn forget(&mut self, clock: Option<&Clock>) -> Vec<Holding> {
        let Some(Clock { now, hold }) = clock else {
            let all = std::mem::take(self).kept;
            return all.into_keys().collect();
        };
        let mut forgotten = Vec::new();
        for queue in self.gone.values_mut() {
            while let Some(entry) = queue.pop_front_if(|(since, _)| now.duration_since(*since) >= *hold) {
                self.waiting -= 1;
                forgotten.push(entry);
            }
        }
        while self.waiting > MOST {
            let most = self.gone.values_mut().max_by_key(|queue| queue.len());
            let Some(entry) = most.and_then(VecDeque::pop_front) else { break };
            self.waiting -= 1;
            forgotten.push(entry);
        }
        self.gone.retain(|_, queue| !queue.is_empty());
        forgotten.retain(|(since, holding)| {
            let is_gone = self.kept.get(holding).is_some_and(|kept| kept.gone == Some(*since));
            is_gone && self.kept.remove(holding).is_some()
        });
        forgotten.into_iter().map(|(_, holding)| holding).collect()
    }

    /// Everything of which something is remembered.
    pub fn holdings(&self) -> impl Iterator<Item = &Holding> {
        self.kept.keys()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// When the next holding is kept no longer.
    pub fn next(&self, hold: Duration) -> Option<Instant> {
        let first = |queue: &VecDeque<(Instant, Holding)>| queue.front().map(|(since, _)| *since + hold);
        self.gone.values().filter_map(first).min()
    }
}
