//! Content addresses: two things with the same digest are the same bytes.

use serde::{Deserialize, Serialize};

/// A BLAKE3 digest, printed as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// How far the digest of a text that changes had come, mark by mark: the next one goes on from the last mark before the first change.
#[derive(Clone, Debug, Default)]
pub struct DigestMarks(Vec<blake3::Hasher>);

impl DigestMarks {
    /// Bytes from one mark to the next. One takes 2 KB.
    const APART: usize = 256 << 10;
    /// So many bytes are hashed at once: several blocks go in parallel lanes; piece by piece takes five times as long, and where a block is
    /// cut it is hashed alone.
    const AT_ONCE: usize = 64 << 10;

    /// The digest of `pieces` as if they were one, of which the first `same` bytes are those of the text before.
    pub fn digest<'a>(&mut self, same: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Digest {
        self.0.truncate(same / Self::APART);
        let mut hasher = self.0.last().cloned().unwrap_or_default();
        let mut known = self.0.len() * Self::APART;
        let mut waiting = Vec::with_capacity(Self::AT_ONCE);
        let mut hashed = known;
        for piece in pieces {
            let Some((_, mut rest)) = piece.split_at_checked(known) else {
                known -= piece.len();
                continue;
            };
            known = 0;
            while let Some((head, behind)) = rest.split_at_checked(Self::AT_ONCE - waiting.len()) {
                waiting.extend_from_slice(head);
                hasher.update(&waiting);
                hashed += waiting.len();
                waiting.clear();
                rest = behind;
                if hashed.is_multiple_of(Self::APART) {
                    self.0.push(hasher.clone());
                }
            }
            waiting.extend_from_slice(rest);
        }
        hasher.update(&waiting);
        Digest(*hasher.finalize().as_bytes())
    }
}

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of several pieces as if they were one.
    pub fn of_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        DigestMarks::default().digest(0, pieces)
    }

    /// The raw bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first twelve digits: enough for a person.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digest({})", self.short())
    }
}

impl std::str::FromStr for Digest {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        blake3::Hash::from_hex(s)
            .map(|h| Self(*h.as_bytes()))
            .map_err(|_| format!("{s:?} is not a digest: 64 hexadecimal digits are"))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_have_the_digest_of_the_whole() {
        let bytes: Vec<u8> = (0..300_000_u32).map(|i| (i % 251) as u8).collect();
        for size in [1_usize, 100, 1023, 65_535, 65_536, 65_537, 200_000] {
            assert_eq!(Digest::of_pieces(bytes.chunks(size)), Digest::of(&bytes), "{size}");
        }
        let mixed = [&bytes[..10], &bytes[10..100_000], &bytes[100_000..100_001], &bytes[100_001..]];
        assert_eq!(Digest::of_pieces(mixed), Digest::of(&bytes));
    }

    #[test]
    fn a_text_that_changes_has_the_digest_of_the_whole_wherever_it_changes() {
        let mut marks = DigestMarks::default();
        let mut text: Vec<u8> = (0..1_200_000_u32).map(|i| (i % 251) as u8).collect();
        let mut same = 0;
        for at in [1_199_999_usize, 900_000, 262_144, 262_143, 700_000, 0, 1_048_576, 524_288] {
            assert_eq!(marks.digest(same, text.chunks(1_000)), Digest::of(&text), "before {at}");
            text[at] ^= 1;
            text.insert(at + 1, 7);
            same = at;
        }
        text.truncate(300_000);
        assert_eq!(marks.digest(300_000, text.chunks(70_001)), Digest::of(&text));
    }
}
