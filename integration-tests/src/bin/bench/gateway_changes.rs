//! HTTPRoutes at ten Gateways of an API server: how fast changes are live and statuses say so, and what the controller takes beside one for as
//! many Ingresses.

use crate::{
    arguments::Counts,
    dataset::{Dataset, Member},
    figures::Scope,
    gateway::{CONTROLLER, beside_class, class, gateway_of_all, of_member},
    memory,
    namespace::Namespace,
    probe::Prober,
    progress::say,
    series::{BETWEEN, Timing},
    site::Site,
    statistics::{milliseconds, percentile},
};
use integration_tests::{Outcome, cluster::Cluster, ensure, eventually_within, network::Block};
use kube::Client;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::sleep;

/// True of a route once all pods have it.
const PROGRAMMED: &str = "haproxy-haptic.org/Programmed";
/// Of HAProxy, for listeners at port 80.
const PORT: u16 = 7180;
/// At the start there are 10,000 statuses to write.
const STATUS_WITHIN: Duration = Duration::from_secs(600);
/// What the routes that come together are known by.
const TOGETHER: &str = "bench=together";
/// And those that are there before their Gateway.
const BEFORE: &str = "bench=before";
/// That Gateway.
const LATE: &str = "late";

/// Routes that come together, beside `ingresses`.
pub fn together(ingresses: usize) -> usize {
    ingresses.div_ceil(2)
}

/// Measures a controller for Ingresses at rest, then one for as many HTTPRoutes, with changes.
pub async fn measure(
    cluster: &Arc<Cluster>,
    (dataset, counts): (Dataset, Counts),
    [of_ingresses, of_routes]: [Block; 2],
    dir: &Path,
    into: &mut Scope<'_>,
) -> Outcome {
    let ingresses = Namespace::new(cluster, ("ingresses", of_ingresses), dataset, dir).await?;
    let configuration = ingresses.scene.configuration()?.manifest;
    let ingresses = ingresses.filled(dataset.manifests(), &configuration).await?;
    let of_ingresses = ingresses.resident(&mut into.within("ingresses_instead")).await?;

    let routes = Namespace::new(cluster, ("routes", of_routes), dataset, dir).await?;
    routes.scene.install_gateway_api().await?;
    cluster.apply("", &class()).await?;
    let configuration = routes.scene.configuration()?.with_gateways(PORT).manifest;
    let routes = routes.filled(beside_class(dataset), &configuration).await?;
    let statuses = Statuses::of(&routes);
    let running = routes.start(&[]).await?;
    let front = (running.pod.address, PORT).into();
    let (prober, manifests) = (Prober::start(front), of_member);
    let site = Site { front, prober, manifests, ..running.site(&routes) };
    site.come_to_rest(running.started, into).await?;
    statuses.all_written("").await?;
    into.add("first_statuses_s", running.started.elapsed().as_secs_f64());
    let resident = memory::of(site.process)?.resident;
    into.add("resident_with_statuses_mb", resident);
    into.add("resident_to_ingresses_ratio", resident / of_ingresses.max(1.0));

    site.measured("endpoint_change", site.endpoint_changes(counts.changes), into).await?;
    let newcomers: Vec<Member> = dataset.newcomers().collect();
    let (single, together) = newcomers.split_at(counts.routes.min(newcomers.len()));
    let mut behind = Vec::new();
    site.measured("new_route", statuses.behind(&site, single, &mut behind), into).await?;
    let mut status = into.within("status_after_new_route");
    for (name, percent) in [("p50_ms", 50), ("p99_ms", 99)] {
        status.add(name, percentile(&behind, percent).map_or(0.0, milliseconds));
    }
    site.at_rest().await?;
    let attached = statuses.attached(&site, together, &mut into.within("attached")).await?;
    site.memory_into("resident_after", into)?;
    // A namespace has room for so many more.
    let late = together.get(..together.len().div_ceil(2)).unwrap_or_default();
    let by_gateway =
        statuses.attached_by_gateway(&site, late, &mut into.within("attached_by_gateway")).await?;
    running.end().await?;
    // The controller would set them right, and take its share of the API server.
    let bare = statuses.bare(together).await?;
    into.within("attached").add("bare_patches_s", bare.as_secs_f64());
    let of_patch = bare.as_secs_f64().max(1e-3) / together.len().max(1) as f64;
    for (name, took, routes) in
        [("attached", attached, together.len()), ("attached_by_gateway", by_gateway, late.len())]
    {
        into.within(name).add("ratio", took.as_secs_f64() / (of_patch * routes as f64));
    }
    Ok(())
}

