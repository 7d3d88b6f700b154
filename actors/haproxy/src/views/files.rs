//! Every file a configuration names, wherever on a line its name stands.

use std::borrow::Cow;

use crate::document::{Document, Line, Section, SectionKind};
use crate::expressions::{Calls, WordFormat, answers, calls, embedded, places};

/// A file that a configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReference {
    /// What HAProxy reads from it.
    pub kind: ReferenceKind,
    /// As HAProxy will look for it: with `crt-base` or `ca-base` before a relative name, without `file@`.
    pub path: String,
    /// Line number, from 1.
    pub line: usize,
    /// Column of the word in bytes, from 1.
    pub column: usize,
    /// Whether HAProxy starts without it (`opt@`), or may: the name stands where it is perhaps only text.
    pub optional: bool,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReferenceKind {
    /// A map: `map(…)` and its relatives, `-M -f`, `set-map(…)`.
    Map,
    /// Patterns of an ACL: `-f`, `add-acl(…)`.
    Acl,
    /// A whole HTTP response: `errorfile`.
    ErrorFile,
    /// The body of a response: `return … file`.
    Body,
    /// The same as a log-format: `lf-file`.
    Format,
    /// A certificate with its key, or a directory of them: `crt`, `load crt`.
    Certificate,
    /// A key apart from its certificate: `load … key`.
    Key,
    /// `crt-list`.
    CrtList,
    /// Certificates of authorities: `ca-file`, `ca-verify-file`.
    Ca,
    /// A revocation list: `crl-file`.
    Crl,
    /// What HAProxy executes, or what says what it does: Lua, the configuration of SPOE.
    Code,
    /// Another file of `global` or `bind`: Diffie-Hellman parameters, ticket keys.
    Other,
}

/// All files a document names, in the order of the text. Paths with an environment variable, names of a
/// `crt-store` (`@store/name`) and virtual maps (`virt@`) are left out: they cannot be looked up.
pub fn file_references(document: &Document<'_>) -> Vec<FileReference> {
    let mut bases = Bases::default();
    bases.read(document);
    file_references_below(document, &bases)
}

/// The same for a part of a configuration, with the directories that the whole of it sets.
pub fn file_references_below(document: &Document<'_>, bases: &Bases) -> Vec<FileReference> {
    let mut collector = Collector::new(bases);
    for section in &document.sections {
        collector.bases = Cow::Borrowed(bases);
        if section.kind == SectionKind::CrtStore {
            collector.bases.to_mut().take(section);
        }
        for line in &section.lines {
            collector.line(&section.kind, line);
        }
    }
    let mut found: Vec<_> = collector.found.into_iter().map(|found| found.reference).collect();
    found.sort_by_key(|file| (file.line, file.column));
    found
}

/// The directories that `global` and `crt-store` set for relative names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bases {
    crt: Option<String>,
    key: Option<String>,
    ca: Option<String>,
}

impl Bases {
    /// Takes in what the `global` sections of a document set, over what was set before.
    pub fn read(&mut self, document: &Document<'_>) {
        document
            .sections
            .iter()
            .filter(|section| section.kind == SectionKind::Global)
            .for_each(|section| self.take(section));
    }

    fn take(&mut self, section: &Section<'_>) {
        for line in &section.lines {
            let value = line.words.get(1).filter(|word| !word.has_variable);
            let value = value.map(|word| word.value.to_string());
            match line.keyword() {
                "crt-base" => self.crt = value,
                "key-base" => self.key = value,
                "ca-base" => self.ca = value,
                _ => {}
            }
        }
    }
}

/// A reference, and where its name is written.
pub(super) struct NamedFile {
    pub reference: FileReference,
    /// The number of the word on its line.
    pub word: usize,
    /// Where in the word's value the name may begin.
    pub from: usize,
    /// Whether HAProxy surely reads a name there: it is no text that looks like one.
    pub certain: bool,
}

pub(super) struct Collector<'b> {
    bases: Cow<'b, Bases>,
    pub found: Vec<NamedFile>,
}

/// What is known of a name before it is read.
struct NameContext {
    kind: ReferenceKind,
    needed: bool,
    certain: bool,
}

impl<'b> Collector<'b> {
    pub fn new(bases: &'b Bases) -> Self {
        Self { bases: Cow::Borrowed(bases), found: Vec::new() }
    }
}

