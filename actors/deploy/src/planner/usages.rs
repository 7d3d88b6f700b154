//! What a configuration uses each of its files for, and so what a change of the file means to a running HAProxy.

use haptic_haproxy::{
    Document, Line, SectionKind,
    views::{Bases, ReferenceKind, file_references_below},
};
use imbl::OrdMap;
use std::collections::HashSet;

/// The uses of all files that a configuration names.
#[derive(Clone, Debug, Default)]
pub(super) struct Usages {
    files: OrdMap<String, Vec<Usage>>,
    unknown: u32,
    renaming: u32,
    lua: u32,
    /// Whether `crt-base` or a crt-store changes what names in crt-lists mean.
    pub renames_certificates: bool,
}

/// One way in which a file is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    /// What for.
    pub how: How,
    /// At how many places.
    pub places: u32,
}

/// What one part of a configuration says of files.
#[derive(Debug, Default)]
struct PartUses {
    /// Path, line in this part from 1, and what for.
    files: Vec<(String, usize, How)>,
    unknown: u32,
    renaming: u32,
    lua: u32,
}

/// What a file is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum How {
    /// A converter looks values up.
    Map(KeyMatch),
    /// Patterns of a condition: found or not.
    Acl,
    /// Rules change it in memory (`set-map`, `add-acl`): the file says only how it began.
    Rewritten,
    /// A list of certificates. Without `strict-sni`, its first one is the default.
    CrtList { strict_sni: bool },
    /// A certificate that a `bind` or `server` line names.
    Certificate,
    /// The authorities that a `server` or `bind` line verifies with.
    Authority { of_server: bool },
    /// Read only when HAProxy starts.
    Start,
}

/// How keys of a map are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum KeyMatch {
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
    /// Adds what a part of a configuration uses (`by` is 1), or takes it away (-1). Returns whether it uses any file.
    pub fn count(&mut self, document: &Document<'_>, bases: &Bases, by: i32) -> bool {
        let PartUses { files, unknown, renaming, lua } = PartUses::of(document, bases);
        let shift = |count: &mut u32, of: u32| *count = count.saturating_add_signed(by * of.cast_signed());
        shift(&mut self.unknown, unknown);
        shift(&mut self.renaming, renaming);
        shift(&mut self.lua, lua);
        self.renames_certificates = self.renaming > 0;
        let uses_any = !files.is_empty();
        for (path, _, how) in files {
            self.change(path, how, by);
        }
        uses_any
    }

    fn change(&mut self, path: String, how: How, by: i32) {
        let mut ways = self.files.get(&path).cloned().unwrap_or_default();
        match ways.iter_mut().find(|usage| usage.how == how) {
            Some(usage) => usage.places = usage.places.saturating_add_signed(by),
            None => ways.push(Usage { how, places: u32::from(by > 0) }),
        }
        ways.retain(|usage| usage.places > 0);
        // The same whatever came first.
        ways.sort_unstable_by_key(|usage| usage.how);
        if ways.is_empty() { _ = self.files.remove(&path) } else { _ = self.files.insert(path, ways) }
    }

    /// The ways in which the file at `path` is used.
    pub fn of(&self, path: &str) -> &[Usage] {
        self.files.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    /// Every file that is used, with the ways.
    pub fn all(&self) -> impl Iterator<Item = (&str, &[Usage])> {
        self.files.iter().map(|(path, usages)| (path.as_str(), usages.as_slice()))
    }

    /// Whether a file's name comes from an environment variable, so that any file may be meant.
    pub fn has_unknown(&self) -> bool {
        self.unknown > 0
    }

    /// Whether Lua runs, which may read any file.
    pub fn runs_lua(&self) -> bool {
        self.lua > 0
    }

    /// Whether a folder is named that `path` lies in: HAProxy loads everything in it.
    pub fn names_folder_of(&self, path: &str) -> bool {
        path.match_indices('/').any(|(end, _)| {
            let folder = path.get(..end).unwrap_or_default();
            self.files.contains_key(folder) || self.files.contains_key(&format!("{folder}/"))
        })
    }
}

/// The maps and lists that lines of a part of a configuration look into, in their order, each with its line from 1.
pub(super) fn lookups(document: &Document<'_>) -> impl Iterator<Item = (String, usize)> {
    let mut uses = PartUses::default();
    document.sections.iter().flat_map(|section| &section.lines).for_each(|line| uses.take(line));
    uses.files.into_iter().map(|(path, line, _)| (path, line))
}

