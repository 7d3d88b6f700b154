//! The observing actors: thin, they receive and pass on.

mod commentator;
mod metrics;

pub use commentator::CommentatorActor;
pub use metrics::MetricsActor;
