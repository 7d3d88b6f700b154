//! Handlebars: the `handlebars` crate reads the templates, the evaluator here renders them.
//!
//! The crate's own renderer prints nothing for null, copies values at every block and cannot tell values from
//! structure, so only its grammar is used. What is missing is an error, never an empty string.

mod convert;
mod evaluate;
mod foreign;
mod node;
mod path;
mod purity;
mod scan;
mod scope;

use crate::{
    engine::{Compiled, Engine, ImpureBlock, Limits, RenderInput, RenderedFile, Role, Templates},
    faults::Fault,
    output::Output,
    recall::Recall,
    session::Session,
};
use evaluate::Evaluator;
use haptic_model::{Diagnostic, FileKey};
use node::Block;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The Handlebars engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandlebarsEngine;

/// A configuration's templates.
#[derive(Debug)]
pub(crate) struct Program {
    /// By number, as LINE marks name them.
    pub names: Vec<Arc<str>>,
    pub blocks: Vec<Block>,
    pub files: BTreeMap<FileKey, u16>,
    pub snippets: BTreeMap<Arc<str>, u16>,
    calls: BTreeSet<&'static str>,
    identity: Arc<()>,
}

impl Engine for HandlebarsEngine {
    fn compile(&self, templates: &Templates) -> Result<Arc<dyn Compiled>, Vec<Diagnostic>> {
        let mut program = Program {
            names: Vec::new(),
            blocks: Vec::new(),
            files: BTreeMap::new(),
            snippets: BTreeMap::new(),
            calls: BTreeSet::new(),
            identity: Arc::new(()),
        };
        let mut problems = Vec::new();
        let mut inline = BTreeSet::new();
        let mut included = Vec::new();
        for template in &templates.all {
            let Ok(number) = u16::try_from(program.names.len()) else {
                problems.push(Diagnostic::error("template", "there are more than 65535 templates"));
                break;
            };
            let mut converted = convert::template(template, number, templates.allow_raw_values);
            problems.append(&mut converted.problems);
            inline.append(&mut converted.inline);
            included.append(&mut converted.included);
            program.calls.append(&mut converted.calls);
            program.names.push(template.name.clone());
            program.blocks.push(converted.block);
            match &template.role {
                Role::File(key) => program.files.insert(key.clone(), number),
                Role::Snippet => program.snippets.insert(template.name.clone(), number),
            };
        }
        for partial in included {
            if !program.snippets.contains_key(&partial.name) && !inline.contains(&partial.name) {
                let known = program.snippets.keys().chain(&inline).map(|n| &**n);
                let hint = haptic_model::suggest::did_you_mean(&partial.name, known);
                let name = program.names.get(usize::from(partial.at.template)).cloned().unwrap_or_default();
                problems.push(
                    Diagnostic::error("template", format!("there is no snippet {:?}{hint}", &*partial.name))
                        .at_template(&name, partial.at.line, partial.at.column)
                        .help("Add it to templateSnippets"),
                );
            }
        }
        if problems.is_empty() { Ok(Arc::new(program)) } else { Err(problems) }
    }
}

impl Compiled for Program {
    fn files(&self) -> Vec<FileKey> {
        self.files.keys().cloned().collect()
    }

    fn identity(&self) -> &Arc<()> {
        &self.identity
    }

    fn templates(&self) -> &[Arc<str>] {
        &self.names
    }

    fn calls(&self, function: &str) -> bool {
        self.calls.contains(function)
    }

    fn impure_blocks(&self) -> Vec<ImpureBlock> {
        purity::impure_blocks(self)
    }

    fn render_again(
        &self,
        file: &FileKey,
        input: &RenderInput<'_>,
        limits: &Limits,
        recall: Option<&Recall<'_>>,
    ) -> Result<RenderedFile, Vec<Fault>> {
        let number = self.files.get(file).copied();
        let block = number
            .and_then(|n| self.blocks.get(usize::from(n)))
            .ok_or_else(|| Diagnostic::error("render", format!("there is no template for {file}")))
            .map_err(|none| vec![Fault::of_templates(none)])?;
        let mut evaluator =
            Evaluator::new(self, Session::new(*input).recalling(recall), Output::new(limits), limits);
        let stopped = evaluator.run(block).err();
        let (session, mut output) = evaluator.into_parts();
        let beyond = output.faults();
        if stopped.is_none() && !beyond.is_empty() {
            return Err(session.into_faults().into_iter().chain(beyond).collect());
        }
        if let Some(failure) = stopped {
            let mut faults = session.into_faults();
            faults.push(Fault::of_templates(failure.into_diagnostic(&self.names)));
            return Err(faults);
        }
        Ok(session.finish(output.finish(self.names.clone())))
    }
}

impl Program {
    pub(crate) fn snippet(&self, name: &str) -> Option<&Block> {
        self.snippets.get(name).and_then(|n| self.blocks.get(usize::from(*n)))
    }
}
