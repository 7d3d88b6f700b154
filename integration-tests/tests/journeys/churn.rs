//! Changes that come in quick succession, while users are served.

use integration_tests::{
    Outcome, Scene,
    backend::Backend,
    ensure,
    haproxy_pod::{HaproxyPod, Worker},
    load::{Connections, Load},
    manifest,
};
use std::{
    net::Ipv4Addr,
    time::{Duration, Instant},
};
use tokio::time::interval;

/// Routes that are there all the time, and asked for.
const KEPT: [&str; 3] = ["shop", "blog", "mail"];
/// How long wrk asks.
const LOAD: Duration = Duration::from_secs(10);
/// Ten endpoint changes a second.
const ENDPOINT_CHANGES: Duration = Duration::from_millis(100);
/// Five changes of routes a second.
const ROUTE_CHANGES: Duration = Duration::from_millis(200);

/// No request fails, nothing is reloaded by an agent, and at last everything is as the last change says.
pub async fn under_load(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let backends = backends(&scene).await?;
    for name in KEPT {
        scene.publish(name, &host(name), &backends[0]).await?;
        pod.serves(&host(name), &backends[0].name).await?;
    }
    let before = pod.worker().await?;
    let hosts = KEPT.map(host);
    // What a reload closes while nothing is asked on it, a client may ask on all the same: that is no request that fails.
    let first = if pod.has_agent() { Connections::Kept } else { Connections::New };
    let loads = [(first, 4), (Connections::New, 2)]
        .map(|connections| Load::start(pod.http(), &hosts, connections, LOAD, &scene.dir, &[]));
    let mut churn = Churn::of(&scene, &backends);
    churn.go_on_for(LOAD).await?;
    for load in loads {
        let tally = load?.finish().await?;
        ensure(tally.failed == 0, format!("requests failed: {}", tally.line))?;
        ensure(tally.requests > 100, format!("hardly any load: {}", tally.line))?;
    }
    churn.ends_well(&pod).await?;
    is_not_reloaded(&pod, before).await
}

/// By an agent; a Data Plane API reloads for a route.
async fn is_not_reloaded(pod: &HaproxyPod, before: Worker) -> Outcome {
    let after = pod.worker().await?;
    ensure(
        !pod.has_agent() || before == after,
        format!("HAProxy reloaded: it was {before:?} and is {after:?}"),
    )
}

/// A HAProxy that is killed in the midst of changes comes back, and goes on with them.
pub async fn haproxy_killed_meanwhile(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let backends = backends(&scene).await?;
    for name in KEPT {
        scene.publish(name, &host(name), &backends[0]).await?;
        pod.serves(&host(name), &backends[0].name).await?;
    }
    let mut churn = Churn::of(&scene, &backends);
    for _ in 0..2 {
        churn.go_on_for(Duration::from_secs(1)).await?;
        pod.kill_haproxy()?;
        churn.go_on_for(Duration::from_secs(1)).await?;
        churn.ends_well(&pod).await?;
    }
    Ok(())
}

/// An agent, or a Data Plane API, that is killed in the midst of orders is followed by one that goes on; HAProxy serves all the time.
pub async fn agent_killed_meanwhile(scene: Scene) -> Outcome {
    let (mut pod, _controller) = scene.running().await?;
    let backends = backends(&scene).await?;
    for name in KEPT {
        scene.publish(name, &host(name), &backends[0]).await?;
        pod.serves(&host(name), &backends[0].name).await?;
    }
    let traffic = pod.traffic(&host(KEPT[0]));
    let mut churn = Churn::of(&scene, &backends);
    for _ in 0..3 {
        churn.go_on_for(Duration::from_secs(1)).await?;
        pod.kill_agent().await?;
        churn.go_on_for(Duration::from_millis(300)).await?;
        pod.start_containers().await?;
        churn.ends_well(&pod).await?;
    }
    traffic.finish_without_loss().await.map(drop)
}

