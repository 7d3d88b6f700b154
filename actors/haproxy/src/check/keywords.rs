//! Whether HAProxy knows the first words of each line.

use std::collections::HashMap;

use super::expressions::NEEDS_LUA;
use crate::document::{Document, Line, Section, SectionKind};
use crate::expressions::WordFormat;
use crate::keywords::{KeywordTable, Keywords, UNNAMED_DEFAULTS, all};
use crate::problem::{Code, Problem};
use haptic_model::HaproxyVersion;

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

/// `lua` says whether names that begin with `lua.` may be registered by a script; `disabled` which sections are
/// proxies that are not started.
pub(super) fn check(
    document: &Document<'_>,
    known: &Keywords,
    version: HaproxyVersion,
    (lua, disabled): (bool, &[bool]),
    problems: &mut Vec<Problem>,
) {
    let sections = known.table("sections");
    let parameters =
        |table, values| Some(Parameters { table: known.table(table)?, values: known.table(values)? });
    let server = parameters("listen server", "server values");
    let bind = parameters("listen bind", "bind values");
    for (section, disabled) in document.sections.iter().zip(disabled.iter().copied()) {
        let lacks = known.lacks(table_name(section));
        let checker =
            KeywordChecker { section, known, version, sections, server, bind, lacks, lua, disabled };
        if checker.unknown_section(problems) {
            continue;
        }
        let words = known.table(table_name(section));
        for line in &section.lines {
            if !line.words.is_empty() && !line.conditional && line.directive().is_none() {
                checker.line(line, words, problems);
            }
        }
        if section.kind.is_proxy() {
            checker.later_expressions(problems);
        }
    }
}

/// Whether a script is loaded, which may register actions, services, filters, fetches and converters.
pub(super) fn loads_lua(document: &Document<'_>) -> bool {
    let global = document.sections.iter().filter(|section| section.kind == SectionKind::Global);
    global.flat_map(|section| &section.lines).any(|line| line.keyword().starts_with("lua-load"))
}

/// The name of the table with a section's keywords.
fn table_name<'s>(section: &'s Section<'_>) -> &'s str {
    match section.kind {
        SectionKind::Defaults if section.name.is_empty() => UNNAMED_DEFAULTS,
        _ => section.kind.name(),
    }
}

pub(super) struct KeywordChecker<'c, 'd> {
    pub(super) section: &'c Section<'d>,
    pub(super) known: &'c Keywords,
    pub(super) version: HaproxyVersion,
    sections: Option<&'c KeywordTable>,
    server: Option<Parameters<'c>>,
    bind: Option<Parameters<'c>>,
    /// What `listen` takes and this section does not, by the words before it.
    lacks: Option<&'c HashMap<&'static str, KeywordTable>>,
    /// Whether a script may have registered names.
    pub(super) lua: bool,
    /// Whether the section is a proxy that is not started.
    pub(super) disabled: bool,
}

/// The parameters of `server` or `bind`, and those of them that take a value.
#[derive(Clone, Copy)]
struct Parameters<'c> {
    table: &'c KeywordTable,
    values: &'c KeywordTable,
}

impl KeywordChecker<'_, '_> {
    /// A section that this version does not have: then its lines are not looked at.
    fn unknown_section(&self, problems: &mut Vec<Problem>) -> bool {
        let (Some(header), Some(sections)) = (&self.section.header, self.sections) else { return false };
        if sections.contains(header.keyword()) {
            return false;
        }
        if header.conditional {
            return true;
        }
        let message = format!("HAProxy {} has no section '{}'.", self.version, header.keyword());
        let problem = Problem::at(Code::UnknownSection, header, 0, message);
        problems.push(with_help(problem, known_elsewhere("sections", header.keyword())));
        true
    }

