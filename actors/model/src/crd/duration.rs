//! Durations as users write them: `5ms`, `2s`, `1m30s`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

/// A span of time written like `15s` or `1m30s`.
///
/// An unreadable one is kept as written, so that validation reports it together with everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Interval {
    text: String,
    duration: Option<Duration>,
}

impl Interval {
    /// As a duration.
    ///
    /// # Errors
    /// A sentence that shows what was written and how it is written right.
    pub fn duration(&self) -> Result<Duration, String> {
        self.duration.ok_or_else(|| format!("{:?} is not a duration like 500ms, 15s or 1m30s", self.text))
    }

    /// As a duration, in a configuration that was accepted: all that it has are readable. An unreadable one is zero.
    #[must_use]
    pub fn get(&self) -> Duration {
        self.duration.unwrap_or_default()
    }

    /// As written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<String> for Interval {
    fn from(text: String) -> Self {
        let duration = jiff::SignedDuration::from_str(&text).ok();
        let duration = duration.and_then(|duration| Duration::try_from(duration).ok());
        Self { text, duration }
    }
}

impl From<&str> for Interval {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Interval> for String {
    fn from(interval: Interval) -> Self {
        interval.text
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl JsonSchema for Interval {
    fn schema_name() -> Cow<'static, str> {
        "Interval".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubernetes_style_durations_are_read() {
        let read = |s: &str| Interval::from(s).duration();
        assert_eq!(read("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(read("1m30s"), Ok(Duration::from_secs(90)));
        assert!(read("soon").unwrap_err().contains("soon"));
        assert!(read("-1s").is_err());
    }

    #[test]
    fn one_is_written_as_it_was_read() {
        for (text, duration) in
            [("60s", Duration::from_secs(60)), ("1m", Duration::from_secs(60)), ("soon", Duration::ZERO)]
        {
            let written = format!("{text:?}");
            let interval: Interval = serde_json::from_str(&written).unwrap();
            assert_eq!((interval.get(), serde_json::to_string(&interval).unwrap()), (duration, written));
        }
    }
}
