//! The framed text as it grows: pieces, marks, indentation, and the limits of one render.

pub(crate) mod effects;
pub mod framing;

use crate::{
    block_cache::group::{BlockGroup, WholeGroup},
    bundle::shares,
    engine::position::{Segment, TemplateLine},
    input::RenderLimits,
};
use framing::{FramedFragment, FramedText};
use haptic_attribution::Fault;
use haptic_model::{Diagnostic, Limit, ObjectRef};
use haptic_text::Fragment;
use std::{
    collections::HashMap,
    fmt::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

/// The text of one object's block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PrintedObject {
    /// The number of its piece, if it printed anything.
    pub piece: Option<usize>,
    /// Whether it began and ended between two lines.
    pub whole_lines: bool,
    /// Bytes that the file grew by.
    pub bytes: usize,
    /// The most it had grown by when a limit was last checked.
    pub most: usize,
}

/// Bytes that are kept of an object's block and that it does not print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BufferedBytes {
    /// They count as if they were printed: what is said of it.
    pub said: usize,
    /// They count for the block alone: files that others may add, too, and what was read.
    pub own: usize,
}

/// A limit that was passed.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    /// The limit that was passed.
    pub message: String,
    /// The way to stay below it.
    pub help: &'static str,
    /// The setting that it is, where it is one.
    pub limit: Option<Limit>,
    /// Whether it is a limit of all objects together, and not of this one or of its namespace.
    pub of_all: bool,
}

/// The use by the outermost blocks of a namespace's objects.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    bytes: usize,
    time: Duration,
}

/// The use of all namespaces, that of the last one at hand: objects come namespace by namespace.
#[derive(Debug)]
struct OutputShares {
    last: (Arc<str>, Used),
    others: HashMap<Arc<str>, Used>,
}

impl OutputShares {
    fn new() -> Self {
        Self { last: ("".into(), Used::default()), others: HashMap::new() }
    }

    fn of(&mut self, namespace: &Arc<str>) -> &mut Used {
        if self.last.0 != *namespace {
            let used = self.others.remove(namespace).unwrap_or_default();
            let (before, used_before) = std::mem::replace(&mut self.last, (namespace.clone(), used));
            self.others.insert(before, used_before);
        }
        &mut self.last.1
    }
}

/// The bytes that outermost objects' blocks have printed.
#[derive(Debug)]
enum PrintedBytes {
    Block(Arc<ObjectRef>, usize),
    Group(Arc<BlockGroup>),
}

impl PrintedBytes {
    /// Object by object.
    fn each(&self) -> impl Iterator<Item = (&Arc<ObjectRef>, usize)> {
        let (block, group) = match self {
            Self::Block(object, bytes) => (Some((object, *bytes)), None),
            Self::Group(group) => (None, Some(group)),
        };
        let blocks = group.into_iter().flat_map(|group| &group.blocks);
        block.into_iter().chain(blocks.map(|block| (&block.object.reference, block.bytes)))
    }
}

const LOOK_FOR_LOOP: &str = "Look for a loop that prints too much, or raise the limit";
const PRINT_LESS: &str = "Delete what is not needed, or raise the limit";
const USE_FETCH: &str = "Look for a loop in a loop over all objects; `fetch` finds objects by key at once";

/// All that an object's block can change, as it was before.
#[derive(Clone, Copy, Debug)]
struct BlockStart {
    bytes: usize,
    numbers: usize,
    between_lines: bool,
    at_line_start: bool,
    pieces: usize,
    finished: usize,
    indent: usize,
    objects: usize,
    /// Bytes of the unfinished piece: none but in text that is captured.
    piece: usize,
    at: Instant,
    /// The use of its namespace before.
    used: Used,
}

