//! Do maps, ACLs, certificates and crt-lists now hold what the operations asked for? Pure: questions about the touched
//! entries only, and what their answers must say.

use crate::{
    certificate,
    command::{self, Contents},
    question::{Question, Verdict},
};
use haptic_model::Operation;
use std::collections::{BTreeMap, BTreeSet};

/// What must be there, and what not, after the operations.
#[derive(Debug, Default)]
pub(crate) struct FileExpectation {
    /// Values by map and key; `None` for a key that must not be there.
    entries: BTreeMap<String, BTreeMap<String, Option<String>>>,
    /// Maps that were replaced.
    replaced: BTreeSet<String>,
    /// Patterns by ACL file, and whether they must be there.
    patterns: BTreeMap<String, BTreeMap<String, bool>>,
    /// Lines by crt-list without their options, which HAProxy writes in its own way, and whether they must be there.
    lines: BTreeMap<String, BTreeMap<String, bool>>,
    /// Certificates that must be there, with their fingerprints as far as these can be told, and that must not.
    certificates: BTreeMap<String, Option<certificate::Leaf>>,
}

/// With more touched entries than this, one look at the whole map costs less.
const FEW_ENTRIES: usize = 64;

impl FileExpectation {
    /// The sum of `operations`.
    pub(crate) fn of(operations: &[Operation], contents: &Contents) -> Self {
        let mut all = Self::default();
        for operation in operations {
            all.then(operation, contents);
        }
        all
    }

    fn then(&mut self, operation: &Operation, contents: &Contents) {
        match operation {
            Operation::SetMapEntry { map, key, value } | Operation::AddMapEntry { map, key, value } => {
                self.entry(map, key, Some(value.clone()));
            }
            Operation::DelMapEntry { map, key } => self.entry(map, key, None),
            Operation::ReplaceMap { map } => {
                self.entries.remove(map);
                self.replaced.insert(map.clone());
            }
            Operation::AddAclEntry { acl, pattern } => self.pattern(acl, pattern, true),
            Operation::DelAclEntry { acl, pattern } => self.pattern(acl, pattern, false),
            Operation::AddCertificate { certificate } | Operation::SetCertificate { certificate } => {
                let pem = contents.get(certificate).map(String::as_str).unwrap_or_default();
                self.certificates.insert(certificate.clone(), Some(certificate::Leaf::of(pem)));
            }
            Operation::DeleteCertificate { certificate } => {
                self.certificates.insert(certificate.clone(), None);
            }
            Operation::AddCrtListLine { list, line } => self.line(list, line, true),
            Operation::DeleteCrtListLine { list, line } => self.line(list, line, false),
            _ => {}
        }
    }

    fn entry(&mut self, map: &str, key: &str, value: Option<String>) {
        self.entries.entry(map.to_owned()).or_default().insert(key.to_owned(), value);
    }

    fn pattern(&mut self, acl: &str, pattern: &str, there: bool) {
        self.patterns.entry(acl.to_owned()).or_default().insert(pattern.to_owned(), there);
    }

    fn line(&mut self, list: &str, line: &str, there: bool) {
        let wanted = self.lines.entry(list.to_owned()).or_default();
        let line = without_options(line);
        // The same hosts with other options: one line comes, one goes.
        let there = there || wanted.get(&line).copied().unwrap_or(false);
        wanted.insert(line, there);
    }

