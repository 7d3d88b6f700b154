//! The agent: the process beside one HAProxy that owns its files, its reloads and its runtime sockets.
//!
//! A controller sends whole orders ([`haptic_model::agent_api::Apply`]); the agent brings HAProxy there, reads back what
//! HAProxy then runs, and keeps what runs and what is on disk the same. It writes only below its folder, runs only the
//! HAProxy it was told to run, and sends HAProxy only commands it made itself from [`haptic_model::Operation`]s.
//!
//! [`Agent::start`] gives a [`RunningAgent`] that can be used in-process; with an address to listen on, the same
//! functions are served over HTTP.

mod agent;
mod api;
mod disk;
mod haproxy;
mod metrics;
pub mod ops;
mod options;
mod running;

pub use agent::{Agent, RunningAgent};
pub use api::handle::AgentHandle;
pub use disk::request;
pub use metrics::metric_families;
pub use options::{AgentError, AgentOptions, CredentialsSource, HaproxyMode, TlsSource, given_in_env};
