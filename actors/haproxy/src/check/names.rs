//! Names of sections and servers: missing, given twice, or taken from a defaults section that is not there.

use std::collections::HashMap;

use super::disabled::is_disabled;
use crate::document::{Document, Section, SectionKind};
use crate::keywords::nearest_name;
use crate::problem::{Code, Problem};
use haptic_model::HaproxyVersion;

pub(super) fn check(
    document: &Document<'_>,
    version: HaproxyVersion,
    disabled: &[bool],
    problems: &mut Vec<Problem>,
) {
    let mut names = TakenNames::of(version);
    let mut defaults: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut taken = HashMap::new();
    for (section, disabled) in document.sections.iter().zip(disabled) {
        missing_name(section, problems);
        names.add(section, problems);
        inherited(section, &defaults, document, version, problems);
        if section.kind == SectionKind::Defaults && !is_conditional(section) {
            defaults.entry(&section.name).or_default().push(section.line);
        } else if section.kind == SectionKind::Defaults {
            defaults.entry(&section.name).or_default();
        }
        if !disabled {
            servers(section, &mut taken, problems);
        }
    }
}

/// What can be said of sections by themselves: missing names, and servers of the same name.
pub(super) fn within_sections(document: &Document<'_>, problems: &mut Vec<Problem>) {
    let mut taken = HashMap::new();
    for section in &document.sections {
        missing_name(section, problems);
        if !is_disabled(section) {
            servers(section, &mut taken, problems);
        }
    }
}

/// Whether `from` names something that stands before it in `document`, and only once.
pub(super) fn inherits_from_within(document: &Document<'_>, version: HaproxyVersion) -> bool {
    let mut problems = Vec::new();
    let mut defaults: HashMap<&str, Vec<usize>> = HashMap::new();
    for section in &document.sections {
        inherited(section, &defaults, document, version, &mut problems);
        if section.kind == SectionKind::Defaults {
            let lines = defaults.entry(&section.name).or_default();
            lines.extend((!is_conditional(section)).then_some(section.line));
        }
    }
    problems.is_empty()
}

pub(super) fn is_conditional(section: &Section<'_>) -> bool {
    section.header.as_ref().is_some_and(|header| header.conditional)
}

/// Whether the name is the one HAProxy will see.
pub(super) fn is_certain(section: &Section<'_>) -> bool {
    let has_variable =
        section.header.as_ref().is_some_and(|header| header.words.iter().any(|word| word.has_variable));
    !is_conditional(section) && !has_variable
}

fn missing_name(section: &Section<'_>, problems: &mut Vec<Problem>) {
    let needs_name = matches!(
        section.kind,
        SectionKind::Frontend
            | SectionKind::Backend
            | SectionKind::Listen
            | SectionKind::Peers
            | SectionKind::Resolvers
            | SectionKind::Userlist
            | SectionKind::Cache
            | SectionKind::Ring
            | SectionKind::Mailers
            | SectionKind::HttpErrors
    );
    if let (true, true, Some(header)) = (needs_name, section.name.is_empty(), &section.header) {
        let message = format!("This '{}' section has no name.", section.kind);
        problems.push(
            Problem::at(Code::MissingName, header, 0, message).help(format!("write '{} NAME'", section.kind)),
        );
    }
}

/// The names that are taken, with the line of their section.
struct TakenNames<'d> {
    version: HaproxyVersion,
    frontends: HashMap<&'d str, (&'d SectionKind, usize)>,
    backends: HashMap<&'d str, (&'d SectionKind, usize)>,
    others: HashMap<(&'d SectionKind, &'d str), usize>,
}

impl<'d> TakenNames<'d> {
    fn of(version: HaproxyVersion) -> Self {
        Self { version, frontends: HashMap::new(), backends: HashMap::new(), others: HashMap::new() }
    }

