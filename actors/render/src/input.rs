//! The inputs of a render, how each look into them is noted, and the limits of a render.

use crate::value::Value;
use haptic_model::{ActiveConfig, Fleet, Snapshots, crd::LimitsSpec};
use std::time::Duration;

/// The inputs of the render of one file. The same input gives the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct RenderInput<'a> {
    /// The configuration in force.
    pub config: &'a ActiveConfig,
    /// All stores.
    pub snapshots: &'a Snapshots,
    /// The HAProxy pods.
    pub fleet: &'a Fleet,
    /// The top of every template: extraContext's keys, `extraContext`, `config`, `fleet`.
    pub context: &'a Value,
}

/// The limits of a render.
#[derive(Clone, Copy, Debug)]
pub struct RenderLimits {
    /// Longest time for one file. The objects of one namespace have half of it.
    pub time: Duration,
    /// Most bytes of one file, marks included. The objects of one namespace have half of it.
    pub output: usize,
    /// Most bytes of one outermost object's block, marks included.
    pub block: usize,
    /// Most bytes of values that functions make for one outermost object's block, whether they are still needed or not.
    pub values: usize,
    /// Deepest nesting of partials.
    pub depth: usize,
}

impl Default for RenderLimits {
    /// 20 s, 32 partials deep, and as many bytes as the configuration says.
    fn default() -> Self {
        let most = usize::MAX;
        Self { time: Duration::from_secs(20), output: most, block: most, values: most, depth: 32 }
    }
}

impl RenderLimits {
    /// The same, but no more than a configuration allows.
    #[must_use]
    pub fn within(self, spec: &LimitsSpec) -> Self {
        let (output, block) = (self.output.min(spec.file_bytes), self.block.min(spec.block_bytes));
        Self { output, block, values: self.values.min(spec.value_bytes), ..self }
    }
}
