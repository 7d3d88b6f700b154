//! A namespace of an API server with objects, in which controllers run one after the other, each with a HAProxy 3.4.

use crate::{dataset::Dataset, figures::Scope, memory, progress::say, site::Site};
use integration_tests::{
    Outcome, Scene, cluster::Cluster, controller::Controller, haproxy_pod::HaproxyPod, network::Block,
    objects::Objects, program::HaproxySeries,
};
use serde_json::Value;
use std::{cell::Cell, path::Path, sync::Arc, time::Instant};

/// The namespace.
pub struct Namespace {
    /// Where its pods and controllers are.
    pub scene: Scene,
    /// Where its objects are written.
    pub objects: Objects,
    /// Which there are at the beginning.
    pub dataset: Dataset,
}

/// A pod and its controller.
pub struct Running {
    /// The pod.
    pub pod: HaproxyPod,
    /// When the controller was started.
    pub started: Instant,
    controller: Controller,
    changes: Cell<usize>,
}

impl Namespace {
    /// An empty one for `dataset`.
    pub async fn new(
        cluster: &Arc<Cluster>,
        (name, block): (&str, Block),
        dataset: Dataset,
        dir: &Path,
    ) -> Outcome<Self> {
        let scene = Scene::new(Arc::clone(cluster), name, block, dir.join(name)).await?;
        let objects = Objects::Cluster { client: cluster.client.clone(), namespace: scene.namespace.clone() };
        Ok(Self { scene, objects, dataset })
    }

    /// Writes objects and the configuration.
    pub async fn filled(
        self,
        manifests: impl Iterator<Item = Value>,
        configuration: &Value,
    ) -> Outcome<Self> {
        let writing = Instant::now();
        self.objects.create_all(manifests).await?;
        self.scene.configure_with(configuration).await?;
        say(&format!("the API server has all objects after {:.0} s", writing.elapsed().as_secs_f32()));
        Ok(self)
    }

    /// Starts a pod and a controller, with these variables in its environment.
    pub async fn start(&self, variables: &[(&str, &str)]) -> Outcome<Running> {
        let pod = self.scene.unwired_pod_of(HaproxySeries::V3_4).await?;
        let started = Instant::now();
        let controller = self.scene.controller_with(variables)?;
        Ok(Running { pod, started, controller, changes: Cell::new(0) })
    }

    /// The megabytes that a controller has resident when it has come to rest after its start.
    pub async fn resident(&self, into: &mut Scope<'_>) -> Outcome<f64> {
        let running = self.start(&[]).await?;
        let site = running.site(self);
        site.come_to_rest(running.started, into).await?;
        let resident = memory::of(site.process)?.resident;
        running.end().await?;
        Ok(resident)
    }
}

impl Running {
    /// As it is measured.
    pub fn site(&self, namespace: &Namespace) -> Site<'_> {
        Site::of_pod(&self.pod, &self.controller, (namespace.dataset, &namespace.objects), &self.changes)
    }

    /// Ends both.
    pub async fn end(self) -> Outcome {
        self.controller.kill().await?;
        self.pod.remove().await
    }
}
