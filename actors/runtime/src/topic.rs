//! Topics: one publisher, any number of subscribers, the newest message retained.
//!
//! A topic is one slot with a number, not a queue for each subscriber. A subscriber that is busy has nothing queued: it has
//! only not taken the newest number yet. So at most one message of a topic waits, a newer one takes its place, the last one is always
//! delivered, and a subscriber that starts late receives it first.
//!
//! The types say who may publish: a [`Publisher`] cannot be cloned, and reaches its actor by the actor's factory. Actors subscribe
//! where they are started ([`crate::Spec::subscribes`]); tasks await [`Topic::changed`]; what only shows reads [`Topic::latest`].
//! Whoever publishes never waits and runs no code of a subscriber.

use crate::{
    envelope::Envelope,
    stats::{lock, short_type_name},
};
use futures::task::AtomicWaker;
use std::{
    any::type_name,
    collections::BTreeMap,
    fmt,
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
};

/// The number of the message that a topic begins with: nobody published it, so no task is told of it as a change.
const FIRST: u64 = 1;

/// The subscribers' side of a topic. Clones are the same topic, and none of them can publish.
pub struct Topic<M> {
    shared: Arc<TopicState<M>>,
    /// The number of the message that [`Self::changed`] gave last.
    taken: u64,
}

/// The publisher's side. All lives of its actor share it, and the topic keeps its message between them.
pub struct Publisher<M>(Arc<TopicState<M>>);

/// One subscriber of a topic, until it is dropped.
pub(crate) struct Subscription<M> {
    shared: Arc<TopicState<M>>,
    id: u64,
}

struct TopicState<M> {
    /// The number of the retained message. It is written under the lock.
    newest: AtomicU64,
    state: Mutex<State<M>>,
}

struct State<M> {
    retained: Envelope<M>,
    subscribers: BTreeMap<u64, Arc<AtomicWaker>>,
    next_id: u64,
    /// Those of all subscribers, to be woken without the lock.
    wakers: Arc<[Arc<AtomicWaker>]>,
}

/// A topic that begins with `message`: the state before anything is published.
#[must_use]
pub fn topic<M>(message: impl Into<Arc<M>>) -> (Publisher<M>, Topic<M>) {
    let retained = Envelope::new(message);
    let state = State { retained, subscribers: BTreeMap::new(), next_id: 0, wakers: Arc::default() };
    let shared = Arc::new(TopicState { newest: AtomicU64::new(FIRST), state: Mutex::new(state) });
    (Publisher(Arc::clone(&shared)), Topic { shared, taken: FIRST })
}

impl<M> Publisher<M> {
    /// Makes `message` the newest one, in the current span.
    pub fn publish(&self, message: impl Into<Arc<M>>) {
        self.0.publish(self.0.lock(), message.into());
    }

    /// Publishes `message` unless the retained one is equal; whether it did.
    pub fn publish_if_changed(&self, message: impl Into<Arc<M>>) -> bool
    where
        M: PartialEq,
    {
        let (message, state) = (message.into(), self.0.lock());
        let is_new = *state.retained.payload != *message;
        if is_new {
            self.0.publish(state, message);
        }
        is_new
    }

    /// Publishes what `change` makes of the retained message, with no other message in between.
    pub fn update(&self, change: impl FnOnce(&M) -> M) {
        let state = self.0.lock();
        let message = Arc::new(change(&state.retained.payload));
        self.0.publish(state, message);
    }

    /// The retained message: where a rebuilt actor goes on from.
    #[must_use]
    pub fn latest(&self) -> Arc<M> {
        self.0.latest()
    }

    /// The topic that this publishes on; what is retained now is no change.
    #[must_use]
    pub fn topic(&self) -> Topic<M> {
        Topic { shared: Arc::clone(&self.0), taken: self.0.newest.load(Ordering::Acquire) }
    }
}

impl<T: Clone> Publisher<Vec<T>> {
    /// Publishes the retained items and `item` behind them, of which no more than `most` stay, the newest: for subscribers that may be
    /// slower than the publisher, and mind what they miss.
    pub fn append(&self, item: T, most: usize) {
        self.update(|items| {
            let surplus = (items.len() + 1).saturating_sub(most);
            items.iter().skip(surplus).cloned().chain([item]).collect()
        });
    }
}

impl<M> Topic<M> {
    /// The retained message. Never waits.
    #[must_use]
    pub fn latest(&self) -> Arc<M> {
        self.shared.latest()
    }

