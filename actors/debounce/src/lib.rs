//! When to reconcile: gathers changes, lets an isolated one pass at once, and never starts two at a time.
//!
//! [`schedule`] decides, knowing only times; [`gate`] says what is still missing before anything may be rendered; [`actor`] joins
//! what is rendered from, and orders renders.

pub mod actor;
pub mod gate;
pub mod schedule;

pub use actor::{DebounceActor, DebounceOptions, Generations};
pub use schedule::{Intervals, Schedule, ScheduleAction};
