//! A file's content as the difference from one that the receiver has: a change of one server in 2 MB of haproxy.cfg travels as
//! that one line. Pure: digests are the receiver's to verify.

use crate::{
    digest::Digest,
    spliced::SplicedText,
    text::{Fragment, Text, TextRun},
};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use std::{collections::HashMap, fmt};

/// The content of a file that is sent.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// All of it.
    Whole(String),
    /// What differs.
    Patch(Patch),
}

/// A text made of pieces of another one and of new ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Patch {
    /// The digest of the text that pieces are kept from.
    pub of: Digest,
    /// In order.
    pub pieces: Vec<Piece>,
}

/// A piece of a patched text.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Piece {
    /// Bytes of the other text: where they begin, and how many.
    Keep(usize, usize),
    /// New ones.
    Put(String),
}

/// Why a patch cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It keeps bytes that the other text does not have, or half a character.
    #[error("it keeps what the text it was made from does not have")]
    Outside,
    /// Its result would be too long.
    #[error("its result has more than {0} bytes")]
    TooLong(usize),
}

/// What serde derives for an untagged one holds each text twice: files have megabytes.
impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or a patch")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Whole(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Content, E> {
        Ok(Content::Whole(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Content, A::Error> {
        Patch::deserialize(MapAccessDeserializer::new(map)).map(Content::Patch)
    }
}

/// Lengths: files may be keys.
impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(text) => write!(f, "Whole({} bytes)", text.len()),
            Self::Patch(patch) => patch.fmt(f),
        }
    }
}

/// As of [`Content`].
impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep(from, length) => write!(f, "Keep({from}, {length})"),
            Self::Put(text) => write!(f, "Put({} bytes)", text.len()),
        }
    }
}

impl Content {
    /// Bytes that travel.
    #[must_use]
    pub fn sent(&self) -> usize {
        let put = |piece: &Piece| if let Piece::Put(text) = piece { text.len() } else { 0 };
        match self {
            Self::Whole(text) => text.len(),
            Self::Patch(patch) => patch.pieces.iter().map(put).sum(),
        }
    }
}

impl Patch {
    /// What leads from `old`, whose digest is `of`, to `new`. Found by the pieces that both share in memory, so it reads none, and takes
    /// a glance at those only that stand between the runs that both begin and end with. `None` when nothing of `old` is worth
    /// keeping.
    #[must_use]
    pub fn between(old: &Text, of: Digest, new: &Text) -> Option<Self> {
        let (head, old, new, tail) =
            without_shared_ends(old.runs(), new.runs(), |a, b| a.address() == b.address());
        let [old, new] = [old, new].map(|runs| runs.iter().flat_map(TextRun::fragments).collect::<Vec<_>>());
        let (begin, old, new, end) = without_shared_ends(&old, &new, |a, b| a.same(b));
        let mut at = head.iter().map(TextRun::bytes).sum::<usize>() + length(begin);
        let mut patch = Self { of, pieces: Vec::new() };
        patch.keep(0, at);
        let mut moved = HashMap::new();
        for fragment in old {
            moved.insert(fragment.as_str().as_ptr(), at);
            at += fragment.as_str().len();
        }
        for fragment in new {
            match moved.get(&fragment.as_str().as_ptr()) {
                Some(from) => patch.keep(*from, fragment.as_str().len()),
                None => patch.put(fragment.as_str()),
            }
        }
        patch.keep(at, length(end) + tail.iter().map(TextRun::bytes).sum::<usize>());
        patch.pieces.iter().any(|piece| matches!(piece, Piece::Keep(..))).then_some(patch)
    }

    /// What it makes of `old`, of at most `longest` bytes. Whoever keeps texts has [`SplicedText`].
    ///
    /// # Errors
    /// [`PatchError`] when this is no patch of `old`.
    pub fn apply(&self, old: &str, longest: usize) -> Result<String, PatchError> {
        SplicedText::from(old.to_owned()).patched(self, longest).map(|new| new.to_string())
    }

