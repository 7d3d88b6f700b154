//! Runs journeys, several at once on one cluster, and tells how they went.

use crate::{
    cluster::Cluster,
    failure::{Failure, Outcome},
    network::{self, Block},
    process::last_lines,
    scene::{Scene, ready_cluster},
};
use std::{
    fs,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    pin::Pin,
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
    time::timeout,
};

/// How many journeys run at once.
const AT_ONCE: usize = 3;
/// How long one may take, in seconds: in a soak, longer.
const LIMIT: (u64, u64) = (400, 1800);

type Story = Box<dyn Fn(Scene) -> Pin<Box<dyn Future<Output = Outcome>>> + Send + Sync>;

/// A journey: a name and what happens.
pub struct Journey {
    name: String,
    story: Story,
    alone: bool,
}

impl Journey {
    /// It runs when no other does: what it bounds is time.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { alone: true, ..self }
    }
}

/// One run of a journey, with a name that no other run has.
struct Run<'j> {
    name: String,
    journey: &'j Journey,
}

impl<'j> Run<'j> {
    fn new(journey: &'j Journey, time: usize) -> Self {
        let name = &journey.name;
        Self { name: if time == 1 { name.clone() } else { format!("{name}-{time}") }, journey }
    }
}

/// A journey called `name`, in which `story` happens.
pub fn journey<F, Happens>(name: &str, story: F) -> Journey
where
    F: Fn(Scene) -> Happens + Send + Sync + 'static,
    Happens: Future<Output = Outcome> + 'static,
{
    Journey { name: name.to_owned(), story: Box::new(move |scene| Box::pin(story(scene))), alone: false }
}

/// A journey called `name` over agents, and one called `dataplaneapi_NAME` in which the same happens over pods with the Data
/// Plane API.
pub fn over_both<F, Happens>(name: &str, story: F) -> [Journey; 2]
where
    F: Fn(Scene) -> Happens + Copy + Send + Sync + 'static,
    Happens: Future<Output = Outcome> + 'static,
{
    let through_api = move |scene: Scene| story(scene.through_data_plane_api());
    [journey(name, story), journey(&format!("dataplaneapi_{name}"), through_api)]
}

/// `usually`, or `in_a_soak` when `make soak` runs the journeys.
#[must_use]
pub fn soaking(usually: u64, in_a_soak: u64) -> u64 {
    if std::env::var_os("HAPTIC_SOAK").is_some() { in_a_soak } else { usually }
}

/// How often each journey is run: `TIMES=200` looks for one that fails now and then.
fn times() -> usize {
    std::env::var("TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// The whole test program: arguments are parts of names; without any, all `journeys` run.
#[must_use]
pub fn main(journeys: &[Journey]) -> ExitCode {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let chosen: Vec<&Journey> = journeys
        .iter()
        .filter(|j| wanted.is_empty() || wanted.iter().any(|part| j.name.contains(part.as_str())))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = journeys.iter().map(|journey| &*journey.name).collect();
        print(&format!(
            "no journey's name contains {}; there are: {}",
            wanted.join(" or "),
            names.join(", ")
        ));
        return ExitCode::from(2);
    }
    let runs: Vec<Run<'_>> =
        (1..=times()).flat_map(|time| chosen.iter().map(move |journey| Run::new(journey, time))).collect();
    match network::enter().and_then(|()| run(&runs)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(failure) => {
            print(&format!("the journeys cannot run: {}", failure.sentence()));
            ExitCode::FAILURE
        }
    }
}

/// Makes `runs` and gives how many failed.
fn run(runs: &[Run<'_>]) -> Outcome<usize> {
    let runtime = Runtime::new()?;
    runtime.spawn(end_when_asked());
    let dir = tempfile::Builder::new().prefix("haptic-").tempdir()?.keep();
    let started = Instant::now();
    let cluster = Arc::new(runtime.block_on(ready_cluster(Block(0).api_server(), &dir.join("cluster")))?);
    print(&format!("cluster ready ({:.1} s); {} journeys", started.elapsed().as_secs_f32(), runs.len()));
    let failed = Mutex::new(Vec::new());
    let one_after_another = |runs: &[(usize, &Run<'_>)], next: &AtomicUsize| {
        while let Some((number, run)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if !tell(&runtime, run, &cluster, *number, &dir.join(&run.name)) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).push(run.name.clone());
            }
        }
    };
    let (alone, together): (Vec<_>, Vec<_>) = runs.iter().enumerate().partition(|(_, run)| run.journey.alone);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| one_after_another(&together, &next));
        }
    });
    one_after_another(&alone, &AtomicUsize::new(0));
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    drop(cluster);
    if failed.is_empty() {
        fs::remove_dir_all(&dir)?;
    } else {
        print(&format!("\nfailed: {}; their files are in {}", failed.join(", "), dir.display()));
    }
    print(&format!("\n{} passed, {} failed", runs.len() - failed.len(), failed.len()));
    Ok(failed.len())
}

/// Makes one run and prints how it went; true when it went well.
fn tell(runtime: &Runtime, run: &Run<'_>, cluster: &Arc<Cluster>, number: usize, dir: &Path) -> bool {
    let started = Instant::now();
    // A few run at once: whoever had the block before is long over.
    let block = Block(u8::try_from(number % 250 + 1).unwrap_or(u8::MAX));
    let happens = async {
        let scene = Scene::new(Arc::clone(cluster), &run.name, block, dir.to_owned()).await?;
        (run.journey.story)(scene).await
    };
    let limited = async {
        let limit = soaking(LIMIT.0, LIMIT.1);
        let in_time = timeout(Duration::from_secs(limit), happens).await;
        in_time.unwrap_or_else(|_| Err(Failure::new(format!("it took longer than {limit} s"))))
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(limited)));
    let outcome = outcome.unwrap_or_else(|_| Err(Failure::new("it panicked")));
    let seconds = started.elapsed().as_secs_f32();
    match outcome {
        Ok(()) => {
            print(&format!("test {} ... ok ({seconds:.1} s)", run.name));
            // A hundred journeys with an etcd each fill a disk. What a dying process still writes goes at the end of all.
            drop(fs::remove_dir_all(dir));
        }
        Err(ref failure) => {
            print(&format!("test {} ... FAILED ({seconds:.1} s)\n  {failure}{}", run.name, logs(dir)));
        }
    }
    outcome.is_ok()
}

/// The ends of all logs of a journey.
fn logs(dir: &Path) -> String {
    let mut text = String::new();
    for log in log_files(dir) {
        let lines = last_lines(&log, 25).replace('\n', "\n    ");
        text.push_str(&format!("\n  --- {}\n    {lines}", log.display()));
    }
    text
}

fn log_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let mut logs: Vec<PathBuf> =
        files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "log")).collect();
    logs.extend(
        folders.iter().filter(|path| !path.ends_with("cluster")).flat_map(|folder| log_files(folder)),
    );
    logs.sort();
    logs
}

/// Ends the program on Ctrl-C or SIGTERM: as the first process of its namespace it would ignore them otherwise.
pub async fn end_when_asked() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
    std::process::exit(130);
}

/// Prints one whole line or more, never torn by another journey's.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _nobody_reads = writeln!(out, "{text}").and_then(|()| out.flush());
}
