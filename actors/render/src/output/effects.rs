//! The effects of templates beside printing: they warn, they refuse objects, they add files.

use haptic_attribution::faults::Fault;
use haptic_model::{Diagnostic, FileKey, ObjectRef};
use std::{collections::BTreeSet, sync::Arc};

/// The effects of a block beside printing.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockEffects {
    pub warnings: Vec<Diagnostic>,
    pub faults: Vec<Fault>,
    pub added: Vec<AddedFile>,
}

/// A file that a template made of what it read, beside those that have a template of their own.
#[derive(Clone, Debug)]
pub struct AddedFile {
    /// Its kind and name.
    pub key: FileKey,
    /// Its content, all of it a value.
    pub content: Arc<str>,
    /// Whether it is from a Secret.
    pub secret: bool,
    /// The object whose block added it first.
    pub object: Option<Arc<ObjectRef>>,
    /// The objects of all outermost blocks that added it.
    pub blocks: BTreeSet<Arc<ObjectRef>>,
}

impl AddedFile {
    /// Others have added the same.
    pub(crate) fn also_by(&mut self, blocks: &BTreeSet<Arc<ObjectRef>>) {
        self.blocks.extend(blocks.iter().cloned());
    }

    /// Whether both are the same file, whichever block added it.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (&self.key, &self.content, &self.object) == (&other.key, &other.content, &other.object)
    }
}
