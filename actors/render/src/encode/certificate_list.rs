//! crt-lists: `file [options] filters`, without any quoting.
//!
//! Rules as in HAProxy's `crtlist_parse_line`: words end at any blank, `[` and `]` are special wherever they stand,
//! `#` starts a comment in a line's first column only.

use super::framed::{FramedValue, LineSpan};
use super::refusal::{Refusals, ValuePosition, ValueRefusal, control};

/// HAProxy reads lines through a buffer of 65,536 bytes, with newline and final zero.
const MAX_LINE: usize = 65_536 - 2;
/// The most words of a line: the file, options, and filters.
const MAX_WORDS: usize = 2_048;

/// Writes a line with values; all values fit as they are or are refused.
pub(super) fn encode(line: &[LineSpan<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
    let start = out.len();
    let comment = matches!(line.first(), Some(LineSpan::Template(text)) if text.starts_with('#'));
    let mut word = ListWord::default();
    for span in line {
        out.push_str(span.text());
        match span {
            LineSpan::Template(_) if comment => {}
            LineSpan::Template(text) => text.bytes().for_each(|b| word.template(b, refusals)),
            LineSpan::Value(value) => match control(value.text) {
                Some(c) => {
                    let place = if comment { ValuePosition::Comment } else { ValuePosition::CertificateList };
                    refusals.add(value, place, ValueRefusal::Control(c));
                }
                None if !comment => word.value(value, refusals),
                None => {}
            },
        }
    }
    word.end(refusals);
    let words = word.words;
    let first = line.iter().find_map(|s| if let LineSpan::Value(v) = s { Some(v) } else { None });
    if let (Some(first), false, Some('#')) = (first, comment, out.get(start..).and_then(|l| l.chars().next()))
    {
        refusals.add(first, ValuePosition::CertificateList, ValueRefusal::KeyIsComment);
    }
    if let (Some(first), false) = (first, comment) {
        if out.get(start..).is_some_and(|line| line.trim_end_matches('\n').len() > MAX_LINE) {
            refusals.add(first, ValuePosition::CertificateList, ValueRefusal::TooLong(MAX_LINE));
        } else if words > MAX_WORDS {
            refusals.add(first, ValuePosition::CertificateList, ValueRefusal::TooManyWords(MAX_WORDS));
        }
    }
}

/// The current word of the line.
#[derive(Default)]
struct ListWord<'a, 'l> {
    text: Vec<u8>,
    value: Option<&'a FramedValue<'l>>,
    /// Whether it is the name of an option: the first one inside `[ ]`, and what follows an option's argument.
    option: bool,
    /// Whether it stands inside `[ ]`.
    options: bool,
    /// Whether it may be an SNI filter: not the first word, and not inside `[ ]`.
    filter: bool,
    /// How many words have ended.
    words: usize,
}

/// Options without an argument (configuration manual, 5.1 "Bind options", those that crt-lists know).
const FLAGS: [&[u8]; 3] = [b"allow-0rtt", b"no-alpn", b"no-ca-names"];

impl<'a, 'l> ListWord<'a, 'l> {
    fn template(&mut self, byte: u8, refusals: &mut Refusals<'_>) {
        match byte {
            // Nothing after a zero is read.
            0 | b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => self.end(refusals),
            b'[' | b']' => {
                self.end(refusals);
                (self.option, self.options) = (byte == b'[', byte == b'[');
                self.filter = byte == b']';
            }
            _ => self.text.push(byte),
        }
    }

    fn value(&mut self, value: &'a FramedValue<'l>, refusals: &mut Refusals<'_>) {
        let special = value.text.chars().find(|c| matches!(c, ' ' | '[' | ']'));
        if self.option {
            refusals.add(value, ValuePosition::CertificateList, ValueRefusal::Directive);
        } else if let Some(c) = special {
            refusals.add(value, ValuePosition::CertificateList, ValueRefusal::Unquotable(c));
        } else if self.filter && self.text.is_empty() && value.text.starts_with('!') {
            refusals.add(value, ValuePosition::CertificateList, ValueRefusal::Negation);
        }
        self.text.extend_from_slice(value.text.as_bytes());
        self.value = self.value.or(Some(value));
    }

    fn end(&mut self, refusals: &mut Refusals<'_>) {
        if let Some(value) = self.value {
            if self.text.is_empty() {
                refusals.add(value, ValuePosition::CertificateList, ValueRefusal::EmptyWord);
            } else if self.filter && self.text.strip_prefix(b"!").unwrap_or(&self.text) == b"*" {
                refusals.add(value, ValuePosition::CertificateList, ValueRefusal::EveryHost);
            }
        }
        if !self.text.is_empty() || self.value.is_some() {
            self.words += 1;
            self.option = self.options && (!self.option || FLAGS.contains(&&*self.text));
            self.filter = !self.options;
        }
        self.text.clear();
        self.value = None;
    }
}
