//! What a controller would make of a configuration and objects, once: bad objects are left out, and told.

use crate::output;
use haptic_model::{ActiveConfig, Diagnostic, Fleet, Generation, Quarantine, Snapshots};
use haptic_render::{
    Compiled, Limits, Renderer, Rendering,
    quarantine::{Job, Moment, Ward},
};
use std::{sync::Arc, time::Instant};

/// What is found at fault late takes another render; more than these there are not.
const RENDERS: u32 = 3;

/// Renders, and gives what was left out beside it.
///
/// # Errors
/// What is wrong with the templates themselves.
pub fn render_once(
    compiled: &Arc<dyn Compiled>,
    config: &ActiveConfig,
    snapshots: &Snapshots,
    fleet: &Fleet,
) -> Result<(Rendering, Quarantine), Vec<Diagnostic>> {
    let limits = Limits::default();
    let job = Job { compiled: &**compiled, config, snapshots, fleet, limits: &limits };
    let (mut ward, mut renderer, mut number) = (Ward::default(), Renderer::default(), 1);
    loop {
        let moment = Moment { generation: Generation(number.into()), now: Instant::now(), good: None };
        let outcome = ward.render(&mut renderer, &job, &moment);
        match outcome.rendering {
            Ok(rendering) => return Ok((rendering, ward.told())),
            Err(_) if outcome.again && number < RENDERS => number += 1,
            Err(faults) => return Err(faults.into_diagnostics()),
        }
    }
}

/// Tells which objects are left out, each with what is wrong with it.
pub fn complain_of(left_out: &Quarantine) {
    for held in left_out.held.values() {
        let message = format!("left out: {}", held.why.message);
        output::complain_about(&[Diagnostic { message, ..held.why.clone() }]);
    }
}
