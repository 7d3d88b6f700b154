//! The observers: commentary a person reads, the history behind `/debug/events`, metrics, traces, and what `haptic record`
//! gets.
//!
//! Observers receive events and tell; nothing they do, or fail to do, changes what the stages do.

pub mod actor;
pub mod commentary;
pub mod history;
pub mod metrics;
pub mod recording;
pub mod settings;
pub mod traces;

pub use actor::{CommentatorActor, MetricsActor, Observed, Recorded, RecorderActor, SpanSink, TracesActor};
pub use commentary::{Commentary, Level, Line, Moment};
pub use history::{Entry, History};
pub use recording::{Recording, Taken};
pub use settings::Settings;
