//! Series of changes of one kind: each is written, then HAProxy is asked until its answer shows it.
//!
//! Time counts from the API server's answer that it took the change (for files: from the end of the write) until the
//! answer of HAProxy that shows it. What the API server itself took is a figure of its own.

use crate::{
    dataset::{Member, Move, Secured},
    figures::Scope,
    probe::{Seen, Shows},
    progress::say,
    site::Site,
    statistics::{milliseconds, percentile},
};
use integration_tests::{Failure, Outcome, http::Connection};
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};
use tokio::{task::JoinSet, time::sleep};

/// Between the end of one change and the next: no round number, so that changes do not fall in step with anything.
pub const BETWEEN: Duration = Duration::from_millis(23);
/// From one change to the next, where they do not wait for each other.
const STORM: Duration = Duration::from_millis(20);
/// From one new route to the next, where a reload would make each wait for the others.
const STREAM: Duration = Duration::from_millis(200);
/// `minDeploymentInterval` of the configuration: reloads are at least this far apart.
const RELOADS_APART: Duration = Duration::from_secs(2);
/// A certificate is asked for again after this; a handshake takes about as long.
const HANDSHAKES_APART: Duration = Duration::from_millis(1);
const CERTIFICATE_WITHIN: Duration = Duration::from_secs(60);

/// One change.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// What the API server took for it.
    accept: Duration,
    /// From then on until it was seen.
    live: Duration,
    /// By how much it may have been seen late.
    late: Duration,
}

impl Timing {
    /// Of a change written from `sent` to `accepted` and then seen.
    pub fn of(sent: Instant, accepted: Instant, seen: Seen) -> Self {
        Self {
            accept: accepted.duration_since(sent),
            live: seen.at.saturating_duration_since(accepted),
            late: seen.late,
        }
    }

    /// What the API server took for it.
    pub fn accept(&self) -> Duration {
        self.accept
    }

    /// From the API server's answer until it was seen.
    pub fn live(&self) -> Duration {
        self.live
    }
}

impl Site<'_> {
    /// Runs `work` and adds what came of it under `name`: times, reloads, where the time went.
    pub async fn measured(
        &self,
        name: &str,
        work: impl Future<Output = Outcome<Vec<Timing>>>,
        series: &mut Scope<'_>,
    ) -> Outcome {
        let (before, metrics, started) = (self.worker().await?, self.metrics().await?, Instant::now());
        let timings = work.await?;
        let (took, after, now) = (started.elapsed(), self.worker().await?, self.metrics().await?);
        let mut scope = series.within(name);
        let of = |what: fn(&Timing) -> Duration, percent| {
            percentile(&timings.iter().map(what).collect::<Vec<_>>(), percent).map_or(0.0, milliseconds)
        };
        scope.add("p50_ms", of(|timing| timing.live, 50));
        scope.add("p99_ms", of(|timing| timing.live, 99));
        scope.add("api_server_p50_ms", of(|timing| timing.accept, 50));
        scope.add("seen_late_p99_ms", of(|timing| timing.late, 99));
        let reloads = after.reloads.saturating_sub(before.reloads);
        scope.count("reloads", reloads);
        if reloads > 0 {
            let intervals = 1 + took.as_secs() / RELOADS_APART.as_secs();
            scope.count("reloads_too_many", reloads.saturating_sub(intervals));
        }
        for (stage, mean) in now.means_since(&metrics) {
            scope.add(&format!("mean_{stage}_ms"), mean);
        }
        for (reason, count) in now.reloads_since(&metrics) {
            say(&format!("  {count} reloads: {reason}"));
        }
        tell(name, &timings, reloads);
        Ok(())
    }

    /// `count` endpoint changes, one after the other.
    pub async fn endpoint_changes(&self, count: usize) -> Outcome<Vec<Timing>> {
        let mut timings = Vec::with_capacity(count);
        for _ in 0..count {
            sleep(BETWEEN).await;
            timings.push(self.moved(self.dataset.change(self.next_change())).await?);
            progress("endpoint changes", &timings, count);
        }
        Ok(timings)
    }

    /// Endpoint changes for as long as `lasts`, 50 a second, whatever becomes of those before.
    pub async fn storm(&self, lasts: Duration) -> Outcome<Vec<Timing>> {
        let mut clock = tokio::time::interval(STORM);
        let (mut under_way, started) = (JoinSet::new(), Instant::now());
        while started.elapsed() < lasts {
            clock.tick().await;
            let change = self.dataset.change(self.next_change());
            under_way.spawn(self.moved(change));
        }
        all(under_way).await
    }

    /// New routes of `members`, one after the other.
    pub async fn new_routes(&self, members: impl ExactSizeIterator<Item = Member>) -> Outcome<Vec<Timing>> {
        let count = members.len();
        let mut timings = Vec::with_capacity(count);
        for member in members {
            sleep(BETWEEN).await;
            timings.push(self.new_route(member).await?);
            progress("new routes", &timings, count);
        }
        Ok(timings)
    }

    /// New routes of `members`, five a second, whatever becomes of those before.
    pub async fn stream_of_new_routes(&self, members: impl Iterator<Item = Member>) -> Outcome<Vec<Timing>> {
        let mut clock = tokio::time::interval(STREAM);
        let mut under_way = JoinSet::new();
        for member in members {
            clock.tick().await;
            under_way.spawn(self.new_route(member));
        }
        all(under_way).await
    }

    /// Routes that go, one after the other.
    pub async fn deleted_routes(
        &self,
        members: impl ExactSizeIterator<Item = Member>,
    ) -> Outcome<Vec<Timing>> {
        let count = members.len();
        let mut timings = Vec::with_capacity(count);
        for member in members {
            sleep(BETWEEN).await;
            let seen = self.prober.ask(member.host(), Shows::NoRoute);
            let [service, endpoints, route] = (self.manifests)(member);
            let sent = Instant::now();
            self.objects.delete(&route).await?;
            let accepted = Instant::now();
            let (seen, rest) = tokio::join!(seen, async {
                self.objects.delete(&endpoints).await?;
                self.objects.delete(&service).await
            });
            rest?;
            timings.push(Timing::of(sent, accepted, seen?));
            progress("deleted routes", &timings, count);
        }
        Ok(timings)
    }

    /// A new certificate for each of `hosts`, one after the other, seen at `front` in a handshake.
    pub async fn rotations(
        &self,
        hosts: impl ExactSizeIterator<Item = Secured>,
        front: SocketAddr,
    ) -> Outcome<Vec<Timing>> {
        let count = hosts.len();
        let mut timings = Vec::with_capacity(count);
        for secured in hosts {
            sleep(BETWEEN).await;
            let (certificate, secret) = secured.secret()?;
            let sent = Instant::now();
            self.objects.change(&secret).await?;
            let accepted = Instant::now();
            let seen = shown(front, &secured.host(), &certificate.der).await?;
            timings.push(Timing::of(sent, accepted, seen));
            progress("certificates", &timings, count);
        }
        Ok(timings)
    }

    /// Writes an endpoint change and waits until it is live.
    pub fn moved(&self, change: Move) -> impl Future<Output = Outcome<Timing>> + Send + use<> {
        let (objects, prober) = (self.objects.clone(), self.prober.clone());
        async move {
            let sent = Instant::now();
            objects.change(&change.slice).await?;
            let accepted = Instant::now();
            let shows = Shows::OneOf(vec![change.address.to_string()]);
            let seen = prober.ask(change.member.host(), shows).await?;
            Ok(Timing::of(sent, accepted, seen))
        }
    }

    /// Writes a route; the time counts from the last of its objects on.
    pub fn new_route(&self, member: Member) -> impl Future<Output = Outcome<Timing>> + Send + use<> {
        let (objects, prober) = (self.objects.clone(), self.prober.clone());
        let wanted = member.addresses().iter().map(ToString::to_string).collect();
        let manifests = (self.manifests)(member);
        async move {
            let sent = Instant::now();
            objects.create_together(manifests).await?;
            let accepted = Instant::now();
            let seen = prober.ask(member.host(), Shows::Route(wanted)).await?;
            Ok(Timing::of(sent, accepted, seen))
        }
    }
}

