//! The certificate for hosts that have none, when nobody gave one: made once by the leader, kept in a Secret that all
//! replicas read.
//!
//! [`made`] makes one; `upkeep` is one look at it, by which it is read, made and renewed; [`api`] speaks to the API server. Which
//! host gets it is a matter of templates.

pub mod api;
pub mod made;
pub(crate) mod upkeep;

use serde_json::Value;
use std::sync::Arc;

/// What is known of the default certificate.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DefaultCertificate {
    /// Nothing yet: a render would come too early.
    #[default]
    Awaited,
    /// There is none, and it is not to be waited for.
    None,
    /// This Secret's.
    Secret(Arc<Value>),
}
