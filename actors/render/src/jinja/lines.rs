//! Where line ends stand, told from the templates alone.

use super::node::{ExpressionKind, JinjaNode, Kind};
use crate::engine::program::{CompiledTemplate, Program};

/// Blocks and snippets in one another are followed so deep.
const DEEPEST: usize = 8;

/// The text that stands behind what is printed, as far as the templates tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NextText {
    /// It begins with a line end, which a loop in front of it may print.
    LineEnd,
    /// It does not, or nobody knows.
    #[default]
    Other,
}

impl NextText {
    /// The text of a node.
    pub fn of(node: &JinjaNode) -> Self {
        if begins_with_line_end(&node.kind) { Self::LineEnd } else { Self::Other }
    }
}

/// Whether it is text that begins with a line end.
fn begins_with_line_end(kind: &Kind) -> bool {
    matches!(kind, Kind::Text(segments) if segments.first().is_some_and(|first| &*first.text == "\n"))
}

/// Whether what these nodes print is nothing, or begins with a line end.
pub(super) fn lead(program: &Program, body: &[JinjaNode]) -> bool {
    leads(program, body, DEEPEST).is_some()
}

/// As [`lead`]; whether they surely print it.
fn leads(program: &Program, body: &[JinjaNode], depth: usize) -> Option<bool> {
    let depth = depth.checked_sub(1)?;
    for node in body {
        let surely = match &node.kind {
            Kind::Text(segments) if segments.is_empty() => false,
            text @ Kind::Text(_) => begins_with_line_end(text).then_some(true)?,
            Kind::Do(_) | Kind::Set { .. } | Kind::SetBlock { .. } | Kind::Macro(_) => false,
            Kind::If { body, otherwise, .. } => {
                let (body, otherwise) = (leads(program, body, depth)?, leads(program, otherwise, depth)?);
                body && otherwise
            }
            Kind::For(inner) => {
                leads(program, &inner.body, depth)?;
                leads(program, &inner.otherwise, depth)?;
                false
            }
            Kind::With { body, .. } => leads(program, body, depth)?,
            Kind::Include { name, .. } => {
                let ExpressionKind::Text(name) = &name.kind else { return None };
                let CompiledTemplate::Jinja2(tree) = program.snippet(name)?.part else { return None };
                leads(program, &tree.body, depth)?
            }
            _ => return None,
        };
        if surely {
            return Some(true);
        }
    }
    Some(false)
}
