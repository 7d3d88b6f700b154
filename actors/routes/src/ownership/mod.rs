//! The ownership of requests, hosts, certificates, and TLS that is passed through.
//!
//! All claims of one kind of object are in one [`index`]. Of those that ask for one thing a [`contest`] decides, with what is
//! [remembered](memory) of former holders, and the operator's word for hosts ([`owners`]).

pub(crate) mod asked;
pub mod contest;
pub(crate) mod hosts;
pub mod index;
pub mod memory;
pub mod owners;
pub(crate) mod passthrough;
pub(crate) mod separate_hosts;
