//! What is known of one actor from outside: its life, its queue, what it did last, how it last failed.
//!
//! The supervisor, the actor's own and its senders write it; health checks and `/debug/actors` read it. Nothing here
//! decides anything.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use futures::task::AtomicWaker;
use serde::Serialize;
use tokio::{sync::watch, time::Instant};

use crate::health::HealthRole;

/// Where an actor is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lifecycle {
    /// Made known, not yet polled.
    Starting,
    /// Answers messages.
    Running,
    /// Failed; waits for its back-off, then is rebuilt.
    Restarting,
    /// Failed too often, or lost its arbiter: never comes back, and the process is not live.
    Dead,
    /// Ended because it had nothing left to do.
    Done,
}

/// Which of its lives an actor is in. One value, so that nobody sees a restart counted and the life before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lives {
    pub(crate) now: Lifecycle,
    /// Failures that were answered by a restart.
    restarts: u32,
}

/// One actor as shown at `/debug/actors`.
#[derive(Clone, Debug, Serialize)]
pub struct ActorState {
    /// The name it was started under.
    pub name: String,
    /// Where it is in its life.
    pub state: Lifecycle,
    /// Messages sent to it and not answered yet: queued or being worked on.
    pub mailbox: usize,
    /// Messages it has begun to handle since the process started.
    pub handled: u64,
    /// Type of the last message it began to handle.
    pub last_message: Option<String>,
    /// Milliseconds since that message.
    pub last_message_ms_ago: Option<u64>,
    /// Times it was rebuilt.
    pub restarts: u32,
    /// Message and place of its last panic.
    pub last_panic: Option<String>,
    /// Milliseconds since it began the work it has not come back from; absent while it is idle.
    pub busy_ms: Option<u64>,
    /// Topics of which a message is withheld: it ended two of the actor's lives.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
    /// What the actor says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<serde_json::Value>,
}

/// The shared record of one actor.
#[derive(Debug)]
pub(crate) struct ActorStats {
    pub(crate) name: Arc<str>,
    pub(crate) role: HealthRole,
    busy_bound: Duration,
    born: Instant,
    lives: watch::Sender<Lives>,
    outstanding: AtomicUsize,
    handled: AtomicU64,
    /// Microseconds since `born`, plus one; 0 = idle.
    busy_since: AtomicU64,
    last_message: Mutex<Option<(&'static str, Instant)>>,
    last_panic: Mutex<Option<String>>,
    detail: Mutex<Option<serde_json::Value>>,
    dismissed: AtomicBool,
    #[cfg(debug_assertions)]
    panic_asked: AtomicBool,
    /// Until it is false again, the actor's thread is blocked.
    #[cfg(debug_assertions)]
    block_asked: AtomicBool,
    /// Has the supervisor's task polled.
    pub(crate) waker: Arc<AtomicWaker>,
    /// Topics of which a message is withheld now.
    withheld: Mutex<Vec<String>>,
}

/// Counts one message for as long as it is unanswered.
#[derive(Debug)]
pub(crate) struct Outstanding(Arc<ActorStats>);

/// Marks the actor busy until dropped.
pub(crate) struct Busy<'a>(&'a ActorStats);

impl ActorStats {
    pub(crate) fn new(name: Arc<str>, busy_bound: Duration, role: HealthRole) -> Self {
        Self {
            name,
            role,
            busy_bound,
            born: Instant::now(),
            lives: watch::Sender::new(Lives { now: Lifecycle::Starting, restarts: 0 }),
            outstanding: AtomicUsize::new(0),
            handled: AtomicU64::new(0),
            busy_since: AtomicU64::new(0),
            last_message: Mutex::new(None),
            last_panic: Mutex::new(None),
            detail: Mutex::new(None),
            dismissed: AtomicBool::new(false),
            #[cfg(debug_assertions)]
            panic_asked: AtomicBool::new(false),
            #[cfg(debug_assertions)]
            block_asked: AtomicBool::new(false),
            waker: Arc::default(),
            withheld: Mutex::default(),
        }
    }

    pub(crate) fn lifecycle(&self) -> Lifecycle {
        self.lives.borrow().now
    }

    pub(crate) fn set_lifecycle(&self, lifecycle: Lifecycle) {
        self.lives.send_if_modified(|lives| std::mem::replace(&mut lives.now, lifecycle) != lifecycle);
    }

    pub(crate) fn watch_lives(&self) -> watch::Receiver<Lives> {
        self.lives.subscribe()
    }

    pub(crate) fn received(&self, message: &'static str) -> u64 {
        *lock(&self.last_message) = Some((message, Instant::now()));
        self.handled.fetch_add(1, Relaxed) + 1
    }

    /// Notes a failure that is answered by a restart: the number of restarts with it.
    pub(crate) fn failed(&self, why: &str) -> u32 {
        self.note_failure(why);
        self.lives
            .send_modify(|lives| *lives = Lives { now: Lifecycle::Restarting, restarts: lives.restarts + 1 });
        self.lives.borrow().restarts
    }

    pub(crate) fn note_failure(&self, why: &str) {
        *lock(&self.last_panic) = Some(why.to_owned());
    }

    pub(crate) fn set_detail(&self, detail: serde_json::Value) {
        *lock(&self.detail) = Some(detail);
    }

    pub(crate) fn set_withheld(&self, topics: Vec<String>) {
        if !topics.is_empty() {
            let topics = topics.join(", ");
            tracing::error!(
                actor = &*self.name,
                topics,
                "a message ended this actor twice and is withheld until a newer one comes"
            );
        }
        *lock(&self.withheld) = topics;
    }

