//! Templates as the rest of HAPTIC knows them, whatever languages they are written in.
//!
//! Only this file knows all languages: an evaluator of one is given the functions that print and walk parts of the others.

pub mod language;
pub(crate) mod patterns;
pub(crate) mod position;
pub(crate) mod program;
pub(crate) mod rendered;
pub(crate) mod templates;

pub use crate::{
    block_cache::captured::Uncacheable,
    input::{RenderInput, RenderLimits},
    output::effects::AddedFile,
};
use haptic_attribution::Fault;
pub use language::Language;
pub use rendered::{ImpureBlock, RenderedFile};
pub use templates::{Role, Template, Templates};

use crate::{
    block_cache::BlockCache,
    evaluation::{
        EvaluationResult, Machine,
        cacheability::{CacheabilityWalk, Holds, LinePosition, PartPlace},
    },
    handlebars,
    jinja::{self, NextText},
    session::Session,
};
use haptic_model::{ActiveConfig, Diagnostic, FileKey, FileKind, HAProxyTemplateConfigSpec};
pub use program::Program;
use program::{CompiledTemplate, PartInputs, Snippet};
use std::sync::Arc;

/// The templates of `spec`, ready to render.
///
/// # Errors
/// Everything that is wrong with them, each with template, line and column.
pub fn compile(spec: &HAProxyTemplateConfigSpec) -> Result<Arc<Program>, Vec<Diagnostic>> {
    let templates = Templates::of(spec);
    let read = |template: &Template, number| match template.language {
        Language::Handlebars => handlebars::read(template, number, templates.allow_raw_values),
        Language::Jinja2 => jinja::read(template, number, &templates),
    };
    Ok(Arc::new(Program::compile(&templates, read)?))
}

impl Program {
    /// The files there are templates for.
    #[must_use]
    pub fn files(&self) -> Vec<FileKey> {
        self.files.keys().cloned().collect()
    }

    /// The identity: no other compilation has the same while this one, or a clone of it, is alive.
    #[must_use]
    pub fn identity(&self) -> &Arc<()> {
        &self.identity
    }

    /// The names of all templates, by number.
    #[must_use]
    pub fn templates(&self) -> &[Arc<str>] {
        &self.names
    }

    /// Whether any template calls that function.
    #[must_use]
    pub fn calls(&self, function: &str) -> bool {
        self.calls.contains(function)
    }

    /// Blocks of objects that may have to be rendered each time, and why.
    #[must_use]
    pub fn impure_blocks(&self) -> Vec<ImpureBlock> {
        let mut walk = CacheabilityWalk::new(self, walk_part);
        let place = PartPlace { block: None, line: LinePosition::Between, depth: 0 };
        for (file, number, part) in self.file_parts() {
            match part {
                CompiledTemplate::Handlebars(block) => {
                    handlebars::walk_part(&mut walk, block, Vec::new(), place);
                }
                CompiledTemplate::Jinja2(_) => {
                    jinja::walk_file(&mut walk, number, next_text(file));
                }
            }
        }
        walk.finish()
    }

    /// Renders one file in full.
    ///
    /// # Errors
    /// The first failure of no object, with template, line and column, behind those of objects until then.
    pub fn render(
        &self,
        file: &FileKey,
        input: &RenderInput<'_>,
        limits: &RenderLimits,
    ) -> Result<RenderedFile, Vec<Fault>> {
        self.render_again(file, input, limits, None)
    }

    /// Renders one file, with the blocks that `cache` knows and whose objects, reads and surroundings are the same.
    /// The result is encoded to the same bytes and origins as that of [`Self::render`].
    ///
    /// # Errors
    /// As [`Self::render`].
    pub fn render_again(
        &self,
        file: &FileKey,
        input: &RenderInput<'_>,
        limits: &RenderLimits,
        cache: Option<&BlockCache<'_>>,
    ) -> Result<RenderedFile, Vec<Fault>> {
        let (number, part) = self
            .file_part(file)
            .ok_or_else(|| Diagnostic::error("render", format!("there is no template for {file}")))
            .map_err(|none| vec![Fault::of_templates(none)])?;
        let session = Session::new(*input, &self.patterns).with_cache(cache);
        let mut machine = Machine::new(&self.names, session, limits, print_part);
        let run = match part {
            CompiledTemplate::Handlebars(block) => handlebars::print(self, &mut machine, block, Vec::new()),
            CompiledTemplate::Jinja2(_) => jinja::print_file(self, &mut machine, number, next_text(file)),
        };
        machine.finish(run)
    }
}

/// Prints a part for a template of another language.
fn print_part<'p>(
    program: &'p Program,
    machine: &mut Machine<'p>,
    snippet: Snippet<'p>,
    inputs: PartInputs<'p>,
) -> EvaluationResult {
    match snippet.part {
        CompiledTemplate::Handlebars(block) => handlebars::print(program, machine, block, inputs),
        CompiledTemplate::Jinja2(_) => jinja::print_part(program, machine, snippet.number, inputs),
    }
}

/// Walks a part for a template of another language.
fn walk_part<'p>(
    walk: &mut CacheabilityWalk<'p>,
    snippet: Snippet<'p>,
    inputs: Vec<(&'p Arc<str>, Holds)>,
    place: PartPlace,
) -> LinePosition {
    match snippet.part {
        CompiledTemplate::Handlebars(block) => handlebars::walk_part(walk, block, inputs, place),
        CompiledTemplate::Jinja2(_) => jinja::walk_part(walk, snippet.number, inputs, place),
    }
}

/// The templates of one configuration at a time, compiled when it first renders.
#[derive(Clone, Debug, Default)]
pub struct CompileCache(Option<(u64, Arc<Program>)>);

impl CompileCache {
    /// The templates of `config`; those of the revision asked for before are not compiled again.
    ///
    /// # Errors
    /// As [`compile`]; what was compiled before is kept.
    pub fn of(&mut self, config: &ActiveConfig) -> Result<Arc<Program>, Vec<Diagnostic>> {
        if let Some((revision, compiled)) = &self.0
            && *revision == config.revision
        {
            return Ok(compiled.clone());
        }
        let compiled = compile(&config.spec)?;
        self.0 = Some((config.revision, compiled.clone()));
        Ok(compiled)
    }

    /// The templates that were compiled last.
    #[must_use]
    pub fn last(&self) -> Option<&Program> {
        self.0.as_ref().map(|(_, compiled)| &**compiled)
    }
}

/// A file that HAProxy reads by lines gets a line end behind it.
fn next_text(file: &FileKey) -> NextText {
    if file.kind == FileKind::General { NextText::Other } else { NextText::LineEnd }
}
