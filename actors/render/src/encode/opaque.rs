//! Files that HAProxy reads as a whole: certificates, error pages and other content, in which values are copied; log-formats, in
//! which they are text; and code, which they have no place in.

use super::config::{fits_argument, fits_format};
use super::directive::WordRole;
use super::expression::{Scan, Spot};
use super::framed::{FramedValue, LineSpan, PrintedAs};
use super::refusal::{Refusals, ValuePosition, ValueRefusal, control};

/// PEM is text: control characters other than line ends and tabs are not part of it.
pub(super) fn encode_certificate(line: &[LineSpan<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
    for span in line {
        if let LineSpan::Value(value) = span {
            let control = |c: &char| c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\t');
            if let Some(c) = value.text.chars().find(control) {
                refusals.add(value, ValuePosition::Certificate, ValueRefusal::Control(c));
            }
        }
        out.push_str(span.text());
    }
}

/// A response of HTTP (`errorfile`, `return … file`) must fit HAProxy's buffer: `tune.bufsize` less `tune.maxrewrite`, unless
/// set. A file that is longer than the buffer stops HAProxy; one that fits it without its head is answered with status 500.
const MAX_RESPONSE: usize = 16_384 - 1_024;

/// A general file so far. It may be a response of HTTP: its head has lines that values must not end.
#[derive(Debug, Default)]
pub(super) struct General {
    part: OpaquePart,
    length: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OpaquePart {
    #[default]
    Start,
    Head,
    Body,
    /// It is no response.
    Other,
}

impl General {
    /// The body of a response, whatever it begins with.
    pub fn body() -> Self {
        Self { part: OpaquePart::Body, ..Self::default() }
    }

    /// Anything goes but ends of lines in a response's head, and too long a response.
    pub fn encode(&mut self, line: &[LineSpan<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
        if self.part == OpaquePart::Start {
            // A value that is a whole response is the object's own: the template says nothing of its lines.
            let template = matches!(line.first(), Some(LineSpan::Template(text)) if is_response(text));
            self.part = if template { OpaquePart::Head } else { OpaquePart::Other };
        }
        let start = out.len();
        for span in line {
            out.push_str(span.text());
            let LineSpan::Value(value) = span else { continue };
            let length = self.length + out.len() - start;
            if let (OpaquePart::Head, Some(c)) = (self.part, control(value.text)) {
                refusals.add(value, ValuePosition::ResponseHead, ValueRefusal::Control(c));
            } else if self.part != OpaquePart::Other && length > MAX_RESPONSE {
                refusals.add(value, ValuePosition::Response, ValueRefusal::ResponseTooLong(MAX_RESPONSE));
            }
        }
        self.text(out.get(start..).unwrap_or_default());
    }

    /// Lines that have been written.
    pub fn text(&mut self, text: &str) {
        self.length += text.len();
        for line in text.split_inclusive('\n') {
            self.part = match self.part {
                OpaquePart::Start if is_response(line) => OpaquePart::Head,
                OpaquePart::Start => OpaquePart::Other,
                OpaquePart::Head if line.trim_end_matches(['\r', '\n']).is_empty() => OpaquePart::Body,
                // Nothing changes any more.
                OpaquePart::Body | OpaquePart::Other => return,
                OpaquePart::Head => OpaquePart::Head,
            };
        }
    }
}

/// A file that is a log-format (`lf-file`), so far. There are no quotes around it, and lines mean nothing.
#[derive(Debug, Default)]
pub(super) struct Format {
    scan: Scan,
    length: usize,
}

impl Format {
    /// A value is text of the log-format, or an argument in it.
    pub fn encode(&mut self, line: &[LineSpan<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
        for span in line {
            out.push_str(span.text());
            match span {
                LineSpan::Template(text) => self.text(text),
                LineSpan::Value(value) => {
                    self.length += value.text.len();
                    if let Err(refusal) = self.fits(value) {
                        refusals.add(value, ValuePosition::Format, refusal);
                    }
                    self.scan.value();
                }
            }
        }
    }

    fn fits(&self, value: &FramedValue<'_>) -> Result<(), ValueRefusal> {
        if value.text.contains('\0') {
            return Err(ValueRefusal::Control('\0'));
        }
        if self.length > MAX_RESPONSE {
            return Err(ValueRefusal::ResponseTooLong(MAX_RESPONSE));
        }
        match self.scan.spot(WordRole::Format) {
            Spot::Argument { quoted } => fits_argument(value, quoted),
            Spot::Escaped => Err(ValueRefusal::AfterBackslash),
            _ if value.printed == PrintedAs::Argument => Err(ValueRefusal::OutsideArguments),
            Spot::FormatName => Err(ValueRefusal::LogFormatName),
            Spot::Identifier => Err(ValueRefusal::Fetch),
            Spot::Format | Spot::Text => fits_format(value),
        }
    }

    /// Text without values, or encoded before.
    pub fn text(&mut self, text: &str) {
        self.length += text.len();
        self.scan.template(text.as_bytes(), WordRole::Format);
    }
}

/// No encoding keeps a text from being code, whatever the language.
pub(super) fn encode_code(line: &[LineSpan<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
    for span in line {
        if let LineSpan::Value(value) = span
            && (value.text.is_empty() || !value.text.bytes().all(|b| b.is_ascii_digit()))
        {
            refusals.add(value, ValuePosition::Code, ValueRefusal::Executed);
        }
        out.push_str(span.text());
    }
}

fn is_response(text: &str) -> bool {
    text.starts_with("HTTP/")
}
