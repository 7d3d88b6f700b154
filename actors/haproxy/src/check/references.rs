//! Names of things elsewhere: backends, userlists, files.

use std::collections::HashSet;

use crate::document::{Document, Line, Section, SectionKind};
use crate::problem::{Code, Problem};
use crate::views::{Bases, FileKind, FileReference, UseBackend, backend_names, file_references_below};

pub(super) fn check(
    document: &Document<'_>,
    files: Option<&dyn Fn(&str) -> bool>,
    problems: &mut Vec<Problem>,
) {
    backends(document, problems);
    userlists(document, problems);
    if let Some(is_there) = files {
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

fn backends(document: &Document<'_>, problems: &mut Vec<Problem>) {
    if has_unknown_name(document, SectionKind::has_backend) {
        return;
    }
    let known: HashSet<&str> = backend_names(document).collect();
    for section in document.sections.iter().filter(|section| section.kind.has_frontend()) {
        for line in section.lines.iter().filter(|line| !line.conditional) {
            let Some(used) = UseBackend::from_line(line) else { continue };
            if used.dynamic || known.contains(used.target.as_str()) {
                continue;
            }
            let message = format!("There is no backend '{}'.", used.target);
            let near = known.iter().find(|name| name.eq_ignore_ascii_case(&used.target));
            problems.push(Problem::at(Code::UndefinedBackend, line, 1, message).help(match near {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("add a section 'backend {}', or correct the name", used.target),
            }));
        }
    }
}

fn userlists(document: &Document<'_>, problems: &mut Vec<Problem>) {
    if !document.text.contains("http_auth")
        || has_unknown_name(document, |kind| *kind == SectionKind::Userlist)
    {
        return;
    }
    let lists = document.sections.iter().filter(|section| section.kind == SectionKind::Userlist);
    let known: HashSet<&str> = lists.map(|section| section.name.as_ref()).collect();
    let proxies = document.sections.iter().filter(|section| section.kind.is_proxy());
    for line in proxies.flat_map(|section| &section.lines).filter(|line| !line.conditional) {
        for (at, name) in userlists_named(line) {
            if !known.contains(name) {
                let message = format!("There is no userlist '{name}'.");
                let help = format!("add a section 'userlist {name}', or correct the name");
                problems.push(Problem::at(Code::UndefinedUserlist, line, at, message).help(help));
            }
        }
    }
}

/// The userlists that a line names, with the positions of their words.
pub(super) fn userlists_named<'l>(line: &'l Line<'_>) -> impl Iterator<Item = (usize, &'l str)> {
    let words = line.words.iter().enumerate().filter(|(_, word)| !word.has_variable);
    words.filter_map(|(at, word)| {
        let starts = ["http_auth(", "http_auth_group("];
        let name = starts.iter().find_map(|start| word.value.strip_prefix(start))?;
        Some((at, name.split([',', ')']).next().unwrap_or_default()))
    })
}

fn missing_files(document: &Document<'_>, is_there: &dyn Fn(&str) -> bool, problems: &mut Vec<Problem>) {
    let mut bases = Bases::default();
    bases.read(document);
    for file in files_needed(document, &bases) {
        if is_there(&file.path) {
            continue;
        }
        let message = format!("The {} '{}' is not there.", noun(file.kind), file.path);
        let help = "render it as a file of this configuration, or correct the name";
        problems.push(Problem::new(Code::MissingFile, file.line, file.column, message).help(help));
    }
}

/// The files without which HAProxy does not start.
pub(super) fn files_needed(document: &Document<'_>, bases: &Bases) -> impl Iterator<Item = FileReference> {
    let conditional: HashSet<usize> =
        document.lines().filter(|line| line.conditional).map(|line| line.number).collect();
    let files = file_references_below(document, bases).into_iter();
    files.filter(move |file| !file.optional && !conditional.contains(&file.line))
}

fn noun(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Map => "map",
        FileKind::Acl => "pattern file",
        FileKind::ErrorFile => "error file",
        FileKind::Body | FileKind::Format => "response body",
        FileKind::Certificate => "certificate",
        FileKind::Key => "key",
        FileKind::CrtList => "crt-list",
        FileKind::Ca => "CA file",
        FileKind::Crl => "revocation list",
        FileKind::Code | FileKind::Other => "file",
    }
}
