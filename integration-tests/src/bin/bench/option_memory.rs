//! What a controller has resident for Ingresses with ten options each, beside as many that have none.

use crate::{dataset::Dataset, figures::Scope, namespace::Namespace, progress::say};
use integration_tests::{Outcome, cluster::Cluster, network::Block};
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};

/// Nine that are the same for all; the tenth is each one's own.
const OPTIONS: [(&str, &str); 9] = [
    ("allow-from", "10.0.0.0/8, 127.0.0.0/8"),
    ("balance", "leastconn"),
    ("cors-max-age", "600"),
    ("max-body-size", "8m"),
    ("max-connections", "100"),
    ("retry", "idempotent"),
    ("timeout-connect", "2s"),
    ("timeout-queue", "10s"),
    ("timeout-server", "30s"),
];
const OWN: &str = "cors-allow-origin";

/// Measures both.
pub async fn measure(
    cluster: &Arc<Cluster>,
    dataset: Dataset,
    [of_plain, of_annotated]: [Block; 2],
    dir: &Path,
    into: &mut Scope<'_>,
) -> Outcome {
    let plain = Namespace::new(cluster, ("plain", of_plain), dataset, dir).await?;
    let configuration = plain.scene.configuration()?.manifest;
    let plain = plain.filled(dataset.manifests(), &configuration).await?;
    let without = plain.resident(&mut into.within("without")).await?;

    let annotated = Namespace::new(cluster, ("annotated", of_annotated), dataset, dir).await?;
    let configuration = annotated.scene.configuration()?.manifest;
    let annotated = annotated.filled(dataset.manifests().map(with_options), &configuration).await?;
    let with = annotated.resident(&mut into.within("with")).await?;
    let ratio = with / without.max(1.0);
    say(&format!("ten options each: {with:.0} MB, without {without:.0} MB: {ratio:.2} times"));
    into.add("ratio", ratio);
    Ok(())
}

/// An Ingress with ten options; other objects as they are.
fn with_options(mut manifest: Value) -> Value {
    if manifest["kind"] == "Ingress" {
        let own =
            format!("https://app.{}", manifest["spec"]["rules"][0]["host"].as_str().unwrap_or_default());
        let annotations = &mut manifest["metadata"]["annotations"];
        for (option, value) in OPTIONS {
            annotations[format!("haproxy-haptic.org/{option}")] = json!(value);
        }
        annotations[format!("haproxy-haptic.org/{OWN}")] = json!(own);
    }
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_routes::options::table::row;

    #[test]
    fn an_ingress_has_ten_options_that_there_are() {
        let all = Dataset { ingresses: 1, later: 0 }.manifests().map(with_options);
        let annotated: Vec<Value> = all.filter(|manifest| manifest["kind"] == "Ingress").collect();
        let annotations = annotated[0]["metadata"]["annotations"].as_object().unwrap();
        assert_eq!(annotations.len(), 10);
        assert_eq!(annotations["haproxy-haptic.org/cors-allow-origin"], "https://app.host-0.site-0.example");
        for name in annotations.keys() {
            assert!(row(name.strip_prefix("haproxy-haptic.org/").unwrap()).is_some(), "{name}");
        }
    }
}
