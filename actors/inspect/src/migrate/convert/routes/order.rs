//! Whether a Gateway asks the paths of a host in the order in which Ingresses have them asked.
//!
//! It asks longer paths first, and does not see how long one is that ignores case: that is an expression for it, like all others of the
//! kind. So paths that such a one has something in common with may go before it, or behind.

use super::{matches::MatchRank, paths::within};
use haptic_routes::{
    matching::{Match, MatchShape},
    patterns,
};
use std::collections::HashMap;

/// A path of a host, as far as its order counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AskedPath {
    /// As it is written.
    pub path: String,
    /// What all paths begin with that it takes, in small letters.
    beginning: String,
    form: AskedForm,
    /// What its matches ask for that ask for least, and most.
    least: MatchRank,
    most: MatchRank,
    /// The headers that those with more of them ask for.
    variants: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskedForm {
    /// It is asked before all others, and by all.
    Whole,
    Elements,
    Characters,
    /// Without regard to case; an Ingress knows its length.
    AnyCase,
    /// An expression without regard to case, of which an Ingress does not know it, either.
    AnyCasePattern,
}

impl AskedPath {
    /// Of a path that takes these requests. `least`: what all of its matches ask for; `headers`: what some of them ask for in addition.
    pub fn new(path: &str, wanted: &Match, least: MatchRank, headers: String) -> Self {
        let (form, beginning) = match &wanted.shape {
            MatchShape::Exact => (AskedForm::Whole, wanted.path.to_string()),
            MatchShape::Prefix => (AskedForm::Elements, wanted.path.to_string()),
            MatchShape::Beginning => (AskedForm::Characters, wanted.path.to_string()),
            MatchShape::AnyCase => (AskedForm::AnyCase, wanted.path.to_string()),
            MatchShape::Regex(text) => match within(text) {
                ("", _) => (AskedForm::Characters, wanted.path.to_string()),
                (_, inner) => (AskedForm::AnyCasePattern, patterns::beginning(inner)),
            },
        };
        let (method, of_headers, query) = least;
        let most = if headers.is_empty() { least } else { (method, of_headers + 1, query) };
        let (path, beginning) = (path.to_owned(), beginning.to_ascii_lowercase());
        Self { path, beginning, form, least, most, variants: headers }
    }

    fn ignores_case(&self) -> bool {
        matches!(self.form, AskedForm::AnyCase | AskedForm::AnyCasePattern)
    }

    /// Whether every request that a match of the other one takes by its headers is one for a match with the same headers here.
    fn asks_like(&self, other: &Self) -> bool {
        self.least == other.least && self.variants == other.variants
    }
}

/// A path of an Ingress, by its number.
pub(super) type PathOfIngress<'p> = (usize, &'p AskedPath);

/// Two paths that a Gateway would ask in another order. `all`: of each Ingress in the order in which they are to be asked.
pub(super) fn conflict<'p>(all: &[PathOfIngress<'p>]) -> Option<(PathOfIngress<'p>, PathOfIngress<'p>)> {
    if !all.iter().any(|(_, path)| path.ignores_case()) {
        return None;
    }
    let longer = LongerPaths::of(all);
    let mut behind = PathsBehind::default();
    for one in all.iter().rev().filter(|(_, path)| path.ignores_case()) {
        if let Some(other) = longer.before(one.1).or_else(|| behind.before(*one)) {
            return Some((*one, other));
        }
        behind.add(*one);
    }
    None
}

fn beginnings(path: &AskedPath) -> impl Iterator<Item = &[u8]> {
    let bytes = path.beginning.as_bytes();
    (0..=bytes.len()).filter_map(|end| bytes.get(..end))
}

/// Paths that a Gateway asks before all that ignore case, by what they begin with.
struct LongerPaths<'p> {
    elements: HashMap<&'p [u8], PathOfIngress<'p>>,
    characters: HashMap<&'p [u8], PathOfIngress<'p>>,
}

impl<'p> LongerPaths<'p> {
    fn of(all: &[PathOfIngress<'p>]) -> Self {
        let of = |form: AskedForm| {
            let is_one = |(_, path): &&PathOfIngress<'p>| path.form == form && !path.beginning.is_empty();
            all.iter().filter(is_one).map(|one| (one.1.beginning.as_bytes(), *one)).collect()
        };
        Self { elements: of(AskedForm::Elements), characters: of(AskedForm::Characters) }
    }

    /// One that is shorter, so that an Ingress has it asked behind.
    fn before(&self, path: &AskedPath) -> Option<PathOfIngress<'p>> {
        if path.form != AskedForm::AnyCase {
            return None;
        }
        let whole = path.beginning.as_bytes();
        let mut shorter = beginnings(path).filter(|start| start.len() < whole.len());
        shorter.find_map(|start| {
            let by_elements = self.elements.get(start).filter(|_| whole.get(start.len()) == Some(&b'/'));
            by_elements.or_else(|| self.characters.get(start)).copied()
        })
    }
}

/// Paths that ignore case and are to be asked behind those that come, by what they begin with.
#[derive(Default)]
struct PathsBehind<'p> {
    /// Those that begin so, and no longer.
    whole: HashMap<&'p [u8], FirstPaths<'p>>,
    /// Those that begin so.
    below: HashMap<&'p [u8], FirstPaths<'p>>,
}

impl<'p> PathsBehind<'p> {
    fn add(&mut self, one: PathOfIngress<'p>) {
        self.whole.entry(one.1.beginning.as_bytes()).or_default().add(one);
        for start in beginnings(one.1) {
            self.below.entry(start).or_default().add(one);
        }
    }

