//! The route model: what watched objects ask for, who gets it, with which options, and why others do not.
//!
//! Templates should not have to solve precedence, nor read what people write. What is asked for ([`claims`]), and for which requests
//! ([`matching`]), knows nothing of who gets it ([`ownership`]), and neither knows anything of Ingress ([`ingress`]). What annotations ask
//! for is one table ([`options`]): their values are read here, once, and templates write them. What annotations of other controllers ask for
//! is translated into the same options ([`families`]). Beside each store of objects there are stores of what became of
//! it ([`stores`]).
//!
//! A function of stores and configuration; no I/O. Time comes from outside.

pub mod certificate;
pub mod claims;
pub mod families;
pub mod findings;
pub mod gateway;
pub mod ingress;
pub mod matching;
pub mod names;
pub mod objects;
pub mod options;
pub mod ownership;
pub mod reload_pace;
mod sentences;
mod store_names;
pub mod stores;
pub mod tcp;
pub mod userlists;

pub use ingress::{auth_hosts::hosts_named_by, class};
pub use matching::{conditions, path, patterns, regex_cost};
pub use objects::{referenced, services};
pub use options::{difference::OPTIONS_OF_GROUPS, settings_shape::unreadable_settings};
pub use ownership::{contest, index, memory, owners};
pub use store_names::{auth_targets_of, class_settings_of, options_of, store_of, userlists_of};
pub use stores::{Routes, records::Records};