    fn line(&self, line: &Line<'_>, words: Option<&KeywordTable>, problems: &mut Vec<Problem>) {
        let negated = PREFIXES.contains(&line.keyword());
        let first = usize::from(negated);
        let Some(keyword) = line.words.get(first).filter(|word| !word.has_variable && !word.value.is_empty())
        else {
            return;
        };
        if self.section.header.is_none() {
            return problems.push(self.outside(line));
        }
        if let Some(words) = words.filter(|words| !words.contains(&keyword.value)) {
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
            (true, "option") if negated => self.word(line, first + 1, "listen no option", problems),
            (true, "server") => return self.parameters(line, 3, "server", problems),
            (true, "server-template") => return self.parameters(line, 4, "server", problems),
            (true, "default-server") => return self.parameters(line, 1, "server", problems),
            (true, "bind") => return self.parameters(line, 2, "bind", problems),
            (true, "tcp-request" | "tcp-response") => self.tcp_rule(line, problems),
            (false, "stats") if line.value(1) == "socket" => {
                self.parameters(line, 3, "stats socket", problems);
            }
            (true, "declare") => {
                self.word(line, 1, "listen declare", problems);
                self.word(line, 2, "listen declare capture", problems);
            }
            (_, "log") if !negated => self.log(line, problems),
            (false, "ssl-default-bind-options" | "ssl-default-server-options") => {
                self.tls_options(line, problems);
            }
            (false, "load") if self.section.kind == SectionKind::CrtStore => {
                let names = (1..line.words.len()).step_by(2);
                names.for_each(|at| self.word(line, at, "crt-store load", problems));
            }
            _ => {
                if let Some(place) = place(&self.section.kind, &keyword.value) {
                    self.word(line, first + 1, place, problems);
                }
            }
        }
        if self.section.kind.is_proxy()
            || matches!(self.section.kind, SectionKind::Global | SectionKind::FcgiApp)
        {
            self.service(line, problems);
            self.expressions(line, problems);
        }
    }

    /// A service that only a script can register. Other builds have others of their own.
    fn service(&self, line: &Line<'_>, problems: &mut Vec<Problem>) {
        let at = match line.keyword() {
            "http-request" => 1,
            "tcp-request" => 2,
            _ => return,
        };
        if !self.lua && line.value(at) == "use-service" && line.value(at + 1).starts_with("lua.") {
            problems.push(self.unknown_word(line, at + 1, "use-service").help(NEEDS_LUA));
        }
    }

    /// `log <target> [<setting> <value>]… <facility> [<level> [<lowest level>]]`.
    fn log(&self, line: &Line<'_>, problems: &mut Vec<Problem>) {
        let mut at = 2;
        while matches!(line.value(at), "len" | "format" | "sample" | "profile") {
            // HAProxy 3.0 takes `profile` for a facility.
            self.word(line, at, "global log facility", problems);
            at += 2;
        }
        self.word(line, at, "global log facility", problems);
        self.word(line, at + 1, "global log level", problems);
        self.word(line, at + 2, "global log level", problems);
    }

    fn tls_options(&self, line: &Line<'_>, problems: &mut Vec<Problem>) {
        let place = match line.keyword() {
            "ssl-default-bind-options" => "global ssl-default-bind-options",
            _ => "global ssl-default-server-options",
        };
        let mut at = 1;
        while at < line.words.len() {
            self.word(line, at, place, problems);
            at += 1 + usize::from(matches!(line.value(at), "ssl-min-ver" | "ssl-max-ver"));
        }
    }

    /// Checks the word at position `at` against the words of a place.
    fn word(&self, line: &Line<'_>, at: usize, place: &str, problems: &mut Vec<Problem>) {
        let (Some(word), Some(table)) = (line.words.get(at), self.known.table(place)) else { return };
        // A variable may hold any number of words, and an empty word ends the line for HAProxy.
        if line.from(1).iter().take(at).any(|word| word.has_variable || word.value.is_empty()) {
            return;
        }
        let before = place.split_once(' ').map_or(place, |(_, before)| before);
        if table.contains(&word.value) {
            let lacking = self.lacks.and_then(|lacks| lacks.get(before));
            if lacking.is_some_and(|lacking| lacking.contains(&word.value)) {
                problems.push(self.misplaced(line, at, before));
            }
            return;
        }
        if word.value.starts_with("lua.") && takes_lua(before) {
            if !self.lua {
                problems.push(self.unknown_word(line, at, before).help(NEEDS_LUA));
            }
            return;
        }
        let help = known_elsewhere(place, &word.value)
            .or_else(|| table.nearest(&word.value).map(|near| format!("did you mean '{before} {near}'?")));
        problems.push(with_help(self.unknown_word(line, at, before), help));
    }

    fn unknown_word(&self, line: &Line<'_>, at: usize, before: &str) -> Problem {
        let message = format!("HAProxy {} does not know '{before} {}'.", self.version, line.value(at));
        Problem::at(Code::UnknownKeyword, line, at, message)
    }

