//! Renders without what is [held back](haptic_attribution::quarantine), so that one bad object never stops the others.

use crate::{
    bundle::{Renderer, Rendering},
    job::RenderJob,
};
use haptic_attribution::quarantine::{self, GivenInputs, QuarantineState, RenderTiming};
use haptic_model::{FailureReport, Snapshots};
use std::sync::Arc;

/// A render in which nobody stops the others.
pub type QuarantinedRender = quarantine::QuarantineOutcome<Rendering>;

impl RenderJob<'_> {
    /// Renders without what is held back and what this render finds at fault.
    pub fn render(
        &self,
        quarantine: &mut QuarantineState,
        renderer: &mut Renderer,
        timing: &RenderTiming<'_>,
    ) -> QuarantinedRender {
        let attempt = |snapshots: &Snapshots| renderer.attempt(&RenderJob { snapshots, ..*self });
        quarantine.render(attempt, &self.given(), timing)
    }

    /// Takes in what a later stage found; each report counts once. `renderer` knows what blocks had read.
    pub fn receive(
        &self,
        report: &Arc<FailureReport>,
        quarantine: &mut QuarantineState,
        renderer: &Renderer,
        timing: &RenderTiming<'_>,
    ) {
        let reads_of = |objects: &[&Arc<_>]| renderer.reads_of(objects.iter().copied());
        quarantine.receive(report, reads_of, &self.given(), timing);
    }

    fn given(&self) -> GivenInputs<'_> {
        GivenInputs { config: self.config, snapshots: self.snapshots, fleet: self.fleet }
    }
}
