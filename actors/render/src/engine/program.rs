//! A configuration's templates as one program, whatever languages they are written in.
//!
//! It prints *framed* text (see [framing](crate::framing)), and never quotes anything for HAProxy, which is the encoder's work.
//!
//! Where a template prints a part of its own language, that language says what the part sees. Where it prints one of another,
//! the values of the names that the part looks up cross the boundary, and nothing else.

use super::{
    patterns::PatternCache,
    position::At,
    templates::{Role, Template, Templates},
};
use crate::{
    evaluation::EvaluationFailure, functions::glob_matches, handlebars::Block, jinja::node::Tree,
    value::Value,
};
use haptic_model::{Diagnostic, FileKey};
use haptic_text::suggest::did_you_mean;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::Arc,
};

/// A configuration's templates, compiled.
#[derive(Debug, Default)]
pub struct Program {
    /// By number, as LINE marks name them.
    pub(crate) names: Vec<Arc<str>>,
    parts: Vec<CompiledTemplate>,
    /// By number, the names that a part and those that it prints look up; empty where all are of one language.
    inputs: Vec<BTreeSet<Arc<str>>>,
    pub(crate) files: BTreeMap<FileKey, u16>,
    snippets: BTreeMap<Arc<str>, u16>,
    pub(crate) calls: BTreeSet<&'static str>,
    pub(crate) identity: Arc<()>,
    pub(crate) patterns: PatternCache,
}

/// One template, in its language.
#[derive(Debug)]
pub(crate) enum CompiledTemplate {
    Handlebars(Block),
    Jinja2(Tree),
}

/// A part that others print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snippet<'p> {
    pub name: &'p Arc<str>,
    pub number: u16,
    pub part: &'p CompiledTemplate,
    /// The names that it looks up, if a part of another language prints it.
    pub inputs: &'p BTreeSet<Arc<str>>,
}

/// Values that a part of another language gets.
pub(crate) type PartInputs<'p> = Vec<(&'p Arc<str>, Value)>;

/// The facts about a template beside its nodes.
#[derive(Debug, Default)]
pub(crate) struct TemplateNotes {
    pub problems: Vec<Diagnostic>,
    /// Names of inline snippets that it defines.
    pub inline: BTreeSet<Arc<str>>,
    /// Snippets that it names.
    pub needs: Vec<SnippetNeed>,
    /// Functions of the library that it calls.
    pub calls: BTreeSet<&'static str>,
    /// Names that it looks up.
    pub reads: BTreeSet<Arc<str>>,
    /// Patterns of the names of snippets that it prints.
    pub prints: BTreeSet<Arc<str>>,
}

/// A snippet that a template names, to be checked when all are known.
#[derive(Debug)]
pub(crate) struct SnippetNeed {
    pub name: Arc<str>,
    pub at: At,
    pub how: SnippetUse,
}

/// The use of a snippet by a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnippetUse {
    Print,
    /// Prints it with a block for it, or the block alone where there is none.
    GiveBlock,
    /// Extends it, or imports what it declares.
    Extend,
}

impl Program {
    /// Compiles all templates; `read` reads one, given its number, as far as it can be.
    ///
    /// # Errors
    /// Everything that is wrong in any of them, each with template, line and column.
    pub(crate) fn compile(
        templates: &Templates,
        read: impl Fn(&Template, u16) -> (CompiledTemplate, TemplateNotes),
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut program = Self::default();
        let (mut problems, mut notes) = (Vec::new(), Vec::new());
        for template in &templates.all {
            let Ok(number) = u16::try_from(program.names.len()) else {
                problems.push(Diagnostic::error("template", "there are more than 65535 templates"));
                break;
            };
            let (part, mut noted) = read(template, number);
            problems.append(&mut noted.problems);
            program.calls.append(&mut noted.calls);
            program.names.push(template.name.clone());
            program.parts.push(part);
            match &template.role {
                Role::File(key) => program.files.insert(key.clone(), number),
                Role::Snippet => program.snippets.insert(template.name.clone(), number),
            };
            notes.push(noted);
        }
        let inline: BTreeSet<&Arc<str>> = notes.iter().flat_map(|noted| &noted.inline).collect();
        let needs = notes.iter().flat_map(|noted| &noted.needs);
        problems.extend(needs.filter_map(|need| program.unmet(need, &inline)));
        program.inputs = program.inputs_of(&notes);
        if problems.is_empty() { Ok(program) } else { Err(problems) }
    }

    fn unmet(&self, need: &SnippetNeed, inline: &BTreeSet<&Arc<str>>) -> Option<Diagnostic> {
        if inline.contains(&need.name) {
            return None;
        }
        let failure = match (self.snippet(&need.name), need.how) {
            (Some(snippet), how) => snippet.refuse(how)?,
            (None, SnippetUse::GiveBlock) => return None,
            (None, _) => self.unknown(&need.name),
        };
        Some(failure.at(need.at).into_problem(&self.names))
    }

