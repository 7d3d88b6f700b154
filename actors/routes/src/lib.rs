//! The route model: what watched objects ask for, who gets it, with which options, and why others do not.
//!
//! Templates should not have to solve precedence, nor read what people write. What is asked for ([`claims`]) knows nothing of
//! who gets it ([`index`]), and neither knows anything of Ingress ([`ingress`]). What annotations ask for is one table ([`options`]):
//! their values are read here, once, and templates write them. What annotations of other controllers ask for
//! is translated into the same options ([`families`]). Beside each store of objects there are stores of what became of
//! it ([`stores`]).
//!
//! A function of stores and configuration; no I/O. Time comes from outside.

mod app_root;
mod asked;
pub mod auth;
mod batches;
mod bounds;
pub mod certificate;
mod choices;
pub mod claims;
pub mod class;
pub mod conditions;
mod config_maps;
pub mod contest;
pub mod families;
pub mod findings;
pub mod gateway;
mod hosts;
pub mod index;
pub mod ingress;
mod lists;
pub mod matching;
pub mod memory;
mod named_objects;
pub mod names;
pub mod options;
pub mod owners;
mod passing;
mod passthrough;
pub mod path;
pub mod patterns;
mod record;
pub mod referenced;
pub mod regex_cost;
pub mod reload_pace;
mod sentences;
mod separate_hosts;
pub mod services;
mod settings_shape;
mod store_names;
pub mod stores;
pub mod tcp;
pub mod userlists;

pub use record::OPTIONS_OF_GROUPS;
pub use settings_shape::unreadable_settings;
pub use store_names::{class_settings_of, options_of, store_of};
pub use stores::Routes;
