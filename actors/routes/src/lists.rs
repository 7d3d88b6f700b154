//! What stands in the list of a host: routes that no key finds, which HAProxy asks one after the other.
//!
//! A list is that of the namespace which has the host, and printed for one of its objects. Only requests for the host ask it,
//! so what it costs is its namespace's own; what it may cost is bounded all the same.

use crate::{
    matching::{Match, MatchShape},
    regex_cost::PatternCost,
};
use haptic_model::ObjectRef;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    sync::Arc,
};

/// So many routes stand in one list.
pub(super) const MOST: usize = 500;
/// So many steps all expressions of a list may take together: see [`PatternCost`].
const MOST_STEPS: f64 = 2e7;
/// So many bytes are in one entry of a map, and so many entries are a list.
const CHUNK: usize = 6_000;
const MOST_CHUNKS: usize = 5;

/// The hosts that have lists, and the objects with something in them.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists(BTreeMap<Arc<str>, BTreeSet<Arc<ObjectRef>>>);

impl Lists {
    pub fn enter(&mut self, host: &Arc<str>, object: &Arc<ObjectRef>) {
        self.0.entry(host.clone()).or_default().insert(object.clone());
    }

    pub fn leave(&mut self, host: &str, object: &ObjectRef) {
        if let Some(objects) = self.0.get_mut(host) {
            objects.remove(object);
            if objects.is_empty() {
                self.0.remove(host);
            }
        }
    }

    pub fn of(&self, host: &str) -> impl Iterator<Item = &Arc<ObjectRef>> {
        self.0.get(host).into_iter().flatten()
    }
}

/// One route of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListEntry<'e> {
    pub wanted: &'e Match,
    pub cost: Option<PatternCost>,
}

/// The routes of a host's list, the first to be asked first.
#[derive(Debug)]
pub(super) struct HostList<'l> {
    pub namespace: &'l str,
    pub entries: Vec<ListEntry<'l>>,
    /// How many more there would be.
    pub left_out: usize,
}

impl<'l> HostList<'l> {
    pub fn new(namespace: &'l str, mut all: Vec<ListEntry<'l>>) -> Self {
        all.sort_by_cached_key(|entry| entry.wanted.rank());
        Self::ordered(namespace, all)
    }

    /// Of routes that stand in their order already.
    pub fn ordered(namespace: &'l str, all: Vec<ListEntry<'l>>) -> Self {
        let (mut steps, mut chunks, mut size, asked) = (0.0, 1, 0, all.len());
        let entries: Vec<ListEntry<'l>> = all
            .into_iter()
            .filter(|entry| entry.text().len() <= CHUNK)
            .take(MOST)
            .take_while(|entry| {
                steps += entry.cost.map_or(0.0, |cost| cost.steps);
                size += entry.text().len();
                if size > CHUNK {
                    (chunks, size) = (chunks + 1, entry.text().len());
                }
                steps <= MOST_STEPS && chunks <= MOST_CHUNKS
            })
            .collect();
        Self { namespace, left_out: asked - entries.len(), entries }
    }

    /// As HAProxy's Lua reads it, in pieces for the entries of a map: the namespace, then the routes.
    pub fn chunks(&self) -> Vec<String> {
        let mut chunks = vec![String::new()];
        for entry in &self.entries {
            let text = entry.text();
            match chunks.last_mut() {
                Some(last) if last.len() + text.len() <= CHUNK => last.push_str(&text),
                _ => chunks.push(text),
            }
        }
        if let Some(first) = chunks.first_mut() {
            first.insert_str(0, &format!("{};", self.namespace));
        }
        chunks
    }
}

impl ListEntry<'_> {
    fn text(&self) -> String {
        let Match { shape, path, .. } = self.wanted;
        let (kind, pattern) = match shape {
            MatchShape::Exact => ("exact", String::new()),
            MatchShape::Prefix => ("prefix", String::new()),
            MatchShape::Beginning => ("beginning", String::new()),
            MatchShape::AnyCase => ("any-case", String::new()),
            MatchShape::Regex(pattern) => ("regex", encoded(pattern)),
        };
        let longest = self.cost.map_or(0, |cost| cost.longest_path);
        let conditions = self.wanted.conditions.as_ref().map(|all| all.text()).unwrap_or_default();
        format!("{},{kind},{longest},{},{pattern}{conditions};", self.wanted.number(), encoded(path))
    }
}

/// What delimits entries, and what a line of a map or of HAProxy's socket could read otherwise, as escapes.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        if byte.is_ascii_alphanumeric() || b"/._~-^()*+?[]{}:@=!$&".contains(&byte) {
            all.push(char::from(byte));
        } else {
            _ = write!(all, "%{byte:02X}");
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        conditions::{self, Of, RouteConditions},
        patterns,
    };

    #[test]
    fn a_list_is_in_order_and_bounded_and_has_no_blanks() {
        let patterns = ["/a[0-9]", "/api/[a-z]", "(?i)/Z.*", "/a[0-9][0-9]", "/x y;,%\\.(a|b)"];
        let read: Vec<_> = patterns.map(|text| patterns::read(text, None).unwrap()).into();
        let all: Vec<Match> = read.iter().map(|pattern| pattern.of("a.example")).collect();
        let entries =
            all.iter().zip(&read).map(|(wanted, pattern)| ListEntry { wanted, cost: pattern.cost }).collect();
        let list = HostList::new("shop", entries);
        let paths: Vec<&str> = list.entries.iter().map(|entry| &*entry.wanted.path).collect();
        assert_eq!(paths, ["/api/", "/x", "/a", "/a", "/"]);
        let text = list.chunks().concat();
        assert!(text.starts_with("shop;") && !text.contains([' ', '\\', '"', '\'', '#']), "{text}");
        assert_eq!(text.matches(';').count(), 6);
        let many = vec![ListEntry { wanted: &all[0], cost: None }; MOST + 3];
        let list = HostList::new("shop", many);
        assert_eq!((list.entries.len(), list.left_out), (MOST, 3));
        assert!(
            (2..=MOST_CHUNKS).contains(&list.chunks().len())
                && list.chunks().iter().all(|chunk| chunk.len() < 8_000)
        );
        let value = "%".repeat(250);
        let lines: String = (0..16).map(|number| format!("X-{number}: {value}\n")).collect();
        let headers = conditions::read(&lines, Of::Header, false).unwrap();
        let conditions = Some(Arc::new(RouteConditions { headers, ..RouteConditions::default() }));
        let long = Match { conditions, ..all[0].clone() };
        let list = HostList::new(
            "shop",
            vec![ListEntry { wanted: &long, cost: None }, ListEntry { wanted: &all[0], cost: None }],
        );
        assert_eq!((list.entries.len(), list.left_out), (1, 1));
        let dear = Some(PatternCost { longest_path: 1024, steps: 4e6 });
        let list = HostList::new("shop", vec![ListEntry { wanted: &all[0], cost: dear }; 8]);
        assert_eq!((list.entries.len(), list.left_out), (5, 3));
    }
}
