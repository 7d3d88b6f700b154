//! What is known of names, for how long, and what is to be asked next. Knows neither clock nor network.
//!
//! An answer is good for its time to live, within bounds. When nobody answers, the last answer stays: a server that was
//! right a minute ago is better than none. When the answer is that there is nothing, it has to stay so for a while before it
//! is believed.

use haptic_model::external_names::{ExternalNames, Resolved};
use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};
use tokio::time::Instant;

/// No answer is asked for again sooner, whatever its time to live: 5,000 names are 1,000 questions a second then.
pub const SHORTEST: Duration = Duration::from_secs(5);
/// No answer is taken for good for longer.
pub const LONGEST: Duration = Duration::from_secs(300);
/// So long a name that had addresses must have none before its addresses are given up.
pub const DISBELIEF: Duration = Duration::from_secs(30);
/// The addresses of one name that count, the first ones in their order.
pub const ADDRESSES: usize = 32;
/// Questions at once.
pub const AT_ONCE: usize = 256;
/// Of these, questions for names that gave no address last time or were never asked for: names that nobody answers for cost
/// others nothing.
pub const DOUBTFUL_AT_ONCE: usize = 192;

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupResponse {
    /// Addresses, and how long they are good.
    Addresses(Vec<IpAddr>, Duration),
    /// The name does not exist, or has no addresses.
    Nothing,
    /// Nobody knows: why.
    Failure(String),
}

/// All names that are wanted.
#[derive(Debug, Default)]
pub struct NameTable {
    names: BTreeMap<Arc<str>, NameEntry>,
    /// What was known of names before they were wanted.
    remembered: ExternalNames,
}

#[derive(Clone, Debug)]
struct NameEntry {
    /// Its place among those that are wanted.
    rank: usize,
    known: Option<Resolved>,
    /// When it is to be asked for.
    due: Instant,
    /// Questions without an address since the last one with.
    misses: u32,
    /// Since when the answer is that there is nothing.
    nothing_since: Option<Instant>,
    /// Whether a question is under way.
    asked: bool,
}

impl NameTable {
    /// A table that knows this of names when they come to be wanted.
    #[must_use]
    pub fn remembering(remembered: ExternalNames) -> Self {
        Self { remembered, ..Self::default() }
    }

    /// Wants these names and no others, the first ones first.
    pub fn want(&mut self, names: &[Arc<str>], now: Instant) {
        let mut before = std::mem::take(&mut self.names);
        let mut remembered = std::mem::take(&mut self.remembered);
        for (rank, name) in names.iter().enumerate() {
            let entry = before.remove(name).unwrap_or_else(|| NameEntry {
                rank,
                known: remembered.remove(name),
                due: now,
                misses: 0,
                nothing_since: None,
                asked: false,
            });
            self.names.insert(name.clone(), NameEntry { rank, ..entry });
        }
    }

    /// What to ask for now. It counts as under way until its answer is recorded.
    pub fn take_due(&mut self, now: Instant) -> Vec<Arc<str>> {
        let under_way = |doubtful: bool| {
            self.names.values().filter(|entry| entry.asked && entry.is_doubtful() == doubtful).count()
        };
        let doubtful = under_way(true);
        let mut room = AT_ONCE.saturating_sub(doubtful + under_way(false));
        let mut doubtful_room = DOUBTFUL_AT_ONCE.saturating_sub(doubtful);
        let mut due: Vec<_> = self.names.iter_mut().filter(|(_, e)| !e.asked && e.due <= now).collect();
        due.sort_by_key(|(_, entry)| (entry.is_doubtful(), entry.misses, entry.rank));
        let mut taken = Vec::new();
        for (name, entry) in due {
            if room == 0 || (entry.is_doubtful() && doubtful_room == 0) {
                break;
            }
            room -= 1;
            doubtful_room -= usize::from(entry.is_doubtful());
            entry.asked = true;
            taken.push(name.clone());
        }
        taken
    }

    /// When something will be due that is not yet. What is due and has no room waits for an answer to something else.
    #[must_use]
    pub fn next_due(&self, now: Instant) -> Option<Instant> {
        self.names.values().filter(|entry| !entry.asked && entry.due > now).map(|entry| entry.due).min()
    }

    /// Records what came of a question. Whether what is known of the name changed.
    pub fn record(&mut self, name: &str, answer: LookupResponse, now: Instant) -> bool {
        let Some(entry) = self.names.get_mut(name) else { return false };
        let before = entry.known.clone();
        entry.asked = false;
        entry.record(answer, now);
        entry.known != before
    }

    /// Whether every name was asked for once.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.names.values().all(|entry| entry.known.is_some())
    }

    /// All that is known.
    #[must_use]
    pub fn known(&self) -> ExternalNames {
        let known = self.names.iter();
        known.filter_map(|(name, entry)| Some((name.clone(), entry.known.clone()?))).collect()
    }

    /// How many names are wanted, and how many of them have no address.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let without =
            |entry: &&NameEntry| entry.known.as_ref().is_none_or(|known| known.addresses.is_empty());
        (self.names.len(), self.names.values().filter(without).count())
    }
}

impl NameEntry {
    fn is_doubtful(&self) -> bool {
        self.misses > 0 || self.known.is_none()
    }

    fn has_addresses(&self) -> bool {
        self.known.as_ref().is_some_and(|known| !known.addresses.is_empty())
    }

    fn record(&mut self, answer: LookupResponse, now: Instant) {
        match answer {
            LookupResponse::Addresses(mut addresses, good_for) if !addresses.is_empty() => {
                addresses.sort_unstable();
                addresses.dedup();
                addresses.truncate(ADDRESSES);
                (self.misses, self.nothing_since) = (0, None);
                self.known = Some(Resolved { addresses, why: String::new() });
                self.due = now + good_for.clamp(SHORTEST, LONGEST);
            }
            LookupResponse::Addresses(..) | LookupResponse::Nothing => {
                let since = *self.nothing_since.get_or_insert(now);
                if !self.has_addresses() || now.duration_since(since) >= DISBELIEF {
                    self.give_up("it does not exist, or has no addresses".to_owned());
                }
                self.missed(now);
            }
            LookupResponse::Failure(why) => {
                self.nothing_since = None;
                if !self.has_addresses() {
                    self.give_up(why);
                }
                self.missed(now);
            }
        }
    }

    fn give_up(&mut self, why: String) {
        self.known = Some(Resolved { addresses: Vec::new(), why });
    }

    /// It is asked for again soon at first, and less and less often.
    fn missed(&mut self, now: Instant) {
        let pause = SHORTEST * 2_u32.saturating_pow(self.misses.min(4));
        self.misses = self.misses.saturating_add(1);
        self.due = now + pause.min(LONGEST);
    }
}

#[cfg(test)]
mod tests;
