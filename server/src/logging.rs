//! Logs: text on a terminal, JSON elsewhere, the level changeable while running.

use actix::Handler;
use haptic_commentator::MessageLevel as Wanted;
use haptic_inspect::terminal;
use haptic_runtime::{OwnHandle, Publisher, Topic, messages::ConfigActivated, topic};
use owo_colors::OwoColorize;
use std::{
    io::IsTerminal,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    fmt::{
        FmtContext, FormatEvent, FormatFields, MakeWriter,
        format::{Format, Json, JsonFields, Writer, debug_fn},
    },
    layer::SubscriberExt,
    registry::LookupSpan,
    reload,
    util::SubscriberInitExt,
};

/// Changes the level of a running process.
#[derive(Clone, Debug)]
pub struct LogLevel {
    handle: reload::Handle<EnvFilter, Registry>,
    levels: Arc<Mutex<Levels>>,
    /// Of a configuration that asks for none.
    of_environment: Wanted,
    forced: Arc<Publisher<Option<Wanted>>>,
}

/// The levels that somebody asks for; the second one counts.
#[derive(Clone, Debug)]
pub struct Levels {
    /// By the configuration.
    pub configured: String,
    /// By somebody at `/debug/log-level`.
    pub forced: Option<Wanted>,
}

/// Starts logging to standard error, at the level of `LOG_LEVEL` until a configuration asks for another one. `RUST_LOG` wins over
/// everything, also later.
#[must_use]
pub fn start() -> LogLevel {
    let asked = std::env::var("LOG_LEVEL").unwrap_or_default();
    let of_environment = level_of(&asked);
    let (filter, handle) = reload::Layer::new(filter(of_environment.name()));
    let registry = tracing_subscriber::registry().with(filter);
    let started = if std::io::stderr().is_terminal() {
        registry.with(human(std::io::stderr)).try_init()
    } else {
        registry.with(json().with_writer(std::io::stderr)).try_init()
    };
    drop(started);
    if !asked.is_empty() && Wanted::parse(&asked).is_none() {
        tracing::warn!(LOG_LEVEL = asked, "LOG_LEVEL is no level; use trace, debug, info, warn or error");
    }
    let levels = Levels { configured: of_environment.name().to_owned(), forced: None };
    LogLevel { handle, levels: Arc::new(Mutex::new(levels)), of_environment, forced: Arc::new(topic(None).0) }
}

/// The level that `LOG_LEVEL` asks for: what is none is as if it said nothing.
fn level_of(variable: &str) -> Wanted {
    Wanted::parse(variable).unwrap_or(Wanted::Info)
}

/// What is said, then what belongs to it. Nothing of it is a command to the terminal.
fn human<S, W>(writer: W) -> impl Layer<S>
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let fields = debug_fn(|line, field, value| {
        let value = terminal::safe(&format!("{value:?}"));
        match field.name() {
            "message" => write!(line, "{value}"),
            // Programs look for it, and read JSON.
            "kind" => Ok(()),
            name => write!(line, " {name}={value}"),
        }
    });
    tracing_subscriber::fmt::layer().event_format(TextLine).fmt_fields(fields).with_writer(writer)
}

/// A line for a person: the time of the day to the second, how bad it is, what it is. Who looks at a terminal knows the date.
struct TextLine;

impl<S, N> FormatEvent<S, N> for TextLine
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let (time, level) =
            (jiff::Zoned::now().strftime("%H:%M:%S"), format!("{:>5}", event.metadata().level()));
        let level = match *event.metadata().level() {
            Level::ERROR if line.has_ansi_escapes() => level.red().to_string(),
            Level::WARN if line.has_ansi_escapes() => level.yellow().to_string(),
            _ => level,
        };
        write!(line, "{time} {level} ")?;
        context.format_fields(line.by_ref(), event)?;
        writeln!(line)
    }
}

/// Events carry what matters themselves; the spans around them would only repeat actors' names.
fn json<S>() -> tracing_subscriber::fmt::Layer<S, JsonFields, Format<Json>> {
    tracing_subscriber::fmt::layer().json().flatten_event(true).with_current_span(false).with_span_list(false)
}

