//! What HAProxy has in memory, for a controller that looks for changes by hand: its servers and maps, and whether the entries of
//! maps and ACLs and the certificates are those of the running bundle's files. Some files are read at a time, and the next
//! audit goes on behind them, so that an audit costs the same however large a bundle is.

use super::RunningState;
use crate::{
    disk::target::TargetBundle,
    haproxy::channel::SocketError,
    haproxy::connection::Worker,
    ops::certificate::{self, Leaf},
    ops::read_back::shown_entry,
    ops::server::StateColumns,
};
use haptic_model::agent_api::{ChangedFile, LoadedAs, RunningServer, Runtime};
use haptic_text::pattern_file::{map_entries, patterns};
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

/// Entries that are read at a time; a file that has more is read alone.
const AT_A_TIME: usize = 20_000;
/// What a certificate counts for.
const CERTIFICATE: usize = 20;

/// Where the next audit begins.
#[derive(Debug, Default)]
pub(crate) struct AuditRound(Mutex<Option<AuditedFile>>);

/// Something that HAProxy has loaded from a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AuditedFile {
    path: String,
    loaded: LoadedAs,
}

/// What was read, whatever its order.
#[derive(Debug, Default, PartialEq, Eq)]
struct EntrySum {
    entries: usize,
    sum: u64,
}

impl AuditRound {
    /// Reads all servers, the sizes of all maps, and some of what was loaded from files, on a connection of its own.
    ///
    /// # Errors
    /// HAProxy does not answer.
    pub(crate) async fn runtime(&self, state: &RunningState) -> Result<Runtime, SocketError> {
        let mut worker = state.haproxy.sockets.worker().await?;
        let (mut runtime, mut columns) = (Runtime::default(), StateColumns::default());
        let each = |question: usize, line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            match question {
                0 => runtime.servers.extend(server(&mut columns, &line)),
                _ => {
                    runtime
                        .maps
                        .extend(pattern_file(&line).map(|(path, entries)| (path.to_owned(), entries)));
                }
            }
            Ok(())
        };
        worker.channel.each_line(&["show servers state", "show map"], each).await?;
        runtime.changed = self.changed_files(state, &mut worker).await?;
        Ok(runtime)
    }

    /// The files among the next ones of which HAProxy has something else in memory.
    async fn changed_files(
        &self,
        state: &RunningState,
        worker: &mut Worker,
    ) -> Result<Vec<ChangedFile>, SocketError> {
        let Some(target) = state.target() else { return Ok(Vec::new()) };
        let loaded = loaded(worker, &target).await?;
        let mut found = Vec::new();
        for file in self.next_of(&loaded) {
            if let Some(what) = difference(state, worker, &target, &file).await? {
                found.push(ChangedFile { path: file.path, loaded: file.loaded, what });
            }
        }
        // What an order changed meanwhile was not changed by hand.
        let is_same = state.loaded().is_exact() && state.running() == Some(target.running());
        Ok(if is_same { found } else { Vec::new() })
    }

    /// Those behind the last ones, from the first again behind the last.
    fn next_of(&self, all: &BTreeMap<AuditedFile, usize>) -> Vec<AuditedFile> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_behind = |file: &AuditedFile| last.as_ref().is_none_or(|last| file > last);
        let behind = all.iter().filter(|(file, _)| is_behind(file));
        let before = all.iter().filter(|(file, _)| !is_behind(file));
        let mut cost = 0;
        let next = behind.chain(before).take_while(|(_, entries)| {
            let is_first = cost == 0;
            cost += **entries + 1;
            is_first || cost <= AT_A_TIME
        });
        let next: Vec<AuditedFile> = next.map(|(file, _)| file.clone()).collect();
        last.clone_from(&next.last().cloned());
        next
    }
}

async fn difference(
    state: &RunningState,
    worker: &mut Worker,
    target: &Arc<TargetBundle>,
    file: &AuditedFile,
) -> Result<Option<String>, SocketError> {
    let AuditedFile { path, loaded } = file;
    let (target, file) = (target.clone(), path.clone());
    let text = state.disk.run(move |bundles, stored| target.content(bundles, stored, &file)).await;
    // A file that is gone from the disk is found by the check of the disk.
    let Ok(Ok(text)) = text else { return Ok(None) };
    let text = text.text();
    if *loaded == LoadedAs::Certificate {
        let shown = worker.channel.ask(&certificate::show(path)).await?;
        return Ok(Leaf::of(&text).difference(&shown));
    }
    let is_map = *loaded == LoadedAs::Map;
    let should = if is_map { EntrySum::of_map(&text) } else { EntrySum::of_acl(&text) };
    drop(text);
    let mut is = EntrySum::default();
    let each = |_: usize, line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        if let Some(entry) = shown_entry(&line) {
            let (key, value) = entry.split_once(' ').filter(|_| is_map).unwrap_or((entry.trim_end(), ""));
            is.add(key, value.trim_end());
        }
        Ok(())
    };
    let command = if is_map { "show map" } else { "show acl" };
    worker.channel.each_line(&[format!("{command} {path}")], each).await?;
    Ok((is != should).then(|| "has other entries".to_owned()))
}

