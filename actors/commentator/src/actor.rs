//! The observing actors: thin, they receive and pass on.

mod commentator;
mod metrics;
mod traces;

pub use commentator::{CommentatorActor, Observed};
pub use metrics::MetricsActor;
pub use traces::{SpanSink, TracesActor};
