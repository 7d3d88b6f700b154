//! Whether HAProxy has in memory what the files of the running bundle say: entries of maps and ACLs, and certificates. So many
//! are read at a time, and the next look goes on behind them, so that a look costs the same however large a bundle is.

use crate::{
    agent::Inner, certificate::Leaf, connection::SocketError, connection::Worker, live::Live, target::Target,
};
use haptic_model::{
    agent_api::{ChangedFile, LoadedAs},
    pattern_file::{map_entries, patterns},
};
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

/// Entries that are read at a time; a file that has more is read alone.
const AT_A_TIME: usize = 20_000;
/// What a certificate counts for.
const CERTIFICATE: usize = 20;

/// Where the next look begins.
#[derive(Debug, Default)]
pub(crate) struct Round(Mutex<Option<Subject>>);

/// Something that HAProxy has loaded from a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Subject {
    path: String,
    loaded: LoadedAs,
}

/// What was read, whatever its order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    entries: usize,
    sum: u64,
}

impl Inner {
    /// The files among the next ones of which HAProxy has something else in memory.
    ///
    /// # Errors
    /// HAProxy does not answer.
    pub(crate) async fn changed_files(&self, worker: &mut Worker) -> Result<Vec<ChangedFile>, SocketError> {
        let target = match (self.live(), self.stored()) {
            (Live::Ahead(target), _) => target,
            (Live::Stored, Some(stored)) => Arc::new(stored.as_target()),
            _ => return Ok(Vec::new()),
        };
        let loaded = loaded(worker, &target).await?;
        let mut found = Vec::new();
        for subject in self.round.next_of(&loaded) {
            if let Some(what) = self.difference(worker, &target, &subject).await? {
                found.push(ChangedFile { path: subject.path, loaded: subject.loaded, what });
            }
        }
        // What an order changed meanwhile is nobody else's doing.
        let is_same = self.live().is_exact() && self.running() == Some(target.running());
        Ok(if is_same { found } else { Vec::new() })
    }

    async fn difference(
        &self,
        worker: &mut Worker,
        target: &Arc<Target>,
        subject: &Subject,
    ) -> Result<Option<String>, SocketError> {
        let Subject { path, loaded } = subject;
        let (wanted, stored, file) = (target.clone(), self.stored(), path.clone());
        let text = self.on_disk(move |bundles| wanted.content(bundles, stored.as_deref(), &file)).await;
        // A file that is gone from the disk is found by whoever looks at the disk.
        let Ok(Ok(text)) = text else { return Ok(None) };
        if *loaded == LoadedAs::Certificate {
            let shown = worker.ask(&format!("show ssl cert {path}")).await?;
            return Ok(Leaf::of(&text).difference(&shown));
        }
        let is_map = *loaded == LoadedAs::Map;
        let should = if is_map { Tally::of_map(&text) } else { Tally::of_acl(&text) };
        drop(text);
        let mut is = Tally::default();
        let each = |_: usize, line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            let shown = line.strip_prefix("0x").and_then(|rest| rest.split_once(' '));
            if let Some((_, entry)) = shown {
                let (key, value) = entry.split_once(' ').filter(|_| is_map).unwrap_or((entry.trim_end(), ""));
                is.add(key, value.trim_end());
            }
            Ok(())
        };
        let command = if is_map { "show map" } else { "show acl" };
        worker.each_line(&[format!("{command} {path}")], each).await?;
        Ok((is != should).then(|| "has other entries".to_owned()))
    }
}

impl Tally {
    fn of_map(text: &str) -> Self {
        let mut tally = Self::default();
        map_entries(text).for_each(|(key, value)| tally.add(key, value));
        tally
    }

    fn of_acl(text: &str) -> Self {
        let mut tally = Self::default();
        patterns(text).for_each(|pattern| tally.add(pattern.trim_end(), ""));
        tally
    }

