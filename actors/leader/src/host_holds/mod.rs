//! What namespaces keep of hosts outlives the controller that kept it: the leader writes a record, and every controller reads it before
//! its first render, and again when it begins to lead.
//!
//! [`record`] is the resource that it is, [`api`] speaks to the API server.

pub mod api;
pub mod record;

use std::sync::Arc;

/// The record that was read, as JSON; empty when there is none. `None`: not read yet, a render would come too early.
pub type ReadHolds = Option<Arc<str>>;
