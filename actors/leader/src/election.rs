//! The election as one replica sees it: a state machine without clock, connection or randomness of its own.
//!
//! Two rules keep two replicas from leading at once, whatever their clocks show and however late answers come.
//! A replica tries to take another's lease only when it has not seen it change for the lease's duration on its own
//! monotonic clock; and it leads only until `renew_deadline` after the *start* of its last successful attempt, which
//! is earlier than any other may try. Wall clocks, in the Lease or here, decide nothing.
//!
//! One holder needs no waiting for: a process that is known to be dead, when nobody has led since ([`Election::succeeding`]).
//!
//! A missing Lease has no version to compare with. Whoever makes one waits for the lease's duration before it leads by
//! it, unless it led already, or never saw one.
//!
//! Pods tell leaderships apart by what the Lease counts. Where it counts less than pods have seen, because its API server was restored from
//! an older state or somebody edited it, its holder makes it count on from there ([`Permit::count`]): pods would refuse its orders.

use crate::{permit::Permit, timing::Timing};
use haptic_model::agent_api::Epoch;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// One version of the Lease, as the API server has shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// `metadata.resourceVersion`.
    pub version: String,
    /// Who holds it; `None`: nobody.
    pub holder: Option<String>,
    /// For how long, without a change.
    pub lasts: Duration,
    /// Which leadership it is.
    pub epoch: Epoch,
}

/// What is known of the Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ObservedLease {
    /// Nothing yet.
    #[default]
    Unknown,
    /// There is none.
    Absent,
    /// There is one.
    Present(LeaseRecord),
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseResponse {
    /// The API server wrote us into the Lease: this is it now.
    Held(LeaseRecord),
    /// Nothing was written; this is what was found.
    Found(ObservedLease),
    /// Somebody else wrote the Lease in between.
    Conflict,
    /// Nobody knows whether anything was written; why.
    Failed(String),
}

impl LeaseResponse {
    /// Why nobody knows how the attempt ended.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Failed(why) => Some(why.clone()),
            Self::Held(_) | Self::Found(_) | Self::Conflict => None,
        }
    }
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElectionAction {
    /// Try, with this permission.
    Attempt(Permit),
    /// Nothing until then, or until the Lease is seen to change.
    Wait(Instant),
}

/// A leadership, and until when it lasts without another success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Which.
    pub epoch: Epoch,
    /// From then on this replica does not lead.
    pub until: Instant,
}

/// An attempt under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseAttempt {
    /// What it may do.
    pub permit: Permit,
    /// When it began.
    pub began: Instant,
    /// The times that it writes into the Lease, and that hold if it succeeds.
    pub timing: Timing,
}

/// One replica's part in the election for one Lease.
#[derive(Clone, Debug)]
pub struct Election {
    identity: Arc<str>,
    timing: Timing,
    seen: ObservedLease,
    /// Since when it looks like that.
    since: Instant,
    /// How long the last holder that was seen may think that it leads.
    holder_lasts: Duration,
    /// Transitions of the newest Lease ever seen; `None`: none was.
    transitions: Option<i64>,
    term: Option<Term>,
    /// The leadership that this replica had last.
    held: Option<Epoch>,
    /// When the Lease was made that this replica tried to take last.
    tried: Option<i64>,
    /// The newest leadership that a pod has seen.
    seen_by_pods: Epoch,
    /// A dead process, and the leadership that it had last.
    former: Option<(Arc<str>, Epoch)>,
    /// No attempt before, unless something asks for a look at once.
    due: Instant,
    is_woken: bool,
    random_state: u64,
}

impl Election {
    /// A replica called `identity` that has not seen the Lease. `seed` spreads the attempts of several replicas.
    #[must_use]
    pub fn new(identity: Arc<str>, timing: Timing, seed: u64, now: Instant) -> Self {
        Self {
            identity,
            timing,
            seen: ObservedLease::Unknown,
            since: now,
            holder_lasts: timing.lease,
            transitions: None,
            term: None,
            held: None,
            tried: None,
            seen_by_pods: Epoch::default(),
            former: None,
            due: now,
            is_woken: true,
            random_state: seed | 1,
        }
    }

