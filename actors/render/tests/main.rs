//! Rendering, without anything around it. One program: each more would be linked anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod actor;
mod bounds;
mod bundle;
mod destinations;
mod encode_haproxy;
mod encode_properties;
mod errors;
mod failure_reports;
mod faults;
mod fitting;
mod functions;
mod groups;
mod handlebars;
mod incremental;
mod jinja;
mod jinja_conformance;
mod jinja_markup;
mod kept_blocks;
mod languages;
mod owners;
mod paced_contents;
mod quarantine;
mod routes;
mod secrets;
mod support;
mod userlists;
mod uses;
