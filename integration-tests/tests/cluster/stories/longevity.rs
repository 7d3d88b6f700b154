//! An hour of everything at random, and what it leaves in memory. It runs when it is asked for by name:
//! `make cluster ONLY=longevity MINUTES=60`, SEED=n to repeat.

use crate::{node::signal, release::Release, report::Measure, routing::Routing};
use integration_tests::{Failure, Outcome, certificate, dice::Dice, ensure, manifest, runner::print};
use rustix::process::Signal;
use std::{
    collections::BTreeMap,
    env, fs,
    rc::Rc,
    time::{Duration, Instant, SystemTime},
};

/// Between two changes.
const PAUSE: Duration = Duration::from_millis(500);
/// Whose certificate is renewed.
const HOST: &str = "churn.example.com";
/// Of routes that come and go.
const ROUTES: usize = 50;
/// So many changes lie between two processes that are killed.
const KILLS: usize = 120;
/// A process that grows by more in an hour leaks.
const MOST_GROWTH: f64 = 20.0 * MB;
const MB: f64 = 1024.0 * 1024.0;
/// What a process takes in its first minutes it keeps: caches fill. They say nothing of a leak.
const WARM_AFTER: f64 = 0.25;

/// What a process was seen to have.
struct Sample {
    at: f64,
    memory: f64,
    files: f64,
}

pub async fn longevity(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let minutes: u64 = number("MINUTES").unwrap_or(60);
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
    let seed = number("SEED").unwrap_or(since_1970);
    print(&format!("longevity: {minutes} minutes, SEED={seed}"));
    let (mut dice, began, lasts) = (Dice(seed), Instant::now(), Duration::from_secs(60 * minutes));
    let mut samples: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let secret = Routing::chosen().tls_route(&release.node, "churn").await?;
    let mut changes = 0;
    while began.elapsed() < lasts {
        *counts.entry(change(&release, &secret, &mut dice).await?).or_default() += 1;
        changes += 1;
        if changes % KILLS == 0 {
            *counts.entry(kill(&release, &mut dice).await?).or_default() += 1;
        }
        if changes % 10 == 0 {
            sample(&release, began, &mut samples).await?;
        }
        tokio::time::sleep(PAUSE).await;
    }
    release.rolled("haptic-haproxy").await?;
    let served = release.a_new_route_is_served("longevity").await?;
    let counts: Vec<String> = counts.iter().map(|(what, count)| format!("{count} × {what}")).collect();
    print(&format!("longevity: {changes} changes: {}", counts.join(", ")));
    let grown: Vec<String> =
        samples.iter().filter_map(|(process, samples)| judged(process, samples)).collect();
    ensure(grown.is_empty(), format!("more than {} MB an hour: {}", MOST_GROWTH / MB, grown.join("; ")))?;
    Ok(vec![Measure::new("a new route served at its end", served)])
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}

/// A route that comes or goes, endpoints that move, a certificate that is renewed, options that change; which of them.
async fn change(release: &Release, secret: &str, dice: &mut Dice) -> Outcome<&'static str> {
    let routing = Routing::chosen();
    let name = format!("churn-{}", dice.below(ROUTES));
    let is_there = release.node.kubectl(&["get", routing.kind(), &name, "-o", "name"]).await.is_ok();
    match dice.below(10) {
        0..5 if is_there => {
            release.unroute(&name).await?;
            Ok("a route goes")
        }
        0..5 => {
            release.route(&name).await?;
            Ok("a route comes")
        }
        5..7 if is_there => {
            routing.set_timeout(&release.node, &name, 10 + dice.below(50)).await?;
            Ok("a route's option")
        }
        5..7 => {
            let value = format!("round={}", dice.below(1000));
            release.node.kubectl(&["annotate", "service", "hello", &value, "--overwrite"]).await?;
            Ok("a Service's annotation")
        }
        7 => {
            let secret = manifest::tls_secret(secret, &certificate::for_host(HOST)?);
            release.node.apply(&secret.to_string()).await?;
            Ok("a certificate")
        }
        _ => {
            let replicas = format!("--replicas={}", 2 + dice.below(4));
            release.node.kubectl(&["scale", "deployment/hello", &replicas]).await?;
            Ok("endpoints")
        }
    }
}

/// A pod is deleted, or a controller's process killed; which of them.
async fn kill(release: &Release, dice: &mut Dice) -> Outcome<&'static str> {
    match dice.below(3) {
        0 => delete(release, &a_pod(release, "controller", dice).await?, "a controller's pod").await,
        1 => delete(release, &a_pod(release, "haproxy", dice).await?, "a HAProxy pod").await,
        _ => {
            // Its container may be about to start.
            if let Ok(pid) = release.node.process_of("haptic", &a_pod(release, "controller", dice).await?) {
                signal(pid, Signal::KILL)?;
            }
            Ok("a controller's process")
        }
    }
}

async fn a_pod(release: &Release, component: &str, dice: &mut Dice) -> Outcome<String> {
    let pods = release.pods(component).await?;
    dice.pick(&pods).cloned().ok_or_else(|| Failure::new(format!("there is no {component}")))
}

/// Whoever ends anyway may be gone meanwhile.
async fn delete(release: &Release, pod: &str, what: &'static str) -> Outcome<&'static str> {
    release.kubectl(&["delete", "pod", pod, "--wait=false", "--ignore-not-found"]).await?;
    Ok(what)
}

/// Memory and open files of all its processes.
async fn sample(release: &Release, began: Instant, samples: &mut BTreeMap<String, Vec<Sample>>) -> Outcome {
    let at = began.elapsed().as_secs_f64() / 3600.0;
    for component in ["controller", "haproxy"] {
        for pod in release.pods(component).await? {
            for name in ["haptic", "haproxy"] {
                for pid in release.node.processes_of(name, &pod) {
                    let (Some(memory), Ok(files)) = (memory(pid), fs::read_dir(format!("/proc/{pid}/fd")))
                    else {
                        continue; // it has ended meanwhile
                    };
                    let files = files.count() as f64;
                    let process = format!("{name} {pid} of {pod}");
                    samples.entry(process).or_default().push(Sample { at, memory, files });
                }
            }
        }
    }
    Ok(())
}

fn memory(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}

/// Prints what became of a process, and says so if it grows too fast. Of one that lived short nothing can be said.
fn judged(process: &str, samples: &[Sample]) -> Option<String> {
    let (first, last) = (samples.first()?, samples.last()?);
    let warm = first.at + (last.at - first.at) * WARM_AFTER;
    let slope =
        |of: fn(&Sample) -> f64| slope(samples.iter().filter(|s| s.at >= warm).map(|s| (s.at, of(s))));
    let (memory, files) = (slope(|sample| sample.memory), slope(|sample| sample.files));
    let line = format!(
        "{process}: {:.0} to {:.0} MB in {:.0} min, {:+.1} MB an hour; {:.0} to {:.0} open files, {:+.0} an hour",
        first.memory / MB,
        last.memory / MB,
        (last.at - first.at) * 60.0,
        memory / MB,
        first.files,
        last.files,
        files
    );
    print(&line);
    (memory > MOST_GROWTH && last.at - first.at > 0.4).then_some(line)
}

/// Of the line through these points that has the least squares.
fn slope(points: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let count = points.clone().count().max(1) as f64;
    let mean = |of: fn((f64, f64)) -> f64| points.clone().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let (mut up, mut along) = (0.0, 0.0);
    for (at, value) in points {
        up += (at - x) * (value - y);
        along += (at - x).powi(2);
    }
    if along == 0.0 { 0.0 } else { up / along }
}
