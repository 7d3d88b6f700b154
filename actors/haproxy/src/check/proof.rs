//! Proof that a configuration has no problem, kept from one configuration to the next.
//!
//! A problem is either in a block by itself, and then it is there until the block changes, or it is about names, and
//! those are counted. So after a change only the changed blocks are checked, and names compared. Where the counts do
//! not suffice (a defaults section after its users, `.if` around several blocks) there is no proof, which says
//! nothing: only [`check`](super::check) finds problems, and their places.

use super::statistics::CheckStatistics;
use crate::{
    block_index::{Aggregate, BlockIndex},
    document::Document,
    views::Bases,
};
use haptic_model::HaproxyVersion;
use haptic_model::crd::Allowance;
use haptic_text::Text;

/// What is known of the configuration that was looked at last.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    block_index: BlockIndex<CheckStatistics>,
}

impl Proof {
    /// Whether `text` surely has no problem for any of `versions`, so that [`check`](super::check) finds none.
    /// `files` says whether a file will be there.
    pub fn holds(&mut self, text: &Text, versions: &[HaproxyVersion], files: &dyn Fn(&str) -> bool) -> bool {
        if self.block_index.aggregate().versions() != versions {
            self.block_index = self.block_index.anew(CheckStatistics::of(versions));
        }
        self.block_index.advance(text);
        self.block_index.has_defaults_before_users() && self.block_index.aggregate().is_clean(files)
    }

    /// What the configuration that was looked at last needs to be allowed; for files with their paths.
    pub fn needs(&self) -> impl Iterator<Item = (Allowance, Option<&str>)> {
        self.block_index.aggregate().needs()
    }

    /// Bytes that it takes beside the text, which it shares.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.block_index.bytes() + self.block_index.aggregate().bytes()
    }

    /// One with a fault, for the test that proves that tests find it: it forgets to take away what has gone.
    #[doc(hidden)]
    #[must_use]
    pub fn forgetful() -> Self {
        Self { block_index: BlockIndex::forgetful() }
    }
}

impl Aggregate for CheckStatistics {
    fn enter(&mut self, block: &Document<'_>, bases: &Bases) -> bool {
        self.count(block, bases, 1);
        false
    }

    fn remove(&mut self, block: &Document<'_>, bases: &Bases) {
        self.count(block, bases, -1);
    }

    fn anew(&self) -> Self {
        Self::of(self.versions())
    }
}