/// Collects one file.
pub(crate) struct Output<'l> {
    pieces: Vec<FramedFragment>,
    piece: String,
    /// Bytes in `pieces`, and of what is kept of their blocks otherwise.
    finished: usize,
    /// Bytes that are kept for the outermost object's block alone.
    own: usize,
    /// Bytes of the numbers of objects: they depend on what was printed before, so no limit counts them.
    numbers: usize,
    limits: &'l RenderLimits,
    started: Instant,
    ticks: u32,
    at_line_start: bool,
    /// Whether nothing of a line has been printed yet, not even an empty value: a piece can begin and end here.
    between_lines: bool,
    /// Where the outermost object's piece began, and the object.
    object_start: Option<(BlockStart, Arc<ObjectRef>)>,
    /// The bytes that each outermost object's block has printed.
    blocks: Vec<PrintedBytes>,
    /// Groups whose bytes `shares` lacks. It makes no difference while the file is so small that no namespace can have too much of it.
    uncounted: Vec<Arc<BlockGroup>>,
    /// Bytes of all of them.
    of_blocks: usize,
    /// Whether all objects together print too much: then nothing is kept any more, only counted, to find whose they are.
    is_full: bool,
    shares: OutputShares,
    /// The LINE mark in force in this piece.
    announced: Option<TemplateLine>,
    indent: String,
    objects: Vec<Arc<ObjectRef>>,
    owners: usize,
    /// Captures being printed.
    captures: usize,
    /// Whether any was: it may name objects.
    has_captured: bool,
}

/// The text that was being printed when a capture began.
#[derive(Debug)]
pub(crate) struct Captured {
    piece: String,
    at_line_start: bool,
    between_lines: bool,
    indent: String,
    numbers: usize,
}

impl<'l> Output<'l> {
    pub fn new(limits: &'l RenderLimits) -> Self {
        Self {
            pieces: Vec::new(),
            piece: String::with_capacity(16 << 10),
            finished: 0,
            own: 0,
            numbers: 0,
            limits,
            started: Instant::now(),
            ticks: 0,
            at_line_start: true,
            between_lines: true,
            object_start: None,
            blocks: Vec::new(),
            uncounted: Vec::new(),
            of_blocks: 0,
            is_full: false,
            shares: OutputShares::new(),
            announced: None,
            indent: String::new(),
            objects: Vec::new(),
            owners: 0,
            captures: 0,
            has_captured: false,
        }
    }

    /// Template text.
    pub fn text(&mut self, segment: &Segment) {
        if self.at_line_start {
            if &*segment.text != "\n" && !self.indent.is_empty() {
                self.announce(segment.place);
                self.piece.push_str(&self.indent);
            } else {
                self.announce(segment.place);
            }
        }
        self.piece.push_str(&segment.text);
        self.at_line_start = segment.text.ends_with('\n');
        self.between_lines = self.at_line_start;
        if self.at_line_start
            && let Some(place) = &mut self.announced
        {
            // Whoever reads marks counts lines of template text.
            place.line += 1;
        }
    }

    /// The end of the line that is being printed, whatever text of the template says it. A line that has nothing else is told
    /// at that place.
    pub fn line_end(&mut self, place: TemplateLine) {
        if self.at_line_start {
            self.announce(place);
        }
        self.piece.push('\n');
        (self.at_line_start, self.between_lines, self.announced) = (true, true, None);
    }

    /// Trusted text that counts as template text of one line.
    pub fn raw(&mut self, text: &str, place: TemplateLine) {
        for line in text.split_inclusive('\n') {
            self.text(&Segment { text: line.into(), place });
        }
    }

    /// The value that is printed next is from a Secret.
    pub fn secret(&mut self) {
        self.piece.push(framing::SECRET);
    }

    /// A printed value.
    ///
    /// # Errors
    /// When it holds a mark.
    pub fn value(&mut self, text: &str, frame: char, place: TemplateLine) -> Result<(), String> {
        framing::check_value(text)?;
        self.announce(place);
        if self.at_line_start {
            self.piece.push_str(&self.indent);
        }
        self.piece.push(frame);
        self.piece.push_str(text);
        self.piece.push(framing::END);
        self.at_line_start = text.ends_with('\n') || (text.is_empty() && self.at_line_start);
        self.between_lines = false;
        Ok(())
    }

    /// A printed number.
    pub fn number(&mut self, number: &serde_json::Number, frame: char, place: TemplateLine) {
        self.announce(place);
        if self.at_line_start {
            self.piece.push_str(&self.indent);
        }
        self.piece.push(frame);
        match number.as_u64().and_then(|n| u32::try_from(n).ok()) {
            Some(small) => push_number(&mut self.piece, small),
            // Writing to a String cannot fail.
            None => _ = write!(self.piece, "{number}"),
        }
        self.piece.push(framing::END);
        (self.at_line_start, self.between_lines) = (false, false);
    }

