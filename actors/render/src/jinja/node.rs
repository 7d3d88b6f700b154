//! A template as the evaluator walks it.

use crate::{
    engine::position::{At, Segment},
    value::Value,
};
use std::{collections::BTreeMap, sync::Arc};

/// One template.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub body: Body,
    /// `{% block name %}`, wherever it stands in the template.
    pub blocks: BTreeMap<Arc<str>, NamedBlock>,
}

impl Tree {
    /// The nodes before the tag that extends another template, and the rest, where there is one.
    pub fn extending(&self) -> Option<(&[JinjaNode], &[JinjaNode])> {
        let at = self.body.iter().position(|node| matches!(node.kind, Kind::Extends(_)))?;
        self.body.split_at_checked(at)
    }
}

/// Nodes in order.
pub(crate) type Body = Vec<JinjaNode>;

/// A block of a template that others may replace.
#[derive(Clone, Debug)]
pub(crate) struct NamedBlock {
    pub body: Body,
    /// Whether it must be replaced.
    pub required: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct JinjaNode {
    pub at: At,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Template text.
    Text(Vec<Segment>),
    /// `{{ expression }}`.
    Print(JinjaExpression),
    /// `{{ render_glob(pattern) }}`, with the white space that stands before it in its line.
    Glob {
        pattern: JinjaExpression,
        indent: Arc<str>,
    },
    /// `{% do expression %}`.
    Do(JinjaExpression),
    /// `{% if %}`; `elif` is an `if` in `otherwise`.
    If {
        test: JinjaExpression,
        body: Body,
        otherwise: Body,
    },
    /// `{% for target in over if test recursive %}`.
    For(Box<For>),
    /// `{% with name = value %}`.
    With {
        values: Vec<(Target, JinjaExpression)>,
        body: Body,
    },
    /// `{% set target = value %}`.
    Set {
        target: Target,
        value: JinjaExpression,
    },
    /// `{% set target | filter %}…{% endset %}`.
    SetBlock {
        target: Target,
        filter: Option<JinjaExpression>,
        body: Body,
    },
    /// `{% filter name %}…{% endfilter %}`.
    Filter {
        filter: JinjaExpression,
        body: Body,
    },
    /// `{% macro name(…) %}`.
    Macro(Box<Macro>),
    /// `{% call(…) macro(…) %}`.
    Call {
        call: JinjaExpression,
        caller: Box<Macro>,
    },
    /// `{% include name ignore missing without context %}`.
    Include {
        name: JinjaExpression,
        options: IncludeOptions,
    },
    /// `{% import template as name %}`.
    Import {
        template: JinjaExpression,
        name: Arc<str>,
        with_context: bool,
    },
    /// `{% from template import name as other %}`.
    From {
        template: JinjaExpression,
        names: Vec<(Arc<str>, Arc<str>)>,
        with_context: bool,
    },
    /// `{% extends template %}`.
    Extends(JinjaExpression),
    /// `{% block name %}`: printed here, from the innermost template that has it.
    Block(Arc<str>),
    Break,
    Continue,
}

/// How a template is included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IncludeOptions {
    /// Nothing is printed where it is not there.
    pub ignores_missing: bool,
    /// It sees the names that are known where it is included.
    pub with_context: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct For {
    pub target: Target,
    pub over: JinjaExpression,
    pub test: Option<JinjaExpression>,
    pub recursive: bool,
    pub body: Body,
    pub otherwise: Body,
}

#[derive(Clone, Debug)]
pub(crate) struct Macro {
    pub name: Arc<str>,
    pub parameters: Vec<MacroParameter>,
    pub body: Body,
    /// Whether it reads `varargs`, `kwargs`, `caller`: only then more may be given.
    pub takes: Takes,
}

/// The arguments that a macro takes beside its parameters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Takes {
    pub more: bool,
    pub named: bool,
    pub caller: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct MacroParameter {
    pub name: Arc<str>,
    pub default: Option<JinjaExpression>,
}

/// The target of an assignment.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Name(Arc<str>),
    /// `namespace.name`.
    Field(Arc<str>, Arc<str>),
    /// `a, b`.
    Each(Vec<Target>),
}

impl Target {
    /// Whether nothing but names of its own scope is assigned to.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Name(_) => true,
            Self::Field(..) => false,
            Self::Each(targets) => targets.iter().all(Self::is_local),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct JinjaExpression {
    pub at: At,
    pub kind: ExpressionKind,
}

#[derive(Clone, Debug)]
pub(crate) enum ExpressionKind {
    /// A text of the template.
    Text(Arc<str>),
    /// None, a boolean, a number.
    Literal(Value),
    Name(Arc<str>),
    List(Vec<JinjaExpression>),
    Tuple(Vec<JinjaExpression>),
    Dict(Vec<(JinjaExpression, JinjaExpression)>),
    Field(Box<JinjaExpression>, Arc<str>),
    Item(Box<(JinjaExpression, JinjaExpression)>),
    Slice(Box<JinjaExpression>, Box<[Option<JinjaExpression>; 3]>),
    Not(Box<JinjaExpression>),
    Negative(Box<JinjaExpression>),
    And(Box<(JinjaExpression, JinjaExpression)>),
    Or(Box<(JinjaExpression, JinjaExpression)>),
    Binary(Operator, Box<(JinjaExpression, JinjaExpression)>),
    /// `a < b <= c`.
    Compare(Box<JinjaExpression>, Vec<(Comparison, JinjaExpression)>),
    /// `a if test else b`.
    If(Box<(JinjaExpression, JinjaExpression, Option<JinjaExpression>)>),
    /// `subject | name(…)`; without a subject that of the block it stands at.
    Filter(FilterName, Option<Box<JinjaExpression>>, Vec<CallArgument>),
    /// `subject is name(…)`.
    Test(Arc<str>, Box<JinjaExpression>, Vec<CallArgument>),
    Call(Box<JinjaExpression>, Vec<CallArgument>),
}

/// A filter as a template names it.
#[derive(Clone, Debug)]
pub(crate) struct FilterName {
    pub name: Arc<str>,
    /// Its place among the filters of this language's own; a function of the library has none.
    pub own: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum CallArgument {
    One(JinjaExpression),
    Named(Arc<str>, JinjaExpression),
    /// `*list`.
    Spread(JinjaExpression),
    /// `**dict`.
    SpreadNamed(JinjaExpression),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    /// `~`.
    Join,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}