/// Waits until `front` shows `certificate` for `host`.
pub async fn shown(front: SocketAddr, host: &str, certificate: &[u8]) -> Outcome<Seen> {
    let deadline = Instant::now() + CERTIFICATE_WITHIN;
    let mut before = Instant::now();
    while before < deadline {
        let begun = Instant::now();
        if let Ok(connection) = Connection::open(front, Some(host)).await
            && connection.certificate() == Some(certificate)
        {
            let at = Instant::now();
            return Ok(Seen { at, late: at.duration_since(before) });
        }
        before = begun;
        sleep(HANDSHAKES_APART).await;
    }
    Err(Failure::new(format!(
        "{host}: the new certificate is not shown within {} s",
        CERTIFICATE_WITHIN.as_secs()
    )))
}

async fn all(mut under_way: JoinSet<Outcome<Timing>>) -> Outcome<Vec<Timing>> {
    let mut timings = Vec::with_capacity(under_way.len());
    while let Some(done) = under_way.join_next().await {
        timings.push(done??);
    }
    Ok(timings)
}

fn progress(what: &str, timings: &[Timing], count: usize) {
    if timings.len() < count && timings.len().is_multiple_of(100) {
        say(&format!("{} of {count} {what}", timings.len()));
    }
}

fn tell(name: &str, timings: &[Timing], reloads: u64) {
    let of = |percent, of: fn(&Timing) -> Duration| {
        let all: Vec<Duration> = timings.iter().map(of).collect();
        percentile(&all, percent).map_or(0.0, milliseconds)
    };
    say(&format!(
        "{} x {name}: p50 {:.1} ms, p99 {:.1} ms, slowest {:.1} ms; {reloads} reloads",
        timings.len(),
        of(50, |t| t.live),
        of(99, |t| t.live),
        of(100, |t| t.live),
    ));
    let late = of(99, |t| t.late);
    if late > 5.0 {
        say(&format!(
            "  the instrument: up to {late:.1} ms of that are its own, from one question to the next"
        ));
    }
}
