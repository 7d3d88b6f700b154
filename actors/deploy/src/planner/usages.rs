//! What a configuration uses each of its files for, and so what a change of the file means to a running HAProxy.

use haptic_haproxy::{
    Document, Line, SectionKind,
    views::{FileKind, file_references},
};
use std::collections::{BTreeMap, HashSet};

/// The uses of all files that a configuration names.
#[derive(Clone, Debug, Default)]
pub(super) struct Usages {
    files: BTreeMap<String, Vec<Usage>>,
    /// Whether a file's name comes from an environment variable, so that any file may be meant.
    pub has_unknown: bool,
    /// Whether `crt-base` or a crt-store changes what names in crt-lists mean.
    pub renames_certificates: bool,
    /// Whether Lua runs, which may read any file.
    pub runs_lua: bool,
}

/// One place that uses a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    /// The line in haproxy.cfg, from 1.
    pub line: usize,
    /// What for.
    pub how: How,
}

/// What a file is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// A converter looks values up.
    Map(Match),
    /// Patterns of a condition: found or not.
    Acl,
    /// Rules change it in memory (`set-map`, `add-acl`): the file says only how it began.
    Rewritten,
    /// A list of certificates. Without `strict-sni`, its first one is the default.
    CrtList { strict_sni: bool },
    /// A certificate that a `bind` or `server` line names.
    Certificate,
    /// Read only when HAProxy starts.
    Start,
}

/// How keys of a map are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// Equal strings.
    Exact,
    /// The longest prefix.
    Prefix,
    /// The smallest network.
    Network,
    /// Numbers.
    Number,
    /// The first entry that matches (`reg sub dir dom end`).
    First,
}

impl Usages {
    /// Reads a whole configuration.
    pub fn read(document: &Document<'_>) -> Self {
        let mut usages = Self::default();
        let mut strict = HashSet::new();
        let mut servers_and_binds = HashSet::new();
        for section in &document.sections {
            for line in &section.lines {
                match line.keyword() {
                    "crt-base" | "key-base" => usages.renames_certificates = true,
                    "lua-load" | "lua-load-per-thread" => usages.runs_lua = true,
                    "bind" | "server" | "default-server" => {
                        servers_and_binds.insert(line.number);
                    }
                    _ => {}
                }
                if line.keyword() == "bind" && line.words.iter().any(|word| word.value == "strict-sni") {
                    strict.insert(line.number);
                }
                usages.take(line);
            }
            usages.renames_certificates |= section.kind == SectionKind::CrtStore;
        }
        for file in file_references(document) {
            let how = match file.kind {
                FileKind::Map | FileKind::Acl => continue,
                FileKind::CrtList => How::CrtList { strict_sni: strict.contains(&file.line) },
                FileKind::Certificate if servers_and_binds.contains(&file.line) => How::Certificate,
                _ => How::Start,
            };
            usages.add(&file.path, file.line, how);
        }
        usages
    }

