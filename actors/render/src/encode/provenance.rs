//! Where every line of the output comes from, and the cutting of the output into fragments.
//!
//! A fragment ends where a piece of the engine's output ends at a line's end. Names are stored once per fragment,
//! so a fragment means the same whatever stands before it.

use super::framed::{Item, LineSpan, MalformedText, Position, PrintPosition, items};
use crate::output::framing::FramedText;
use haptic_haproxy::{
    SectionKind,
    views::{check_count, server_count},
};
use haptic_text::{Blame, Fragment, LineBlame, Sensitive, TextRun};
use std::{ops::Range, sync::Arc};

/// A template nobody knows: no index of [`Blame::templates`] is as large.
const UNKNOWN_TEMPLATE: u16 = u16::MAX;

/// The characters that may be written around and within a value that is encoded.
const ESCAPES: [char; 2] = ['\\', '\''];
/// A longer line is not looked through for encoded values: HAProxy's buffer holds no more of one.
const LONGEST_ESCAPED: usize = 16_384;

pub(super) enum OutputPart {
    /// Written now.
    Fresh(Fragment),
    /// Encoded in a render before.
    Kept(Fragment),
    KeptRun(TextRun),
}

impl OutputPart {
    pub fn fragments(&self) -> &[Fragment] {
        match self {
            Self::Fresh(fragment) | Self::Kept(fragment) => std::slice::from_ref(fragment),
            Self::KeptRun(run) => run.fragments(),
        }
    }
}

pub(super) struct Provenance<'m> {
    framed: &'m FramedText,
    /// Whether it is haproxy.cfg.
    is_config: bool,
    position: Option<Position>,
    owners: Vec<u32>,
    /// Where the current line started.
    line: PrintPosition,
    /// Bytes of `text` before the current line.
    line_start: usize,
    text: String,
    blame: Blame,
    /// The outermost objects of the fragment's lines so far, if it has any: one and the same, or several.
    block: Option<Option<u32>>,
    /// Whether the next value is from a Secret.
    next_is_secret: bool,
    /// Values of the current line that are.
    secrets: Vec<String>,
    /// Where in `text` they stand.
    hidden: Vec<Range<usize>>,
    /// Those that had to be encoded.
    encoded: Vec<Sensitive>,
    templates: Slots,
    objects: Slots,
    parts: Vec<OutputPart>,
    /// How many parts and bytes of `text` there were when the section was last asked for, and its kind.
    section: (usize, usize, SectionKind),
}

impl<'m> Provenance<'m> {
    pub fn new(framed: &'m FramedText, is_config: bool) -> Self {
        Self {
            framed,
            is_config,
            position: None,
            owners: Vec::new(),
            line: PrintPosition::default(),
            line_start: 0,
            text: String::new(),
            blame: Blame::default(),
            block: None,
            next_is_secret: false,
            secrets: Vec::new(),
            hidden: Vec::new(),
            encoded: Vec::new(),
            templates: Slots::new(framed.templates.len()),
            objects: Slots::new(framed.objects.len()),
            parts: Vec::with_capacity(framed.pieces.len()),
            section: (0, 0, SectionKind::Other(String::new())),
        }
    }

