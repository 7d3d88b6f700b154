//! Changes through a cluster: objects of an API server are patched, HAProxy of a pod answers.

use crate::{
    arguments::{Counts, Series},
    dataset::Dataset,
    figures::{Figures, Scope},
    progress::say,
    site::Site,
    webhook,
};
use integration_tests::{
    Outcome, Scene, cluster::Cluster, controller::Controller, haproxy_pod::HaproxyPod, network::Block,
    objects::Objects, registration,
};
use serde_json::json;
use std::{
    cell::Cell,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

/// Of endpoint changes and of new routes, where each new route may cost a reload.
const WITH_RELOADS: (usize, usize) = (200, 20);

/// Endpoint changes behind a Data Plane API, one after the other, at so many Ingresses: each checks and writes all of them.
const CHANGED_BEHIND_API: usize = 100_000;
/// And at least and at most so many.
const AT_LEAST_AND_MOST: (usize, usize) = (20, 100);

/// What is measured.
pub struct Measurement {
    /// With which objects.
    pub dataset: Dataset,
    /// How much.
    pub counts: Counts,
    /// Changes of each kind with each of these.
    pub series: Vec<Series>,
    /// The same with each of these behind a Data Plane API.
    pub behind_api: Vec<Series>,
    /// Changes under load with each of these.
    pub loaded: Vec<Series>,
    /// A storm and a load with HAProxy 3.4, each of this length.
    pub soak: Option<Duration>,
}

impl Measurement {
    /// Whether there is nothing to measure.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty() && self.behind_api.is_empty() && self.loaded.is_empty() && self.soak.is_none()
    }

    /// Writes the objects in a namespace of their own, starts a pod and a controller for each HAProxy, and measures.
    pub async fn take(
        self,
        cluster: &Arc<Cluster>,
        block: Block,
        dir: PathBuf,
        figures: &mut Figures,
    ) -> Outcome {
        let name = format!("bench-{}", self.dataset.ingresses);
        let scene = Scene::new(Arc::clone(cluster), &name, block, dir).await?;
        let objects = Objects::Cluster { client: cluster.client.clone(), namespace: scene.namespace.clone() };
        let writing = Instant::now();
        objects.create_all(self.dataset.manifests()).await?;
        for secured in self.dataset.secured(self.counts.certificates) {
            objects.create_all([secured.secret()?.1, secured.ingress()].into_iter()).await?;
        }
        say(&format!("the API server has all objects after {:.0} s", writing.elapsed().as_secs_f32()));
        scene
            .configure_with(&registration::configuration(
                &scene,
                scene.configuration()?.with_room_for(self.dataset.ingresses),
                &json!({}),
            ))
            .await?;

        let changes = Cell::new(0);
        let all = [Series::V3_4, Series::V3_2, Series::V3_0].into_iter();
        let wanted = |series: &Series| {
            let soaked = self.soak.is_some() && series.adds_backends();
            soaked || self.series.contains(series) || self.loaded.contains(series)
        };
        for series in all.filter(wanted) {
            say(&format!("-- {}", series.name()));
            self.with(series, &scene, &objects, &changes, figures).await?;
        }
        let scene = scene.through_data_plane_api();
        for series in self.behind_api.iter().copied() {
            say(&format!("-- {} behind a Data Plane API", series.name()));
            self.behind_api(series, &scene, &objects, &changes, figures).await?;
        }
        Ok(())
    }

    /// The same changes with HAProxy `series` and the Data Plane API beside it.
    async fn behind_api(
        &self,
        series: Series,
        scene: &Scene,
        objects: &Objects,
        changes: &Cell<usize>,
        figures: &mut Figures,
    ) -> Outcome {
        let mut configuration = scene.configuration()?.with_room_for(self.dataset.ingresses).manifest;
        let dataplane = &mut configuration["spec"]["dataplane"];
        dataplane["minDeploymentInterval"] = json!("2s");
        dataplane["deploymentTimeout"] = json!("120s");
        scene.configure_with(&configuration).await?;
        let pod = scene.unwired_pod_of(series.haproxy()).await?;
        let started = Instant::now();
        let controller = scene.controller()?;
        let site = self.site(&pod, &controller, objects, changes);
        let mut of_size = figures.of_size(self.dataset.ingresses);
        let mut of_api = of_size.within("dataplaneapi");
        let mut into = of_api.within(series.name());
        site.come_to_rest(started, &mut into).await?;
        let (least, most) = AT_LEAST_AND_MOST;
        let count = (CHANGED_BEHIND_API / self.dataset.ingresses.max(1)).clamp(least, most);
        let one_by_one = site.endpoint_changes(count.min(self.counts.changes));
        site.measured("endpoint_change", one_by_one, &mut into).await?;
        site.measured("storm", site.storm(self.counts.storm), &mut into).await?;
        site.at_rest().await?;
        let newcomers = self.dataset.newcomers().take(self.counts.routes.min(WITH_RELOADS.1));
        let newcomers = newcomers.collect::<Vec<_>>();
        let routes = site.stream_of_new_routes(newcomers.iter().copied());
        site.measured("new_route", routes, &mut into).await?;
        for member in newcomers {
            objects.delete_together(&member.manifests()).await?;
        }
        controller.kill().await?;
        pod.remove().await
    }

    fn site<'s>(
        &self,
        pod: &'s HaproxyPod,
        controller: &Controller,
        objects: &Objects,
        changes: &'s Cell<usize>,
    ) -> Site<'s> {
        Site::of_pod(pod, controller, (self.dataset, objects), changes)
    }

    async fn with(
        &self,
        series: Series,
        scene: &Scene,
        objects: &Objects,
        changes: &Cell<usize>,
        figures: &mut Figures,
    ) -> Outcome {
        let pod = scene.unwired_pod_of(series.haproxy()).await?;
        let started = Instant::now();
        let controller = scene.controller()?;
        let site = self.site(&pod, &controller, objects, changes);
        let mut of_size = figures.of_size(self.dataset.ingresses);
        if series == Series::V3_4 {
            site.come_to_rest(started, &mut of_size).await?;
        } else {
            site.come_to_rest(started, &mut of_size.within(series.name())).await?;
        }
        if self.series.contains(&series) {
            let mut scope = of_size.within(series.name());
            self.changes(series, &site, pod.https(), &mut scope).await?;
            if series == Series::V3_4 {
                webhook::measure(scene, self.dataset, site.debug, &mut of_size.within("webhook")).await?;
                site.memory_into("resident_after_webhook", &mut of_size)?;
            }
        }
        if self.loaded.contains(&series) {
            say(&format!("load for {} s", self.counts.load.as_secs()));
            let mut churn = figures.of("churn_under_load");
            churn.count("ingresses", self.dataset.ingresses as u64);
            site.under_load(self.counts.load, &scene.dir, &mut churn.within(series.name())).await?;
        }
        if let Some(lasts) = self.soak {
            let mut soak = figures.of("soak");
            site.measured("storm", site.storm(lasts), &mut soak).await?;
            site.memory_into("resident_after_storm", &mut soak)?;
            site.under_load(lasts, &scene.dir, &mut soak.within(series.name())).await?;
        }
        controller.kill().await?;
        pod.remove().await
    }

    /// Every kind of change, and what all of them together cost HAProxy.
    async fn changes(
        &self,
        series: Series,
        site: &Site<'_>,
        https: std::net::SocketAddr,
        into: &mut Scope<'_>,
    ) -> Outcome {
        let before = site.worker().await?;
        let newcomers = |count: usize| site.dataset.newcomers().take(count).collect::<Vec<_>>().into_iter();
        let Counts { changes, routes, certificates, storm, .. } = self.counts;
        if series.adds_backends() {
            site.measured("endpoint_change", site.endpoint_changes(changes), into).await?;
            site.measured("new_route", site.new_routes(newcomers(routes)), into).await?;
            site.measured("deleted_route", site.deleted_routes(newcomers(routes)), into).await?;
            let secured = site.dataset.secured(certificates).collect::<Vec<_>>().into_iter();
            site.measured("certificate", site.rotations(secured, https), into).await?;
            site.measured("storm", site.storm(storm), into).await?;
            site.at_rest().await?;
            site.memory_into("resident_after", into)?;
        } else {
            let (changes, routes) = (changes.min(WITH_RELOADS.0), routes.min(WITH_RELOADS.1));
            site.measured("endpoint_change", site.endpoint_changes(changes), into).await?;
            site.measured("new_route", site.stream_of_new_routes(newcomers(routes)), into).await?;
            for member in newcomers(routes) {
                site.objects.delete_together(&member.manifests()).await?;
            }
        }
        let after = site.worker().await?;
        into.count("reloads", after.reloads.saturating_sub(before.reloads));
        into.count("worker_changes", u64::from(after.pid != before.pid));
        Ok(())
    }
}
