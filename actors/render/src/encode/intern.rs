//! Equal fragments are the same piece of memory from one generation of a file to the next.

use super::{Encoded, FileFormat, Fitting};
use crate::{faults::Fault, framing::FramedText};
use haptic_model::{Diagnostic, Text, text::Fragment};
use std::{
    collections::{BTreeSet, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

/// Settles the generations of one file and remembers the last one's fragments, so that unchanged ones are the
/// same `Arc` again. A refused generation is not remembered.
#[derive(Debug, Default)]
pub struct FileEncoder {
    last: Text,
}

/// One generation of a file, as far as it could be settled.
pub(crate) struct EncodedGeneration {
    /// The file, unless anything was refused.
    pub text: Option<Text>,
    /// For each piece: its fragment, where one is exactly the other.
    pub fragments: Vec<Option<Fragment>>,
    /// What was refused.
    pub refused: Vec<Fault>,
    /// In which pieces.
    pub refused_pieces: BTreeSet<usize>,
    /// What is ignored of what no object's block says.
    pub notices: Vec<Diagnostic>,
}

impl FileEncoder {
    /// As [`settle`](super::settle()), with the fragments of the generation before where they are equal.
    ///
    /// # Errors
    /// As [`settle`](super::settle()).
    pub fn encode(
        &mut self,
        reading: impl Into<FileFormat>,
        marked: &FramedText,
    ) -> Result<Text, Vec<Diagnostic>> {
        let settled = self
            .encode_fragments(reading.into(), marked, &Fitting::default())
            .map_err(|diagnostic| vec![diagnostic])?;
        settled.text.ok_or_else(|| settled.refused.into_iter().map(|fault| fault.diagnostic).collect())
    }

    /// The same, with what became of each piece.
    ///
    /// # Errors
    /// A defect of the engine.
    pub(crate) fn encode_fragments(
        &mut self,
        reading: FileFormat,
        marked: &FramedText,
        fitting: &Fitting,
    ) -> Result<EncodedGeneration, Diagnostic> {
        let settled = super::pieces(reading, marked, fitting).map_err(|malformed| malformed.diagnostic())?;
        let Encoded { mut fragments, kept, of_piece, refused, refused_pieces, notices } = settled;
        let mut known = self.not_kept(kept.iter().filter_map(|number| fragments.get(*number)));
        let mut kept = kept.into_iter().peekable();
        for (number, fragment) in fragments.iter_mut().enumerate() {
            if kept.next_if_eq(&number).is_none() {
                *fragment = interned(fragment, &mut known);
            }
        }
        let of_piece = of_piece.into_iter().map(|number| fragments.get(number?).cloned()).collect();
        let text = Text::new(fragments);
        if refused.is_empty() {
            self.last = text.clone();
        }
        let text = refused.is_empty().then_some(text);
        Ok(EncodedGeneration { text, fragments: of_piece, refused, refused_pieces, notices })
    }

    /// What fresh fragments can be equal to: those of the last generation that this one does not keep.
    fn not_kept<'f>(&self, kept: impl Iterator<Item = &'f Fragment>) -> HashSet<InternedFragment> {
        let mut kept = kept.peekable();
        self.last
            .fragments()
            .iter()
            .filter(|last| kept.next_if(|kept| kept.same(last)).is_none())
            .map(|last| InternedFragment::new(last.clone()))
            .collect()
    }
}

fn interned(fragment: &Fragment, known: &mut HashSet<InternedFragment>) -> Fragment {
    let fresh = InternedFragment::new(fragment.clone());
    if let Some(known) = known.get(&fresh) {
        return known.fragment.clone();
    }
    known.insert(fresh);
    fragment.clone()
}

/// A fragment that equals another by text and provenance.
#[derive(Clone, Debug)]
struct InternedFragment {
    fragment: Fragment,
    /// Computed once: texts are long.
    hash: u64,
}

impl InternedFragment {
    fn new(fragment: Fragment) -> Self {
        let mut state = DefaultHasher::new();
        let blame = fragment.blame();
        fragment.as_str().hash(&mut state);
        blame.objects.hash(&mut state);
        blame.lines.first().map(|l| (l.template, l.object, l.line)).hash(&mut state);
        Self { hash: state.finish(), fragment }
    }
}

impl PartialEq for InternedFragment {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.fragment, &other.fragment);
        self.hash == other.hash && a.as_str() == b.as_str() && a.blame() == b.blame()
    }
}

impl Eq for InternedFragment {}

impl Hash for InternedFragment {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}
