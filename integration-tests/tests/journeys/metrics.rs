//! What `/metrics` shows: with ten thousand Ingresses hardly more than with one, and nothing that is not documented.

use integration_tests::{
    Outcome, Scene, ensure,
    eventually::eventually_within,
    manifest,
    network::Apart,
    process::{self, Process},
    program,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path, time::Duration};
use tokio::process::Command;

const INGRESSES: usize = 10_000;
const SERIES: usize = 600;
/// All of it is rendered, checked and started once, by a program that is not optimised.
const WITHIN: Duration = Duration::from_secs(300);
/// What dashboards elsewhere ask for.
const OF_OLD: [&str; 11] = [
    "haptic_reconciliation_total",
    "haptic_reconciliation_errors_total",
    "haptic_reconciliation_duration_seconds",
    "haptic_deployment_total",
    "haptic_deployment_errors_total",
    "haptic_deployment_duration_seconds",
    "haptic_validation_total",
    "haptic_validation_errors_total",
    "haptic_resource_count",
    "haptic_event_subscribers",
    "haptic_events_published_total",
];

pub async fn of_ten_thousand_ingresses(scene: Scene) -> Outcome {
    let network = Apart::make(&scene.dir).await?;
    let (config, manifests) = (scene.dir.join("config.yaml"), scene.dir.join("manifests"));
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/demo/config.yaml"), &config)?;
    fs::create_dir_all(&manifests)?;
    fs::write(manifests.join("all.yaml"), objects()?)?;
    let mut local = network.command();
    local.arg(program::haptic()?).args(["local", "--bind-address", "0.0.0.0", "--state-dir"]);
    local.arg(scene.dir.join("state")).arg("-f").arg(&config).arg("--resources").arg(&manifests);
    let mut local = Process::start(local, &scene.dir.join("local.log"))?;
    let metrics = eventually_within(WITHIN, "all Ingresses are deployed", async || {
        local.ensure_running()?;
        let mut asking = network.command();
        let metrics = process::output(asking.args(["curl", "-sS", "http://127.0.0.1:9090/metrics"])).await?;
        // Each prints its backend and its entries of maps.
        for series in
            ["haptic_resource_count{type=\"ingresses\"}", "haptic_render_blocks_total{result=\"printed\"}"]
        {
            let value = value(&metrics, series);
            ensure(value >= INGRESSES as f64, format!("{series} is {value}"))?;
        }
        ensure(value(&metrics, "haptic_deployment_duration_seconds_count") >= 1.0, "nothing is deployed")?;
        let mut asking = network.command();
        let now =
            process::output(asking.args(["curl", "-sS", "http://127.0.0.1:6060/debug/overview"])).await?;
        let now: Value = serde_json::from_str(&now)?;
        let reached = [&now["rendered"], &now["checked"]].map(|stage| stage["generation"].as_u64());
        let deployed = now["pods"][0]["deployed"].as_u64();
        ensure(deployed.is_some() && reached == [deployed; 2], "not all of it is deployed")?;
        ensure(metrics.contains("haptic_pod_convergence_lag_seconds{pod="), "they are not deployed")?;
        Ok(metrics)
    })
    .await?;
    let series: Vec<&str> =
        metrics.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    ensure(series.len() < SERIES, format!("{} series", series.len()))?;
    ensure(!metrics.contains("shop"), "an object's name is a label")?;
    let documented = documented().await?;
    let shown: BTreeSet<&str> =
        series.iter().filter_map(|line| line.split(['{', ' ']).next()).map(family).collect();
    let others: Vec<_> = shown.iter().filter(|name| !documented.contains(**name)).collect();
    ensure(others.is_empty(), format!("nobody documents {others:?}"))?;
    let missing: Vec<_> = OF_OLD.iter().filter(|name| !shown.contains(**name)).collect();
    ensure(missing.is_empty(), format!("{missing:?} are not there"))
}

/// What `series` shows; 0 when it is not there.
fn value(metrics: &str, series: &str) -> f64 {
    metrics.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok()).unwrap_or_default()
}

/// A histogram is one metric.
fn family(series: &str) -> &str {
    let part = ["_bucket", "_sum", "_count"].iter().find_map(|part| series.strip_suffix(part));
    part.filter(|name| name.ends_with("_seconds")).unwrap_or(series)
}

/// The names in the table from which the documentation is made.
async fn documented() -> Outcome<BTreeSet<String>> {
    let page = process::output(Command::new(program::haptic()?).args(["reference", "metrics"])).await?;
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next().map(str::to_owned));
    Ok(rows.collect())
}

/// One Service behind all of them, each with a host of its own.
fn objects() -> Outcome<String> {
    let in_namespace = |mut object: Value| {
        object["metadata"]["namespace"] = json!("default");
        object.to_string()
    };
    let ingress = |number: usize| {
        let mut ingress =
            manifest::ingress(&format!("shop-{number}"), &format!("shop-{number}.example"), "web");
        // There is no IngressClass.
        ingress["spec"]["ingressClassName"] = Value::Null;
        ingress
    };
    let mut all = vec![
        in_namespace(manifest::service("web")),
        in_namespace(manifest::endpoints("web", &["10.99.0.9".parse()?])),
    ];
    all.extend((0..INGRESSES).map(|number| in_namespace(ingress(number))));
    Ok(all.join("\n---\n"))
}