    /// The same, knowing that the process called `holder` is dead and led by `epoch`: a Lease that still says so is nobody's.
    /// With any other epoch, somebody may have led in between.
    #[must_use]
    pub fn succeeding(self, holder: Arc<str>, epoch: Epoch) -> Self {
        Self { former: Some((holder, epoch)), ..self }
    }

    /// The same for another Lease than the one before: replicas that have not heard of the change yet may still lead
    /// by the old one, so the new one is left alone for as long as a lease lasts.
    #[must_use]
    pub fn of_another_lease(identity: Arc<str>, timing: Timing, seed: u64, now: Instant) -> Self {
        let first = Self::new(identity, timing, seed, now);
        Self { transitions: Some(0), due: now + timing.lease, is_woken: false, ..first }
    }

    /// Takes up other times. A leader's present deadline stays: it belongs to what the Lease says now.
    pub fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// What is known of the Lease.
    #[must_use]
    pub fn seen(&self) -> &ObservedLease {
        &self.seen
    }

    /// The leadership at `now`, if this replica has it.
    #[must_use]
    pub fn term(&self, now: Instant) -> Option<Term> {
        self.term.filter(|term| now < term.until)
    }

    /// What to do at `now`, while no attempt is under way.
    #[must_use]
    pub fn next(&self, now: Instant) -> ElectionAction {
        let at = self.due.max(match &self.seen {
            ObservedLease::Unknown => self.since,
            ObservedLease::Present(record) if self.is_ours(record) && self.is_known(record) => self.since,
            ObservedLease::Present(record) if record.holder.is_none() || self.is_of_the_dead(record) => {
                self.since
            }
            ObservedLease::Present(_) => self.over(),
            // Whoever removed it may be about to bring it back: an installation of the chart fails when it finds one.
            ObservedLease::Absent if self.term(now).is_some() => self.since + self.timing.retry,
            // The leader itself is given the time to make it anew.
            ObservedLease::Absent => self.since + 2 * self.timing.retry,
        });
        match (now >= at, self.is_woken) {
            (true, _) => ElectionAction::Attempt(Permit { count: self.count(now), ..self.permit() }),
            (false, true) => {
                ElectionAction::Attempt(Permit { count: self.count(now), ..self.permit_to_look() })
            }
            (false, false) => ElectionAction::Wait(at),
        }
    }

    /// Begins an attempt. What asks for a look from now on asks for another one: this one may have read the Lease already.
    #[must_use]
    pub fn begin(&mut self, permit: Permit, now: Instant) -> LeaseAttempt {
        self.is_woken = false;
        if let ObservedLease::Present(record) = &self.seen
            && permit.covers(&record.version)
        {
            self.tried = Some(record.epoch.lease_created);
        }
        LeaseAttempt { permit, began: now, timing: self.timing }
    }

    /// Records what a watch has shown at `now`. A leader believes only answers: a watch may lag behind them, so what
    /// it shows is a reason to ask, no more.
    pub fn watched(&mut self, observed: ObservedLease, now: Instant) {
        if self.term(now).is_none() {
            self.see(observed, now);
        } else if !matches!(&observed, ObservedLease::Present(record) if self.is_ours(record)) {
            self.is_woken = true;
        }
    }

    /// Records how an attempt ended at `now`.
    pub fn concluded(&mut self, attempt: &LeaseAttempt, response: LeaseResponse, now: Instant) {
        self.due = now;
        match response {
            LeaseResponse::Held(record) if self.is_ours(&record) => {
                if self.may_lead_by(&record, attempt.began, now) {
                    let until = attempt.began + attempt.timing.renew_deadline;
                    self.term = Some(Term { epoch: record.epoch, until });
                    let is_another = self.held.replace(record.epoch) != Some(record.epoch);
                    self.due = if is_another && self.count(now).is_some() { now } else { now + self.pause() };
                }
                self.see(ObservedLease::Present(record), now);
            }
            // It has gone from under us, or nobody has made it yet: no other leads by it before we are fenced.
            LeaseResponse::Found(ObservedLease::Absent) => self.see(ObservedLease::Absent, now),
            LeaseResponse::Held(record) => self.lost(ObservedLease::Present(record), now),
            LeaseResponse::Found(observed) => self.lost(observed, now),
            LeaseResponse::Conflict => self.is_woken = true,
            LeaseResponse::Failed(_) => self.due = now + self.pause(),
        }
    }

