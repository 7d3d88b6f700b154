//! One file, render after render: printed, encoded, and kept for the next time.
//!
//! A file whose stores have not changed is the same file again. Otherwise its fixed text is printed again and blocks
//! that would print the same are taken from the render before. Blocks that are at fault are not kept; a render that stops
//! nothing of what is.

use super::{
    checks::{BoundedChecks, UncheckedFragments},
    context::RenderContext,
    shares::FileShare,
};
use crate::{
    block_cache::{
        BlockCache, CacheSize, FileCache, PrintedBlock, block::SourcePosition, captured::Uncacheable,
        store_lists::StoreLists,
    },
    encode::{EncodedGeneration, FileEncoder, FileFormat},
    engine::Program,
    input::{RenderInput, RenderLimits},
    output::effects::AddedFile,
};
use haptic_attribution::{Fault, FaultKind};
use haptic_model::{
    ActiveConfig, BundleFile, Diagnostic, FileKey, FileKind, ObjectRef, Snapshots, store::Read,
};
use haptic_text::{DigestMarks, Fragment, Text, TextBuilder};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The memory of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileMemory {
    encoder: FileEncoder,
    reading: FileFormat,
    kept: FileCache,
    unchecked: UncheckedFragments,
    last: Option<Last>,
    /// Of the last file's digest.
    marks: DigestMarks,
    /// Drops what blocks read: only for the test that proves that it is needed.
    pub forgetful: bool,
}

#[derive(Clone, Debug)]
struct Last {
    context: Arc<RenderContext>,
    done: FileResult,
}

/// A rendered file.
#[derive(Clone, Debug)]
pub(crate) struct FileResult {
    pub path: Arc<str>,
    /// None where a value could not be encoded.
    pub file: Option<BundleFile>,
    pub warnings: Vec<Diagnostic>,
    pub faults: Vec<Fault>,
    pub added: Vec<AddedFile>,
}

/// The things that one render of all files has in common.
#[derive(Clone, Copy)]
pub(crate) struct Render<'r> {
    pub compiled: &'r Program,
    pub config: &'r ActiveConfig,
    pub snapshots: &'r Snapshots,
    pub limits: &'r RenderLimits,
    pub context: &'r Arc<RenderContext>,
    pub lists: &'r StoreLists,
}

impl FileMemory {
    /// Takes the format in which HAProxy reads the file from now on. Values that were encoded for another one are printed again.
    pub fn read_as(&mut self, reading: FileFormat) {
        if self.reading != reading {
            (self.reading, self.encoder, self.last) = (reading, FileEncoder::default(), None);
        }
    }

    /// The file as it was, if nothing that it was made of has changed.
    pub fn unchanged(&mut self, render: &Render<'_>, path: &str) -> Option<FileResult> {
        let last = self.last.as_ref().filter(|last| Arc::ptr_eq(&last.context, render.context))?;
        // What a block had read that failed is known to its fault only.
        let is_whole = last.done.faults.is_empty();
        let same = is_whole && *last.done.path == *path && self.kept.is_current(render.snapshots);
        let done = same.then(|| last.done.clone())?;
        self.kept.advance(render.snapshots);
        self.kept.rest();
        Some(done)
    }

    /// Renders and encodes the file at `path`, without the blocks of objects that are at fault.
    ///
    /// # Errors
    /// The first failure of the templates themselves, behind those of objects until then.
    pub fn render(
        &mut self,
        render: &Render<'_>,
        key: &FileKey,
        path: &str,
    ) -> Result<FileResult, Vec<Fault>> {
        let Render { compiled, config, snapshots, limits, context, lists } = *render;
        let input = RenderInput { config, snapshots, fleet: &context.fleet, context: &context.top };
        let known = self.last.as_ref().is_some_and(|last| Arc::ptr_eq(&last.context, context));
        let nothing = FileCache::default();
        let cache = BlockCache::new(if known { &self.kept } else { &nothing }, snapshots).with_lists(lists);
        let rendered =
            compiled.render_again(key, &input, limits, Some(&cache)).map_err(|all| in_file(all, key))?;
        let EncodedGeneration { text, fragments, mut refused, refused_pieces, notices } = self
            .encoder
            .encode_fragments(self.reading, &rendered.framed, &context.fitting)
            .map_err(|defect| in_file(vec![Fault::of_templates(defect)], key))?;
        know_reads(&mut refused, &rendered.blocks);
        if !known {
            self.kept = nothing;
        }
        let fragment = |piece: usize| fragments.get(piece).cloned().flatten();
        self.kept.update(rendered.blocks, &rendered.outside, snapshots, fragment, &refused_pieces);
        if self.forgetful {
            self.kept.forget_reads();
        }
        let text =
            text.map(|text| if key.kind == FileKind::Config { with_final_newline(text) } else { text });
        let limits = &config.spec.controller.limits;
        let share = FileShare::of(key.kind, limits);
        let too_much = text.as_ref().zip(share).map(|(text, share)| share.exceeded(key, text));
        let faults =
            rendered.faults.into_iter().chain(refused).chain(too_much.into_iter().flatten()).collect();
        let bounded = text.map(|text| self.unchecked.bounded(text, limits.checks));
        let (text, unchecked) = bounded.map(|BoundedChecks { text, warnings }| (text, warnings)).unzip();
        let file = text.map(|text| self.file(key, path, text));
        let done = FileResult {
            path: path.into(),
            file,
            warnings: rendered
                .warnings
                .into_iter()
                .chain(notices)
                .chain(unchecked.into_iter().flatten())
                .collect(),
            faults: in_file(faults, key),
            added: rendered.added,
        };
        self.last = Some(Last { context: context.clone(), done: done.clone() });
        Ok(done)
    }

