//! Logs: text on a terminal, JSON elsewhere, the level changeable while running.

use haptic_commentator::Level;
use haptic_runtime::{CellReader, CellWriter, cell};
use std::{
    io::IsTerminal,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tracing_subscriber::{
    EnvFilter, Registry,
    fmt::format::{Format, Json, JsonFields},
    layer::SubscriberExt,
    reload,
    util::SubscriberInitExt,
};

/// Changes the level of a running process.
#[derive(Clone, Debug)]
pub struct LogLevel {
    handle: reload::Handle<EnvFilter, Registry>,
    levels: Arc<Mutex<Levels>>,
    forced: Arc<CellWriter<Option<Level>>>,
}

/// The levels that somebody asks for; the second one counts.
#[derive(Clone, Debug)]
pub struct Levels {
    /// By the configuration.
    pub configured: String,
    /// By somebody at `/debug/log-level`.
    pub forced: Option<Level>,
}

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
    let levels = Levels { configured: "info".to_owned(), forced: None };
    LogLevel { handle, levels: Arc::new(Mutex::new(levels)), forced: Arc::new(cell(None).0) }
}

/// Events carry what matters themselves; the spans around them would only repeat actors' names.
fn json<S>() -> tracing_subscriber::fmt::Layer<S, JsonFields, Format<Json>> {
    tracing_subscriber::fmt::layer().json().flatten_event(true).with_current_span(false).with_span_list(false)
}

impl LogLevel {
    /// The configured level is this one from now on (`INFO`, `debug`, …).
    pub fn configure(&self, level: &str) {
        let level = level.to_lowercase();
        if std::mem::replace(&mut self.lock().configured, level.clone()) != level {
            tracing::info!(level, "log level changed");
            self.take_effect();
        }
    }

    /// Takes a level into force whatever is configured; `None`: what is configured.
    pub fn force(&self, level: Option<Level>) {
        self.lock().forced = level;
        self.forced.publish(level);
        self.take_effect();
        tracing::info!(level = level.map(Level::name), "log level forced, or let go");
    }

    /// What is configured and what is forced.
    #[must_use]
    pub fn levels(&self) -> Levels {
        self.lock().clone()
    }

    /// What is forced, for those who have levels of their own.
    #[must_use]
    pub fn forced(&self) -> CellReader<Option<Level>> {
        self.forced.reader()
    }

    fn take_effect(&self) {
        let Levels { configured, forced } = self.levels();
        let level = forced.map_or(configured.as_str(), |forced| forced.name());
        if self.handle.reload(filter(level)).is_err() {
            tracing::warn!(level, "the log level could not be changed");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Levels> {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Our own words at `level`; libraries only when something is wrong, unless everything is asked for. A server that is
/// being stopped complains that it has no workers: that is no news. What the API server refuses, and that it is away, we say
/// ourselves; the client would add an error to each try.
fn filter(level: &str) -> EnvFilter {
    if let Ok(filter) = EnvFilter::try_from_default_env()
        && std::env::var_os("RUST_LOG").is_some()
    {
        return filter;
    }
    let (others, client) = if level == "trace" { ("debug", "error") } else { ("warn", "off") };
    EnvFilter::new(format!(
        "{others},actix_server::accept=off,kube_client={client},kube_runtime={client},haptic={level},haptic_agent={level},haptic_commentator={level},haptic_config={level},\
         haptic_debounce={level},haptic_deploy={level},haptic_leader={level},haptic_render={level},\
         haptic_runtime={level},haptic_validate={level},haptic_watch={level}"
    ))
}
