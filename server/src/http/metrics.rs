//! `/metrics` in Prometheus' text format.

use actix_web::{HttpResponse, web};
use haptic_commentator::metrics::{Kind, METRICS, Metric, Now, pod_lags, record_now, store_sizes};
use haptic_deploy::PodStates;
use haptic_model::{Quarantine, Snapshots, pipeline::Leadership};
use haptic_runtime::{CellReader, Events, Health};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::time::Duration;

/// How often histograms are folded; without it they grow for ever.
const UPKEEP: Duration = Duration::from_secs(5);

/// Starts recording. Call it once, within a tokio runtime.
///
/// # Errors
/// When a recorder is installed already.
pub fn install() -> Result<PrometheusHandle, String> {
    let mut builder = PrometheusBuilder::new();
    for Metric { name, kind, .. } in METRICS {
        if let Kind::Histogram(bounds) = kind {
            let name = Matcher::Full((*name).to_owned());
            builder = builder.set_buckets_for_metric(name, bounds).map_err(|e| e.to_string())?;
        }
    }
    let handle = builder.install_recorder().map_err(|e| e.to_string())?;
    let upkept = handle.clone();
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(UPKEEP);
        loop {
            ticks.tick().await;
            upkept.run_upkeep();
        }
    });
    Ok(handle)
}

/// What is scraped.
#[derive(Clone, Debug)]
pub struct Scraped {
    /// All metrics recorded.
    pub recorded: PrometheusHandle,
    /// The outbox, whose counters are read at each scrape.
    pub events: Events,
    /// Actors, whose queues are.
    pub actors: Health,
    /// What is known of each pod.
    pub pods: CellReader<PodStates>,
    /// All stores.
    pub snapshots: CellReader<Snapshots>,
    /// Whether this process leads.
    pub leadership: CellReader<Leadership>,
    /// What is held back.
    pub quarantine: CellReader<Quarantine>,
}

/// The one path.
pub fn routes(scraped: Scraped) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |service| {
        service
            .app_data(web::Data::new(scraped.clone()))
            .route("/metrics", web::get().to(metrics))
            .route("/", web::get().to(|| async { "Here is /metrics.\n" }));
    }
}

async fn metrics(scraped: web::Data<Scraped>) -> HttpResponse {
    let pods = scraped.pods.read();
    record_now(&Now {
        events: &scraped.events,
        actors: &scraped.actors.actors(),
        leads: scraped.leadership.read().leads,
        held_back: scraped.quarantine.read().held.len(),
    });
    let lags = pods.iter().filter_map(|(pod, state)| Some((pod.to_string(), state.lag?)));
    let snapshots = scraped.snapshots.read();
    let stores = snapshots.iter().map(|(name, snapshot)| (name.to_string(), snapshot.len()));
    let sizes = store_sizes(stores.chain([("haproxy-pods".to_owned(), pods.len())]));
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4")
        .body(scraped.recorded.render() + &pod_lags(lags) + &sizes)
}
