//! The observing actors: thin, they receive and pass on.

mod commentator;
mod metrics;
mod recorder;
mod traces;

pub use commentator::{CommentatorActor, Observed};
pub use metrics::{MetricsActor, Upkeep};
pub use recorder::{Recorded, RecorderActor};
pub use traces::{SpanSink, TracesActor};
