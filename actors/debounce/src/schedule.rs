//! The rule of when a reconcile starts. Pure: every method is told the time; nothing here waits.
//!
//! * Leading edge: a change with no other change and no reconcile in the quiet time before it starts one at once.
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
    pace: Intervals,
    /// The longest time without a reconcile.
    idle: Option<Duration>,
    open: bool,
    running: bool,
    pending: Option<Pending>,
    /// The last change or end of a reconcile.
    last_activity: Option<Instant>,
    last_cost: Duration,
}

/// Changes that no reconcile has covered.
#[derive(Clone, Copy, Debug)]
struct Pending {
    first: Instant,
    last: Instant,
    at_once: bool,
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
    pub fn new(pace: Intervals) -> Self {
        Self {
            pace,
            idle: None,
            open: false,
            running: false,
            pending: None,
            last_activity: None,
            last_cost: Duration::ZERO,
        }
    }

    /// The times in force: the configured ones, grown with the last reconcile's cost.
    #[must_use]
    pub fn pace(&self) -> Intervals {
        self.pace.after(self.last_cost)
    }

    /// Whether a reconcile is on its way.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// Other configured times; they hold for pending changes too.
    pub fn set_pace(&mut self, pace: Intervals) {
        self.pace = pace;
    }

    /// After so long without a reconcile there is one; `None`: there is not.
    pub fn set_idle(&mut self, idle: Option<Duration>) {
        self.idle = idle;
    }

    /// Something changed.
    pub fn changed(&mut self, now: Instant) {
        let at_once = self.is_isolated(now);
        let pending = self.pending.get_or_insert(Pending { first: now, last: now, at_once });
        pending.last = now;
        // What waits was due at this very time: it does not wait anew.
        pending.at_once |= at_once;
        self.last_activity = Some(now);
    }

    /// Something changed that is rare and concerns everything, as a configuration does: it does not wait.
    pub fn changed_for_all(&mut self, now: Instant) {
        self.changed(now);
        self.pending = self.pending.map(|pending| Pending { at_once: true, ..pending });
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
        let pace = self.pace();
        let due = if pending.at_once {
            pending.first
        } else {
            (pending.last + pace.quiet).min(pending.first + pace.max_wait)
        };
        if due <= now { ScheduleAction::Now } else { ScheduleAction::At(due) }
    }

    /// A reconcile starts now and covers every change so far.
    pub fn started(&mut self) {
        self.running = true;
        self.pending = None;
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

    fn is_isolated(&self, now: Instant) -> bool {
        let quiet = self.pace().quiet;
        !self.running && self.last_activity.is_none_or(|last| now.duration_since(last) >= quiet)
    }
}

#[cfg(test)]
mod tests;
