//! The thread that reads the directory: file events in, updates of every watch out.
//!
//! A file that was closed after writing, or moved into place, is read at once. Anything less certain (a file that
//! appears, shrinks or vanishes) is looked at a moment later: editors move the old file away before they write the
//! new one, and an object must not vanish for that moment. All files are looked at only when a directory came or went:
//! with ten thousands of them that takes a while.

use super::{
    DirectoryError,
    catalog::{Catalog, FileEffects},
    manifest::{Broken, FolderContents, Manifest, ManifestIdentity, parse},
    root::WatchedRoot,
    scan::{Stamp, is_behind_a_link, is_manifest, scan},
    signs::{self, Sign},
    subscriber::{DirectorySubscriber, NamespaceLabels},
};
use crate::{ingest::Ingest, spec::WatchSpec};
use haptic_model::{Event, Object, ObjectRef, store::FetchError};
use haptic_runtime::Events;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender},
    },
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// How long uncertain signs are left to settle.
const SETTLE: Duration = Duration::from_millis(50);
/// An editor may have emptied a file to write it anew: it is believed to be empty after this.
const EMPTY: Duration = Duration::from_millis(200);
/// Watches that start together are served in one pass over the files.
const GATHER: Duration = Duration::from_millis(5);
/// Kinds that nobody watches are told when no watch has started for this long.
const QUIET: Duration = Duration::from_millis(500);
/// How often it is looked at what comes without an event: another directory in the place of the one that is read, and what
/// symbolic links lead to.
const LOOK: Duration = Duration::from_secs(2);

/// What the thread is told.
pub(super) enum Message {
    Files(notify::Result<notify::Event>),
    Subscribe(DirectorySubscriber),
    Fetch(Fetch),
    Kinds(oneshot::Sender<()>),
    Close,
}

/// A request for one object's content.
pub(super) struct Fetch {
    pub(super) spec: Arc<WatchSpec>,
    pub(super) ingest: Arc<Ingest>,
    pub(super) reference: Arc<ObjectRef>,
    pub(super) answer: SyncSender<Result<Option<Object>, FetchError>>,
}

pub(super) struct Hub {
    root: WatchedRoot,
    events: Events,
    subscribers: Vec<DirectorySubscriber>,
    /// Waiting for their first list.
    arriving: Vec<DirectorySubscriber>,
    catalog: Catalog,
    namespaces: NamespaceLabels,
    stamps: BTreeMap<PathBuf, Stamp>,
    /// Files of `stamps` that are behind symbolic links.
    linked: BTreeSet<PathBuf>,
    /// Looked at when they have settled.
    doubts: BTreeSet<PathBuf>,
    /// Files that gave objects and are empty.
    emptied: BTreeSet<PathBuf>,
    /// What has been said of each file, so that it is said once.
    reported: BTreeMap<PathBuf, BTreeSet<String>>,
    /// What has been said of objects that two files define, and of which file.
    doubled: BTreeMap<ManifestIdentity, (PathBuf, String)>,
    /// Kinds and a file that holds one, not yet told about.
    kinds: BTreeMap<(Arc<str>, Arc<str>), PathBuf>,
    kinds_told: BTreeSet<(Arc<str>, Arc<str>)>,
    emptiness_told: bool,
    due: Due,
}

/// What is to be done, and when.
#[derive(Default)]
struct Due {
    list: Option<Instant>,
    rescan: Option<Instant>,
    doubts: Option<Instant>,
    emptied: Option<Instant>,
    kinds: Option<Instant>,
    look: Option<Instant>,
}

impl Hub {
    pub(super) fn new(root: WatchedRoot, events: Events) -> Self {
        Self {
            root,
            events,
            subscribers: Vec::new(),
            arriving: Vec::new(),
            catalog: Catalog::default(),
            namespaces: NamespaceLabels::new(),
            stamps: BTreeMap::new(),
            linked: BTreeSet::new(),
            doubts: BTreeSet::new(),
            emptied: BTreeSet::new(),
            reported: BTreeMap::new(),
            doubled: BTreeMap::new(),
            kinds: BTreeMap::new(),
            kinds_told: BTreeSet::new(),
            emptiness_told: false,
            due: Due { look: Some(Instant::now() + LOOK), ..Due::default() },
        }
    }