impl LogLevel {
    /// The configured level is this one from now on (`INFO`, `debug`, …); `None`: the environment's.
    pub fn configure(&self, level: Option<&str>) {
        let level = level.unwrap_or(self.of_environment.name()).to_lowercase();
        if std::mem::replace(&mut self.lock().configured, level.clone()) != level {
            tracing::info!(level, "log level changed");
            self.take_effect();
        }
    }

    /// Takes a level into force whatever is configured; `None`: what is configured.
    pub fn force(&self, level: Option<Wanted>) {
        self.lock().forced = level;
        self.forced.publish(level);
        self.take_effect();
        tracing::info!(level = level.map(Wanted::name), "log level forced, or let go");
    }

    /// That of a configuration that asks for none.
    #[must_use]
    pub fn of_environment(&self) -> Wanted {
        self.of_environment
    }

    /// What is configured and what is forced.
    #[must_use]
    pub fn levels(&self) -> Levels {
        self.lock().clone()
    }

    /// What is forced, for those who have levels of their own.
    #[must_use]
    pub fn forced(&self) -> Topic<Option<Wanted>> {
        self.forced.topic()
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

/// Keeps the level at what the active configuration says.
pub struct LogLevelActor {
    own: OwnHandle<Self>,
    log_level: LogLevel,
}

impl LogLevelActor {
    /// The actor of `log_level`.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, log_level: LogLevel) -> Self {
        Self { own, log_level }
    }
}

haptic_runtime::supervised!(LogLevelActor);

impl Handler<ConfigActivated> for LogLevelActor {
    type Result = ();

    fn handle(&mut self, active: ConfigActivated, _: &mut Self::Context) {
        if let Some(config) = &*active {
            self.log_level.configure(config.spec.logging.level.as_deref());
        }
    }
}

/// Our own words at `level`; libraries only when something is wrong, unless everything is asked for. A server that is
/// being stopped logs that it has no workers: that is no news. What the API server refuses, and that it is away, we say
/// ourselves; the client would add an error to each try.
fn filter(level: &str) -> EnvFilter {
    if std::env::var_os("RUST_LOG").is_some_and(|asked| !asked.is_empty())
        && let Ok(filter) = EnvFilter::try_from_default_env()
    {
        return filter;
    }
    let (others, client) = if level == "trace" { ("debug", "error") } else { ("warn", "off") };
    // The names of all our crates begin so.
    EnvFilter::new(format!(
        "{others},actix_server::accept=off,kube_client={client},kube_runtime={client},haptic={level}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_says_the_level_if_it_says_one_and_the_environment_else() {
        for (variable, level) in [("", "info"), ("loud", "info"), ("DEBUG", "debug"), ("error", "error")] {
            assert_eq!(level_of(variable).name(), level);
        }
        let logs = LogLevel { of_environment: Wanted::Warn, ..start() };
        for (configured, level) in [(None, "warn"), (Some("DEBUG"), "debug"), (None, "warn")] {
            logs.configure(configured);
            assert_eq!(logs.levels().configured, level);
        }
    }

    #[test]
    fn each_of_our_crates_logs_at_the_level_and_libraries_only_when_something_is_wrong() {
        let registry = tracing_subscriber::registry().with(filter("info"));
        tracing::subscriber::with_default(registry, || {
            assert!(tracing::enabled!(target: "haptic::process", Level::INFO));
            assert!(tracing::enabled!(target: "haptic_webhook::service", Level::INFO));
            assert!(!tracing::enabled!(target: "haptic_webhook::service", Level::DEBUG));
            assert!(!tracing::enabled!(target: "hyper::client", Level::INFO));
        });
    }

    #[test]
    fn a_line_for_a_person_has_the_time_to_the_second_and_no_module_and_no_command() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let writer = Mutex::new(file.reopen().unwrap());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(human(writer)), || {
            let _within = tracing::error_span!("actor", name = "render").entered();
            tracing::warn!(kind = "Warned", object = "ingresses a/b", "it says \u{1b}[2J {}", 7);
        });
        let line = std::fs::read_to_string(file.path()).unwrap();
        let (time, rest) = line.split_at(8);
        assert!(time.chars().all(|c| c.is_ascii_digit() || c == ':'), "{line}");
        let bare: String = rest.replace("\u{1b}[33m", "").replace("\u{1b}[39m", "");
        assert_eq!(bare, "  WARN it says \\u{1b}[2J 7 object=\"ingresses a/b\"\n");
    }
}
