//! The objects at fault, and the versions that are rendered in their place.
//!
//! A render names the objects that fail ([`faults`]), HAProxy's words about a reload lead to a line ([`failed_reload`]), and where a check names
//! nobody, objects are [searched](causes) for. What is found is held back ([`quarantine`]), version by version, until something changes. A
//! review asks which faults a change [`brings`](brought), and which [part](changed_part) of a bundle it can have made invalid.
//!
//! Pure: who renders and who checks is given.

pub mod brought;
pub mod causes;
pub mod changed_part;
pub mod failed_reload;
pub mod faults;
pub mod quarantine;

pub use faults::{Fault, FaultKind, Faults};
