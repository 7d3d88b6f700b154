//! What a replica does for one Lease: one run. It ends when other settings come or the process ends, with the Lease released.

use crate::{Election, Succession, Timing, election::ObservedLease, lease::LeaseApi, succession::Former};
use haptic_model::{agent_api::Epoch, crd::LeaderElectionSpec};
use serde::Serialize;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The API server has this long to take a released Lease back.
const RELEASE: Duration = Duration::from_secs(3);

/// How the election goes, for `/debug/actors`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ElectionState {
    /// Our name.
    pub identity: String,
    /// The Lease; `None` while there is no election.
    pub lease: Option<String>,
    /// Whether we lead.
    pub leads: bool,
    /// Who holds the Lease, as far as it was seen.
    pub holder: Option<String>,
    /// How often it changed hands.
    pub transitions: i64,
    /// Why the last attempt failed, if it did.
    pub trouble: Option<String>,
}

/// A replica's part in the election for one Lease.
pub(crate) struct ElectionRun {
    pub(crate) settings: LeaderElectionSpec,
    pub(crate) lease: LeaseApi,
    pub(crate) election: Election,
    /// Why the last attempt failed.
    pub(crate) trouble: Option<String>,
}

impl ElectionRun {
    /// A run for `lease`, after one for the Lease called `before`.
    pub(crate) fn new(
        lease: LeaseApi,
        settings: LeaderElectionSpec,
        before: Option<&str>,
        succession: &Succession,
    ) -> Self {
        let (timing, seed, now) = (Timing::of(&settings), seed_of(&lease.identity), Instant::now());
        let identity = Arc::clone(&lease.identity);
        let election = match before {
            Some(before) if *before != *lease.name => Election::of_another_lease(identity, timing, seed, now),
            _ => {
                let election = Election::new(identity, timing, seed, now);
                match succession.former(&lease.full_name()) {
                    Some(former) => election.succeeding(former.identity.as_str().into(), former.epoch),
                    None => election,
                }
            }
        };
        Self { settings, lease, election, trouble: None }
    }

    /// Takes up `settings`, if they are for the same Lease.
    pub(crate) fn adopt(&mut self, settings: &LeaderElectionSpec) -> bool {
        let is_same = settings.enabled && *settings.lease_name == *self.lease.name;
        if is_same {
            self.election.set_timing(Timing::of(settings));
            self.settings = settings.clone();
        }
        is_same
    }

    /// What the next process of this pod finds of the leadership of `epoch`.
    pub(crate) fn former(&self, epoch: Epoch) -> Former {
        Former { identity: self.lease.identity.to_string(), lease: self.lease.full_name(), epoch }
    }

    pub(crate) fn state(&self) -> ElectionState {
        let (holder, transitions) = match self.election.seen() {
            ObservedLease::Present(record) => (record.holder.clone(), record.epoch.transitions),
            ObservedLease::Absent | ObservedLease::Unknown => (None, 0),
        };
        ElectionState {
            lease: Some(self.lease.full_name()),
            leads: self.election.term(Instant::now()).is_some(),
            holder,
            transitions,
            trouble: self.trouble.clone(),
            ..ElectionState::default()
        }
    }

    /// Gives up the leadership, and then the Lease; whether this replica holds it no more.
    pub(crate) fn end(&mut self) -> impl Future<Output = bool> + use<> {
        self.election.resign();
        let lease = self.lease.clone();
        let is_ours = matches!(self.election.seen(), ObservedLease::Present(record) if record.holder.as_deref() == Some(&*lease.identity));
        async move { !is_ours || release(&lease).await }
    }
}

async fn release(lease: &LeaseApi) -> bool {
    match lease.release(RELEASE).await {
        Ok(true) => {
            tracing::info!(lease = %lease.name, "the Lease is released; another replica may lead at once");
        }
        Ok(false) => {}
        Err(why) => {
            tracing::warn!(lease = %lease.name, "the Lease could not be released and runs out by itself: {why}");
            return false;
        }
    }
    true
}

/// Any number that differs from replica to replica.
fn seed_of(identity: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    identity.hash(&mut hasher);
    hasher.finish()
}
