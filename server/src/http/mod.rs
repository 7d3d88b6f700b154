//! The HTTP servers: health, metrics, debug. Each on a port of its own.

pub mod debug;
pub mod health;
pub mod metrics;
pub mod servers;
mod serve;

pub use serve::{ServeError, serve};