    /// What to ask; all but [`Self::whole_maps`].
    pub(crate) fn questions(&self) -> Vec<Question<'_>> {
        let few = self.entries.iter().filter(|(_, entries)| entries.len() <= FEW_ENTRIES);
        let keys = few.flat_map(|(map, entries)| {
            entries.iter().filter_map(|(key, value)| about_key(map, key, value.as_deref()))
        });
        let acls = self.patterns.iter().map(|(acl, wanted)| {
            Question::new(format!("show acl {acl}"), move |answer| {
                let shown: BTreeSet<&str> = shown_patterns(answer).collect();
                let wrong = first_wrong(wanted, |name| shown.contains(name));
                Verdict::of(wrong.map(|name| format!("acl {acl}: {name}")))
            })
        });
        let lists = self.lines.iter().map(|(list, wanted)| {
            Question::new(format!("show ssl crt-list -n {list}"), move |answer| {
                let shown: BTreeSet<String> =
                    shown_lines(answer).map(|(line, _)| without_options(&line)).collect();
                let wrong = first_wrong(wanted, |line| shown.contains(line));
                Verdict::of(wrong.map(|line| format!("crt-list {list}: {line}")))
            })
        });
        let certificates = self.certificates.iter().map(|(path, wanted)| {
            Question::new(format!("show ssl cert {path}"), move |answer| {
                let difference = match wanted {
                    Some(leaf) => leaf.difference(answer),
                    None => certificate::is_shown(answer).then(|| "is still there".to_owned()),
                };
                Verdict::of(difference.map(|difference| format!("certificate {path} {difference}")))
            })
        });
        keys.chain(acls).chain(lists).chain(certificates).collect()
    }

    /// The maps that have to be read as a whole, whatever the answers to the questions are.
    pub(crate) fn whole_maps(&self) -> BTreeSet<String> {
        let many = self.entries.iter().filter(|(map, entries)| {
            let askable =
                |(key, value): (&String, &Option<String>)| about_key(map, key, value.as_deref()).is_some();
            entries.len() > FEW_ENTRIES || !entries.iter().all(askable)
        });
        self.replaced.iter().chain(many.map(|(map, _)| map)).cloned().collect()
    }

    /// Compares what `show map` says of `map`, line by line.
    pub(crate) fn reading<'e>(&'e self, map: &'e str, contents: &'e Contents) -> MapReading<'e> {
        let replaced = self.replaced.contains(map).then(|| {
            haptic_model::pattern_file::map_entries(contents.get(map).map(String::as_str).unwrap_or_default())
        });
        let entries = self.entries.get(map).into_iter().flatten();
        let left = entries.map(|(key, value)| (key.as_str(), value.as_deref())).collect();
        MapReading { map, replaced: replaced.map(|all| Box::new(all) as _), left, difference: None }
    }
}

/// `get map` looks a value up as traffic does. Only an answer that names the very key, or that finds nothing among texts, is
/// sure; anything else (a longer prefix, a network) takes a look at the whole map.
fn about_key<'e>(map: &'e str, key: &'e str, value: Option<&'e str>) -> Option<Question<'e>> {
    let command = command::look_up(map, key).ok()?;
    Some(Question::new(command, move |answer| {
        let this = format!("key=\"{key}\", value=\"");
        let found: Vec<&str> = answer.lines().filter(|line| !line.is_empty()).collect();
        let sure = match value {
            Some(value) => {
                let entry = format!("{this}{value}\", type=");
                found.iter().all(|line| line.contains(&entry))
            }
            None => found.iter().all(|line| line.starts_with("type=str,") && line.ends_with("found=no")),
        };
        if sure && !found.is_empty() { Verdict::AsWanted } else { Verdict::ReadMap(map.to_owned()) }
    }))
}

/// A whole map being read.
pub(crate) struct MapReading<'e> {
    map: &'e str,
    /// What is left of a replaced map's entries.
    replaced: Option<Box<dyn Iterator<Item = (&'e str, &'e str)> + Send + 'e>>,
    /// Entries that were not seen yet.
    left: BTreeMap<&'e str, Option<&'e str>>,
    difference: Option<String>,
}

