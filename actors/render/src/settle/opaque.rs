//! Files that HAProxy reads as a whole: certificates, error pages and other content, in which values are copied; log-formats, in
//! which they are text; and code, which they have no place in.

use super::config::{fits_argument, fits_format};
use super::directive::Role;
use super::expression::{Scan, Spot};
use super::marked::{Printed, Span, Value};
use super::refusal::{Place, Refusal, Refusals, control};

/// PEM is text: control characters other than line ends and tabs are not part of it.
pub(super) fn encode_certificate(line: &[Span<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
    for span in line {
        if let Span::Value(value) = span {
            let control = |c: &char| c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\t');
            if let Some(c) = value.text.chars().find(control) {
                refusals.add(value, Place::Certificate, Refusal::Control(c));
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
    part: Part,
    length: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
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
        Self { part: Part::Body, ..Self::default() }
    }

    /// Anything goes but ends of lines in a response's head, and too long a response.
    pub fn encode(&mut self, line: &[Span<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
        if self.part == Part::Start {
            // A value that is a whole response is the object's own: the template says nothing of its lines.
            let template = matches!(line.first(), Some(Span::Template(text)) if is_response(text));
            self.part = if template { Part::Head } else { Part::Other };
        }
        let start = out.len();
        for span in line {
            out.push_str(span.text());
            let Span::Value(value) = span else { continue };
            let length = self.length + out.len() - start;
            if let (Part::Head, Some(c)) = (self.part, control(value.text)) {
                refusals.add(value, Place::ResponseHead, Refusal::Control(c));
            } else if self.part != Part::Other && length > MAX_RESPONSE {
                refusals.add(value, Place::Response, Refusal::ResponseTooLong(MAX_RESPONSE));
            }
        }
        self.text(out.get(start..).unwrap_or_default());
    }

    /// Lines that have been written.
    pub fn text(&mut self, text: &str) {
        self.length += text.len();
        for line in text.split_inclusive('\n') {
            self.part = match self.part {
                Part::Start if is_response(line) => Part::Head,
                Part::Start => Part::Other,
                Part::Head if line.trim_end_matches(['\r', '\n']).is_empty() => Part::Body,
                // Nothing changes any more.
                Part::Body | Part::Other => return,
                Part::Head => Part::Head,
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
    pub fn encode(&mut self, line: &[Span<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
        for span in line {
            out.push_str(span.text());
            match span {
                Span::Template(text) => self.text(text),
                Span::Value(value) => {
                    self.length += value.text.len();
                    if let Err(refusal) = self.fits(value) {
                        refusals.add(value, Place::Format, refusal);
                    }
                    self.scan.value();
                }
            }
        }
    }

    fn fits(&self, value: &Value<'_>) -> Result<(), Refusal> {
        if value.text.contains('\0') {
            return Err(Refusal::Control('\0'));
        }
        if self.length > MAX_RESPONSE {
            return Err(Refusal::ResponseTooLong(MAX_RESPONSE));
        }
        match self.scan.spot(Role::Format) {
            Spot::Argument { quoted } => fits_argument(value, quoted),
            Spot::Escaped => Err(Refusal::AfterBackslash),
            _ if value.printed == Printed::Argument => Err(Refusal::OutsideArguments),
            Spot::FormatName => Err(Refusal::LogFormatName),
            Spot::Identifier => Err(Refusal::Fetch),
            Spot::Format | Spot::Text => fits_format(value),
        }
    }

    /// Text without values, or settled before.
    pub fn text(&mut self, text: &str) {
        self.length += text.len();
        self.scan.template(text.as_bytes(), Role::Format);
    }
}

/// No encoding keeps a text from being code, whatever the language.
pub(super) fn encode_code(line: &[Span<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
    for span in line {
        if let Span::Value(value) = span
            && (value.text.is_empty() || !value.text.bytes().all(|b| b.is_ascii_digit()))
        {
            refusals.add(value, Place::Code, Refusal::Executed);
        }
        out.push_str(span.text());
    }
}

fn is_response(text: &str) -> bool {
    text.starts_with("HTTP/")
}
