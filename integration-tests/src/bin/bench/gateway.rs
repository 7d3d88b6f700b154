//! The same sites as HTTPRoutes at ten Gateways, and what renders of them cost, in this process.

use crate::{
    dataset::{DOMAINS, Dataset, Member, domain},
    figures::Scope,
    stages::{after_change, changed_slice, config_of, median, megabytes, refused, stores},
    statistics::milliseconds,
};
use haptic_model::{Fleet, HaproxyVersion, Snapshots};
use haptic_render::{RenderJob, RenderLimits, Renderer, compile};
use integration_tests::Outcome;
use serde_json::{Value, json};
use std::{fs, path::Path};

const API: &str = "gateway.networking.k8s.io/v1";
/// Whose Gateways and statuses of routes are ours.
pub const CONTROLLER: &str = "haproxy-haptic.org/gateway-controller";

/// Measures a render of everything, one after an endpoint moved, and one after a route came.
pub fn measure(dataset: Dataset, dir: &Path, into: &mut Scope<'_>) -> Outcome {
    fs::create_dir_all(dir)?;
    let file = dir.join("gateway.yaml");
    fs::write(&file, configuration().to_string())?;
    let config = config_of(&file)?;
    let compiled = compile(&config.spec).map_err(|problems| refused(&problems))?;
    let fleet = Fleet::of_version(HaproxyVersion::new(3, 4));
    let before = stores(&config, objects(dataset))?;
    let moved = after_change(&config, &before, changed_slice(dataset))?;
    let newcomer = dataset.newcomers().next().unwrap_or_else(|| dataset.last());
    let mut grown = before.clone();
    for object in of_member(newcomer) {
        grown = after_change(&config, &grown, object)?;
    }
    let render = |renderer: &mut Renderer, snapshots: &Snapshots| {
        renderer.render(&RenderJob {
            compiled: &compiled,
            config: &config,
            snapshots,
            fleet: &fleet,
            limits: &RenderLimits::default(),
        })
    };
    into.add("render_ms", milliseconds(median(|| render(&mut Renderer::default(), &before))));
    let mut renderer = Renderer::default();
    let bundle = render(&mut renderer, &before).map_err(|problems| refused(&problems))?.bundle;
    into.add("kept_mb", megabytes(renderer.cache().bytes));
    into.add("bundle_mb", megabytes(bundle.size()));
    for (name, after) in [("render_after_change_ms", &moved), ("render_after_new_route_ms", &grown)] {
        let mut turn = [after, &before].into_iter().cycle();
        let next = || turn.next().map(|snapshots| render(&mut renderer, snapshots));
        into.add(name, milliseconds(median(next)));
    }
    Ok(())
}

fn configuration() -> Value {
    json!({
        "apiVersion": "haproxy-haptic.org/v1alpha1", "kind": "HAProxyTemplateConfig",
        "metadata": { "name": "bench" },
        "spec": {
            "credentialsSecretRef": { "name": "bench" },
            "podSelector": { "matchLabels": { "app": "haproxy" } },
            "libraries": ["base", "ssl", "gateway"],
        },
    })
}

fn objects(dataset: Dataset) -> impl Iterator<Item = Value> {
    [class()].into_iter().chain(beside_class(dataset))
}

/// Their class.
pub fn class() -> Value {
    json!({
        "apiVersion": API, "kind": "GatewayClass", "metadata": { "name": "haptic" },
        "spec": { "controllerName": CONTROLLER },
    })
}

/// All Gateways, and all that there is at the beginning.
pub fn beside_class(dataset: Dataset) -> impl Iterator<Item = Value> {
    // Listeners of one port are told apart by their hosts.
    let gateways = (0..DOMAINS).map(|number| {
        json!({
            "apiVersion": API, "kind": "Gateway", "metadata": { "name": gateway(number) },
            "spec": {
                "gatewayClassName": "haptic",
                "listeners": [{
                    "name": "http", "port": 80, "protocol": "HTTP", "hostname": format!("*.{}", domain(number)),
                }],
            },
        })
    });
    gateways.chain(dataset.first(usize::MAX).flat_map(of_member))
}

/// A Gateway for all hosts.
pub fn gateway_of_all(name: &str) -> Value {
    json!({
        "apiVersion": API, "kind": "Gateway", "metadata": { "name": name },
        "spec": {
            "gatewayClassName": "haptic",
            "listeners": [{ "name": "http", "port": 80, "protocol": "HTTP" }],
        },
    })
}

/// Its Service, its EndpointSlice, and an HTTPRoute in the Ingress' place.
pub fn of_member(member: Member) -> [Value; 3] {
    let [service, slice, _] = member.manifests();
    let name = member.name();
    let route = json!({
        "apiVersion": API, "kind": "HTTPRoute", "metadata": { "name": name },
        "spec": {
            "parentRefs": [{ "name": gateway(member.number()) }],
            "hostnames": [member.host()],
            "rules": [{ "backendRefs": [{ "name": name, "port": 80 }] }],
        },
    });
    [service, slice, route]
}

fn gateway(number: usize) -> String {
    format!("web-{}", number % DOMAINS)
}
