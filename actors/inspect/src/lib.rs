//! Reads what there is and says it, for people and programs; nothing here changes what a controller does.
//!
//! All that a running controller publishes is in [`Readers`], of which the [`overview`] is made.
//!
//! A [configuration](validators) and the [tests](tests_of_config) that it brings are judged here, for the command line, the admission
//! webhook and the controller alike. [`offline`] renders once, without a controller; [`preview`], [`explain`] and [`benchmark`] say what
//! comes of a render. What becomes of manifests
//! for other controllers is [said](migrate) by the tables of annotations. A [recording] of what a controller rendered is rendered again somewhere else.

pub mod benchmark;
mod diff;
pub mod explain;
pub mod maps;
pub mod migrate;
pub mod offline;
pub mod overview;
pub mod preview;
mod readers;
mod readiness;
pub mod recording;
pub mod redaction;
pub mod terminal;
pub mod tests_of_config;
mod unused;
pub mod validators;

pub use readers::Readers;
pub use readiness::NotReady;
pub use validators::validators;
