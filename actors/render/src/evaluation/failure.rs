//! Why a render stopped: what is wrong, where, of which object, and which limit was passed.

use crate::{engine::position::At, output::Passed};
use haptic_model::{Diagnostic, Limit, ObjectRef};
use std::sync::Arc;

/// The failure of an evaluator.
#[derive(Debug)]
pub(crate) struct EvaluationFailure {
    pub message: String,
    pub help: Option<String>,
    at: Option<At>,
    object: Option<Arc<ObjectRef>>,
    /// The limit that was passed, where it is a setting.
    limit: Option<Limit>,
    /// Whether a limit was passed that is one for all objects together.
    of_all: bool,
}

pub(crate) type EvaluationResult<T = ()> = Result<T, Box<EvaluationFailure>>;

impl From<String> for Box<EvaluationFailure> {
    fn from(message: String) -> Self {
        Box::new(EvaluationFailure {
            message,
            help: None,
            at: None,
            object: None,
            limit: None,
            of_all: false,
        })
    }
}

impl From<Passed> for Box<EvaluationFailure> {
    fn from(passed: Passed) -> Self {
        let failure = EvaluationFailure::with_help(passed.message, passed.help);
        Box::new(EvaluationFailure { limit: passed.limit, of_all: passed.of_all, ..*failure })
    }
}

impl EvaluationFailure {
    pub fn with_help(message: String, help: impl Into<String>) -> Box<Self> {
        let mut failure = Box::<Self>::from(message);
        failure.help = Some(help.into());
        failure
    }

    /// The same, said to be the passing of a limit.
    pub fn passing(mut self: Box<Self>, limit: Limit) -> Box<Self> {
        self.limit = Some(limit);
        self
    }

    /// The same, at that place unless it has one further in.
    pub fn at(mut self: Box<Self>, at: At) -> Box<Self> {
        self.at.get_or_insert(at);
        self
    }

    /// The same, of that object unless it is of one further in.
    pub fn of(mut self: Box<Self>, object: Option<Arc<ObjectRef>>) -> Box<Self> {
        self.object = self.object.or(object);
        self
    }

    /// Whether it is the fault of all objects together.
    pub fn is_of_all(&self) -> bool {
        self.of_all
    }

    /// As it is told of a template that was not rendered yet.
    pub fn into_problem(self, names: &[Arc<str>]) -> Diagnostic {
        self.at_stage("template", names)
    }

    /// As it is told; `names` are those of all templates.
    pub fn into_diagnostic(self, names: &[Arc<str>]) -> Diagnostic {
        self.at_stage("render", names)
    }

    fn at_stage(self, stage: &'static str, names: &[Arc<str>]) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(stage, self.message).of_object(self.object);
        diagnostic.help = self.help;
        diagnostic.field = self.limit.map(Limit::field);
        match self.at.and_then(|at| Some((at, names.get(usize::from(at.template))?))) {
            Some((at, name)) => diagnostic.at_template(name, at.line, at.column),
            None => diagnostic,
        }
    }
}
