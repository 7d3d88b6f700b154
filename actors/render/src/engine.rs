//! What templates are to the rest of HAPTIC, whatever languages they are written in.

pub use crate::{
    captured::Uncacheable,
    compiled::{Compiled, ImpureBlock, RenderedFile},
    effects::AddedFile,
    input::{Read, RenderInput, RenderLimits},
    language::Language,
    templates::{Role, Template, Templates},
};

use crate::program::Program;
use haptic_model::{ActiveConfig, Diagnostic, HAProxyTemplateConfigSpec};
use std::sync::Arc;

/// The templates of `spec`, ready to render.
///
/// # Errors
/// Everything that is wrong with them, each with template, line and column.
pub fn compile(spec: &HAProxyTemplateConfigSpec) -> Result<Arc<dyn Compiled>, Vec<Diagnostic>> {
    Ok(Arc::new(Program::compile(&Templates::of(spec))?))
}

/// The templates of one configuration at a time, compiled when it first renders.
#[derive(Debug, Default)]
pub struct CompileCache(Option<(u64, Arc<dyn Compiled>)>);

impl CompileCache {
    /// The templates of `config`; those of the revision asked for before are not compiled again.
    ///
    /// # Errors
    /// As [`compile`]; what was compiled before is kept.
    pub fn of(&mut self, config: &ActiveConfig) -> Result<Arc<dyn Compiled>, Vec<Diagnostic>> {
        if let Some((revision, compiled)) = &self.0
            && *revision == config.revision
        {
            return Ok(compiled.clone());
        }
        let compiled = compile(&config.spec)?;
        self.0 = Some((config.revision, compiled.clone()));
        Ok(compiled)
    }

    /// What was compiled last.
    #[must_use]
    pub fn last(&self) -> Option<&dyn Compiled> {
        self.0.as_ref().map(|(_, compiled)| &**compiled)
    }
}