impl EntrySum {
    fn of_map(text: &str) -> Self {
        let mut sum = Self::default();
        map_entries(text).for_each(|(key, value)| sum.add(key, value));
        sum
    }

    fn of_acl(text: &str) -> Self {
        let mut sum = Self::default();
        patterns(text).for_each(|pattern| sum.add(pattern.trim_end(), ""));
        sum
    }

    fn add(&mut self, key: &str, value: &str) {
        let mut hasher = DefaultHasher::new();
        (key, value).hash(&mut hasher);
        self.entries += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

fn server(columns: &mut StateColumns, line: &str) -> Option<RunningServer> {
    let row = columns.row(line)?;
    Some(RunningServer {
        backend: row.backend.to_owned(),
        server: row.server.to_owned(),
        address: row.address,
        port: row.port?,
        weight: row.weight,
        state: row.state(),
    })
}

/// What HAProxy has loaded from the bundle's files, with what looking at it costs.
async fn loaded(
    worker: &mut Worker,
    target: &TargetBundle,
) -> Result<BTreeMap<AuditedFile, usize>, SocketError> {
    let mut found = BTreeMap::new();
    let each = |question: usize, line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let file = match question {
            0 => pattern_file(&line).map(|(path, entries)| (path, LoadedAs::Map, entries)),
            1 => pattern_file(&line).map(|(path, entries)| (path, LoadedAs::Acl, entries)),
            _ => Some((line.trim_end(), LoadedAs::Certificate, CERTIFICATE)),
        };
        if let Some((path, loaded, cost)) = file.filter(|(path, ..)| target.files.contains_key(*path)) {
            found.insert(AuditedFile { path: path.to_owned(), loaded }, cost);
        }
        Ok(())
    };
    worker.channel.each_line(&["show map", "show acl", "show ssl cert"], each).await?;
    Ok(found)
}

/// `4 (maps/h.map) pattern loaded from file … curr_ver=0 next_ver=0 entry_cnt=2`.
fn pattern_file(line: &str) -> Option<(&str, usize)> {
    let (_, rest) = line.split_once(" (")?;
    let (path, rest) = rest.split_once(") ")?;
    let entries = rest.rsplit_once("entry_cnt=")?.1.trim().parse().ok()?;
    Some((path, entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> AuditedFile {
        AuditedFile { path: path.to_owned(), loaded: LoadedAs::Map }
    }

    #[test]
    fn maps_and_acls_are_listed_as_haproxy_shows_them() {
        let shown = "4 (maps/h.map) pattern loaded from file 'maps/h.map' used by map at file 'h.cfg' line 8. curr_ver=0 next_ver=0 entry_cnt=2";
        assert_eq!(pattern_file(shown), Some(("maps/h.map", 2)));
        assert_eq!(pattern_file("# id (file) description"), None);
    }

    #[test]
    fn each_file_has_its_turn_and_no_look_is_too_long() {
        let all: BTreeMap<AuditedFile, usize> =
            [("a", 15_000), ("b", 4_000), ("c", 3_000), ("d", 1_000_000), ("e", 1)]
                .map(|(path, entries)| (file(path), entries))
                .into();
        let round = AuditRound::default();
        let next = || round.next_of(&all).into_iter().map(|file| file.path).collect::<String>();
        assert_eq!([next(), next(), next(), next(), next()], ["ab", "c", "d", "eab", "c"]);
        let few = BTreeMap::from([(file("b"), 1)]);
        assert_eq!([round.next_of(&few), round.next_of(&few)], [[file("b")], [file("b")]]);
        assert!(round.next_of(&BTreeMap::new()).is_empty());
    }

    #[test]
    fn entries_are_the_same_in_any_order_and_not_with_another_value() {
        let sum = EntrySum::of_map;
        assert_eq!(sum("a x\nb y\n"), sum("b y\na x\n"));
        assert_ne!(sum("a x\nb y\n"), sum("a y\nb x\n"));
        assert_ne!(sum("a x\n"), sum("a x\na x\n"));
    }
}
