//! A template as the evaluator walks it.

use super::path::Path;
use crate::{
    engine::position::{At, Segment},
    functions::Function,
    value::Value,
};
use std::sync::Arc;

/// Nodes in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub nodes: Vec<TemplateNode>,
}

#[derive(Clone, Debug)]
pub(crate) struct TemplateNode {
    pub at: At,
    pub kind: NodeKind,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeKind {
    /// Template text.
    Text(Vec<Segment>),
    /// `{{expression}}`.
    Print { expression: Expression, frame: Frame },
    /// A function called for its effect: `{{warn "…"}}`.
    Run(Expression),
    /// `{{let name=value}}`, `{{set name=value}}`: declares or changes variables.
    Assign { declare: bool, values: Vec<(Arc<str>, Expression)> },
    /// `{{push name value…}}`: appends to the list in a variable.
    Push { variable: Arc<str>, values: Vec<Expression> },
    /// `{{#if}}` and `{{#unless}}`.
    If { test: Expression, wanted: bool, zero_counts: bool, body: Block, otherwise: Block },
    /// `{{#each list as |item index|}}`.
    Each { over: Expression, item: Option<Arc<str>>, index: Option<Arc<str>>, body: Block, otherwise: Block },
    /// `{{#with value as |name|}}`.
    With { of: Expression, name: Option<Arc<str>>, body: Block, otherwise: Option<Block> },
    /// `{{> snippet context key=value}}`.
    Include(Box<Include>),
    /// `{{> @partial-block}}`.
    Slot,
    /// `{{render_glob "pattern"}}`.
    Glob { pattern: Expression, indent: Arc<str>, alone: bool },
    /// `{{#*inline "name"}}…{{/inline}}`.
    Inline { name: Arc<str>, body: Block },
}

#[derive(Clone, Debug)]
pub(crate) struct Include {
    pub name: SnippetName,
    pub context: Option<Expression>,
    pub values: Vec<(Arc<str>, Expression)>,
    /// The white space before a tag that stands alone on its line.
    pub indent: Arc<str>,
    /// Whether the tag stands alone on its line.
    pub alone: bool,
    /// The text between `{{#> snippet}}` and its end.
    pub block: Option<Block>,
}

#[derive(Clone, Debug)]
pub(crate) enum SnippetName {
    Fixed(Arc<str>),
    Computed(Expression),
}

/// How a printed value is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// With this mark.
    Framed(char),
    /// Not at all: `{{{raw}}}`.
    Raw,
}

#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Literal(Value),
    Path(Path),
    Call(Box<CallNode>),
}

#[derive(Clone, Debug)]
pub(crate) struct CallNode {
    pub function: &'static Function,
    pub arguments: Vec<Expression>,
    pub named: Vec<(Arc<str>, Expression)>,
}

impl CallNode {
    /// The value of a list of literals, once for all evaluations: a list that something is pushed on is another one.
    pub fn constant(&self) -> Option<Value> {
        let literal = |expression: &Expression| match expression {
            Expression::Literal(value) => Some(value.clone()),
            _ => None,
        };
        let is_list = self.function.name == "array" && self.named.is_empty();
        let items = || self.arguments.iter().map(literal).collect::<Option<Vec<Value>>>();
        is_list.then(items).flatten().map(Value::list)
    }
}

impl Expression {
    /// As the template says it, shortened, for messages.
    pub fn source(&self) -> String {
        match self {
            Self::Literal(value) => match value.to_json() {
                Ok(json) => json.to_string(),
                Err(_) => "…".into(),
            },
            Self::Path(path) => path.raw.to_string(),
            Self::Call(call) if call.arguments.is_empty() && call.named.is_empty() => {
                format!("({})", call.function.name)
            }
            Self::Call(call) => format!("({} …)", call.function.name),
        }
    }
}
