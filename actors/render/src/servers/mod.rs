//! The servers of a Service, as templates ask for them: from its endpoints, or from what its name leads to.

pub mod destinations;
pub mod endpoints;
