//! Options of annotations: read once, by the types of one table ([`table`]). Templates write values and read no texts.
//!
//! A value that cannot be read is a [`Refusal`], with what a user needs to set it right. Nothing here knows who gets requests.

mod affinity;
mod annotation;
pub mod auth;
pub mod auth_url;
mod certificate_facts;
pub mod class;
pub(crate) mod class_objects;
pub mod client;
mod concurrency;
pub mod difference;
pub mod form;
pub mod groups;
pub mod header;
mod health;
pub mod kind;
pub mod level;
mod mend;
pub mod network;
mod of_config;
mod pages;
pub mod paths;
pub mod quantity;
pub mod rate;
mod redirects;
mod refusal;
pub mod request_key;
pub mod rewrites;
mod route_options;
pub(crate) mod row;
mod settings;
pub(crate) mod settings_shape;
pub(crate) mod shared_lines;
pub mod table;
mod tcp;
pub(crate) mod tcp_ports;
#[cfg(test)]
mod tests;
pub(crate) mod tls;
mod tries;
mod vain;
pub mod value;
mod written;

pub use annotation::PREFIX;
pub(crate) use annotation::{MOST_BYTES, finding};
pub use mend::mended;
pub use refusal::{Refusal, Wrong};
pub use route_options::RouteOptions;
pub use settings::Settings;
pub(crate) use vain::{code_without_redirect, is_like_a_pattern, root_without_path, without_tls};
pub use written::Written;
