//! The encoder: turns what the engine printed into a file in which every value is only a value.
//!
//! A template's text is structure, an expression prints a value. One pass over the framed text runs the
//! file kind's own lexer, encodes each value for the place it stands in, and refuses what no encoding can keep from
//! being structure. Its marks become provenance: template line and object for every line of the file. Each line with values
//! is then read again by a [proof] that shares nothing with all this.
//!
//! `haproxy -c` accepts injected directives, so the encoder is the defence against hostile objects. It must never
//! trust a value, guess in its favour, panic, or do I/O.

mod certificate_list;
mod config;
mod directive;
mod expression;
mod fitting;
mod format;
mod framed;
mod intern;
mod map;
mod opaque;
mod proof;
mod provenance;
mod refusal;

#[cfg(test)]
mod tests;

use crate::output::framing::{FramedFragment, FramedText};
pub(crate) use fitting::Fitting;
use fitting::{Fitted, with_placeholders};
pub use format::FileFormat;
use framed::{LineEnd, LineSpan};
use haptic_attribution::Fault;
use haptic_model::Diagnostic;
use haptic_text::Text;
pub(crate) use intern::EncodedGeneration;
pub use intern::FileEncoder;
use proof::EncodingProof;
use provenance::{OutputPart, Provenance};
pub use refusal::MAX_REFUSALS;
use refusal::Refusals;
use std::collections::BTreeSet;

/// Encodes all values of a file for their places and traces its lines to templates and objects.
///
/// # Errors
/// Every value that no encoding can make harmless where it stands (source `structure`, a bounded number of each object):
/// each names the object, the template line, the place, the value, and how to write it instead.
pub fn encode(reading: impl Into<FileFormat>, framed: &FramedText) -> Result<Text, Vec<Diagnostic>> {
    let encoded = pieces(reading.into(), framed, &Fitting::default())
        .map_err(|malformed| vec![malformed.diagnostic()])?;
    match encoded.refused.is_empty() {
        true => Ok(intern::text_of(encoded.parts)),
        false => Err(encoded.refused.into_iter().map(|fault| fault.diagnostic).collect()),
    }
}

/// An encoded file, with what became of each piece.
struct Encoded {
    parts: Vec<OutputPart>,
    /// For each piece: the number of its part, where one is exactly the other.
    of_piece: Vec<Option<usize>>,
    /// Values that cannot stand where they are. With any, the parts are no file.
    refused: Vec<Fault>,
    /// The pieces that have such values, where each piece is a fragment.
    refused_pieces: BTreeSet<usize>,
    /// The notices of ignored values outside of all objects' blocks.
    notices: Vec<Diagnostic>,
}

fn pieces(
    reading: FileFormat,
    framed: &FramedText,
    fitting: &Fitting,
) -> Result<Encoded, framed::MalformedText> {
    let mut pass = Pass {
        reading,
        fitting,
        notices: Vec::new(),
        encoder: Encoder::new(reading),
        proof: EncodingProof::new(reading),
        provenance: Provenance::new(framed, reading == FileFormat::Config),
        refusals: Refusals::new(framed),
        spans: Vec::new(),
        carry: String::new(),
        of_piece: Vec::with_capacity(framed.pieces.len()),
        refused_pieces: BTreeSet::new(),
    };
    pass.run(&framed.pieces)?;
    Ok(pass.finish())
}

/// One run over one file.
struct Pass<'m> {
    reading: FileFormat,
    fitting: &'m Fitting,
    notices: Vec<Diagnostic>,
    encoder: Encoder,
    proof: EncodingProof,
    provenance: Provenance<'m>,
    refusals: Refusals<'m>,
    /// The current line, kept for its memory.
    spans: Vec<LineSpan<'m>>,
    /// The start of a line that goes on in the next piece.
    carry: String,
    of_piece: Vec<Option<usize>>,
    refused_pieces: BTreeSet<usize>,
}

impl<'m> Pass<'m> {
    fn run(&mut self, pieces: &'m [FramedFragment]) -> Result<(), framed::MalformedText> {
        for piece in pieces {
            let number = self.provenance.parts();
            let clean = self.carry.is_empty();
            let refused = self.refusals.count();
            match piece {
                FramedFragment::Printed(text) => self.piece(text)?,
                FramedFragment::Kept(fragment) if clean => {
                    self.keep(OutputPart::Kept(fragment.clone()));
                }
                FramedFragment::KeptRun(run) if clean => self.keep(OutputPart::KeptRun(run.clone())),
                FramedFragment::Kept(_) | FramedFragment::KeptRun(_) => {
                    return Err(framed::MalformedText("settled lines inside a line"));
                }
            }
            let whole = clean && self.carry.is_empty() && self.provenance.parts() == number + 1;
            if self.refusals.count() > refused {
                self.refused_pieces.insert(self.of_piece.len());
            }
            self.of_piece.push(whole.then_some(number));
        }
        self.carried_line()
    }

    fn keep(&mut self, part: OutputPart) {
        if self.encoder.reads_text() {
            part.fragments().iter().for_each(|fragment| self.encoder.text(fragment.as_str()));
        }
        self.provenance.keep(part);
    }

