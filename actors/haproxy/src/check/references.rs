//! Names of things elsewhere: backends, userlists, files.

use std::collections::HashSet;

use super::CheckOptions;
use crate::document::{Document, Line, Section, SectionKind};
use crate::expressions::{Calls, WordFormat, calls, embedded, places};
use crate::keywords::nearest_name;
use crate::problem::{Code, Problem};
use crate::views::{Bases, FileReference, ReferenceKind, UseBackend, backend_names, file_references_below};
use haptic_model::HaproxyVersion;

/// For how many names that are not there the nearest one is looked for.
const SUGGESTED: usize = 20;

pub(super) fn check(
    document: &Document<'_>,
    options: &CheckOptions<'_>,
    disabled: &[bool],
    problems: &mut Vec<Problem>,
) {
    backends(document, disabled, problems);
    userlists(document, options.version, disabled, problems);
    if let Some(is_there) = options.files {
        missing_files(document, is_there, problems);
    }
}

/// Whether a name of a section of such a kind comes from an environment variable, so that not all are known.
fn has_unknown_name(document: &Document<'_>, is_kind: impl Fn(&SectionKind) -> bool) -> bool {
    document.sections.iter().any(|section| is_kind(&section.kind) && varies(section))
}

/// Whether the section's name comes from an environment variable.
pub(super) fn varies(section: &Section<'_>) -> bool {
    let name = section.header.as_ref().and_then(|header| header.words.get(1));
    name.is_some_and(|name| name.has_variable)
}

fn backends(document: &Document<'_>, disabled: &[bool], problems: &mut Vec<Problem>) {
    if has_unknown_name(document, SectionKind::has_backend) {
        return;
    }
    let known: HashSet<&str> = backend_names(document).collect();
    let enabled = document.sections.iter().zip(disabled).filter(|(_, disabled)| !**disabled);
    let used = enabled.flat_map(|(section, _)| backends_needed(section));
    for (count, used) in used.filter(|used| !known.contains(used.target.as_str())).enumerate() {
        let message = format!("There is no backend '{}'.", used.target);
        // To look through all names takes time; whoever sees the first ones knows.
        let near = if count < SUGGESTED { nearest_name(&used.target, known.iter().copied()) } else { None };
        let problem = Problem::new(Code::UndefinedBackend, used.line, used.column, message);
        problems.push(problem.help(match near {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("add a section 'backend {}', or correct the name", used.target),
        }));
    }
}

/// The backends that must be there if the section is not disabled. Of several `default_backend` the last counts.
pub(super) fn backends_needed(section: &Section<'_>) -> impl Iterator<Item = UseBackend> {
    let lines = if section.kind.has_frontend() { section.lines.as_slice() } else { &[] };
    let last_default = lines.iter().rfind(|line| line.keyword() == "default_backend");
    let last_default = last_default.map(|line| line.number);
    lines
        .iter()
        .filter(|line| !line.conditional)
        .filter_map(UseBackend::from_line)
        .filter(move |used| !used.dynamic && (!used.is_default || Some(used.line) == last_default))
}

fn userlists(
    document: &Document<'_>,
    version: HaproxyVersion,
    disabled: &[bool],
    problems: &mut Vec<Problem>,
) {
    if !document.text.contains("http_auth")
        || has_unknown_name(document, |kind| *kind == SectionKind::Userlist)
    {
        return;
    }
    let lists = document.sections.iter().filter(|section| section.kind == SectionKind::Userlist);
    let known: HashSet<&str> = lists.map(|section| section.name.as_ref()).collect();
    let enabled = document.sections.iter().zip(disabled).filter(|(_, disabled)| !**disabled);
    for (section, _) in enabled.filter(|(section, _)| resolves_userlists(&section.kind, version)) {
        userlists_needed(section, |line, at, name| {
            if !known.contains(name) {
                let message = format!("There is no userlist '{name}'.");
                let help = format!("add a section 'userlist {name}', or correct the name");
                problems.push(Problem::at(Code::UndefinedUserlist, line, at, message).help(help));
            }
        });
    }
}

/// Whether HAProxy surely looks for the userlists that such a section names.
pub(super) fn resolves_userlists(kind: &SectionKind, version: HaproxyVersion) -> bool {
    kind.is_proxy() && (*kind != SectionKind::Defaults || version.resolves_userlists_of_defaults())
}

/// Calls `found` with each userlist that an expression names, and with its line and word.
pub(super) fn userlists_needed(section: &Section<'_>, mut found: impl FnMut(&Line<'_>, usize, &str)) {
    for line in section.lines.iter().filter(|line| !line.conditional) {
        places(&section.kind, line, &mut |at, reading| {
            let Some(word) = line.words.get(at).filter(|word| !word.has_variable) else { return };
            let mut in_calls = |calls: Calls<'_>| {
                for call in calls.filter(|call| matches!(call.name, "http_auth" | "http_auth_group")) {
                    if let Some(name) = call.arguments {
                        found(line, at, name.split(',').next().unwrap_or_default());
                    }
                }
            };
            match reading {
                WordFormat::Format => embedded(&word.value).for_each(in_calls),
                _ => in_calls(calls(&word.value)),
            }
        });
    }
}

fn missing_files(document: &Document<'_>, is_there: &dyn Fn(&str) -> bool, problems: &mut Vec<Problem>) {
    let mut bases = Bases::default();
    bases.read(document);
    for file in files_needed(document, &bases) {
        if is_there_somehow(is_there, file.kind, &file.path) {
            continue;
        }
        let message = format!("The {} '{}' is not there.", noun(file.kind), file.path);
        let help = "render it as a file of this configuration, or correct the name";
        problems.push(Problem::new(Code::MissingFile, file.line, file.column, message).help(help));
    }
}

/// Whether a file is there, or, for a certificate, those of a bundle that have its name and the kind of their key.
pub(super) fn is_there_somehow(is_there: &dyn Fn(&str) -> bool, kind: ReferenceKind, path: &str) -> bool {
    let in_bundle = || ["rsa", "ecdsa", "dsa"].iter().any(|key| is_there(&format!("{path}.{key}")));
    is_there(path) || (kind == ReferenceKind::Certificate && in_bundle())
}

/// The files without which HAProxy does not start.
pub(super) fn files_needed(document: &Document<'_>, bases: &Bases) -> impl Iterator<Item = FileReference> {
    let conditional: HashSet<usize> =
        document.lines().filter(|line| line.conditional).map(|line| line.number).collect();
    let files = file_references_below(document, bases).into_iter();
    files.filter(move |file| !file.optional && !conditional.contains(&file.line))
}

fn noun(kind: ReferenceKind) -> &'static str {
    match kind {
        ReferenceKind::Map => "map",
        ReferenceKind::Acl => "pattern file",
        ReferenceKind::ErrorFile => "error file",
        ReferenceKind::Body | ReferenceKind::Format => "response body",
        ReferenceKind::Certificate => "certificate",
        ReferenceKind::Key => "key",
        ReferenceKind::CrtList => "crt-list",
        ReferenceKind::Ca => "CA file",
        ReferenceKind::Crl => "revocation list",
        ReferenceKind::Code | ReferenceKind::Other => "file",
    }
}
