//! Counts of what blocks say that other blocks must agree with: names given, and names used.

use super::{
    conditions, directives,
    disabled::is_disabled,
    final_newline,
    keywords::{self, loads_lua},
    names::{self, is_certain, is_conditional},
    references::{
        backends_needed, files_needed, is_there_somehow, resolves_userlists, userlists_needed, varies,
    },
    too_many_words,
};
use crate::{
    document::{Document, Section, SectionKind},
    keywords::nearest,
    problem::Problem,
    views::{Bases, ReferenceKind, privileged_uses},
};
use haptic_model::HaproxyVersion;
use haptic_model::crd::Allowance;
use std::{collections::HashMap, hash::Hash};

/// The counts over all blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct CheckStatistics {
    versions: Vec<HaproxyVersion>,
    /// Blocks with a problem of their own.
    flawed: usize,
    /// Blocks with a name that only a script can register, and blocks that load one.
    needing_lua: usize,
    loading_lua: usize,
    proxies: HashMap<Box<str>, Proxies>,
    /// Names in `proxies` that are given too often.
    clashes: usize,
    /// Resolvers, peers, caches and rings.
    others: NameCounts<(SectionKind, Box<str>)>,
    defaults: HashMap<Box<str>, Defaults>,
    userlists: NameCounts<Box<str>>,
    backends_used: NameCounts<Box<str>>,
    defaults_used: NameCounts<Box<str>>,
    userlists_used: NameCounts<Box<str>>,
    files_used: NameCounts<(ReferenceKind, Box<str>)>,
    /// What reaches beyond HAProxy; for files by their paths.
    privileged: NameCounts<(Allowance, Option<Box<str>>)>,
    /// Backends and userlists whose names come from environment variables.
    unknown_backends: usize,
    unknown_userlists: usize,
}

/// The proxies of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Proxies {
    frontends: u32,
    backends: u32,
    listens: u32,
    /// Those that a rule can name, also those that are there only sometimes.
    named: u32,
}

/// The defaults sections of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Defaults {
    certain: u32,
    conditional: u32,
}

/// How often each name is there.
#[derive(Clone, Debug)]
struct NameCounts<N> {
    of: HashMap<N, u32>,
    /// Names that are there more than once.
    repeated: usize,
}

impl<N> Default for NameCounts<N> {
    fn default() -> Self {
        Self { of: HashMap::new(), repeated: 0 }
    }
}

impl CheckStatistics {
    pub fn of(versions: &[HaproxyVersion]) -> Self {
        Self { versions: versions.to_vec(), ..Self::default() }
    }

    pub fn versions(&self) -> &[HaproxyVersion] {
        &self.versions
    }

    /// Adds a block (`by` is 1) or takes it away (-1).
    pub fn count(&mut self, block: &Document<'_>, bases: &Bases, by: i32) {
        if self.is_flawed(block) {
            shift_size(&mut self.flawed, by);
        }
        if block.text.contains("lua.") && self.needs_lua(block) {
            shift_size(&mut self.needing_lua, by);
        }
        if loads_lua(block) {
            shift_size(&mut self.loading_lua, by);
        }
        for section in &block.sections {
            self.section(section, by);
        }
        for file in files_needed(block, bases) {
            self.files_used.change((file.kind, file.path.into()), by);
        }
        for used in privileged_uses(block, bases) {
            self.privileged.change((used.needs, used.is_file.then(|| used.word.into())), by);
        }
    }

    /// What the blocks need to be allowed; for files with their paths.
    pub fn needs(&self) -> impl Iterator<Item = (Allowance, Option<&str>)> {
        self.privileged.of.keys().map(|(needs, path)| (*needs, path.as_deref()))
    }

    /// Whether no block has a problem and all names agree.
    pub fn is_clean(&self, files: &dyn Fn(&str) -> bool) -> bool {
        let named = |name: &str| self.proxies.get(name).is_some_and(|proxies| proxies.named > 0);
        let userlist = |name: &str| self.userlists.of.contains_key(name);
        self.flawed == 0
            && (self.needing_lua == 0 || self.loading_lua > 0)
            && self.clashes == 0
            && self.others.repeated == 0
            && self.defaults_used.of.keys().all(|name| self.is_defined_once(name))
            && (self.unknown_backends > 0 || self.backends_used.of.keys().all(|name| named(name)))
            && (self.unknown_userlists > 0 || self.userlists_used.of.keys().all(|name| userlist(name)))
            && self.files_used.of.keys().all(|(kind, path)| is_there_somehow(files, *kind, path))
    }

    /// Bytes, about.
    pub fn bytes(&self) -> usize {
        let names = self.proxies.keys().map(|name| name.len()).sum::<usize>();
        names + self.proxies.capacity() * size_of::<(Box<str>, Proxies)>()
    }

    fn is_defined_once(&self, defaults: &str) -> bool {
        let ambiguous = !self.versions.iter().all(|version| version.accepts_ambiguous_defaults());
        let Some(Defaults { certain, .. }) = self.defaults.get(defaults) else { return false };
        *certain <= 1 || !ambiguous
    }

