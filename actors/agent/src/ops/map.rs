//! Maps: `set map`, `add map`, `del map`, and `prepare map` with `commit map` for all entries at once.

use super::{
    argument::{file, key, plain, text},
    exchange::{Exchange, Preparation, PreparedOperation, accepted, first_and_rest},
    read_back::{Expectation, ReadBack, ReadBackVerdict, shown_entry},
};
use crate::haproxy::answer::{SocketAnswer, finds_no_text};
use haptic_text::pattern_file::map_entries;
use std::collections::{BTreeMap, BTreeSet};

/// Pieces of a map that are sent in one go: some 256 KB.
const CHUNKS_AT_ONCE: usize = 32;
/// With more touched entries than this, one look at the whole map costs less.
const FEW_ENTRIES: usize = 64;

// --- commands --------------------------------------------------------------------------------------

pub(super) fn set_entry<'o>(map: &'o str, name: &'o str, value: &'o str) -> Preparation<'o> {
    let set = PreparedOperation::one(format!("set map {} {} {}", file(map)?, key(name)?, text(value)?));
    Ok(set.expecting(move |all| expect(all, map, name, Some(value))))
}

/// Setting comes first: an order that is carried out again must not make a second entry.
pub(super) fn add_entry<'o>(map: &'o str, name: &'o str, value: &'o str) -> Preparation<'o> {
    let entry = format!("map {} {} {}", file(map)?, key(name)?, text(value)?);
    let commands = vec![format!("set {entry}"), format!("add {entry}")];
    let exchange = |commands| {
        let (set, add) = first_and_rest(commands);
        Exchange::new(set, |replies, _| {
            if replies.iter().any(|reply| reply.says().is_missing()) {
                return Ok(Exchange::then(add));
            }
            accepted(replies).map(|()| None)
        })
    };
    let add = PreparedOperation::new(commands).sent_as(exchange);
    Ok(add.expecting(move |all| expect(all, map, name, Some(value))))
}

pub(super) fn delete_entry<'o>(map: &'o str, name: &'o str) -> Preparation<'o> {
    let delete = PreparedOperation::one(format!("del map {} {}", file(map)?, key(name)?));
    Ok(delete.or(SocketAnswer::is_missing).expecting(move |all| expect(all, map, name, None)))
}

fn expect<'o>(all: &mut Expectation<'o>, map: &'o str, name: &'o str, value: Option<&'o str>) {
    all.entries.entry(map).or_default().insert(name, value);
}

/// A new version of the map is prepared, filled with `content`, and committed.
pub(super) fn replace<'o>(map: &'o str, content: &'o str) -> Preparation<'o> {
    map_chunks(map, "1", content)?.try_for_each(|chunk| chunk.map(drop))?;
    let exchange = move |prepare| {
        Exchange::new(prepare, move |replies, _| {
            let Some(reply) = replies.last() else { return Ok(None) };
            let SocketAnswer::MapVersion(version) = reply.says() else { return Err(reply.refusal()) };
            let version = version.to_string();
            let chunks = map_chunks(map, &version, content)?;
            fill(map, version, chunks).map(Some)
        })
    };
    let replace = PreparedOperation::one(format!("prepare map {}", file(map)?)).sent_as(exchange);
    Ok(replace.expecting(move |all| {
        all.entries.remove(map);
        all.replaced.insert(map, content);
    }))
}

/// More of a map's prepared version, or what makes it count once all of it is there.
fn fill<'o>(
    map: &'o str,
    version: String,
    mut chunks: impl Iterator<Item = Result<String, String>> + Send + Sync + 'o,
) -> Result<Exchange<'o>, String> {
    let more = chunks.by_ref().take(CHUNKS_AT_ONCE).collect::<Result<Vec<_>, _>>()?;
    if more.is_empty() {
        return Ok(Exchange::accepted(vec![format!("commit map @{version} {}", file(map)?)]));
    }
    let clear = format!("clear map @{version} {}", file(map)?);
    let filled = Exchange::new(more, move |replies, _| {
        accepted(replies)?;
        fill(map, version, chunks).map(Some)
    });
    Ok(filled.or_send(clear))
}

