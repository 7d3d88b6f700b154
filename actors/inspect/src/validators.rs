//! The validators that are asked before a configuration becomes active.

use crate::{tests_of_config, unused};
use haptic_config::Validator;
use haptic_model::{Diagnostic, HAProxyTemplateConfigSpec};
use haptic_render::compile;

/// All of them.
#[must_use]
pub fn validators() -> Vec<Validator> {
    let mut all = Validator::built_in();
    all.push(Validator::pure("template", template_problems));
    all.push(Validator::pure("unused", unused::unused));
    all.push(Validator::pure("tests", tests_of_config::problems));
    all
}

fn template_problems(spec: &HAProxyTemplateConfigSpec) -> Vec<Diagnostic> {
    compile(spec).err().unwrap_or_default()
}
