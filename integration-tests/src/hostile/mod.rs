//! Hostile tenants: what they can write, the worst of it, and what it does to two others on the same HAProxy.
//!
//! [`tenant`] has everything that the API knows, and puts a payload into any of its texts. [`worst`] has the worst objects
//! that an API server takes, each a [`Case`]; [`random`] makes more of them by a seed. An [`Arena`] runs a controller with
//! its HAProxy and the tenants alpha and beta, and [`trial`] says what a case does to them.

mod admission;
mod arena;
mod case;
mod innocents;
pub mod memory;
mod pem;
pub mod random;
mod suite;
mod tenant;
mod texts;
pub mod trial;
mod witness;
pub mod worst;

pub use admission::refusal;
pub use arena::{Arena, Options, around};
pub use case::{Around, Ask, Case, Mallory};
pub use suite::Suite;
pub use tenant::{Field, Payload, Tenant, options, payloads};
pub use trial::{Bounds, Trial};