    /// Until told to close.
    pub(super) fn run(&mut self, messages: &Receiver<Message>) {
        loop {
            let message = match self.due.next() {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => messages.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(Message::Files(event)) => self.file_event(event),
                Ok(Message::Subscribe(subscriber)) => self.arrive(subscriber),
                Ok(Message::Fetch(fetch)) => self.answer(fetch),
                Ok(Message::Kinds(done)) => {
                    self.report_unwatched_kinds();
                    // Nobody waits any more: fine.
                    _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Message::Close) | Err(RecvTimeoutError::Disconnected) => return,
            }
            self.do_what_is_due();
        }
    }

    fn arrive(&mut self, subscriber: DirectorySubscriber) {
        self.subscribers.retain(|known| !known.is_for_the_same_as(&subscriber));
        self.arriving.push(subscriber);
        let now = Instant::now();
        self.due.list.get_or_insert(now + GATHER);
        self.due.kinds = Some(now + QUIET);
    }

    fn do_what_is_due(&mut self) {
        let now = Instant::now();
        if take_if_due(&mut self.due.list, now) {
            self.list_for_arriving();
            // Many files take a while, in which the next watch may have waited.
            self.due.kinds = Some(Instant::now() + QUIET);
        }
        if take_if_due(&mut self.due.rescan, now) {
            self.rescan();
        }
        if take_if_due(&mut self.due.doubts, now) {
            self.look_at_doubts();
        }
        if take_if_due(&mut self.due.emptied, now) {
            std::mem::take(&mut self.emptied).iter().for_each(|path| self.read_if_changed(path));
        }
        if take_if_due(&mut self.due.kinds, now) {
            self.report_unwatched_kinds();
        }
        if take_if_due(&mut self.due.look, now) {
            self.look_without_an_event();
            self.due.look = Some(Instant::now() + LOOK);
        }
    }

    fn look_without_an_event(&mut self) {
        if self.root.is_replaced() {
            return self.rescan();
        }
        let differs = |path: &&PathBuf| Stamp::of(path).as_ref() != self.stamps.get(*path);
        let changed: Vec<PathBuf> = self.linked.iter().filter(differs).cloned().collect();
        if !changed.is_empty() {
            self.doubts.extend(changed);
            self.due.doubts.get_or_insert(Instant::now() + SETTLE);
        }
    }

    fn file_event(&mut self, event: notify::Result<notify::Event>) {
        for sign in signs::of(event) {
            match sign {
                Sign::Sure(path) if self.has_another_name(&path) => {
                    self.due.rescan.get_or_insert(Instant::now() + SETTLE);
                }
                Sign::Sure(path) => self.look_at(&path),
                Sign::Doubtful(path) => {
                    self.doubts.insert(path);
                    self.due.doubts.get_or_insert(Instant::now() + SETTLE);
                }
                Sign::Everything => {
                    self.due.rescan.get_or_insert(Instant::now() + SETTLE);
                }
            }
        }
    }

    /// Whether the file may be one that is read by another path.
    fn has_another_name(&self, path: &Path) -> bool {
        !self.stamps.contains_key(path) && is_behind_a_link(self.root.path(), path)
    }

    /// Reads a file if it looks different, one that was emptied a moment later.
    fn look_at(&mut self, path: &Path) {
        let is_empty = Stamp::of(path).is_some_and(|stamp| stamp.is_empty());
        if is_empty && self.catalog.objects_of(path).next().is_some() {
            self.emptied.insert(path.to_owned());
            self.due.emptied.get_or_insert(Instant::now() + EMPTY);
        } else {
            self.read_if_changed(path);
        }
    }

    /// Reads a file if it looks different; forgets one that is gone.
    fn read_if_changed(&mut self, path: &Path) {
        match Stamp::of(path).filter(|_| is_manifest(path)) {
            Some(stamp) if self.stamps.get(path) != Some(&stamp) => {
                self.stamps.insert(path.to_owned(), stamp);
                self.reread(path);
            }
            Some(_) => {}
            None => self.forget(path),
        }
    }

