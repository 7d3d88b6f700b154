//! One file being rendered: what is printed, called and included for it, within its limits.

use super::failure::{EvaluationFailure, EvaluationResult};
use crate::{
    engine::{
        position::{At, Segment},
        program::{PartInputs, Program, Snippet},
        rendered::RenderedFile,
    },
    functions::{self, Function},
    input::RenderLimits,
    output::{Output, framing},
    session::Session,
    value::Value,
};
use haptic_attribution::Fault;
use haptic_model::Limit;
use std::sync::Arc;

/// Prints a part of another language, which sees these inputs.
pub(crate) type PartPrinter =
    for<'p> fn(&'p Program, &mut Machine<'p>, Snippet<'p>, PartInputs<'p>) -> EvaluationResult;

/// One file being rendered.
pub(crate) struct Machine<'p> {
    pub session: Session<'p>,
    pub output: Output<'p>,
    pub limits: &'p RenderLimits,
    /// The names of all templates, by number.
    pub(super) names: &'p [Arc<str>],
    /// Snippets being printed, for the message when they nest too deep.
    pub(super) including: Vec<Arc<str>>,
    /// Expressions being evaluated, one in the other.
    pub evaluating: usize,
    print_part: PartPrinter,
}

impl<'p> Machine<'p> {
    pub fn new(
        names: &'p [Arc<str>],
        session: Session<'p>,
        limits: &'p RenderLimits,
        print_part: PartPrinter,
    ) -> Self {
        let (output, including) = (Output::new(limits), Vec::new());
        Self { session, output, limits, names, including, evaluating: 0, print_part }
    }

    /// Template text.
    pub fn text(&mut self, segments: &[Segment]) {
        segments.iter().for_each(|segment| self.output.text(segment));
    }

    /// Checks the limits; cheap enough for every block.
    pub fn tick(&mut self) -> EvaluationResult {
        self.output.tick().map_err(Into::into)
    }

    /// The failure of a node, told at its place and of the object it is printed for.
    pub fn failed(&self, failure: Box<EvaluationFailure>, at: At) -> Box<EvaluationFailure> {
        failure.at(at).of(self.session.owner())
    }

    /// Prints a value between marks; `false` for one that has no text.
    pub fn print(&mut self, value: &Value, frame: char, at: At) -> EvaluationResult<bool> {
        let printed;
        let text = match value {
            Value::Text(text) => &**text,
            Value::Secret(text) => {
                self.output.secret();
                &**text
            }
            Value::Number(number) => {
                self.output.number(number, frame, at.place());
                return Ok(true);
            }
            other => match other.printed() {
                Some(text) => {
                    printed = text;
                    &*printed
                }
                None => return Ok(false),
            },
        };
        self.output.value(text, frame, at.place())?;
        Ok(true)
    }

    /// Prints a value as if the template said it; `false` for one that has no text.
    pub fn print_raw(
        &mut self,
        value: &Value,
        at: At,
        source: impl Fn() -> String,
    ) -> EvaluationResult<bool> {
        if matches!(value, Value::Secret(_)) {
            self.output.secret();
        }
        let Some(text) = value.printed() else { return Ok(false) };
        if text.contains(framing::is_mark) {
            return Err(format!("{} holds a private-use character", source()).into());
        }
        self.output.raw(&text, at.place());
        Ok(true)
    }

    /// Places the warnings since then at `at`.
    pub fn place_said(&self, before: (usize, usize), at: At) {
        let name = self.names.get(usize::from(at.template)).map_or("", |name| name);
        self.session.place_new(before, name, at.line, at.column);
    }

    /// Calls a function with values that are there, within the limits.
    pub fn call(
        &mut self,
        function: &'static Function,
        arguments: Vec<Value>,
        named: &[(Arc<str>, Value)],
    ) -> EvaluationResult<Value> {
        let value = function.call(arguments, named, &self.session)?;
        self.output.hold(self.session.take_held());
        self.made(value.own_bytes())?;
        match &value {
            Value::Text(text) | Value::Secret(text) if text.len() > self.limits.output => {
                let most = self.limits.output;
                Err(format!("{}: the result is longer than {most} bytes", function.name).into())
            }
            Value::List(list) if list.len() > functions::LONGEST_LIST => {
                let most = functions::LONGEST_LIST;
                Err(format!("{}: the result has more than {most} items", function.name).into())
            }
            _ => Ok(value),
        }
    }

    /// Counts bytes of values that were made for the outermost object's block.
    pub fn made(&self, bytes: usize) -> EvaluationResult {
        if self.session.made(bytes) > self.limits.values {
            let message = format!("functions made more than {} bytes of values for it", self.limits.values);
            let help = "Look for a loop that computes too much, or raise the limit";
            return Err(EvaluationFailure::with_help(message, help).passing(Limit::ValueBytes));
        }
        Ok(())
    }

    /// Prints a part of another language.
    pub fn foreign(
        &mut self,
        program: &'p Program,
        snippet: Snippet<'p>,
        inputs: PartInputs<'p>,
    ) -> EvaluationResult {
        (self.print_part)(program, self, snippet, inputs)
    }

    /// A snippet begins within others; [`Self::leave_snippet`] ends it.
    pub fn enter_snippet(&mut self, name: &Arc<str>) -> EvaluationResult {
        self.including.push(name.clone());
        if self.including.len() > self.limits.depth {
            let chain: Vec<&str> = self.including.iter().rev().take(4).rev().map(|n| &**n).collect();
            return Err(EvaluationFailure::with_help(
                format!("snippets are nested deeper than {}: … > {}", self.limits.depth, chain.join(" > ")),
                "A snippet that includes itself must stop some day: put that into a condition",
            ));
        }
        Ok(())
    }

    pub fn leave_snippet(&mut self) {
        self.including.pop();
    }

    /// The outcome: the file, or the faults because of which there is none.
    pub fn finish(mut self, run: EvaluationResult) -> Result<RenderedFile, Vec<Fault>> {
        let beyond = self.output.faults();
        match run {
            Ok(()) if beyond.is_empty() => Ok(self.session.finish(self.output.finish(self.names.to_vec()))),
            Ok(()) => Err(self.session.into_faults().into_iter().chain(beyond).collect()),
            Err(failure) => {
                let mut faults = self.session.into_faults();
                faults.push(Fault::of_templates(failure.into_diagnostic(self.names)));
                Err(faults)
            }
        }
    }
}
