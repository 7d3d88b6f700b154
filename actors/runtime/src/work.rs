//! What an actor does beside its messages. Its results are messages, too: a handler of the actor receives each of them.
//!
//! A result never waits in the mailbox. The work is polled with the actor, which handles the result in that moment: one of work that was given
//! up meanwhile is never handled, and a full mailbox delays none.

use crate::handle::SupervisedActor;
use actix::{AsyncContext, Context, Handler, Message};
use futures::{
    Stream,
    future::AbortHandle,
    stream::{self, abortable},
};

/// A future or a stream that an actor waits for in one of its fields. Dropping it gives it up, and its result is never handled.
#[derive(Debug)]
#[must_use = "work that is dropped is given up"]
pub struct Work(AbortHandle);

impl Work {
    /// Begins `work`; the actor handles its result.
    pub fn start<A, M>(context: &mut Context<A>, work: impl Future<Output = M> + 'static) -> Self
    where
        A: SupervisedActor + Handler<M>,
        M: Message + 'static,
    {
        Self::follow(context, stream::once(work))
    }

    /// Begins to read `items`; the actor handles each of them.
    pub fn follow<A, M>(context: &mut Context<A>, items: impl Stream<Item = M> + 'static) -> Self
    where
        A: SupervisedActor + Handler<M>,
        M: Message + 'static,
    {
        let (items, handle) = abortable(items);
        context.add_message_stream(items);
        Self(handle)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Begins `work` that nothing but the end of the actor's life gives up; the actor handles its result.
pub fn deliver<A, M>(context: &mut Context<A>, work: impl Future<Output = M> + 'static)
where
    A: SupervisedActor + Handler<M>,
    M: Message + 'static,
{
    context.add_message_stream(stream::once(work));
}