    /// Takes a line's marks in and lists its spans. Returns whether it has values.
    pub fn read<'l>(&mut self, line: &'l str, spans: &mut Vec<LineSpan<'l>>) -> Result<bool, MalformedText> {
        let mut values = false;
        for item in items(line) {
            match item? {
                Item::Template(text) => {
                    if spans.is_empty() {
                        self.line = self.site();
                    }
                    spans.push(LineSpan::Template(text));
                    if text.ends_with('\n') {
                        self.next_template_line();
                    }
                }
                Item::Value(printed, text) => {
                    if spans.is_empty() {
                        self.line = self.site();
                    }
                    values = true;
                    let secret = std::mem::take(&mut self.next_is_secret);
                    if secret {
                        self.secrets.push(text.to_owned());
                    }
                    spans.push(LineSpan::Value(super::framed::FramedValue {
                        text,
                        printed,
                        site: self.site(),
                        secret,
                    }));
                }
                Item::Secret => self.next_is_secret = true,
                Item::Position(position) => {
                    known(&self.framed.templates, position.template)?;
                    self.position = Some(position);
                }
                Item::Owner(owner) => {
                    known(&self.framed.objects, owner)?;
                    self.owners.push(owner);
                }
                Item::Unown => {
                    self.owners.pop().ok_or(MalformedText("an object ends that never began"))?;
                }
            }
        }
        Ok(values)
    }

    /// A line that begins no object before its first value belongs to that value's object.
    pub fn start_line(&mut self, spans: &[LineSpan<'_>]) {
        if self.line.owner.is_none() {
            let owned = spans.iter().find_map(|span| match span {
                LineSpan::Value(value) => value.site.owner.map(|owner| (owner, value.site.block)),
                LineSpan::Template(_) => None,
            });
            if let Some((owner, block)) = owned {
                (self.line.owner, self.line.block) = (Some(owner), block);
            }
        }
    }

    /// A whole line of template text.
    pub fn text(&mut self, line: &str) {
        self.line = self.site();
        self.text.push_str(line);
        self.next_template_line();
        self.end_line();
    }

    /// Where the current line is to be written.
    pub fn output(&mut self) -> &mut String {
        &mut self.text
    }

    /// The current line has been written; values of opaque files may have made it several.
    pub fn end_line(&mut self) {
        let written = self.text.as_bytes().get(self.line_start..).unwrap_or_default();
        let ended = written.iter().filter(|b| **b == b'\n').count();
        let unended = usize::from(written.last().is_some_and(|b| *b != b'\n'));
        if !self.secrets.is_empty() {
            self.hide_secrets();
        }
        if self.is_config {
            let line = self.text.get(self.line_start..).unwrap_or_default();
            self.blame.servers += server_count(line);
            self.blame.checks += check_count(line);
        }
        self.line_start = self.text.len();
        if ended + unended > 0 {
            let blame = self.line_blame();
            let block =
                self.block.map_or(self.line.block, |known| known.filter(|_| known == self.line.block));
            self.block = Some(block);
            self.blame.lines.extend(std::iter::repeat_n(blame, ended + unended));
        }
    }

    /// Notes where the current line, as it was written, has values from Secrets. One that is not found hides the line.
    fn hide_secrets(&mut self) {
        let line = self.text.get(self.line_start..).unwrap_or_default();
        let whole = self.line_start..self.line_start + line.trim_end_matches('\n').len();
        let escapes = line.len() <= LONGEST_ESCAPED && line.contains(ESCAPES);
        for secret in self.secrets.drain(..).filter(|secret| !secret.is_empty()) {
            let before = self.hidden.len();
            let found = line.match_indices(&*secret).map(|(at, _)| self.line_start + at);
            self.hidden.extend(found.map(|at| at..at + secret.len()));
            let verbatim = self.hidden.len();
            if escapes {
                let found = line.char_indices().filter_map(|(at, _)| escaped(&secret, line, at));
                self.hidden.extend(found.map(|at| self.line_start + at.start..self.line_start + at.end));
            }
            if self.hidden.len() == before {
                self.hidden.push(whole.clone());
            }
            if self.hidden.len() > verbatim {
                self.encoded.push(Sensitive::new(secret));
            }
        }
    }

    /// The section that the next line of haproxy.cfg stands in.
    pub fn section(&mut self) -> SectionKind {
        let (parts, bytes) = (self.section.0, self.section.1);
        let seen = if parts == self.parts.len() { bytes } else { 0 };
        let fresh = self.text.get(seen..).unwrap_or_default();
        let ended = self.parts.get(parts..).unwrap_or_default();
        let ended = ended.iter().rev().flat_map(|part| part.fragments().iter().rev());
        let header = std::iter::once(fresh).chain(ended.map(Fragment::as_str)).find_map(last_header);
        if let Some(kind) = header {
            self.section.2 = kind;
        }
        (self.section.0, self.section.1) = (self.parts.len(), self.text.len());
        self.section.2.clone()
    }

    /// Where the current line is in the templates, if it stands in no object's block.
    pub fn place_outside_of_blocks(&self) -> Option<(&'m str, u32)> {
        let position = self.line.position.filter(|_| self.line.block.is_none())?;
        Some((self.framed.templates.get(position.template as usize)?, position.line))
    }

    /// Ends the fragment here, at a line's end.
    pub fn cut(&mut self) {
        if self.text.is_empty() || !self.text.ends_with('\n') {
            return;
        }
        self.close();
    }

    /// How many parts have ended.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Whole lines that were encoded in a render before. No line may have begun.
    pub fn keep(&mut self, part: OutputPart) {
        self.parts.push(part);
    }

    pub fn into_parts(mut self) -> Vec<OutputPart> {
        if !self.text.is_empty() {
            self.close();
        }
        self.parts
    }

    fn close(&mut self) {
        let mut blame = std::mem::take(&mut self.blame);
        let block = self.block.take().flatten();
        blame.block = block.and_then(|block| self.framed.objects.get(block as usize)).cloned();
        blame.secrets = joined(std::mem::take(&mut self.hidden));
        blame.encoded = std::mem::take(&mut self.encoded).into();
        self.parts.push(OutputPart::Fresh(Fragment::new(self.text.as_str(), Arc::new(blame))));
        self.text.clear();
        self.line_start = 0;
        self.templates.forget();
        self.objects.forget();
    }

    fn site(&self) -> PrintPosition {
        PrintPosition {
            position: self.position,
            owner: self.owners.last().copied(),
            block: self.owners.first().copied(),
        }
    }

    fn next_template_line(&mut self) {
        if let Some(position) = &mut self.position {
            position.line = position.line.saturating_add(1);
        }
    }

    fn line_blame(&mut self) -> LineBlame {
        let object =
            self.line.owner.map(|o| self.objects.slot(o, &self.framed.objects, &mut self.blame.objects));
        let (template, line) = match self.line.position {
            Some(p) => {
                let slot = self.templates.slot(p.template, &self.framed.templates, &mut self.blame.templates);
                (u16::try_from(slot).unwrap_or(UNKNOWN_TEMPLATE), p.line)
            }
            None => (UNKNOWN_TEMPLATE, 0),
        };
        LineBlame { template, object, line }
    }
}