impl PartUses {
    fn of(document: &Document<'_>, bases: &Bases) -> Self {
        let mut uses = Self::default();
        let mut strict = HashSet::new();
        let (mut servers_and_binds, mut binds, mut others) = (HashSet::new(), HashSet::new(), HashSet::new());
        for section in &document.sections {
            for line in &section.lines {
                match line.keyword() {
                    "crt-base" | "key-base" => uses.renaming += 1,
                    "lua-load" | "lua-load-per-thread" => uses.lua += 1,
                    "bind" | "server" | "default-server" => {
                        servers_and_binds.insert(line.number);
                        if line.keyword() == "bind" {
                            binds.insert(line.number);
                        }
                        // The socket changes neither of these.
                        let is_other = |word: &str| matches!(word, "ca-verify-file" | "ca-sign-file");
                        if line.words.iter().any(|word| is_other(&word.value)) {
                            others.insert(line.number);
                        }
                    }
                    _ => {}
                }
                if line.keyword() == "bind" && line.words.iter().any(|word| word.value == "strict-sni") {
                    strict.insert(line.number);
                }
                uses.take(line);
            }
            uses.renaming += u32::from(section.kind == SectionKind::CrtStore);
        }
        for file in file_references_below(document, bases) {
            let how = match file.kind {
                ReferenceKind::Map | ReferenceKind::Acl => continue,
                ReferenceKind::CrtList => How::CrtList { strict_sni: strict.contains(&file.line) },
                ReferenceKind::Ca
                    if servers_and_binds.contains(&file.line) && !others.contains(&file.line) =>
                {
                    How::Authority { of_server: !binds.contains(&file.line) }
                }
                ReferenceKind::Certificate if servers_and_binds.contains(&file.line) => How::Certificate,
                _ => How::Start,
            };
            uses.add(&file.path, file.line, how);
        }
        uses
    }

    /// Maps and ACLs of one line.
    fn take(&mut self, line: &Line<'_>) {
        let mut before = "";
        for word in line.from(1) {
            let value: &str = &word.value;
            self.unknown += u32::from(word.has_variable && (value.contains("map") || before == "-f"));
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
        self.files.push((path.to_owned(), line, how));
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
        "map" => return Some(How::Map(KeyMatch::Exact)),
        _ => {}
    }
    let kind = function.strip_prefix("map_")?;
    Some(How::Map(match kind.split('_').next().unwrap_or(kind) {
        "str" => KeyMatch::Exact,
        "beg" => KeyMatch::Prefix,
        "ip" => KeyMatch::Network,
        "int" => KeyMatch::Number,
        _ => KeyMatch::First,
    }))
}

/// The matches of a map's uses; `None` when a use is no lookup.
pub(super) fn matches(usages: &[Usage]) -> Option<Vec<KeyMatch>> {
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
        let mut usages = Usages::default();
        let document = Document::parse(&text);
        usages.count(&document, &Bases::default(), 1);
        let found = usages.of(path).iter().map(|usage| usage.how).collect();
        usages.count(&document, &Bases::default(), -1);
        assert_eq!(usages.all().count(), 0, "what is taken away is gone");
        found
    }

    #[test]
    fn each_use_of_a_file_is_found() {
        for (line, expected) in [
            ("use_backend %[req.hdr(host),lower,map(f,none)]", vec![How::Map(KeyMatch::Exact)]),
            ("http-request set-var(txn.b) path,map_beg(\"f\")", vec![How::Map(KeyMatch::Prefix)]),
            ("http-request set-var(txn.b) path,map_str_int(f,1)", vec![How::Map(KeyMatch::Exact)]),
            ("http-request set-var(txn.b) src,map_ip(file@f)", vec![How::Map(KeyMatch::Network)]),
            (
                "http-request set-var(txn.b) path,map_reg(f) if { src -f f }",
                vec![How::Acl, How::Map(KeyMatch::First)],
            ),
            ("http-request set-var(txn.b) path,map_dom(f)", vec![How::Map(KeyMatch::First)]),
            ("http-request set-map(f) %[src] 1", vec![How::Rewritten]),
            ("acl x hdr(host) -i -M -f f", vec![How::Acl]),
            ("bind :1 ssl crt-list f strict-sni", vec![How::CrtList { strict_sni: true }]),
            ("bind :1 ssl crt-list f", vec![How::CrtList { strict_sni: false }]),
            ("bind :1 ssl crt f", vec![How::Certificate]),
            ("bind :1 ssl crt x ca-file f", vec![How::Authority { of_server: false }]),
            ("server s 1.1.1.1:1 ssl ca-file f", vec![How::Authority { of_server: true }]),
            ("bind :1 ssl crt x ca-file f ca-verify-file g", vec![How::Start]),
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