    /// Prints for `object` from now on. An outermost object starts a piece of its own.
    pub fn begin_object(&mut self, object: &Arc<ObjectRef>) {
        if self.owners == 0 {
            if self.captures == 0 {
                self.finish_piece();
            }
            (self.own, self.announced) = (0, None);
            let start = BlockStart {
                bytes: self.counted(),
                numbers: self.numbers,
                between_lines: self.between_lines,
                at_line_start: self.at_line_start,
                pieces: self.pieces.len(),
                finished: self.finished,
                indent: self.indent.len(),
                objects: self.objects.len(),
                piece: self.piece.len(),
                at: Instant::now(),
                used: *self.shares.of(&object.namespace),
            };
            self.object_start = Some((start, object.clone()));
        }
        self.owners += 1;
        if !self.objects.last().is_some_and(|last| Arc::ptr_eq(last, object)) {
            self.objects.push(object.clone());
        }
        self.piece.push(framing::OWNER);
        let before = self.piece.len();
        push_number(&mut self.piece, u32::try_from(self.objects.len() - 1).unwrap_or(u32::MAX));
        self.numbers += self.piece.len() - before;
        self.piece.push(';');
    }

    /// The object's block is over; what it printed, if it was an outermost one.
    pub fn end_object(&mut self) -> Option<PrintedObject> {
        let counted = self.counted();
        self.piece.push(framing::UNOWN);
        self.owners = self.owners.saturating_sub(1);
        if self.owners > 0 {
            return None;
        }
        let (start, object) = self.object_start.take()?;
        let most = counted.saturating_sub(start.bytes);
        let captured = self.captures > 0;
        let whole_lines = start.between_lines && self.between_lines && !captured;
        if is_only_marks(self.piece.get(start.piece..).unwrap_or_default()) {
            self.piece.truncate(start.piece);
            (self.announced, self.numbers) = (None, start.numbers);
            let bytes = self.counted().saturating_sub(start.bytes);
            self.printed(&object, bytes, start.at.elapsed());
            return Some(PrintedObject { piece: None, whole_lines, bytes, most });
        }
        if !captured {
            self.finish_piece();
        }
        self.announced = None;
        let bytes = self.counted().saturating_sub(start.bytes);
        self.printed(&object, bytes, start.at.elapsed());
        let piece = self.pieces.len().checked_sub(1).filter(|_| !captured);
        Some(PrintedObject { piece, whole_lines, bytes, most })
    }

    /// The outermost object's block has failed: it is as if it had not begun.
    pub fn abandon_object(&mut self) {
        self.owners = 0;
        self.announced = None;
        let Some((start, object)) = self.object_start.take() else { return };
        self.piece.truncate(start.piece);
        self.printed(&object, 0, start.at.elapsed());
        (self.numbers, self.finished) = (start.numbers, start.finished);
        (self.at_line_start, self.between_lines) = (start.at_line_start, start.between_lines);
        self.pieces.truncate(start.pieces);
        self.indent.truncate(start.indent);
        if !self.has_captured {
            self.objects.truncate(start.objects);
        }
    }

    /// Captures from now on, and does not print.
    pub fn begin_capture(&mut self) -> Captured {
        (self.captures, self.has_captured, self.announced) = (self.captures + 1, true, None);
        self.finished += self.piece.len();
        let captured = Captured {
            piece: std::mem::take(&mut self.piece),
            at_line_start: self.at_line_start,
            between_lines: self.between_lines,
            indent: std::mem::take(&mut self.indent),
            numbers: self.numbers,
        };
        (self.at_line_start, self.between_lines) = (true, true);
        captured
    }

    /// Ends a capture: what was printed meanwhile, as framed text.
    pub fn end_capture(&mut self, before: Captured) -> String {
        self.captures = self.captures.saturating_sub(1);
        self.finished = self.finished.saturating_sub(before.piece.len());
        self.announced = None;
        (self.at_line_start, self.between_lines) = (before.at_line_start, before.between_lines);
        (self.indent, self.numbers) = (before.indent, before.numbers);
        std::mem::replace(&mut self.piece, before.piece)
    }

    /// Framed text: that of a capture, or of a template. It knows its lines itself, but for the first.
    pub fn markup(&mut self, text: &str, place: TemplateLine) {
        if text.is_empty() {
            return;
        }
        self.announced = None;
        if !text.starts_with(framing::LINE) {
            self.announce(place);
        }
        for line in text.split_inclusive('\n') {
            if self.at_line_start && line != "\n" {
                self.piece.push_str(&self.indent);
            }
            self.piece.push_str(line);
            self.at_line_start = line.ends_with('\n');
        }
        self.announced = None;
        self.numbers += framing::owner_digits(text);
        self.between_lines = text.trim_end_matches(framing::UNOWN).ends_with('\n');
        self.at_line_start = self.between_lines;
    }

