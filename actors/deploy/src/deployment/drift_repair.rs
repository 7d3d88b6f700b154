//! Sets right what somebody changed through HAProxy's socket: by operations, or by a reload where none helps.

use super::{
    attempt::{DeployAttempt, NextStep},
    drift,
    failure::DeployFailure,
    order::{MissingContent, OrderBaseline},
};
use crate::planner::ReasonKind;
use haptic_model::{
    Event,
    agent_api::{Method, Outcome},
};
use haptic_runtime::cpu;
use std::sync::Arc;

impl DeployAttempt {
    /// Looks whether somebody changed what HAProxy runs through its socket, tells it and sets it right.
    pub(super) async fn repair_drift(&mut self) -> Result<Option<NextStep>, DeployFailure> {
        let Some(known) = self.progress.known.clone() else { return Ok(None) };
        let Some(view) = known.digest().and_then(|digest| self.progress.views.find(digest)) else {
            return Ok(None);
        };
        let Some(bundle) = view.bundle().cloned() else { return Ok(None) };
        let runtime = self.transport.runtime().await?;
        let found = cpu("deploy", move || drift::differences(&view, &runtime)).await?;
        // What another leader changes meanwhile is its business.
        if found.is_empty() || !self.still_leads() {
            return Ok(None);
        }
        let what = drift::summary(&found);
        self.deployment.events.emit(Event::DriftFound { pod: self.deployment.name(), what: what.clone() });
        if found.iter().any(|difference| difference.repair.is_empty()) {
            self.progress.force_reload(ReasonKind::Drift, format!("somebody changed HAProxy: {what}"), None);
            return Ok(Some(NextStep::Retry("somebody else changes it")));
        }
        let operations = found.into_iter().flat_map(|difference| difference.repair).collect();
        let baseline = OrderBaseline {
            epoch: self.leadership.epoch,
            base: known.digest(),
            since: Some(&bundle),
            besides: None,
            missing: &MissingContent::Nothing,
        };
        let generation = known.running.map(|running| running.generation).unwrap_or_default();
        let order = baseline.order(&bundle, generation, Method::Runtime { operations, store: false });
        self.progress.forget();
        match self.transport.apply(Arc::new(order)).await? {
            Outcome::Applied { .. } => {
                self.progress.known = Some(known);
                Ok(None)
            }
            Outcome::Refused { message, .. } => {
                let said = bundle.redacted(&message);
                let sentence = format!("somebody changed HAProxy ({what}), and its socket refused: {said}");
                self.progress.force_reload(ReasonKind::Drift, sentence, None);
                Ok(Some(NextStep::Retry("somebody else changes it")))
            }
            Outcome::Failed { message } => Err(DeployFailure::Failed(bundle.redacted(&message))),
            _ => Ok(Some(NextStep::Retry("somebody else changes it"))),
        }
    }
}
