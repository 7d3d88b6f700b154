//! crt-lists: `file [options] filters`, without any quoting.
//!
//! Rules as in HAProxy's `crtlist_parse_line`: words end at any blank, `[` and `]` are special wherever they stand,
//! `#` starts a comment in a line's first column only.

use super::marked::{Span, Value};
use super::refusal::{Place, Refusal, Refusals, control};

/// Writes a line with values; all values fit as they are or are refused.
pub(super) fn encode(line: &[Span<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
    let start = out.len();
    let comment = matches!(line.first(), Some(Span::Template(text)) if text.starts_with('#'));
    let mut word = Word { length: 0, value: None, option: false, options: false, filter: false };
    for span in line {
        out.push_str(span.text());
        match span {
            Span::Template(_) if comment => {}
            Span::Template(text) => text.bytes().for_each(|b| word.template(b, refusals)),
            Span::Value(value) => match control(value.text) {
                Some(c) => {
                    let place = if comment { Place::Comment } else { Place::CertificateList };
                    refusals.add(value, place, Refusal::Control(c));
                }
                None if !comment => word.value(value, refusals),
                None => {}
            },
        }
    }
    word.end(refusals);
    let first = line.iter().find_map(|s| if let Span::Value(v) = s { Some(v) } else { None });
    if let (Some(first), false, Some('#')) = (first, comment, out.get(start..).and_then(|l| l.chars().next()))
    {
        refusals.add(first, Place::CertificateList, Refusal::KeyIsComment);
    }
}

/// The current word of the line.
struct Word<'a, 'l> {
    length: usize,
    value: Option<&'a Value<'l>>,
    /// Whether it is the first one inside `[ ]`: the name of an option.
    option: bool,
    /// Whether it stands inside `[ ]`.
    options: bool,
    /// Whether it may be an SNI filter: not the first word, and not inside `[ ]`.
    filter: bool,
}

impl<'a, 'l> Word<'a, 'l> {
    fn template(&mut self, byte: u8, refusals: &mut Refusals<'_>) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => self.end(refusals),
            b'[' | b']' => {
                self.end(refusals);
                (self.option, self.options) = (byte == b'[', byte == b'[');
                self.filter = byte == b']';
            }
            _ => self.length += 1,
        }
    }

    fn value(&mut self, value: &'a Value<'l>, refusals: &mut Refusals<'_>) {
        let special = value.text.chars().find(|c| matches!(c, ' ' | '[' | ']'));
        if self.option {
            refusals.add(value, Place::CertificateList, Refusal::Directive);
        } else if let Some(c) = special {
            refusals.add(value, Place::CertificateList, Refusal::Unquotable(c));
        } else if self.filter && self.length == 0 && value.text.starts_with('!') {
            refusals.add(value, Place::CertificateList, Refusal::Negation);
        }
        self.length += value.text.len();
        self.value = self.value.or(Some(value));
    }

    fn end(&mut self, refusals: &mut Refusals<'_>) {
        if let (0, Some(value)) = (self.length, self.value) {
            refusals.add(value, Place::CertificateList, Refusal::EmptyWord);
        }
        if self.length > 0 || self.value.is_some() {
            (self.filter, self.option) = (!self.options, false);
        }
        (self.length, self.value) = (0, None);
    }
}