/// The statuses of a namespace's routes.
struct Statuses {
    client: Client,
    path: String,
}

impl Statuses {
    fn of(namespace: &Namespace) -> Self {
        let path =
            format!("/apis/gateway.networking.k8s.io/v1/namespaces/{}/httproutes", namespace.scene.namespace);
        Self { client: namespace.scene.cluster.client.clone(), path }
    }

    async fn read(&self, rest: &str) -> Outcome<Value> {
        let request = http::Request::get(format!("{}{rest}", self.path)).body(Vec::new())?;
        Ok(serde_json::from_str(&self.client.request_text(request).await?)?)
    }

    /// When it was seen that all pods have the newest generation of a route.
    async fn written(&self, name: &str) -> Outcome<Instant> {
        eventually_within(STATUS_WITHIN, format!("route {name} is programmed"), async || {
            let route = self.read(&format!("/{name}")).await?;
            ensure(is_programmed(&route), route["status"].to_string())?;
            Ok(Instant::now())
        })
        .await
    }

    /// Waits for the statuses of all routes with this label. A list of thousands is a burden for the API server: the next one is taken when a
    /// route that waited in the last one waits no more.
    async fn all_written(&self, label: &str) -> Outcome {
        loop {
            let all = self.read(&format!("?labelSelector={label}")).await?;
            let mut routes = all["items"].as_array().into_iter().flatten();
            let Some(waits) = routes.rfind(|route| !is_programmed(route)) else { return Ok(()) };
            self.written(waits["metadata"]["name"].as_str().unwrap_or_default()).await?;
        }
    }

    /// New routes, one after the other; `behind` gets how long after the first answer each has its status.
    async fn behind(
        &self,
        site: &Site<'_>,
        members: &[Member],
        behind: &mut Vec<Duration>,
    ) -> Outcome<Vec<Timing>> {
        let mut timings = Vec::with_capacity(members.len());
        for member in members {
            sleep(BETWEEN).await;
            let timing = site.new_route(*member).await?;
            let live = Instant::now();
            // Nobody asks for it before: each question takes a part of what the change is measured on.
            let written = self.written(&member.name()).await?;
            behind.push(written.saturating_duration_since(live));
            timings.push(timing);
        }
        Ok(timings)
    }

    /// The routes of `members` in one go, until all have their statuses. Their Services are there before.
    async fn attached(&self, site: &Site<'_>, members: &[Member], into: &mut Scope<'_>) -> Outcome<Duration> {
        let services = members.iter().flat_map(|member| {
            let [service, slice, _] = of_member(*member);
            [service, slice]
        });
        site.objects.create_all(services).await?;
        site.at_rest().await?;
        let before = site.worker().await?;
        let started = Instant::now();
        site.objects.create_all(members.iter().map(|member| labelled(*member, TOGETHER))).await?;
        let written = started.elapsed();
        self.all_written(TOGETHER).await?;
        let took = started.elapsed();
        let after = site.worker().await?;
        say(&format!("{} routes in one go: all programmed after {:.1} s", members.len(), took.as_secs_f32()));
        into.count("routes", members.len() as u64);
        into.add("written_s", written.as_secs_f64());
        into.add("programmed_s", took.as_secs_f64());
        into.count("reloads", after.reloads.saturating_sub(before.reloads));
        Ok(took)
    }