    /// What looked uncertain has settled.
    fn look_at_doubts(&mut self) {
        let doubts = std::mem::take(&mut self.doubts);
        let was_directory = |path: &PathBuf| {
            let first = self.stamps.range(path.clone()..).next();
            first.is_some_and(|(known, _)| known != path && known.starts_with(path))
        };
        if doubts.iter().any(was_directory) {
            return self.rescan();
        }
        if doubts.iter().any(|path| self.has_another_name(path)) {
            return self.rescan();
        }
        doubts.iter().for_each(|path| self.look_at(path));
    }

    /// Reads every file that looks different; forgets those that are gone.
    fn rescan(&mut self) {
        let Some(found) = self.scan() else {
            self.due.rescan = Some(Instant::now() + QUIET);
            return;
        };
        let changed: Vec<PathBuf> = found
            .iter()
            .filter(|(path, stamp)| self.stamps.get(*path) != Some(stamp))
            .map(|(path, _)| path.clone())
            .collect();
        self.forget_missing(&found);
        self.linked = self.behind_links(&found);
        self.stamps = found;
        for path in changed {
            self.reread(&path);
        }
    }

    /// One pass over all files: existing watches get what changed, arriving ones everything.
    fn list_for_arriving(&mut self) {
        let Some(found) = self.scan() else {
            self.due.list = Some(Instant::now() + QUIET);
            return;
        };
        self.forget_missing(&found);
        self.linked = self.behind_links(&found);
        if found.is_empty() {
            self.report_emptiness();
        }
        let arriving = std::mem::take(&mut self.arriving);
        arriving.iter().for_each(DirectorySubscriber::begin);
        // Labels of namespaces first: they decide about objects of files read earlier.
        let selecting = arriving.iter().any(DirectorySubscriber::selects_namespaces);
        if selecting && self.namespaces.is_empty() {
            self.read_namespaces(found.keys());
        }
        for (path, stamp) in found {
            self.stamps.insert(path.clone(), stamp);
            match read(&path) {
                Err(broken) => {
                    self.report(&path, [self.message(&broken, &path)].into());
                    for identity in self.catalog.objects_of(&path) {
                        arriving.iter().for_each(|subscriber| subscriber.keep(identity));
                    }
                }
                Ok(contents) => {
                    self.admit(&path, &contents);
                    let given = contents.manifests.iter().filter(|m| self.catalog.gives(&path, &m.identity));
                    let mut seen = BTreeSet::new();
                    for manifest in given.filter(|manifest| seen.insert(&manifest.identity)) {
                        arriving.iter().for_each(|subscriber| subscriber.list(manifest, &self.namespaces));
                    }
                }
            }
        }
        arriving.iter().for_each(DirectorySubscriber::end);
        self.subscribers.retain(DirectorySubscriber::listens);
        self.subscribers.extend(arriving);
    }

    fn reread(&mut self, path: &Path) {
        match read(path) {
            Ok(contents) => self.admit(path, &contents),
            Err(broken) => self.report(path, [self.message(&broken, path)].into()),
        }
    }

    /// Takes a file's new content and sends what follows from it.
    fn admit(&mut self, path: &Path, contents: &FolderContents) {
        let effects = self.catalog.admit(path, &contents.manifests);
        let own = contents.problems.iter().map(|problem| format!("{}: {problem}", path.display()));
        self.report(path, own.chain(effects.problems.iter().cloned()).collect());
        self.report_doubled(path, &effects);
        let changed: Vec<&Manifest> =
            effects.put.iter().filter_map(|place| contents.manifests.get(*place)).collect();
        let namespaces_changed = self.note_namespaces(&changed, &effects.gone);
        for manifest in changed {
            self.note_kind(path, &manifest.identity);
            self.subscribers.iter().for_each(|subscriber| subscriber.put(manifest, &self.namespaces));
        }
        self.send_gone_and_moved(effects);
        if namespaces_changed {
            self.reselect();
        }
    }

    fn send_gone_and_moved(&mut self, effects: FileEffects) {
        for identity in &effects.gone {
            self.subscribers.iter().for_each(|subscriber| subscriber.gone(identity));
        }
        for (path, identities) in effects.moved {
            let Ok(contents) = read(&path) else { continue };
            for manifest in contents.manifests.iter().filter(|m| identities.contains(&m.identity)) {
                self.subscribers.iter().for_each(|subscriber| subscriber.put(manifest, &self.namespaces));
            }
        }
    }

