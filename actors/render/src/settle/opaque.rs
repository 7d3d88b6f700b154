//! Files that HAProxy reads as a whole: certificates, error pages and other content. Values are copied.

use super::marked::Span;
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

/// A response of HTTP (`errorfile`) must fit HAProxy's buffer: `tune.bufsize` less `tune.maxrewrite`, unless set.
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

fn is_response(text: &str) -> bool {
    text.starts_with("HTTP/")
}
