//! The actors: one for each watched resource, and one that starts and ends them as the configuration changes.

mod set;
mod watch;

pub use set::{RunningWatches, WatchSet, WatchSetActor};
pub use watch::WatchActor;