/// The same of a controller.
pub async fn controller_killed_meanwhile(scene: Scene) -> Outcome {
    let (pod, mut controller) = scene.running().await?;
    let backends = backends(&scene).await?;
    for name in KEPT {
        scene.publish(name, &host(name), &backends[0]).await?;
        pod.serves(&host(name), &backends[0].name).await?;
    }
    let traffic = pod.traffic(&host(KEPT[0]));
    let before = pod.worker().await?;
    let mut churn = Churn::of(&scene, &backends);
    for _ in 0..3 {
        churn.go_on_for(Duration::from_secs(1)).await?;
        controller.kill().await?;
        churn.go_on_for(Duration::from_millis(300)).await?;
        controller = scene.controller()?;
        churn.ends_well(&pod).await?;
    }
    is_not_reloaded(&pod, before).await?;
    traffic.finish_without_loss().await.map(drop)
}

async fn backends(scene: &Scene) -> Outcome<Vec<Backend>> {
    let mut backends = Vec::new();
    for name in ["a", "b", "c", "d"] {
        backends.push(scene.backend(name).await?);
    }
    Ok(backends)
}

fn host(name: &str) -> String {
    format!("{name}.example")
}

/// Endpoints move, routes come and go.
struct Churn<'s> {
    scene: &'s Scene,
    backends: &'s [Backend],
    endpoint_changes: usize,
    /// Which of the routes that come and go there are, by number; the next is one more than the last.
    routes: std::ops::Range<usize>,
}

impl<'s> Churn<'s> {
    fn of(scene: &'s Scene, backends: &'s [Backend]) -> Self {
        Self { scene, backends, endpoint_changes: 0, routes: 0..0 }
    }

    async fn go_on_for(&mut self, lasts: Duration) -> Outcome {
        let (mut endpoints, mut routes) = (interval(ENDPOINT_CHANGES), interval(ROUTE_CHANGES));
        let started = Instant::now();
        while started.elapsed() < lasts {
            tokio::select! {
                _ = endpoints.tick() => self.move_endpoints().await?,
                _ = routes.tick() => self.change_a_route().await?,
            }
        }
        Ok(())
    }

    /// Each route has two of the four backends; one of them is replaced each time.
    async fn move_endpoints(&mut self) -> Outcome {
        self.endpoint_changes += 1;
        let name = KEPT[self.endpoint_changes % KEPT.len()];
        self.scene.apply(&manifest::endpoints(name, &self.two(self.endpoint_changes / KEPT.len()))).await
    }

    /// Three routes are there; each time one comes or one goes.
    async fn change_a_route(&mut self) -> Outcome {
        if self.routes.len() < 3 {
            let name = format!("late-{}", self.routes.end);
            self.routes.end += 1;
            self.scene.publish(&name, &host(&name), &self.backends[0]).await
        } else {
            let name = format!("late-{}", self.routes.start);
            self.routes.start += 1;
            self.scene.delete(&manifest::ingress(&name, &host(&name), &name)).await?;
            self.scene.delete(&manifest::endpoints(&name, &[])).await?;
            self.scene.delete(&manifest::service(&name)).await
        }
    }

    /// Waits until HAProxy answers as the newest objects say.
    async fn ends_well(&self, pod: &HaproxyPod) -> Outcome {
        for name in KEPT {
            self.scene.apply(&manifest::endpoints(name, &[self.backends[3].address])).await?;
            pod.serves(&host(name), &self.backends[3].name).await?;
        }
        for number in self.routes.clone() {
            pod.serves(&host(&format!("late-{number}")), &self.backends[0].name).await?;
        }
        for number in 0..self.routes.start {
            pod.answers(&host(&format!("late-{number}")), 404).await?;
        }
        Ok(())
    }

    fn two(&self, turn: usize) -> [Ipv4Addr; 2] {
        [turn, turn + 1].map(|number| self.backends[number % self.backends.len()].address)
    }
}
