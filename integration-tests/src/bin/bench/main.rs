//! The benchmark: what each stage costs, and how long a change takes on its whole way. Run it with `make bench`.
//!
//! It judges nothing: targets stand beside the figures, and a miss is printed, not failed.
#![allow(clippy::indexing_slicing, reason = "a missing field of a JSON value reads as null")]

mod arguments;
mod cluster;
mod dataset;
mod echo;
mod figures;
mod local;
mod metering;
mod objects;
mod probe;
mod progress;
mod site;
mod stages;
mod statistics;

use arguments::{Arguments, Way};
use clap::Parser as _;
use dataset::Dataset;
use figures::Figures;
use integration_tests::{
    Outcome, network, network::Block, process::last_lines, runner, scene::ready_cluster,
};
use progress::say;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Instant,
};

/// As the `haptic` binary, or its stages would not cost here what they cost there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The blocks of addresses: the cluster's own, then one for each size and way.
const CLUSTER: u8 = 0;
const LOCAL: u8 = 8;

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
    let counts = (arguments.changes, arguments.routes);
    let sizes = || (1_u8..).zip(arguments.sizes());
    let dataset = |ingresses| Dataset { ingresses, later: arguments.routes };
    for (_, size) in sizes().filter(|_| arguments.includes(Way::Stages)) {
        begin("stages", size);
        let mut scope = figures.of_size(size);
        tokio::task::block_in_place(|| stages::measure(dataset(size), &dir.join("stages"), &mut scope))?;
    }
    for (number, size) in sizes().filter(|_| arguments.includes(Way::Local)) {
        begin("haptic local", size);
        let mut scope = figures.of_size(size);
        let dir = dir.join(format!("local-{size}"));
        local::measure(dataset(size), counts, Block(LOCAL + number), &dir, &mut scope.within("local"))
            .await?;
    }
    if arguments.includes(Way::Cluster) {
        let started = Instant::now();
        let cluster = Arc::new(ready_cluster(Block(CLUSTER).api_server(), &dir.join("cluster")).await?);
        say(&format!("cluster ready ({:.1} s)", started.elapsed().as_secs_f32()));
        for (number, size) in sizes() {
            begin("cluster", size);
            let dir = dir.join(format!("cluster-{size}"));
            let block = Block(CLUSTER + number);
            cluster::measure(&cluster, dataset(size), counts, block, dir, &mut figures.of_size(size)).await?;
        }
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
    let logs = folders.flat_map(|folder| ["local.log", "controller-0.log"].map(|log| folder.join(log)));
    let shown = logs
        .filter(|log| log.is_file())
        .map(|log| format!("\n--- {}\n{}", log.display(), last_lines(&log, 10)));
    shown.collect()
}
