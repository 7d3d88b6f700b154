//! The HTTP servers: health, metrics, debug, and the webhook's listener. Each on a port of its own.

pub mod debug;
pub mod health;
pub mod metrics;
mod serve;
pub mod servers;
