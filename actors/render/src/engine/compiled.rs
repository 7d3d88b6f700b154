//! Compiled templates, whatever languages they are written in, and the result of rendering them.
//!
//! A compiled template prints *framed* text (see [framing](crate::framing)); it never quotes anything for HAProxy, which is the
//! encoder's work.

use crate::{
    block_cache::{BlockCache, PrintedBlock, captured::Uncacheable},
    input::{RenderInput, RenderLimits},
    output::{effects::AddedFile, framing::FramedText},
};
use haptic_attribution::Fault;
use haptic_model::{Diagnostic, FileKey, store::Read};
use std::sync::Arc;

/// A configuration's templates, compiled.
pub trait Compiled: Send + Sync + std::fmt::Debug {
    /// The files there are templates for.
    fn files(&self) -> Vec<FileKey>;

    /// Renders one file in full.
    ///
    /// # Errors
    /// The first failure of no object, with template, line and column, behind those of objects until then.
    fn render(
        &self,
        file: &FileKey,
        input: &RenderInput<'_>,
        limits: &RenderLimits,
    ) -> Result<RenderedFile, Vec<Fault>> {
        self.render_again(file, input, limits, None)
    }

    /// Renders one file, with the blocks that `cache` knows and whose objects, reads and surroundings are the same.
    /// The result is encoded to the same bytes and origins as that of [`Self::render`].
    ///
    /// # Errors
    /// As [`Self::render`].
    fn render_again(
        &self,
        file: &FileKey,
        input: &RenderInput<'_>,
        limits: &RenderLimits,
        cache: Option<&BlockCache<'_>>,
    ) -> Result<RenderedFile, Vec<Fault>>;

    /// The identity: no other compilation has the same while this one, or a clone of it, is alive.
    fn identity(&self) -> &Arc<()>;

    /// The names of all templates, by number.
    fn templates(&self) -> &[Arc<str>];

    /// Whether any template calls that function.
    fn calls(&self, function: &str) -> bool;

    /// Blocks of objects that may have to be rendered each time, and why.
    fn impure_blocks(&self) -> Vec<ImpureBlock>;
}

/// A block for objects whose output may not be kept from one render to the next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImpureBlock {
    /// The template's name.
    pub template: Arc<str>,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
    /// Why.
    pub why: Uncacheable,
}

/// One rendered file, before it is encoded.
#[derive(Clone, Debug, Default)]
pub struct RenderedFile {
    /// Its framed text.
    pub framed: FramedText,
    /// The reads outside of all objects' blocks.
    pub outside: Vec<Read>,
    /// The outermost objects' blocks in order, when a [`BlockCache`] was given.
    pub blocks: Vec<PrintedBlock>,
    /// The warnings of `warn`.
    pub warnings: Vec<Diagnostic>,
    /// Objects that `register_error` refused, and those whose blocks failed and printed nothing.
    pub faults: Vec<Fault>,
    /// Files that `add_file` added.
    pub added: Vec<AddedFile>,
}
