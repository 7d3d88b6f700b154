//! Ingresses that try to break out beside good ones: whether the good ones feel it, and whether each of the others is named.

use crate::{
    dataset::Dataset,
    figures::Scope,
    progress::say,
    series::Timing,
    site::Site,
    statistics::{milliseconds, percentile},
};
use integration_tests::{Outcome, ensure, eventually, manifest};
use serde_json::{Value, json};
use std::time::Duration;

/// So many of them.
const HOSTILE: usize = 100;
/// What they try, each with one annotation of the libraries.
const ATTEMPTS: [(&str, &str); 4] = [
    ("timeout-server", "5s\n  http-request return status 200"),
    ("rate-limit", "lots"),
    ("max-body-size", "1m }\n  use_backend other"),
    ("balance", "roundrobin\nbackend evil"),
];

/// Measures `count` endpoint changes and new routes without hostile Ingresses and with them, one after the other.
pub async fn measure(site: &Site<'_>, (changes, routes): (usize, usize), into: &mut Scope<'_>) -> Outcome {
    let newcomers: Vec<_> = site.dataset.newcomers().skip(routes).take(2 * routes).collect();
    let (first, second) = newcomers.split_at(newcomers.len() / 2);
    let calm = site.endpoint_changes(changes).await?;
    let calm_routes = site.new_routes(first.iter().copied()).await?;
    site.objects.create_all(hostile(site.dataset)).await?;
    eventually(format!("{HOSTILE} hostile Ingresses are named, each with its reason"), async || {
        let quarantine = site.look("/debug/quarantine").await?;
        let objects = quarantine["objects"].as_array().into_iter().flatten();
        let named = objects.filter(|held| {
            let is_hostile = held["object"].as_str().is_some_and(|object| object.contains("/hostile-"));
            is_hostile
                && held["sentence"].as_str().is_some_and(|sentence| sentence.contains("haproxy-haptic.org/"))
        });
        let named = named.count();
        ensure(named == HOSTILE, format!("{named} are"))
    })
    .await?;
    let among = site.endpoint_changes(changes).await?;
    let among_routes = site.new_routes(second.iter().copied()).await?;
    tell("endpoint_change", &calm, &among, into);
    tell("new_route", &calm_routes, &among_routes, into);
    Ok(())
}

fn tell(name: &str, calm: &[Timing], among: &[Timing], into: &mut Scope<'_>) {
    let median = |timings: &[Timing]| {
        let live: Vec<Duration> = timings.iter().map(Timing::live).collect();
        percentile(&live, 50).map_or(0.0, milliseconds)
    };
    let (calm, among) = (median(calm), median(among));
    let mut scope = into.within(name);
    scope.add("calm_p50_ms", calm);
    scope.add("among_hostile_p50_ms", among);
    scope.add("hostile_ratio", among / calm.max(0.001));
    say(&format!("{name}: p50 {calm:.1} ms, {among:.1} ms among {HOSTILE} hostile Ingresses"));
}

fn hostile(dataset: Dataset) -> impl Iterator<Item = Value> {
    let service = dataset.last().name();
    (0..HOSTILE).zip(ATTEMPTS.iter().cycle()).map(move |(number, (annotation, value))| {
        let name = format!("hostile-{number}");
        let mut ingress = manifest::ingress(&name, &format!("{name}.example"), &service);
        ingress["metadata"]["annotations"] = json!({ format!("haproxy-haptic.org/{annotation}"): value });
        ingress
    })
}
