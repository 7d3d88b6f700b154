//! The words HAProxy knows, for each version, section and place on a line.
//!
//! The tables are data, written by `keywords/generate.py` from the binaries of Debian's packages:
//!
//! ```text
//! for v in 3.0 3.2 3.4; do python3 keywords/generate.py \
//!     haproxy-$v/usr/sbin/haproxy haproxy-$v/usr/share/doc/haproxy/configuration.txt.gz > keywords/$v.txt; done
//! ```
//!
//! It starts from `haproxy -dKall -q -c -f /dev/null` and asks the binary about each further candidate, because the
//! dump has only what is registered by name. A word that is missing in a table is one that HAProxy itself refuses.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::OnceLock;

use haptic_model::HaproxyVersion;

/// What one version of HAProxy knows.
#[derive(Debug)]
pub struct Keywords {
    /// The version the tables were taken from.
    pub version: HaproxyVersion,
    tables: HashMap<&'static str, KeywordTable>,
    /// By section, and by what stands before: words of `listen` that the section does not take.
    lacks: HashMap<&'static str, HashMap<&'static str, KeywordTable>>,
}

/// The words that may stand at one place.
#[derive(Debug, Default)]
pub struct KeywordTable {
    exact: HashSet<&'static str, BuildHasherDefault<Fnv>>,
    /// Words that take any continuation, such as `set-var` of `set-var(txn.x)`.
    prefixes: Vec<&'static str>,
    /// The least and the most arguments of those functions that take any.
    arities: HashMap<&'static str, (usize, usize), BuildHasherDefault<Fnv>>,
}

/// FNV-1a. The words are our own and short, so a hash that withstands an adversary would be wasted on them.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

const SOURCES: [(HaproxyVersion, &str); 3] = [
    (HaproxyVersion::new(3, 0), include_str!("../keywords/3.0.txt")),
    (HaproxyVersion::new(3, 2), include_str!("../keywords/3.2.txt")),
    (HaproxyVersion::new(3, 4), include_str!("../keywords/3.4.txt")),
];

/// All tables, oldest version first.
pub fn all() -> &'static [Keywords] {
    static TABLES: OnceLock<Vec<Keywords>> = OnceLock::new();
    TABLES.get_or_init(|| SOURCES.iter().map(|(version, text)| Keywords::read(*version, text)).collect())
}

/// The table of the version, or of the nearest one: the newest that is not newer, else the oldest. `None` never
/// happens while there is a table at all.
pub fn nearest(version: HaproxyVersion) -> Option<&'static Keywords> {
    all().iter().rev().find(|table| table.version <= version).or_else(|| all().first())
}

impl Keywords {
    fn read(version: HaproxyVersion, text: &'static str) -> Self {
        let mut tables: HashMap<&'static str, KeywordTable> = HashMap::new();
        let mut lacks: HashMap<&'static str, HashMap<&'static str, KeywordTable>> = HashMap::new();
        let mut name = "";
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(heading) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                name = heading;
                continue;
            }
            let table = match name.split_once(" lacks") {
                Some((section, before)) => {
                    lacks.entry(section).or_default().entry(before.trim_start()).or_default()
                }
                None => tables.entry(name).or_default(),
            };
            line.split_whitespace().for_each(|word| table.add(word));
        }
        for section in PROXIES {
            let lacking = lacks.get(section).and_then(|places| places.get(""));
            let taken = tables.get("listen").map(|all| all.without(lacking));
            tables.extend(taken.map(|table| (section, table)));
        }
        Self { version, tables, lacks }
    }

    /// The words of a place: `sections`, a section (`backend`), or a place on its lines (`listen option`,
    /// `listen http-request`). `None` when this version has no such section or the place is open to any word.
    pub fn table(&self, place: &str) -> Option<&KeywordTable> {
        self.tables.get(place)
    }

    /// For each place on the lines of a section (`option`), the words that a `listen` section takes there and this
    /// section does not. `unnamed defaults` is a section, too.
    pub fn lacks(&self, section: &str) -> Option<&HashMap<&'static str, KeywordTable>> {
        self.lacks.get(section)
    }
}

/// The sections that share the keywords of `listen`, and do not take all of them.
const PROXIES: [&str; 4] = ["frontend", "backend", "defaults", UNNAMED_DEFAULTS];

/// A `defaults` section without a name, which takes no rules.
pub(crate) const UNNAMED_DEFAULTS: &str = "unnamed defaults";

/// The name that is nearest to a misspelled one, in whatever letters, when one is near enough to be meant.
pub(crate) fn nearest_name<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let (limit, lower) = (1 + name.len() / 4, name.to_ascii_lowercase());
    known
        .filter(|known| known.len().abs_diff(name.len()) <= limit)
        .filter_map(|known| Some((distance(&lower, &known.to_ascii_lowercase(), limit)?, known)))
        .min()
        .map(|(_, known)| known)
}

