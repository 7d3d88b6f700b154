//! Changes through `haptic local`: files of a folder are replaced, HAProxy of the same machine answers.

use crate::{
    dataset::Dataset,
    figures::Scope,
    objects::Objects,
    site::{DEBUG_PORT, Site},
};
use integration_tests::{
    Outcome,
    configuration::{Configuration, POD_ADDRESS},
    network::Block,
    process::Process,
    program::{self, HaproxySeries},
};
use std::{fs, path::Path, time::Instant};
use tokio::process::Command;

/// The namespace of all manifests.
const NAMESPACE: &str = "bench";

/// Starts it with `dataset`, measures, and ends it.
///
/// # Errors
/// It does not start, or a change never becomes live.
pub async fn measure(
    dataset: Dataset,
    (changes, routes): (usize, usize),
    block: Block,
    dir: &Path,
    into: &mut Scope<'_>,
) -> Outcome {
    let manifests = dir.join("manifests");
    fs::create_dir_all(&manifests)?;
    let objects = Objects::Folder { path: manifests.clone(), namespace: NAMESPACE.to_owned() };
    objects.create_all(dataset.manifests()).await?;
    let configuration = Configuration::demo(NAMESPACE)?;
    let file = dir.join("config.yaml");
    fs::write(&file, configuration.manifest.to_string())?;

    let started = Instant::now();
    let mut command = Command::new(program::haptic()?);
    command.arg("local").arg("-f").arg(file).arg("--resources").arg(manifests);
    command.arg("--dir").arg(dir.join("haproxy"));
    command.arg("--bind-address").arg(block.controller(0).to_string());
    command.arg("--haproxy").arg(program::haproxy(HaproxySeries::V3_4)?);
    command.env(POD_ADDRESS, block.pod(0).to_string());
    let process = Process::start(command, &dir.join("local.log"))?;
    let site = Site {
        dataset,
        objects,
        front: (block.pod(0), configuration.port(false)?).into(),
        debug: (block.controller(0), DEBUG_PORT).into(),
        process: process.id(),
    };
    site.measure(changes, routes, started, into).await?;
    process.kill().await
}
