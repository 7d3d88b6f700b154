//! How the webhook comes by its path and certificate, and how the API server learns of both.
//!
//! The leader makes them ([`authority`]), keeps them in a Secret ([`kept`]) and renews them in time ([`renewal`]); every replica
//! reads that Secret. The leader alone writes them into the ValidatingWebhookConfiguration ([`registration`]). What decides is
//! pure; [`keeper`] reads, writes and waits.

pub mod authority;
pub mod given;
pub mod keeper;
pub mod kept;
pub mod objects;
pub mod paths;
pub mod registration;
pub mod renewal;