impl KeywordTable {
    fn add(&mut self, word: &'static str) {
        let (word, arity) = word.split_once('/').unwrap_or((word, ""));
        if let Some((least, most)) = arity.split_once('-') {
            self.arities.extend(least.parse().ok().zip(most.parse().ok()).map(|arity| (word, arity)));
        }
        match word.strip_suffix('*') {
            Some(prefix) => self.prefixes.push(prefix),
            None => _ = self.exact.insert(word),
        }
    }

    fn without(&self, other: Option<&Self>) -> Self {
        let is_kept = |word: &&&str| other.is_none_or(|other| !other.exact.contains(**word));
        Self {
            exact: self.exact.iter().filter(is_kept).copied().collect(),
            prefixes: self.prefixes.clone(),
            arities: HashMap::default(),
        }
    }

    /// The least and the most arguments of a function.
    pub fn arity(&self, function: &str) -> (usize, usize) {
        self.arities.get(function).copied().unwrap_or_default()
    }

    /// Whether HAProxy knows the word at this place. Arguments in parentheses belong to the word: `random(2)`.
    pub fn contains(&self, word: &str) -> bool {
        if self.exact.contains(word) {
            return true;
        }
        let stem = word.split_once('(').map(|(stem, _)| stem);
        stem.is_some_and(|stem| self.exact.contains(stem))
            || self.prefixes.iter().any(|prefix| word.starts_with(prefix))
    }

    /// The known word that is nearest to a misspelled one, when one is near enough to be meant.
    pub fn nearest(&self, word: &str) -> Option<&'static str> {
        self.nearest_by(word).map(|(_, known)| known)
    }

    /// The same with how far it is away.
    pub(crate) fn nearest_by(&self, word: &str) -> Option<(usize, &'static str)> {
        let word = word.split('(').next().unwrap_or(word);
        let limit = 1 + word.len() / 4;
        let candidates = self.exact.iter().chain(&self.prefixes);
        candidates.filter_map(|known| Some((distance(word, known, limit)?, *known))).min()
    }
}

/// Edit distance with swapped neighbours counted as one edit; `None` when it is more than `limit`.
fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut previous_a = None;
    for (row, byte_a) in a.bytes().enumerate() {
        let mut current = vec![row + 1];
        let mut previous_b = None;
        for (column, byte_b) in b.bytes().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut best = (cell(&last, column + 1) + 1)
                .min(cell(&current, column) + 1)
                .min(cell(&last, column) + usize::from(byte_a != byte_b));
            if column > 0 && previous_a == Some(byte_b) && previous_b == Some(byte_a) {
                best = best.min(cell(&before, column - 1) + 1);
            }
            current.push(best);
            previous_b = Some(byte_b);
        }
        previous_a = Some(byte_a);
        before = std::mem::replace(&mut last, current);
    }
    last.last().copied().filter(|&found| found <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_table_is_the_newest_that_is_not_newer() {
        for (asked, expected) in
            [("2.8", "3.0"), ("3.0", "3.0"), ("3.1", "3.0"), ("3.3.1", "3.2"), ("3.4", "3.4"), ("4.0", "3.4")]
        {
            let version = asked.parse().unwrap();
            assert_eq!(nearest(version).unwrap().version.to_string(), expected, "{asked}");
        }
    }

    #[test]
    fn the_tables_reach_from_the_oldest_version_to_the_newest() {
        let reach = [all().first(), all().last()].map(|table| table.unwrap().version);
        assert_eq!(reach, [HaproxyVersion::OLDEST, HaproxyVersion::NEWEST]);
    }

    #[test]
    fn misspelled_words_find_their_neighbour() {
        let table = nearest(HaproxyVersion::new(3, 4)).unwrap().table("listen").unwrap();
        for (word, expected) in [
            ("blance", Some("balance")),
            ("http-reqeust", Some("http-request")),
            ("use-backend", Some("use_backend")),
            ("servre", Some("server")),
            ("completely-different", None),
        ] {
            assert_eq!(table.nearest(word), expected, "{word}");
        }
    }

    #[test]
    fn every_version_has_the_tables_that_the_check_relies_on() {
        for keywords in all() {
            for place in [
                "sections",
                "global",
                "listen",
                "resolvers",
                "listen option",
                "listen http-request",
                "listen server",
                "server values",
            ] {
                assert!(
                    keywords.table(place).is_some_and(|t| !t.exact.is_empty()),
                    "{} {place}",
                    keywords.version
                );
            }
        }
    }
}