    /// The file, of which nothing is hashed that it began with before.
    fn file(&mut self, key: &FileKey, path: &str, text: Text) -> BundleFile {
        let before = self.last.as_ref().and_then(|last| last.done.file.as_ref());
        match before.filter(|before| *before.path == *path) {
            Some(before) => before.followed_by(text, &mut self.marks),
            None => BundleFile::begun(key.clone(), path, text, &mut self.marks),
        }
    }

    /// The context of the last render.
    pub fn context(&self) -> Option<&Arc<RenderContext>> {
        self.last.as_ref().map(|last| &last.context)
    }

    /// Adds what the blocks of these objects read.
    pub fn reads_of(&self, objects: &mut BTreeMap<Arc<ObjectRef>, Vec<Read>>) {
        self.kept.reads_of(objects);
    }

    /// How much is kept.
    pub fn size(&self) -> CacheSize {
        self.kept.size()
    }

    /// Where blocks could not be kept, why, and how many.
    pub fn uncacheable(&self) -> impl Iterator<Item = (SourcePosition, Uncacheable, usize)> {
        self.kept.uncacheable()
    }
}

/// Says which file was being rendered when a snippet failed.
fn in_file(mut faults: Vec<Fault>, key: &FileKey) -> Vec<Fault> {
    let own = if key.kind == FileKind::Config { "haproxyConfig" } else { &*key.name };
    for Fault { diagnostic, kind, .. } in &mut faults {
        let elsewhere = diagnostic.template.as_ref().is_some_and(|t| *t.template != *own);
        if *kind != FaultKind::Registered && diagnostic.output.is_none() && elsewhere {
            diagnostic.message = format!("{} (while {key} was rendered)", diagnostic.message);
        }
    }
    faults
}

/// Notes the reads of blocks whose values were refused.
fn know_reads(refused: &mut [Fault], blocks: &[PrintedBlock]) {
    if refused.is_empty() {
        return;
    }
    let fresh = blocks.iter().filter_map(|block| match block {
        PrintedBlock::Fresh(fresh) => Some((&fresh.object.reference, &fresh.reads)),
        PrintedBlock::Kept(_) | PrintedBlock::KeptGroup(_) => None,
    });
    let mut reads: HashMap<_, Vec<Read>> = HashMap::new();
    for (object, more) in fresh {
        reads.entry(object).or_default().extend_from_slice(more);
    }
    for fault in refused {
        fault.reads =
            fault.object.as_ref().and_then(|object| reads.get(object)).map(|reads| reads.as_slice().into());
    }
}

/// HAProxy refuses a configuration whose last line has no end. Runs that are passed on stay what they are.
fn with_final_newline(text: Text) -> Text {
    let runs: Vec<_> = text.runs().iter().filter(|run| !run.fragments().is_empty()).collect();
    let last = runs.split_last().and_then(|(run, before)| Some((before, run.fragments().split_last()?)));
    match last {
        Some((before, (last, beside))) if !last.as_str().ends_with('\n') => {
            let mut ended = TextBuilder::default();
            before.iter().for_each(|run| ended.run((*run).clone()));
            beside.iter().for_each(|fragment| ended.fragment(fragment.clone()));
            ended.fragment(Fragment::new(format!("{}\n", last.as_str()), last.blame().clone()));
            ended.finish()
        }
        _ => text,
    }
}
