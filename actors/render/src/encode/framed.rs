//! Reads framed text: lines, and in them template text, values and marks.
//!
//! A newline inside a value does not end a line. Text whose marks do not fit together is an error of the engine and
//! is reported as such; nothing here looks at what values contain.

use crate::output::framing;
use haptic_model::Diagnostic;

/// A place in a template: index of its name, and line from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub template: u32,
    pub line: u32,
}

/// Where something was printed, and for which object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PrintPosition {
    pub position: Option<Position>,
    pub owner: Option<u32>,
    /// The outermost owner.
    pub block: Option<u32>,
}

/// How a value was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrintedAs {
    /// As it is.
    Plain,
    /// By `arg`: quoted for the arguments of a fetch or converter.
    Argument,
    /// By `lf`: `%` doubled for a log-format.
    LogFormat,
}

/// One printed value.
#[derive(Clone, Copy, Debug)]
pub(super) struct FramedValue<'l> {
    pub text: &'l str,
    pub printed: PrintedAs,
    pub site: PrintPosition,
    /// Whether it is from a Secret.
    pub secret: bool,
}

/// A part of a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum LineSpan<'l> {
    Template(&'l str),
    Value(FramedValue<'l>),
}

impl<'l> LineSpan<'l> {
    pub fn text(&self) -> &'l str {
        match self {
            Self::Template(text) => text,
            Self::Value(value) => value.text,
        }
    }
}

/// A part of framed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item<'l> {
    Template(&'l str),
    Value(PrintedAs, &'l str),
    Position(Position),
    Owner(u32),
    Unown,
    /// The next value is from a Secret.
    Secret,
}

/// Marks that do not fit together: a defect of the engine, never of a template or an object.
#[derive(Debug, thiserror::Error)]
#[error("internal error: the engine's marks do not fit together ({0})")]
pub(super) struct MalformedText(pub &'static str);

impl MalformedText {
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::error("structure", self.to_string())
            .help("This is a defect of HAPTIC, not of your templates: please report it with the template")
    }
}

/// The first line of a framed text.
pub(super) struct LineEnd {
    /// Its bytes, with the newline.
    pub length: usize,
    /// Whether it ends in a newline.
    pub complete: bool,
    /// Whether it has marks.
    pub marks: bool,
    /// Whether it has anything but marks.
    pub text: bool,
}

/// Finds the end of the first line of `text`.
pub(super) fn line_end(text: &str) -> Result<LineEnd, MalformedText> {
    let bytes = text.as_bytes();
    let mut line = LineEnd { length: bytes.len(), complete: false, marks: false, text: false };
    let mut at = 0;
    loop {
        let from = bytes.get(at..).unwrap_or_default();
        let Some(found) = from.iter().position(|b| *b == b'\n' || *b == MARK_LEAD) else {
            line.text |= !from.is_empty();
            return Ok(line);
        };
        line.text |= found > 0;
        at += found;
        match mark_at(bytes, at) {
            Some(mark) => {
                line.marks = true;
                let value = opens_value(mark);
                line.text |= value.is_some();
                at = end_of_mark(bytes, at, mark)?;
            }
            None if bytes.get(at) == Some(&b'\n') => {
                (line.length, line.complete, line.text) = (at + 1, true, true);
                return Ok(line);
            }
            None => {
                line.text = true;
                at += 1;
            }
        }
    }
}

/// All that stands in `text`, in order. Ends after the first error.
pub(super) fn items(text: &str) -> Items<'_> {
    Items { text, at: 0 }
}

pub(super) struct Items<'l> {
    text: &'l str,
    at: usize,
}

impl<'l> Iterator for Items<'l> {
    type Item = Result<Item<'l>, MalformedText>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.text.len() {
            return None;
        }
        let item = self.item();
        if item.is_err() {
            self.at = self.text.len();
        }
        Some(item)
    }
}

impl<'l> Items<'l> {
    fn item(&mut self) -> Result<Item<'l>, MalformedText> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let Some(mark) = mark_at(bytes, start) else {
            self.at = next_mark(bytes, start);
            return Ok(Item::Template(self.slice(start, self.at)));
        };
        self.at = end_of_mark(bytes, start, mark)?;
        let inside = start + MARK_LENGTH;
        if let Some(printed) = opens_value(mark) {
            return Ok(Item::Value(printed, self.slice(inside, self.at - MARK_LENGTH)));
        }
        let argument = self.slice(inside, self.at.saturating_sub(1));
        match mark {
            LINE => {
                let (template, line) =
                    argument.split_once(':').ok_or(MalformedText("a line without its number"))?;
                Ok(Item::Position(Position { template: number(template)?, line: number(line)? }))
            }
            OWNER => Ok(Item::Owner(number(argument)?)),
            UNOWN => Ok(Item::Unown),
            SECRET => Ok(Item::Secret),
            END => Err(MalformedText("a value ends that never began")),
            _ => Err(MalformedText("an unknown mark")),
        }
    }

    fn slice(&self, from: usize, to: usize) -> &'l str {
        self.text.get(from..to).unwrap_or_default()
    }
}

fn number(digits: &str) -> Result<u32, MalformedText> {
    digits.parse().map_err(|_| MalformedText("a number that is none"))
}

/// All marks are U+E000 to U+E00F: `EE 80 80` to `EE 80 8F` in UTF-8. Known by their last byte.
const MARK_LEAD: u8 = 0xEE;
const MARK_LENGTH: usize = 3;
const VALUE: u8 = last_byte(framing::VALUE);
const ARGUMENT: u8 = last_byte(framing::ARGUMENT);
const LOG_FORMAT: u8 = last_byte(framing::LOG_FORMAT);
const END: u8 = last_byte(framing::END);
const LINE: u8 = last_byte(framing::LINE);
const OWNER: u8 = last_byte(framing::OWNER);
const UNOWN: u8 = last_byte(framing::UNOWN);
const SECRET: u8 = last_byte(framing::SECRET);

const fn last_byte(mark: char) -> u8 {
    0x80 | (mark as u32 & 0x3F) as u8
}

fn mark_at(bytes: &[u8], at: usize) -> Option<u8> {
    match bytes.get(at..at + MARK_LENGTH) {
        Some(&[MARK_LEAD, 0x80, last @ 0x80..=0x8F]) => Some(last),
        _ => None,
    }
}

fn next_mark(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|b| b.iter().position(|b| *b == MARK_LEAD)) {
        at += found;
        if mark_at(bytes, at).is_some() {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

fn opens_value(mark: u8) -> Option<PrintedAs> {
    match mark {
        VALUE => Some(PrintedAs::Plain),
        ARGUMENT => Some(PrintedAs::Argument),
        LOG_FORMAT => Some(PrintedAs::LogFormat),
        _ => None,
    }
}

/// Where a mark at `at` ends: a value with its end mark, a number with its semicolon.
fn end_of_mark(bytes: &[u8], at: usize, mark: u8) -> Result<usize, MalformedText> {
    let inside = at + MARK_LENGTH;
    if opens_value(mark).is_some() {
        let end = next_mark(bytes, inside);
        return match mark_at(bytes, end) {
            Some(END) => Ok(end + MARK_LENGTH),
            Some(_) => Err(MalformedText("a mark inside a value")),
            None => Err(MalformedText("a value without an end")),
        };
    }
    if mark != LINE && mark != OWNER {
        return Ok(inside);
    }
    let rest = bytes.get(inside..).unwrap_or_default();
    let digits = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b':').count();
    match rest.get(digits) {
        Some(b';') => Ok(inside + digits + 1),
        _ => Err(MalformedText("a number without its end")),
    }
}
