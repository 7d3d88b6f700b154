//! What HAProxy's Data Plane API makes of a configuration that is sent to it: it reads it with a parser of its own and
//! writes it anew, sections sorted by kind and name, lines grouped by keyword. What that would damage without a word is
//! found here, before anything is sent; and whether it was damaged after all, in what comes back.
//!
//! Measured on its versions 3.0, 3.2 and 3.4. Where they differ, what any of them damages is refused.

mod rules;

use crate::{
    document::{Document, Line, Section, SectionKind},
    problem::{Code, Problem},
};
use std::collections::{BTreeMap, HashMap};

/// The most bytes of one file that were seen to pass through it whole.
pub const LARGEST: usize = 20_000_000;
/// A longer line, with its indentation and end, ends the file for its parser: all from there on is dropped.
const LONGEST_LINE: usize = 65_000;
/// Lines of these words are carried out in the order in which they are written, which must therefore stay.
const ORDERED: &[&str] = &[
    "http-request",
    "http-response",
    "http-after-response",
    "tcp-request",
    "tcp-response",
    "http-check",
    "tcp-check",
    "use_backend",
    "use-server",
    "stick",
    "filter",
];
/// Lines of these words may change their places, and must all be there. Of a server or a listener it drops what it does not know.
const KEPT: &[&str] =
    &["server", "server-template", "default-server", "bind", "acl", "cookie", "stick-table", "user"];

/// What the API would change the meaning of, in the order of the lines.
#[must_use]
pub fn refusals(document: &Document<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for line in document.lines() {
        directive(line, &mut problems);
        long(line, &mut problems);
    }
    large(document, &mut problems);
    sections(document, &mut problems);
    inheritance(document, &mut problems);
    document.sections.iter().for_each(|section| moved(section, &mut problems));
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems
}

/// What `returned`, the API's own form of `sent`, lacks or has in another order: `backend shop: 2 server lines of 3`. `None`:
/// each section is there with all its servers, and its rules are in their order.
#[must_use]
pub fn loss(sent: &Document<'_>, returned: &Document<'_>) -> Option<String> {
    let there: HashMap<_, _> = returned.sections.iter().map(|s| ((s.kind.name(), &*s.name), s)).collect();
    let is_real = |section: &&Section<'_>| section.header.is_some();
    for section in sent.sections.iter().filter(is_real) {
        let Some(other) =
            there.get(&(section.kind.name(), &*section.name)).copied().or_else(|| unnamed(section, returned))
        else {
            return Some(format!("{} is gone", section.title()));
        };
        if let Some(what) = loss_in(section, other) {
            return Some(format!("{}: {what}", section.title()));
        }
    }
    let count = |document: &Document<'_>| document.sections.iter().filter(is_real).count();
    let (ours, theirs) = (count(sent), count(returned));
    (ours != theirs).then(|| format!("{theirs} sections instead of {ours}"))
}

/// The only defaults section, when it has no name: the API gives it one.
fn unnamed<'d, 'a>(section: &Section<'_>, returned: &'d Document<'a>) -> Option<&'d Section<'a>> {
    let is_defaults = |other: &&Section<'_>| other.kind == SectionKind::Defaults;
    (section.kind == SectionKind::Defaults && section.name.is_empty())
        .then(|| returned.sections.iter().find(is_defaults))?
}

fn loss_in(sent: &Section<'_>, returned: &Section<'_>) -> Option<String> {
    let (ours, theirs) = (by_keyword(sent), by_keyword(returned));
    for (keyword, lines) in &ours {
        let others = theirs.get(keyword).map(Vec::as_slice).unwrap_or_default();
        if lines.len() != others.len() {
            return Some(format!("{} {keyword} lines of {}", others.len(), lines.len()));
        }
        if lines.iter().zip(others).all(|(a, b)| rules::same(a, b)) {
            continue;
        }
        if ORDERED.contains(keyword) {
            return Some(format!("its {keyword} lines are in another order"));
        }
        if !are_the_same(lines, others) {
            return Some(format!("its {keyword} lines have lost words"));
        }
    }
    None
}

/// Whether each of `lines` is among `others`, as many of which there are.
fn are_the_same(lines: &[&Line<'_>], others: &[&Line<'_>]) -> bool {
    let mut left: Vec<_> = others.iter().collect();
    lines.iter().all(|line| {
        let found = left.iter().position(|other| rules::same(line, other));
        found.map(|at| left.swap_remove(at)).is_some()
    })
}

fn by_keyword<'s, 'a>(section: &'s Section<'a>) -> BTreeMap<&'s str, Vec<&'s Line<'a>>> {
    let mut lines: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let matters = |line: &&Line<'_>| ORDERED.contains(&line.keyword()) || KEPT.contains(&line.keyword());
    for line in section.lines.iter().filter(matters) {
        lines.entry(line.keyword()).or_default().push(line);
    }
    lines
}