impl Collector<'_> {
    pub fn line(&mut self, section: &SectionKind, line: &Line<'_>) {
        match line.keyword() {
            "" => {}
            "server" | "default-server" => self.parameters(line, 3.min(line.words.len())),
            "bind" | "default-bind" => self.parameters(line, 1),
            "errorfile" => self.word(ReferenceKind::ErrorFile, line, 2),
            "load" if *section == SectionKind::CrtStore => self.store_entry(line),
            "lua-load" | "lua-load-per-thread" => self.word(ReferenceKind::Code, line, 1),
            "filter" if line.value(1) == "spoe" => {
                let at = line.words.iter().position(|word| word.value == "config");
                self.word(ReferenceKind::Code, line, at.map_or(usize::MAX, |at| at + 1));
            }
            "ssl-dh-param-file" | "h1-case-adjust-file" => self.word(ReferenceKind::Other, line, 1),
            _ => {
                self.patterns(section, line);
                self.bodies(line);
                self.names_in_parentheses(section, line);
            }
        }
        if matches!(line.keyword(), "server" | "default-server" | "bind") {
            self.names_in_parentheses(section, line);
        }
    }

    /// `crt`, `ca-file` and the like of `bind` and `server` lines.
    fn parameters(&mut self, line: &Line<'_>, from: usize) {
        for at in from..line.words.len() {
            let kind = match line.value(at) {
                "crt" | "default-crt" => ReferenceKind::Certificate,
                "crt-list" => ReferenceKind::CrtList,
                "ca-file" | "ca-verify-file" | "ca-sign-file" => ReferenceKind::Ca,
                "crl-file" => ReferenceKind::Crl,
                "tls-ticket-keys" => ReferenceKind::Other,
                _ => continue,
            };
            self.word(kind, line, at + 1);
        }
    }

    /// `load crt a.pem key a.key ocsp … issuer …` of a `crt-store`. What `acme` will fetch need not be there.
    fn store_entry(&mut self, line: &Line<'_>) {
        let is_needed = !line.words.iter().any(|word| word.value == "acme");
        for at in 1..line.words.len() {
            let kind = match line.value(at) {
                "crt" | "ocsp" | "issuer" | "sctl" => ReferenceKind::Certificate,
                "key" => ReferenceKind::Key,
                _ => continue,
            };
            self.place(NameContext { kind, needed: is_needed, certain: true }, line, at + 1);
        }
    }

    /// `-f file` of ACLs and conditions; with `-M` the file is a map.
    fn patterns(&mut self, section: &SectionKind, line: &Line<'_>) {
        if !line.words.iter().any(|word| word.value == "-f") {
            return;
        }
        let mut needed = Vec::new();
        places(section, line, &mut |at, reading| {
            if reading == WordFormat::Acl {
                needed.extend(pattern_files(line, at + 1));
            }
        });
        let mut is_map = false;
        for at in 1..line.words.len() {
            match line.value(at) {
                "-M" => is_map = true,
                "-f" => {
                    let kind = if is_map { ReferenceKind::Map } else { ReferenceKind::Acl };
                    self.word_if(needed.contains(&(at + 1)), kind, line, at + 1);
                }
                "}" | "--" => is_map = false,
                _ => {}
            }
        }
    }

    /// `http-request return … file f`, `http-error … errorfile f`.
    fn bodies(&mut self, line: &Line<'_>) {
        let from = match line.keyword() {
            "http-error" => 1,
            "http-request" | "http-response" if matches!(line.value(1), "return" | "deny" | "tarpit") => 2,
            _ => return,
        };
        let mut keywords = Vec::new();
        answers(line, from, |at| keywords.push(at));
        for at in 1..line.words.len() {
            let kind = match line.value(at) {
                "file" => ReferenceKind::Body,
                "lf-file" => ReferenceKind::Format,
                "errorfile" => ReferenceKind::ErrorFile,
                "if" | "unless" => break,
                _ => continue,
            };
            self.word_if(keywords.contains(&at), kind, line, at + 1);
        }
    }

    /// `map(f)`, `map_beg(f,default)`, `set-map(f)`, `add-acl(f)` in any word. Only an expression needs its map; what an
    /// action changes may be nothing.
    fn names_in_parentheses(&mut self, section: &SectionKind, line: &Line<'_>) {
        if !line.from(1).iter().any(|word| word.value.contains('(')) {
            return;
        }
        let (needed, texts) = (maps_needed(section, line), texts(section, line));
        for (at, word) in line.words.iter().enumerate().skip(1).filter(|(at, _)| !texts.contains(at)) {
            let mut rest = word.value.as_ref();
            while let Some((before, after)) = rest.split_once('(') {
                let start =
                    before.rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
                let function = before.get(start.map_or(0, |at| at + 1)..).unwrap_or_default();
                if let Some(kind) = names_file(function) {
                    let path = argument(after);
                    let needed = needed.iter().any(|(word, map)| *word == at && *map == path);
                    let is_action =
                        start.is_none() && word.value.starts_with(function) && is_action(line, at);
                    let place = NameContext { kind, needed, certain: needed || is_action };
                    self.push(&place, path, line, at, word.value.len() - after.len());
                }
                rest = after;
            }
        }
    }

    fn word(&mut self, kind: ReferenceKind, line: &Line<'_>, at: usize) {
        self.word_if(true, kind, line, at);
    }

    fn word_if(&mut self, is_needed: bool, kind: ReferenceKind, line: &Line<'_>, at: usize) {
        self.place(NameContext { kind, needed: is_needed, certain: is_needed }, line, at);
    }

    fn place(&mut self, place: NameContext, line: &Line<'_>, at: usize) {
        if let Some(word) = line.words.get(at) {
            self.push(&place, Cow::Borrowed(&word.value), line, at, 0);
        }
    }

    /// Takes the name `path` that begins in the word `at` at or behind the byte `from` of its value.
    fn push(&mut self, place: &NameContext, path: Cow<'_, str>, line: &Line<'_>, at: usize, from: usize) {
        let Some(word) = line.words.get(at) else { return };
        let NameContext { kind, needed, certain } = *place;
        let (path, optional) = match path.split_once('@') {
            Some(("file", rest)) => (rest, false),
            Some(("opt", rest)) => (rest, true),
            Some(("" | "virt", _)) => return,
            _ => (path.as_ref(), false),
        };
        if path.is_empty() || word.has_variable {
            return;
        }
        let base = match kind {
            ReferenceKind::Key => self.bases.key.as_deref(),
            ReferenceKind::Certificate => self.bases.crt.as_deref(),
            ReferenceKind::Ca | ReferenceKind::Crl => self.bases.ca.as_deref(),
            _ => None,
        };
        let path = match base {
            Some(base) if !path.starts_with('/') => format!("{}/{path}", base.trim_end_matches('/')),
            _ => path.to_owned(),
        };
        let optional = optional || !needed;
        let reference = FileReference { kind, path, line: line.number, column: word.column, optional };
        self.found.push(NamedFile { reference, word: at, from, certain });
    }
}

