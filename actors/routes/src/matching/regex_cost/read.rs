//! Reads the part of the language that the `regex` crate and PCRE2 read alike. Whatever one of them takes for something
//! else is refused: what is evaluated must be what runs.

use super::{
    node::{Bytes, Node},
    stack::StackUse,
};
use regex_syntax::{
    ast::{
        AssertionKind, Ast, ClassBracketed, ClassSet, ClassSetItem, Flag, FlagsItemKind, GroupKind,
        HexLiteralKind, Literal, LiteralKind, Repetition, RepetitionKind, RepetitionRange,
        parse::ParserBuilder,
    },
    hir::{Class, HirKind, translate::TranslatorBuilder},
};

/// The longest expression that is read.
pub const LONGEST_PATTERN: usize = 500;
/// Groups that a replacement can name: `\1` to `\9`.
const MOST_GROUPS: u32 = 9;
/// Of groups in groups.
const DEEPEST: u32 = 20;
/// The most that PCRE2 makes of it.
const LARGEST: usize = 5_000;
/// Bytes that PCRE2 may make of it: it has no more than 65,536 of them.
const MOST_CODE: usize = 60_000;

/// The expression that was read.
pub(super) struct MeasuredPattern {
    pub node: Node,
    pub stack: StackUse,
}

/// # Errors
/// The form that it must have.
pub(super) fn pattern(text: &str) -> Result<MeasuredPattern, String> {
    if text.len() > LONGEST_PATTERN {
        return Err(format!("must be no longer than {LONGEST_PATTERN} bytes"));
    }
    if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err("must be printable ASCII".into());
    }
    let ast = ParserBuilder::new().nest_limit(DEEPEST).build().parse(text);
    let mut ast = ast.map_err(|e| format!("must be a regular expression: {}", e.kind()))?;
    let reader = Reader { text, ignore_case: take_leading_flag(&mut ast) };
    let node = reader.node(&ast)?;
    let stack = StackUse::of(&ast);
    if node.size() > LARGEST {
        return Err(format!(
            "must not repeat so much: it is {} steps written out, {LARGEST} are the most",
            node.size()
        ));
    }
    let code = code_of(&ast);
    if code > MOST_CODE {
        return Err(format!(
            "must not repeat so much: it is {code} bytes for PCRE2, {MOST_CODE} are the most"
        ));
    }
    // PCRE2 knows that where .* fails at the start of a path it fails everywhere.
    let from_the_start = matches!(node, Node::Seq(_)) && (text.starts_with(".*") || text.starts_with("(.*)"));
    let node = if from_the_start { Node::seq([Node::Start, node]) } else { node };
    Ok(MeasuredPattern { node, stack })
}

/// Takes `(?i)` away from the very start; whether it was there.
fn take_leading_flag(ast: &mut Ast) -> bool {
    let Ast::Concat(concat) = ast else { return false };
    let ignores_case = matches!(concat.asts.first(), Some(Ast::Flags(set))
        if matches!(&*set.flags.items, [one] if one.kind == FlagsItemKind::Flag(Flag::CaseInsensitive)));
    if ignores_case {
        concat.asts.remove(0);
    }
    ignores_case
}

struct Reader<'t> {
    text: &'t str,
    ignore_case: bool,
}

