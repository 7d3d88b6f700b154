//! The servers of a Service, as templates ask for them: from its endpoints, or from what its name leads to.

pub mod destinations;
pub mod endpoints;
pub(crate) mod fleet_services;