    fn forget_missing(&mut self, found: &BTreeMap<PathBuf, Stamp>) {
        let missing: Vec<PathBuf> =
            self.stamps.keys().filter(|path| !found.contains_key(*path)).cloned().collect();
        missing.iter().for_each(|path| self.forget(path));
    }

    fn forget(&mut self, path: &Path) {
        if self.stamps.remove(path).is_some() {
            self.admit(path, &FolderContents::default());
            self.reported.remove(path);
        }
    }

    /// Labels of namespaces changed: watches that select by them are listed anew.
    fn reselect(&mut self) {
        let (selecting, others) = std::mem::take(&mut self.subscribers)
            .into_iter()
            .partition(DirectorySubscriber::selects_namespaces);
        self.subscribers = others;
        let selecting: Vec<DirectorySubscriber> = selecting;
        if !selecting.is_empty() {
            self.arriving.extend(selecting);
            self.due.list.get_or_insert(Instant::now() + GATHER);
        }
    }

    fn note_namespaces(&mut self, changed: &[&Manifest], gone: &[ManifestIdentity]) -> bool {
        let mut any = false;
        for manifest in changed.iter().filter(|manifest| is_namespace(&manifest.identity)) {
            let labels = manifest.value.pointer("/metadata/labels").and_then(Value::as_object).cloned();
            self.namespaces.insert(manifest.identity.name.clone(), labels.unwrap_or_default());
            any = true;
        }
        for identity in gone.iter().filter(|identity| is_namespace(identity)) {
            any |= self.namespaces.remove(&identity.name).is_some();
        }
        any
    }

    fn read_namespaces<'p>(&mut self, paths: impl Iterator<Item = &'p PathBuf>) {
        for path in paths {
            if let Ok(contents) = read(path) {
                let all: Vec<&Manifest> = contents.manifests.iter().collect();
                self.note_namespaces(&all, &[]);
            }
        }
    }

    fn note_kind(&mut self, path: &Path, identity: &ManifestIdentity) {
        let kind = (identity.api_version.clone(), identity.kind.clone());
        let ours = identity.api_version.starts_with("haproxy-haptic.org/");
        if !ours && !is_namespace(identity) && !self.kinds_told.contains(&kind) {
            self.kinds.entry(kind).or_insert_with(|| path.to_owned());
            self.due.kinds.get_or_insert(Instant::now() + QUIET);
        }
    }

    fn behind_links(&self, found: &BTreeMap<PathBuf, Stamp>) -> BTreeSet<PathBuf> {
        let root = self.root.path();
        found.keys().filter(|path| is_behind_a_link(root, path)).cloned().collect()
    }

    fn report_emptiness(&mut self) {
        if !std::mem::replace(&mut self.emptiness_told, true) {
            let root = self.root.path().display();
            let message =
                format!("there are no manifests in {root}: no file there ends with .yaml, .yml or .json");
            self.events.emit(Event::ManifestIgnored { file: root.to_string().into(), message });
        }
    }

    fn report_unwatched_kinds(&mut self) {
        for ((api_version, kind), path) in std::mem::take(&mut self.kinds) {
            let example = ManifestIdentity {
                api_version: api_version.clone(),
                kind: kind.clone(),
                namespace: "".into(),
                name: "".into(),
            };
            if self.subscribers.iter().any(|subscriber| subscriber.watches(&example)) {
                continue;
            }
            let file: Arc<str> = path.display().to_string().into();
            let message = format!(
                "ignored: {file} holds objects of kind {kind} ({api_version}), which no entry of watchedResources watches"
            );
            self.kinds_told.insert((api_version, kind));
            self.events.emit(Event::ManifestIgnored { file, message });
        }
    }

    /// Says what is new about a file; what was said before and still holds is not said again.
    fn report(&mut self, path: &Path, problems: BTreeSet<String>) {
        let before = self.reported.remove(path).unwrap_or_default();
        for problem in problems.difference(&before) {
            self.event(path, problem.clone());
        }
        if !problems.is_empty() {
            self.reported.insert(path.to_owned(), problems);
        } else if !before.is_empty() {
            self.mended(path);
        }
    }

    fn report_doubled(&mut self, path: &Path, effects: &FileEffects) {
        for identity in &effects.single {
            if let Some((file, _)) = self.doubled.remove(identity) {
                self.mended(&file);
            }
        }
        for (identity, problem) in &effects.doubled {
            if self.doubled.get(identity).is_none_or(|(_, known)| known != problem) {
                self.event(path, problem.clone());
                self.doubled.insert(identity.clone(), (path.to_owned(), problem.clone()));
            }
        }
    }

    fn mended(&self, path: &Path) {
        let is_doubled = self.doubled.values().any(|(file, _)| file == path);
        if !is_doubled && !self.reported.contains_key(path) {
            self.events.emit(Event::ManifestMended { file: path.display().to_string().into() });
        }
    }

    fn scan(&mut self) -> Option<BTreeMap<PathBuf, Stamp>> {
        let unwatched = if self.root.is_replaced() { self.root.watch().err() } else { None };
        let root = self.root.path().to_owned();
        let (found, mut problems) = match scan(&root) {
            Ok(found) => (Some(found), BTreeSet::new()),
            Err(error) => (None, [Broken::unreadable(&error).message(&root, !self.stamps.is_empty())].into()),
        };
        let unwatchable = |error| DirectoryError::Unwatchable { path: root.clone(), error }.to_string();
        problems.extend(unwatched.map(unwatchable));
        self.report(&root, problems);
        found
    }

    fn message(&self, broken: &Broken, path: &Path) -> String {
        broken.message(path, self.catalog.objects_of(path).next().is_some())
    }

    fn event(&self, path: &Path, message: String) {
        let file = path.display().to_string().into();
        self.events.emit(Event::ManifestRefused { file, message });
    }

    fn answer(&self, fetch: Fetch) {
        let found = self.look_up(&fetch);
        // Nobody waits any more: fine.
        drop(fetch.answer.try_send(found));
    }

    fn look_up(&self, fetch: &Fetch) -> Result<Option<Object>, FetchError> {
        let resource = &fetch.spec.resource;
        let wanted = |identity: &&ManifestIdentity| {
            identity.name == fetch.reference.name
                && identity.namespace == fetch.reference.namespace
                && identity.is_of(&resource.api_version, &resource.resources)
        };
        let Some(identity) = self.catalog.objects().find(wanted) else { return Ok(None) };
        let Some(path) = self.catalog.giver(identity) else { return Ok(None) };
        let contents = read(path).map_err(|broken| {
            let sentence = broken.message(path, false);
            FetchError::Unusable(format!("{} cannot be read again: {sentence}", fetch.reference))
        })?;
        let Some(manifest) = contents.manifests.into_iter().find(|m| m.identity == *identity) else {
            return Ok(None);
        };
        let read = fetch.ingest.take_whole(manifest.value);
        read.map(Some).map_err(|malformed| FetchError::Unusable(malformed.message))
    }
}

