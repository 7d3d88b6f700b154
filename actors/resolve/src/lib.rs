//! Resolves the names of Services of type ExternalName, so that what they lead to can be judged and be servers like any
//! others: HAProxy's own resolver would connect to whatever a name says.
//!
//! [`wanted`] says which names, [`table`] what is known of them and for how long, [`dns`] asks, [`resolution`] says
//! what is asked for and published when. Whether an address may be a server is not decided here.

pub mod actor;
pub mod dns;
pub mod resolution;
pub mod table;
pub mod wanted;

pub use actor::{ResolveActor, ResolveOptions};
pub use dns::Dns;
pub use resolution::{ResolvedNames, once};
