//! The leader goes away, in each way there is.

use crate::{
    node::{Stopped, signal},
    release::Release,
    report::{Measure, measured},
};
use integration_tests::{Failure, Outcome, ensure, eventually};
use k8s_openapi::jiff::Timestamp;
use rustix::process::Signal;
use serde_json::json;
use std::{
    fs,
    path::PathBuf,
    rc::Rc,
    time::{Duration, Instant},
};

/// `leaseDurationSeconds` of the chart's election, and a second.
const SUCCESSION: Duration = Duration::from_secs(16);
/// In which a leader that crashed leads again under its own name.
const BACK: Duration = Duration::from_secs(3);
/// The API server, by its Service and by the node's own address.
const API_SERVER: [&str; 2] = ["10.96.0.1", "10.98.0.2"];

pub async fn deleted(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let leader = release.leader().await?;
    let began = Instant::now();
    release.kubectl(&["delete", "pod", &leader, "--wait=false"]).await?;
    release.another_leads(&leader).await?;
    let succeeded = measured("another leads", began).at_most(SUCCESSION);
    let served = release.a_new_route_is_served("deleted").await?;
    release.rolled("haptic-controller").await?;
    Ok(vec![succeeded, Measure::new("a new route served", served)])
}

/// Its container is started again, and it takes its own Lease up.
pub async fn killed(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let leader = release.leader().await?;
    let pid = release.node.process_of("haptic", &leader)?;
    let began = Instant::now();
    leads_again_after_a_kill(&release, pid).await?;
    let back = measured("leads again", began).at_most(BACK);
    let served = release.a_new_route_is_served("killed").await?;
    Ok(vec![back, Measure::new("a new route served", served)])
}

/// How far its clock jumps, there and back.
const JUMP: Duration = Duration::from_secs(600);
/// Has the C library of a process ask another clock, whose distance from the real one is in a file.
const CLOCK: [(&str, &str); 4] = [
    ("LD_PRELOAD", "/run/haptic/libfaketime.so.1"),
    ("FAKETIME_TIMESTAMP_FILE", "/run/haptic/clock"),
    ("FAKETIME_CACHE_DURATION", "1"),
    // No other word keeps it from the clock that only goes forward, which no machine's jumps.
    ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
];

/// The library for it, of the part `node`.
pub fn library_of_clocks() -> Option<PathBuf> {
    let library = PathBuf::from(std::env::var_os("HAPTIC_NODE")?).join("lib/libfaketime.so.1");
    library.is_file().then_some(library)
}

/// It goes on leading, and nobody else does, whatever its clock says. The machine's own is not touched.
pub async fn clock_jumps(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let variables = CLOCK.map(|(name, value)| json!({ "name": name, "value": value }));
    release.upgrade_with(&["--set-json", &format!("controller.env={}", json!(variables))]).await?;
    release.has_pods("controller", 2).await?;
    let leader = release.leader().await?;
    let pid = release.node.process_of("haptic", &leader)?;
    let own = PathBuf::from(format!("/proc/{pid}/root/run/haptic"));
    let library = library_of_clocks().ok_or_else(|| Failure::new("there is no library of clocks"))?;
    fs::copy(library, own.join("libfaketime.so.1"))?;
    fs::write(own.join("clock"), "+0")?;
    leads_again_after_a_kill(&release, pid).await?;

    let leader = release.leader().await?;
    let pid = release.node.process_of("haptic", &leader)?;
    let clock = PathBuf::from(format!("/proc/{pid}/root/run/haptic/clock"));
    let mut longest = Duration::ZERO;
    for seconds in [JUMP.as_secs(), 0] {
        fs::write(&clock, format!("+{seconds}"))?;
        renewals_are_ahead_by(&release, seconds).await?;
        longest = longest.max(release.a_new_route_is_served(&format!("jump-{seconds}")).await?);
        // Whoever would have to take over has had the time.
        tokio::time::sleep(SUCCESSION).await;
        let now = release.leader().await?;
        ensure(now == leader, format!("{now} leads and {leader} did, {seconds} s ahead"))?;
    }
    release.upgrade_pods(&["controller.env=null"]).await?;
    Ok(vec![Measure::new("a new route served, there and back", longest)])
}

/// Waits until the Lease is renewed with a time that is so many seconds ahead.
async fn renewals_are_ahead_by(release: &Release, seconds: u64) -> Outcome {
    eventually("the leader's clock shows in the Lease", async || {
        let renewed = release.get(&["lease", "haptic", "-o", "jsonpath={.spec.renewTime}"]).await?;
        let ahead = renewed.parse::<Timestamp>()?.duration_since(Timestamp::now()).as_secs();
        ensure(ahead.abs_diff(i64::try_from(seconds)?) < 60, format!("it is {ahead} s ahead"))
    })
    .await
}

async fn leads_again_after_a_kill(release: &Release, pid: u32) -> Outcome {
    let before = renewals(release).await?;
    signal(pid, Signal::KILL)?;
    eventually("somebody leads again", async || {
        let now = renewals(release).await?;
        let is_alive = release.node.process_of("haptic", &release.leader().await?).is_ok();
        ensure(is_alive && now != before, now)
    })
    .await
}

async fn renewals(release: &Release) -> Outcome<String> {
    release.get(&["lease", "haptic", "-o", "jsonpath={.spec.holderIdentity}"]).await
}

pub async fn stopped(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let leader = release.leader().await?;
    let began = Instant::now();
    let stopped = Stopped::new(vec![release.node.process_of("haptic", &leader)?])?;
    release.another_leads(&leader).await?;
    let succeeded = measured("another leads", began).at_most(SUCCESSION);
    let served = release.a_new_route_is_served("stopped").await?;
    drop(stopped);
    release.rolled("haptic-controller").await?;
    Ok(vec![succeeded, Measure::new("a new route served", served)])
}

/// It runs, and the API server is out of its reach.
pub async fn cut_off(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let leader = release.leader().await?;
    let pid = release.node.process_of("haptic", &leader)?;
    let began = Instant::now();
    for address in API_SERVER {
        release.node.in_network_of(pid, &["ip", "route", "add", "blackhole", address]).await?;
    }
    release.another_leads(&leader).await?;
    let succeeded = measured("another leads", began).at_most(SUCCESSION);
    let served = release.a_new_route_is_served("cut-off").await?;
    for address in API_SERVER {
        release.node.in_network_of(pid, &["ip", "route", "delete", "blackhole", address]).await?;
    }
    release.rolled("haptic-controller").await?;
    Ok(vec![succeeded, Measure::new("a new route served", served)])
}
