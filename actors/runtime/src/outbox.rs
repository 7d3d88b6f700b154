//! Events to observers: bounded, never waiting, every drop counted.
//!
//! Observers (commentary, metrics, history) may be slow or absent; the work they observe must not feel it. Only
//! observers are served here: work between stages goes through a [`Mailbox`], which waits.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use actix::Message;
use tokio::{sync::mpsc, time::Instant};

use crate::{mailbox::Mailbox, stats::lock};

/// The sending side; clones share observers and counters. One copy of each event goes to each observer.
#[derive(Debug)]
pub struct Outbox<M>(Arc<OutboxState<M>>);

#[derive(Debug)]
struct OutboxState<M> {
    observers: Vec<Queue<M>>,
    emitted: AtomicU64,
}

#[derive(Debug)]
struct Queue<M> {
    name: Arc<str>,
    sender: mpsc::Sender<M>,
    losses: Losses,
}

/// How many events one observer has lost; clones share the count, so that it can tell of it itself.
#[derive(Clone, Debug, Default)]
pub struct Losses(Arc<LostMessages>);

#[derive(Debug, Default)]
struct LostMessages {
    all: AtomicU64,
    taken: AtomicU64,
    /// When the last one was lost.
    latest: Mutex<Option<Instant>>,
}

impl Losses {
    /// So many, since the process started.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.all.load(Relaxed)
    }

    /// Those that are missing before an event that was sent at `sent`, taken once. What an observer is handed after a flood
    /// was sent before anything was lost: there, nothing is missing yet.
    #[must_use]
    pub fn take_before(&self, sent: Instant) -> u64 {
        let all = self.count();
        if all == self.0.taken.load(Relaxed) || lock(&self.0.latest).is_some_and(|latest| latest > sent) {
            return 0;
        }
        all.saturating_sub(self.0.taken.swap(all, Relaxed))
    }

    fn add(&self) {
        *lock(&self.0.latest) = Some(Instant::now());
        self.0.all.fetch_add(1, Relaxed);
    }
}

/// An actor that observes, and where its losses are counted.
#[derive(Debug)]
pub struct Observer<M>
where
    M: Message<Result = ()> + Send + 'static,
{
    mailbox: Mailbox<M>,
    losses: Losses,
}

impl<M: Message<Result = ()> + Send + 'static> Observer<M> {
    /// One that reads of its losses in `losses`.
    #[must_use]
    pub fn new(mailbox: Mailbox<M>, losses: Losses) -> Self {
        Self { mailbox, losses }
    }
}

impl<M: Message<Result = ()> + Send + 'static> From<Mailbox<M>> for Observer<M> {
    fn from(mailbox: Mailbox<M>) -> Self {
        Self::new(mailbox, Losses::default())
    }
}

impl<M: Clone + Send + 'static> Outbox<M> {
    /// An outbox that holds up to `capacity` events for each of the observing actors. Call it within a tokio
    /// runtime; emitting is allowed from any thread.
    #[must_use]
    pub fn new(capacity: usize, observers: Vec<impl Into<Observer<M>>>) -> Self
    where
        M: Message<Result = ()>,
    {
        let queue = |observer: Observer<M>| Queue {
            name: observer.mailbox.name(),
            sender: deliver(capacity, observer.mailbox),
            losses: observer.losses,
        };
        Self::over(observers.into_iter().map(Into::into).map(queue).collect())
    }

    /// An outbox nobody listens to.
    #[must_use]
    pub fn silent() -> Self {
        Self::over(Vec::new())
    }

    /// An outbox whose events are received by hand, as tests do.
    #[must_use]
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<M>) {
        let (sender, receiver) = mpsc::channel(capacity);
        (Self::over(vec![Queue { name: "(by hand)".into(), sender, losses: Losses::default() }]), receiver)
    }

    fn over(observers: Vec<Queue<M>>) -> Self {
        Self(Arc::new(OutboxState { observers, emitted: AtomicU64::new(0) }))
    }

    /// Hands `event` to every observer that has room; the others' loss is counted. Never waits.
    pub fn send(&self, event: M) {
        self.0.emitted.fetch_add(1, Relaxed);
        for observer in &self.0.observers {
            if observer.sender.try_send(event.clone()).is_err() {
                observer.losses.add();
            }
        }
    }
}

impl<M> Outbox<M> {
    /// Events emitted so far.
    #[must_use]
    pub fn emitted(&self) -> u64 {
        self.0.emitted.load(Relaxed)
    }

    /// Copies of events lost so far: an observer was full or gone.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.observers.iter().map(|observer| observer.losses.count()).sum()
    }

    /// The same for each observer, by its actor's name.
    pub fn losses(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.observers.iter().map(|observer| (&*observer.name, observer.losses.count()))
    }

    /// How many observers each event goes to.
    #[must_use]
    pub fn observers(&self) -> usize {
        self.0.observers.len()
    }

    /// Resolves when every observer has taken all events emitted so far, for the last phase of a shutdown.
    pub async fn flushed(&self) {
        for observer in &self.0.observers {
            // Every permit free means an empty queue; an error means that the observer is gone.
            drop(observer.sender.reserve_many(observer.sender.max_capacity()).await);
        }
    }
}

impl<M> Clone for Outbox<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// One observer's queue: events wait here, not in its mailbox, and are handed over one by one.
fn deliver<M: Message<Result = ()> + Send + 'static>(
    capacity: usize,
    mailbox: Mailbox<M>,
) -> mpsc::Sender<M> {
    let (sender, mut events) = mpsc::channel(capacity.max(1));
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let Err(lost) = mailbox.send(event).await {
                tracing::debug!(%lost, "event lost");
            }
            if !mailbox.connected() {
                return;
            }
        }
    });
    sender
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_observer_loses_events_and_the_loss_is_counted() {
        let (outbox, mut events) = Outbox::channel(2);
        (0..5).for_each(|event| outbox.send(event));
        assert_eq!((outbox.emitted(), outbox.dropped()), (5, 3));
        assert_eq!((events.recv().await, events.recv().await), (Some(0), Some(1)));
        outbox.send(9);
        assert_eq!(events.recv().await, Some(9));
    }

    #[tokio::test]
    async fn a_gone_observer_costs_counted_drops_only() {
        let (outbox, events) = Outbox::channel(2);
        drop(events);
        outbox.send(1);
        assert_eq!(outbox.dropped(), 1);
        outbox.flushed().await;
    }
}
