//! Lines that reach beyond HAProxy's own files and processes: commands, scripts, files of others.

use super::{Bases, ReferenceKind, file_references_below};
use crate::document::{Document, Line, SectionKind};
use haptic_model::crd::Allowance;

/// Something on a line that needs an [`Allowance`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivilegedUses {
    /// The one that it needs.
    pub needs: Allowance,
    /// The word: a keyword, or the file's path.
    pub word: String,
    /// The path, where it is a file that may be the configuration's own all the same.
    pub is_file: bool,
    /// Line number, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
}

/// All that reaches beyond, also on lines inside `.if`. What stands in an environment variable is not known.
pub fn privileged_uses(document: &Document<'_>, bases: &Bases) -> Vec<PrivilegedUses> {
    let mut found = Vec::new();
    for section in &document.sections {
        found.extend(section.lines.iter().filter_map(|line| by_keyword(&section.kind, line)));
    }
    for file in file_references_below(document, bases) {
        if is_readable(file.kind) && leaves(&file.path) {
            let (needs, word) = (Allowance::OutsideFiles, file.path);
            found.push(PrivilegedUses { needs, word, is_file: true, line: file.line, column: file.column });
        }
    }
    found
}

fn by_keyword(section: &SectionKind, line: &Line<'_>) -> Option<PrivilegedUses> {
    let at = usize::from(matches!(line.keyword(), "no" | "default"));
    let needs = match (section, line.value(at)) {
        (_, "lua-load" | "lua-load-per-thread") if line.words.len() == at + 2 => {
            return by_word(line, at + 1, Allowance::Lua)
                .map(|found| PrivilegedUses { is_file: true, ..found });
        }
        (_, "lua-load" | "lua-load-per-thread" | "lua-prepend-path") => Allowance::Lua,
        // `no insecure-fork-wanted` protects.
        (_, "insecure-fork-wanted" | "insecure-setuid-wanted") if at == 0 => Allowance::Insecure,
        (_, "external-check") => Allowance::ExternalChecks,
        (section, "option") if section.is_proxy() && at == 0 && line.value(1) == "external-check" => {
            return by_word(line, 1, Allowance::ExternalChecks);
        }
        (SectionKind::Global, "default-path") if line.value(1) != "config" => Allowance::OutsideFiles,
        _ => return None,
    };
    by_word(line, at, needs)
}

fn by_word(line: &Line<'_>, at: usize, needs: Allowance) -> Option<PrivilegedUses> {
    let word = line.words.get(at)?;
    Some(PrivilegedUses {
        needs,
        word: word.value.to_string(),
        is_file: false,
        line: line.number,
        column: word.column,
    })
}

/// Whether a client can come to see what is in the file. A key or an authority is only used, and must be one.
fn is_readable(kind: ReferenceKind) -> bool {
    matches!(
        kind,
        ReferenceKind::Map
            | ReferenceKind::Acl
            | ReferenceKind::ErrorFile
            | ReferenceKind::Body
            | ReferenceKind::Format
    )
}

/// Whether a path may lead out of the configuration's folder.
fn leaves(path: &str) -> bool {
    path.starts_with('/') || path.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(text: &str) -> Vec<Allowance> {
        let document = Document::parse(text);
        privileged_uses(&document, &Bases::default()).into_iter().map(|used| used.needs).collect()
    }

    #[test]
    fn what_starts_commands_and_scripts_is_found() {
        for (text, expected) in [
            ("global\n lua-load x.lua\n", vec![Allowance::Lua]),
            ("global\n lua-load-per-thread x.lua\n", vec![Allowance::Lua]),
            ("global\n lua-prepend-path /x/?.lua\n", vec![Allowance::Lua]),
            ("global\n.if defined(X)\n \"lua-load\" x.lua\n.endif\n", vec![Allowance::Lua]),
            ("global\n external-check\n", vec![Allowance::ExternalChecks]),
            (
                "backend b\n option external-check\n external-check command /bin/sh\n",
                vec![Allowance::ExternalChecks; 2],
            ),
            ("global\n insecure-fork-wanted\n insecure-setuid-wanted\n", vec![Allowance::Insecure; 2]),
            ("global\n no insecure-fork-wanted\nbackend b\n no option external-check\n", vec![]),
            ("global\n default-path config\n", vec![]),
            ("global\n default-path origin /etc\n", vec![Allowance::OutsideFiles]),
            ("backend lua-load\n description program\n", vec![]),
        ] {
            assert_eq!(needs(text), expected, "{text}");
        }
    }

    #[test]
    fn files_that_a_client_may_come_to_see_stay_inside() {
        for (line, is_found) in [
            ("errorfile 503 general/503.http", false),
            ("errorfile 503 /etc/passwd", true),
            ("errorfile 503 general/../../x", true),
            ("http-request return status 200 content-type text/plain lf-file /proc/self/environ", true),
            ("http-request return status 200 content-type text/plain file opt@/x", true),
            ("use_backend %[path,map(/etc/passwd,b)]", true),
            ("use_backend %[path,map(file@/etc/passwd)]", true),
            ("acl x path -f /etc/passwd", true),
            ("server s 10.0.0.1:443 ssl ca-file /etc/ssl/certs/ca-certificates.crt", false),
            ("http-response set-header X %[path,map(/x)]", true),
            ("http-response set-header X %{+Q}[path,map(/x)]", true),
            ("http-request replace-path ^/map(/.*)$ %[path,map(/x)]", true),
            ("http-request return status 200 content-type text/plain lf-string %[path,map(/x)]", true),
            ("http-request deny if { path_reg ^/map(/.*)$ } { path,map(/x) -m found }", true),
            ("acl a path,map(/x) -m found", true),
            ("acl a path -m reg ^/map(/.*)$ -f /x", true),
        ] {
            assert_eq!(!needs(&format!("listen l\n {line}\n")).is_empty(), is_found, "{line}");
        }
    }

    #[test]
    fn a_text_that_looks_like_the_name_of_a_file_is_none() {
        for line in [
            r"http-request replace-path ^/map(/.*)$ /\1",
            r"http-request replace-pathq ^/map(/.*)$ /\1",
            "http-request replace-header X map(/x) y",
            "http-response set-header X 'see map(/x)'",
            "http-response set-header X %%[path,map(/x)]",
            "http-request redirect location https://a.example/map(/x)",
            "http-request deny if { path_reg ^/map(/.*)$ }",
            "acl a path -m reg ^/map(/.*)$",
            "http-request auth realm 'see map(/x)'",
            "http-request return status 200 content-type text/plain string 'see map(/x)'",
        ] {
            assert_eq!(needs(&format!("listen l\n {line}\n")), [], "{line}");
        }
    }
}
