//! Do maps, ACLs, certificates, crt-lists and backends now hold what the operations asked for? Pure: questions to HAProxy and
//! what their answers must say.

use crate::command::Contents;
use haptic_model::{Operation, pattern_file::map_entries};
use std::collections::{BTreeMap, BTreeSet};

/// What must be there, and what not, after the operations.
#[derive(Debug, Default)]
pub(crate) struct FileExpectation {
    checks: BTreeMap<String, Check>,
}

/// What the answer to one question must say.
#[derive(Debug)]
pub(crate) enum Check {
    /// `show map`: these keys with these values, or not at all.
    Entries { map: String, wanted: BTreeMap<String, Option<String>> },
    /// `show map`: exactly these.
    All { map: String, wanted: Vec<(String, String)> },
    /// `show acl`.
    Patterns { acl: String, wanted: BTreeMap<String, bool> },
    /// `show ssl crt-list -n`, without options, which HAProxy writes in its own way.
    Lines { list: String, wanted: BTreeMap<String, bool> },
    /// `show ssl cert`.
    Certificates { wanted: BTreeMap<String, bool> },
    /// `show backend`. One that is gone may still finish its requests.
    Backends { wanted: BTreeSet<String> },
}

impl FileExpectation {
    /// The sum of `operations`.
    pub(crate) fn of(operations: &[Operation], contents: &Contents) -> Self {
        let mut all = Self::default();
        for operation in operations {
            all.then(operation, contents);
        }
        all
    }

    /// Each question with the check of its answer.
    pub(crate) fn questions(&self) -> impl Iterator<Item = (String, &Check)> {
        self.checks.iter().map(|(command, check)| (command.clone(), check))
    }

    fn then(&mut self, operation: &Operation, contents: &Contents) {
        match operation {
            Operation::SetMapEntry { map, key, value } | Operation::AddMapEntry { map, key, value } => {
                self.entry(map, key, Some(value.clone()));
            }
            Operation::DelMapEntry { map, key } => self.entry(map, key, None),
            Operation::ReplaceMap { map } => {
                let content = contents.get(map).map(String::as_str).unwrap_or_default();
                let wanted = map_entries(content).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
                self.checks.insert(format!("show map {map}"), Check::All { map: map.clone(), wanted });
            }
            Operation::AddAclEntry { acl, pattern } => self.pattern(acl, pattern, true),
            Operation::DelAclEntry { acl, pattern } => self.pattern(acl, pattern, false),
            Operation::AddCertificate { certificate } | Operation::SetCertificate { certificate } => {
                self.certificate(certificate, true);
            }
            Operation::DeleteCertificate { certificate } => self.certificate(certificate, false),
            Operation::AddCrtListLine { list, line } => self.line(list, line, true),
            Operation::DeleteCrtListLine { list, line } => self.line(list, line, false),
            Operation::AddBackend { backend, .. } => self.backend(backend),
            _ => {}
        }
    }

    fn entry(&mut self, map: &str, key: &str, value: Option<String>) {
        let check = self
            .checks
            .entry(format!("show map {map}"))
            .or_insert_with(|| Check::Entries { map: map.to_owned(), wanted: BTreeMap::new() });
        if let Check::Entries { wanted, .. } = check {
            wanted.insert(key.to_owned(), value);
        }
    }

    fn pattern(&mut self, acl: &str, pattern: &str, there: bool) {
        let check = self
            .checks
            .entry(format!("show acl {acl}"))
            .or_insert_with(|| Check::Patterns { acl: acl.to_owned(), wanted: BTreeMap::new() });
        if let Check::Patterns { wanted, .. } = check {
            wanted.insert(pattern.to_owned(), there);
        }
    }

    fn line(&mut self, list: &str, line: &str, there: bool) {
        let check = self
            .checks
            .entry(format!("show ssl crt-list -n {list}"))
            .or_insert_with(|| Check::Lines { list: list.to_owned(), wanted: BTreeMap::new() });
        if let Check::Lines { wanted, .. } = check {
            let line = without_options(line);
            // The same hosts with other options: one line comes, one goes.
            let there = there || wanted.get(&line).copied().unwrap_or(false);
            wanted.insert(line, there);
        }
    }

