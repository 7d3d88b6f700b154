//! A text of stretches of others, which it shares with them: what a patch makes of megabytes takes room for what is new, and no more.

use crate::{
    digest::Digest,
    patch::{Patch, PatchError, Piece},
};
use std::{borrow::Cow, fmt, ops::Range, sync::Arc};

/// A text of more stretches is copied: each change of a file adds two.
const MOST_STRETCHES: usize = 1 << 12;

/// A text that shares its stretches. Cheap to clone while these are few.
#[derive(Clone, Default)]
pub struct SplicedText {
    stretches: Vec<SharedStretch>,
    length: usize,
}

#[derive(Clone)]
struct SharedStretch {
    /// Where it begins in the whole.
    at: usize,
    of: Arc<String>,
    range: Range<usize>,
}

impl SharedStretch {
    fn as_str(&self) -> &str {
        self.of.get(self.range.clone()).unwrap_or_default()
    }
}

impl From<String> for SplicedText {
    fn from(text: String) -> Self {
        let (mut whole, range) = (Self::default(), 0..text.len());
        whole.push(&Arc::new(text), range);
        whole
    }
}

impl SplicedText {
    /// Its bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Its stretches, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        self.stretches.iter().map(SharedStretch::as_str)
    }

    /// The digest of its bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match &*self.stretches {
            [only] => Digest::of(only.as_str().as_bytes()),
            _ => Digest::of_pieces(self.pieces().map(str::as_bytes)),
        }
    }

    /// It as one piece of memory; a copy where it is several.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &*self.stretches {
            [] => Cow::Borrowed(""),
            [only] => Cow::Borrowed(only.as_str()),
            _ => Cow::Owned(self.to_string()),
        }
    }

    /// What `patch` makes of it, of at most `longest` bytes.
    ///
    /// # Errors
    /// [`PatchError`] when this is not what the patch was made from.
    pub fn patched(&self, patch: &Patch, longest: usize) -> Result<Self, PatchError> {
        let mut new = Splicing::default();
        for piece in &patch.pieces {
            match piece {
                Piece::Put(text) => new.put(text),
                Piece::Keep(from, bytes) => {
                    let end = from.checked_add(*bytes).ok_or(PatchError::Outside)?;
                    self.keep(*from..end, &mut new).ok_or(PatchError::Outside)?;
                }
            }
            if new.length() > longest {
                return Err(PatchError::TooLong(longest));
            }
        }
        Ok(new.finish())
    }

    /// Adds the stretches of `range` to `new`; `None` when they are not all there, or half a character is at an end.
    fn keep(&self, range: Range<usize>, new: &mut Splicing) -> Option<()> {
        if range.end > self.length {
            return None;
        }
        let first = self.stretches.partition_point(|stretch| stretch.at + stretch.range.len() <= range.start);
        for stretch in self.stretches.get(first..)?.iter().take_while(|stretch| stretch.at < range.end) {
            let end = stretch.at + stretch.range.len();
            let within = |at: usize| stretch.range.start + at.clamp(stretch.at, end) - stretch.at;
            let part = within(range.start)..within(range.end);
            stretch.of.get(part.clone())?;
            new.share(&stretch.of, part);
        }
        Some(())
    }

    fn push(&mut self, of: &Arc<String>, range: Range<usize>) {
        let (at, bytes) = (self.length, range.len());
        self.length += bytes;
        match self.stretches.last_mut() {
            _ if bytes == 0 => {}
            Some(last) if Arc::ptr_eq(&last.of, of) && last.range.end == range.start => {
                last.range.end = range.end;
            }
            _ => self.stretches.push(SharedStretch { at, of: of.clone(), range }),
        }
    }

    /// Bytes of all texts that it has stretches of.
    fn held(&self) -> usize {
        let mut texts: Vec<(*const String, usize)> =
            self.stretches.iter().map(|stretch| (Arc::as_ptr(&stretch.of), stretch.of.len())).collect();
        texts.sort_unstable();
        texts.dedup();
        texts.iter().map(|(_, bytes)| bytes).sum()
    }
}

/// A text that is being put together: shared as long as it has few stretches, so that no patch takes more room than its result.
#[derive(Default)]
struct Splicing {
    shared: SplicedText,
    copied: Option<String>,
}

impl Splicing {
    fn length(&self) -> usize {
        self.copied.as_ref().map_or(self.shared.length, String::len)
    }

    fn put(&mut self, text: &str) {
        match &mut self.copied {
            Some(copied) => copied.push_str(text),
            None => self.share(&Arc::new(text.to_owned()), 0..text.len()),
        }
    }

