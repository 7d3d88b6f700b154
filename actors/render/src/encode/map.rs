//! Map files: a key, blanks, and a value to the line's end, without any quoting.
//!
//! Rules as in HAProxy's `pat_ref_read_from_file_smp`: `#` starts a comment in a line's first column only; blanks
//! around key and value are cut; a line longer than the buffer is read as two.

use super::framed::{FramedValue, LineSpan};
use super::refusal::{Refusals, ValuePosition, ValueRefusal, control};

/// HAProxy reads lines through a buffer of `tune.bufsize`, 16,384 bytes unless set, with newline and final zero.
const MAX_LINE: usize = 16_384 - 2;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Column {
    #[default]
    Lead,
    Key,
    Gap,
    Value,
    /// HAProxy reads no further.
    Unread,
}

/// Writes a line with values; all values fit as they are or are refused.
pub(super) fn encode(line: &[LineSpan<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
    let start = out.len();
    let mut reader = MapReader::default();
    let comment = matches!(line.first(), Some(LineSpan::Template(text)) if text.starts_with('#'));
    for span in line {
        out.push_str(span.text());
        match span {
            LineSpan::Template(text) if !comment => reader.template(text, refusals),
            LineSpan::Template(_) => {}
            LineSpan::Value(value) if comment => {
                if let Some(c) = control(value.text) {
                    refusals.add(value, ValuePosition::Comment, ValueRefusal::Control(c));
                }
            }
            LineSpan::Value(value) => reader.value(value, refusals),
        }
    }
    reader.end(refusals);
    let Some(first) = line.iter().find_map(|s| if let LineSpan::Value(v) = s { Some(v) } else { None })
    else {
        return;
    };
    let written = out.get(start..).unwrap_or_default();
    if !comment && written.starts_with('#') {
        refusals.add(first, ValuePosition::MapKey, ValueRefusal::KeyIsComment);
    }
    if written.trim_end_matches('\n').len() > MAX_LINE {
        refusals.add(first, ValuePosition::MapValue, ValueRefusal::LineTooLong(MAX_LINE));
    }
}

/// The same for a file of patterns (`-f`): as HAProxy's `pat_ref_read_from_file`, a whole line without the blanks at its
/// start is one.
pub(super) fn encode_pattern(line: &[LineSpan<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
    let start = out.len();
    let comment = matches!(line.first(), Some(LineSpan::Template(text)) if text.starts_with('#'));
    let place = if comment { ValuePosition::Comment } else { ValuePosition::Pattern };
    // A value that stands there with nothing but blanks before it.
    let mut lead = None;
    for span in line {
        if let LineSpan::Value(value) = span {
            if let Some(c) = control(value.text) {
                refusals.add(value, place, ValueRefusal::Control(c));
            }
            if out.get(start..).is_some_and(|before| before.bytes().all(is_blank)) {
                lead = lead.or(Some((value, out.len())));
            }
        }
        out.push_str(span.text());
    }
    if let Some((value, at)) = lead.filter(|_| !comment)
        && out.get(at..).is_some_and(|behind| behind.starts_with([' ', '\t']))
    {
        refusals.add(value, place, ValueRefusal::LeadingBlank);
    }
    let written = out.get(start..).unwrap_or_default();
    let first = line.iter().find_map(|s| if let LineSpan::Value(v) = s { Some(v) } else { None });
    let Some(first) = first.filter(|_| !comment) else { return };
    if written.starts_with('#') {
        refusals.add(first, place, ValueRefusal::KeyIsComment);
    }
    let read = written.split(['\0', '\r', '\n']).next().unwrap_or_default();
    if read.bytes().all(is_blank) {
        refusals.add(first, place, ValueRefusal::PatternEmpty);
    }
    if written.trim_end_matches('\n').len() > MAX_LINE {
        refusals.add(first, place, ValueRefusal::LineTooLong(MAX_LINE));
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[derive(Default)]
struct MapReader<'a, 'l> {
    column: Column,
    /// Bytes of the key so far.
    key: usize,
    key_value: Option<&'a FramedValue<'l>>,
    /// The value that the line would end in with a blank.
    ends_blank: Option<&'a FramedValue<'l>>,
    /// Whether a blank of the template's stands last.
    blank: bool,
    /// A value of nothing where the line's value would begin.
    nothing: Option<&'a FramedValue<'l>>,
}

impl<'a, 'l> MapReader<'a, 'l> {
    fn template(&mut self, text: &str, refusals: &mut Refusals<'_>) {
        for b in text.bytes() {
            match (self.column, b) {
                (_, 0 | b'\n' | b'\r') => return self.end(refusals),
                (Column::Unread, _) => {}
                (Column::Gap, b' ' | b'\t') => {
                    if let Some(value) = self.nothing.take() {
                        refusals.add(value, ValuePosition::MapValue, ValueRefusal::EdgeBlank);
                    }
                }
                (Column::Lead | Column::Value, b' ' | b'\t') => self.blank = true,
                (Column::Key, b' ' | b'\t') => self.end_of_key(refusals),
                (Column::Lead | Column::Key, _) => (self.column, self.key) = (Column::Key, self.key + 1),
                (Column::Gap | Column::Value, _) => {
                    (self.column, self.ends_blank) = (Column::Value, None);
                    (self.blank, self.nothing) = (false, None);
                }
            }
        }
    }

    fn value(&mut self, value: &'a FramedValue<'l>, refusals: &mut Refusals<'_>) {
        let key = matches!(self.column, Column::Lead | Column::Key);
        let place = if key { ValuePosition::MapKey } else { ValuePosition::MapValue };
        if let Some(c) = control(value.text) {
            refusals.add(value, place, ValueRefusal::Control(c));
        } else if self.column == Column::Unread {
            // Whatever it is.
        } else if key {
            if value.text.contains(' ') {
                refusals.add(value, place, ValueRefusal::KeyHasBlank);
            }
            self.column = Column::Key;
            self.key += value.text.len();
            self.key_value = self.key_value.or(Some(value));
        } else if !value.text.is_empty() {
            if self.column == Column::Gap && value.text.starts_with(' ') {
                refusals.add(value, place, ValueRefusal::EdgeBlank);
            }
            self.column = Column::Value;
            self.ends_blank = value.text.ends_with(' ').then_some(value);
            (self.blank, self.nothing) = (false, None);
        } else if self.column == Column::Gap {
            self.nothing = self.nothing.or(Some(value));
        } else if self.blank {
            self.ends_blank = self.ends_blank.or(Some(value));
        }
    }

    fn end_of_key(&mut self, refusals: &mut Refusals<'_>) {
        self.column = Column::Gap;
        if let (0, Some(value)) = (self.key, self.key_value) {
            refusals.add(value, ValuePosition::MapKey, ValueRefusal::KeyEmpty);
        }
    }

    fn end(&mut self, refusals: &mut Refusals<'_>) {
        if self.column == Column::Key {
            self.end_of_key(refusals);
        }
        if let Some(value) = self.ends_blank.take() {
            refusals.add(value, ValuePosition::MapValue, ValueRefusal::EdgeBlank);
        }
        self.column = Column::Unread;
    }
}