    fn add(&mut self, key: &str, value: &str) {
        let mut hasher = DefaultHasher::new();
        (key, value).hash(&mut hasher);
        self.entries += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

impl Round {
    /// Those behind the last ones, from the first again behind the last.
    fn next_of(&self, all: &BTreeMap<Subject, usize>) -> Vec<Subject> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_behind = |subject: &Subject| last.as_ref().is_none_or(|last| subject > last);
        let behind = all.iter().filter(|(subject, _)| is_behind(subject));
        let before = all.iter().filter(|(subject, _)| !is_behind(subject));
        let mut cost = 0;
        let next = behind.chain(before).take_while(|(_, entries)| {
            let is_first = cost == 0;
            cost += **entries + 1;
            is_first || cost <= AT_A_TIME
        });
        let next: Vec<Subject> = next.map(|(subject, _)| subject.clone()).collect();
        last.clone_from(&next.last().cloned());
        next
    }
}

/// What HAProxy has loaded from the bundle's files, with what looking at it costs.
async fn loaded(worker: &mut Worker, target: &Target) -> Result<BTreeMap<Subject, usize>, SocketError> {
    let mut found = BTreeMap::new();
    let each = |question: usize, line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let file = match question {
            0 => pattern_file(&line).map(|(path, entries)| (path, LoadedAs::Map, entries)),
            1 => pattern_file(&line).map(|(path, entries)| (path, LoadedAs::Acl, entries)),
            _ => Some((line.trim_end(), LoadedAs::Certificate, CERTIFICATE)),
        };
        if let Some((path, loaded, cost)) = file.filter(|(path, ..)| target.files.contains_key(*path)) {
            found.insert(Subject { path: path.to_owned(), loaded }, cost);
        }
        Ok(())
    };
    worker.each_line(&["show map", "show acl", "show ssl cert"], each).await?;
    Ok(found)
}

/// `4 (maps/h.map) pattern loaded from file … curr_ver=0 next_ver=0 entry_cnt=2`.
pub(crate) fn pattern_file(line: &str) -> Option<(&str, usize)> {
    let (_, rest) = line.split_once(" (")?;
    let (path, rest) = rest.split_once(") ")?;
    let entries = rest.rsplit_once("entry_cnt=")?.1.trim().parse().ok()?;
    Some((path, entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(path: &str) -> Subject {
        Subject { path: path.to_owned(), loaded: LoadedAs::Map }
    }

    #[test]
    fn maps_and_acls_are_listed_as_haproxy_shows_them() {
        let shown = "4 (maps/h.map) pattern loaded from file 'maps/h.map' used by map at file 'h.cfg' line 8. curr_ver=0 next_ver=0 entry_cnt=2";
        assert_eq!(pattern_file(shown), Some(("maps/h.map", 2)));
        assert_eq!(pattern_file("# id (file) description"), None);
    }

    #[test]
    fn each_file_has_its_turn_and_no_look_is_too_long() {
        let all: BTreeMap<Subject, usize> =
            [("a", 15_000), ("b", 4_000), ("c", 3_000), ("d", 1_000_000), ("e", 1)]
                .map(|(path, entries)| (subject(path), entries))
                .into();
        let round = Round::default();
        let next = || round.next_of(&all).into_iter().map(|subject| subject.path).collect::<String>();
        assert_eq!([next(), next(), next(), next(), next()], ["ab", "c", "d", "eab", "c"]);
        let few = BTreeMap::from([(subject("b"), 1)]);
        assert_eq!([round.next_of(&few), round.next_of(&few)], [[subject("b")], [subject("b")]]);
        assert!(round.next_of(&BTreeMap::new()).is_empty());
    }

    #[test]
    fn entries_are_the_same_in_any_order_and_not_with_another_value() {
        let tally = Tally::of_map;
        assert_eq!(tally("a x\nb y\n"), tally("b y\na x\n"));
        assert_ne!(tally("a x\nb y\n"), tally("a y\nb x\n"));
        assert_ne!(tally("a x\n"), tally("a x\na x\n"));
    }
}