    /// Records the newest leadership that a pod has seen. If it is one after that of this replica, by the same Lease, that has gone back, or
    /// is somebody else's: the next attempt finds out.
    pub fn seen_by_pods(&mut self, seen: Epoch, now: Instant) {
        if self.seen_by_pods != seen {
            self.seen_by_pods = seen;
            self.is_woken |= self.count(now).is_some();
        }
    }

    /// Gives the leadership up at once; the Lease itself is not touched.
    pub fn resign(&mut self) {
        self.term = None;
    }

    /// Somebody else holds the Lease, or nobody.
    fn lost(&mut self, observed: ObservedLease, now: Instant) {
        self.term = None;
        self.see(observed, now);
    }

    fn see(&mut self, observed: ObservedLease, now: Instant) {
        if self.seen == observed {
            return;
        }
        if let ObservedLease::Present(record) = &observed {
            // The answer to our making the first one was lost.
            if self.is_ours(record) && self.transitions.is_none() {
                self.held = Some(record.epoch);
            }
            self.transitions = Some(record.epoch.transitions.max(self.transitions.unwrap_or(0)));
            self.holder_lasts = record.lasts;
        }
        (self.seen, self.since) = (observed, now);
    }

    fn is_ours(&self, record: &LeaseRecord) -> bool {
        record.holder.as_deref() == Some(&*self.identity)
    }

    fn is_of_the_dead(&self, record: &LeaseRecord) -> bool {
        let dead = self.former.as_ref();
        dead.is_some_and(|(holder, epoch)| record.holder.as_deref() == Some(holder) && record.epoch == *epoch)
    }

    /// When nobody can lead any more by what was seen last.
    fn over(&self) -> Instant {
        self.since + self.holder_lasts.max(self.timing.lease)
    }

    /// A Lease that names us and that we led by before, or tried to take: nobody came between. An order to make a missing
    /// one may come late, when others have come and gone, and name us too.
    fn is_known(&self, record: &LeaseRecord) -> bool {
        self.held == Some(record.epoch) || self.tried == Some(record.epoch.lease_created)
    }

    /// Whether no other can lead any more, now that the API server has written us into `record`.
    fn may_lead_by(&self, record: &LeaseRecord, began: Instant, now: Instant) -> bool {
        let leads_already = self.term(now).is_some();
        let is_first = self.transitions.is_none();
        let has_waited = began >= self.over()
            && matches!(&self.seen, ObservedLease::Present(seen) if self.is_ours(seen) && seen.epoch == record.epoch);
        self.is_known(record) || leads_already || is_first || has_waited
    }

    fn permit(&self) -> Permit {
        let create = match &self.seen {
            ObservedLease::Absent => Some(self.next_transition()),
            _ => self.permit_to_look().create,
        };
        let take = match &self.seen {
            ObservedLease::Present(record) => Some(record.version.clone()),
            _ => None,
        };
        Permit { take, create, count: None }
    }

    /// What the Lease has to count for pods to take this replica's orders. Of another Lease nothing is known: who leads by that may deploy, too,
    /// and neither is to outbid the other. A Lease counts to `i32::MAX`: a write of more would be refused, and the renewal with it.
    fn count(&self, now: Instant) -> Option<i64> {
        let ours = self.term(now)?.epoch;
        let is_overtaken = self.seen_by_pods.lease_created == ours.lease_created && self.seen_by_pods > ours;
        let next = self.seen_by_pods.transitions.saturating_add(1);
        (is_overtaken && next <= i32::MAX.into()).then_some(next)
    }

    /// A replica that finds no Lease at its very first look makes one and leads: otherwise each installation would begin
    /// with waiting. (If somebody deletes the Lease just while its holder is frozen, and a new process starts just
    /// then, agents refuse the old leader's orders by their epoch.)
    fn permit_to_look(&self) -> Permit {
        let is_first = self.seen == ObservedLease::Unknown && self.transitions.is_none();
        Permit { create: is_first.then(|| self.next_transition()), ..Permit::look() }
    }