    fn certificate(&mut self, certificate: &str, there: bool) {
        let check = self
            .checks
            .entry("show ssl cert".to_owned())
            .or_insert_with(|| Check::Certificates { wanted: BTreeMap::new() });
        if let Check::Certificates { wanted } = check {
            wanted.insert(certificate.to_owned(), there);
        }
    }

    fn backend(&mut self, backend: &str) {
        let check = self
            .checks
            .entry("show backend".to_owned())
            .or_insert_with(|| Check::Backends { wanted: BTreeSet::new() });
        if let Check::Backends { wanted } = check {
            wanted.insert(backend.to_owned());
        }
    }
}

impl Check {
    /// How `answer` differs from what is wanted; the first difference only.
    pub(crate) fn difference(&self, answer: &str) -> Option<String> {
        match self {
            Self::Entries { map, wanted } => {
                let mut left: BTreeMap<&str, Option<&str>> =
                    wanted.iter().map(|(key, value)| (key.as_str(), value.as_deref())).collect();
                for (key, value) in shown_entries(answer) {
                    match left.get(key) {
                        Some(Some(wanted)) if *wanted == value => {
                            left.remove(key);
                        }
                        Some(Some(_)) => return Some(format!("map {map} has {value} for {key}")),
                        Some(None) => return Some(format!("map {map} still has {key}")),
                        None => {}
                    }
                }
                let missing = left.into_iter().find(|(_, value)| value.is_some());
                missing.map(|(key, _)| format!("map {map} has no {key}"))
            }
            Self::All { map, wanted } => {
                let same = shown_entries(answer).eq(wanted.iter().map(|(k, v)| (k.as_str(), v.as_str())));
                (!same).then(|| format!("map {map} has other entries"))
            }
            Self::Patterns { acl, wanted } => {
                let shown: BTreeSet<&str> = shown_patterns(answer).collect();
                first_wrong(wanted, |name| shown.contains(name)).map(|name| format!("acl {acl}: {name}"))
            }
            Self::Lines { list, wanted } => {
                let shown: BTreeSet<String> =
                    shown_lines(answer).map(|(line, _)| without_options(&line)).collect();
                first_wrong(wanted, |line| shown.contains(line))
                    .map(|line| format!("crt-list {list}: {line}"))
            }
            Self::Certificates { wanted } => {
                let shown: BTreeSet<&str> = answer.lines().map(str::trim).collect();
                first_wrong(wanted, |name| shown.contains(name)).map(|name| format!("certificate {name}"))
            }
            Self::Backends { wanted } => {
                let shown: BTreeSet<&str> = answer.lines().map(str::trim).collect();
                wanted
                    .iter()
                    .find(|name| !shown.contains(name.as_str()))
                    .map(|name| format!("there is no backend {name}"))
            }
        }
    }
}

/// The numbers that HAProxy gives a crt-list's `line`, with the line's certificate; none when the line is gone already,
/// `None` when it cannot be told from another one.
pub(crate) fn numbers_of<'l>(answer: &str, line: &'l str) -> Option<Vec<(&'l str, u64)>> {
    let certificate = line.split(' ').next().unwrap_or_default();
    let same = |shown: &str, of: fn(&str) -> String| of(shown) == of(line);
    let mut found: Vec<_> = shown_lines(answer).filter(|(shown, _)| same(shown, compact)).collect();
    if found.is_empty() {
        // HAProxy may write options in another way than the file.
        found = shown_lines(answer).filter(|(shown, _)| same(shown, without_options)).collect();
        if found.len() > 1 {
            return None;
        }
    }
    Some(found.into_iter().map(|(_, number)| (certificate, number)).collect())
}

/// `0x7fc2e78218a0 key value with blanks`.
fn shown_entries(answer: &str) -> impl Iterator<Item = (&str, &str)> {
    shown_patterns(answer).map(|entry| {
        let (key, value) = entry.split_once(' ').unwrap_or((entry, ""));
        (key, value.trim_end())
    })
}

fn shown_patterns(answer: &str) -> impl Iterator<Item = &str> {
    answer.lines().filter_map(|line| line.strip_prefix("0x")?.split_once(' ').map(|(_, rest)| rest))
}