    fn add(&mut self, section: &'d Section<'_>, problems: &mut Vec<Problem>) {
        let (kind, name) = (&section.kind, section.name.as_ref());
        if name.is_empty() || !is_certain(section) {
            return;
        }
        let taken = match kind {
            SectionKind::Frontend | SectionKind::Backend | SectionKind::Listen => {
                self.proxy(kind, name, section.line)
            }
            SectionKind::Resolvers | SectionKind::Peers | SectionKind::Cache | SectionKind::Ring => {
                let line = self.others.insert((kind, name), section.line);
                line.map(|line| (kind, line))
            }
            _ => None,
        };
        if let (Some((taken_by, line)), Some(header)) = (taken, &section.header) {
            let message = format!("The {kind} '{name}' has the same name as the {taken_by} on line {line}.");
            problems.push(Problem::at(Code::DuplicateSection, header, 1, message).help("rename one of them"));
        }
    }

    fn proxy(
        &mut self,
        kind: &'d SectionKind,
        name: &'d str,
        line: usize,
    ) -> Option<(&'d SectionKind, usize)> {
        let one_for_all = self.version.wants_one_name_for_proxies();
        let (frontend, backend) = (self.frontends.get(name).copied(), self.backends.get(name).copied());
        let taken = match kind {
            _ if one_for_all => frontend.or(backend),
            SectionKind::Frontend => frontend,
            SectionKind::Listen if !self.version.wants_one_name_for_backends() => frontend,
            SectionKind::Listen => frontend.or(backend),
            _ => backend,
        };
        if kind.has_frontend() {
            self.frontends.entry(name).or_insert((kind, line));
        }
        if kind.has_backend() {
            self.backends.entry(name).or_insert((kind, line));
        }
        taken
    }
}

/// `from` must name one defaults section that stands before.
fn inherited(
    section: &Section<'_>,
    defaults: &HashMap<&str, Vec<usize>>,
    document: &Document<'_>,
    version: HaproxyVersion,
    problems: &mut Vec<Problem>,
) {
    let (Some(from), Some(header)) = (&section.from, &section.header) else { return };
    if !is_certain(section) {
        return;
    }
    let at = header.words.len().saturating_sub(1);
    let message = match defaults.get(from.as_ref()).map(Vec::as_slice) {
        None => {
            let later = document.section(&SectionKind::Defaults, from);
            let problem = Problem::at(
                Code::UndefinedDefaults,
                header,
                at,
                format!("There is no 'defaults {from}' before this {}.", section.kind),
            );
            problems.push(match later {
                Some(later) => problem.help(format!("it is on line {}: move it up", later.line)),
                None => match nearest_name(from, defaults.keys().copied().filter(|name| !name.is_empty())) {
                    Some(near) => problem.help(format!("did you mean '{near}'?")),
                    None => problem.help(format!("add a section 'defaults {from}' before it")),
                },
            });
            return;
        }
        Some([first, .., last]) if !version.accepts_ambiguous_defaults() => {
            format!("'defaults {from}' is there twice, on lines {first} and {last}, so 'from' is ambiguous.")
        }
        Some(_) => return,
    };
    problems.push(Problem::at(Code::UndefinedDefaults, header, at, message).help("rename one of them"));
}

/// `seen` is only kept from section to section to spare its allocation.
fn servers<'d>(section: &'d Section<'_>, seen: &mut HashMap<&'d str, usize>, problems: &mut Vec<Problem>) {
    if !section.kind.has_backend() {
        return;
    }
    seen.clear();
    for line in section.lines.iter().filter(|line| line.keyword() == "server" && !line.conditional) {
        let Some(name) = line.words.get(1).filter(|name| !name.has_variable) else { continue };
        if let Some(first) = seen.insert(&name.value, line.number) {
            let message =
                format!("The server '{}' of {} is already on line {first}.", name.value, section.title());
            problems.push(
                Problem::at(Code::DuplicateServer, line, 1, message).help("rename or remove one of them"),
            );
        }
    }
}
