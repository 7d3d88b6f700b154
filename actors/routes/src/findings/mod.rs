//! What an object asks for in vain: what it leads to that is not there, annotations that nobody here reads, certificates that
//! clients refuse.

pub mod certificates;
pub mod foreign;
pub(crate) mod missing_objects;
pub(crate) mod nowhere;
