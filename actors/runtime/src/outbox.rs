//! Events to observers: bounded, never waiting, every drop counted.
//!
//! Observers (commentary, metrics, history) may be slow or absent; the work they observe must not feel it. Only
//! observers are served here: work between stages goes through a [`Post`], which waits.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use actix::Message;
use tokio::sync::mpsc;

use crate::post::Post;

/// The sending side; clones share observers and counters. One copy of each event goes to each observer.
#[derive(Debug)]
pub struct Outbox<M>(Arc<Inner<M>>);

#[derive(Debug)]
struct Inner<M> {
    observers: Vec<mpsc::Sender<M>>,
    emitted: AtomicU64,
    dropped: AtomicU64,
}

impl<M: Clone + Send + 'static> Outbox<M> {
    /// An outbox that holds up to `capacity` events for each of the observing actors. Call it within a tokio
    /// runtime; emitting is allowed from any thread.
    #[must_use]
    pub fn new(capacity: usize, observers: Vec<Post<M>>) -> Self
    where
        M: Message<Result = ()>,
    {
        Self::over(observers.into_iter().map(|post| deliver(capacity, post)).collect())
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
        (Self::over(vec![sender]), receiver)
    }

    fn over(observers: Vec<mpsc::Sender<M>>) -> Self {
        Self(Arc::new(Inner { observers, emitted: AtomicU64::new(0), dropped: AtomicU64::new(0) }))
    }

    /// Hands `event` to every observer that has room; the others' loss is counted. Never waits.
    pub fn emit(&self, event: M) {
        self.0.emitted.fetch_add(1, Relaxed);
        for observer in &self.0.observers {
            if observer.try_send(event.clone()).is_err() {
                self.0.dropped.fetch_add(1, Relaxed);
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
        self.0.dropped.load(Relaxed)
    }

    /// How many observers each event goes to.
    #[must_use]
    pub fn observers(&self) -> usize {
        self.0.observers.len()
    }

    /// Resolves when every observer has taken all events emitted so far, for the last phase of a shutdown.
    pub async fn flushed(&self) {
        for observer in &self.0.observers {
            let all = u32::try_from(observer.max_capacity()).unwrap_or(u32::MAX);
            // Every permit free means an empty queue; an error means that the observer is gone.
            drop(observer.reserve_many(all as usize).await);
        }
    }
}

impl<M> Clone for Outbox<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// One observer's queue: events wait here, not in its mailbox, and are handed over one by one.
fn deliver<M: Message<Result = ()> + Send + 'static>(capacity: usize, post: Post<M>) -> mpsc::Sender<M> {
    let (sender, mut events) = mpsc::channel(capacity.max(1));
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let Err(lost) = post.send(event).await {
                tracing::debug!(%lost, "event lost");
            }
            if !post.connected() {
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
        (0..5).for_each(|event| outbox.emit(event));
        assert_eq!((outbox.emitted(), outbox.dropped()), (5, 3));
        assert_eq!((events.recv().await, events.recv().await), (Some(0), Some(1)));
        outbox.emit(9);
        assert_eq!(events.recv().await, Some(9));
    }

    #[tokio::test]
    async fn a_gone_observer_costs_counted_drops_only() {
        let (outbox, events) = Outbox::channel(2);
        drop(events);
        outbox.emit(1);
        assert_eq!(outbox.dropped(), 1);
        outbox.flushed().await;
    }
}