    /// A word that HAProxy knows, and does not take in this section.
    fn misplaced(&self, line: &Line<'_>, at: usize, before: &str) -> Problem {
        let word = line.value(at);
        let is_taken = |section: &&str| {
            let lacking = self.known.lacks(section).and_then(|lacks| lacks.get(before));
            !lacking.is_some_and(|lacking| lacking.contains(word))
        };
        let mut taking: Vec<String> = [UNNAMED_DEFAULTS, "defaults", "frontend", "backend", "listen"]
            .into_iter()
            .filter(is_taken)
            .map(|section| format!("'{section}'"))
            .collect();
        // Where it may stand without a name it may stand with one.
        taking.retain(|section| section != "'unnamed defaults'");
        let section = match table_name(self.section) {
            UNNAMED_DEFAULTS => "a 'defaults' section without a name".to_owned(),
            named => format!("a '{named}' section"),
        };
        let words = if before.is_empty() { word.to_owned() } else { format!("{before} {word}") };
        let message = format!("HAProxy {} does not take '{words}' in {section}.", self.version);
        Problem::at(Code::Misplaced, line, at, message)
            .help(format!("it belongs in a section of these: {}", taking.join(", ")))
    }

    fn tcp_rule(&self, line: &Line<'_>, problems: &mut Vec<Problem>) {
        let (rules, actions) = match (line.keyword(), line.value(1)) {
            ("tcp-request", "connection") => ("listen tcp-request", "listen tcp-request connection"),
            ("tcp-request", "session") => ("listen tcp-request", "listen tcp-request session"),
            ("tcp-request", "content") => ("listen tcp-request", "listen tcp-request content"),
            ("tcp-response", "content") => ("listen tcp-response", "listen tcp-response content"),
            ("tcp-request", _) => return self.word(line, 1, "listen tcp-request", problems),
            _ => return self.word(line, 1, "listen tcp-response", problems),
        };
        self.word(line, 1, rules, problems);
        self.word(line, 2, actions, problems);
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
            // A default is only read where a server takes it.
            if matches!(name, "sni" | "pool-conn-name") && line.keyword() != "default-server" {
                self.expression(line, at + 1, WordFormat::Sample, problems);
            }
            at += match name {
                "source" => source_words(line, at),
                _ => 1 + usize::from(values.contains(name) || word.value.contains('(')),
            };
        }
    }

    fn unknown(&self, line: &Line<'_>, at: usize, words: &KeywordTable) -> Problem {
        let (keyword, section) = (line.value(at), self.section.kind.name());
        if self.section.kind.is_proxy() && self.known.table("listen").is_some_and(|all| all.contains(keyword))
        {
            return self.misplaced(line, at, "");
        }
        let near_word = words.nearest_by(keyword);
        let near_section = self.sections.and_then(|sections| sections.nearest_by(keyword));
        let near_section = near_section
            .filter(|(far, _)| at == 0 && near_word.is_none_or(|(word_is_far, _)| *far < word_is_far))
            .map(|(_, near)| format!("did you mean '{near}'?"));
        let starts_line = line.words.get(at).is_some_and(|word| word.column == 1);
        if let (Some(help), true) = (&near_section, starts_line) {
            let message = format!("'{keyword}' opens no section of HAProxy {}.", self.version);
            return Problem::at(Code::UnknownSection, line, at, message).help(help);
        }
        let message =
            format!("HAProxy {} has no keyword '{keyword}' in a '{section}' section.", self.version);
        let place = if self.section.kind.is_proxy() { "listen" } else { section };
        let help = known_elsewhere(place, keyword)
            .or(near_section)
            .or_else(|| near_word.map(|(_, near)| format!("did you mean '{near}'?")))
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
        // A frontend ignores the line, whatever it says.
        (kind, "stick") if kind.has_backend() => "listen stick",
        (_, "rate-limit") => "listen rate-limit",
        (_, "external-check") => "listen external-check",
        (_, "http-request") => "listen http-request",
        (_, "http-response") => "listen http-response",
        (_, "http-after-response") => "listen http-after-response",
        _ => return None,
    })
}

/// Whether scripts can register words that follow these.
fn takes_lua(before: &str) -> bool {
    matches!(before.split(' ').next(), Some("filter" | "tcp-request" | "tcp-response"))
        || matches!(before, "http-request" | "http-response" | "http-after-response")
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
pub(super) fn known_elsewhere(place: &str, word: &str) -> Option<String> {
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

pub(super) fn with_help(problem: Problem, help: Option<String>) -> Problem {
    match help {
        Some(help) => problem.help(help),
        None => problem,
    }
}