    /// A deleted Lease's epochs must not come again, not even within the second that `creationTimestamp` tells.
    fn next_transition(&self) -> i64 {
        self.transitions.map_or(0, |last| last + 1)
    }

    /// Between 80 % and 120 % of the retry period, so that replicas started together do not stay together.
    fn pause(&mut self) -> Duration {
        self.random_state ^= self.random_state << 13;
        self.random_state ^= self.random_state >> 7;
        self.random_state ^= self.random_state << 17;
        let percent = u32::try_from(self.random_state % 41).unwrap_or(0) + 80;
        self.timing.retry * percent / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: Permit = Permit { take: None, create: Some(1), count: None };

    fn record(version: &str, holder: Option<&str>) -> LeaseRecord {
        let epoch = Epoch { lease_created: 1, transitions: 0 };
        LeaseRecord {
            version: version.into(),
            holder: holder.map(Into::into),
            lasts: Timing::default().lease,
            epoch,
        }
    }

    /// `a`, which made the Lease and leads since `start`.
    fn leader(start: Instant) -> Election {
        let mut election = Election::new("a".into(), Timing::default(), 1, start);
        let ElectionAction::Attempt(first) = election.next(start) else { panic!("nothing to do") };
        let attempt = election.begin(first, start);
        election.concluded(&attempt, LeaseResponse::Held(record("1", Some("a"))), start);
        assert!(election.term(start).is_some());
        election
    }

    /// Looks at once, finds no Lease, and makes it anew after the time that whoever brings it back is given.
    fn makes_it_anew(election: &mut Election, now: Instant) {
        let retry = Timing::default().retry;
        let epoch = election.term(now).map(|term| term.epoch);
        assert_eq!(election.next(now), ElectionAction::Attempt(Permit::look()), "no look at once");
        let attempt = election.begin(Permit::look(), now);
        election.concluded(&attempt, LeaseResponse::Found(ObservedLease::Absent), now);
        assert_eq!(election.next(now), ElectionAction::Wait(now + retry));

        let later = now + retry;
        assert_eq!(election.next(later), ElectionAction::Attempt(CREATE));
        assert_eq!(election.term(later).map(|term| term.epoch), epoch, "it leads meanwhile");
    }

    #[test]
    fn a_leader_leaves_a_removed_lease_to_whoever_brings_it_back_for_a_moment_and_then_makes_it_anew() {
        let start = Instant::now();
        let mut election = leader(start);
        election.watched(ObservedLease::Absent, start);
        makes_it_anew(&mut election, start);
    }

    /// Otherwise a standby, which waits for two retries, would be faster.
    #[test]
    fn a_leader_whose_lease_is_removed_while_it_renews_looks_again_at_once() {
        let (start, retry) = (Instant::now(), Timing::default().retry);
        let mut election = leader(start);
        let now = start + 2 * retry;
        let ElectionAction::Attempt(renewal) = election.next(now) else { panic!("no renewal") };
        let attempt = election.begin(renewal, now);
        election.watched(ObservedLease::Absent, now);
        election.concluded(&attempt, LeaseResponse::Held(record("2", Some("a"))), now);
        makes_it_anew(&mut election, now);
    }

    #[test]
    fn the_lease_of_a_dead_process_is_taken_at_once_unless_somebody_led_since() {
        let start = Instant::now();
        let found = record("1", Some("a"));
        let later = LeaseRecord { epoch: Epoch { transitions: 2, ..found.epoch }, ..found.clone() };
        let others = record("1", Some("c"));
        for (found, next) in [
            (found.clone(), ElectionAction::Attempt(Permit { take: Some("1".into()), ..Permit::look() })),
            (later, ElectionAction::Wait(start + Timing::default().lease)),
            (others, ElectionAction::Wait(start + Timing::default().lease)),
        ] {
            let epoch = Epoch { lease_created: 1, transitions: 0 };
            let election = Election::new("b".into(), Timing::default(), 1, start);
            let mut election = election.succeeding("a".into(), epoch);
            let attempt = election.begin(Permit::look(), start);
            election.concluded(&attempt, LeaseResponse::Found(ObservedLease::Present(found)), start);
            assert_eq!(election.next(start), next);
        }
    }

    #[test]
    fn a_standby_takes_a_lease_that_is_over_and_one_that_is_released_at_once() {
        let (start, timing) = (Instant::now(), Timing::default());
        let mut election = Election::new("b".into(), timing, 1, start);
        let attempt = election.begin(Permit::look(), start);
        election.concluded(
            &attempt,
            LeaseResponse::Found(ObservedLease::Present(record("1", Some("a")))),
            start,
        );
        assert_eq!(election.next(start), ElectionAction::Wait(start + timing.lease));
        let taken =
            |version: &str| ElectionAction::Attempt(Permit { take: Some(version.into()), ..Permit::look() });
        assert_eq!(election.next(start + timing.lease), taken("1"));

        election.watched(ObservedLease::Present(record("2", None)), start);
        assert_eq!(election.next(start), taken("2"));
    }

    #[test]
    fn a_leader_whose_lease_counts_less_than_pods_have_seen_makes_it_count_on() {
        let start = Instant::now();
        let mut election = leader(start);
        let seen = Epoch { lease_created: 1, transitions: 7 };
        election.seen_by_pods(seen, start);
        let raise = Permit { count: Some(8), ..Permit::look() };
        assert_eq!(election.next(start), ElectionAction::Attempt(raise.clone()), "it is tried at once");
        let attempt = election.begin(raise.clone(), start);
        election.concluded(&attempt, LeaseResponse::Failed("no answer".into()), start);
        election.seen_by_pods(seen, start);
        assert!(matches!(election.next(start), ElectionAction::Wait(_)), "after a failure there is a pause");
        let later = start + 2 * Timing::default().retry;
        let ElectionAction::Attempt(again) = election.next(later) else { panic!("it is not tried again") };
        assert_eq!(again.count, Some(8));
        let attempt = election.begin(again, later);
        let epoch = Epoch { transitions: 8, ..seen };
        let raised = LeaseRecord { epoch, ..record("3", Some("a")) };
        election.concluded(&attempt, LeaseResponse::Held(raised), later);
        assert_eq!(election.term(later).map(|term| term.epoch), Some(epoch));
        election.seen_by_pods(epoch, later);
        assert!(matches!(election.next(later), ElectionAction::Wait(_)), "pods have seen our own");
        let next = later + 2 * Timing::default().retry;
        let ElectionAction::Attempt(renewal) = election.next(next) else { panic!("no renewal") };
        assert_eq!(renewal.count, None);
    }

    #[test]
    fn nobody_outbids_who_leads_by_another_lease_and_who_does_not_lead_outbids_nobody() {
        let start = Instant::now();
        let mut election = leader(start);
        for seen in [
            Epoch { lease_created: 1, transitions: 0 },
            Epoch { lease_created: 0, transitions: 9 },
            Epoch { lease_created: 2, transitions: 9 },
            // No Lease can count so far.
            Epoch { lease_created: 1, transitions: i32::MAX.into() },
            Epoch { lease_created: 1, transitions: i64::MAX },
        ] {
            election.seen_by_pods(seen, start);
            assert!(matches!(election.next(start), ElectionAction::Wait(_)), "{seen:?}");
        }
    }

    #[test]
    fn who_leads_by_a_lease_that_has_gone_back_already_makes_it_count_on_at_once() {
        let start = Instant::now();
        let mut election = Election::new("a".into(), Timing::default(), 1, start);
        election.seen_by_pods(Epoch { lease_created: 1, transitions: 7 }, start);
        let ElectionAction::Attempt(first) = election.next(start) else { panic!("nothing to do") };
        assert_eq!(first.count, None, "who does not lead outbids nobody");
        let attempt = election.begin(first, start);
        election.concluded(&attempt, LeaseResponse::Held(record("1", Some("a"))), start);
        let ElectionAction::Attempt(raise) = election.next(start) else { panic!("it waits") };
        assert_eq!(raise.count, Some(8));
    }
}
