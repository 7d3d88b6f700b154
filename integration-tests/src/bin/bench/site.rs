//! A running controller with its HAProxy, seen from outside: how it starts, rests, and what it costs.

use crate::{
    dataset::{Dataset, Member},
    figures::Scope,
    memory::{self, Memory},
    metering::{self, Metrics},
    probe::{Prober, Shows},
    progress::say,
};
use integration_tests::{
    Outcome, controller::Controller, ensure, eventually, eventually_within, haproxy_pod::HaproxyPod,
    haproxy_pod::Worker, http, objects::Objects,
};
use serde_json::Value;
use std::{
    cell::Cell,
    net::SocketAddr,
    time::{Duration, Instant},
};

/// Where every controller serves `/debug`, by default.
pub const DEBUG_PORT: u16 = 6060;
/// And its metrics.
const METRICS_PORT: u16 = 9090;
/// For the first configuration to be live: with 10,000 Ingresses that is many seconds of work.
const FIRST_WITHIN: Duration = Duration::from_secs(300);
/// A controller that has nothing new for this long is at rest.
const REST: Duration = Duration::from_secs(3);

/// What is measured, and where.
pub struct Site<'s> {
    /// What was there at the beginning.
    pub dataset: Dataset,
    /// Where changes go in.
    pub objects: Objects,
    /// Where HAProxy answers.
    pub front: SocketAddr,
    /// Where the controller serves `/debug`.
    pub debug: SocketAddr,
    /// The controller's process.
    pub process: u32,
    /// The pod; `haptic local` has none.
    pub pod: Option<&'s HaproxyPod>,
    /// Asks HAProxy.
    pub prober: Prober,
    /// Endpoint changes made so far: each brings an address that was never there.
    pub changes: &'s Cell<usize>,
    /// What a route is written as: its Service, its EndpointSlice, and what sends requests there.
    pub manifests: fn(Member) -> [Value; 3],
}

impl<'s> Site<'s> {
    /// That of `pod` and its controller.
    pub fn of_pod(
        pod: &'s HaproxyPod,
        controller: &Controller,
        (dataset, objects): (Dataset, &Objects),
        changes: &'s Cell<usize>,
    ) -> Self {
        Self {
            dataset,
            objects: objects.clone(),
            front: pod.http(),
            debug: (controller.address, DEBUG_PORT).into(),
            process: controller.process_id(),
            pod: Some(pod),
            prober: Prober::start(pod.http()),
            changes,
            manifests: Member::manifests,
        }
    }
}

impl Site<'_> {
    /// Waits until the last route is live and the controller at rest, and says what that took.
    pub async fn come_to_rest(&self, started: Instant, into: &mut Scope<'_>) -> Outcome {
        let wanted = self.dataset.last().addresses().iter().map(ToString::to_string).collect();
        self.first_answer(wanted).await?;
        into.add("first_route_s", started.elapsed().as_secs_f64());
        self.at_rest().await?;
        self.memory_into("resident", into)
    }

    /// Adds what controller and agent, if there is one, hold in memory now.
    pub fn memory_into(&self, name: &str, into: &mut Scope<'_>) -> Outcome {
        let Memory { resident, peak } = memory::of(self.process)?;
        into.add(&format!("{name}_mb"), resident);
        into.add(&format!("{name}_peak_mb"), peak);
        let mut said = format!("memory: controller {resident:.0} MB, at most {peak:.0} MB");
        if let Some(pod) = self.pod.filter(|pod| pod.has_agent()) {
            let agent = memory::of(pod.agent_process()?)?;
            into.add(&format!("agent_{name}_mb"), agent.resident);
            said = format!("{said}; agent {:.0} MB, at most {:.0} MB", agent.resident, agent.peak);
        }
        say(&said);
        Ok(())
    }

    /// Reloads and worker of HAProxy; of `haptic local` only the reloads are known.
    pub async fn worker(&self) -> Outcome<Worker> {
        match self.pod {
            Some(pod) => pod.worker().await,
            None => Ok(Worker { pid: 0, reloads: metering::reloads(self.agent_address().await?).await? }),
        }
    }

    /// What the controller's metrics say now.
    pub async fn metrics(&self) -> Outcome<Metrics> {
        Metrics::read(SocketAddr::new(self.debug.ip(), METRICS_PORT)).await
    }

    /// The next change of an endpoint that was never changed so before.
    pub fn next_change(&self) -> usize {
        self.changes.replace(self.changes.get() + 1)
    }

    /// Waits until the controller has nothing more to do.
    pub async fn at_rest(&self) -> Outcome {
        let mut last = (Value::Null, Instant::now());
        eventually_within(FIRST_WITHIN, "the controller comes to rest", async || {
            let generations = self.look("/debug/generations").await?;
            let pods = self.look("/debug/pods").await?;
            let newest = &generations["rendered"]["generation"];
            if last.0 != *newest {
                last = (newest.clone(), Instant::now());
            }
            ensure(*newest == generations["validated"]["generation"], format!("{generations}"))?;
            ensure(pods[0]["deployed"] == *newest, format!("generation {newest}, but {pods}"))?;
            ensure(last.1.elapsed() > REST, "it has only just deployed something")
        })
        .await
    }

    /// Changes an object, and waits until what follows from it is deployed. Nothing follows where nothing is rendered for a while.
    pub async fn changed(&self, manifest: &Value) -> Outcome {
        let before = self.newest().await?;
        self.objects.change(manifest).await?;
        let written = Instant::now();
        eventually("the change is deployed", async || {
            let (newest, pods) = (self.newest().await?, self.look("/debug/pods").await?);
            ensure(newest > before || written.elapsed() > REST, "nothing was rendered")?;
            ensure(pods[0]["deployed"].as_u64() == newest, format!("generation {newest:?}, but {pods}"))
        })
        .await
    }

    /// The newest generation that was rendered.
    async fn newest(&self) -> Outcome<Option<u64>> {
        Ok(self.look("/debug/generations").await?["rendered"]["generation"].as_u64())
    }

    async fn first_answer(&self, wanted: Vec<String>) -> Outcome {
        let last = self.dataset.last();
        eventually_within(FIRST_WITHIN, "HAProxy answers", async || {
            http::get(self.front, &last.host(), "/").await?.has_status(200)
        })
        .await?;
        self.prober.ask(last.host(), Shows::Route(wanted)).await.map(drop)
    }

    async fn agent_address(&self) -> Outcome<SocketAddr> {
        let pods = self.look("/debug/pods").await?;
        Ok(pods[0]["address"].as_str().unwrap_or_default().parse()?)
    }

    /// What the controller shows under `path`.
    pub async fn look(&self, path: &str) -> Outcome<Value> {
        let answer = http::get(self.debug, "controller", path).await?;
        answer.has_status(200)?;
        Ok(serde_json::from_str(&answer.body)?)
    }
}
