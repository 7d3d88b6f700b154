//! The list of a host: routes that no key finds, which HAProxy asks one after the other.
//!
//! A list is that of the namespace which has the host, and printed for one of its objects. Only requests for the host ask it,
//! so what it costs is its namespace's own; what it may cost is bounded all the same.

use super::{
    Match, MatchShape,
    conditions::{Condition, RouteConditions},
    regex_cost::{PatternCost, asked_of_values},
};
use haptic_model::{ObjectRef, map_entry};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    sync::Arc,
};

/// The most routes in one list.
pub(crate) const MOST: usize = 500;
/// The most steps that all expressions of a list take together: see [`PatternCost`].
const MOST_STEPS: f64 = 2e7;
/// Room for the key of an entry and the namespace before a list. The longest keys are of the Gateway API: a listener (the names of a Gateway, a
/// ListenerSet and a listener, with namespaces), a hostname and a number, some 1,200 bytes.
const KEY: usize = 1_391;
/// The most bytes in one entry of a map, so that HAProxy takes a list's change at run time, and the most entries of a list.
const CHUNK: usize = map_entry::LONGEST - KEY;
const MOST_CHUNKS: usize = 5;
/// The bytes that fit whatever their pieces are: two chunks that follow each other hold more than one can.
const SURE_BYTES: usize = CHUNK * (MOST_CHUNKS - 1) / 2;

/// The hosts that have lists, and the objects with something in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists(BTreeMap<Arc<str>, BTreeSet<Arc<ObjectRef>>>);

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
pub(crate) struct ListEntry<'e> {
    pub wanted: &'e Match,
    /// The namespace of a route of the Gateway API; nothing where the whole list is of one.
    pub owner: &'e str,
    pub cost: Option<PatternCost>,
}