    /// Whether a piece of whole lines can follow for an object of `namespace`, with lines indented by `indent` and never more than
    /// `most` bytes.
    pub fn fits(&mut self, namespace: &Arc<str>, indent: &str, most: usize) -> bool {
        self.count_groups();
        let used = self.shares.of(namespace).bytes;
        self.between_lines
            && self.captures == 0
            && self.indent == indent
            && most <= self.limits.block
            && used + most <= self.limits.output / 2
            && self.counted() + most <= self.limits.output
    }

    /// Prints again what an outermost object's block printed in a render before, as `bytes` then.
    pub fn again(&mut self, object: &Arc<ObjectRef>, fragment: Option<&Fragment>, bytes: usize) {
        self.finish_piece();
        self.finished += bytes;
        self.printed(object, bytes, Duration::ZERO);
        self.pieces.extend(fragment.cloned().map(FramedFragment::Kept));
    }

    /// Whether all pieces of a group can follow. `false`, too, where that has to be asked for each of them.
    pub fn fits_group(&self, group: &WholeGroup) -> bool {
        self.between_lines
            && self.captures == 0
            && *self.indent == *group.site.indent
            && group.most_of_one <= self.limits.block
            && self.counted() + group.most <= self.limits.output / 2
    }

    /// Prints again what a group printed in a render before.
    pub fn again_group(&mut self, group: &Arc<BlockGroup>, whole: &WholeGroup) {
        self.finish_piece();
        self.finished += whole.bytes;
        if whole.bytes > 0 {
            self.of_blocks += whole.bytes;
            self.blocks.push(PrintedBytes::Group(group.clone()));
            self.uncounted.push(group.clone());
        }
        if !whole.run.fragments().is_empty() {
            self.pieces.push(FramedFragment::KeptRun(whole.run.clone()));
        }
    }

    /// Counts what groups have printed to the namespaces of their objects.
    fn count_groups(&mut self) {
        for group in std::mem::take(&mut self.uncounted) {
            for (namespace, bytes) in group.whole.iter().flat_map(|whole| &whole.of_namespaces) {
                self.shares.of(namespace).bytes += bytes;
            }
        }
    }

    fn printed(&mut self, object: &Arc<ObjectRef>, bytes: usize, time: Duration) {
        let used = self.shares.of(&object.namespace);
        used.bytes += bytes;
        used.time += time;
        if bytes > 0 {
            self.blocks.push(PrintedBytes::Block(object.clone(), bytes));
            self.of_blocks += bytes;
        }
    }

    /// The faults of the objects when all together print more than they may.
    pub fn faults(&mut self) -> Vec<Fault> {
        if !self.is_full {
            return Vec::new();
        }
        self.count_groups();
        let blocks = std::mem::take(&mut self.blocks);
        let most = self.limits.output.saturating_sub(self.counted().saturating_sub(self.of_blocks));
        let beyond = shares::beyond(blocks.iter().flat_map(PrintedBytes::each), most);
        let fault = |object: Arc<ObjectRef>| {
            let used = self.shares.of(&object.namespace).bytes;
            let message = format!(
                "all objects print {} bytes, of {most} that they may, and those of namespace {:?} print {used} of them",
                self.of_blocks, &*object.namespace
            );
            let diagnostic = Diagnostic::error("render", message).at_field(Limit::FileBytes.field());
            let diagnostic = diagnostic.of_object(Some(object.clone())).help(PRINT_LESS);
            Fault::of_templates(diagnostic).of(Some(object))
        };
        beyond.into_iter().map(fault).collect()
    }

    /// The white space that lines are indented by here.
    pub fn indentation(&self) -> &str {
        &self.indent
    }

    fn counted(&self) -> usize {
        (self.finished + self.piece.len()).saturating_sub(self.numbers)
    }

    /// Lines from now on are indented by `more`; what to give back to [`Self::dedent`].
    pub fn indent(&mut self, more: &str) -> usize {
        let before = self.indent.len();
        self.indent.push_str(more);
        before
    }

    /// Ends an indentation. What was indented ends at a line's end.
    pub fn dedent(&mut self, before: usize, ends_line: bool) {
        self.indent.truncate(before);
        if ends_line && !self.at_line_start {
            self.piece.push('\n');
            (self.at_line_start, self.between_lines) = (true, true);
        }
    }