    fn keep(&mut self, from: usize, bytes: usize) {
        match self.pieces.last_mut() {
            _ if bytes == 0 => {}
            Some(Piece::Keep(before, length)) if *before + *length == from => *length += bytes,
            _ => self.pieces.push(Piece::Keep(from, bytes)),
        }
    }

    fn put(&mut self, text: &str) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Put(before)) => before.push_str(text),
            _ => self.pieces.push(Piece::Put(text.to_owned())),
        }
    }
}

/// What both lists begin with, the rest of each, and what both end with.
fn without_shared_ends<'l, T>(
    old: &'l [T],
    new: &'l [T],
    same: impl Fn(&T, &T) -> bool,
) -> (&'l [T], &'l [T], &'l [T], &'l [T]) {
    let head = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
    let ((head, old), (_, new)) = (old.split_at(head), new.split_at(head));
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| same(a, b)).count();
    let ((old, tail), (new, _)) = (old.split_at(old.len() - tail), new.split_at(new.len() - tail));
    (head, old, new, tail)
}

fn length(fragments: &[&Fragment]) -> usize {
    fragments.iter().map(|fragment| fragment.as_str().len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextBuilder;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn pieces(texts: &[&str]) -> Vec<Fragment> {
        texts.iter().map(|text| Fragment::new(*text, Arc::default())).collect()
    }

    fn patch(old: &[Fragment], new: &[Fragment]) -> Option<Patch> {
        let old = Text::new(old.to_vec());
        Patch::between(&old, old.digest(), &Text::new(new.to_vec()))
    }

    #[test]
    fn one_changed_piece_in_the_middle_is_all_that_travels() {
        let old = pieces(&["global\n", " server a\n", " server b\n", "end\n"]);
        let mut new = old.clone();
        new[1] = Fragment::new(" server z\n", Arc::default());
        let patch = patch(&old, &new).unwrap();
        assert_eq!(patch.pieces, [Piece::Keep(0, 7), Piece::Put(" server z\n".into()), Piece::Keep(17, 14)]);
        let content = Content::Patch(patch);
        assert_eq!(content.sent(), 10);
        let json = serde_json::to_string(&content).unwrap();
        assert_eq!(serde_json::from_str::<Content>(&json).unwrap(), content);
        assert_eq!(serde_json::from_str::<Content>("\"a\"").unwrap(), Content::Whole("a".into()));
        let error = serde_json::from_str::<Content>("3").unwrap_err().to_string();
        assert!(error.contains("expected a text, or a patch"), "{error}");
    }

    #[test]
    fn texts_that_share_nothing_have_no_patch() {
        assert_eq!(patch(&pieces(&["a\n"]), &pieces(&["a\n"])), None);
    }

    proptest! {
        #[test]
        fn a_patch_leads_from_any_arrangement_of_runs_and_pieces_to_any_other(
            texts in prop::collection::vec("[aé\n]{0,3}", 1..6),
            old in prop::collection::vec(0_usize..9, 0..12),
            new in prop::collection::vec(0_usize..12, 0..12),
        ) {
            let known: Vec<Fragment> = texts.iter().map(|text| Fragment::new(text.as_str(), Arc::default())).collect();
            let runs: Vec<TextRun> = known.chunks(2).map(|run| TextRun::new(run.to_vec())).collect();
            let arranged = |numbers: Vec<usize>| {
                let mut text = TextBuilder::default();
                for number in numbers {
                    let piece = || known.get(number.checked_sub(runs.len())?).cloned();
                    match runs.get(number) {
                        Some(run) => text.run(run.clone()),
                        None => text.fragment(piece().unwrap_or_else(|| Fragment::new("new\n", Arc::default()))),
                    }
                }
                text.finish()
            };
            let (old, new) = (arranged(old), arranged(new));
            if let Some(patch) = Patch::between(&old, old.digest(), &new) {
                prop_assert_eq!(patch.of, old.digest());
                prop_assert_eq!(patch.apply(&old.to_string(), 1000).unwrap(), new.to_string());
            }
        }
    }
}