impl Reader<'_> {
    fn node(&self, ast: &Ast) -> Result<Node, String> {
        Ok(match ast {
            Ast::Empty(_) => Node::Seq(vec![]),
            Ast::Literal(literal) => {
                check_literal(literal)?;
                self.one(ast)?
            }
            Ast::Dot(_) | Ast::ClassPerl(_) => self.one(ast)?,
            Ast::ClassBracketed(class) => {
                self.check_class(class)?;
                self.one(ast)?
            }
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::StartLine | AssertionKind::StartText => Node::Start,
                AssertionKind::EndLine | AssertionKind::EndText => Node::End,
                AssertionKind::WordBoundary | AssertionKind::NotWordBoundary => Node::Border,
                _ => return Err(without("\\< and \\>")),
            },
            Ast::Group(group) => match &group.kind {
                GroupKind::CaptureIndex(number) if *number <= MOST_GROUPS => self.node(&group.ast)?,
                GroupKind::CaptureIndex(_) => {
                    return Err(format!("must have no more than {MOST_GROUPS} groups"));
                }
                GroupKind::NonCapturing(flags) if flags.items.is_empty() => self.node(&group.ast)?,
                _ => return Err(without("names of groups, and flags but (?i) at the start")),
            },
            Ast::Repetition(repetition) => self.repetition(repetition)?,
            Ast::Alternation(all) => Node::Either(self.all(&all.asts)?),
            Ast::Concat(all) => Node::seq(self.all(&all.asts)?),
            Ast::Flags(_) => return Err(without("flags but (?i) at the start")),
            Ast::ClassUnicode(_) => return Err(without("\\p")),
        })
    }

    fn all(&self, asts: &[Ast]) -> Result<Vec<Node>, String> {
        asts.iter().map(|ast| self.node(ast)).collect()
    }

    fn repetition(&self, repetition: &Repetition) -> Result<Node, String> {
        if matches!(&*repetition.ast, Ast::Repetition(_)) {
            return Err(without("a repetition right behind another one"));
        }
        let (least, most) = rounds(&repetition.op.kind);
        if least.max(most.unwrap_or(0)) > 1000 {
            return Err("must repeat nothing more than 1000 times".into());
        }
        let node = self.node(&repetition.ast)?;
        if node.may_be_empty() {
            return Err("must repeat nothing that may be empty".into());
        }
        Ok(Node::Repeat { node: Box::new(node), least, most })
    }

    /// The bytes that an element for one byte takes.
    fn one(&self, ast: &Ast) -> Result<Node, String> {
        let mut translator = TranslatorBuilder::new();
        let translator = translator.unicode(false).utf8(false).case_insensitive(self.ignore_case);
        let hir = translator.build().translate(self.text, ast);
        let hir = hir.map_err(|e| format!("must be a regular expression: {}", e.kind()))?;
        let mut bytes = Bytes::default();
        match hir.kind() {
            HirKind::Literal(literal) => literal.0.iter().for_each(|byte| bytes.insert(*byte)),
            HirKind::Class(Class::Bytes(class)) => {
                class
                    .iter()
                    .flat_map(|range| range.start()..=range.end())
                    .for_each(|byte| bytes.insert(byte));
            }
            // A class that takes nothing.
            _ => {}
        }
        Ok(Node::One(bytes))
    }

    fn check_class(&self, class: &ClassBracketed) -> Result<(), String> {
        let text = self.text.get(class.span.start.offset..class.span.end.offset).unwrap_or_default();
        // PCRE2 takes [:a:] for the name of a class.
        let named = [("[:", ":]"), ("[.", ".]"), ("[=", "=]")];
        if text.len() > 3 && named.iter().any(|(start, end)| text.starts_with(start) && text.ends_with(end)) {
            return Err(without("[: and :] around a class"));
        }
        match &class.kind {
            ClassSet::Item(item) => check_item(item),
            ClassSet::BinaryOp(_) => Err(without("&&, -- and ~~ in a class")),
        }
    }
}

/// How many bytes PCRE2 makes of it at the most: it writes out each round of a group that is counted.
fn code_of(ast: &Ast) -> usize {
    let all = |asts: &[Ast]| asts.iter().map(code_of).fold(0, usize::saturating_add);
    match ast {
        Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) | Ast::Dot(_) => 1,
        Ast::Literal(_) | Ast::ClassPerl(_) => 2,
        Ast::ClassUnicode(_) | Ast::ClassBracketed(_) => 36,
        Ast::Group(group) => code_of(&group.ast).saturating_add(10),
        Ast::Alternation(each) => all(&each.asts).saturating_add(3 * each.asts.len()),
        Ast::Concat(each) => all(&each.asts),
        Ast::Repetition(repetition) => {
            let (least, most) = rounds(&repetition.op.kind);
            let is_written_out = matches!(&*repetition.ast, Ast::Group(_));
            let times = if is_written_out { most.unwrap_or(least).max(1) as usize } else { 1 };
            code_of(&repetition.ast).saturating_add(8).saturating_mul(times)
        }
    }
}

/// The fewest and the most times that something is repeated.
pub(super) fn rounds(kind: &RepetitionKind) -> (u32, Option<u32>) {
    match kind {
        RepetitionKind::ZeroOrOne => (0, Some(1)),
        RepetitionKind::ZeroOrMore => (0, None),
        RepetitionKind::OneOrMore => (1, None),
        RepetitionKind::Range(RepetitionRange::Exactly(times)) => (*times, Some(*times)),
        RepetitionKind::Range(RepetitionRange::AtLeast(least)) => (*least, None),
        RepetitionKind::Range(RepetitionRange::Bounded(least, most)) => (*least, Some(*most)),
    }
}

fn check_item(item: &ClassSetItem) -> Result<(), String> {
    match item {
        ClassSetItem::Empty(_) | ClassSetItem::Ascii(_) | ClassSetItem::Perl(_) => Ok(()),
        ClassSetItem::Literal(literal) => check_literal(literal),
        ClassSetItem::Range(range) => check_literal(&range.start).and_then(|()| check_literal(&range.end)),
        ClassSetItem::Union(union) => union.items.iter().try_for_each(check_item),
        ClassSetItem::Bracketed(_) => Err(without("[ in a class (write \\[)")),
        ClassSetItem::Unicode(_) => Err(without("\\p")),
    }
}

fn check_literal(literal: &Literal) -> Result<(), String> {
    match literal.kind {
        LiteralKind::Verbatim
        | LiteralKind::Meta
        | LiteralKind::Superfluous
        | LiteralKind::HexFixed(HexLiteralKind::X) => Ok(()),
        _ => Err(without("control characters, \\x{ and \\u")),
    }
}

fn without(what: &str) -> String {
    format!("must do without {what}")
}
