//! Map and ACL files: a key, blanks, and a value to the line's end, without any quoting.
//!
//! Rules as in HAProxy's `pat_ref_read_from_file_smp`: `#` starts a comment in a line's first column only; blanks
//! around key and value are cut; a line longer than the buffer is read as two.

use super::marked::{Span, Value};
use super::refusal::{Place, Refusal, Refusals, control};

/// HAProxy reads lines through a buffer of `tune.bufsize`, 16,384 bytes unless set, with newline and final zero.
const MAX_LINE: usize = 16_384 - 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Lead,
    Key,
    Gap,
    Value,
}

/// Writes a line with values; all values fit as they are or are refused.
pub(super) fn encode(line: &[Span<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
    let start = out.len();
    let mut reader = Reader { column: Column::Lead, key: 0, key_value: None, ends_blank: None };
    let comment = matches!(line.first(), Some(Span::Template(text)) if text.starts_with('#'));
    for span in line {
        out.push_str(span.text());
        match span {
            Span::Template(text) if !comment => reader.template(text, refusals),
            Span::Template(_) => {}
            Span::Value(value) if comment => {
                if let Some(c) = control(value.text) {
                    refusals.add(value, Place::Comment, Refusal::Control(c));
                }
            }
            Span::Value(value) => reader.value(value, refusals),
        }
    }
    reader.end(refusals);
    let Some(first) = line.iter().find_map(|s| if let Span::Value(v) = s { Some(v) } else { None }) else {
        return;
    };
    let written = out.get(start..).unwrap_or_default();
    if !comment && written.starts_with('#') {
        refusals.add(first, Place::MapKey, Refusal::KeyIsComment);
    }
    if written.trim_end_matches('\n').len() > MAX_LINE {
        refusals.add(first, Place::MapValue, Refusal::LineTooLong(MAX_LINE));
    }
}

struct Reader<'a, 'l> {
    column: Column,
    /// Bytes of the key so far.
    key: usize,
    key_value: Option<&'a Value<'l>>,
    /// The value that the line would end in with a blank.
    ends_blank: Option<&'a Value<'l>>,
}

impl<'a, 'l> Reader<'a, 'l> {
    fn template(&mut self, text: &str, refusals: &mut Refusals<'_>) {
        for b in text.bytes() {
            match (self.column, b) {
                (_, b'\n' | b'\r') => return,
                (Column::Lead | Column::Gap | Column::Value, b' ' | b'\t') => {}
                (Column::Key, b' ' | b'\t') => self.end_of_key(refusals),
                (Column::Lead | Column::Key, _) => (self.column, self.key) = (Column::Key, self.key + 1),
                (Column::Gap | Column::Value, _) => (self.column, self.ends_blank) = (Column::Value, None),
            }
        }
    }

    fn value(&mut self, value: &'a Value<'l>, refusals: &mut Refusals<'_>) {
        let key = matches!(self.column, Column::Lead | Column::Key);
        let place = if key { Place::MapKey } else { Place::MapValue };
        if let Some(c) = control(value.text) {
            refusals.add(value, place, Refusal::Control(c));
        } else if key {
            if value.text.contains(' ') {
                refusals.add(value, place, Refusal::KeyHasBlank);
            }
            self.column = Column::Key;
            self.key += value.text.len();
            self.key_value = self.key_value.or(Some(value));
        } else if !value.text.is_empty() {
            if self.column == Column::Gap && value.text.starts_with(' ') {
                refusals.add(value, place, Refusal::EdgeBlank);
            }
            self.column = Column::Value;
            self.ends_blank = value.text.ends_with(' ').then_some(value);
        }
    }

    fn end_of_key(&mut self, refusals: &mut Refusals<'_>) {
        self.column = Column::Gap;
        if let (0, Some(value)) = (self.key, self.key_value) {
            refusals.add(value, Place::MapKey, Refusal::KeyEmpty);
        }
    }

    fn end(&mut self, refusals: &mut Refusals<'_>) {
        if self.column == Column::Key {
            self.end_of_key(refusals);
        }
        if let Some(value) = self.ends_blank {
            refusals.add(value, Place::MapValue, Refusal::EdgeBlank);
        }
    }
}
