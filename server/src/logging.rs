//! Logs: text on a terminal, JSON elsewhere, the level changeable while running.

use std::io::IsTerminal;
use tracing_subscriber::{
    EnvFilter, Registry,
    fmt::format::{Format, Json, JsonFields},
    layer::SubscriberExt,
    reload,
    util::SubscriberInitExt,
};

/// Changes the level of a running process.
#[derive(Clone, Debug)]
pub struct LogLevel(reload::Handle<EnvFilter, Registry>);

/// Starts logging to standard error. `RUST_LOG` wins over everything, also later.
#[must_use]
pub fn start() -> LogLevel {
    let (filter, handle) = reload::Layer::new(filter("info"));
    let registry = tracing_subscriber::registry().with(filter);
    let started = if std::io::stderr().is_terminal() {
        registry
            .with(tracing_subscriber::fmt::layer().with_target(false).with_writer(std::io::stderr))
            .try_init()
    } else {
        registry.with(json().with_writer(std::io::stderr)).try_init()
    };
    drop(started);
    LogLevel(handle)
}

/// Events carry what matters themselves; the spans around them would only repeat actors' names.
fn json<S>() -> tracing_subscriber::fmt::Layer<S, JsonFields, Format<Json>> {
    tracing_subscriber::fmt::layer().json().flatten_event(true).with_current_span(false).with_span_list(false)
}

impl LogLevel {
    /// Takes `level` (`INFO`, `debug`, …) into force.
    pub fn set(&self, level: &str) {
        if self.0.reload(filter(&level.to_lowercase())).is_err() {
            tracing::warn!(level, "the log level could not be changed");
        }
    }
}

/// Our own words at `level`; libraries only when something is wrong, unless everything is asked for. A server that is
/// being stopped complains that it has no workers: that is no news; what the API server refuses, we say ourselves.
fn filter(level: &str) -> EnvFilter {
    if let Ok(filter) = EnvFilter::try_from_default_env()
        && std::env::var_os("RUST_LOG").is_some()
    {
        return filter;
    }
    let others = if level == "trace" { "debug" } else { "warn" };
    EnvFilter::new(format!(
        "{others},actix_server::accept=off,kube_client=error,kube_runtime=error,haptic={level},haptic_agent={level},haptic_commentator={level},haptic_config={level},\
         haptic_debounce={level},haptic_deploy={level},haptic_leader={level},haptic_render={level},\
         haptic_runtime={level},haptic_validate={level},haptic_watch={level}"
    ))
}
