//! The agent: the process beside one HAProxy that owns its files, its reloads and its runtime sockets.
//!
//! A controller sends whole orders ([`haptic_model::agent_api::Apply`]); the agent brings HAProxy there, reads back what
//! HAProxy then runs, and keeps what runs and what is on disk the same. It writes only below its folder, runs only the
//! HAProxy it was told to run, and sends HAProxy only commands it made itself from [`haptic_model::Operation`]s.
//!
//! [`Agent::start`] gives a [`RunningAgent`] that can be used in-process; with an address to listen on, [`http`] serves the
//! same functions.

mod agent;
mod answer;
mod apply;
mod bundles;
mod certificate;
mod channel;
pub mod command;
mod comparison;
mod connection;
mod credentials;
mod drift;
mod folder;
pub mod http;
mod keep;
mod ledger;
mod live;
mod metrics;
mod operate;
mod options;
mod process;
mod question;
mod readback;
mod readback_files;
mod removals;
pub mod request;
mod step;
mod target;
mod tls;
mod watch;

pub use agent::{Agent, AgentHandle, RunningAgent};
pub use credentials::CredentialsSource;
pub use metrics::metric_families;
pub use options::{AgentError, AgentOptions, HaproxyMode, TlsSource};