    /// More routes to the Services of `members` are there, and then their Gateway comes: until all have their statuses.
    async fn attached_by_gateway(
        &self,
        site: &Site<'_>,
        members: &[Member],
        into: &mut Scope<'_>,
    ) -> Outcome<Duration> {
        let routes = members.iter().map(|member| {
            let mut route = labelled(*member, BEFORE);
            route["metadata"]["name"] = json!(format!("{LATE}-{}", member.name()));
            route["spec"]["parentRefs"] = json!([{ "name": LATE }]);
            route["spec"]["hostnames"] = json!([format!("{LATE}-{}", member.host())]);
            route
        });
        site.objects.create_all(routes).await?;
        site.at_rest().await?;
        let started = Instant::now();
        site.objects.create(&gateway_of_all(LATE)).await?;
        self.all_written(BEFORE).await?;
        let took = started.elapsed();
        say(&format!(
            "a Gateway of {} routes: all programmed after {:.1} s",
            members.len(),
            took.as_secs_f32()
        ));
        into.count("routes", members.len() as u64);
        into.add("programmed_s", took.as_secs_f64());
        Ok(took)
    }

    /// What it takes to write as many statuses, and nothing else, one after the other.
    async fn bare(&self, members: &[Member]) -> Outcome<Duration> {
        let started = Instant::now();
        for member in members {
            let [.., route] = of_member(*member);
            let request = http::Request::patch(format!("{}/{}/status", self.path, member.name()));
            let request = request.header("content-type", "application/merge-patch+json");
            let status = status_of(&route).to_string().into_bytes();
            self.client.request_text(request.body(status)?).await?;
        }
        Ok(started.elapsed())
    }
}

fn labelled(member: Member, label: &str) -> Value {
    let [.., mut route] = of_member(member);
    let (name, value) = label.split_once('=').unwrap_or_default();
    route["metadata"]["labels"] = json!({ name: value });
    route
}

/// Accepted, and on all pods, as the route is now.
fn is_programmed(route: &Value) -> bool {
    let mut parents = route["status"]["parents"].as_array().into_iter().flatten();
    parents.any(|parent| {
        let is_true = |kind: &str| {
            let mut conditions = parent["conditions"].as_array().into_iter().flatten();
            conditions.any(|condition| {
                let is_of_now = condition["observedGeneration"] == route["metadata"]["generation"];
                condition["type"] == kind && condition["status"] == "True" && is_of_now
            })
        };
        parent["controllerName"] == CONTROLLER && is_true("Accepted") && is_true(PROGRAMMED)
    })
}

/// A status as large as ours, and another one.
fn status_of(route: &Value) -> Value {
    let conditions = ["Accepted", "ResolvedRefs", PROGRAMMED].map(|kind| {
        json!({
            "type": kind, "status": "True", "reason": "Measured", "message": "all ready pods run it",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    });
    let parent = &route["spec"]["parentRefs"][0];
    json!({ "status": { "parents": [{ "parentRef": parent, "controllerName": CONTROLLER, "conditions": conditions }] } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_programmed_when_its_newest_generation_is() {
        let status = |generation: u64| {
            let [.., mut route] = of_member(Dataset { ingresses: 1, later: 0 }.last());
            let status = status_of(&route);
            route["status"] = status["status"].clone();
            route["metadata"]["generation"] = json!(generation);
            route
        };
        assert!(is_programmed(&status(1)) && !is_programmed(&status(2)));
        assert!(!is_programmed(&json!({})));
    }

    #[test]
    fn half_as_many_routes_as_there_are_come_together() {
        assert_eq!((together(10_000), together(1)), (5_000, 1));
        let labels = &labelled(Dataset { ingresses: 1, later: 0 }.last(), TOGETHER)["metadata"]["labels"];
        assert_eq!(labels, &json!({ "bench": "together" }));
    }
}
