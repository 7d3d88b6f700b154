//! Spans to a collector over OTLP/gRPC, in batches, by a thread of their own.

use super::Exporter;
use haptic_commentator::{
    metrics::table,
    traces::{AttributeValue, Span},
};
use metrics::counter;
use opentelemetry::{
    InstrumentationScope, KeyValue, SpanId, TraceFlags, TraceId,
    trace::{SpanContext, SpanKind, Status, TraceState},
};
use opentelemetry_otlp::{
    SpanExporter, WithTonicConfig,
    tonic_types::transport::{Certificate, ClientTlsConfig},
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{
        BatchSpanProcessor, Config, SamplingDecision, ShouldSample, SpanData, SpanEvents,
        SpanExporter as Export, SpanLinks, SpanProcessor,
    },
};
use std::{
    env, fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

/// What the service is called unless the environment says otherwise.
const SERVICE: &str = "haptic";

/// The exporter of the environment, or `None`, with a warning, when it asks for what there is not.
pub(super) fn start(endpoint: &str) -> Option<Exporter> {
    let exporter = match exporter(endpoint) {
        Ok(exporter) => Counted { exporter, endpoint: endpoint.to_owned(), failing: AtomicBool::new(false) },
        Err(why) => {
            tracing::warn!(endpoint, "no traces are sent: {why}");
            return None;
        }
    };
    tracing::info!(endpoint, "traces are sent");
    let mut processor = BatchSpanProcessor::builder(exporter).build();
    processor.set_resource(&resource());
    let (processor, sampler) = (Arc::new(processor), Config::default().sampler);
    let scope = InstrumentationScope::builder(SERVICE).with_version(env!("CARGO_PKG_VERSION")).build();
    let sending = processor.clone();
    Some(Exporter {
        sink: Arc::new(move |spans| {
            for span in spans.into_iter().filter(|span| is_sampled(&*sampler, span)) {
                sending.on_end(data(span, &scope));
            }
        }),
        flush: Arc::new(move || {
            if let Err(why) = processor.force_flush() {
                tracing::warn!("the last traces were not sent: {why}");
            }
        }),
    })
}

fn exporter(endpoint: &str) -> Result<SpanExporter, String> {
    for variable in ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"] {
        if let Ok(protocol) = env::var(variable)
            && protocol != "grpc"
        {
            return Err(format!("{variable} is {protocol}; this exporter speaks grpc"));
        }
    }
    let builder = SpanExporter::builder().with_tonic();
    let builder =
        if endpoint.starts_with("https:") { builder.with_tls_config(authorities()?) } else { builder };
    builder.build().map_err(|error| error.to_string())
}

/// Those of the system, or the one in the file that the environment names.
fn authorities() -> Result<ClientTlsConfig, String> {
    let variables = ["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"];
    match variables.iter().find_map(env::var_os) {
        None => Ok(ClientTlsConfig::new().with_native_roots()),
        Some(file) => {
            let pem = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            Ok(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)))
        }
    }
}

/// `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`, and what this is without them.
fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let named = Resource::builder_empty()
        .with_attribute(KeyValue::new("service.name", SERVICE))
        .with_attribute(version)
        .with_detector(Box::new(opentelemetry_sdk::resource::EnvResourceDetector::new()));
    match env::var("OTEL_SERVICE_NAME") {
        Ok(name) if !name.is_empty() => named.with_attribute(KeyValue::new("service.name", name)).build(),
        _ => named.build(),
    }
}

/// All spans of a trace are sampled alike: the decision is its number's.
fn is_sampled(sampler: &dyn ShouldSample, span: &Span) -> bool {
    let trace = TraceId::from(span.trace);
    let result = sampler.should_sample(None, trace, span.name, &SpanKind::Internal, &[], &[]);
    result.decision == SamplingDecision::RecordAndSample
}

fn data(span: Span, scope: &InstrumentationScope) -> SpanData {
    let attribute = |(name, value)| match value {
        AttributeValue::Text(text) => KeyValue::new(name, text),
        AttributeValue::Number(number) => KeyValue::new(name, number),
    };
    let context = SpanContext::new(
        TraceId::from(span.trace),
        SpanId::from(span.id),
        TraceFlags::SAMPLED,
        false,
        TraceState::default(),
    );
    SpanData {
        span_context: context,
        parent_span_id: span.parent.map_or(SpanId::INVALID, SpanId::from),
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: span.name.into(),
        start_time: span.start,
        end_time: span.end,
        attributes: span.attributes.into_iter().map(attribute).collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: span.error.map_or(Status::Unset, Status::error),
        instrumentation_scope: scope.clone(),
    }
}

/// Counts what is sent and what is not, and says once that it cannot be.
#[derive(Debug)]
struct Counted {
    exporter: SpanExporter,
    endpoint: String,
    failing: AtomicBool,
}

impl Export for Counted {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len() as u64;
        let result = self.exporter.export(batch).await;
        let endpoint = &self.endpoint;
        let verdict = if result.is_ok() { "exported" } else { "failed" };
        counter!(table::TRACE_SPANS_TOTAL.name, "result" => verdict).increment(spans);
        match (&result, self.failing.swap(result.is_err(), Relaxed)) {
            (Ok(()), true) => tracing::info!(endpoint, "traces are sent again"),
            (Err(why), false) => {
                tracing::warn!(endpoint, "traces cannot be sent and are dropped until they can: {why}");
            }
            (Ok(()), false) | (Err(_), true) => {}
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
