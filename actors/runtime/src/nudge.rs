//! Coalescing before the mailbox: any number of nudges while one message is in flight make exactly one more.
//!
//! A nudge says only "look": what there is to see is on the board or in a store. So nothing is lost by coalescing,
//! and no storm of changes can fill a mailbox.

use std::sync::Arc;

use actix::Message;
use tokio::{sync::Notify, task::AbortHandle};

use crate::post::Post;

/// The plainest nudge message: "look at the board".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Message)]
#[rtype(result = "()")]
pub struct Look;

/// A handle that makes one actor look; clones nudge the same actor.
#[derive(Clone, Debug)]
pub struct Nudge(Arc<Line>);

#[derive(Debug)]
struct Line {
    notify: Arc<Notify>,
    sender: AbortHandle,
}

impl Nudge {
    /// A nudge that sends copies of `message`, one at a time. Call it within a tokio runtime; nudging itself is
    /// allowed from any thread.
    ///
    /// A message is in flight until its handler's answer. One that its actor panicked on is not repeated: a
    /// restarted actor looks at the board when it starts.
    #[must_use]
    pub fn new<M>(post: Post<M>, message: M) -> Self
    where
        M: Message<Result = ()> + Clone + Send + Sync + 'static,
    {
        let notify = Arc::new(Notify::new());
        let wanted = Arc::clone(&notify);
        let sender = tokio::spawn(async move {
            // Notify stores one permit: that is the "exactly one more".
            while post.connected() {
                wanted.notified().await;
                if let Err(lost) = post.send(message.clone()).await {
                    tracing::debug!(%lost, "nudge lost");
                }
            }
        });
        Self(Arc::new(Line { notify, sender: sender.abort_handle() }))
    }

    /// Makes the actor look, soon and at least once after this call. Never waits.
    pub fn nudge(&self) {
        self.0.notify.notify_one();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.sender.abort();
    }
}
