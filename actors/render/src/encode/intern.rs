//! Equal fragments are the same piece of memory from one generation of a file to the next.

use super::{Encoded, fitting::Fitting, format::FileFormat, provenance::OutputPart};
use crate::output::framing::FramedText;
use haptic_attribution::Fault;
use haptic_model::Diagnostic;
use haptic_text::{Fragment, Text, TextBuilder, TextRun};
use std::{
    collections::{BTreeSet, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

/// Encodes the generations of one file and remembers the last one's fragments, so that unchanged ones are the
/// same `Arc` again. A refused generation is not remembered.
#[derive(Clone, Debug, Default)]
pub struct FileEncoder {
    last: Text,
}

/// One generation of a file, as far as it could be encoded.
pub(crate) struct EncodedGeneration {
    /// The file, unless anything was refused.
    pub text: Option<Text>,
    /// For each piece that is printed now: its fragment, where one is exactly the other.
    pub fragments: Vec<Option<Fragment>>,
    /// The values that were refused.
    pub refused: Vec<Fault>,
    /// In which pieces.
    pub refused_pieces: BTreeSet<usize>,
    /// The notices of ignored values outside of all objects' blocks.
    pub notices: Vec<Diagnostic>,
}

impl FileEncoder {
    /// As [`encode`](super::encode()), with the fragments of the generation before where they are equal.
    ///
    /// # Errors
    /// As [`encode`](super::encode()).
    pub fn encode(
        &mut self,
        reading: impl Into<FileFormat>,
        framed: &FramedText,
    ) -> Result<Text, Vec<Diagnostic>> {
        let encoded = self
            .encode_fragments(reading.into(), framed, &Fitting::default())
            .map_err(|diagnostic| vec![diagnostic])?;
        encoded.text.ok_or_else(|| encoded.refused.into_iter().map(|fault| fault.diagnostic).collect())
    }

    /// The same, with what became of each piece.
    ///
    /// # Errors
    /// A defect of the engine.
    pub(crate) fn encode_fragments(
        &mut self,
        reading: FileFormat,
        framed: &FramedText,
        fitting: &Fitting,
    ) -> Result<EncodedGeneration, Diagnostic> {
        let encoded = super::pieces(reading, framed, fitting).map_err(|malformed| malformed.diagnostic())?;
        let Encoded { mut parts, of_piece, refused, refused_pieces, notices } = encoded;
        let mut known = self.not_kept(&parts);
        for part in &mut parts {
            if let OutputPart::Fresh(fragment) = part {
                *fragment = interned(fragment, &mut known);
            }
        }
        let fresh = |number: usize| match parts.get(number) {
            Some(OutputPart::Fresh(fragment)) => Some(fragment.clone()),
            _ => None,
        };
        let fragments = of_piece.into_iter().map(|number| fresh(number?)).collect();
        let text = text_of(parts);
        if refused.is_empty() {
            self.last = text.clone();
        }
        let text = refused.is_empty().then_some(text);
        Ok(EncodedGeneration { text, fragments, refused, refused_pieces, notices })
    }

    /// The fragments that fresh ones can be equal to: those of the last generation that this one does not keep.
    fn not_kept(&self, parts: &[OutputPart]) -> HashSet<InternedFragment> {
        let address = |part: &OutputPart| match part {
            OutputPart::KeptRun(run) => Some(run.address()),
            _ => None,
        };
        let kept_runs: HashSet<usize> = parts.iter().filter_map(address).collect();
        let last_runs: HashSet<usize> = self.last.runs().iter().map(TextRun::address).collect();
        let is_fresh = |part: &&OutputPart| matches!(part, OutputPart::Fresh(_));
        let others = parts.iter().filter(|part| !is_fresh(part));
        let others = others.filter(|part| address(part).is_none_or(|run| !last_runs.contains(&run)));
        let mut kept = others.flat_map(OutputPart::fragments).peekable();
        let last = self.last.runs().iter().filter(|run| !kept_runs.contains(&run.address()));
        last.flat_map(TextRun::fragments)
            .filter(|last| kept.next_if(|kept| kept.same(last)).is_none())
            .map(|last| InternedFragment::new(last.clone()))
            .collect()
    }
}

/// The text that these parts are.
pub(super) fn text_of(parts: Vec<OutputPart>) -> Text {
    let mut text = TextBuilder::default();
    for part in parts {
        match part {
            OutputPart::Fresh(fragment) | OutputPart::Kept(fragment) => text.fragment(fragment),
            OutputPart::KeptRun(run) => text.run(run),
        }
    }
    text.finish()
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