/// The kind of the last section that begins in `text`.
fn last_header(text: &str) -> Option<SectionKind> {
    text.lines().rev().find_map(|line| SectionKind::of(line.split_whitespace().next()?))
}

/// The place in `line` of `value` with escapes in it and around it, and nothing else, if it begins at `start`.
fn escaped(value: &str, line: &str, start: usize) -> Option<Range<usize>> {
    let (before, rest) = line.split_at_checked(start)?;
    let mut left = value.chars().peekable();
    for (at, c) in rest.char_indices() {
        if left.next_if_eq(&c).is_some() {
            if left.peek().is_none() {
                let behind = rest.get(at + c.len_utf8()..)?;
                let end = line.len() - behind.trim_start_matches(ESCAPES).len();
                return Some(before.trim_end_matches(ESCAPES).len()..end);
            }
        } else if at == 0 || !ESCAPES.contains(&c) {
            return None;
        }
    }
    None
}

/// Ranges in their order, none touching another.
fn joined(mut ranges: Vec<Range<usize>>) -> Box<[Range<usize>]> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, range| {
        let touches = next.start <= range.end;
        if touches {
            range.end = range.end.max(next.end);
        }
        touches
    });
    ranges.into()
}

fn known<T>(names: &[T], index: u32) -> Result<(), MalformedText> {
    names.get(index as usize).map(|_| ()).ok_or(MalformedText("a name that is not in its table"))
}

/// The names of a file that the current fragment has already, each with its number.
struct Slots {
    fragment: u32,
    /// Per name of the file: the last fragment that has it, and its number there.
    of: Vec<(u32, u32)>,
}

impl Slots {
    fn new(names: usize) -> Self {
        Self { fragment: 1, of: vec![(0, 0); names] }
    }

    fn forget(&mut self) {
        self.fragment += 1;
    }

    fn slot<T: Clone>(&mut self, index: u32, from: &[T], into: &mut Vec<T>) -> u32 {
        let (Some(slot), Some(name)) = (self.of.get_mut(index as usize), from.get(index as usize)) else {
            return u32::MAX;
        };
        if slot.0 != self.fragment {
            *slot = (self.fragment, u32::try_from(into.len()).unwrap_or(u32::MAX));
            into.push(name.clone());
        }
        slot.1
    }
}