    /// Whether the block has a problem whatever stands around it.
    fn is_flawed(&self, block: &Document<'_>) -> bool {
        let mut problems = Vec::new();
        final_newline(block, &mut problems);
        directives(block, &mut problems);
        block.lines().for_each(|line| too_many_words(line, &mut problems));
        names::within_sections(block, &mut problems);
        conditions::check(block, &mut problems);
        problems.extend(self.unknown_words(block, true));
        let defines = block.sections.iter().any(|section| section.kind == SectionKind::Defaults);
        let inherits = |version: &HaproxyVersion| names::inherits_from_within(block, *version);
        !block.problems.is_empty() || !problems.is_empty() || (defines && !self.versions.iter().all(inherits))
    }

    fn needs_lua(&self, block: &Document<'_>) -> bool {
        self.unknown_words(block, true).len() != self.unknown_words(block, false).len()
    }

    /// What no version knows, or one of them.
    fn unknown_words(&self, block: &Document<'_>, lua: bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        let disabled: Vec<bool> = block.sections.iter().map(is_disabled).collect();
        for version in &self.versions {
            if let Some(known) = nearest(*version) {
                keywords::check(block, known, *version, (lua, &disabled), &mut problems);
            }
        }
        problems
    }

    fn section(&mut self, section: &Section<'_>, by: i32) {
        self.name(section, by);
        if let (Some(from), true) = (&section.from, is_certain(section)) {
            self.defaults_used.change(from.as_ref().into(), by);
        }
        if is_disabled(section) {
            return;
        }
        for used in backends_needed(section) {
            self.backends_used.change(used.target.into(), by);
        }
        if self.versions.iter().any(|version| resolves_userlists(&section.kind, *version)) {
            userlists_needed(section, |_, _, name| self.userlists_used.change(name.into(), by));
        }
    }

    fn name(&mut self, section: &Section<'_>, by: i32) {
        let (kind, name) = (&section.kind, section.name.as_ref());
        let certain = !name.is_empty() && is_certain(section);
        match kind {
            SectionKind::Frontend | SectionKind::Backend | SectionKind::Listen => {
                if kind.has_backend() && varies(section) {
                    shift_size(&mut self.unknown_backends, by);
                }
                self.proxy(kind, name, certain, by);
            }
            SectionKind::Resolvers | SectionKind::Peers | SectionKind::Cache | SectionKind::Ring
                if certain =>
            {
                self.others.change((kind.clone(), name.into()), by);
            }
            SectionKind::Defaults => {
                let defaults = self.defaults.entry(name.into()).or_default();
                let conditional = is_conditional(section);
                shift(if conditional { &mut defaults.conditional } else { &mut defaults.certain }, by);
                if *defaults == Defaults::default() {
                    self.defaults.remove(name);
                }
            }
            SectionKind::Userlist => {
                if varies(section) {
                    shift_size(&mut self.unknown_userlists, by);
                }
                self.userlists.change(name.into(), by);
            }
            _ => {}
        }
    }

    fn proxy(&mut self, kind: &SectionKind, name: &str, certain: bool, by: i32) {
        let one_for_all = self.versions.iter().any(|version| version.wants_one_name_for_proxies());
        let proxies = self.proxies.entry(name.into()).or_default();
        let clashed = proxies.clash(one_for_all);
        if certain {
            match kind {
                SectionKind::Frontend => shift(&mut proxies.frontends, by),
                SectionKind::Backend => shift(&mut proxies.backends, by),
                _ => shift(&mut proxies.listens, by),
            }
        }
        if kind.has_backend() {
            shift(&mut proxies.named, by);
        }
        let clashes = proxies.clash(one_for_all);
        if *proxies == Proxies::default() {
            self.proxies.remove(name);
        }
        shift_size(&mut self.clashes, i32::from(clashes) - i32::from(clashed));
    }
}

impl Proxies {
    /// Whether any version may refuse these together. HAProxy 3.0 allows a `listen` after a `backend` of its name:
    /// that is not told apart here.
    fn clash(self, one_for_all: bool) -> bool {
        let Self { frontends, backends, listens, .. } = self;
        frontends + listens > 1
            || backends + listens > 1
            || (one_for_all && frontends + backends + listens > 1)
    }
}

impl<N: Eq + Hash> NameCounts<N> {
    fn change(&mut self, name: N, by: i32) {
        let mut entry = match self.of.entry(name) {
            std::collections::hash_map::Entry::Occupied(entry) => entry,
            std::collections::hash_map::Entry::Vacant(free) => free.insert_entry(0),
        };
        let before = *entry.get();
        shift(entry.get_mut(), by);
        let after = *entry.get();
        if after == 0 {
            entry.remove();
        }
        shift_size(&mut self.repeated, i32::from(after > 1) - i32::from(before > 1));
    }
}

fn shift(count: &mut u32, by: i32) {
    *count = count.saturating_add_signed(by);
}

fn shift_size(count: &mut usize, by: i32) {
    let by = isize::try_from(by).unwrap_or_default();
    *count = count.saturating_add_signed(by);
}
