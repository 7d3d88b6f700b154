//! How the API writes a configuration that it was sent: sections by kind and name, lines by keyword. Its losses are part of it.

use super::rules;
use haptic_haproxy::{Document, Line, Section, SectionKind};
use haptic_text::Digest;
use std::collections::HashMap;

/// A line of more bytes ends what its scanner reads.
const SCANNED: usize = 64 << 10;
/// The order of sections.
const KINDS: &[&str] = &[
    "global",
    "defaults",
    "userlist",
    "peers",
    "mailers",
    "resolvers",
    "cache",
    "ring",
    "traces",
    "log-forward",
    "log-profile",
    "http-errors",
    "healthcheck",
    "acme",
    "crt-store",
    "fcgi-app",
    "frontend",
    "backend",
    "listen",
];
/// The order of keywords; others stay in their order between the last of the first line and the first of the second.
const FIRST: &[&str] = &["setenv", "mode", "maxconn", "bind", "hash-type", "balance", "acl"];
const LAST: &[&str] = &[
    "log",
    "option",
    "http-check",
    "timeout",
    "default-server",
    "stick",
    "filter",
    "tcp-request",
    "stats",
    "http-request",
    "unique-id-format",
    "cookie",
    "use-server",
    "errorfile",
    "use_backend",
    "default_backend",
    "stick-table",
    "server",
    "retries",
    "tcp-response",
    "http-response",
    "http-after-response",
    "server-template",
    "retry-on",
];

/// Of several the last one stays.
const KEPT_ONCE: &str = "lua-load-per-thread";

/// `text` as an API 3.`minor` writes it into the file of `version`, with its checksum.
pub fn write(text: &str, version: u64, minor: u16) -> (String, String) {
    let body = rewritten(text, minor);
    let head = format!("# _version={version}\n");
    let checksum: String =
        Digest::of(format!("{head}{body}").as_bytes()).to_string().chars().take(32).collect();
    (format!("# _md5hash={checksum}\n{head}{body}"), checksum)
}

/// The version that a file says it has.
pub fn version_of(text: &str) -> Option<u64> {
    text.lines().take(3).find_map(|line| line.strip_prefix("# _version="))?.trim().parse().ok()
}

/// The checksum that a file says it has.
pub fn checksum_of(text: &str) -> Option<&str> {
    text.lines().next()?.strip_prefix("# _md5hash=")
}

fn rewritten(text: &str, minor: u16) -> String {
    let scanned: String = text.split_inclusive('\n').take_while(|line| line.len() < SCANNED).collect();
    let document = Document::parse(&scanned);
    let mut written = leading_comments(&document);
    let is_unnamed = |section: &Section<'_>| section.kind == SectionKind::Defaults && section.name.is_empty();
    // Of two of a name the later stays.
    let mut named: HashMap<(&str, String), &Section<'_>> = HashMap::new();
    let mut number = 0;
    for section in document.sections.iter().filter(|section| section.header.is_some()) {
        let mut name = section.name.to_string();
        if is_unnamed(section) {
            number += 1;
            name = format!("unnamed_defaults_{number}");
        }
        named.insert((section.kind.name(), name), section);
    }
    let mut sections: Vec<_> = named.into_iter().map(|((_, name), section)| (name, section)).collect();
    let rank = |section: &Section<'_>| KINDS.iter().position(|kind| *kind == section.kind.name());
    sections.sort_by(|(a, one), (b, other)| rank(one).cmp(&rank(other)).then_with(|| a.cmp(b)));
    for (name, section) in sections {
        written.push('\n');
        written.push_str(section.kind.name());
        if !name.is_empty() {
            written.push_str(&format!(" {name}"));
        }
        if let Some(from) = &section.from {
            written.push_str(&format!(" from {from}"));
        }
        written.push('\n');
        lines(section, minor, &mut written);
    }
    written
}

fn leading_comments(document: &Document<'_>) -> String {
    let Some(first) = document.sections.first().filter(|section| section.header.is_none()) else {
        return String::new();
    };
    let is_kept = |line: &&Line<'_>| {
        let text = line.text().trim();
        text.starts_with('#') && !text.starts_with("# _version=") && !text.starts_with("# _md5hash=")
    };
    first.lines.iter().filter(is_kept).map(|line| format!("{}\n", line.text().trim())).collect()
}

fn lines(section: &Section<'_>, minor: u16, written: &mut String) {
    // Comments go with the line after them.
    let mut groups: Vec<((usize, bool), String)> = Vec::new();
    let mut waiting = String::new();
    let only_one = section.lines.iter().rfind(|line| line.keyword() == KEPT_ONCE).map(|line| line.number);
    for line in &section.lines {
        let text = line.text().trim();
        if text.is_empty() || line.keyword() == KEPT_ONCE && only_one != Some(line.number) {
            continue;
        }
        // A listen section is text for it.
        let rule = rules::rewritten(line, minor).filter(|_| section.kind != SectionKind::Listen);
        let is_unread = rule.as_ref().is_some_and(|rule| rule.is_unread);
        let text = rule.map_or_else(|| text.replace('\t', " "), |rule| rule.text);
        waiting.push_str(&format!("  {text}\n"));
        if !line.words.is_empty() {
            groups.push(((rank_of(section, line), is_unread), std::mem::take(&mut waiting)));
        }
    }
    groups.sort_by_key(|(rank, _)| *rank);
    groups.iter().for_each(|(_, text)| written.push_str(text));
    written.push_str(&waiting);
}

fn rank_of(section: &Section<'_>, line: &Line<'_>) -> usize {
    let keyword = line.keyword();
    if section.kind == SectionKind::Listen {
        return 0;
    }
    let first = FIRST.iter().position(|first| *first == keyword);
    let last = LAST.iter().position(|last| *last == keyword).map(|last| 100 + last);
    first.or(last).unwrap_or(if keyword.starts_with('.') { 1000 } else { 50 })
}
