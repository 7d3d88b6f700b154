//! Finds the tags of a template by hand: for messages the grammar cannot give, and to tell the grammar's text which
//! lines it stands on.
//!
//! Text that goes to the grammar gets a LINE mark before the first character of each line's text; statements such
//! as `{{let …}}` alone on a line are written as partials, which leave no empty line behind.

use crate::{functions, output::framing};

/// Prefix of statements written as partials.
pub(super) const STATEMENT: char = '@';

/// So deep are blocks nested at most, each `{{else}}` counted.
const DEEPEST: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagKind {
    /// `{{…}}`, `{{{…}}}`, `{{&…}}`, `{{> …}}`.
    Plain,
    Comment,
    /// `{{#…}}`.
    Open,
    /// `{{/…}}`.
    Close,
    /// `{{else}}`, `{{else if …}}`, `{{^}}`.
    Else,
    /// `{{{{raw}}}}`, its text and its end.
    RawBlock,
}

#[derive(Clone, Debug)]
pub(super) struct Tag<'s> {
    pub kind: TagKind,
    /// Without braces, `~`, `#`, `/`.
    pub inner: &'s str,
    pub start: usize,
    pub end: usize,
    pub line: u32,
    pub column: u32,
    /// Nothing else but white space is on its line.
    pub alone: bool,
}

/// Something wrong that is seen without a grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScanProblem {
    pub line: u32,
    pub column: u32,
    pub message: String,
    pub help: Option<String>,
}

/// A template made ready for the grammar.
#[derive(Default)]
pub(super) struct Prepared {
    pub source: String,
    /// Characters inserted: line, column before which, how many.
    inserted: Vec<(u32, u32, u32)>,
}

impl Prepared {
    /// The column of the original text for one of the prepared text.
    pub fn column(&self, line: usize, column: usize) -> u32 {
        let mut original = u32::try_from(column).unwrap_or(0);
        for (_, before, count) in self.inserted.iter().filter(|(l, ..)| *l as usize == line) {
            if original >= before + count {
                original -= count;
            } else if original > *before {
                original = *before;
            }
        }
        original.max(1)
    }
}

impl Tag<'_> {
    /// Its first word.
    pub fn word(&self) -> &str {
        let inner = self.inner.trim_start_matches(['*', '>', '&']).trim_start();
        inner.split(|c: char| c.is_whitespace() || c == '=').next().unwrap_or_default()
    }
}

/// All tags in order.
///
/// # Errors
/// A tag without an end.
pub(super) fn tags(source: &str) -> Result<Vec<Tag<'_>>, ScanProblem> {
    let mut found = Vec::new();
    let mut position = 0;
    let mut counter = LineCounter::new(source);
    while let Some(start) = next_open(source, position) {
        let rest = source.get(start..).unwrap_or_default();
        let (line, column) = counter.at(start);
        let (kind, inner, length) = tag(rest).ok_or_else(|| ScanProblem {
            line,
            column,
            message: format!("this tag has no end: {}", rest.lines().next().unwrap_or_default().trim()),
            help: Some("Close it with }}".into()),
        })?;
        let end = start + length;
        let before = source.get(..start).unwrap_or_default();
        let after = source.get(end..).unwrap_or_default();
        let alone = before.rsplit('\n').next().unwrap_or_default().trim().is_empty()
            && after.split('\n').next().unwrap_or_default().trim().is_empty();
        found.push(Tag { kind, inner, start, end, line, column, alone });
        position = end;
    }
    Ok(found)
}

