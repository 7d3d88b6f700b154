//! When to reconcile: gathers changes, lets an isolated one pass at once, and never starts two at a time.
//!
//! [`schedule`] decides, knowing only times; [`changes`] gathers what changed; [`gate`] says what is still missing
//! before anything may be rendered; [`actor`] joins them to the board and the render stage.

pub mod actor;
pub mod changes;
pub mod gate;
pub mod schedule;

pub use actor::{DebounceActor, Generations, Inputs};
pub use changes::Changes;
pub use schedule::{Next, Pace, Schedule};
