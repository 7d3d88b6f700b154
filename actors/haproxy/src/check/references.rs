//! Names of things elsewhere: backends, userlists, files.

use std::collections::HashSet;

use crate::document::{Document, SectionKind};
use crate::problem::{Code, Problem};
use crate::views::{FileKind, UseBackend, backend_names, file_references};

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
    let header_varies = |word: Option<&crate::document::Word<'_>>| word.is_some_and(|word| word.has_variable);
    document.sections.iter().any(|section| {
        is_kind(&section.kind) && header_varies(section.header.as_ref().and_then(|h| h.words.get(1)))
    })
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
        for (at, word) in line.words.iter().enumerate().filter(|(_, word)| !word.has_variable) {
            let starts = ["http_auth(", "http_auth_group("];
            let Some(name) = starts.iter().find_map(|start| word.value.strip_prefix(start)) else { continue };
            let name = name.split([',', ')']).next().unwrap_or_default();
            if !known.contains(name) {
                let message = format!("There is no userlist '{name}'.");
                let help = format!("add a section 'userlist {name}', or correct the name");
                problems.push(Problem::at(Code::UndefinedUserlist, line, at, message).help(help));
            }
        }
    }
}

fn missing_files(document: &Document<'_>, is_there: &dyn Fn(&str) -> bool, problems: &mut Vec<Problem>) {
    let conditional: HashSet<usize> =
        document.lines().filter(|line| line.conditional).map(|line| line.number).collect();
    for file in file_references(document) {
        if file.optional || conditional.contains(&file.line) || is_there(&file.path) {
            continue;
        }
        let message = format!("The {} '{}' is not there.", noun(file.kind), file.path);
        let help = "render it as a file of this configuration, or correct the name";
        problems.push(Problem::new(Code::MissingFile, file.line, file.column, message).help(help));
    }
}

fn noun(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Map => "map",
        FileKind::Acl => "pattern file",
        FileKind::ErrorFile => "error file",
        FileKind::Body => "response body",
        FileKind::Certificate => "certificate",
        FileKind::Key => "key",
        FileKind::CrtList => "crt-list",
        FileKind::Ca => "CA file",
        FileKind::Crl => "revocation list",
        FileKind::Other => "file",
    }
}