/// `ssl/b.pem:3 [alpn http/1.1 ] bb.example` as the line and its number.
fn shown_lines(answer: &str) -> impl Iterator<Item = (String, u64)> {
    answer.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (first, rest) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
        let (certificate, number) = first.rsplit_once(':')?;
        let line = if rest.is_empty() { certificate.to_owned() } else { format!("{certificate} {rest}") };
        Some((line, number.parse().ok()?))
    })
}

/// Options as they are written: HAProxy shows a blank before the closing bracket, and before each protocol of `alpn` its
/// length as one byte.
fn compact(line: &str) -> String {
    line.replace(" ]", "]").replace(char::is_control, ",").replace(" ,", " ")
}

fn without_options(line: &str) -> String {
    match (line.split_once(" ["), line.rsplit_once(']')) {
        (Some((certificate, _)), Some((_, hosts))) => format!("{certificate}{hosts}"),
        _ => line.to_owned(),
    }
}

/// The first name that is there and should not be, or the other way round, with what is wrong.
fn first_wrong(wanted: &BTreeMap<String, bool>, is_there: impl Fn(&str) -> bool) -> Option<String> {
    wanted.iter().find(|(name, there)| is_there(name) != **there).map(|(name, there)| {
        if *there { format!("{name} is not there") } else { format!("{name} is still there") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# ssl/full.txt\nssl/a.pem:2 a.example www.a.example\nssl/b.pem:4 b.example\nssl/b.pem:5 [alpn \u{2}h2\u{8}http/1.1 ] bb.example !x.bb.example\nssl/c.pem:6\nssl/b.pem:7 [alpn \u{2}h2 ] bb.example !x.bb.example\n";

    #[test]
    fn a_line_is_found_among_several_of_its_certificate() {
        let numbers =
            |line: &str| numbers_of(LIST, line).map(|all| all.iter().map(|(_, n)| *n).collect::<Vec<_>>());
        assert_eq!(numbers("ssl/b.pem b.example"), Some(vec![4]));
        assert_eq!(numbers("ssl/b.pem [alpn h2,http/1.1] bb.example !x.bb.example"), Some(vec![5]));
        assert_eq!(numbers("ssl/b.pem [alpn h2] bb.example !x.bb.example"), Some(vec![7]));
        assert_eq!(numbers("ssl/b.pem [verify none] bb.example !x.bb.example"), None);
        assert_eq!(numbers("ssl/c.pem"), Some(vec![6]));
        assert_eq!(numbers("ssl/b.pem x.example"), Some(vec![]));
    }

    #[test]
    fn entries_of_a_map_are_compared() {
        let shown = "0x7f1 a.example x\n0x7f2 b.example x y # no\n0x7f3 c.example \n";
        let operation = |key: &str, value: &str| Operation::SetMapEntry {
            map: "m".to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let gone = Operation::DelMapEntry { map: "m".to_owned(), key: "b.example".to_owned() };
        let differences = |operations: &[Operation]| -> Vec<String> {
            let expectation = FileExpectation::of(operations, &Contents::new());
            expectation.questions().filter_map(|(_, check)| check.difference(shown)).collect()
        };
        assert!(differences(&[operation("a.example", "x"), operation("b.example", "x y # no")]).is_empty());
        assert_eq!(differences(&[operation("a.example", "y")]), ["map m has x for a.example"]);
        assert_eq!(differences(&[operation("z", "y")]), ["map m has no z"]);
        assert_eq!(differences(&[gone]), ["map m still has b.example"]);
    }

    #[test]
    fn a_replaced_map_must_have_its_entries_in_order() {
        let contents = Contents::from([("m".to_owned(), "# c\na 1\nb 2\n".to_owned())]);
        let expectation = FileExpectation::of(&[Operation::ReplaceMap { map: "m".to_owned() }], &contents);
        let differs =
            |shown: &str| expectation.questions().any(|(_, check)| check.difference(shown).is_some());
        assert!(!differs("0x1 a 1\n0x2 b 2\n"));
        assert!(differs("0x1 b 2\n0x2 a 1\n"));
    }
}
