//! The observers: commentary a person reads, the history behind `/debug/events`, metrics, traces, and what `haptic record`
//! gets.
//!
//! Observers receive events and tell; nothing they do, or fail to do, changes what the stages do.

mod actor;
pub mod event_log;
mod history;
pub mod metrics;
mod recording;
mod settings;
pub mod traces;

pub use actor::{
    CommentatorActor, MetricsActor, Observed, Recorded, RecorderActor, SpanSink, TracesActor, Upkeep,
};
pub use event_log::{LogLine, MessageLevel};
pub use history::{History, HistoryEntry};
pub use recording::{RecordedAttempt, Recording};
