//! Keeps the configuration's status as it should be.

use super::ReportInputs;
use crate::{
    report::{
        api::{StatusApi, StatusAtServer},
        health::{FailedGeneration, FleetHealth, Lag, Progress, ReportedHealth},
        status,
    },
    reporting::Reporting,
    rounds::Rounds,
};
use haptic_model::config::ConfigVerdict;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;

/// A storm of changes is one round in this time.
const INTERVAL: Duration = Duration::from_secs(1);
/// After a failed call.
const BACKOFF: Duration = Duration::from_secs(5);

/// The status as this leader knows it, and what it is made from besides the topics.
pub(crate) struct StatusTask {
    pub(crate) rounds: Rounds,
    api: StatusApi,
    lag: Lag,
    known: Option<StatusAtServer>,
    /// The verdict that the known status was read after.
    config_verdict: Option<ConfigVerdict>,
    is_catching: bool,
}

/// What a round ends with: the resource as it is then.
pub(crate) type RoundResult = (Option<StatusAtServer>, Result<(), String>);

impl StatusTask {
    pub(crate) fn new(api: StatusApi, now: Instant) -> Self {
        let (lag, rounds) = (Lag::default(), Rounds::new(now));
        Self { rounds, api, lag, known: None, config_verdict: None, is_catching: false }
    }

    /// One round, if it is time for one.
    pub(crate) fn begin(
        &mut self,
        inputs: &ReportInputs,
        failed: Option<&FailedGeneration>,
        reporting: Arc<Reporting>,
        now: Instant,
    ) -> Option<impl Future<Output = RoundResult> + use<>> {
        if !self.rounds.begin(now) {
            return None;
        }
        if self.config_verdict != inputs.config_verdict {
            // The resource may be another one of the same name, which has no status yet.
            (self.known, self.config_verdict) = (None, inputs.config_verdict.clone());
        }
        let validated = inputs.validated.as_deref();
        let accepted = inputs.accepted.as_deref();
        let fleet = self.lag.advance(validated, &inputs.pods, now);
        self.is_catching = matches!(fleet, FleetHealth::Catching);
        let health = inputs.config_verdict.clone().map(|judgement| ReportedHealth {
            judgement,
            progress: Progress::of(accepted, validated, &inputs.snapshots, &inputs.troubles),
            checked: validated.map(|validated| validated.rendered.config.resource_generation),
            failed: failed.cloned(),
            fleet,
            quarantine: inputs.quarantine.clone(),
            missing: inputs.missing.clone(),
            rejected: inputs.rejected.clone(),
            watched: counted(inputs),
            reporting,
        });
        let (api, mut known) = (self.api.clone(), self.known.take());
        Some(async move {
            let done = match &health {
                Some(health) => bring(&api, &mut known, health).await,
                None => Ok(()),
            };
            (known, done)
        })
    }

    /// Takes up what a round ended with.
    pub(crate) fn ended(&mut self, known: Option<StatusAtServer>, is_done: bool, now: Instant) {
        if is_done {
            let again = now + INTERVAL;
            self.rounds.ended(again, self.is_catching.then(|| again + INTERVAL));
            self.known = known;
        } else {
            let again = now + BACKOFF;
            self.rounds.ended(again, Some(again));
        }
    }
}

/// How many objects of each watched resource there are, those that are held among them.
fn counted(inputs: &ReportInputs) -> BTreeMap<String, usize> {
    let watched = inputs.active.iter().flat_map(|config| config.spec.watched_resources.keys());
    let read = watched
        .filter_map(|name| Some((name, inputs.snapshots.get(name).filter(|store| store.is_synced())?)));
    read.map(|(name, store)| (name.clone(), store.len())).collect()
}

/// Writes the status if it is not as `health` says.
async fn bring(
    api: &StatusApi,
    known: &mut Option<StatusAtServer>,
    health: &ReportedHealth,
) -> Result<(), String> {
    if known.is_none() {
        *known = api.read().await?;
    }
    // Deleted: there is nothing to write to.
    let Some(found) = known else { return Ok(()) };
    if let Some(status) = status::changed(&found.status, health, jiff::Timestamp::now()) {
        api.write(&status).await?;
        found.status = status;
    }
    Ok(())
}
