//! Matches the sections of two documents and compares those whose text differs.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::lines::what_changed;
use super::{ConfigChange, SectionChange};
use crate::document::{Document, Line, Section, SectionKind};
use crate::views::{BackendServer, servers};

/// Kind, name, and how many sections of that kind and name came before.
type SectionKey<'s> = (&'s SectionKind, &'s str, usize);

/// One of the two documents with what is needed to find its sections.
struct DocumentSide<'s, 'd> {
    document: &'s Document<'d>,
    keys: Vec<SectionKey<'s>>,
    positions: HashMap<SectionKey<'s>, usize>,
    inheritance: Vec<Option<usize>>,
}

pub(super) struct SectionComparison<'s, 'o, 'n> {
    old: DocumentSide<'s, 'o>,
    new: DocumentSide<'s, 'n>,
}

impl<'s, 'd> DocumentSide<'s, 'd> {
    fn new(document: &'s Document<'d>) -> Self {
        let mut seen: HashMap<(&SectionKind, &str), usize> = HashMap::with_capacity(document.sections.len());
        let mut keys = Vec::with_capacity(document.sections.len());
        for section in &document.sections {
            let count = seen.entry((&section.kind, section.name.as_ref())).or_default();
            keys.push((&section.kind, section.name.as_ref(), *count));
            *count += 1;
        }
        let positions = keys.iter().enumerate().map(|(position, key)| (*key, position)).collect();
        Self { document, keys, positions, inheritance: document.inheritance() }
    }

    fn section(&self, position: usize) -> Option<&'s Section<'d>> {
        self.document.sections.get(position)
    }

    /// The key of the defaults section that a section starts from.
    fn parent(&self, position: usize) -> Option<SectionKey<'s>> {
        self.inheritance.get(position).copied().flatten().and_then(|parent| self.keys.get(parent).copied())
    }

    fn has_global_first(&self) -> bool {
        let sections = &self.document.sections;
        let last = sections.iter().rposition(|section| section.kind == SectionKind::Global);
        let is_other = |section: &Section<'_>| section.kind != SectionKind::Global && !is_blank(section);
        last.zip(sections.iter().position(is_other)).is_none_or(|(last, other)| last < other)
    }

    /// For each other section that is in both documents, how many `global` sections come before it.
    fn globals_before(&self, other: &DocumentSide<'_, '_>) -> HashMap<SectionKey<'s>, usize> {
        let mut globals = 0;
        let mut counts = HashMap::new();
        for key in self.keys.iter().filter(|key| other.positions.contains_key(*key)) {
            if *key.0 == SectionKind::Global {
                globals += 1;
            } else {
                counts.insert(*key, globals);
            }
        }
        counts
    }

    fn servers(&self, position: usize) -> Vec<BackendServer> {
        servers(self.document, &self.inheritance, position)
    }
}

impl<'s, 'o, 'n> SectionComparison<'s, 'o, 'n> {
    pub(super) fn new(old: &'s Document<'o>, new: &'s Document<'n>) -> Self {
        Self { old: DocumentSide::new(old), new: DocumentSide::new(new) }
    }

    pub(super) fn changes(&self) -> Vec<ConfigChange> {
        let mut changes = Vec::new();
        for (position, key) in self.new.keys.iter().enumerate() {
            match self.old.positions.get(key) {
                Some(before) => changes.extend(self.section(*before, position)),
                None if self.new.section(position).is_some_and(is_blank) => {}
                None => changes.push(ConfigChange::SectionAdded {
                    kind: key.0.clone(),
                    name: key.1.to_owned(),
                    position,
                }),
            }
        }
        let gone = self.old.keys.iter().enumerate().filter(|(_, key)| !self.new.positions.contains_key(*key));
        for (position, key) in gone {
            if !self.old.section(position).is_some_and(is_blank) {
                changes.push(ConfigChange::SectionRemoved { kind: key.0.clone(), name: key.1.to_owned() });
            }
        }
        changes.extend(self.reordered());
        changes.extend(self.global_moved());
        changes
    }

    /// A `global` section whose lines come into force before or after other sections than before: directories of
    /// certificates, environment variables.
    fn global_moved(&self) -> Option<ConfigChange> {
        if [&self.old, &self.new].iter().all(|side| side.has_global_first()) {
            return None;
        }
        let what = SectionChange::Position;
        let moved = self.old.globals_before(&self.new) != self.new.globals_before(&self.old);
        moved.then(|| ConfigChange::Section { kind: SectionKind::Global, name: String::new(), what })
    }

