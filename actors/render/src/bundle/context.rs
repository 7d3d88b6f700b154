//! The context that every block of a render depends on: templates, configuration, fleet, limits.
//!
//! Nothing is kept from a render with another context.

use crate::{encode::Fitting, engine::Program, input::RenderLimits, value::Value};
use haptic_model::{ActiveConfig, Fleet, HAProxyTemplateConfigSpec, Layout};
use std::sync::Arc;

/// The context of a render. Holds what it compares by address, so no address is ever used again.
#[derive(Debug)]
pub(crate) struct RenderContext {
    templates: Arc<()>,
    spec: Arc<HAProxyTemplateConfigSpec>,
    layout: Layout,
    /// The pods.
    pub fleet: Fleet,
    output: usize,
    depth: usize,
    /// The top of every template.
    pub top: Value,
    /// How files are fitted to the pods.
    pub fitting: Fitting,
}

impl RenderContext {
    /// The context of a render of `compiled` templates.
    ///
    /// # Errors
    /// Never in practice: the configuration came from JSON.
    pub fn new(
        compiled: &Program,
        config: &ActiveConfig,
        fleet: &Fleet,
        limits: &RenderLimits,
    ) -> Result<Self, String> {
        Ok(Self {
            templates: compiled.identity().clone(),
            spec: config.spec.clone(),
            layout: config.layout.clone(),
            fleet: fleet.clone(),
            output: limits.output,
            depth: limits.depth,
            top: context(config, fleet)?,
            fitting: Fitting::of(config),
        })
    }

    /// Whether it is the context of such a render, too.
    pub fn is_of(
        &self,
        compiled: &Program,
        config: &ActiveConfig,
        fleet: &Fleet,
        limits: &RenderLimits,
    ) -> bool {
        Arc::ptr_eq(&self.templates, compiled.identity())
            && Arc::ptr_eq(&self.spec, &config.spec)
            && self.layout == config.layout
            && self.fleet == *fleet
            && (self.output, self.depth) == (limits.output, limits.depth)
    }
}

/// The top of every template: extraContext's keys, and `extraContext`, `config`, `fleet`, which they cannot hide.
///
/// # Errors
/// Never in practice: the configuration came from JSON.
pub fn context(config: &ActiveConfig, fleet: &Fleet) -> Result<Value, String> {
    let extra = &config.spec.templating_settings.extra_context;
    let json = |value: serde_json::Result<serde_json::Value>| {
        value.map(|v| Value::from(&v)).map_err(|e| e.to_string())
    };
    let own = [
        ("extraContext", Value::dict(extra.iter().map(|(k, v)| (k.as_str().into(), v.into())))),
        ("config", json(serde_json::to_value(&*config.spec))?),
        ("fleet", json(serde_json::to_value(fleet))?),
    ];
    let keys = extra.iter().map(|(k, v)| (k.as_str().into(), Value::from(v)));
    Ok(Value::dict(keys.chain(own.into_iter().map(|(k, v)| (k.into(), v)))))
}
