//! A line with other names for the files that it names.

use super::files::{Bases, Collector, NamedFile};
use crate::document::{Document, Line, SectionKind, Word};
use crate::expressions::{Calls, calls, embedded};
use std::ops::Range;

/// `line`, which stands in a section of that kind, with the names of files that `rename` gives another one; `None` where it
/// gives none. Only words that HAProxy surely reads as the name of a file are looked at, and nothing else is changed.
pub fn with_files_renamed(
    section: &SectionKind,
    line: &str,
    rename: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let document = Document::parse(line);
    let parsed = document.lines().next()?;
    let bases = Bases::default();
    let mut collector = Collector::new(&bases);
    collector.line(section, parsed);
    let named = collector.found.iter().filter(|found| found.certain).filter_map(|found| named(parsed, found));
    let mut changes: Vec<(Range<usize>, String)> = named
        .chain(base(section, parsed))
        .chain(read_later(parsed))
        .filter_map(|range| Some((range.clone(), rename(line.get(range)?)?)))
        .collect();
    changes.sort_by_key(|(range, _)| range.start);
    changes.dedup_by_key(|(range, _)| range.start);
    let mut renamed = line.to_owned();
    for (range, name) in changes.iter().rev() {
        renamed.replace_range(range.clone(), name);
    }
    (!changes.is_empty()).then_some(renamed)
}

/// Where on the line the name of `found` is.
fn named(line: &Line<'_>, found: &NamedFile) -> Option<Range<usize>> {
    written(line.words.get(found.word)?, &found.reference.path, found.from)
}

/// The folder of `crt-base` and its relatives.
fn base(section: &SectionKind, line: &Line<'_>) -> Option<Range<usize>> {
    let is_base = match section {
        SectionKind::Global => matches!(line.keyword(), "crt-base" | "ca-base" | "key-base"),
        SectionKind::CrtStore => matches!(line.keyword(), "crt-base" | "key-base"),
        _ => false,
    };
    let word = line.words.get(1).filter(|_| is_base)?;
    written(word, &word.value, 0)
}

/// Maps in expressions that HAProxy reads when it has read all lines, or that stand among parameters.
fn read_later<'l>(line: &'l Line<'l>) -> Vec<Range<usize>> {
    let formats = match line.keyword() {
        "log-format" | "log-format-sd" | "error-log-format" | "unique-id-format" => line.from(1),
        _ => &[],
    };
    let after = |keyword: &str| line.words.iter().position(|word| word.value == keyword).map(|at| at + 1);
    let sample = match line.keyword() {
        "server" | "default-server" => after("sni"),
        "balance" => after("hash"),
        _ => None,
    };
    let in_formats =
        formats.iter().flat_map(|word| embedded(&word.value).flat_map(|calls| maps(word, calls)));
    let samples = sample.and_then(|at| line.words.get(at));
    in_formats.chain(samples.into_iter().flat_map(|word| maps(word, calls(&word.value)))).collect()
}

fn maps<'l>(word: &'l Word<'l>, calls: Calls<'l>) -> impl Iterator<Item = Range<usize>> {
    let maps = calls.filter(|call| call.name == "map" || call.name.starts_with("map_"));
    maps.filter_map(|call| {
        let name = call.arguments?.split(',').next()?.trim_matches(['"', '\'']);
        written(word, name, call.start)
    })
}

