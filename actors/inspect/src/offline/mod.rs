//! What a controller would make of a configuration and objects, rendered once without one: the objects, the stores that no watch
//! fills, and the render.

pub mod certificate;
pub mod names;
pub mod objects;

use haptic_attribution::quarantine::{QuarantineState, RenderTiming};
use haptic_model::{ActiveConfig, Diagnostic, Fleet, Generation, Quarantine, Snapshots};
use haptic_render::{Program, RenderJob, RenderLimits, Renderer, Rendering};
use std::{sync::Arc, time::Instant};

/// What is found at fault late takes another render; more than these there are not.
const RENDERS: u32 = 3;

/// Renders, and gives what was left out beside it.
///
/// # Errors
/// What is wrong with the templates themselves.
pub fn render_once(
    compiled: &Arc<Program>,
    config: &ActiveConfig,
    snapshots: &Snapshots,
    fleet: &Fleet,
) -> Result<(Rendering, Quarantine), Vec<Diagnostic>> {
    let limits = RenderLimits::default();
    let job = RenderJob { compiled, config, snapshots, fleet, limits: &limits };
    let (mut quarantine, mut renderer, mut number) = (QuarantineState::default(), Renderer::default(), 1);
    loop {
        let timing = RenderTiming { generation: Generation(number.into()), now: Instant::now(), good: None };
        let outcome = job.render(&mut quarantine, &mut renderer, &timing);
        match outcome.rendering {
            Ok(rendering) => return Ok((rendering, quarantine.described())),
            Err(_) if outcome.again && number < RENDERS => number += 1,
            Err(faults) => return Err(faults.into_diagnostics()),
        }
    }
}