/// Commands that add the entries of a map's `content` to one `version` of it, many at once.
///
/// # Errors
/// A version or a file's name that HAProxy would misread; for a chunk, an entry.
pub fn map_chunks<'c>(
    map: &str,
    version: &str,
    content: &'c str,
) -> Result<impl Iterator<Item = Result<String, String>> + Send + Sync + use<'c>, String> {
    // HAProxy takes 16 KB at once.
    const CHUNK: usize = 8000;
    if version.is_empty() || !version.chars().all(|c| c.is_ascii_digit()) {
        return Err(format!("{version:?} is not a version of {map}"));
    }
    let head = format!("add map @{version} {} <<\n", file(map)?);
    let mut entries = map_entries(content).peekable();
    Ok(std::iter::from_fn(move || {
        entries.peek()?;
        let mut chunk = head.clone();
        let fits = |length: usize, (key, value): &(&str, &str)| length + key.len() + value.len() <= CHUNK;
        while let Some((key, value)) =
            entries.next_if(|entry| chunk.len() == head.len() || fits(chunk.len(), entry))
        {
            // A payload's words are taken as they are.
            if let Err(problem) = text(key).and_then(|_| text(value)) {
                return Some(Err(format!("the entry {:?}: {problem}", plain(key))));
            }
            chunk.extend([key, " ", value, "\n"]);
        }
        Some(Ok(chunk))
    }))
}

// --- reading back ----------------------------------------------------------------------------------

/// What to ask; all but [`whole_maps`].
pub(super) fn questions<'e>(all: &'e Expectation<'_>) -> impl Iterator<Item = ReadBack<'e>> {
    let few = all.entries.iter().filter(|(_, entries)| entries.len() <= FEW_ENTRIES);
    few.flat_map(|(map, entries)| entries.iter().filter_map(|(key, value)| about_key(map, key, *value)))
}

/// The maps that have to be read as a whole, whatever the answers to the questions are.
pub(super) fn whole_maps(all: &Expectation<'_>) -> BTreeSet<String> {
    let many = all.entries.iter().filter(|(map, entries)| {
        entries.len() > FEW_ENTRIES
            || entries.iter().any(|(key, value)| about_key(map, key, *value).is_none())
    });
    all.replaced.keys().chain(many.map(|(map, _)| map)).map(|map| (*map).to_owned()).collect()
}

/// Shows all entries of a map.
pub(super) fn show(map: &str) -> Result<String, String> {
    Ok(format!("show map {}", file(map)?))
}

/// `get map` looks a value up as traffic does. Only an answer that names the very key, or that finds nothing among texts, is
/// sure; anything else (a longer prefix, a network) takes a look at the whole map.
fn about_key<'e>(map: &'e str, name: &'e str, value: Option<&'e str>) -> Option<ReadBack<'e>> {
    let command = format!("get map {} {}", file(map).ok()?, key(name).ok()?);
    Some(ReadBack::new(command, move |answer| {
        let this = format!("key=\"{name}\", value=\"");
        let found: Vec<&str> = answer.lines().filter(|line| !line.is_empty()).collect();
        let sure = match value {
            Some(value) => {
                let entry = format!("{this}{value}\", type=");
                found.iter().all(|line| line.contains(&entry))
            }
            None => found.iter().all(|line| finds_no_text(line)),
        };
        if sure && !found.is_empty() {
            ReadBackVerdict::AsExpected
        } else {
            ReadBackVerdict::ReadMap(map.to_owned())
        }
    }))
}

/// A whole map being read: what `show map` says of it, line by line.
pub(super) struct MapReading<'e> {
    map: &'e str,
    /// What is left of a replaced map's entries.
    replaced: Option<Box<dyn Iterator<Item = (&'e str, &'e str)> + Send + 'e>>,
    /// Entries that were not seen yet.
    left: BTreeMap<&'e str, Option<&'e str>>,
    difference: Option<String>,
}

impl<'e> MapReading<'e> {
    pub(super) fn of(all: &'e Expectation<'_>, map: &'e str) -> Self {
        let replaced = all.replaced.get(map).map(|content| Box::new(map_entries(content)) as _);
        let entries = all.entries.get(map).into_iter().flatten();
        let left = entries.map(|(key, value)| (*key, *value)).collect();
        Self { map, replaced, left, difference: None }
    }

