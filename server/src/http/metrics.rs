//! `/metrics` in Prometheus' text format.

use actix_web::{HttpResponse, web};
use haptic_deploy::PodStates;
use haptic_runtime::{CellReader, Events};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::time::Duration;

/// Buckets from a runtime change (milliseconds) to a full render and check of a large configuration (seconds).
const SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// How often histograms are folded; without it they grow for ever.
const UPKEEP: Duration = Duration::from_secs(5);

/// Starts recording. Call it once, within a tokio runtime.
///
/// # Errors
/// When a recorder is installed already.
pub fn install() -> Result<PrometheusHandle, String> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)
        .map_err(|e| e.to_string())?;
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
    /// What is known of each pod.
    pub pods: CellReader<PodStates>,
}

/// The one path.
pub fn routes(scraped: Scraped) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |service| {
        service.app_data(web::Data::new(scraped.clone())).route("/metrics", web::get().to(metrics));
    }
}

async fn metrics(scraped: web::Data<Scraped>) -> HttpResponse {
    haptic_commentator::metrics::record_outbox(&scraped.events);
    let pods = scraped.pods.read();
    let lags = pods.iter().filter_map(|(pod, state)| Some((pod.to_string(), state.lag?)));
    let lags = haptic_commentator::metrics::pod_lags(lags);
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(scraped.recorded.render() + &lags)
}
