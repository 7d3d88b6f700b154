//! What the configuration says of the commentary, read anew for each event, so a change is live.

use haptic_model::ActiveConfig;

use crate::event_log::MessageLevel;

/// No more events are kept, whatever the configuration asks for: a hundred megabytes of sentences help nobody.
const MOST_KEPT: usize = 100_000;

/// The commentary's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObserverSettings {
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
    /// Those of `config`; the defaults while there is none, and for a level that is none. The level of the whole log is
    /// `of_environment` until the configuration has one.
    #[must_use]
    pub fn of(config: Option<&ActiveConfig>, of_environment: MessageLevel) -> Self {
        let is_traced = |level| level == MessageLevel::Trace;
        let default = Self { traced: is_traced(of_environment), ..Self::default() };
        config.map_or(default, |config| {
            let spec = &config.spec.controller.event_commentator;
            let level = MessageLevel::parse(&spec.log_level).unwrap_or(default.level);
            let level_of_log = config.spec.logging.level.as_deref().and_then(MessageLevel::parse);
            let traced = is_traced(level_of_log.unwrap_or(of_environment));
            Self { enabled: spec.enabled, buffer_size: spec.buffer_size.min(MOST_KEPT), level, traced }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_logged_where_the_environment_asks_for_it_and_the_configuration_for_nothing() {
        let config = |level: Option<&str>| {
            let spec = serde_json::json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {}},
                "logging": level.map_or_else(|| serde_json::json!({}), |level| serde_json::json!({"level": level}))});
            ActiveConfig::of("edge", "haptic", serde_json::from_value(spec).unwrap())
        };
        let traced = |level: Option<&str>, of_environment| {
            ObserverSettings::of(Some(&config(level)), of_environment).traced
        };
        assert!(traced(None, MessageLevel::Trace) && traced(Some("TRACE"), MessageLevel::Info));
        assert!(!traced(None, MessageLevel::Debug) && !traced(Some("INFO"), MessageLevel::Trace));
        assert!(ObserverSettings::of(None, MessageLevel::Trace).traced);
    }
}
