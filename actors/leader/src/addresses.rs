//! `status.loadBalancer` of Ingresses: where people find what we serve.
//!
//! [`served`] tells which Ingresses have a line in what was checked last, [`published`] which addresses they get,
//! [`changes`] which of them have to be written, [`api`] writes them.

pub mod api;
pub mod changes;
pub mod published;
pub mod served;
