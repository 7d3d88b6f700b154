//! The proof that an encoded line is what the template says: read as HAProxy reads it, it has the words that it has when
//! each value is one harmless word, and in these words the values, byte for byte.
//!
//! It is there to find what the rest of the encoder does wrong, so it shares nothing with it but the spans: its
//! own tokenisers are written from HAProxy's `parse_line`, `pat_ref_read_from_file_smp` and `crtlist_parse_line`, byte by
//! byte. It must not encode, repair or excuse anything. Whatever it finds is a defect of this program.

mod tokens;

#[cfg(test)]
mod tests;

use super::{
    format::FileFormat,
    framed::{FramedValue, LineSpan},
};
use tokens::Tokens;

/// The change that a value would have made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Breach {
    /// There would be more lines, or fewer.
    #[error("the number of lines")]
    Lines,
    /// Words would begin or end elsewhere, or hold something else.
    #[error("the words of its line")]
    Words,
    /// A word would be punctuation of a condition.
    #[error("the condition of its line")]
    Condition,
    /// It would say what the line does.
    #[error("what its line does")]
    Directive,
}

/// Stands for a value: no template and no value has it, and to HAProxy it is a letter.
const VALUE: &[u8] = "\u{E000}".as_bytes();

/// Directives that conditions may follow (configuration manual, 7.2 "Using ACLs to form conditions").
const CONDITIONAL: [&[u8]; 17] = [
    b"http-request",
    b"http-response",
    b"http-after-response",
    b"tcp-request",
    b"tcp-response",
    b"quic-initial",
    b"use_backend",
    b"use-server",
    b"use-fcgi-app",
    b"redirect",
    b"stick",
    b"monitor",
    b"force-persist",
    b"ignore-persist",
    b"force-be-switch",
    b"stats",
    b"pass-header",
];

/// Proves lines of one file; kept from line to line for its memory only.
#[derive(Debug)]
pub(super) struct EncodingProof {
    reading: FileFormat,
    plain: Vec<u8>,
    meant: Tokens,
    expected: Tokens,
    encoded: Tokens,
}

impl EncodingProof {
    pub fn new(reading: FileFormat) -> Self {
        Self {
            reading,
            plain: Vec::new(),
            meant: Tokens::default(),
            expected: Tokens::default(),
            encoded: Tokens::default(),
        }
    }

    /// Compares an encoded line, with its end if it has one, with what the template says.
    ///
    /// # Errors
    /// The first difference, with the value that makes it, as far as one can be told from the others.
    pub fn line<'s, 'l>(
        &mut self,
        spans: &'s [LineSpan<'l>],
        encoded: &str,
    ) -> Result<(), (&'s FramedValue<'l>, Breach)> {
        let read = match self.reading {
            FileFormat::Config => tokens::of_config,
            FileFormat::Map => tokens::of_map,
            FileFormat::Patterns => tokens::of_pattern,
            FileFormat::CertificateList => tokens::of_crt_list,
            FileFormat::Certificate
            | FileFormat::Content
            | FileFormat::Body
            | FileFormat::Format
            | FileFormat::Code => {
                return Ok(());
            }
        };
        self.plain.clear();
        for span in spans {
            self.plain.extend_from_slice(match span {
                LineSpan::Template(text) => text.as_bytes(),
                LineSpan::Value(_) => VALUE,
            });
        }
        let mut values = spans.iter().filter_map(|span| match span {
            LineSpan::Value(value) => Some(value),
            LineSpan::Template(_) => None,
        });
        let Some(first) = values.clone().next() else { return Ok(()) };
        let ends = |text: &[u8]| text.iter().filter(|b| **b == b'\n').count();
        if ends(&self.plain) != ends(encoded.as_bytes()) {
            return Err((first, Breach::Lines));
        }
        read(&self.plain, &mut self.meant);
        read(encoded.as_bytes(), &mut self.encoded);
        self.expected.clear(self.meant.trouble);
        let mut directive = self.reading == FileFormat::Config;
        let mut conditional = false;
        for word in self.meant.words() {
            let mut last = None;
            let mut rest = word;
            while let Some((before, after)) = split(rest) {
                let value = values.next().unwrap_or(first);
                self.expected.push(before);
                self.expected.push(value.text.as_bytes());
                (last, rest) = (Some(value), after);
            }
            self.expected.push(rest);
            let filled = self.expected.end_word();
            if let Some(value) = last {
                if directive {
                    return Err((value, Breach::Directive));
                }
                if conditional && is_punctuation(filled) {
                    return Err((value, Breach::Condition));
                }
            }
            if directive && !matches!(word, b"no" | b"default") {
                (directive, conditional) = (false, CONDITIONAL.contains(&word));
            }
        }
        if self.expected == self.encoded { Ok(()) } else { Err((first, Breach::Words)) }
    }
}

/// The text before the first value, and behind it.
fn split(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = word.windows(VALUE.len()).position(|part| part == VALUE)?;
    let (before, after) = word.split_at_checked(at)?;
    Some((before, after.get(VALUE.len()..)?))
}

/// As HAProxy's `parse_acl_cond`, and what ends the arguments of an action.
fn is_punctuation(word: &[u8]) -> bool {
    let mut positive = word;
    while let Some((b'!', rest)) = positive.split_first() {
        positive = rest;
    }
    positive.is_empty()
        || [&b"{"[..], b"||", b"or"].iter().any(|mark| positive.eq_ignore_ascii_case(mark))
        || [&b"}"[..], b"if", b"unless"].contains(&word)
}