/// Whether the word `at` is what a rule does.
fn is_action(line: &Line<'_>, at: usize) -> bool {
    match line.keyword() {
        "http-request" | "http-response" | "http-after-response" => at == 1,
        "tcp-request" | "tcp-response" => at == 2,
        _ => false,
    }
}

/// The words with files among the flags of an ACL, which start at `from`.
fn pattern_files(line: &Line<'_>, from: usize) -> Vec<usize> {
    let mut files = Vec::new();
    let mut at = from;
    loop {
        at += match line.value(at) {
            "-f" => {
                files.push(at + 1);
                2
            }
            "-m" | "-u" => 2,
            "-i" | "-n" | "-M" => 1,
            _ => return files,
        };
    }
}

/// The words that HAProxy certainly reads as text: patterns, regular expressions, bodies, and formats without an expression. `/map(/.*)`
/// names no file there.
fn texts(section: &SectionKind, line: &Line<'_>) -> Vec<usize> {
    let mut texts = Vec::new();
    places(section, line, &mut |at, reading| match reading {
        WordFormat::Format if !line.value(at).replace("%%", "").contains('%') => texts.push(at),
        WordFormat::Acl => {
            texts.extend((at + 1..line.words.len()).take_while(|pattern| line.value(*pattern) != "}"));
        }
        _ => {}
    });
    if !matches!(line.keyword(), "http-request" | "http-response" | "http-after-response") {
        return texts;
    }
    match line.value(1) {
        "replace-path" | "replace-pathq" | "replace-uri" => texts.push(2),
        "replace-header" | "replace-value" => texts.push(3),
        "auth" if line.value(2) == "realm" => texts.push(3),
        "return" | "deny" | "tarpit" => answers(line, 2, |at| {
            texts.extend(matches!(line.value(at), "string" | "content-type").then_some(at + 1));
        }),
        _ => {}
    }
    texts
}

/// The maps that expressions name, with the words they stand in.
fn maps_needed<'l>(section: &SectionKind, line: &'l Line<'_>) -> Vec<(usize, Cow<'l, str>)> {
    let mut needed = Vec::new();
    places(section, line, &mut |at, reading| {
        let Some(word) = line.words.get(at) else { return };
        let mut in_calls = |calls: Calls<'l>| {
            let maps = calls.filter(|call| names_file(call.name).is_some());
            needed.extend(maps.filter_map(|call| Some((at, argument(call.arguments?)))));
        };
        match reading {
            WordFormat::Format => embedded(&word.value).for_each(in_calls),
            _ => in_calls(calls(&word.value)),
        }
    });
    needed
}

