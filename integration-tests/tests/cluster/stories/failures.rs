//! What breaks by itself: processes, the API server, the node's own programs.

use crate::{
    node::signal,
    release::Release,
    report::{Measure, measured},
    routing::Routing,
};
use integration_tests::{Failure, Outcome, ensure, eventually};
use rustix::process::Signal;
use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
    rc::Rc,
    time::{Duration, Instant},
};

/// For which the API server is away: far longer than a Lease lasts.
pub const AWAY: Duration = Duration::from_secs(300);

/// Nothing happens: what traffic notices of the machine alone.
pub async fn calm(_release: Rc<Release>) -> Outcome<Vec<Measure>> {
    tokio::time::sleep(Duration::from_secs(10)).await;
    Ok(Vec::new())
}

/// A pod is whole again when all its containers are ready.
async fn pods_are_ready(release: &Release) -> Outcome {
    for deployment in ["haptic-haproxy", "haptic-controller"] {
        release.rolled(deployment).await?;
    }
    Ok(())
}

async fn first_haproxy_pod(release: &Release) -> Outcome<String> {
    let mut pods = release.pods("haproxy").await?.into_iter();
    pods.next().ok_or_else(|| Failure::new("there is no HAProxy pod"))
}

/// All of HAProxy in one pod is killed: its agent starts it anew.
pub async fn haproxy_killed(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let pod = first_haproxy_pod(&release).await?;
    let killed = release.node.processes_of("haproxy", &pod);
    let began = Instant::now();
    killed.iter().try_for_each(|pid| signal(*pid, Signal::KILL))?;
    eventually("HAProxy runs again", async || {
        let now = release.node.processes_of("haproxy", &pod);
        let is_new = !now.is_empty() && now.iter().all(|pid| !killed.contains(pid));
        ensure(is_new, format!("{now:?}"))
    })
    .await?;
    let back = measured("HAProxy runs again", began);
    pods_are_ready(&release).await?;
    let served = release.a_new_route_is_served("haproxy-killed").await?;
    Ok(vec![back, Measure::new("a new route served", served)])
}

/// An agent is killed while it applies changes; HAProxy goes with it, and the container is started again.
pub async fn agent_killed(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let pod = first_haproxy_pod(&release).await?;
    let pid = release.node.process_of("haptic", &pod)?;
    let names: Vec<String> = (0..20).map(|number| format!("applied-{number}")).collect();
    let began = Instant::now();
    for (number, name) in names.iter().enumerate() {
        release.route(name).await?;
        if number == names.len() / 2 {
            signal(pid, Signal::KILL)?;
        }
    }
    for name in &names {
        release.serves(&format!("{name}.example.com")).await?;
    }
    let served = measured("20 routes served by all pods", began);
    for name in &names {
        release.node.kubectl(&["delete", Routing::chosen().kind(), name, "--wait=false"]).await?;
    }
    pods_are_ready(&release).await?;
    Ok(vec![served])
}

/// Endpoints change before and after; whoever was served is.
pub async fn api_server_away(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    release.node.kubectl(&["scale", "deployment/hello", "--replicas=3"]).await?;
    let stopped = release.node.without_api_server()?;
    tokio::time::sleep(AWAY).await;
    drop(stopped);
    let began = Instant::now();
    eventually("the API server answers", async || release.node.kubectl(&["get", "--raw", "/readyz"]).await)
        .await?;
    release.node.kubectl(&["scale", "deployment/hello", "--replicas=2"]).await?;
    release.a_new_route_is_served("after-away").await?;
    let served = measured("a new route served, from its return on", began);
    pods_are_ready(&release).await?;
    Ok(vec![served])
}

/// Agents start HAProxy from what is on their disks.
pub async fn agents_killed_without_api_server(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let mut pids = Vec::new();
    for pod in release.pods("haproxy").await? {
        pids.push(release.node.process_of("haptic", &pod)?);
    }
    let stopped = release.node.without_api_server()?;
    let began = Instant::now();
    pids.iter().try_for_each(|pid| signal(*pid, Signal::KILL))?;
    release.serves(crate::release::HOST).await?;
    let served = measured("served from disk by all pods", began);
    drop(stopped);
    pods_are_ready(&release).await?;
    release.a_new_route_is_served("after-all").await?;
    Ok(vec![served])
}

/// Watches that go on from a revision that is no more are begun anew.
pub async fn etcd_compacted(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let leader = release.leader().await?;
    let pid = release.node.process_of("haptic", &leader)?;
    release.node.in_network_of(pid, &["ip", "route", "add", "blackhole", "10.96.0.1"]).await?;
    for number in 0..20 {
        let size = format!("round={number}");
        release.node.kubectl(&["annotate", "service", "hello", &size, "--overwrite"]).await?;
    }
    release.node.compact().await?;
    release.node.in_network_of(pid, &["ip", "route", "delete", "blackhole", "10.96.0.1"]).await?;
    let served = release.a_new_route_is_served("compacted").await?;
    Ok(vec![Measure::new("a new route served", served)])
}

/// One agent has no room for another file. The others go on, people are told which pod has what, and it catches up.
pub async fn disk_full(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let pod = first_haproxy_pod(&release).await?;
    let pid = release.node.process_of("haptic", &pod)?;
    let filler = format!("/proc/{pid}/root/run/haptic/filler");
    fill(Path::new(&filler))?;
    release.route("no-room").await?;
    let condition = r#"jsonpath={.status.conditions[?(@.type=="Ready")].message}"#;
    eventually("somebody says which pod has no room", async || {
        let message = release.get(&["haptpl", "haptic", "-o", condition]).await?;
        ensure(message.contains(&pod) && message.contains("No space left"), message)
    })
    .await?;
    let began = Instant::now();
    fs::remove_file(&filler)?;
    release.serves("no-room.example.com").await?;
    let served = measured("a route served by all, once there is room", began);
    release.unroute("no-room").await?;
    pods_are_ready(&release).await?;
    Ok(vec![served])
}

fn fill(file: &Path) -> Outcome {
    let mut file = File::create(file)?;
    let block = vec![0; 1 << 20];
    loop {
        match file.write_all(&block) {
            Err(full) if full.kind() == io::ErrorKind::StorageFull => return Ok(()),
            written => written?,
        }
    }
}

pub async fn kubelet_restart(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    release.node.restart("kubelet").await?;
    let served = release.a_new_route_is_served("kubelet").await?;
    pods_are_ready(&release).await?;
    Ok(vec![Measure::new("a new route served", served)])
}

pub async fn containerd_restart(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    release.node.restart("containerd").await?;
    let served = release.a_new_route_is_served("containerd").await?;
    pods_are_ready(&release).await?;
    Ok(vec![Measure::new("a new route served", served)])
}
