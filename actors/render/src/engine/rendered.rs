//! What rendering a file ends with, before it is encoded.

use crate::{
    block_cache::{PrintedBlock, captured::Uncacheable},
    output::{effects::AddedFile, framing::FramedText},
};
use haptic_attribution::Fault;
use haptic_model::{Diagnostic, store::Read};
use std::sync::Arc;

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
    /// The outermost objects' blocks in order, when a [`BlockCache`](crate::block_cache::BlockCache) was given.
    pub blocks: Vec<PrintedBlock>,
    /// The warnings of `warn`.
    pub warnings: Vec<Diagnostic>,
    /// Objects that `register_error` refused, and those whose blocks failed and printed nothing.
    pub faults: Vec<Fault>,
    /// Files that `add_file` added.
    pub added: Vec<AddedFile>,
}