    /// The next line of the answer.
    pub(super) fn line(&mut self, line: &str) {
        if let Some(entry) = shown_entry(line)
            && self.difference.is_none()
        {
            let (key, value) = entry.split_once(' ').unwrap_or((entry, ""));
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
            Some(Some(expected)) if *expected == value => {
                self.left.remove(key);
                None
            }
            Some(Some(_)) => Some(format!("map {map} has {value} for {key}")),
            Some(None) => Some(format!("map {map} still has {key}")),
            None => None,
        }
    }

    /// The first difference, once all lines were read.
    pub(super) fn difference(mut self) -> Option<String> {
        let more = self.replaced.as_mut().and_then(Iterator::next);
        let missing = more
            .map(|(key, _)| key)
            .or_else(|| self.left.iter().find(|(_, value)| value.is_some()).map(|(key, _)| *key));
        self.difference.or_else(|| missing.map(|key| format!("map {} has no {key}", self.map)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Contents;
    use crate::ops::tests::expectation;
    use haptic_model::Operation;

    fn set(key: &str, value: &str) -> Operation {
        Operation::SetMapEntry { map: "m".to_owned(), key: key.to_owned(), value: value.to_owned() }
    }

    fn read(operations: &[Operation], contents: &Contents, shown: &str) -> Option<String> {
        let expectation = expectation(operations, contents);
        let mut reading = MapReading::of(&expectation, "m");
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
            let (contents, operations) = (Contents::new(), [operation]);
            let expectation = expectation(&operations, &contents);
            let questions: Vec<_> = questions(&expectation).collect();
            assert_eq!(questions[0].command, "get map m /a");
            questions[0].check(answer)
        };
        let found = |key: &str, value: &str| {
            format!(
                "type=str, case=sensitive, found=yes, idx=tree, key=\"{key}\", value=\"{value}\", type=\"str\"\n"
            )
        };
        let nothing = "type=str, case=sensitive, found=no";
        let doubtful = || ReadBackVerdict::ReadMap("m".to_owned());
        assert_eq!(ask(set("/a", "x"), &found("/a", "x")), ReadBackVerdict::AsExpected);
        assert_eq!(ask(set("/a", "x"), &found("/a", "y")), doubtful());
        assert_eq!(ask(set("/a", "x"), &found("/", "x")), doubtful());
        assert_eq!(ask(set("/a", "x"), nothing), doubtful());
        assert_eq!(ask(set("/a", "x"), "Unknown map identifier."), doubtful());
        let gone = || Operation::DelMapEntry { map: "m".to_owned(), key: "/a".to_owned() };
        assert_eq!(ask(gone(), nothing), ReadBackVerdict::AsExpected);
        assert_eq!(ask(gone(), "type=ip, case=sensitive, found=no"), doubtful());
        assert_eq!(ask(gone(), &found("/", "x")), doubtful());
        assert_eq!(ask(gone(), ""), doubtful());
        // A map that rules use in two ways is looked up in both.
        assert_eq!(
            ask(set("/a", "x"), &format!("{}{}", found("/a", "x"), found("/a", "x"))),
            ReadBackVerdict::AsExpected
        );
        assert_eq!(ask(set("/a", "x"), &format!("{}{nothing}", found("/a", "x"))), doubtful());
    }

    #[test]
    fn many_entries_are_read_at_once() {
        let many: Vec<Operation> = (0..=FEW_ENTRIES).map(|n| set(&format!("/{n}"), "x")).collect();
        let contents = Contents::new();
        let expectation = expectation(&many, &contents);
        assert!(questions(&expectation).next().is_none());
        assert_eq!(whole_maps(&expectation), BTreeSet::from(["m".to_owned()]));
    }

    #[test]
    fn a_map_is_replaced_in_pieces_that_fit_the_socket() {
        let content: String = (0..2000).map(|n| format!("key{n} value\n")).collect();
        let chunks: Vec<String> = map_chunks("m", "7", &content).unwrap().collect::<Result<_, _>>().unwrap();
        assert!(chunks.len() > 1 && chunks.iter().all(|chunk| chunk.len() < 9000));
        assert_eq!(chunks.iter().map(|chunk| chunk.lines().count() - 1).sum::<usize>(), 2000);
        assert!(map_chunks("m", "7;x", &content).is_err());
        assert!(map_chunks("m", "7", "# nothing\n").unwrap().next().is_none());
        assert!(map_chunks("m", "7", "key\n").unwrap().next().unwrap().unwrap_err().contains("\"key\""));
    }
}
