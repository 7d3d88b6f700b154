//! Groups that an expression may leave out, as in `(/v1)?`.
//!
//! Lua is told the groups up to the first that took no part (HAProxy, `src/hlua_fcn.c`, `hlua_regex_match`): those behind it would be lost. So
//! an optional group is printed as one that takes part in any case, `((?:/v1)?)`.

use regex_syntax::ast::{Ast, GroupKind, RepetitionKind, RepetitionRange, parse::Parser};

/// An expression of which the groups take part as far as that can be said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PresentGroups {
    /// The same expression.
    pub expression: String,
    /// The first group that may take no part all the same.
    pub first_left_out: Option<u32>,
}

/// `expression` with groups that take part; as it is where it cannot be read.
pub(super) fn present(expression: &str) -> PresentGroups {
    let mut found = FoundGroups::default();
    if let Ok(ast) = Parser::new().parse(expression) {
        found.visit(&ast, false);
    }
    let FoundGroups { mut edits, left_out } = found;
    edits.sort_by_key(|edit| edit.from);
    let (mut printed, mut at) = (String::new(), 0);
    for Edit { from, to, text } in edits {
        printed.push_str(expression.get(at..from).unwrap_or_default());
        printed.push_str(&text);
        at = to;
    }
    printed.push_str(expression.get(at..).unwrap_or_default());
    PresentGroups { expression: printed, first_left_out: left_out.into_iter().min() }
}

/// The text between two bytes is another.
#[derive(Debug)]
struct Edit {
    from: usize,
    to: usize,
    text: String,
}

#[derive(Default)]
struct FoundGroups {
    edits: Vec<Edit>,
    left_out: Vec<u32>,
}

impl FoundGroups {
    /// `optional`: whether this part may take no part.
    fn visit(&mut self, ast: &Ast, optional: bool) {
        match ast {
            Ast::Concat(concat) => concat.asts.iter().for_each(|part| self.visit(part, optional)),
            Ast::Alternation(either) => either.asts.iter().for_each(|part| self.visit(part, true)),
            Ast::Group(group) => {
                let index = number_of(&group.kind).filter(|_| optional);
                self.left_out.extend(index);
                self.visit(&group.ast, optional);
            }
            Ast::Repetition(repeated) => {
                if let (RepetitionKind::ZeroOrOne, Ast::Group(group)) = (&repeated.op.kind, &*repeated.ast)
                    && number_of(&group.kind).is_some()
                {
                    let (inner, lazy) = (group.ast.span(), if repeated.greedy { "" } else { "?" });
                    let (start, end) = (inner.start.offset, inner.end.offset);
                    self.edits.push(Edit { from: start, to: start, text: "(?:".to_owned() });
                    self.edits.push(Edit { from: end, to: end, text: format!(")?{lazy}") });
                    let op = repeated.op.span;
                    self.edits.push(Edit { from: op.start.offset, to: op.end.offset, text: String::new() });
                    let index = number_of(&group.kind).filter(|_| optional);
                    self.left_out.extend(index);
                    return self.visit(&group.ast, true);
                }
                self.visit(&repeated.ast, optional || may_be_none(&repeated.op.kind));
            }
            _ => {}
        }
    }
}

fn number_of(kind: &GroupKind) -> Option<u32> {
    match kind {
        GroupKind::CaptureIndex(number) => Some(*number),
        GroupKind::CaptureName { name, .. } => Some(name.index),
        GroupKind::NonCapturing(_) => None,
    }
}

fn may_be_none(kind: &RepetitionKind) -> bool {
    match kind {
        RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore => true,
        RepetitionKind::OneOrMore => false,
        RepetitionKind::Range(range) => match range {
            RepetitionRange::Exactly(least)
            | RepetitionRange::AtLeast(least)
            | RepetitionRange::Bounded(least, _) => *least == 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_group_takes_part_with_nothing_in_it() {
        for (expression, printed, first_left_out) in [
            ("/api(/v1)?/(.*)", "/api((?:/v1)?)/(.*)", None),
            ("/(a)??(b)?", "/((?:a)??)((?:b)?)", None),
            ("/(?P<v>a)?(b)", "/(?P<v>(?:a)?)(b)", None),
            ("/(a(b)?)?(c)", "/((?:a((?:b)?))?)(c)", Some(2)),
            ("/(a)*(b)", "/(a)*(b)", Some(1)),
            ("/(?:(a)|b)(c)", "/(?:(a)|b)(c)", Some(1)),
            ("/(a|b)(c){2}", "/(a|b)(c){2}", None),
            ("/(a)(b){0,2}(c)", "/(a)(b){0,2}(c)", Some(2)),
            ("/()?(c)", "/((?:)?)(c)", None),
            ("/(", "/(", None),
        ] {
            let expected = PresentGroups { expression: printed.to_owned(), first_left_out };
            assert_eq!(present(expression), expected, "{expression}");
        }
    }
}
