//! What was done to a pod last, noted for those who look.

use super::driver::Deployment;
use crate::planner::Plan;
use haptic_model::{Generation, pipeline::LastPlan};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

impl Deployment {
    /// Notes a plan that was carried out.
    pub(super) fn note_plan(
        &self,
        plan: &Plan,
        generation: Generation,
        reload: Option<String>,
        took: Duration,
    ) {
        let mut operations = BTreeMap::new();
        for operation in plan.verdict.operations() {
            *operations.entry(operation.name()).or_default() += 1;
        }
        let last = LastPlan {
            generation,
            reload,
            operations,
            written: plan.write.clone(),
            deleted: plan.delete.clone(),
            took,
            at: SystemTime::now(),
        };
        self.roster.update(&self.pod, |state| state.last_plan = Some(Arc::new(last)));
    }
}