    fn section(&self, before: usize, after: usize) -> Option<ConfigChange> {
        let (old, new) = (self.old.section(before)?, self.new.section(after)?);
        let change = |what: SectionChange| {
            Some(ConfigChange::Section { kind: new.kind.clone(), name: new.name.to_string(), what })
        };
        if self.old.parent(before) != self.new.parent(after) {
            return change(SectionChange::Parent);
        }
        if old.raw == new.raw {
            return None;
        }
        let treat_servers_apart = new.kind.has_backend() && !has_conditions(old) && !has_conditions(new);
        let rest = |line: &&Line<'_>| !(treat_servers_apart && line.keyword() == "server");
        let (rest_old, rest_new): (Vec<_>, Vec<_>) =
            (old.all_lines().filter(rest).collect(), new.all_lines().filter(rest).collect());
        if let Some(lines) = what_changed(&rest_old, &rest_new) {
            return change(SectionChange::Lines(lines));
        }
        if !treat_servers_apart {
            return None;
        }
        let (old_servers, new_servers) = (self.old.servers(before), self.new.servers(after));
        if has_two_of_a_name(&old_servers) || has_two_of_a_name(&new_servers) {
            let (old, new): (Vec<_>, Vec<_>) = (old.all_lines().collect(), new.all_lines().collect());
            what_changed(&old, &new)?;
            return change(SectionChange::OneServerName);
        }
        if count_server_lines(old) != old_servers.len() || count_server_lines(new) != new_servers.len() {
            return change(SectionChange::NoServerAddress);
        }
        let reordered = in_another_order(&places_of_servers(old), &places_of_servers(new));
        servers_changed(&new.name, old_servers, new_servers, reordered)
    }

    /// Frontends and listens that are in both documents, in different orders.
    fn reordered(&self) -> Option<ConfigChange> {
        let shared =
            |side: &[SectionKey<'s>], other: &HashMap<SectionKey<'s>, usize>| -> Vec<SectionKey<'s>> {
                side.iter().filter(|key| key.0.has_frontend() && other.contains_key(*key)).copied().collect()
            };
        let same = shared(&self.old.keys, &self.new.positions) == shared(&self.new.keys, &self.old.positions);
        (!same).then(|| ConfigChange::Reordered {
            what: "frontends and listens stand in another order".to_owned(),
        })
    }
}

/// Lines before the first header that HAProxy ignores.
fn is_blank(section: &Section<'_>) -> bool {
    section.header.is_none() && section.lines.iter().all(|line| line.words.is_empty())
}

/// `.if` blocks: which lines count is not known here, so their place in the section matters.
fn has_conditions(section: &Section<'_>) -> bool {
    section.all_lines().any(|line| line.conditional || line.directive().is_some())
}

fn has_two_of_a_name(servers: &[BackendServer]) -> bool {
    let mut names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}

fn count_server_lines(section: &Section<'_>) -> usize {
    section.lines.iter().filter(|line| line.keyword() == "server").count()
}

fn servers_changed(
    backend: &str,
    old: Vec<BackendServer>,
    new: Vec<BackendServer>,
    reordered: bool,
) -> Option<ConfigChange> {
    let mut before: HashMap<String, BackendServer> =
        old.iter().map(|server| (server.name.clone(), server.clone())).collect();
    let (mut added, mut modified) = (Vec::new(), Vec::new());
    for server in new {
        match before.remove(&server.name) {
            Some(known) if known.same_as(&server) => {}
            Some(known) => modified.push((known, server)),
            None => added.push(server),
        }
    }
    let removed: Vec<BackendServer> =
        old.into_iter().filter(|server| before.contains_key(&server.name)).collect();
    if added.is_empty() && removed.is_empty() && modified.is_empty() && !reordered {
        return None;
    }
    Some(ConfigChange::Servers { backend: backend.to_owned(), added, removed, modified, reordered })
}

/// The servers and templates of a section by their names, in the order in which HAProxy numbers them.
fn places_of_servers<'s>(section: &'s Section<'_>) -> Vec<(&'s str, &'s str)> {
    let numbered = section.lines.iter().filter(|line| matches!(line.keyword(), "server" | "server-template"));
    numbered.map(|line| (line.keyword(), line.value(1))).collect()
}

/// Whether what is in both stands in another order.
fn in_another_order<T: Eq + Hash + Copy>(old: &[T], new: &[T]) -> bool {
    if old == new {
        return false;
    }
    let shared = |of: &[T], with: &[T]| -> Vec<T> {
        let with: HashSet<T> = with.iter().copied().collect();
        of.iter().filter(|place| with.contains(place)).copied().collect()
    };
    shared(old, new) != shared(new, old)
}
