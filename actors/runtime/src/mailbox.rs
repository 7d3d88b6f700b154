//! How one actor reaches another: a counted, awaited send.
//!
//! Awaiting the answer is the back-pressure: actix grants each pending sender a place of its own in the mailbox,
//! so a sender that waits has at most one message there, and one that does not wait could have any number.

use std::{future::Future, sync::Arc};

use actix::{Message, Recipient};

use crate::stats::ActorStats;

/// The way to one actor for one kind of message. Clones lead to the same actor, across its restarts.
pub struct Mailbox<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    to: Recipient<M>,
    stats: Option<Arc<ActorStats>>,
}

/// The message was lost: its actor panicked on it, or has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("actor {actor} panicked on this message or has ended; its restarts are shown at /debug/actors")]
pub struct Lost {
    /// The actor's name.
    pub actor: Arc<str>,
}

impl<M> Mailbox<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    pub(crate) fn new(to: Recipient<M>, stats: Arc<ActorStats>) -> Self {
        Self { to, stats: Some(stats) }
    }

    /// Sends now and resolves with the answer.
    ///
    /// # Errors
    /// [`Lost`] when the actor panicked on the message or has ended. Dropping the future takes back a message that
    /// was not begun.
    pub fn send(&self, message: M) -> impl Future<Output = Result<M::Result, Lost>> + Send + use<M> {
        let outstanding = self.stats.as_ref().map(ActorStats::outstanding);
        let actor = self.name();
        let request = self.to.send(message);
        async move {
            let answer = request.await;
            drop(outstanding);
            answer.map_err(|_| Lost { actor })
        }
    }

    /// The actor's name.
    pub(crate) fn name(&self) -> Arc<str> {
        self.stats.as_ref().map_or_else(|| "(unnamed)".into(), |stats| Arc::clone(&stats.name))
    }

    /// Whether the actor still takes messages; it does while it is being restarted.
    #[must_use]
    pub fn connected(&self) -> bool {
        self.to.connected()
    }
}

/// An actor that no supervisor started, as tests have: its messages are not counted.
impl<M> From<Recipient<M>> for Mailbox<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn from(to: Recipient<M>) -> Self {
        Self { to, stats: None }
    }
}

impl<M> Clone for Mailbox<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn clone(&self) -> Self {
        Self { to: self.to.clone(), stats: self.stats.clone() }
    }
}

impl<M> std::fmt::Debug for Mailbox<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Mailbox").field(&self.name()).finish()
    }
}
