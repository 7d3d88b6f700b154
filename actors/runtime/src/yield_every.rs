//! Fairness: a flooded mailbox must not starve its own actor's timers.
//!
//! actix handles messages until the mailbox is empty before it looks at anything else on the context or the
//! arbiter. One yield every 64 messages brings a timer delayed by a flood from tens of seconds to its own time.

use actix::{Actor, AsyncContext, fut::wrap_future};

/// Counts messages and yields the arbiter after each sixty-fourth.
#[derive(Debug, Default)]
pub struct YieldEvery(u32);

impl YieldEvery {
    /// Messages between two yields.
    pub const MESSAGES: u32 = 64;

    /// Counts one message; call it at the start of a handler.
    pub fn message<A>(&mut self, context: &mut A::Context)
    where
        A: Actor,
        A::Context: AsyncContext<A>,
    {
        self.0 += 1;
        if self.0 >= Self::MESSAGES {
            self.0 = 0;
            yield_now::<A>(context);
        }
    }
}

/// Lets timers and the arbiter's other actors run before this actor's next message.
pub(crate) fn yield_now<A>(context: &mut A::Context)
where
    A: Actor,
    A::Context: AsyncContext<A>,
{
    context.wait(wrap_future::<_, A>(tokio::task::yield_now()));
}
