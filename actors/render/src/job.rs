//! The inputs of a render of all files.

use crate::{engine::Program, input::RenderLimits};
use haptic_model::{ActiveConfig, Fleet, Snapshots};

/// The inputs that a whole bundle is rendered from.
#[derive(Clone, Copy, Debug)]
pub struct RenderJob<'j> {
    /// The templates.
    pub compiled: &'j Program,
    /// The configuration.
    pub config: &'j ActiveConfig,
    /// All stores.
    pub snapshots: &'j Snapshots,
    /// The HAProxy pods.
    pub fleet: &'j Fleet,
    /// The most that it may use up.
    pub limits: &'j RenderLimits,
}
