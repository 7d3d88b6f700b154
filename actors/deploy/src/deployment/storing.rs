//! Storing a checked bundle's files on the pod, beside whatever else is done to it: what HAProxy runs is not affected, and
//! nothing waits for a disk.

use super::{
    context::Deployment,
    failure::DeployFailure,
    order::{MissingContent, OrderBaseline},
    progress::PodProgress,
};
use crate::planner::ReasonKind;
use haptic_model::{
    Epoch,
    agent_api::{Apply, Method, Outcome},
    pipeline::Validated,
};

impl PodProgress {
    /// The order to store the newest checked bundle, once the pod runs it or what came after it.
    pub fn order_to_store(&self, validated: &Validated, epoch: Epoch) -> Option<Apply> {
        let known = self.known.as_ref()?;
        let (generation, bundle) = (validated.generation(), validated.bundle());
        let is_there = known.stored_digest() == Some(bundle.digest) && known.intact;
        let is_reached = self.reached().is_some_and(|reached| reached >= generation);
        // A reload that is due brings them.
        if self.obstacles.forced_reload.is_some() || is_there || !is_reached {
            return None;
        }
        let since = known.stored_digest().and_then(|digest| self.views.find(digest));
        let besides = known.digest().filter(|_| known.exact).and_then(|digest| self.views.find(digest));
        let baseline = OrderBaseline {
            epoch,
            base: known.stored_digest(),
            since: since.as_ref().and_then(|view| view.bundle()),
            besides: besides.as_ref().and_then(|view| view.bundle()),
            missing: &self.missing_to_store,
        };
        Some(baseline.order(bundle, generation, Method::Store))
    }
}

impl Deployment {
    /// Takes the outcome of an order to store.
    pub fn conclude_storing(
        &self,
        progress: &mut PodProgress,
        validated: &Validated,
        outcome: Outcome,
    ) -> Result<(), DeployFailure> {
        match outcome {
            Outcome::Applied { .. } => {
                if let Some(known) = &mut progress.known {
                    known.stored(validated.bundle(), validated.generation());
                    let stored = known.stored;
                    self.update(|state| state.stored = stored);
                }
                progress.views.stored = Some(self.plans.view(validated.bundle()));
                progress.missing_to_store = MissingContent::Nothing;
                tracing::debug!(pod = %self.pod, generation = validated.generation().0, "files stored");
                Ok(())
            }
            Outcome::Conflict { .. } => {
                progress.forget();
                Ok(())
            }
            Outcome::Stale { .. } => {
                progress.forget();
                Err(DeployFailure::Stale)
            }
            Outcome::Missing { paths } => progress.missing_to_store.learn(paths),
            Outcome::Refused { message, .. } => {
                // HAProxy could not begin anew with it: a reload finds whose fault that is.
                let said = validated.bundle().redacted(&message);
                let sentence = format!("what it runs is refused by the pod's checker: {said}");
                progress.force_reload(ReasonKind::Refused, sentence, None);
                Ok(())
            }
            Outcome::Failed { message } => Err(DeployFailure::NotStored(message)),
        }
    }
}
