//! Pods that come and go because somebody wants it.

use crate::{
    node::{BUILT, EARLIER, earlier},
    release::{HOST, Release},
    report::{Measure, measured},
    traffic::Traffic,
};
use integration_tests::{Failure, Outcome, ensure, eventually, http, markdown::root};
use std::{
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

/// `haproxy.preStopSeconds` of the chart, and a second.
const DRAIN: Duration = Duration::from_secs(6);

/// For which a node refuses connections while its one pod is replaced by another on the same ports.
const ON_THE_NODE: Duration = Duration::from_secs(3);
const NODE: [u8; 4] = [10, 98, 0, 2];

/// A pod whose HAProxy was changed at run time ends as soon as its connections have.
pub async fn drain_of_a_pod(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    release.a_new_route_is_served("drain").await?;
    let took = release.end_of_a_pod().await?;
    release.rolled("haptic-haproxy").await?;
    Ok(vec![Measure::new("the container of a deleted pod has ended", took).at_most(DRAIN)])
}

pub async fn haproxy_restart(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let began = Instant::now();
    release.restart("haptic-haproxy").await?;
    Ok(vec![measured("rolled", began)])
}

pub async fn controller_restart(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let began = Instant::now();
    release.restart("haptic-controller").await?;
    let rolled = measured("rolled", began);
    let served = release.a_new_route_is_served("restarted").await?;
    Ok(vec![rolled, Measure::new("a new route served", served)])
}

pub async fn scale(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let began = Instant::now();
    for replicas in [4, 1, 2] {
        release.scale(replicas).await?;
    }
    Ok(vec![measured("2 to 4 to 1 to 2 pods", began)])
}

pub async fn backend_restart(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let began = Instant::now();
    let hello = "deployment/hello";
    release.node.kubectl(&["rollout", "restart", hello]).await?;
    for replicas in ["--replicas=6", "--replicas=2"] {
        release.node.kubectl(&["rollout", "status", hello, "--timeout=60s"]).await?;
        release.node.kubectl(&["scale", hello, replicas]).await?;
    }
    release.node.kubectl(&["rollout", "status", hello, "--timeout=60s"]).await?;
    Ok(vec![measured("rolled, 2 to 6 to 2 pods", began)])
}

/// The budget stops the drain of the one node before the last pods go.
pub async fn node_drained(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let began = Instant::now();
    let ours = "--pod-selector=app.kubernetes.io/name=haptic";
    let drain = ["drain", "node", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=20s", ours];
    ensure(release.node.kubectl(&drain).await.is_err(), "nothing stopped the drain")?;
    let stopped = measured("stopped by its time", began);
    release.node.kubectl(&["uncordon", "node"]).await?;
    release.rolled("haptic-haproxy").await?;
    release.rolled("haptic-controller").await?;
    Ok(vec![stopped])
}

pub async fn daemon_set_and_back(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let began = Instant::now();
    become_daemon_set(&release, &[]).await?;
    let became = measured("a DaemonSet", began);
    let began = Instant::now();
    release.upgrade(&["haproxy.kind=Deployment"]).await?;
    release.has_pods("haproxy", 2).await?;
    Ok(vec![became, measured("a Deployment again", began)])
}

/// The one pod of a node is replaced by another on the same ports. The chart refuses them where Pod Security would let no
/// such pod in.
pub async fn host_ports(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let ports = ["haproxy.hostPorts.http=80", "haproxy.hostPorts.https=443"];
    let refused = become_daemon_set(&release, &ports).await.err();
    let why = refused.as_ref().map_or("", Failure::sentence);
    ensure(why.contains("forbids ports of the node"), format!("ports of the node were not refused: {why}"))?;
    release.enforce("privileged").await?;
    become_daemon_set(&release, &ports).await?;
    let refused = restart_on_the_node(&release).await?;
    release
        .upgrade(&["haproxy.kind=Deployment", "haproxy.hostPorts.http=0", "haproxy.hostPorts.https=0"])
        .await?;
    release.has_pods("haproxy", 2).await?;
    release.enforce("restricted").await?;
    Ok(vec![refused])
}

async fn become_daemon_set(release: &Release, ports: &[&str]) -> Outcome {
    release.upgrade_pods(&[&["haproxy.kind=DaemonSet"], ports].concat()).await?;
    release.kubectl(&["rollout", "status", "daemonset/haptic-haproxy", "--timeout=120s"]).await?;
    release.has_pods("haproxy", 1).await
}

/// Clients of the node's own ports wait until the next pod has them.
async fn restart_on_the_node(release: &Release) -> Outcome<Measure> {
    let addresses = [80, 443].map(|port| SocketAddr::from((NODE, port)));
    eventually("the node serves", async || http::get(addresses[0], HOST, "/").await?.has_status(200)).await?;
    let traffic = Traffic::start(addresses, HOST, false);
    release.kubectl(&["rollout", "restart", "daemonset/haptic-haproxy"]).await?;
    release.kubectl(&["rollout", "status", "daemonset/haptic-haproxy", "--timeout=120s"]).await?;
    let lost = traffic.finish().await.lost;
    let times = || lost.iter().map(|lost| lost.at_ms);
    let lasted = times().max().unwrap_or_default() - times().min().unwrap_or_default();
    Ok(Measure::new("refused by the node's ports", Duration::from_millis(lasted)).at_most(ON_THE_NODE))
}

/// The release becomes that of an earlier revision, definitions and all, and this one again.
pub async fn upgrade_and_back(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let earlier = earlier().ok_or_else(|| Failure::new("there is no earlier revision"))?;
    let began = Instant::now();
    release.becomes(&earlier, Some(EARLIER)).await?;
    let back = measured("back to the earlier revision", began);
    release.a_new_route_is_served("earlier").await?;
    let began = Instant::now();
    release.becomes(root(), None).await?;
    let upgraded = measured("upgraded to this one", began);
    let served = release.a_new_route_is_served("upgraded").await?;
    Ok(vec![back, upgraded, Measure::new("a new route served", served)])
}

/// The release runs the image that the Dockerfile makes as it stands, and again that of the tests.
pub async fn image_of_the_dockerfile(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let began = Instant::now();
    release.becomes(root(), Some(BUILT)).await?;
    let runs = measured("all pods run it", began);
    let served = release.a_new_route_is_served("built").await?;
    release.becomes(root(), None).await?;
    Ok(vec![runs, Measure::new("a new route served", served)])
}
