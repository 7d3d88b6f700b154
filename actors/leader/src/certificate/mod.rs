//! The certificate for hosts that have none, when nobody gave one: made once by the leader, kept in a Secret that all
//! replicas read.
//!
//! [`made`] makes one; [`keeper`] is the loop that reads, makes and renews it; [`api`] speaks to the API server. Which
//! host gets it is a matter of templates.

pub mod api;
pub mod keeper;
pub mod made;
