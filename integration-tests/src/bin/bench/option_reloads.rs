//! Options that docs mark as without a reload, set on one Ingress among all and taken off, one after the other: how many reloads that takes.

use crate::{
    dataset::{Dataset, PORT, Secured},
    figures::Scope,
    namespace::Namespace,
    progress::say,
    site::Site,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_routes::options::{
    level::Level,
    table::{Reload, Row, TABLE, With, row},
};
use integration_tests::{Outcome, certificate::Authority, cluster::Cluster, manifest, network::Block};
use serde_json::{Map, Value, json};
use std::{path::Path, sync::Arc};

/// Whom examples name: others beside the Service of the Ingress.
const SERVICES: [&str; 2] = ["shop-v2", "errors"];

/// Measures all of them.
pub async fn measure(
    cluster: &Arc<Cluster>,
    dataset: Dataset,
    block: Block,
    dir: &Path,
    into: &mut Scope<'_>,
) -> Outcome {
    let namespace = Namespace::new(cluster, ("options", block), dataset, dir).await?;
    let mut configuration = namespace.scene.configuration()?.manifest;
    // No change waits for its turn: it would take its reload while another one is measured.
    configuration["spec"]["templatingSettings"]["extraContext"]["reloadsPerMinute"] =
        json!({ "object": 1_000_000, "namespace": 1_000_000 });
    let Some(secured) = dataset.secured(1).next() else { return Ok(()) };
    let named = [named(block)?, vec![secured.secret()?.1, secured.ingress()]].concat();
    let namespace = namespace.filled(dataset.manifests().chain(named), &configuration).await?;
    let running = namespace.start(&[]).await?;
    let site = running.site(&namespace);
    site.come_to_rest(running.started, into).await?;
    let (mut free, mut all, mut reloads) = (0, 0, 0);
    for option in without_reload() {
        let taken = reloads_of(&site, secured, option).await?;
        all += 1;
        free += u64::from(taken == 0);
        reloads += taken;
    }
    say(&format!("options without a reload: {free} of {all}, {reloads} reloads"));
    into.count("options", all);
    into.count("without_a_reload", free);
    into.count("reloads", reloads);
    running.end().await
}

/// What the table says takes none.
fn without_reload() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| row.reload == Reload::No && row.levels.contains(&Level::Ingress))
}

/// The reloads while the Ingress gains the option and loses it again. What the option goes with is there before.
async fn reloads_of(site: &Site<'_>, secured: Secured, option: &'static Row) -> Outcome<u64> {
    let company = company(option);
    site.changed(&annotated(secured, &company, &[])).await?;
    let (before, metrics) = (site.worker().await?, site.metrics().await?);
    let with = [company.clone(), vec![option]].concat();
    site.changed(&annotated(secured, &with, &[])).await?;
    site.changed(&annotated(secured, &company, &[option])).await?;
    let (after, now) = (site.worker().await?, site.metrics().await?);
    if !company.is_empty() {
        site.changed(&annotated(secured, &[], &company)).await?;
    }
    let taken = after.reloads.saturating_sub(before.reloads);
    if taken > 0 {
        let reasons: Vec<String> =
            now.reloads_since(&metrics).into_iter().map(|(reason, _)| reason).collect();
        say(&format!("  {}: {taken} reloads: {}", option.name, reasons.join("; ")));
    }
    Ok(taken)
}

/// What an option goes with.
fn company(of: &Row) -> Vec<&'static Row> {
    let (With::Needs(other) | With::Beside(other)) = of.with else { return Vec::new() };
    let Some(other) = row(other) else { return Vec::new() };
    [company(other), vec![other]].concat()
}

/// The Ingress with the examples of some options, as a change that takes others off.
fn annotated(secured: Secured, with: &[&Row], without: &[&Row]) -> Value {
    let name = |option: &Row| format!("haproxy-haptic.org/{}", option.name);
    let with = with.iter().map(|option| (name(option), json!(option.example)));
    let without = without.iter().map(|option| (name(option), Value::Null));
    let mut ingress = secured.ingress();
    ingress["metadata"]["annotations"] = with.chain(without).collect::<Map<_, _>>().into();
    ingress
}

/// Services and Secrets that examples name.
fn named(block: Block) -> Outcome<Vec<Value>> {
    let mut all = Vec::new();
    for (number, name) in (1_u8..).zip(SERVICES) {
        let mut slice = manifest::endpoints(name, &[block.backend(number)]);
        slice["ports"] = json!([{ "name": "http", "port": PORT, "protocol": "TCP" }]);
        all.extend([manifest::service(name), slice]);
    }
    let authority = STANDARD.encode(Authority::new("clients")?.pem);
    all.push(json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "clients-ca", "labels": { "haproxy-haptic.org/use": "clients" } },
        "data": { "ca.crt": authority },
    }));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secured() -> Secured {
        Dataset { ingresses: 1, later: 0 }.secured(1).next().unwrap()
    }

    #[test]
    fn an_option_comes_with_its_company_and_goes_alone() {
        let option = row("mirror-percent").unwrap();
        let company = company(option);
        assert_eq!(company.iter().map(|row| row.name).collect::<Vec<_>>(), ["mirror-service"]);
        let gone = annotated(secured(), &company, &[option]);
        assert_eq!(
            gone["metadata"]["annotations"],
            json!({
                "haproxy-haptic.org/mirror-service": "shop-v2:80",
                "haproxy-haptic.org/mirror-percent": null,
            })
        );
    }

    #[test]
    fn what_examples_name_is_there() {
        let is_there = named(Block(1)).unwrap();
        let services = without_reload().flat_map(company).filter_map(|row| row.example.strip_suffix(":80"));
        for service in services {
            assert!(is_there.iter().any(|object| object["metadata"]["name"] == service), "{service}");
        }
        assert!(without_reload().count() > 40);
    }
}
