//! What every message between stages carries besides its payload.

use std::{sync::Arc, time::Duration};

use actix::Message;
use haptic_model::Generation;
use tokio::time::Instant;
use tracing::Span;

/// A payload on its way from one stage to the next. Cheap to clone: payloads are shared, never copied.
#[derive(Debug)]
pub struct Envelope<T> {
    /// What is handed over.
    pub payload: Arc<T>,
    /// The reconcile it belongs to.
    pub generation: Generation,
    /// The span the receiver continues.
    pub span: Span,
    /// When it was sent.
    pub sent: Instant,
}

impl<T> Envelope<T> {
    /// Encloses `payload`, sent now from the current span.
    pub fn new(payload: impl Into<Arc<T>>, generation: Generation) -> Self {
        Self { payload: payload.into(), generation, span: Span::current(), sent: Instant::now() }
    }

    /// The next stage's payload in the same generation and trace, sent now.
    pub fn reply<U>(&self, payload: impl Into<Arc<U>>) -> Envelope<U> {
        Envelope {
            payload: payload.into(),
            generation: self.generation,
            span: self.span.clone(),
            sent: Instant::now(),
        }
    }

    /// How long it has waited since it was sent: the queue-wait metric when asked first in a handler.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.sent.elapsed()
    }
}

impl<T: Send + Sync + 'static> Message for Envelope<T> {
    type Result = ();
}

impl<T> Clone for Envelope<T> {
    fn clone(&self) -> Self {
        Self {
            payload: Arc::clone(&self.payload),
            generation: self.generation,
            span: self.span.clone(),
            sent: self.sent,
        }
    }
}
