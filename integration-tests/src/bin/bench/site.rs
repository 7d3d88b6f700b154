//! A running controller with its HAProxy, seen from outside: changes go in, HAProxy's answers come out.

use crate::{
    dataset::Dataset,
    figures::Scope,
    metering::{self, Stages},
    objects::Objects,
    probe::Probe,
    progress::say,
    statistics::{milliseconds, percentile},
};
use integration_tests::{Failure, Outcome, ensure, eventually::eventually_within, http};
use serde_json::Value;
use std::{
    fs,
    net::SocketAddr,
    time::{Duration, Instant},
};
use tokio::time::sleep;

/// Where every controller serves `/debug`, by default.
pub const DEBUG_PORT: u16 = 6060;
/// And its metrics.
const METRICS_PORT: u16 = 9090;
/// For the first configuration to be live: with 10,000 Ingresses that is many seconds of work.
const FIRST_WITHIN: Duration = Duration::from_secs(300);
/// A controller that has nothing new for this long is at rest.
const REST: Duration = Duration::from_secs(3);
/// Longer than `minDeploymentInterval`, which holds back a reload that follows another: each new route is measured alone.
const BETWEEN_ROUTES: Duration = Duration::from_millis(2_200);
/// So that changes do not fall in step with anything.
const BETWEEN_CHANGES: Duration = Duration::from_millis(23);
/// As the figures are named: the series that is measured.
const SERIES: &str = "haproxy_3.4";

/// What is measured, and where.
pub struct Site {
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
}

impl Site {
    /// Waits until the last route is live, then measures `changes` endpoint changes and `routes` new routes.
    ///
    /// # Errors
    /// A change never becomes live.
    pub async fn measure(
        &self,
        changes: usize,
        routes: usize,
        started: Instant,
        into: &mut Scope<'_>,
    ) -> Outcome {
        self.first_answer().await?;
        into.add("first_route_s", started.elapsed().as_secs_f64());
        let agent = self.at_rest().await?;
        let memory = memory(self.process)?;
        into.add("resident_mb", memory.resident);
        into.add("resident_peak_mb", memory.peak);
        say(&format!("at rest: {:.0} MB resident, {:.0} MB at the peak", memory.resident, memory.peak));
        let mut series = into.within(SERIES);
        let live = self.watched(agent, self.endpoint_changes(changes)).await?;
        live.add_to("endpoint_change", &mut series);
        let live = self.watched(agent, self.new_routes(routes)).await?;
        live.add_to("new_route", &mut series);
        Ok(())
    }

    async fn first_answer(&self) -> Outcome {
        let last = self.dataset.last();
        let wanted: Vec<String> = last.addresses().iter().map(ToString::to_string).collect();
        eventually_within(FIRST_WITHIN, "the last route is live", async || {
            let answer = http::get(self.front, &last.host(), "/").await?;
            answer.has_status(200)?;
            ensure(wanted.contains(&answer.body), format!("answer of {}", answer.body))
        })
        .await
    }

    /// Waits until the controller has nothing more to do, and gives the address of the pod's agent.
    async fn at_rest(&self) -> Outcome<SocketAddr> {
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
            ensure(last.1.elapsed() > REST, "it has only just deployed something")?;
            Ok(pods[0]["address"].as_str().unwrap_or_default().parse()?)
        })
        .await
    }

    async fn endpoint_changes(&self, count: usize) -> Outcome<Vec<Duration>> {
        let mut live = Vec::with_capacity(count);
        for number in 0..count {
            sleep(BETWEEN_CHANGES).await;
            let change = self.dataset.change(number);
            let probe = self.probe(&change.member.host(), vec![change.address.to_string()]);
            let start = Instant::now();
            self.objects.change(&change.slice).await?;
            live.push(probe.answered().await?.duration_since(start));
            self.tell("endpoint changes", number, count, &live);
        }
        Ok(live)
    }

    async fn new_routes(&self, count: usize) -> Outcome<Vec<Duration>> {
        let mut live = Vec::with_capacity(count);
        for (number, member) in self.dataset.newcomers().take(count).enumerate() {
            sleep(BETWEEN_ROUTES).await;
            let wanted = member.addresses().iter().map(ToString::to_string).collect();
            let probe = self.probe(&member.host(), wanted);
            let start = Instant::now();
            self.objects.create_together(member.manifests()).await?;
            live.push(probe.answered().await?.duration_since(start));
            self.tell("new routes", number, count, &live);
        }
        Ok(live)
    }

    fn probe(&self, host: &str, wanted: Vec<String>) -> Probe {
        Probe { front: self.front, host: host.to_owned(), wanted }
    }

    fn tell(&self, what: &str, number: usize, count: usize, live: &[Duration]) {
        let done = number + 1;
        if done == count || done.is_multiple_of(50) {
            let [median, slowest] =
                [50, 100].map(|percent| percentile(live, percent).map_or(0.0, milliseconds));
            say(&format!("{done} of {count} {what}: median {median:.1} ms, slowest {slowest:.1} ms"));
        }
    }

    async fn watched(
        &self,
        agent: SocketAddr,
        work: impl Future<Output = Outcome<Vec<Duration>>>,
    ) -> Outcome<Live> {
        let controller = SocketAddr::new(self.debug.ip(), METRICS_PORT);
        let (reloads, stages) = (metering::reloads(agent).await?, Stages::read(controller).await?);
        let durations = work.await?;
        Ok(Live {
            durations,
            reloads: metering::reloads(agent).await? - reloads,
            stages: Stages::read(controller).await?.means_since(&stages),
        })
    }

    async fn look(&self, path: &str) -> Outcome<Value> {
        let answer = http::get(self.debug, "controller", path).await?;
        answer.has_status(200)?;
        Ok(serde_json::from_str(&answer.body)?)
    }
}

/// How long changes took to become live, and what they cost HAProxy.
struct Live {
    durations: Vec<Duration>,
    reloads: f64,
    stages: Vec<(&'static str, f64)>,
}

impl Live {
    fn add_to(&self, name: &str, series: &mut Scope<'_>) {
        let mut scope = series.within(name);
        for percent in [50, 99] {
            if let Some(found) = percentile(&self.durations, percent) {
                scope.add(&format!("p{percent}_ms"), milliseconds(found));
            }
        }
        scope.add("reloads", self.reloads);
        for (stage, mean) in &self.stages {
            scope.add(&format!("mean_{stage}_ms"), *mean);
        }
    }
}

/// Megabytes of a process.
struct Memory {
    resident: f64,
    peak: f64,
}

fn memory(process: u32) -> Outcome<Memory> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let of = |field: &str| -> Outcome<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let kilobytes: Option<f64> =
            line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok());
        kilobytes
            .map(|kb| kb / 1024.0)
            .ok_or_else(|| Failure::new(format!("/proc has no {field} of {process}")))
    };
    Ok(Memory { resident: of("VmRSS")?, peak: of("VmHWM")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_process_is_read_from_the_kernel() {
        let memory = memory(std::process::id()).unwrap();
        assert!(memory.resident > 1.0 && memory.peak >= memory.resident - 1.0);
    }
}