    /// How many subscribers there are.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.shared.lock().subscribers.len()
    }

    /// Resolves with the newest message once there is one that this handle was not given by `changed` before. Never resolves again when
    /// the publisher is gone. Cancel safe.
    pub async fn changed(&mut self) -> Arc<M> {
        let waker = Arc::new(AtomicWaker::new());
        let subscription = Subscription::new(self, &waker);
        poll_fn(|task| {
            // The waker comes first: a message published from here on wakes this task.
            waker.register(task.waker());
            match subscription.newer_than(self.taken) {
                Some((number, envelope)) => {
                    self.taken = number;
                    Poll::Ready(envelope.payload)
                }
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Resolves with the first message, the retained one included, that `wanted` accepts. Cancel safe.
    pub async fn wait_for(&mut self, mut wanted: impl FnMut(&M) -> bool) -> Arc<M> {
        self.taken = 0;
        loop {
            let message = self.changed().await;
            if wanted(&message) {
                return message;
            }
        }
    }
}

impl<M> Subscription<M> {
    pub(crate) fn new(topic: &Topic<M>, waker: &Arc<AtomicWaker>) -> Self {
        let mut state = topic.shared.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.subscribers.insert(id, Arc::clone(waker));
        state.collect_wakers();
        Self { shared: Arc::clone(&topic.shared), id }
    }

    /// The number of the retained message.
    pub(crate) fn newest(&self) -> u64 {
        self.shared.newest.load(Ordering::Acquire)
    }

    /// The retained message and its number, if that is higher than `taken`.
    pub(crate) fn newer_than(&self, taken: u64) -> Option<(u64, Envelope<M>)> {
        if self.newest() <= taken {
            return None;
        }
        let state = self.shared.lock();
        let number = self.newest();
        Some((number, state.retained.clone()))
    }
}

impl<M> TopicState<M> {
    fn lock(&self) -> MutexGuard<'_, State<M>> {
        lock(&self.state)
    }

    fn latest(&self) -> Arc<M> {
        Arc::clone(&self.lock().retained.payload)
    }

    fn publish(&self, mut state: MutexGuard<'_, State<M>>, message: Arc<M>) {
        let replaced = std::mem::replace(&mut state.retained, Envelope::new(message));
        self.newest.fetch_add(1, Ordering::Release);
        let wakers = Arc::clone(&state.wakers);
        // A subscriber that wakes at once must not find the lock held, and the replaced message may be the last hand on a large value.
        drop(state);
        drop(replaced);
        wakers.iter().for_each(|waker| waker.wake());
    }
}

impl<M> State<M> {
    fn collect_wakers(&mut self) {
        self.wakers = self.subscribers.values().map(Arc::clone).collect();
    }
}

impl<M> Drop for Subscription<M> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.subscribers.remove(&self.id);
        state.collect_wakers();
    }
}

/// The clone was given what its original was given.
impl<M> Clone for Topic<M> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), taken: self.taken }
    }
}

impl<M> fmt::Debug for Topic<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Topic").field(&short_type_name(type_name::<M>())).finish()
    }
}

impl<M> fmt::Debug for Publisher<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Publisher").field(&short_type_name(type_name::<M>())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::thread;

    #[test]
    fn of_what_is_appended_the_newest_stay() {
        let (publisher, numbers) = topic(Vec::new());
        (1..=5).for_each(|number| publisher.append(number, 3));
        assert_eq!(*numbers.latest(), [3, 4, 5]);
    }

    #[test]
    fn a_change_is_given_once_to_each_handle_however_late_it_asks() {
        let (publisher, mut numbers) = topic(0);
        assert!(numbers.changed().now_or_never().is_none(), "what a topic begins with is no change");
        let late = numbers.clone();
        publisher.publish(1);
        publisher.publish(2);
        for mut numbers in [numbers, late] {
            assert_eq!(numbers.changed().now_or_never().as_deref(), Some(&2));
            assert!(numbers.changed().now_or_never().is_none());
            assert!(numbers.clone().changed().now_or_never().is_none());
        }
        assert!(publisher.topic().changed().now_or_never().is_none());
    }

    #[test]
    fn an_equal_message_is_not_published() {
        let (publisher, mut words) = topic("a".to_owned());
        assert!(!publisher.publish_if_changed("a".to_owned()));
        assert!(words.changed().now_or_never().is_none());
        assert!(publisher.publish_if_changed("b".to_owned()));
        assert_eq!(words.changed().now_or_never().as_deref().map(String::as_str), Some("b"));
    }

    #[test]
    fn the_message_stays_when_its_publisher_is_gone() {
        let (publisher, mut numbers) = topic(7);
        drop(publisher);
        assert_eq!(numbers.wait_for(|number| *number == 7).now_or_never().as_deref(), Some(&7));
        assert!(numbers.changed().now_or_never().is_none());
    }

    /// No wake-up is lost, whatever the threads do: each message is answered before the next is sent.
    #[test]
    fn a_message_between_threads_is_never_missed() {
        let ((ping, mut pings), (pong, mut pongs)) = (topic(0), topic(0));
        let answering = thread::spawn(move || {
            futures::executor::block_on(async {
                loop {
                    let number = *pings.changed().await;
                    pong.publish(number);
                    if number == 50_000_u32 {
                        break;
                    }
                }
            });
        });
        futures::executor::block_on(async {
            for number in 1..=50_000 {
                ping.publish(number);
                assert_eq!(*pongs.changed().await, number);
            }
        });
        answering.join().unwrap();
    }

    #[test]
    fn whoever_gave_up_waiting_is_not_woken() {
        let (publisher, mut numbers) = topic(0);
        assert!(numbers.changed().now_or_never().is_none());
        assert_eq!(numbers.subscribers(), 0);
        assert!(publisher.0.lock().wakers.is_empty());
    }
}
