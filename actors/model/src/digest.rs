//! Content addresses: two things with the same digest are the same bytes.

use serde::{Deserialize, Serialize};

/// A BLAKE3 digest, printed as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of several pieces as if they were one.
    pub fn of_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        // Several blocks at a time are hashed in parallel lanes; piece by piece takes five times as long, and where a block is cut
        // it is hashed alone.
        const AT_ONCE: usize = 64 << 10;
        let mut hasher = blake3::Hasher::new();
        let mut waiting = Vec::with_capacity(AT_ONCE);
        for piece in pieces {
            let mut rest = piece;
            while let Some((head, behind)) = rest.split_at_checked(AT_ONCE - waiting.len()) {
                waiting.extend_from_slice(head);
                hasher.update(&waiting);
                waiting.clear();
                rest = behind;
            }
            waiting.extend_from_slice(rest);
        }
        hasher.update(&waiting);
        Self(*hasher.finalize().as_bytes())
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
}
