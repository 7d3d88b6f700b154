//! What every message between stages carries besides its payload.

use std::{fmt, marker::PhantomData, ops::Deref, sync::Arc, time::Duration};

use actix::Message;
use tokio::time::Instant;
use tracing::Span;

/// A payload on its way from one stage to the next, which is answered by an `A`. Cheap to clone: payloads are shared, never copied.
pub struct Envelope<M, A = ()> {
    /// What is handed over.
    pub payload: Arc<M>,
    /// The span the receiver continues.
    pub span: Span,
    /// When it was sent.
    pub sent: Instant,
    answer: PhantomData<fn() -> A>,
}

impl<M, A> Envelope<M, A> {
    /// Encloses `payload`, sent now from the current span.
    pub fn new(payload: impl Into<Arc<M>>) -> Self {
        Self { payload: payload.into(), span: Span::current(), sent: Instant::now(), answer: PhantomData }
    }

    /// How long it has waited since it was sent: the queue-wait metric when asked first in a handler.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.sent.elapsed()
    }
}

impl<M: Send + Sync + 'static, A: Send + 'static> Message for Envelope<M, A> {
    type Result = A;
}

impl<M, A> Deref for Envelope<M, A> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.payload
    }
}

impl<M, A> Clone for Envelope<M, A> {
    fn clone(&self) -> Self {
        let Self { payload, span, sent, answer } = self;
        Self { payload: Arc::clone(payload), span: span.clone(), sent: *sent, answer: *answer }
    }
}

impl<M: fmt::Debug, A> fmt::Debug for Envelope<M, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { payload, sent, .. } = self;
        f.debug_struct("Envelope").field("payload", payload).field("sent", sent).finish_non_exhaustive()
    }
}
