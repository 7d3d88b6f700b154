//! While a new configuration is refused, what objects change is rendered with the last good one: endpoints come and go however long
//! somebody looks for a mistake in a template.
//!
//! Pure. Whether the new one is tried again, and when, is the [quarantine](haptic_attribution::quarantine)'s to say.

use crate::{
    bundle::Renderer,
    engine::{CompileCache, Program},
    input::RenderLimits,
    job::RenderJob,
    quarantine::QuarantinedRender,
};
use haptic_attribution::quarantine::{QuarantineState, RenderTiming};
use haptic_model::{ActiveConfig, FailureReports, Fleet, Snapshots, pipeline::RenderBasis};
use std::sync::Arc;

/// The last good configuration, and what is held back from it.
#[derive(Debug)]
pub struct FallbackConfig {
    config: Arc<ActiveConfig>,
    quarantine: QuarantineState,
    compiled: CompileCache,
}

/// The inputs of a render of it.
#[derive(Clone, Copy, Debug)]
pub struct FallbackInputs<'c> {
    /// The stores as they are.
    pub snapshots: &'c Snapshots,
    /// The pods.
    pub fleet: &'c Fleet,
    /// The limits of a render.
    pub limits: &'c RenderLimits,
}

impl FallbackConfig {
    /// The configuration that is rendered in place of `config` should it be refused: the last one that passed, if `config` is another one. `before` is the
    /// fallback until now, and `quarantine` the one of the configuration before `config`, or of `config`.
    #[must_use]
    pub fn of(
        config: &ActiveConfig,
        good: Option<&RenderBasis>,
        before: Option<Self>,
        quarantine: &QuarantineState,
    ) -> Option<Self> {
        let good = good.filter(|good| can_replace(&good.config, config))?;
        if before.as_ref().is_some_and(|before| before.config.revision == good.config.revision) {
            return before;
        }
        let is_its = quarantine.revision() == Some(good.config.revision);
        let quarantine = if is_its { quarantine.clone() } else { QuarantineState::default() };
        Some(Self { config: good.config.clone(), quarantine, compiled: CompileCache::default() })
    }

    /// The last good configuration.
    #[must_use]
    pub fn config(&self) -> &Arc<ActiveConfig> {
        &self.config
    }

    /// The objects that are held back.
    #[must_use]
    pub fn quarantine(&self) -> &QuarantineState {
        &self.quarantine
    }

    /// Its templates, once it has rendered.
    #[must_use]
    pub fn compiled(&self) -> Option<&Program> {
        self.compiled.last()
    }

    /// Takes in what later stages found, and renders; `None` when that fails, too.
    pub fn render(
        &mut self,
        renderer: &mut Renderer,
        cluster: FallbackInputs<'_>,
        failure_reports: &FailureReports,
        timing: &RenderTiming<'_>,
    ) -> Option<QuarantinedRender> {
        let compiled = self.compiled.of(&self.config).ok()?;
        let FallbackInputs { snapshots, fleet, limits } = cluster;
        let job = RenderJob { compiled: &compiled, config: &self.config, snapshots, fleet, limits };
        for report in failure_reports {
            job.receive(report, &mut self.quarantine, renderer, timing);
        }
        let outcome = job.render(&mut self.quarantine, renderer, timing);
        outcome.rendering.is_ok().then_some(outcome)
    }
}

/// Objects must be watched for both alike, and files lie where they lay.
fn can_replace(good: &ActiveConfig, new: &ActiveConfig) -> bool {
    let (one, other) = (&good.spec, &new.spec);
    !Arc::ptr_eq(one, other)
        && one.watched_resources == other.watched_resources
        && one.watched_resources_ignore_fields == other.watched_resources_ignore_fields
        && good.layout == new.layout
}
