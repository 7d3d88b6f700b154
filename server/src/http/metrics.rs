//! `/metrics` in Prometheus' text format.

use actix_web::{HttpResponse, web};
use haptic_commentator::metrics::{Kind, METRICS, Metric};
use haptic_deploy::PodStates;
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
}

/// The one path.
pub fn routes(scraped: Scraped) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |service| {
        service.app_data(web::Data::new(scraped.clone())).route("/metrics", web::get().to(metrics));
    }
}

async fn metrics(scraped: web::Data<Scraped>) -> HttpResponse {
    let pods = scraped.pods.read();
    haptic_commentator::metrics::record_now(&scraped.events, &scraped.actors.actors(), pods.len());
    let lags = pods.iter().filter_map(|(pod, state)| Some((pod.to_string(), state.lag?)));
    let lags = haptic_commentator::metrics::pod_lags(lags);
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(scraped.recorded.render() + &lags)
}