impl MapReading<'_> {
    /// The next line of the answer.
    pub(crate) fn line(&mut self, line: &str) {
        if let Some(pattern) = shown_pattern(line)
            && self.difference.is_none()
        {
            let (key, value) = pattern.split_once(' ').unwrap_or((pattern, ""));
            self.difference = self.wrong(key, value.trim_end());
        }
    }

    fn wrong(&mut self, key: &str, value: &str) -> Option<String> {
        let map = self.map;
        if let Some(replaced) = &mut self.replaced {
            let next = replaced.next();
            return (next != Some((key, value))).then(|| format!("map {map} has other entries"));
        }
        match self.left.get(key) {
            Some(Some(wanted)) if *wanted == value => {
                self.left.remove(key);
                None
            }
            Some(Some(_)) => Some(format!("map {map} has {value} for {key}")),
            Some(None) => Some(format!("map {map} still has {key}")),
            None => None,
        }
    }

    /// The first difference, once all lines were read.
    pub(crate) fn difference(mut self) -> Option<String> {
        let more = self.replaced.as_mut().and_then(Iterator::next);
        let missing = more
            .map(|(key, _)| key)
            .or_else(|| self.left.iter().find(|(_, value)| value.is_some()).map(|(key, _)| *key));
        self.difference.or_else(|| missing.map(|key| format!("map {} has no {key}", self.map)))
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

fn shown_patterns(answer: &str) -> impl Iterator<Item = &str> {
    answer.lines().filter_map(shown_pattern)
}

/// `0x7fc2e78218a0 key value with blanks`.
fn shown_pattern(line: &str) -> Option<&str> {
    line.strip_prefix("0x")?.split_once(' ').map(|(_, rest)| rest)
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

    fn set(key: &str, value: &str) -> Operation {
        Operation::SetMapEntry { map: "m".to_owned(), key: key.to_owned(), value: value.to_owned() }
    }

    fn read(operations: &[Operation], contents: &Contents, shown: &str) -> Option<String> {
        let expectation = FileExpectation::of(operations, contents);
        let mut reading = expectation.reading("m", contents);
        shown.lines().for_each(|line| reading.line(line));
        reading.difference()
    }

    #[test]
    fn entries_of_a_map_are_compared() {
        let shown = "0x7f1 a.example x\n0x7f2 b.example x y # no\n0x7f3 c.example \n";
        let gone = Operation::DelMapEntry { map: "m".to_owned(), key: "b.example".to_owned() };
        let difference = |operations: &[Operation]| read(operations, &Contents::new(), shown);
        assert_eq!(difference(&[set("a.example", "x"), set("b.example", "x y # no")]), None);
        assert_eq!(difference(&[set("a.example", "y")]).unwrap(), "map m has x for a.example");
        assert_eq!(difference(&[set("z", "y")]).unwrap(), "map m has no z");
        assert_eq!(difference(&[gone]).unwrap(), "map m still has b.example");
    }

    #[test]
    fn a_replaced_map_must_have_its_entries_in_order() {
        let contents = Contents::from([("m".to_owned(), "# c\na 1\nb 2\n".to_owned())]);
        let replace = Operation::ReplaceMap { map: "m".to_owned() };
        let differs = |shown: &str| read(std::slice::from_ref(&replace), &contents, shown).is_some();
        assert!(!differs("0x1 a 1\n0x2 b 2\n"));
        for other in ["0x1 b 2\n0x2 a 1\n", "0x1 a 1\n", "0x1 a 1\n0x2 b 2\n0x3 c 3\n", ""] {
            assert!(differs(other), "{other:?}");
        }
    }

    /// What `get map` answers is taken for the entry only when it surely is.
    #[test]
    fn an_entry_is_looked_up_and_a_doubtful_answer_leads_to_the_whole_map() {
        let ask = |operation: Operation, answer: &str| {
            let contents = Contents::new();
            let expectation = FileExpectation::of(&[operation], &contents);
            let questions = expectation.questions();
            assert_eq!(questions[0].command, "get map m /a");
            questions[0].verdict(answer)
        };
        let found = |key: &str, value: &str| {
            format!(
                "type=str, case=sensitive, found=yes, idx=tree, key=\"{key}\", value=\"{value}\", type=\"str\"\n"
            )
        };
        let nothing = "type=str, case=sensitive, found=no";
        let doubtful = || Verdict::ReadMap("m".to_owned());
        assert_eq!(ask(set("/a", "x"), &found("/a", "x")), Verdict::AsWanted);
        assert_eq!(ask(set("/a", "x"), &found("/a", "y")), doubtful());
        assert_eq!(ask(set("/a", "x"), &found("/", "x")), doubtful());
        assert_eq!(ask(set("/a", "x"), nothing), doubtful());
        assert_eq!(ask(set("/a", "x"), "Unknown map identifier."), doubtful());
        let gone = || Operation::DelMapEntry { map: "m".to_owned(), key: "/a".to_owned() };
        assert_eq!(ask(gone(), nothing), Verdict::AsWanted);
        assert_eq!(ask(gone(), "type=ip, case=sensitive, found=no"), doubtful());
        assert_eq!(ask(gone(), &found("/", "x")), doubtful());
        assert_eq!(ask(gone(), ""), doubtful());
        // A map that rules use in two ways is looked up in both.
        assert_eq!(
            ask(set("/a", "x"), &format!("{}{}", found("/a", "x"), found("/a", "x"))),
            Verdict::AsWanted
        );
        assert_eq!(ask(set("/a", "x"), &format!("{}{nothing}", found("/a", "x"))), doubtful());
    }

    #[test]
    fn many_entries_are_read_at_once() {
        let many: Vec<Operation> = (0..=FEW_ENTRIES).map(|n| set(&format!("/{n}"), "x")).collect();
        let contents = Contents::new();
        let expectation = FileExpectation::of(&many, &contents);
        assert!(expectation.questions().is_empty());
        assert_eq!(expectation.whole_maps(), BTreeSet::from(["m".to_owned()]));
    }
}
