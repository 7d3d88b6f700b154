//! Statuses of the Gateway API, and the Services that Gateways are reached by: what only the leader writes.
//!
//! What is decided about objects comes as verdicts with each bundle. Here it is added what the pods run ([`progress`]) and what is stored
//! already, and the difference is written: [`status`] says how each kind's status should be, [`queue`] which ones are to be looked at,
//! [`work`] looks at them and writes; [`state`] is what is known of all of it. Of routes that are held back [`held`] says what is served in their place,
//! and [`abandoned`] of Gateways that are nobody's any more what is left. [`service`] says how a Gateway's Service should be, [`services`] brings all of them there, to ports that
//! pods are proven to run ([`ports_since`]). Nothing here
//! decides whether a route is accepted.

mod abandoned;
mod conditions;
pub(crate) mod held;
pub(crate) mod kinds;
mod ports_since;
pub(crate) mod progress;
pub(crate) mod queue;
mod references;
pub(crate) mod service;
pub(crate) mod service_api;
mod service_stores;
pub(crate) mod services;
pub(crate) mod state;
pub(crate) mod status;
pub(crate) mod status_api;
#[cfg(test)]
mod tests;
pub(crate) mod work;
mod written;
