//! Changes while wrk asks as fast as it is answered. What counts is that no request fails on routes that are there all the
//! time; half of the endpoint changes are theirs.

use crate::{figures::Scope, probe::Shows, progress::say, series::Timing, site::Site};
use integration_tests::{
    Outcome,
    load::{Connections, Load},
};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use tokio::{
    task::JoinSet,
    time::{interval, sleep},
};

/// Ten endpoint changes a second.
const ENDPOINT_CHANGES: Duration = Duration::from_millis(100);
/// Five changes of routes a second: each time one comes, and goes later.
const NEW_ROUTES: Duration = Duration::from_millis(400);
/// How long such a route stays.
const ROUTE_STAYS: Duration = Duration::from_secs(2);
/// Routes that are asked for all the time.
const ASKED: usize = 8;
/// Connections, how they live and how many.
const LOADS: [(&str, Connections, usize); 2] =
    [("kept_connections", Connections::Kept, 8), ("new_connections", Connections::New, 4)];

impl Site<'_> {
    /// Loads HAProxy for as long as `lasts`, with changes under way, and adds how that went.
    pub async fn under_load(&self, lasts: Duration, dir: &Path, into: &mut Scope<'_>) -> Outcome {
        let hosts: Vec<String> = self.dataset.first(ASKED).map(|member| member.host()).collect();
        let start =
            |(_, connections, count)| Load::start(self.front, &hosts, (connections, count), lasts, dir, &[]);
        let loads = LOADS.into_iter().map(start).collect::<Outcome<Vec<Load>>>()?;
        self.measured("changes", self.changes(lasts), into).await?;
        let mut failed = 0;
        for (load, (name, ..)) in loads.into_iter().zip(LOADS) {
            let tally = load.finish().await?;
            say(&format!("{name}: {}", tally.line));
            let mut scope = into.within(name);
            scope.count("requests", tally.requests);
            scope.count("failed_requests", tally.failed);
            scope.count("request_p99_us", tally.p99_us);
            failed += tally.failed;
        }
        into.count("failed_requests", failed);
        self.memory_into("resident", into)
    }

    /// Endpoints move and routes come and go for as long as `lasts`. Changes of routes that are asked for are not waited
    /// for: the next may be there before.
    async fn changes(&self, lasts: Duration) -> Outcome<Vec<Timing>> {
        let started = Instant::now();
        let (mut endpoints, mut routes) = (interval(ENDPOINT_CHANGES), interval(NEW_ROUTES));
        let (mut under_way, mut going) = (JoinSet::new(), JoinSet::new());
        let mut newcomers = self.dataset.newcomers().collect::<Vec<_>>().into_iter().cycle();
        while started.elapsed() < lasts {
            tokio::select! {
                _ = endpoints.tick() => {
                    let number = self.next_change();
                    let asked = self.dataset.first(ASKED).nth(number / 2 % ASKED).filter(|_| number.is_multiple_of(2));
                    match asked {
                        Some(asked) => self.objects.change(&self.dataset.change_of(asked, number).slice).await?,
                        None => drop(under_way.spawn(self.moved(self.dataset.change(number)))),
                    }
                }
                _ = routes.tick() => {
                    let Some(member) = newcomers.next() else { continue };
                    let (comes, objects, prober) = (self.new_route(member), self.objects.clone(), self.prober.clone());
                    going.spawn(async move {
                        let timing = comes.await?;
                        sleep(ROUTE_STAYS).await;
                        objects.delete_together(&member.manifests()).await?;
                        prober.ask(member.host(), Shows::NoRoute).await?;
                        Outcome::Ok(timing)
                    });
                }
            }
        }
        let mut timings = Vec::new();
        for mut set in [under_way, going] {
            while let Some(done) = set.join_next().await {
                timings.push(done??);
            }
        }
        Ok(timings)
    }
}