    /// Holds bytes beside those that are printed.
    pub fn hold(&mut self, held: BufferedBytes) {
        self.finished += held.said;
        self.own += held.own;
    }

    /// Checks the limits; cheap enough for every step.
    ///
    /// # Errors
    /// The limit that was passed, and the way to stay below it.
    pub fn tick(&mut self) -> Result<(), Passed> {
        self.ticks = self.ticks.wrapping_add(1);
        let looks_at_clock = self.ticks.is_multiple_of(64);
        if !self.uncounted.is_empty() && self.counted() > self.limits.output / 2 {
            self.count_groups();
            if let Some((start, object)) = &mut self.object_start {
                start.used = *self.shares.of(&object.namespace);
            }
        }
        if let Some((start, object)) = &self.object_start {
            self.tick_object(start, &object.namespace, looks_at_clock)?;
        }
        let (limits, of_all) = (self.limits, true);
        self.is_full |= self.counted() > limits.output;
        let in_block =
            self.object_start.as_ref().map_or(0, |(start, _)| self.counted().saturating_sub(start.bytes));
        if self.counted().saturating_sub(self.of_blocks + in_block) > limits.output {
            let message = format!("the output is longer than {} bytes", limits.output);
            return Err(Passed { message, help: LOOK_FOR_LOOP, limit: Some(Limit::FileBytes), of_all });
        }
        if looks_at_clock && self.started.elapsed() > limits.time {
            let message = format!("the render takes longer than {:?}", limits.time);
            return Err(Passed { message, help: USE_FETCH, limit: None, of_all });
        }
        Ok(())
    }

    /// Checks the use of the outermost object's block, and what is left of its namespace's half.
    fn tick_object(&self, start: &BlockStart, namespace: &str, looks_at_clock: bool) -> Result<(), Passed> {
        let (limits, of_all) = (self.limits, false);
        let bytes = self.counted().saturating_sub(start.bytes);
        let used = start.used;
        if bytes + self.own > limits.block {
            let message = format!("what is printed and kept for it is longer than {} bytes", limits.block);
            return Err(Passed { message, help: LOOK_FOR_LOOP, limit: Some(Limit::BlockBytes), of_all });
        }
        if used.bytes + bytes > limits.output / 2 {
            let half = limits.output / 2;
            let message = format!(
                "objects of namespace {namespace:?} print more than {half} bytes, half of what all may"
            );
            return Err(Passed { message, help: LOOK_FOR_LOOP, limit: Some(Limit::FileBytes), of_all });
        }
        let half = limits.time / 2;
        if used.time > half || looks_at_clock && used.time + start.at.elapsed() > half {
            let message =
                format!("objects of namespace {namespace:?} take longer than {half:?}, half of what all may");
            return Err(Passed { message, help: USE_FETCH, limit: None, of_all });
        }
        Ok(())
    }

    pub fn finish(mut self, templates: Vec<Arc<str>>) -> FramedText {
        self.finish_piece();
        FramedText { pieces: self.pieces, templates, objects: self.objects }
    }

    fn finish_piece(&mut self) {
        if !self.piece.is_empty() {
            self.finished += self.piece.len();
            if !self.is_full {
                self.pieces.push(FramedFragment::from(self.piece.as_str()));
            }
            self.piece.clear();
        }
        if self.is_full {
            self.pieces.clear();
        }
        self.announced = None;
    }

    fn announce(&mut self, place: TemplateLine) {
        if self.announced != Some(place) {
            self.announced = Some(place);
            self.piece.push(framing::LINE);
            push_number(&mut self.piece, u32::from(place.template));
            self.piece.push(':');
            push_number(&mut self.piece, place.line);
            self.piece.push(';');
        }
    }
}

/// `write!` costs a third of a render here.
fn push_number(to: &mut String, number: u32) {
    if number >= 10 {
        push_number(to, number / 10);
    }
    to.push(char::from(b'0' + u8::try_from(number % 10).unwrap_or(0)));
}

fn is_only_marks(piece: &str) -> bool {
    let mut in_mark = false;
    piece.chars().all(|c| {
        if in_mark {
            in_mark = c != ';';
            return true;
        }
        in_mark = c == framing::OWNER || c == framing::LINE;
        in_mark || c == framing::UNOWN
    })
}
