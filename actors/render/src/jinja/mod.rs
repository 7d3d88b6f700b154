//! Jinja2: the `minijinja` crate reads the templates, the evaluator here renders them as Python's does.
//!
//! The crate's own machine cannot keep a block, isolate an object or append to a list, so only its grammar is used.
//! A template's literals are structure, as its text is; every other value that is printed stands between marks.

mod arguments;
mod cacheability;
mod call;
mod checks;
mod evaluate;
mod examples;
mod expression;
mod filters;
mod grammar;
mod keys;
mod lines;
mod looping;
mod methods;
pub(crate) mod node;
mod operand;
mod operators;
mod possible;
mod scope;
#[cfg(test)]
mod tests;
mod text;
mod texts;

pub(crate) use cacheability::{walk_file, walk_part};
pub(crate) use examples::{example, usage};
pub(crate) use lines::NextText;

use crate::{
    engine::{
        program::{CompiledTemplate, PartInputs, Program, TemplateNotes},
        templates::{Template, Templates},
    },
    evaluation::{EvaluationResult, Machine},
    output::framing,
};
use evaluate::JinjaEvaluator;
use grammar::{SyntaxProblem, TagSpacing};
use haptic_model::Diagnostic;
use node::Tree;
use operand::Operand;

/// Reads one template, as far as it can be.
pub(crate) fn read(
    template: &Template,
    number: u16,
    templates: &Templates,
) -> (CompiledTemplate, TemplateNotes) {
    let spacing = TagSpacing { trim_blocks: templates.trim_blocks, lstrip_blocks: templates.lstrip_blocks };
    let read = checked(&template.source).and_then(|()| grammar::read(&template.source, number, spacing));
    let (tree, noted) = read.unwrap_or_else(|trouble| {
        (Tree::default(), grammar::Noted { troubles: vec![trouble], ..grammar::Noted::default() })
    });
    let problems = noted.troubles.into_iter().map(|trouble| diagnostic_of(trouble, template)).collect();
    (CompiledTemplate::Jinja2(tree), TemplateNotes { problems, ..noted.notes })
}

/// Prints a file's template, behind which stands `next`.
pub(crate) fn print_file<'p>(
    program: &'p Program,
    machine: &mut Machine<'p>,
    number: u16,
    next: NextText,
) -> EvaluationResult {
    JinjaEvaluator::new(program, machine).file(number, next)
}

/// Prints a part for a template of another language, with the values that it gets from there.
pub(crate) fn print_part<'p>(
    program: &'p Program,
    machine: &mut Machine<'p>,
    number: u16,
    inputs: PartInputs<'p>,
) -> EvaluationResult {
    let mut evaluator = JinjaEvaluator::new(program, machine);
    for (name, value) in inputs {
        evaluator.frames.set(name, Operand::Value(value));
    }
    evaluator.template(number)
}

/// Whether a template can hold what it holds.
fn checked(source: &str) -> Result<(), SyntaxProblem> {
    let Some(place) = source.find(framing::is_mark) else { return Ok(()) };
    let before = source.get(..place).unwrap_or_default();
    let line = u32::try_from(before.matches('\n').count() + 1).unwrap_or(1);
    let column = before.rsplit('\n').next().map_or(1, |text| text.chars().count() + 1);
    let message = "the template holds a private-use character between U+E000 and U+E00F".to_owned();
    Err(SyntaxProblem { line, column: u32::try_from(column).unwrap_or(1), message, help: None })
}

fn diagnostic_of(trouble: SyntaxProblem, template: &Template) -> Diagnostic {
    let diagnostic = Diagnostic::error("template", trouble.message)
        .at_field(template.field.clone())
        .at_template(&template.name, trouble.line, trouble.column);
    match trouble.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}