fn directive(line: &Line<'_>, problems: &mut Vec<Problem>) {
    if line.directive().is_none() {
        return;
    }
    let message = format!(
        "The Data Plane API moves '{}' to the end of a section, and then no line depends on it any more.",
        line.keyword()
    );
    problems.push(
        Problem::at(Code::LostOnTheWay, line, 0, message)
            .help("decide in the template, with {{#if}}, or use dataplane.transport agent"),
    );
}

fn long(line: &Line<'_>, problems: &mut Vec<Problem>) {
    if line.raw.len() <= LONGEST_LINE {
        return;
    }
    let message = format!(
        "The line has {} bytes; the Data Plane API drops a line of more than {LONGEST_LINE}, and all that follow it.",
        line.raw.len()
    );
    problems
        .push(Problem::at(Code::LostOnTheWay, line, 0, message).help("put its values into a map or a file"));
}

fn large(document: &Document<'_>, problems: &mut Vec<Problem>) {
    let bytes: usize = document.lines().map(|line| line.raw.len()).sum();
    let Some(line) = document.lines().next().filter(|_| bytes > LARGEST) else { return };
    let message = format!("haproxy.cfg has {bytes} bytes; the Data Plane API is sent at most {LARGEST}.");
    problems.push(
        Problem::at(Code::LostOnTheWay, line, 0, message)
            .help("use dataplane.transport agent, or split the routes among several configurations"),
    );
}

/// Of two sections of a name the later takes the place of the earlier; one that the API does not know becomes lines of the
/// section before it.
fn sections(document: &Document<'_>, problems: &mut Vec<Problem>) {
    let mut first: HashMap<(&str, &str), usize> = HashMap::new();
    for section in &document.sections {
        let Some(header) = &section.header else { continue };
        let kind = section.kind.name();
        if section.kind == SectionKind::Program {
            let message =
                format!("The Data Plane API takes {} for lines of the section before it.", section.title());
            problems.push(
                Problem::at(Code::LostOnTheWay, header, 0, message)
                    .help("start that program in a container of its own"),
            );
        }
        if section.kind == SectionKind::Defaults && section.name.is_empty() {
            continue;
        }
        if let Some(line) = first.insert((kind, &section.name), section.line) {
            let title = section.title();
            let message =
                format!("The Data Plane API keeps only the last {title}: another one is on line {line}.");
            problems.push(Problem::at(Code::LostOnTheWay, header, 0, message).help("write it once"));
        }
    }
}

/// All defaults sections are written before all proxies, so a proxy that names none gets the last of them.
fn inheritance(document: &Document<'_>, problems: &mut Vec<Problem>) {
    let defaults: Vec<_> =
        document.sections.iter().filter(|section| section.kind == SectionKind::Defaults).collect();
    let Some(only) = defaults.first() else { return };
    let several = defaults.len() > 1;
    for section in &document.sections {
        let Some(header) = &section.header else { continue };
        if several && section.kind == SectionKind::Defaults && section.name.is_empty() {
            let message = "The Data Plane API writes all defaults sections before all proxies: without a name, with several \
                           of them, this one may become another proxy's."
                .to_owned();
            problems.push(
                Problem::at(Code::LostOnTheWay, header, 0, message)
                    .help("give each defaults section a name, and each proxy the one it takes after 'from'"),
            );
        }
        let is_open =
            section.kind.is_proxy() && section.kind != SectionKind::Defaults && section.from.is_none();
        if is_open && (several || section.line < only.line) {
            let message = format!(
                "{} names no defaults section: the Data Plane API would give it the last one of the file.",
                section.title()
            );
            problems.push(
                Problem::at(Code::LostOnTheWay, header, 0, message)
                    .help(format!("write the one that it takes: {} from NAME", section.title())),
            );
        }
    }
}

