//! What the configuration says of the commentary, read anew for each event, so a change is live.

use haptic_model::ActiveConfig;

use crate::event_log::MessageLevel;

/// No more events are kept, whatever the configuration asks for: a hundred megabytes of sentences help nobody.
const MOST_KEPT: usize = 100_000;

/// The commentary's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObserverSettings {
    /// Whether lines are logged; the history is kept either way.
    pub enabled: bool,
    /// Events kept in the history.
    pub buffer_size: usize,
    /// The least important level that is logged.
    pub level: MessageLevel,
    /// Whether the whole log is at TRACE: then everything is, figures among it.
    pub traced: bool,
}

impl Default for ObserverSettings {
    fn default() -> Self {
        Self { enabled: true, buffer_size: 1000, level: MessageLevel::Info, traced: false }
    }
}

impl ObserverSettings {
    /// Those of `config`; the defaults while there is none, and for a level that is none.
    #[must_use]
    pub fn of(config: Option<&ActiveConfig>) -> Self {
        let default = Self::default();
        config.map_or(default, |config| {
            let spec = &config.spec.controller.event_commentator;
            let level = MessageLevel::parse(&spec.log_level).unwrap_or(default.level);
            let level_of_log = config.spec.logging.level.as_deref().and_then(MessageLevel::parse);
            let traced = level_of_log == Some(MessageLevel::Trace);
            Self { enabled: spec.enabled, buffer_size: spec.buffer_size.min(MOST_KEPT), level, traced }
        })
    }
}
