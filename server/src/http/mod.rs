//! The HTTP servers: health, metrics, debug. Each on a port of its own.

pub mod debug;
pub mod health;
pub mod metrics;
mod serve;
pub mod servers;

pub use serve::{ServeError, serve};
