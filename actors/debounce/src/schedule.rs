//! The rule of when a reconcile starts. Pure: every method is told the time; nothing here waits.
//!
//! * Leading edge: a change with no other change and no reconcile in the quiet time before it starts one at once.
//! * Few follow: what comes close behind such a change waits for a fifth of the quiet time only, three times. A new route is a Service, its
//!   endpoints and the route, one after the other: none of them is a stream yet. Not where reconciles cost more than the quiet time: whoever
//!   writes in that rhythm would have all of a core. Whoever configured a longer quiet time wants them gathered.
//! * In a stream, a reconcile starts after `quiet` without a change, and at the latest `max_wait` after the first
//!   change it covers. The quiet time never resets that limit, so no stream can put a reconcile off.
//! * Self-clocking: quiet is at least a quarter of the last reconcile's cost and `max_wait` at least twice it, so that
//!   slow templates under a storm leave half of a core free. Both grow to a limit, so that no cost makes changes wait
//!   for longer than that.
//! * Where an idle time is configured, a reconcile starts after it though nothing changed.
//! * Never two at once, and none before the gate is open. Changes meanwhile are kept.

use std::time::Duration;

use tokio::time::Instant;

/// The longest that cost alone makes the quiet time.
const LONGEST_GROWN_QUIET: Duration = Duration::from_secs(1);
/// The longest that cost alone makes a change wait.
const LONGEST_GROWN_WAIT: Duration = Duration::from_secs(10);

/// So many reconciles close behind an isolated change hardly wait ...
const FOLLOWERS: u8 = 3;
/// ... namely for this part of the quiet time.
const OF_QUIET: u32 = 5;

/// The configured times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// In a stream of changes: reconcile after this much silence.
    pub quiet: Duration,
    /// Or when the oldest change is this old.
    pub max_wait: Duration,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleAction {
    /// Wait for the next input.
    Nothing,
    /// Ask again at this time, unless an input comes first.
    At(Instant),
    /// Start a reconcile.
    Now,
    /// Start a reconcile though nothing changed.
    Idle,
}

/// Changes, reconciles and the gate, as far as they are known.
#[derive(Clone, Debug)]
pub struct Schedule {
    intervals: Intervals,
    /// The longest time without a reconcile.
    idle: Option<Duration>,
    open: bool,
    running: bool,
    pending: Option<Pending>,
    /// How many of [`FOLLOWERS`] are left.
    followers: u8,
    /// The last change or end of a reconcile.
    last_activity: Option<Instant>,
    last_cost: Duration,
}

/// Changes that no reconcile has covered.
#[derive(Clone, Copy, Debug)]
struct Pending {
    first: Instant,
    last: Instant,
    urgency: Urgency,
}

/// How long changes wait; the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// Not at all.
    AtOnce,
    /// They follow an isolated one.
    Soon,
    /// They are a stream.
    Stream,
}

impl Default for Intervals {
    fn default() -> Self {
        Self { quiet: Duration::from_millis(5), max_wait: Duration::from_millis(50) }
    }
}

impl Intervals {
    /// The times in force after a reconcile that cost `cost`.
    #[must_use]
    pub fn after(self, cost: Duration) -> Self {
        Self {
            quiet: self.quiet.max((cost / 4).min(LONGEST_GROWN_QUIET)),
            max_wait: self.max_wait.max((cost * 2).min(LONGEST_GROWN_WAIT)),
        }
    }
}

impl Schedule {
    /// Nothing has changed and the gate is closed.
    #[must_use]
    pub fn new(intervals: Intervals) -> Self {
        Self {
            intervals,
            idle: None,
            open: false,
            running: false,
            pending: None,
            followers: 0,
            last_activity: None,
            last_cost: Duration::ZERO,
        }
    }

    /// The times in force: the configured ones, grown with the last reconcile's cost.
    #[must_use]
    pub fn intervals(&self) -> Intervals {
        self.intervals.after(self.last_cost)
    }

    /// Whether a reconcile is on its way.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// Other configured times; they hold for pending changes too.
    pub fn set_intervals(&mut self, intervals: Intervals) {
        self.intervals = intervals;
    }

    /// After so long without a reconcile there is one; `None`: there is not.
    pub fn set_idle(&mut self, idle: Option<Duration>) {
        self.idle = idle;
    }

    /// Something changed.
    pub fn changed(&mut self, now: Instant) {
        let urgency = if self.is_isolated(now) {
            self.followers = FOLLOWERS;
            Urgency::AtOnce
        } else if self.followers > 0 && self.may_follow() {
            Urgency::Soon
        } else {
            Urgency::Stream
        };
        let pending = self.pending.get_or_insert(Pending { first: now, last: now, urgency });
        pending.last = now;
        // What waits may be due at this very time: it does not wait anew.
        pending.urgency = pending.urgency.min(urgency);
        self.last_activity = Some(now);
    }

    /// Something changed that is rare and concerns everything, as a configuration does: it does not wait.
    pub fn changed_for_all(&mut self, now: Instant) {
        self.changed(now);
        self.pending = self.pending.map(|pending| Pending { urgency: Urgency::AtOnce, ..pending });
    }

    /// Opens or closes the gate. Opening it is itself a change, and one that does not wait.
    pub fn set_open(&mut self, open: bool, now: Instant) {
        if open && !self.open {
            self.changed_for_all(now);
        }
        self.open = open;
    }

    /// What to do at `now`.
    #[must_use]
    pub fn next(&self, now: Instant) -> ScheduleAction {
        if !self.open || self.running {
            return ScheduleAction::Nothing;
        }
        let Some(pending) = self.pending else { return self.next_idle(now) };
        let intervals = self.intervals();
        let silent_since = |quiet| (pending.last + quiet).min(pending.first + intervals.max_wait);
        let due = match pending.urgency {
            Urgency::AtOnce => pending.first,
            Urgency::Soon => silent_since(intervals.quiet / OF_QUIET),
            Urgency::Stream => silent_since(intervals.quiet),
        };
        if due <= now { ScheduleAction::Now } else { ScheduleAction::At(due) }
    }

    /// A reconcile starts now and covers every change so far.
    pub fn started(&mut self) {
        self.running = true;
        let is_follower = self.pending.take().is_some_and(|pending| pending.urgency == Urgency::Soon);
        self.followers = self.followers.saturating_sub(is_follower.into());
    }

    /// The running reconcile has ended and took `cost`.
    pub fn finished(&mut self, now: Instant, cost: Duration) {
        self.running = false;
        self.last_cost = cost;
        self.last_activity = Some(now);
    }

    fn next_idle(&self, now: Instant) -> ScheduleAction {
        match self.idle.zip(self.last_activity).and_then(|(idle, last)| last.checked_add(idle)) {
            Some(due) if due <= now => ScheduleAction::Idle,
            Some(due) => ScheduleAction::At(due),
            None => ScheduleAction::Nothing,
        }
    }

    fn may_follow(&self) -> bool {
        let quiet = self.intervals.quiet;
        quiet <= Intervals::default().quiet && self.last_cost <= quiet
    }

    fn is_isolated(&self, now: Instant) -> bool {
        let quiet = self.intervals().quiet;
        !self.running && self.last_activity.is_none_or(|last| now.duration_since(last) >= quiet)
    }
}

#[cfg(test)]
mod tests;
