//! Whether HAProxy knows the first words of each line.

use crate::document::{Document, Line, Section, SectionKind};
use crate::keywords::{Keywords, Table, all};
use crate::problem::{Code, Problem};
use crate::version::Version;

/// `no` and `default` before a keyword turn a setting off or back to its default.
const PREFIXES: [&str; 2] = ["no", "default"];

/// Words of `global` that exist only in builds with other options than the one the tables come from.
const OTHER_BUILDS: [&str; 5] = ["51degrees-", "deviceatlas-", "wurfl-", "profiling.", "tune.memory."];

/// What `no` may stand before (`_getcfgline` in src/cfgparse.c says so itself).
const NEGATABLE: [&str; 7] = [
    "option",
    "log",
    "busy-polling",
    "set-dumpable",
    "strict-limits",
    "insecure-fork-wanted",
    "numa-cpu-mapping",
];

pub(super) fn check(
    document: &Document<'_>,
    known: &Keywords,
    version: Version,
    problems: &mut Vec<Problem>,
) {
    let sections = known.table("sections");
    let parameters =
        |table, values| Some(Parameters { table: known.table(table)?, values: known.table(values)? });
    let server = parameters("listen server", "server values");
    let bind = parameters("listen bind", "bind values");
    for section in &document.sections {
        let checker = Checker { section, known, version, sections, server, bind };
        if checker.unknown_section(problems) {
            continue;
        }
        let words = known.table(if section.kind.is_proxy() { "listen" } else { section.kind.name() });
        for line in &section.lines {
            if !line.words.is_empty() && !line.conditional && line.directive().is_none() {
                checker.line(line, words, problems);
            }
        }
    }
}

struct Checker<'c, 'd> {
    section: &'c Section<'d>,
    known: &'c Keywords,
    version: Version,
    sections: Option<&'c Table>,
    server: Option<Parameters<'c>>,
    bind: Option<Parameters<'c>>,
}

/// The parameters of `server` or `bind`, and those of them that take a value.
#[derive(Clone, Copy)]
struct Parameters<'c> {
    table: &'c Table,
    values: &'c Table,
}

impl Checker<'_, '_> {
    /// A section that this version does not have: then its lines are not looked at.
    fn unknown_section(&self, problems: &mut Vec<Problem>) -> bool {
        let (Some(header), Some(sections)) = (&self.section.header, self.sections) else { return false };
        if sections.contains(header.keyword()) {
            return false;
        }
        // `program` is read by the master only and leaves no trace in a worker's tables.
        if header.conditional || self.section.kind == SectionKind::Program {
            return true;
        }
        let message = format!("HAProxy {} has no section '{}'.", self.version, header.keyword());
        let problem = Problem::at(Code::UnknownSection, header, 0, message);
        problems.push(with_help(problem, known_elsewhere("sections", header.keyword())));
        true
    }

    fn line(&self, line: &Line<'_>, words: Option<&Table>, problems: &mut Vec<Problem>) {
        let negated = PREFIXES.contains(&line.keyword());
        let first = usize::from(negated);
        let Some(keyword) = line.words.get(first).filter(|word| !word.has_variable && !word.value.is_empty())
        else {
            return;
        };
        if self.section.header.is_none() {
            return problems.push(self.outside(line));
        }
        let Some(words) = words else { return };
        if !words.contains(&keyword.value) {
            if OTHER_BUILDS.iter().any(|start| keyword.value.starts_with(start)) {
                return;
            }
            return problems.push(self.unknown(line, first, words));
        }
        if negated && !NEGATABLE.contains(&keyword.value.as_ref()) {
            let message = format!("'{}' cannot stand before '{}'.", line.keyword(), keyword.value);
            return problems.push(Problem::at(Code::CannotNegate, line, 0, message));
        }
        match (self.section.kind.is_proxy(), keyword.value.as_ref()) {
            (true, "option") if negated => self.next_word(line, first, "listen no option", problems),
            (true, "server") => self.parameters(line, 3, "server", problems),
            (true, "server-template") => self.parameters(line, 4, "server", problems),
            (true, "default-server") => self.parameters(line, 1, "server", problems),
            (true, "bind") => self.parameters(line, 2, "bind", problems),
            (true, "tcp-request" | "tcp-response") => self.tcp_rule(line, problems),
            _ => {
                if let Some(place) = place(&self.section.kind, &keyword.value) {
                    self.next_word(line, first, place, problems);
                }
            }
        }
    }

    /// Checks the word after position `at` against the words of a place.
    fn next_word(&self, line: &Line<'_>, at: usize, place: &str, problems: &mut Vec<Problem>) {
        let (Some(word), Some(table)) = (line.words.get(at + 1), self.known.table(place)) else { return };
        // What Lua registers, only Lua knows.
        let is_known = table.contains(&word.value) || word.value.starts_with("lua.");
        if word.has_variable || word.value.is_empty() || is_known {
            return;
        }
        let before = place.split_once(' ').map_or(place, |(_, before)| before);
        let message = format!("HAProxy {} does not know '{before} {}'.", self.version, word.value);
        let problem = Problem::at(Code::UnknownKeyword, line, at + 1, message);
        let help = known_elsewhere(place, &word.value)
            .or_else(|| table.nearest(&word.value).map(|near| format!("did you mean '{before} {near}'?")));
        problems.push(with_help(problem, help));
    }

    fn tcp_rule(&self, line: &Line<'_>, problems: &mut Vec<Problem>) {
        let place = match (line.keyword(), line.value(1)) {
            ("tcp-request", "connection") => "listen tcp-request connection",
            ("tcp-request", "session") => "listen tcp-request session",
            ("tcp-request", "content") => "listen tcp-request content",
            ("tcp-response", "content") => "listen tcp-response content",
            ("tcp-request", _) => return self.next_word(line, 0, "listen tcp-request", problems),
            _ => return self.next_word(line, 0, "listen tcp-response", problems),
        };
        self.next_word(line, 1, place, problems);
    }