/// The routes of a host's list, the first to be asked first.
#[derive(Debug)]
pub(crate) struct HostList<'l> {
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

    /// Of routes that stand in their order already, with the namespace of each. Where not all fit, each namespace has its part before others have
    /// more: who may attach routes to a hostname takes nothing from others there.
    pub fn shared(all: &[(&str, ListEntry<'l>)]) -> Self {
        let asked = all.len();
        let sized = all.iter().map(|(owner, entry)| (*owner, *entry, entry.size()));
        // What is too long for any list takes nothing from others.
        let all: Vec<SizedEntry<'_, 'l>> = sized.filter(|(_, _, (bytes, _))| *bytes <= CHUNK).collect();
        let owners: BTreeSet<&str> = all.iter().map(|(owner, ..)| *owner).collect();
        let whole = Self::ordered("", all.iter().map(|(_, entry, _)| *entry).collect());
        // The more they are, the likelier is it that pieces leave too much of their chunks empty.
        let rooms = (SURE_BYTES..=CHUNK * MOST_CHUNKS).rev().step_by(CHUNK / 2);
        let list = if whole.left_out == 0 || owners.len() < 2 {
            whole
        } else {
            let mut lists = rooms.map(|bytes| Self::parted(&all, &owners, bytes));
            lists.find(|list| list.left_out == 0).unwrap_or(whole)
        };
        Self { left_out: asked - list.entries.len(), ..list }
    }

    /// The same, of a number of bytes altogether.
    fn parted(all: &[SizedEntry<'_, 'l>], owners: &BTreeSet<&str>, bytes: usize) -> Self {
        let mut room = ListRoom { entries: MOST, bytes, steps: MOST_STEPS };
        let part = room.part(owners.len());
        let mut rooms: BTreeMap<&str, ListRoom> = owners.iter().map(|owner| (*owner, part)).collect();
        let mut kept: Vec<bool> = all
            .iter()
            .map(|(owner, _, size)| {
                rooms.get_mut(owner).is_some_and(|own| own.take(*size)) && room.take(*size)
            })
            .collect();
        for (is_kept, (_, _, size)) in kept.iter_mut().zip(all) {
            *is_kept = *is_kept || room.take(*size);
        }
        let entries = all.iter().zip(&kept).filter(|(_, is_kept)| **is_kept).map(|((_, entry, _), _)| *entry);
        Self::ordered("", entries.collect())
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

/// The namespace of a route, the route, its bytes and steps.
type SizedEntry<'o, 'l> = (&'o str, ListEntry<'l>, (usize, f64));

/// The room that is left in a list.
#[derive(Clone, Copy, Debug)]
struct ListRoom {
    entries: usize,
    bytes: usize,
    steps: f64,
}

impl ListRoom {
    /// The share of each of `of`.
    fn part(self, of: usize) -> Self {
        let parts = of.max(1);
        let steps = self.steps / f64::from(u32::try_from(parts).unwrap_or(u32::MAX));
        Self { entries: self.entries / parts, bytes: self.bytes / parts, steps }
    }

    /// Whether there was room for an entry of this size.
    fn take(&mut self, (bytes, steps): (usize, f64)) -> bool {
        let fits = self.entries > 0 && bytes <= self.bytes && steps <= self.steps;
        if fits {
            self.entries -= 1;
            self.bytes -= bytes;
            self.steps -= steps;
        }
        fits
    }
}

impl ListEntry<'_> {
    /// Bytes and steps.
    pub fn size(&self) -> (usize, f64) {
        (self.text().len(), self.cost.map_or(0.0, |cost| cost.steps))
    }

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
        let conditions = self.wanted.conditions.as_deref().map(text_of).unwrap_or_default();
        let owner = if self.owner.is_empty() { String::new() } else { format!(":{}", self.owner) };
        format!("{},{kind},{longest}{owner},{},{pattern}{conditions};", self.wanted.number(), encoded(path))
    }
}

/// The other conditions of a request, each behind a comma.
fn text_of(RouteConditions { methods, headers, query }: &RouteConditions) -> String {
    let mut all = String::new();
    if !methods.is_empty() {
        all = format!(",method|{}", methods.join("|"));
    }
    for (kind, conditions) in [("header", headers), ("query", query)] {
        for Condition { name, value, longest } in conditions {
            let (value, longest) = match longest {
                Some(longest) => (encoded(&asked_of_values(value)), format!("|{longest}")),
                None => (encoded(value), String::new()),
            };
            all += &format!(",{kind}|{}|{value}{longest}", encoded(name));
        }
    }
    all
}

/// A text without the characters that delimit entries, or that a line of a map or of HAProxy's socket could read otherwise, as escapes.
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
    use crate::matching::{
        conditions::{self, Of},
        patterns,
    };

    #[test]
    fn a_list_is_in_order_and_bounded_and_has_no_blanks() {
        let patterns = ["/a[0-9]", "/api/[a-z]", "(?i)/Z.*", "/a[0-9][0-9]", "/x y;,%\\.(a|b)"];
        let read: Vec<_> = patterns.map(|text| patterns::read(text, None).unwrap()).into();
        let all: Vec<Match> = read.iter().map(|pattern| pattern.of("a.example")).collect();
        let entries = all
            .iter()
            .zip(&read)
            .map(|(wanted, pattern)| ListEntry { wanted, owner: "", cost: pattern.cost })
            .collect();
        let list = HostList::new("shop", entries);
        let paths: Vec<&str> = list.entries.iter().map(|entry| &*entry.wanted.path).collect();
        assert_eq!(paths, ["/api/", "/x", "/a", "/a", "/"]);
        let text = list.chunks().concat();
        assert!(text.starts_with("shop;") && !text.contains([' ', '\\', '"', '\'', '#']), "{text}");
        assert_eq!(text.matches(';').count(), 6);
        let many = vec![ListEntry { wanted: &all[0], owner: "", cost: None }; MOST + 3];
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
            vec![
                ListEntry { wanted: &long, owner: "", cost: None },
                ListEntry { wanted: &all[0], owner: "", cost: None },
            ],
        );
        assert_eq!((list.entries.len(), list.left_out), (1, 1));
        let dear = Some(PatternCost { longest_path: 1024, steps: 4e6 });
        let list = HostList::new("shop", vec![ListEntry { wanted: &all[0], owner: "", cost: dear }; 8]);
        assert_eq!((list.entries.len(), list.left_out), (5, 3));
    }

    #[test]
    fn where_not_all_fit_a_namespace_takes_nothing_from_another() {
        let read = |text: &str| patterns::read(text, None).unwrap();
        let (greedy, modest) = (read("/api/[a-z]").of(""), read("/a[0-9]").of(""));
        let cheap = Some(PatternCost { longest_path: 1024, steps: 1.0 });
        let dear = Some(PatternCost { longest_path: 1024, steps: 4e6 });
        let last = ("shop", ListEntry { wanted: &modest, owner: "", cost: cheap });
        for (cost, number) in [(dear, 8), (cheap, MOST + 3), (cheap, 10 * MOST)] {
            let mut all = vec![("blog", ListEntry { wanted: &greedy, owner: "", cost }); number];
            all.push(last);
            let list = HostList::shared(&all);
            assert!(list.entries.last().is_some_and(|entry| *entry.wanted == modest), "{number}");
            assert_eq!(list.left_out, all.len() - list.entries.len());
            assert!(list.entries.len() > 2 && list.chunks().len() <= MOST_CHUNKS);
        }
        let with = |number: usize| {
            let value = "%".repeat(250);
            let lines: String = (0..number).map(|number| format!("X-{number}: {value}\n")).collect();
            let headers = conditions::read(&lines, Of::Header, false).unwrap();
            let conditions = Some(Arc::new(RouteConditions { headers, ..RouteConditions::default() }));
            Match { conditions, ..modest.clone() }
        };
        let (large, too_long) = (with(2), with(16));
        let of = |wanted| ListEntry { wanted, owner: "", cost: None };
        let mut all = vec![("shop", of(&large)); 12];
        all.push(("blog", of(&too_long)));
        let list = HostList::shared(&all);
        assert_eq!(
            (list.entries.len(), list.left_out),
            (12, 1),
            "what no list has takes nothing from others"
        );
        all.extend(vec![("blog", of(&large)); 8]);
        let list = HostList::shared(&all);
        assert!(list.entries.len() > 12 && list.chunks().len() <= MOST_CHUNKS, "{}", list.entries.len());
        let list = HostList::shared(&[("blog", ListEntry { wanted: &greedy, owner: "", cost: dear }); 8]);
        assert_eq!((list.entries.len(), list.left_out), (5, 3));
    }

    #[test]
    fn conditions_have_nothing_that_a_list_is_split_at() {
        let conditions = RouteConditions {
            methods: vec!["GET".into(), "PUT".into()],
            headers: conditions::read("X-A: a|b,c;", Of::Header, true).unwrap(),
            query: conditions::read("q= ", Of::Query, false).unwrap(),
        };
        let longest = conditions.headers[0].longest.unwrap();
        assert_eq!(
            text_of(&conditions),
            format!(",method|GET|PUT,header|x-a|a%7Cb%2Cc%3B|{longest},query|q|")
        );
    }
}
