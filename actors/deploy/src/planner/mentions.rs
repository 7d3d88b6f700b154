//! What a configuration mentions, counted block by block, so that after a change only the changed blocks are read.

use super::{references::References, usages::Usages};
use haptic_haproxy::{Document, outline::Ledger, views::Bases};

/// What lines refer to, and what files are used for.
#[derive(Clone, Debug, Default)]
pub(super) struct Mentions {
    pub references: References,
    pub usages: Usages,
}

impl Ledger for Mentions {
    /// Blocks that use files are found again: the order of uses is the order in which maps change.
    fn enter(&mut self, block: &Document<'_>, bases: &Bases) -> bool {
        self.references.count(block, 1);
        self.usages.count(block, bases, 1)
    }

    fn strike(&mut self, block: &Document<'_>, bases: &Bases) {
        self.references.count(block, -1);
        self.usages.count(block, bases, -1);
    }
}
