//! Which keys a map has, kept from one generation to the next: as long as none is there twice, the order of its
//! entries does not matter.

use super::usages::KeyMatch;
use haptic_text::pattern_file::map_entries;
use imbl::HashSet;
use std::{
    borrow::Cow,
    hash::{BuildHasher, RandomState},
    net::IpAddr,
};

/// The keys of a map in which no two entries may match the same. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct MapKeys {
    kinds: Vec<KeyMatch>,
    /// Of what each key matches. Should two hashes be equal by chance, the map is replaced as a whole, needlessly.
    hashes: HashSet<u64>,
    hasher: RandomState,
}

impl MapKeys {
    /// The keys of a map that is compared in these ways; `None` when two entries may match the same.
    pub fn of(kinds: &[KeyMatch], map: &str) -> Option<Self> {
        let empty = Self { kinds: kinds.to_vec(), hashes: HashSet::new(), hasher: RandomState::new() };
        empty.after("", map)
    }

    /// The keys without those of the entries that are `gone`, and with those that have `come`.
    pub fn after(&self, gone: &str, come: &str) -> Option<Self> {
        let mut keys = self.clone();
        for kind in &self.kinds {
            for (key, _) in map_entries(gone) {
                keys.hashes.remove(&self.hash(*kind, key)?);
            }
        }
        for kind in self.distinct_kinds() {
            for (key, _) in map_entries(come) {
                if keys.hashes.insert(self.hash(kind, key)?).is_some() {
                    return None;
                }
            }
        }
        Some(keys)
    }

    /// How many entries there are.
    pub fn entries(&self) -> usize {
        self.hashes.len() / self.distinct_kinds().len().max(1)
    }

    /// Whether these are the keys for comparisons of these kinds.
    pub fn are_for(&self, kinds: &[KeyMatch]) -> bool {
        self.kinds == kinds
    }

    /// The kinds that tell keys apart in different ways.
    fn distinct_kinds(&self) -> Vec<KeyMatch> {
        let mut kinds: Vec<KeyMatch> = self.kinds.iter().map(|kind| kind.by_text()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    fn hash(&self, kind: KeyMatch, key: &str) -> Option<u64> {
        Some(self.hasher.hash_one((kind.by_text(), canonical(kind, key)?)))
    }
}

impl KeyMatch {
    /// Prefixes differ when strings do.
    fn by_text(self) -> Self {
        if self == Self::Prefix { Self::Exact } else { self }
    }
}

/// What a key matches, so that equal ones match the same and others never do; `None` when that cannot be told.
fn canonical(kind: KeyMatch, key: &str) -> Option<Cow<'_, str>> {
    match kind {
        KeyMatch::Exact | KeyMatch::Prefix => Some(Cow::Borrowed(key)),
        KeyMatch::Number => key.parse::<i64>().ok().map(|number| Cow::Owned(number.to_string())),
        KeyMatch::Network => network(key).map(Cow::Owned),
        KeyMatch::First => None,
    }
}

/// `10.1.2.3/8` as `10.0.0.0/8`.
fn network(key: &str) -> Option<String> {
    let (address, length) =
        key.split_once('/').map_or((key, None), |(address, length)| (address, Some(length)));
    let length: Option<u32> = length.map(str::parse).transpose().ok()?;
    match address.parse().ok()? {
        IpAddr::V4(address) => {
            let length = length.unwrap_or(32);
            let mask = u32::MAX.checked_shl(32_u32.checked_sub(length)?).unwrap_or(0);
            Some(format!("4 {}/{length}", u32::from(address) & mask))
        }
        IpAddr::V6(address) => {
            let length = length.unwrap_or(128);
            let mask = u128::MAX.checked_shl(128_u32.checked_sub(length)?).unwrap_or(0);
            Some(format!("6 {}/{length}", u128::from(address) & mask))
        }
    }
}
