//! Changes through `haptic local`: files of a folder are replaced, HAProxy of the same machine answers.

use crate::{
    arguments::Counts,
    dataset::{Dataset, Member},
    figures::Scope,
    hostile,
    probe::Prober,
    site::{DEBUG_PORT, Site},
};
use integration_tests::{
    Outcome,
    configuration::{Configuration, FRONTEND_PORTS, POD_ADDRESS},
    network::Block,
    objects::Objects,
    process::Process,
    program::{self, HaproxySeries},
};
use std::{cell::Cell, fs, net::SocketAddr, path::Path, time::Instant};
use tokio::process::Command;

/// Of endpoint changes and of new routes: what matters is measured through a cluster.
const AT_MOST: (usize, usize) = (100, 20);
/// As the figures are named: the series that is measured.
const SERIES: &str = "haproxy_3.4";
/// The namespace of all manifests.
const NAMESPACE: &str = "bench";

/// Starts it with `dataset`, measures, and ends it.
pub async fn measure(
    dataset: Dataset,
    counts: Counts,
    block: Block,
    dir: &Path,
    into: &mut Scope<'_>,
) -> Outcome {
    let manifests = dir.join("manifests");
    fs::create_dir_all(&manifests)?;
    let objects = Objects::Folder { path: manifests.clone(), namespace: NAMESPACE.to_owned() };
    objects.create_all(dataset.manifests()).await?;
    let configuration = Configuration::libraries(NAMESPACE)?;
    let file = dir.join("config.yaml");
    fs::write(&file, configuration.manifest.to_string())?;

    let started = Instant::now();
    let mut command = Command::new(program::haptic()?);
    command.arg("local").arg("-f").arg(file).arg("--resources").arg(manifests);
    command.arg("--dir").arg(dir.join("haproxy"));
    for listens in ["--bind-address", "--debug-address"] {
        command.arg(listens).arg(block.controller(0).to_string());
    }
    command.arg("--haproxy").arg(program::haproxy(HaproxySeries::V3_4)?);
    command.env(POD_ADDRESS, block.pod(0).to_string());
    let process = Process::start(command, &dir.join("local.log"))?;
    let front: SocketAddr = (block.pod(0), FRONTEND_PORTS.0).into();
    let changes = Cell::new(0);
    let site = Site {
        dataset,
        objects,
        front,
        debug: (block.controller(0), DEBUG_PORT).into(),
        process: process.id(),
        pod: None,
        prober: Prober::start(front),
        changes: &changes,
        manifests: Member::manifests,
    };
    site.come_to_rest(started, into).await?;
    let mut series = into.within(SERIES);
    let changes = site.endpoint_changes(counts.changes.min(AT_MOST.0));
    site.measured("endpoint_change", changes, &mut series).await?;
    let newcomers = dataset.newcomers().take(counts.routes.min(AT_MOST.1)).collect::<Vec<_>>();
    site.measured("new_route", site.new_routes(newcomers.into_iter()), &mut series).await?;
    hostile::measure(&site, (counts.changes.min(AT_MOST.0), counts.routes.min(AT_MOST.1)), &mut series)
        .await?;
    process.kill().await
}