    /// The parameters of `server` and `bind` from position `from` on.
    fn parameters(&self, line: &Line<'_>, from: usize, keyword: &str, problems: &mut Vec<Problem>) {
        let (place, tables) = match keyword {
            "server" => ("listen server", self.server),
            _ => ("listen bind", self.bind),
        };
        let Some(Parameters { table, values }) = tables else { return };
        let mut at = from;
        while let Some(word) = line.words.get(at) {
            let name = word.value.split('(').next().unwrap_or_default();
            // A variable may hold any number of words, and an empty word ends the line for HAProxy.
            if name.is_empty() || word.has_variable {
                return;
            }
            if !table.contains(name) {
                let message =
                    format!("HAProxy {} has no parameter '{}' of '{keyword}'.", self.version, word.value);
                let problem = Problem::at(Code::UnknownKeyword, line, at, message);
                let help = known_elsewhere(place, name)
                    .or_else(|| table.nearest(name).map(|near| format!("did you mean '{near}'?")));
                return problems.push(with_help(problem, help));
            }
            at += match name {
                "source" => source_words(line, at),
                _ => 1 + usize::from(values.contains(name) || word.value.contains('(')),
            };
        }
    }

    fn unknown(&self, line: &Line<'_>, at: usize, words: &Table) -> Problem {
        let (keyword, section) = (line.value(at), self.section.kind.name());
        let starts_line = line.words.get(at).is_some_and(|word| word.column == 1);
        let near_section =
            self.sections.filter(|_| starts_line).and_then(|sections| sections.nearest(keyword));
        if let Some(near) = near_section.filter(|_| words.nearest(keyword).is_none()) {
            let message = format!("'{keyword}' opens no section of HAProxy {}.", self.version);
            return Problem::at(Code::UnknownSection, line, at, message)
                .help(format!("did you mean '{near}'?"));
        }
        let message =
            format!("HAProxy {} has no keyword '{keyword}' in a '{section}' section.", self.version);
        let place = if self.section.kind.is_proxy() { "listen" } else { section };
        let help = known_elsewhere(place, keyword)
            .or_else(|| words.nearest(keyword).map(|near| format!("did you mean '{near}'?")))
            .or_else(|| self.another_section(keyword));
        with_help(Problem::at(Code::UnknownKeyword, line, at, message), help)
    }

    fn outside(&self, line: &Line<'_>) -> Problem {
        let message = format!("'{}' stands before the first section.", line.keyword());
        let near = self.sections.and_then(|sections| sections.nearest(line.keyword()));
        let help = near.map(|near| format!("did you mean '{near}'?"));
        with_help(Problem::at(Code::UnknownSection, line, 0, message), help)
    }

    /// A keyword that stands in the wrong section.
    fn another_section(&self, keyword: &str) -> Option<String> {
        ["global", "listen"]
            .into_iter()
            .find(|section| self.known.table(section).is_some_and(|table| table.contains(keyword)))
            .map(|section| match section {
                "global" => "it belongs in the 'global' section".to_owned(),
                _ => "it belongs in a 'defaults', 'frontend', 'backend' or 'listen' section".to_owned(),
            })
    }
}

/// Where the word after a keyword is one of a closed set.
fn place(section: &SectionKind, keyword: &str) -> Option<&'static str> {
    Some(match (section, keyword) {
        (SectionKind::Global, "stats") => "global stats",
        (SectionKind::Resolvers, "hold") => "resolvers hold",
        (SectionKind::Resolvers, "timeout") => "resolvers timeout",
        _ if !section.is_proxy() => return None,
        (_, "option") => "listen option",
        (_, "timeout") => "listen timeout",
        (_, "stats") => "listen stats",
        (_, "balance") => "listen balance",
        (_, "filter") => "listen filter",
        (_, "compression") => "listen compression",
        (_, "http-check") => "listen http-check",
        (_, "tcp-check") => "listen tcp-check",
        (_, "hash-type") => "listen hash-type",
        (_, "email-alert") => "listen email-alert",
        (_, "http-reuse") => "listen http-reuse",
        (_, "mode") => "listen mode",
        (_, "stick") => "listen stick",
        (_, "rate-limit") => "listen rate-limit",
        (_, "external-check") => "listen external-check",
        (_, "http-request") => "listen http-request",
        (_, "http-response") => "listen http-response",
        (_, "http-after-response") => "listen http-after-response",
        _ => return None,
    })
}

/// How many words `source <address> [usesrc <address>] [interface <name>]` takes.
fn source_words(line: &Line<'_>, at: usize) -> usize {
    let mut count = 2;
    while matches!(line.value(at + count), "usesrc" | "interface") {
        count += 2;
    }
    count
}

/// `HAProxy 3.2 and 3.4 know it`, when other versions do.
fn known_elsewhere(place: &str, word: &str) -> Option<String> {
    let knowing: Vec<_> = all()
        .iter()
        .filter(|keywords| keywords.table(place).is_some_and(|table| table.contains(word)))
        .map(|keywords| keywords.version.to_string())
        .collect();
    match knowing.as_slice() {
        [] => None,
        [one] => Some(format!("HAProxy {one} knows it")),
        several => Some(format!("HAProxy {} know it", several.join(" and "))),
    }
}

fn with_help(problem: Problem, help: Option<String>) -> Problem {
    match help {
        Some(help) => problem.help(help),
        None => problem,
    }
}
