//! What the chart says twice, or after somebody else, is the same.

use integration_tests::{
    Outcome, chart, ensure, markdown, process,
    program::{self, Helm},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path};
use tokio::process::Command;

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path.as_ref()).unwrap_or_else(|e| panic!("{}: {e}", path.as_ref().display()))
}

#[tokio::test]
async fn the_definition_is_what_haptic_prints() -> Outcome {
    let printed = process::output(Command::new(program::haptic()?).arg("crd")).await?;
    let file = chart::folder().join("crds/haproxytemplateconfig.yaml");
    ensure(read(&file) == printed, format!("{} is another one: `haptic crd > {0}`", file.display()))
}

#[test]
fn chart_and_programs_have_one_version() {
    let chart: Value = serde_saphyr::from_str(&read(chart::folder().join("Chart.yaml"))).unwrap();
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn helm_finds_nothing_to_complain_about() -> Outcome {
    let dir = tempfile::tempdir()?;
    for helm in [Helm::V3, Helm::V4] {
        let mut lint = chart::command(helm, dir.path())?;
        process::output(lint.args(["lint", "--strict"]).arg(chart::folder())).await?;
    }
    Ok(())
}

/// A pod that ends at once refuses connections that are still sent to it.
#[tokio::test]
async fn haproxy_pods_made_without_the_chart_end_as_gently_as_its_own() -> Outcome {
    let objects = crate::render(&crate::steady()).await?;
    let by_chart = chart::the(&objects, "Deployment", "-haproxy")?;
    let by_hand: Value = serde_saphyr::from_str(&markdown::read("fixtures/first/haproxy.yaml"))?;
    let lifecycle = |pods: &Value| pods["spec"]["template"]["spec"]["containers"][0]["lifecycle"].clone();
    assert!(lifecycle(by_chart)["preStop"].is_object());
    assert_eq!(lifecycle(&by_hand), lifecycle(by_chart));
    Ok(())
}

/// Every name of a metric in `text`.
fn metrics_in(text: &str, prefix: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(prefix)).map(str::to_owned).collect()
}

#[tokio::test]
async fn alerts_and_dashboard_ask_for_metrics_that_exist() -> Outcome {
    let table = process::output(Command::new(program::haptic()?).args(["reference", "metrics"])).await?;
    let known = metrics_in(&table, "haptic_");
    let whole = |name: &String| {
        let parts = ["_bucket", "_sum", "_count"].iter().filter_map(|part| name.strip_suffix(part));
        known.contains(name) || parts.into_iter().any(|histogram| known.contains(histogram))
    };
    let values = json!({ "monitoring": { "rules": { "enabled": true }, "dashboard": { "enabled": true } } });
    let objects = crate::render(&chart::merged(crate::steady(), &values)).await?;
    let rules = chart::the(&objects, "PrometheusRule", "haptic")?["spec"].to_string();
    let dashboard = chart::the(&objects, "ConfigMap", "-dashboard")?["data"]["haptic.json"].clone();
    let dashboard: Value = serde_json::from_str(dashboard.as_str().unwrap())?;
    let asked: BTreeSet<String> = [rules, dashboard["panels"].to_string()]
        .iter()
        .flat_map(|text| metrics_in(text, "haptic_"))
        .collect();
    ensure(asked.len() >= 15, format!("only {asked:?}"))?;
    let missing: Vec<&String> = asked.iter().filter(|name| !whole(name)).collect();
    ensure(missing.is_empty(), format!("there are no {missing:?}"))
}