    fn piece(&mut self, piece: &'m str) -> Result<(), framed::MalformedText> {
        let mut rest = piece;
        while !rest.is_empty() {
            let LineEnd { length, complete, marks, text } = framed::line_end(rest)?;
            let (line, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            rest = after;
            if !self.carry.is_empty() || (!complete && text) {
                self.carry.push_str(line);
                if complete {
                    self.carried_line()?;
                }
            } else if marks {
                let mut spans = std::mem::take(&mut self.spans);
                self.line(line, &mut spans)?;
                spans.clear();
                self.spans = spans;
            } else if self.fitting.concerns_line(line)
                && let Some(fitted) = self.fitted(line)
            {
                self.provenance.text(&fitted.line);
                self.note(&fitted);
            } else {
                self.encoder.text(line);
                self.provenance.text(line);
            }
        }
        if self.carry.is_empty() {
            self.provenance.cut();
        }
        Ok(())
    }

    fn carried_line(&mut self) -> Result<(), framed::MalformedText> {
        if self.carry.is_empty() {
            return Ok(());
        }
        let line = std::mem::take(&mut self.carry);
        self.line(&line, &mut Vec::new())
    }

    /// One line with marks, or marks alone.
    fn line<'l>(
        &mut self,
        line: &'l str,
        spans: &mut Vec<LineSpan<'l>>,
    ) -> Result<(), framed::MalformedText> {
        let values = self.provenance.read(line, spans)?;
        if spans.is_empty() {
            return Ok(());
        }
        self.provenance.start_line(spans);
        let is_involved = self.fitting.concerns(spans);
        if let Some(fitted) = is_involved.then(|| self.fitted(&with_placeholders(spans))).flatten() {
            self.encode(&fitted.spans(spans));
            self.provenance.end_line();
            self.note(&fitted);
            return Ok(());
        }
        if values {
            self.encode(spans);
        } else {
            for span in spans.iter() {
                self.encoder.text(span.text());
                self.provenance.output().push_str(span.text());
            }
        }
        self.provenance.end_line();
        Ok(())
    }

    /// The line as it is on a pod, if it is another one there.
    fn fitted(&mut self, line: &str) -> Option<Fitted> {
        match self.reading {
            FileFormat::Config => self.fitting.config_line(&self.provenance.section(), line),
            FileFormat::CertificateList => self.fitting.list_line(line),
            _ => None,
        }
    }

    /// Notes what is no longer said. What objects' blocks say is not told: those that are kept would be silent.
    fn note(&mut self, fitted: &Fitted) {
        if let Some(notice) = fitted.notice()
            && let Some((template, line)) = self.provenance.place_outside_of_blocks()
        {
            self.notices.push(notice.at_template(template, line, 0));
        }
    }

    /// Writes a line with values, and proves that they are only values in it. Of a refused line nothing is left but its
    /// end: what comes next, and may be kept, begins a line of its own.
    fn encode(&mut self, spans: &[LineSpan<'_>]) {
        let (output, refused) = (self.provenance.output(), self.refusals.count());
        let start = output.len();
        self.encoder.encode(spans, output, &mut self.refusals);
        if self.refusals.count() == refused
            && let Err((value, breach)) = self.proof.line(spans, output.get(start..).unwrap_or_default())
        {
            self.refusals.breach(value, breach);
        }
        if self.refusals.count() > refused {
            output.truncate(start);
            output.push('\n');
        }
    }

    fn finish(self) -> Encoded {
        Encoded {
            parts: self.provenance.into_parts(),
            of_piece: self.of_piece,
            refused: self.refusals.into_faults(),
            refused_pieces: self.refused_pieces,
            notices: self.notices,
        }
    }
}

/// The lexer of a file kind.
enum Encoder {
    Config(config::ConfigLexer),
    Map,
    Patterns,
    CertificateList,
    Certificate,
    General(opaque::General),
    Format(opaque::Format),
    Code,
}

impl Encoder {
    fn new(reading: FileFormat) -> Self {
        match reading {
            FileFormat::Config => Self::Config(config::ConfigLexer::default()),
            FileFormat::Map => Self::Map,
            FileFormat::Patterns => Self::Patterns,
            FileFormat::CertificateList => Self::CertificateList,
            FileFormat::Certificate => Self::Certificate,
            FileFormat::Content => Self::General(opaque::General::default()),
            FileFormat::Body => Self::General(opaque::General::body()),
            FileFormat::Format => Self::Format(opaque::Format::default()),
            FileFormat::Code => Self::Code,
        }
    }

    /// Whether text without values says anything about those behind it.
    fn reads_text(&self) -> bool {
        matches!(self, Self::General(_) | Self::Format(_))
    }

    /// Text without values, or encoded before.
    fn text(&mut self, text: &str) {
        match self {
            Self::General(response) => response.text(text),
            Self::Format(format) => format.text(text),
            _ => {}
        }
    }

    fn encode(&mut self, line: &[LineSpan<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
        match self {
            Self::Config(words) => words.encode(line, out, refusals),
            Self::Map => map::encode(line, out, refusals),
            Self::Patterns => map::encode_pattern(line, out, refusals),
            Self::CertificateList => certificate_list::encode(line, out, refusals),
            Self::Certificate => opaque::encode_certificate(line, out, refusals),
            Self::General(response) => response.encode(line, out, refusals),
            Self::Format(format) => format.encode(line, out, refusals),
            Self::Code => opaque::encode_code(line, out, refusals),
        }
    }
}
