//! The benchmark: what each stage costs, and how long a change takes on its whole way. Run it with `make bench`.
//!
//! It judges nothing: targets stand beside the figures, and a miss is printed, not failed.
#![allow(clippy::indexing_slicing, reason = "a missing field of a JSON value reads as null")]

mod arguments;
mod cluster;
mod dataset;
mod echo;
mod families;
mod figures;
mod gateway;
mod gateway_changes;
mod hostile;
mod local;
mod memory;
mod metering;
mod namespace;
mod option_memory;
mod option_reloads;
mod options;
mod probe;
mod series;
mod site;
mod stages;
mod statistics;
mod trace;
mod under_load;
mod webhook;
mod worst;

use arguments::{Arguments, Way};
use clap::Parser as _;
use cluster::Measurement;
use dataset::Dataset;
use figures::{Figures, Scope};
use integration_tests::{
    Outcome, cluster::Cluster, network, network::Block, process::last_lines, progress, runner,
    scene::ready_cluster,
};
use namespace::Namespace;
use progress::say;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Instant,
};

/// As the `haptic` binary, or its stages would not cost here what they cost there.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The blocks of addresses: the cluster's own, then one for each size and way.
const CLUSTER: u8 = 0;
/// What is measured at the largest size only, side by side.
const SIDE_BY_SIDE: [Block; 2] = [Block(4), Block(5)];
const LOCAL: u8 = 8;
const HOSTILE: u8 = 12;
const OPTIONS: u8 = 13;
/// Routes that come and go under load.
const AT_LEAST_LATER: usize = 50;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match network::enter().and_then(|()| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("the benchmark cannot go on: {failure}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Outcome {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.spawn(runner::end_when_asked());
    let dir = tempfile::Builder::new().prefix("haptic-bench-").tempdir()?;
    let mut figures = Figures::default();
    let done = runtime.block_on(measure(arguments, dir.path(), &mut figures));
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/bench/latest.json");
    figures.write(&file)?;
    say(&format!("\n{}", figures.table()));
    say(&format!("the same in {}", file.canonicalize()?.display()));
    if done.is_err() {
        let kept = dir.keep();
        say(&format!("all logs are in {}{}", kept.display(), ends_of_logs(&kept)));
    }
    done
}

async fn measure(arguments: &Arguments, dir: &Path, figures: &mut Figures) -> Outcome {
    let _endpoints = echo::start(dataset::PORT).await?;
    let sizes = || (1_u8..).zip(arguments.sizes());
    let dataset =
        |ingresses| Dataset { ingresses, later: arguments.counts(ingresses).routes.max(AT_LEAST_LATER) };
    for (_, size) in sizes().filter(|_| arguments.includes(Way::Stages)) {
        begin("stages", size);
        let mut scope = figures.of_size(size);
        tokio::task::block_in_place(|| {
            stages::measure(dataset(size), &dir.join("stages"), &mut scope)?;
            stages::compare_languages(dataset(size), &mut scope.within("languages"))?;
            gateway::measure(dataset(size), &dir.join("stages"), &mut scope.within("gateway"))?;
            families::measure(dataset(size), &dir.join("stages"), &mut scope.within("annotations"))
        })?;
    }
    for (number, size) in sizes().filter(|_| arguments.includes(Way::Local)) {
        begin("haptic local", size);
        let mut scope = figures.of_size(size);
        let (dir, block) = (dir.join(format!("local-{size}")), Block(LOCAL + number));
        local::measure(dataset(size), arguments.counts(size), block, &dir, &mut scope.within("local"))
            .await?;
    }
    for series in arguments.series().into_iter().filter(|_| arguments.includes(Way::Options)) {
        say(&format!("== options, {}", series.name()));
        let mut scope = figures.of("options");
        options::measure(series, Block(OPTIONS), &dir.join(series.name()), &mut scope.within(series.name()))
            .await?;
    }
    if let Some(size) = arguments.sizes().into_iter().max().filter(|_| arguments.includes(Way::Hostile)) {
        begin("the worst objects", size);
        let mut scope = figures.of_size(size);
        worst::measure(size, Block(HOSTILE), &dir.join("hostile"), &mut scope.within("hostile")).await?;
    }
    let is_included = |way: &Way| arguments.includes(*way);
    if arguments.trace || [Way::OptionReloads, Way::OptionMemory, Way::Gateway].iter().any(is_included) {
        let size = arguments.sizes().into_iter().max().unwrap_or_default();
        let cluster = started_cluster(dir).await?;
        at_largest(arguments, &cluster, dataset(size), dir, &mut figures.of_size(size)).await?;
    }
    if [Way::Cluster, Way::Load, Way::Soak].iter().any(is_included) {
        let cluster = started_cluster(dir).await?;
        let largest = arguments.sizes().into_iter().max();
        for (number, size) in sizes() {
            let is_measured = arguments.includes(Way::Cluster);
            let series = if is_measured { arguments.series_beside_agent() } else { Vec::new() };
            let behind_api = if is_measured { arguments.series_behind_api(size) } else { Vec::new() };
            let is_loaded = arguments.includes(Way::Load) && largest == Some(size);
            let loaded = arguments.series_beside_agent().into_iter();
            let loaded = loaded.filter(|of| is_loaded && of.adds_backends()).collect();
            let (dataset, counts, soak) = (dataset(size), arguments.counts(size), arguments.soak());
            let taken = Measurement { dataset, counts, series, behind_api, loaded, soak };
            if taken.is_empty() {
                continue;
            }
            begin("cluster", size);
            let dir = dir.join(format!("cluster-{size}"));
            taken.take(&cluster, Block(CLUSTER + number), dir, figures).await?;
        }
    }
    Ok(())
}

async fn started_cluster(dir: &Path) -> Outcome<Arc<Cluster>> {
    let started = Instant::now();
    let cluster = Arc::new(ready_cluster(Block(CLUSTER).api_server(), &dir.join("cluster")).await?);
    say(&format!("cluster ready ({:.1} s)", started.elapsed().as_secs_f32()));
    Ok(cluster)
}

/// What is no part of a whole run, and needs an API server.
async fn at_largest(
    arguments: &Arguments,
    cluster: &Arc<Cluster>,
    dataset: Dataset,
    dir: &Path,
    into: &mut Scope<'_>,
) -> Outcome {
    let [block, _] = SIDE_BY_SIDE;
    let size = dataset.ingresses;
    if arguments.trace {
        begin("a trace", size);
        let namespace = Namespace::new(cluster, ("trace", block), dataset, dir).await?;
        let configuration = namespace.scene.configuration()?.manifest;
        let namespace = namespace.filled(dataset.manifests(), &configuration).await?;
        trace::measure(&namespace, &mut into.within("trace")).await?;
    }
    if arguments.includes(Way::OptionReloads) {
        begin("options without a reload", size);
        option_reloads::measure(cluster, dataset, block, dir, &mut into.within("option_reloads")).await?;
    }
    if arguments.includes(Way::OptionMemory) {
        begin("memory of options", size);
        option_memory::measure(cluster, dataset, SIDE_BY_SIDE, dir, &mut into.within("option_memory"))
            .await?;
    }
    if arguments.includes(Way::Gateway) {
        begin("Gateways", size);
        let counts = arguments.counts(size);
        let dataset = Dataset { later: counts.routes + gateway_changes::together(size), ..dataset };
        gateway_changes::measure(cluster, (dataset, counts), SIDE_BY_SIDE, dir, &mut into.within("gateway"))
            .await?;
    }
    Ok(())
}

fn begin(way: &str, size: usize) {
    say(&format!("== {way}, {size} ingresses"));
}

/// The last lines of the controller and agent that were at work.
fn ends_of_logs(dir: &Path) -> String {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
    let logs = folders.flat_map(|folder| {
        ["local.log", "controller-0.log", "haproxy-0/agent.log"].map(|log| folder.join(log))
    });
    let shown = logs
        .filter(|log| log.is_file())
        .map(|log| format!("\n--- {}\n{}", log.display(), last_lines(&log, 10)));
    shown.collect()
}