    /// That there is no such snippet.
    pub(crate) fn unknown(&self, name: &str) -> Box<EvaluationFailure> {
        let hint = did_you_mean(name, self.snippet_names());
        let message = format!("there is no snippet {name:?}{hint}");
        EvaluationFailure::with_help(message, "Add it to templateSnippets")
    }

    /// The names that each part looks up, and those that it prints.
    fn inputs_of(&self, notes: &[TemplateNotes]) -> Vec<BTreeSet<Arc<str>>> {
        let is_mixed = |is: fn(&CompiledTemplate) -> bool| self.parts.iter().any(is);
        if !is_mixed(|part| matches!(part, CompiledTemplate::Handlebars(_)))
            || !is_mixed(|part| matches!(part, CompiledTemplate::Jinja2(_)))
        {
            return Vec::new();
        }
        let prints = |noted: &TemplateNotes| -> Vec<u16> {
            let printed =
                self.snippets.iter().filter(|(name, _)| noted.prints.iter().any(|p| glob_matches(p, name)));
            printed.map(|(_, number)| *number).collect()
        };
        let printed: Vec<Vec<u16>> = notes.iter().map(prints).collect();
        let mut inputs: Vec<BTreeSet<Arc<str>>> = notes.iter().map(|noted| noted.reads.clone()).collect();
        loop {
            let mut grown = Vec::new();
            for (own, printed) in inputs.iter().zip(&printed) {
                let theirs = printed.iter().filter_map(|number| inputs.get(usize::from(*number)));
                grown.push(theirs.fold(own.clone(), |all, more| &all | more));
            }
            if grown == inputs {
                return inputs;
            }
            inputs = grown;
        }
    }

    /// The template of that number, if it is Jinja2's.
    pub(crate) fn tree(&self, number: u16) -> Option<&Tree> {
        match self.parts.get(usize::from(number))? {
            CompiledTemplate::Jinja2(tree) => Some(tree),
            CompiledTemplate::Handlebars(_) => None,
        }
    }

    pub(crate) fn name(&self, number: u16) -> Arc<str> {
        self.names.get(usize::from(number)).cloned().unwrap_or_default()
    }

    pub(crate) fn snippet(&self, name: &str) -> Option<Snippet<'_>> {
        let (name, number) = self.snippets.get_key_value(name)?;
        self.numbered(name, *number)
    }

    fn numbered<'p>(&'p self, name: &'p Arc<str>, number: u16) -> Option<Snippet<'p>> {
        static NOTHING: BTreeSet<Arc<str>> = BTreeSet::new();
        let part = self.parts.get(usize::from(number))?;
        Some(Snippet { name, number, part, inputs: self.inputs.get(usize::from(number)).unwrap_or(&NOTHING) })
    }

    /// Those whose names fit, by name.
    pub(crate) fn snippets_like(&self, pattern: &str) -> impl Iterator<Item = Snippet<'_>> {
        // Names are in order: only those that begin as the pattern does are looked at, however many there are.
        let beginning = pattern.split(['*', '?']).next().unwrap_or_default();
        let from = (Bound::Included(beginning), Bound::Unbounded);
        let near =
            self.snippets.range::<str, _>(from).take_while(move |(name, _)| name.starts_with(beginning));
        let fitting = near.filter(move |(name, _)| glob_matches(pattern, name));
        fitting.filter_map(|(name, number)| self.numbered(name, *number))
    }

    pub(crate) fn snippet_names(&self) -> impl Iterator<Item = &str> {
        self.snippets.keys().map(|name| &**name)
    }

    /// The template that is printed into that file.
    pub(crate) fn file_part(&self, file: &FileKey) -> Option<(u16, &CompiledTemplate)> {
        let number = *self.files.get(file)?;
        Some((number, self.parts.get(usize::from(number))?))
    }

    /// The templates that are printed into files.
    pub(crate) fn file_parts(&self) -> impl Iterator<Item = (&FileKey, u16, &CompiledTemplate)> {
        self.files
            .iter()
            .filter_map(|(file, number)| Some((file, *number, self.parts.get(usize::from(*number))?)))
    }
}

impl Snippet<'_> {
    /// Why nothing of another language can use it so.
    pub fn refuse(&self, how: SnippetUse) -> Option<Box<EvaluationFailure>> {
        let name = self.name;
        let (message, help) = match (self.part, how) {
            (CompiledTemplate::Handlebars(_), SnippetUse::Extend) => (
                format!(
                    "the snippet {name:?} is written in Handlebars: no template of Jinja2 extends or imports it"
                ),
                format!("Include it: {{% include {name:?} %}}; or write it in Jinja2"),
            ),
            (CompiledTemplate::Jinja2(_), SnippetUse::GiveBlock) => (
                format!("the snippet {name:?} is written in Jinja2: it cannot be given a block"),
                format!("Give it values: {{{{> {name} key=value}}}}; or write it in Handlebars"),
            ),
            _ => return None,
        };
        Some(EvaluationFailure::with_help(message, help))
    }
}