    /// One that may take the same requests, and that a Gateway may ask before this one.
    fn before(&self, one: PathOfIngress<'p>) -> Option<PathOfIngress<'p>> {
        let above = beginnings(one.1).filter_map(|start| self.whole.get(start));
        let below = self.below.get(one.1.beginning.as_bytes());
        above.chain(below).find_map(|all| all.before(one))
    }
}

/// Of paths those that matter.
#[derive(Default)]
struct FirstPaths<'p> {
    /// One of each of two Ingresses.
    of_ingresses: [Option<PathOfIngress<'p>>; 2],
    /// That with the match that asks for most, and of those that ask otherwise the same.
    asking: [Option<PathOfIngress<'p>>; 2],
}

impl<'p> FirstPaths<'p> {
    fn add(&mut self, one: PathOfIngress<'p>) {
        match &mut self.of_ingresses {
            [first @ None, _] => *first = Some(one),
            [Some(first), second @ None] if first.0 != one.0 => *second = Some(one),
            _ => {}
        }
        let [first, second] = &mut self.asking;
        let is_more = |known: &Option<PathOfIngress<'p>>| known.is_none_or(|known| one.1.most > known.1.most);
        if is_more(first) {
            if let Some(before) = first.replace(one).filter(|before| !before.1.asks_like(one.1)) {
                *second = Some(before);
            }
        } else if first.is_some_and(|first| !first.1.asks_like(one.1)) && is_more(second) {
            *second = Some(one);
        }
    }

    fn before(&self, one: PathOfIngress<'p>) -> Option<PathOfIngress<'p>> {
        // Which of two routes is asked first has nothing to do with paths of the same length.
        let other = self.of_ingresses.iter().flatten().find(|other| other.0 != one.0);
        let is_asked_first =
            |other: &&PathOfIngress<'p>| other.1.most > one.1.least && !other.1.asks_like(one.1);
        other.or_else(|| self.asking.iter().flatten().find(is_asked_first)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(path: &str, kind: &str, headers: &str) -> AskedPath {
        let wanted = match kind {
            "Exact" => Match::exact("", path),
            "Prefix" => Match::prefix("", path),
            "any" => Match::beginning("", path, true),
            _ => patterns::read(&format!("(?i){path}"), None).unwrap().of(""),
        };
        AskedPath::new(path, &wanted, (false, 0, 0), headers.to_owned())
    }

    /// Whether there is a conflict between paths of Ingresses.
    fn has_conflict(all: &[(usize, &str, &str, &str)]) -> bool {
        let all: Vec<(usize, AskedPath)> =
            all.iter().map(|(number, path, kind, headers)| (*number, asked(path, kind, headers))).collect();
        conflict(&all.iter().map(|(number, path)| (*number, path)).collect::<Vec<_>>()).is_some()
    }

    #[test]
    fn expressions_of_two_ingresses_have_no_order() {
        assert!(has_conflict(&[(0, "/", "regex", ""), (1, "/api", "regex", "")]));
        assert!(has_conflict(&[(0, "/api", "regex", ""), (1, "/", "regex", "")]));
        assert!(has_conflict(&[(0, "/[a-z]+", "regex", ""), (1, "/API", "regex", "")]));
        assert!(!has_conflict(&[(0, "/x", "regex", ""), (1, "/y", "regex", "")]));
        assert!(!has_conflict(&[(0, "/api", "regex", ""), (0, "/", "regex", "")]));
        assert!(!has_conflict(&[(0, "/", "Prefix", ""), (1, "/api", "Prefix", "")]));
    }

    #[test]
    fn a_header_comes_before_a_longer_expression() {
        assert!(has_conflict(&[(0, "/api", "regex", ""), (0, "/", "regex", "X-A")]));
        assert!(has_conflict(&[(0, "/api/[0-9]+", "regex", ""), (0, "/api/v1", "regex", "X-A")]));
        assert!(!has_conflict(&[(0, "/api", "regex", "X-A"), (0, "/", "regex", "")]));
        assert!(!has_conflict(&[(0, "/api", "regex", "X-A"), (0, "/", "regex", "X-A")]));
        assert!(has_conflict(&[(0, "/api", "regex", "X-B"), (0, "/", "regex", "X-A")]));
        assert!(!has_conflict(&[(0, "/api", "regex", ""), (0, "/x", "regex", "X-A")]));
        let several = [(0, "/api", "regex", "X-A"), (0, "/ap", "regex", "X-B"), (0, "/a", "regex", "X-A")];
        assert!(has_conflict(&several));
    }

    #[test]
    fn what_has_a_length_comes_before_what_ignores_case() {
        assert!(has_conflict(&[(0, "/app/x", "any", ""), (0, "/app", "Prefix", "")]));
        assert!(has_conflict(&[(0, "/app/x", "any", ""), (1, "/App", "Prefix", "")]));
        assert!(!has_conflict(&[(0, "/apple", "any", ""), (0, "/app", "Prefix", "")]));
        assert!(!has_conflict(&[(0, "/app", "any", ""), (0, "/app/x", "Prefix", "")]));
        assert!(!has_conflict(&[(0, "/app/x", "any", ""), (0, "/", "Prefix", "")]));
        assert!(!has_conflict(&[(0, "/app/x", "any", ""), (0, "/app", "Exact", "")]));
    }
}
