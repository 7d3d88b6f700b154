//! Durations as users write them: `5ms`, `2s`, `1m30s`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

/// A span of time written like `15s` or `1m30s`.
///
/// An unreadable one is kept as written, so that validation reports it together with everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Interval(String);

impl Interval {
    /// As a duration.
    ///
    /// # Errors
    /// A sentence that shows what was written and how it is written right.
    pub fn duration(&self) -> Result<Duration, String> {
        let parsed = jiff::SignedDuration::from_str(&self.0).ok().and_then(|d| Duration::try_from(d).ok());
        parsed.ok_or_else(|| format!("{:?} is not a duration like 500ms, 15s or 1m30s", self.0))
    }

    /// As a duration, or `fallback` for one that validation should have refused.
    #[must_use]
    pub fn or(&self, fallback: Duration) -> Duration {
        self.duration().unwrap_or(fallback)
    }

    /// As written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Interval {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
}
