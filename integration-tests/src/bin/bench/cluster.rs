//! Changes through a cluster: objects of an API server are patched, HAProxy of a pod answers.

use crate::{
    dataset::Dataset,
    figures::Scope,
    objects::Objects,
    progress::say,
    site::{DEBUG_PORT, Site},
};
use integration_tests::{Outcome, Scene, cluster::Cluster, network::Block};
use std::{path::PathBuf, sync::Arc, time::Instant};

/// Starts a pod and a controller with `dataset` in a namespace of its own, measures, and ends them.
///
/// # Errors
/// Something does not start, or a change never becomes live.
pub async fn measure(
    cluster: &Arc<Cluster>,
    dataset: Dataset,
    (changes, routes): (usize, usize),
    block: Block,
    dir: PathBuf,
    into: &mut Scope<'_>,
) -> Outcome {
    let name = format!("bench-{}", dataset.ingresses);
    let scene = Scene::new(Arc::clone(cluster), &name, block, dir).await?;
    let objects = Objects::Cluster { client: cluster.client.clone(), namespace: scene.namespace.clone() };
    let writing = Instant::now();
    objects.create_all(dataset.manifests()).await?;
    say(&format!("the API server has all objects after {:.0} s", writing.elapsed().as_secs_f32()));

    scene.configure().await?;
    let pod = scene.pod().await?;
    let started = Instant::now();
    let controller = scene.controller()?;
    let site = Site {
        dataset,
        objects,
        front: pod.http(),
        debug: (controller.address, DEBUG_PORT).into(),
        process: controller.process_id(),
    };
    site.measure(changes, routes, started, into).await?;
    controller.kill().await?;
    pod.remove().await
}