/// Blocks that are not closed, closed twice, or closed by another name.
pub(super) fn unbalanced(tags: &[Tag<'_>]) -> Vec<ScanProblem> {
    let mut open: Vec<&Tag<'_>> = Vec::new();
    let mut troubles = Vec::new();
    for tag in tags {
        match tag.kind {
            TagKind::Open => open.push(tag),
            TagKind::Close => match open.pop() {
                None => troubles.push(trouble(tag, format!("{{{{/{}}}}} closes nothing", tag.word()), None)),
                Some(opened) if tag.word() != opened.word() => {
                    troubles.push(trouble(
                        tag,
                        format!(
                            "{{{{/{}}}}} closes {{{{#{}}}}}, which was opened at line {}",
                            tag.word(),
                            opened.word(),
                            opened.line
                        ),
                        Some(format!("Write {{{{/{}}}}}, or close what was opened after it", opened.word())),
                    ));
                    // The outer block of that name is closed too, or one mistake would be many.
                    if let Some(i) = open.iter().rposition(|o| o.word() == tag.word()) {
                        open.truncate(i);
                    }
                    return troubles;
                }
                Some(_) => {}
            },
            // The grammar takes it for a plain else.
            TagKind::Plain if ["elseif", "elsif", "elif"].contains(&tag.word()) => {
                let help = Some("Write {{else if CONDITION}}".into());
                troubles.push(trouble(tag, format!("there is no {{{{{}}}}}", tag.word()), help));
            }
            TagKind::Else if open.is_empty() => {
                troubles.push(trouble(tag, "{{else}} stands outside of any block".into(), None));
            }
            _ => {}
        }
    }
    troubles.extend(open.iter().map(|tag| {
        trouble(
            tag,
            format!("{{{{#{}}}}} is never closed", tag.inner.trim_end_matches('~').trim()),
            Some(format!("Add {{{{/{}}}}} behind it", tag.word())),
        )
    }));
    troubles
}

/// Blocks that are nested so deep that what reads the tree, and calls itself for each, would use up the stack.
pub(super) fn too_deep(tags: &[Tag<'_>]) -> Option<ScanProblem> {
    let (mut open, mut depth) = (Vec::new(), 0);
    for tag in tags {
        match tag.kind {
            TagKind::Open => {
                open.push(depth);
                depth += 1;
            }
            // The grammar lays what follows an `{{else if}}` into it.
            TagKind::Else => depth += 1,
            TagKind::Close => depth = open.pop().unwrap_or(0),
            _ => {}
        }
        if depth > DEEPEST {
            let help = Some("Cut the template into snippets".into());
            return Some(trouble(tag, format!("blocks are nested deeper than {DEEPEST}"), help));
        }
    }
    None
}

fn trouble(tag: &Tag<'_>, message: String, help: Option<String>) -> ScanProblem {
    ScanProblem { line: tag.line, column: tag.column, message, help }
}

/// Adds LINE marks to the text and turns statements that stand alone into partials.
pub(super) fn prepare(source: &str, tags: &[Tag<'_>]) -> Prepared {
    let mut prepared = Prepared { source: String::with_capacity(source.len() * 5 / 4), inserted: Vec::new() };
    let mut position = 0;
    let mut line = 1;
    let mut column = 1;
    for tag in tags {
        prepared.text(source.get(position..tag.start).unwrap_or_default(), &mut line, &mut column);
        let text = source.get(tag.start..tag.end).unwrap_or_default();
        if tag.kind == TagKind::RawBlock {
            prepared.raw_block(text, &mut line, &mut column);
        } else {
            let is_statement = tag.alone && tag.kind == TagKind::Plain && functions::is_statement(tag.word());
            if is_statement && let Some(i) = text.find(tag.inner) {
                let (braces, rest) = text.split_at(i);
                prepared.source.push_str(braces);
                prepared.source.push_str("> ");
                prepared.source.push(STATEMENT);
                prepared.source.push_str(rest);
                let before = column + u32::try_from(braces.chars().count()).unwrap_or(0);
                prepared.inserted.push((line, before, 3));
            } else {
                prepared.source.push_str(text);
            }
            advance(text, &mut line, &mut column);
        }
        position = tag.end;
    }
    prepared.text(source.get(position..).unwrap_or_default(), &mut line, &mut column);
    prepared
}

impl Prepared {
    /// Template text: each line of it gets a mark before its first character that is not white space.
    fn text(&mut self, text: &str, line: &mut u32, column: &mut u32) {
        for part in text.split_inclusive('\n') {
            let words = part.trim_start();
            let (blank, words) = part.split_at(part.len() - words.len());
            self.source.push_str(blank);
            if !words.is_empty() {
                let mark = format!("{}{line};", framing::LINE);
                let before = *column + u32::try_from(blank.chars().count()).unwrap_or(0);
                self.inserted.push((*line, before, u32::try_from(mark.chars().count()).unwrap_or(0)));
                self.source.push_str(&mark);
                self.source.push_str(words);
            }
            advance(part, line, column);
        }
    }

    fn raw_block(&mut self, block: &str, line: &mut u32, column: &mut u32) {
        let begin = block.find("}}}}").map_or(block.len(), |i| i + 4);
        let end = block.rfind("{{{{").filter(|e| *e >= begin).unwrap_or(block.len());
        let open = block.get(..begin).unwrap_or_default();
        self.source.push_str(open);
        advance(open, line, column);
        self.text(block.get(begin..end).unwrap_or_default(), line, column);
        let close = block.get(end..).unwrap_or_default();
        self.source.push_str(close);
        advance(close, line, column);
    }
}

fn advance(text: &str, line: &mut u32, column: &mut u32) {
    for c in text.chars() {
        if c == '\n' {
            *line += 1;
            *column = 1;
        } else {
            *column += 1;
        }
    }
}

/// The next `{{` at or behind `from` that is not escaped by one backslash.
fn next_open(source: &str, mut from: usize) -> Option<usize> {
    loop {
        let start = from + source.get(from..)?.find("{{")?;
        let backslashes = source.get(..start)?.bytes().rev().take_while(|b| *b == b'\\').count();
        if backslashes != 1 {
            return Some(start);
        }
        let braces = source.get(start..)?.bytes().take_while(|b| *b == b'{').count();
        from = start + if braces >= 4 { 4 } else { 2 };
    }
}

/// Kind, inside and length of the tag that `rest` begins with.
fn tag(rest: &str) -> Option<(TagKind, &str, usize)> {
    if rest.starts_with("{{{{") {
        let open = rest.find("}}}}")? + 4;
        let name = rest.get(4..open - 4)?.trim_matches(['~', ' ']);
        let word = name.split_whitespace().next().unwrap_or_default();
        let close = find_raw_end(rest, open, word)?;
        return Some((TagKind::RawBlock, name, close));
    }
    if rest.starts_with("{{!--") || rest.starts_with("{{~!--") {
        let end = rest.find("--}}").map(|i| i + 4).or_else(|| rest.find("--~}}").map(|i| i + 5))?;
        return Some((TagKind::Comment, "", end));
    }
    if rest.starts_with("{{!") || rest.starts_with("{{~!") {
        return Some((TagKind::Comment, "", rest.find("}}")? + 2));
    }
    let triple = rest.starts_with("{{{") || rest.starts_with("{{~{");
    let open = if rest.starts_with("{{{") { 3 } else { 2 };
    let close = end_of_expression(rest, open, triple)?;
    let inside = rest.get(open..close.0)?;
    let inside = inside.trim_start_matches('~').trim_start_matches('{').trim_end_matches('~').trim();
    let (kind, inner) = if let Some(inner) = inside.strip_prefix('#') {
        (TagKind::Open, inner.trim_start())
    } else if let Some(inner) = inside.strip_prefix('/') {
        (TagKind::Close, inner.trim_start())
    } else if inside == "else" || inside.starts_with("else ") || inside.starts_with('^') {
        (TagKind::Else, inside)
    } else {
        (TagKind::Plain, inside)
    };
    Some((kind, inner, close.1))
}

fn find_raw_end(rest: &str, from: usize, name: &str) -> Option<usize> {
    let mut at = from;
    loop {
        let start = at + rest.get(at..)?.find("{{{{")?;
        let end = start + rest.get(start..)?.find("}}}}")? + 4;
        let inner = rest.get(start + 4..end - 4)?.trim_matches(['~', ' ']);
        if inner.strip_prefix('/').is_some_and(|n| n.trim() == name) {
            return Some(end);
        }
        at = start + 4;
    }
}

/// Where the inside of an expression ends and where its tag does; braces in texts do not count.
fn end_of_expression(rest: &str, from: usize, triple: bool) -> Option<(usize, usize)> {
    let mut quote = None;
    let mut escaped = false;
    // Between `.[` and `]` a quote is part of a key.
    let mut segment = false;
    let mut last = ' ';
    let closing = if triple { "}}}" } else { "}}" };
    for (i, c) in rest.char_indices().skip_while(|(i, _)| *i < from) {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None => match c {
                ']' => segment = false,
                '[' => segment = matches!(last, '.' | '/'),
                '"' | '\'' if !segment => quote = Some(c),
                '}' => {
                    let tail = rest.get(i..)?;
                    if tail.starts_with(closing) {
                        // A dict literal may end right before the tag does: `{{f {"a":1}}}`.
                        let braces = tail.bytes().take_while(|b| *b == b'}').count();
                        let inside = rest.get(from..i)?;
                        let unclosed =
                            inside.matches('{').count().saturating_sub(inside.matches('}').count());
                        let mine = unclosed
                            .saturating_sub(usize::from(triple && from == 2))
                            .min(braces - closing.len());
                        return Some((i + mine, i + mine + closing.len()));
                    }
                    if triple && tail.starts_with("}~}}") {
                        return Some((i, i + 4));
                    }
                }
                _ => {}
            },
        }
        last = c;
    }
    None
}

struct LineCounter<'s> {
    source: &'s str,
    position: usize,
    line: u32,
    column: u32,
}

impl<'s> LineCounter<'s> {
    fn new(source: &'s str) -> Self {
        Self { source, position: 0, line: 1, column: 1 }
    }

    /// Line and column of a byte position; positions must not go back.
    fn at(&mut self, position: usize) -> (u32, u32) {
        let passed = self.source.get(self.position..position).unwrap_or_default();
        advance(passed, &mut self.line, &mut self.column);
        self.position = position;
        (self.line, self.column)
    }
}