/// Lines whose place among others matters and that the API writes elsewhere.
fn moved(section: &Section<'_>, problems: &mut Vec<Problem>) {
    let has_rules = section.lines.iter().any(|line| line.keyword() == "http-request");
    let last: HashMap<&str, usize> = section.lines.iter().map(|line| (line.keyword(), line.number)).collect();
    let mut server = None;
    for line in &section.lines {
        match line.keyword() {
            "server" => server = server.or(Some(line.number)),
            "default-server" if server.is_some() => {
                let before = server.unwrap_or_default();
                let message = format!(
                    "The Data Plane API writes default-server before all servers, also before that of line {before}."
                );
                problems.push(
                    Problem::at(Code::LostOnTheWay, line, 0, message).help("write it before the servers"),
                );
            }
            "http-request"
            | "http-response"
            | "http-after-response"
            | "filter"
            | "stick-table"
            | "lua-load-per-thread" => {
                let is_last = last.get(line.keyword()) == Some(&line.number);
                if let Some(message) = rules::damage(line, is_last) {
                    problems
                        .push(Problem::at(Code::LostOnTheWay, line, 1, message).help(
                            "write it in another way, write it last, or use dataplane.transport agent",
                        ));
                }
            }
            "redirect" if has_rules => {
                let message =
                    "The Data Plane API does not keep the place of redirect among http-request lines."
                        .to_owned();
                problems.push(
                    Problem::at(Code::LostOnTheWay, line, 0, message).help("write http-request redirect"),
                );
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "global\n  maxconn 9\ndefaults d\n  mode http\n";

    fn refused(text: &str) -> Vec<(usize, String)> {
        let found = refusals(&Document::parse(text));
        found.into_iter().map(|problem| (problem.line, problem.message)).collect()
    }

    fn is_refused(text: &str, line: usize, words: &str) {
        let found = refused(text);
        assert!(
            found.len() == 1 && found[0].0 == line && found[0].1.contains(words),
            "{text}: {found:?}, not line {line}: {words}"
        );
    }

    #[test]
    fn what_comes_back_as_it_was_meant_is_not_refused() {
        let text = format!(
            "{HEAD}frontend f from d\n  bind :80,:443\nbackend b from d\n  default-server weight 5\n  server a 10.0.0.1:80\nlisten l from d\n  bind :81\n"
        );
        assert_eq!(refused(&text), []);
        assert_eq!(refused("defaults\n  mode http\nfrontend f\n  bind :80\n"), [], "one without a name");
        assert_eq!(refused("global\n  maxconn 9\nfrontend f\n  bind :80\n"), [], "none at all");
    }

    #[test]
    fn lines_whose_end_would_cut_the_file_are_refused() {
        let text = format!("{HEAD}backend b from d\n  acl x src {}\n", "10.0.0.1 ".repeat(8_000));
        is_refused(&text, 6, "72013 bytes");
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_with_its_size() {
        let text = format!("{HEAD}backend b from d\n{}", format!("  # {}\n", "x".repeat(995)).repeat(19_990));
        assert_eq!(refused(&text), [], "{} bytes", text.len());
        let text = format!("{text}{}", "#\n".repeat(10_000));
        is_refused(&text, 1, "has 20");
    }

    #[test]
    fn conditional_blocks_are_refused() {
        let found = refused(&format!("{HEAD}.if feature(OPENSSL)\nbackend b from d\n.else\n.endif\n"));
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [5, 7, 8], "{found:?}");
        is_refused(&format!("{HEAD}backend b from d\n  .notice \"x\"\n"), 6, "'.notice'");
    }

    #[test]
    fn sections_of_one_name_are_refused() {
        let twice = "backend b from d\n";
        is_refused(&format!("{HEAD}{twice}{twice}"), 6, "only the last backend b: another one is on line 5");
        is_refused(&format!("{HEAD}global\n  maxconn 3\n"), 5, "only the last global section");
        assert_eq!(refused(&format!("{HEAD}frontend b from d\n{twice}")), [], "of two kinds");
    }

    #[test]
    fn proxies_that_would_get_other_defaults_are_refused() {
        is_refused(
            &format!("{HEAD}defaults e\n  mode tcp\nbackend b\n"),
            7,
            "backend b names no defaults section",
        );
        is_refused("backend b\ndefaults\n  mode http\n", 1, "names no defaults section");
        is_refused("defaults\n  mode http\ndefaults e\n  mode tcp\nbackend b from e\n", 1, "without a name");
    }

    #[test]
    fn lines_that_would_be_moved_are_refused() {
        let text = format!("{HEAD}backend b from d\n  server a 10.0.0.1:80\n  default-server weight 3\n");
        is_refused(&text, 7, "also before that of line 6");
        let text = format!("{HEAD}frontend f from d\n  redirect scheme https\n  http-request deny\n");
        is_refused(&text, 6, "place of redirect");
        is_refused(&format!("{HEAD}program p\n  command x\n"), 5, "takes program p for lines");
    }

    #[test]
    fn what_came_back_otherwise_is_told() {
        let sent = "defaults d\n  mode http\nbackend z from d\n  server b 10.0.0.1:80 # first\n  server a 10.0.0.2:80\n  http-request deny if { path /a }\n  http-request set-header a b\n";
        let told = |returned: &str| loss(&Document::parse(sent), &Document::parse(returned));
        let head = "# _version=3\n\ndefaults d\n  mode http\n\n";
        let rules = "  http-request deny if { path /a }\n  http-request set-header a b\n";
        let servers = "  server b 10.0.0.1:80\n  server a 10.0.0.2:80\n";
        assert_eq!(told(&format!("{head}backend z from d\n{rules}{servers}")), None);
        let lacks = told(&format!("{head}backend z from d\n{rules}  server b 10.0.0.1:80\n"));
        assert_eq!(lacks.unwrap(), "backend z: 1 server lines of 2");
        assert_eq!(told(head).unwrap(), "backend z is gone");
        let moved = "  http-request set-header a b\n  http-request deny if { path /a }\n";
        let moved = told(&format!("{head}backend z from d\n{moved}{servers}"));
        assert_eq!(moved.unwrap(), "backend z: its http-request lines are in another order");
        let more = told(&format!("{head}backend z from d\n{rules}{servers}backend y from d\n"));
        assert_eq!(more.unwrap(), "3 sections instead of 2");
        let only = loss(
            &Document::parse("defaults\n  mode http\n"),
            &Document::parse("defaults unnamed_defaults_1\n  mode http\n"),
        );
        assert_eq!(only, None);
    }
}