    /// The uses of the file at `path`, in the order of the lines.
    pub fn of(&self, path: &str) -> &[Usage] {
        self.files.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    /// Every file that is used, with its uses.
    pub fn all(&self) -> impl Iterator<Item = (&str, &[Usage])> {
        self.files.iter().map(|(path, usages)| (path.as_str(), usages.as_slice()))
    }

    /// Whether a folder is named that `path` lies in: HAProxy loads everything in it.
    pub fn names_folder_of(&self, path: &str) -> bool {
        path.match_indices('/').any(|(end, _)| {
            let folder = path.get(..end).unwrap_or_default();
            self.files.contains_key(folder) || self.files.contains_key(&format!("{folder}/"))
        })
    }

    /// Maps and ACLs of one line.
    fn take(&mut self, line: &Line<'_>) {
        let mut before = "";
        for word in line.from(1) {
            let value: &str = &word.value;
            self.has_unknown |= word.has_variable && (value.contains("map") || before == "-f");
            if before == "-f" {
                self.add(value, line.number, How::Acl);
            }
            for (how, argument) in functions(value) {
                self.add(&argument, line.number, how);
            }
            before = value;
        }
    }

    fn add(&mut self, path: &str, line: usize, how: How) {
        let path = path.strip_prefix("file@").unwrap_or(path);
        // The socket knows an optional file by its whole name, which no file of a bundle has.
        let (path, how) = path.strip_prefix("opt@").map_or((path, how), |path| (path, How::Start));
        self.files.entry(path.to_owned()).or_default().push(Usage { line, how });
    }
}

/// Each function of a word whose first argument is a file.
fn functions(word: &str) -> Vec<(How, String)> {
    let mut found = Vec::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('(') {
        let start = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')));
        let function = before.get(start.map_or(0, |at| at + 1)..).unwrap_or_default();
        if let Some(how) = of_function(function) {
            let argument = after.split([',', ')']).next().unwrap_or_default();
            found.push((how, argument.replace(['"', '\''], "")));
        }
        rest = after;
    }
    found
}

/// Configuration manual 7.3.1 (`map`) and 4.2 (`set-map` and its relatives).
fn of_function(function: &str) -> Option<How> {
    match function {
        "set-map" | "del-map" | "add-acl" | "del-acl" => return Some(How::Rewritten),
        "map" => return Some(How::Map(Match::Exact)),
        _ => {}
    }
    let kind = function.strip_prefix("map_")?;
    Some(How::Map(match kind.split('_').next().unwrap_or(kind) {
        "str" => Match::Exact,
        "beg" => Match::Prefix,
        "ip" => Match::Network,
        "int" => Match::Number,
        _ => Match::First,
    }))
}

/// What a person calls a list of uses: the first line that uses the file.
pub(super) fn first_line(usages: &[Usage]) -> usize {
    usages.iter().map(|usage| usage.line).min().unwrap_or_default()
}

/// The matches of a map's uses; `None` when a use is no lookup.
pub(super) fn matches(usages: &[Usage]) -> Option<Vec<Match>> {
    usages
        .iter()
        .map(|usage| match usage.how {
            How::Map(kind) => Some(kind),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, path: &str) -> Vec<How> {
        let text = format!("listen l\n {line}\n");
        Usages::read(&Document::parse(&text)).of(path).iter().map(|usage| usage.how).collect()
    }

    #[test]
    fn each_use_of_a_file_is_found() {
        for (line, expected) in [
            ("use_backend %[req.hdr(host),lower,map(f,none)]", vec![How::Map(Match::Exact)]),
            ("http-request set-var(txn.b) path,map_beg(\"f\")", vec![How::Map(Match::Prefix)]),
            ("http-request set-var(txn.b) path,map_str_int(f,1)", vec![How::Map(Match::Exact)]),
            ("http-request set-var(txn.b) src,map_ip(file@f)", vec![How::Map(Match::Network)]),
            (
                "http-request set-var(txn.b) path,map_reg(f) if { src -f f }",
                vec![How::Acl, How::Map(Match::First)],
            ),
            ("http-request set-var(txn.b) path,map_dom(f)", vec![How::Map(Match::First)]),
            ("http-request set-map(f) %[src] 1", vec![How::Rewritten]),
            ("acl x hdr(host) -i -M -f f", vec![How::Acl]),
            ("bind :1 ssl crt-list f strict-sni", vec![How::CrtList { strict_sni: true }]),
            ("bind :1 ssl crt-list f", vec![How::CrtList { strict_sni: false }]),
            ("bind :1 ssl crt f", vec![How::Certificate]),
            ("bind :1 ssl crt x ca-file f", vec![How::Start]),
            ("errorfile 503 f", vec![How::Start]),
            ("use_backend %[path,map(opt@f)]", vec![How::Start]),
            ("use_backend %[path,map(virt@f)]", vec![]),
        ] {
            let mut found = of(line, "f");
            found.sort_by_key(|how| *how != How::Acl);
            assert_eq!(found, expected, "{line}");
        }
    }
}
