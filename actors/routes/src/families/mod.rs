//! Annotations of other controllers, as their own controllers read them: translations into options, switched on by class.
//!
//! A family is a table first: their keys, how each value is read, where it may stand, what a wrong one does, and our option. What
//! takes several keys to say is code beside the table. What cannot be said is found at the object, never silent. Whatever guards
//! access fails closed.

mod annotations;
pub mod answers;
mod backend_lines;
mod balance;
mod config;
pub mod convert;
mod effects;
mod family;
mod foreign_options;
pub mod forms;
pub mod haproxy_ingress;
pub mod haproxy_org;
mod header_steps;
mod health_check;
pub mod ingress_nginx;
pub mod key;
pub mod log_format;
pub mod neighbours;
mod of_classes;
pub mod origins;
pub mod paths;
mod redirects;
mod secrets;
mod settings;
pub mod sign_in;
#[cfg(test)]
mod tests;
mod tls;
mod translation;
pub mod values;

pub use annotations::ReadAnnotations;
pub use answers::PathAnswer;
pub use config::FamilyConfig;
pub use convert::{ConvertedAnnotations, ForeignIngress, convert};
pub use effects::{IngressEffects, LevelEffects};
pub use family::Family;
pub use foreign_options::{ForeignOptions, translate};
pub use key::{FamilyKey, KeyOutcome, KeyPlace, KeyTarget, WrongValue};
pub use neighbours::{HostOptions, Neighbours};
pub use of_classes::FamiliesOfClasses;
pub use paths::PathRules;
pub use settings::FamilySettings;
pub use sign_in::SignIn;
pub use translation::{About, Translation};
pub use values::{ForeignValue, ValueReader};