/// Where on its line `name` is written, which begins in the value of `word` at or behind the byte `from`. What is written
/// with escapes is not found.
fn written(word: &Word<'_>, name: &str, from: usize) -> Option<Range<usize>> {
    if name.is_empty() || word.has_variable {
        return None;
    }
    let before = word.value.match_indices(name).take_while(|(at, _)| *at < from).count();
    let in_raw: Vec<usize> = word.raw.match_indices(name).map(|(at, _)| at).collect();
    if in_raw.len() != word.value.matches(name).count() {
        return None;
    }
    let start = word.column - 1 + in_raw.get(before)?;
    Some(start..start + name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(section: &str, line: &str) -> Option<String> {
        let kind = SectionKind::of(section).unwrap();
        let to = |name: &str| name.strip_prefix("/d/").map(|rest| format!("r/{rest}"));
        with_files_renamed(&kind, line, to)
    }

    #[test]
    fn names_of_files_are_replaced_wherever_haproxy_reads_one() {
        for (section, line, to) in [
            ("listen", "  errorfile 503 /d/503.http\n", "  errorfile 503 r/503.http\n"),
            (
                "listen",
                "use_backend %[req.hdr(host),lower,map(/d/a.map,/d/a.map)] if { src -f /d/a.map }",
                "use_backend %[req.hdr(host),lower,map(r/a.map,/d/a.map)] if { src -f r/a.map }",
            ),
            (
                "frontend",
                "http-request set-header X '%[path,map_beg(\"/d/a b.map\",1)]' # /d/x",
                "http-request set-header X '%[path,map_beg(\"r/a b.map\",1)]' # /d/x",
            ),
            (
                "listen",
                "bind :1 ssl crt /d/a.pem crt-list /d/b ca-file /d/c crl-file /d/d",
                "bind :1 ssl crt r/a.pem crt-list r/b ca-file r/c crl-file r/d",
            ),
            (
                "backend",
                "server s 1.1.1.1:1 ssl ca-file \"/d/a\" sni req.hdr(host),map(/d/m)",
                "server s 1.1.1.1:1 ssl ca-file \"r/a\" sni req.hdr(host),map(r/m)",
            ),
            ("listen", "http-request set-map(/d/m) %[src] /d/m", "http-request set-map(r/m) %[src] /d/m"),
            ("listen", "tcp-request content add-acl(/d/m) %[src]", "tcp-request content add-acl(r/m) %[src]"),
            ("listen", "acl x path,map(opt@/d/m) -M -f file@/d/n", "acl x path,map(opt@r/m) -M -f file@r/n"),
            (
                "listen",
                "http-request return status 200 content-type a/b lf-file /d/f hdr X /d/f",
                "http-request return status 200 content-type a/b lf-file r/f hdr X /d/f",
            ),
            ("http-errors", "errorfile 404 /d/4", "errorfile 404 r/4"),
            ("listen", "log-format \"%[path,map(/d/m)]\"", "log-format \"%[path,map(r/m)]\""),
            ("listen", "balance hash path,map(/d/m)", "balance hash path,map(r/m)"),
            ("global", "crt-base /d/ssl", "crt-base r/ssl"),
            ("crt-store", "load crt /d/a key /d/b acme x", "load crt r/a key r/b acme x"),
            ("listen", "errorfile\t503   /d/503.http\r\n", "errorfile\t503   r/503.http\r\n"),
        ] {
            assert_eq!(renamed(section, line).as_deref(), Some(to), "{line}");
        }
    }

    #[test]
    fn what_is_only_text_stays() {
        for (section, line) in [
            ("listen", "http-request return status 200 content-type a/b string \"map(/d/a.map)\""),
            ("listen", "http-request set-header X /d/a.map"),
            ("listen", "http-request set-header X map(/d/a.map)"),
            ("listen", "description crt /d/a.pem -f /d/b"),
            ("listen", "# errorfile 503 /d/503.http"),
            ("listen", "errorfile 503 /e/503.http"),
            ("listen", "errorfile 503 /d\\x2f503.http"),
            ("listen", "errorfile 503 \"/d/$X\""),
            ("listen", "acl x path /d/a -f"),
            ("listen", "use_backend x if { path -m str -- -f /d/a }"),
            ("listen", "crt-base /d/ssl"),
            ("listen", ""),
        ] {
            assert_eq!(renamed(section, line), None, "{line}");
        }
    }
}
