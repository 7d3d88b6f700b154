//! HAProxy's configuration language: reading it without loss, checking it, and telling two configurations apart.
//!
//! * [`Document`] reads any text, borrows from it and gives it back byte for byte. It never fails: what HAProxy
//!   would refuse to read is listed in [`Document::problems`].
//! * [`views`] gives the lines that a planner works with a type: servers with `default-server` folded in, binds,
//!   `use_backend`, files.
//! * [`keywords`] knows the words of each HAProxy version, [`check`] uses them to find mistakes before HAProxy is run.
//! * [`listeners`] finds proxies that listen at the same place.
//! * [`data_plane_api`] knows what HAProxy's Data Plane API would damage of a configuration.
//! * [`block_index::BlockIndex`] reads only what changed since the text before, for [`check::Proof`] and for a planner.
//! * [`messages`] reads what HAProxy prints about a configuration, or about itself.
//! * [`diff::compare`] says what changed between two configurations, server lines apart from everything else.
//!
//! This crate is pure. It must not read files, start processes, or know Kubernetes, actors or sockets.

pub mod block_index;
pub mod check;
pub mod data_plane_api;
pub mod diff;
mod document;
mod expressions;
pub mod keywords;
mod lexer;
pub mod listeners;
pub mod messages;
mod problem;
pub mod views;

pub use check::{CheckOptions, check};
pub use document::{Directive, Document, Line, Section, SectionKind, Word};
pub use problem::{Code, Problem};
