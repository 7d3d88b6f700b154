//! `/metrics` in Prometheus' text format.

use actix_web::{HttpResponse, web};
use haptic_commentator::metrics::{METRICS, Metric, MetricType, Now, pod_lags, record_now, store_sizes};
use haptic_inspect::Readers;
use haptic_runtime::Events;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Starts recording. Call it once.
///
/// # Errors
/// When a recorder is installed already.
pub fn install() -> Result<PrometheusHandle, String> {
    let mut builder = PrometheusBuilder::new();
    for Metric { name, kind, .. } in METRICS {
        if let MetricType::Histogram(bounds) = kind {
            let name = Matcher::Full((*name).to_owned());
            builder = builder.set_buckets_for_metric(name, bounds).map_err(|e| e.to_string())?;
        }
    }
    builder.install_recorder().map_err(|e| e.to_string())
}

#[derive(Clone, Debug)]
pub struct Scraped {
    pub recorded: PrometheusHandle,
    /// The outbox, whose counters are read at each scrape.
    pub events: Events,
    /// Actors, pods, stores and the quarantine, as they are at each scrape.
    pub readers: Readers,
}

pub fn routes(scraped: Scraped) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |service| {
        service
            .app_data(web::Data::new(scraped.clone()))
            .route("/metrics", web::get().to(metrics))
            .route("/", web::get().to(|| async { "Here is /metrics.\n" }));
    }
}

async fn metrics(scraped: web::Data<Scraped>) -> HttpResponse {
    let readers = &scraped.readers;
    let pods = readers.pods.latest();
    let findings = readers.findings();
    record_now(&Now {
        events: &scraped.events,
        actors: &readers.actors.actors(),
        leads: readers.leadership.latest().leads,
        held_back: readers.quarantine.latest().held.len(),
        findings: &findings,
    });
    let lags = pods.iter().filter_map(|(pod, state)| Some((pod.to_string(), state.lag?)));
    let snapshots = readers.snapshots.latest();
    let stores = snapshots.iter().map(|(name, snapshot)| (name.to_string(), snapshot.len()));
    let sizes = store_sizes(stores.chain([("haproxy-pods".to_owned(), pods.len())]));
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4")
        .body(scraped.recorded.render() + &pod_lags(lags) + &sizes)
}