    fn share(&mut self, of: &Arc<String>, range: Range<usize>) {
        if let Some(copied) = &mut self.copied {
            return copied.push_str(of.get(range).unwrap_or_default());
        }
        self.shared.push(of, range);
        if self.shared.stretches.len() > MOST_STRETCHES {
            self.copied = Some(std::mem::take(&mut self.shared).to_string());
        }
    }

    fn finish(self) -> SplicedText {
        match self.copied {
            Some(copied) => copied.into(),
            None if self.shared.held() > 2 * self.shared.length => self.shared.to_string().into(),
            None => self.shared,
        }
    }
}

impl fmt::Display for SplicedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces().try_for_each(|piece| f.write_str(piece))
    }
}

/// Its length: files may be keys.
impl fmt::Debug for SplicedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SplicedText({} bytes)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn patch(pieces: impl IntoIterator<Item = Piece>) -> Patch {
        Patch { of: Digest::of(b""), pieces: pieces.into_iter().collect() }
    }

    #[test]
    fn a_patch_that_keeps_what_is_not_there_is_an_error() {
        let text = SplicedText::from("é!".to_owned());
        for piece in [Piece::Keep(0, 4), Piece::Keep(usize::MAX, 2), Piece::Keep(1, 1), Piece::Keep(4, 0)] {
            assert_eq!(text.patched(&patch([piece]), 100).unwrap_err(), PatchError::Outside);
        }
        let twice = patch([Piece::Keep(0, 3), Piece::Keep(0, 3)]);
        assert_eq!(text.patched(&twice, 5).unwrap_err(), PatchError::TooLong(5));
    }

    #[test]
    fn little_that_is_kept_of_much_does_not_hold_all_of_it() {
        let text = SplicedText::from("x".repeat(1000));
        let most = text.patched(&patch([Piece::Keep(0, 900)]), 1000).unwrap();
        assert_eq!((most.len(), most.held()), (900, 1000));
        let little = text.patched(&patch([Piece::Keep(0, 10), Piece::Put("y".to_owned())]), 1000).unwrap();
        assert_eq!((little.to_string().as_str(), little.held()), ("xxxxxxxxxxy", 11));
    }

    #[test]
    fn many_changes_leave_few_stretches() {
        let mut text = SplicedText::from("a".repeat(20_000));
        for at in 0..6_000 {
            let change = [
                Piece::Keep(0, 3 * at),
                Piece::Put("b".to_owned()),
                Piece::Keep(3 * at + 1, 19_999 - 3 * at),
            ];
            text = text.patched(&patch(change), 20_000).unwrap();
            assert!(text.stretches.len() <= MOST_STRETCHES && text.len() == 20_000);
        }
        assert_eq!(text.to_string(), format!("{}{}", "baa".repeat(6_000), "a".repeat(2_000)));
    }

    #[test]
    fn a_patch_of_a_million_pieces_leaves_few_stretches_too() {
        let text = SplicedText::from("ab".to_owned());
        let pieces = (0..1_000_000).map(|n| Piece::Keep(n % 2, 1));
        let many = text.patched(&patch(pieces), 1_000_000).unwrap();
        assert_eq!((many.len(), many.stretches.len()), (1_000_000, 1));
        assert_eq!(many.text(), "ab".repeat(500_000));
        let pieces = (0..1_000_000).map(|_| Piece::Keep(0, 1));
        assert_eq!(text.patched(&patch(pieces), 999_999).unwrap_err(), PatchError::TooLong(999_999));
    }

    proptest! {
        /// As with one piece of memory.
        #[test]
        fn patches_one_after_the_other_make_what_they_say(
            text in "[aé\n]{0,12}",
            patches in prop::collection::vec(
                prop::collection::vec(prop_oneof![
                    (0_usize..16, 0_usize..16).prop_map(|(from, bytes)| Piece::Keep(from, bytes)),
                    "[bü]{0,3}".prop_map(Piece::Put),
                ], 0..6),
                1..6,
            ),
        ) {
            let (mut spliced, mut plain) = (SplicedText::from(text.clone()), text);
            for pieces in patches {
                let is_there = |piece: &Piece| match piece {
                    Piece::Keep(from, bytes) => plain.get(*from..from + bytes).map(str::to_owned),
                    Piece::Put(text) => Some(text.clone()),
                };
                let wanted: Option<String> = pieces.iter().map(is_there).collect();
                match (spliced.patched(&patch(pieces), 1000), wanted) {
                    (Ok(new), Some(wanted)) => {
                        prop_assert_eq!(new.digest(), Digest::of(wanted.as_bytes()));
                        prop_assert_eq!(new.len(), wanted.len());
                        (spliced, plain) = (new, wanted);
                    }
                    (Err(_), None) => {}
                    (made, wanted) => prop_assert!(false, "{made:?} for {wanted:?}"),
                }
            }
        }
    }
}
