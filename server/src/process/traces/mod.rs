//! Traces for an OpenTelemetry collector, when the environment names one.
//!
//! `OTEL_EXPORTER_OTLP_ENDPOINT` turns them on; the other variables of OpenTelemetry say how. A collector that is slow or away
//! costs spans, which are counted, and nothing else.

#[cfg(feature = "otlp")]
mod otlp;

use haptic_commentator::SpanSink;
use std::{env, sync::Arc};

/// Where a collector is named; the first one counts.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// A way to a collector.
#[derive(Clone)]
pub struct Exporter {
    /// Takes finished spans, and never waits.
    pub sink: SpanSink,
    flush: Arc<dyn Fn() + Send + Sync>,
}

impl Exporter {
    /// Sends what is left, for as long as the exporter's timeouts say.
    pub async fn flush(self) {
        // A panic there ends no more than the sending.
        drop(tokio::task::spawn_blocking(move || (self.flush)()).await);
    }
}

/// The way to the collector that the environment names, if it names one. Call it within a tokio runtime.
#[must_use]
pub fn start() -> Option<Exporter> {
    let endpoint = ENDPOINTS.iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))?;
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return None;
    }
    #[cfg(feature = "otlp")]
    return otlp::start(&endpoint);
    #[cfg(not(feature = "otlp"))]
    {
        tracing::warn!(
            endpoint,
            "this haptic was built without traces (cargo feature `otlp`): none are sent"
        );
        None
    }
}

fn is(variable: &str, wanted: &str) -> bool {
    env::var(variable).is_ok_and(|value| value.eq_ignore_ascii_case(wanted))
}