/// The functions whose first argument is a file (configuration manual 4.2 and 7.3.1).
fn names_file(function: &str) -> Option<ReferenceKind> {
    match function {
        "map" | "set-map" | "del-map" => Some(ReferenceKind::Map),
        "add-acl" | "del-acl" => Some(ReferenceKind::Acl),
        _ if function.starts_with("map_") => Some(ReferenceKind::Map),
        _ => None,
    }
}

/// The first argument after an opening parenthesis, without its own quotes.
fn argument(after: &str) -> Cow<'_, str> {
    let mut quote = None;
    let end = after.find(|c: char| match (quote, c) {
        (None, ',' | ')') => true,
        (None, '"' | '\'') => {
            quote = Some(c);
            false
        }
        (Some(open), c) if open == c => {
            quote = None;
            false
        }
        _ => false,
    });
    let argument = after.get(..end.unwrap_or(after.len())).unwrap_or_default();
    if argument.contains(['"', '\'']) {
        Cow::Owned(argument.replace(['"', '\''], ""))
    } else {
        Cow::Borrowed(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(ReferenceKind, String, usize)> {
        let document = Document::parse(text);
        file_references(&document).into_iter().map(|f| (f.kind, f.path, f.line)).collect()
    }

    #[test]
    fn files_are_found_wherever_they_stand() {
        use ReferenceKind::{Acl, Body, Ca, Certificate, Code, Crl, CrtList, ErrorFile, Format, Map, Other};
        for (line, expected) in [
            ("use_backend %[req.hdr(host),lower,map(maps/hosts.map,none)]", vec![(Map, "maps/hosts.map")]),
            (
                "http-request set-var(txn.b) path,map_beg(p.map) if { src -f lan.lst }",
                vec![(Map, "p.map"), (Acl, "lan.lst")],
            ),
            ("http-request set-header X '%[path,map_str_int(\"a b.map\",1)]'", vec![(Map, "a b.map")]),
            ("acl x hdr(host) -i -M -f hosts.map", vec![(Map, "hosts.map")]),
            ("acl x src -f a.lst -f b.lst", vec![(Acl, "a.lst"), (Acl, "b.lst")]),
            ("http-request set-map(m.map) %[src] 1", vec![(Map, "m.map")]),
            ("http-request add-acl(\"a.acl\") %[src]", vec![(Acl, "a.acl")]),
            (
                "bind :443 ssl crt a.pem crt-list b.txt ca-file c.pem crl-file d.pem",
                vec![(Certificate, "a.pem"), (CrtList, "b.txt"), (Ca, "c.pem"), (Crl, "d.pem")],
            ),
            (
                "server s 1.1.1.1:443 ssl ca-file /etc/ca.pem crt client.pem",
                vec![(Ca, "/etc/ca.pem"), (Certificate, "client.pem")],
            ),
            ("server s 1.1.1.1:443 ssl ca-file @system-ca crt @store/x", vec![]),
            ("errorfile 503 errors/503.http", vec![(ErrorFile, "errors/503.http")]),
            (
                "http-request return status 200 content-type text/plain file a.txt if { path file }",
                vec![(Body, "a.txt")],
            ),
            ("http-error status 404 errorfile e.http", vec![(ErrorFile, "e.http")]),
            ("http-request set-var(txn.x) path,map(virt@x)", vec![]),
            ("http-request set-var(txn.x) path,map(opt@x.map)", vec![(Map, "x.map")]),
            ("acl x src -f \"${DIR}/x\"", vec![]),
            ("lua-load a.lua", vec![(Code, "a.lua")]),
            ("filter spoe engine e config a.spoe", vec![(Code, "a.spoe")]),
            ("ssl-dh-param-file a.pem", vec![(Other, "a.pem")]),
            ("http-request return status 200 content-type text/plain lf-file a.txt", vec![(Format, "a.txt")]),
            ("description nomap(x) -f", vec![]),
        ] {
            let expected: Vec<_> =
                expected.into_iter().map(|(kind, path)| (kind, path.to_owned(), 2)).collect();
            assert_eq!(found(&format!("listen l\n {line}\n")), expected, "{line}");
        }
    }

    #[test]
    fn relative_certificates_are_looked_up_in_their_base() {
        let text = "global\n crt-base /ssl/\n ca-base /ca\nlisten l\n bind :1 ssl crt a.pem ca-file b.pem crt /c.pem\n";
        let paths: Vec<_> = found(text).into_iter().map(|(_, path, _)| path).collect();
        assert_eq!(paths, ["/ssl/a.pem", "/ca/b.pem", "/c.pem"]);
    }
}
