//! Demands of an object that come to nothing: backends that are not there, annotations that nobody here reads, certificates that
//! clients refuse.

pub mod certificates;
pub mod foreign;
pub(crate) mod missing_objects;
pub(crate) mod nowhere;
