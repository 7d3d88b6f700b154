//! Equal fragments are the same piece of memory from one generation of a file to the next.

use crate::marks::Marked;
use haptic_model::{Diagnostic, FileKind, Text, text::Fragment};
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

/// Settles the generations of one file and remembers the last one's fragments, so that unchanged ones are the
/// same `Arc` again. A refused generation is not remembered.
#[derive(Debug, Default)]
pub struct Settler {
    last: HashSet<Known>,
}

impl Settler {
    /// As [`settle`](super::settle()), with the fragments of the generation before where they are equal.
    ///
    /// # Errors
    /// As [`settle`](super::settle()).
    pub fn settle(&mut self, kind: FileKind, marked: &Marked) -> Result<Text, Vec<Diagnostic>> {
        let fresh = super::settle(kind, marked)?;
        let mut now = HashSet::with_capacity(fresh.fragments().len());
        let fragments = fresh.fragments().iter().map(|fragment| self.known(fragment, &mut now)).collect();
        self.last = now;
        Ok(Text::new(fragments))
    }

    fn known(&self, fragment: &Fragment, now: &mut HashSet<Known>) -> Fragment {
        let key = Known::new(fragment.clone());
        let kept = now.get(&key).or_else(|| self.last.get(&key)).cloned().unwrap_or(key);
        let fragment = kept.fragment.clone();
        now.insert(kept);
        fragment
    }
}

/// A fragment that equals another by text and provenance.
#[derive(Clone, Debug)]
struct Known {
    fragment: Fragment,
    /// Computed once: texts are long, and looked up in several sets.
    hash: u64,
}

impl Known {
    fn new(fragment: Fragment) -> Self {
        let mut state = DefaultHasher::new();
        let blame = fragment.blame();
        fragment.as_str().hash(&mut state);
        blame.objects.hash(&mut state);
        blame.lines.first().map(|l| (l.template, l.object, l.line)).hash(&mut state);
        Self { hash: state.finish(), fragment }
    }
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.fragment, &other.fragment);
        self.hash == other.hash && a.as_str() == b.as_str() && a.blame() == b.blame()
    }
}

impl Eq for Known {}

impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}
