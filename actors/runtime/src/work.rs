//! What an actor does beside its messages: each result is handled by the actor, and nothing more comes once the work is dropped.

use crate::handle::SupervisedActor;
use actix::{
    AsyncContext, Context,
    fut::{ActorFutureExt, ActorStreamExt, wrap_future, wrap_stream},
};
use futures::{
    Stream,
    future::{AbortHandle, abortable},
    stream,
};

/// A future or a stream that an actor waits for in one of its fields. Dropping it gives it up, and its result is never handled.
#[derive(Debug)]
#[must_use = "work that is dropped is given up"]
pub struct Work(AbortHandle);

impl Work {
    /// Begins `work`; the actor handles its result by `done`.
    pub fn start<A: SupervisedActor, T: 'static>(
        context: &mut Context<A>,
        work: impl Future<Output = T> + 'static,
        done: impl FnOnce(T, &mut A, &mut Context<A>) + 'static,
    ) -> Self {
        let (work, handle) = abortable(work);
        let work = wrap_future::<_, A>(work).map(move |result, actor, context| {
            if let Ok(result) = result {
                done(result, actor, context);
            }
        });
        context.spawn(work);
        Self(handle)
    }

    /// Begins to read `items`; the actor handles each of them by `each`.
    pub fn follow<A: SupervisedActor, T: 'static>(
        context: &mut Context<A>,
        items: impl Stream<Item = T> + 'static,
        each: impl FnMut(T, &mut A, &mut Context<A>) + 'static,
    ) -> Self {
        let (items, handle) = stream::abortable(items);
        context.spawn(wrap_stream::<_, A>(items).map(each).finish());
        Self(handle)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}