    /// What the actor goes without, if a message is withheld from it.
    pub(crate) fn why_withheld(&self) -> Option<String> {
        let topics = lock(&self.withheld);
        (!topics.is_empty()).then(|| {
            format!(
                "actor {} panicked twice on the newest {} and waits for another one; this is a bug in HAPTIC, see /debug/actors",
                self.name,
                topics.join(", ")
            )
        })
    }

    #[cfg(debug_assertions)]
    pub(crate) fn ask_to_panic(&self) {
        self.panic_asked.store(true, Relaxed);
        self.waker.wake();
    }

    #[cfg(debug_assertions)]
    pub(crate) fn ask_to_block(&self, blocked: bool) {
        self.block_asked.store(blocked, Relaxed);
        self.waker.wake();
    }

    /// Blocks or panics when it was asked to; the supervisor calls it where an actor does so itself.
    pub(crate) fn do_what_a_test_asks(&self) {
        #[cfg(debug_assertions)]
        while self.block_asked.load(Relaxed) {
            std::thread::park_timeout(Duration::from_millis(10));
        }
        #[cfg(debug_assertions)]
        #[expect(clippy::panic, reason = "this is what was asked for")]
        if self.panic_asked.swap(false, Relaxed) {
            panic!("asked to panic, by a test");
        }
    }

    /// Asks the supervisor to end this actor for good at its next quiet point.
    pub(crate) fn dismiss(&self) {
        self.dismissed.store(true, Relaxed);
        self.waker.wake();
    }

    pub(crate) fn is_dismissed(&self) -> bool {
        self.dismissed.load(Relaxed)
    }

    pub(crate) fn outstanding(self: &Arc<Self>) -> Outstanding {
        self.outstanding.fetch_add(1, Relaxed);
        Outstanding(Arc::clone(self))
    }

    pub(crate) fn busy(&self) -> Busy<'_> {
        let micros = u64::try_from(self.born.elapsed().as_micros()).unwrap_or(u64::MAX - 1);
        self.busy_since.store(micros + 1, Relaxed);
        Busy(self)
    }

    fn busy_for(&self) -> Option<Duration> {
        let since = self.busy_since.load(Relaxed).checked_sub(1)?;
        Some(self.born.elapsed().saturating_sub(Duration::from_micros(since)))
    }

    /// Why this actor does not do what it is there for, if it does not.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.lifecycle() == Lifecycle::Dead {
            let why = lock(&self.last_panic).clone().unwrap_or_else(|| "no reason recorded".to_owned());
            return Some(format!("actor {} is dead: {why}", self.name));
        }
        let busy = self.busy_for().filter(|busy| *busy > self.busy_bound)?;
        let message = lock(&self.last_message).map_or("no message", |(message, _)| message);
        Some(format!(
            "actor {} has been busy for {busy:.1?} (bound {:.1?}), last message {}",
            self.name,
            self.busy_bound,
            short_type_name(message)
        ))
    }

    pub(crate) fn state(&self) -> ActorState {
        let last = *lock(&self.last_message);
        let lives = *self.lives.borrow();
        ActorState {
            name: self.name.to_string(),
            state: lives.now,
            mailbox: self.outstanding.load(Relaxed),
            handled: self.handled.load(Relaxed),
            last_message: last.map(|(message, _)| short_type_name(message)),
            last_message_ms_ago: last.map(|(_, at)| millis(at.elapsed())),
            restarts: lives.restarts,
            last_panic: lock(&self.last_panic).clone(),
            busy_ms: self.busy_for().map(millis),
            withheld: lock(&self.withheld).clone(),
            detail: lock(&self.detail).clone(),
        }
    }
}

impl Drop for Outstanding {
    fn drop(&mut self) {
        self.0.outstanding.fetch_sub(1, Relaxed);
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy_since.store(0, Relaxed);
    }
}

/// A lock that a panic elsewhere does not spoil: what it guards is only ever replaced whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// `a::b::Envelope<c::Rendered>` as `Envelope<Rendered>`.
pub(crate) fn short_type_name(full: &str) -> String {
    let mut short = String::with_capacity(full.len());
    let mut word = 0;
    for character in full.chars() {
        if character == ':' {
            short.truncate(word);
            continue;
        }
        short.push(character);
        if !(character.is_alphanumeric() || character == '_') {
            word = short.len();
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_is_counted_together_with_the_end_of_the_life_before() {
        let stats = ActorStats::new("a".into(), Duration::from_secs(1), HealthRole::Works);
        let mut seen = stats.watch_lives();
        stats.set_lifecycle(Lifecycle::Running);
        seen.mark_unchanged();
        assert_eq!(stats.failed("why"), 1);
        assert_eq!(*seen.borrow_and_update(), Lives { now: Lifecycle::Restarting, restarts: 1 });
        stats.set_lifecycle(Lifecycle::Running);
        let state = stats.state();
        assert_eq!((state.state, state.restarts), (Lifecycle::Running, 1));
    }

    #[test]
    fn type_names_lose_their_paths_and_keep_their_arguments() {
        assert_eq!(short_type_name("a::b::Envelope<c::d::Rendered>"), "Envelope<Rendered>");
        assert_eq!(short_type_name("(a::B, alloc::vec::Vec<u8>)"), "(B, Vec<u8>)");
        assert_eq!(short_type_name("Look"), "Look");
    }
}