impl Due {
    fn next(&self) -> Option<Instant> {
        let all = [self.list, self.rescan, self.doubts, self.emptied, self.kinds, self.look];
        all.into_iter().flatten().min()
    }
}

fn take_if_due(at: &mut Option<Instant>, now: Instant) -> bool {
    at.take_if(|at| *at <= now).is_some()
}

/// A file that has just gone is one that holds nothing.
fn read(path: &Path) -> Result<FolderContents, Broken> {
    match std::fs::read(path) {
        Ok(bytes) => parse(path, &bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FolderContents::default()),
        Err(error) => Err(Broken::unreadable(&error)),
    }
}

fn is_namespace(identity: &ManifestIdentity) -> bool {
    &*identity.kind == "Namespace" && &*identity.api_version == "v1"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_empty_for_a_moment_gives_what_it_gave() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("s.yaml");
        let service = "apiVersion: v1\nkind: Service\nmetadata: {name: shop}\n";
        let (sender, _messages) = std::sync::mpsc::channel();
        let watched = WatchedRoot::open(root.path().to_owned(), sender).unwrap();
        let mut hub = Hub::new(watched, Events::channel(1).0);
        let mut look = |text: &str| {
            std::fs::write(&file, text).unwrap();
            hub.look_at(&file);
            let given = hub.catalog.objects().count();
            hub.due.emptied = hub.due.emptied.map(|_| Instant::now());
            hub.do_what_is_due();
            (given, hub.catalog.objects().count())
        };
        assert_eq!(look(service), (1, 1));
        assert_eq!(look(""), (1, 0), "it is believed a moment later");
        assert_eq!(look(service), (1, 1));
    }
}
