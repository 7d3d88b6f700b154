//! Bundles on disk. Each is a complete folder; which one counts is one symbolic link, swapped atomically: there is never a
//! mixture of two. A folder of a bundle whose files are unchanged is shared with the one before it, so that one changed
//! server does not touch ten thousand certificates.
//!
//! All of this blocks on the disk: callers run it off the async threads.

use crate::{
    disk::folder::{self, AgentFolder},
    disk::target::{TargetBundle, Texts},
};
use haptic_model::{
    Generation,
    agent_api::{LARGEST_BUNDLE, Running, RunningBundle},
};
use haptic_text::{Digest, SplicedText};
use serde::{Deserialize, Serialize};
use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap},
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, symlink},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The most new files that are synced one by one; more are synced by one call for the whole file system.
const SYNCED_SINGLY: usize = 16;
const BOOTSTRAP: &str = "bootstrap";
/// What HAProxy runs until a controller brings a bundle: nothing but the agent's socket.
const BOOTSTRAP_CONFIG: &str = "# Until a controller brings a bundle.\nglobal\n    maxconn 100\n";

/// A bundle on disk.
#[derive(Clone, Debug)]
pub(crate) struct StoredBundle {
    number: u64,
    pub(crate) digest: Digest,
    pub(crate) generation: Generation,
    pub(crate) config: String,
    files: BTreeMap<String, StoredFile>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredFile {
    digest: Digest,
    /// `None` when its bytes were not those of the digest.
    stamp: Option<FileStamp>,
}

/// Tells cheaply whether a file was written to or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

/// `bundles/7.json`.
#[derive(Serialize, Deserialize)]
struct BundleRecord {
    config: String,
    running: RecordedFiles,
}

#[derive(Serialize, Deserialize)]
struct RecordedFiles {
    digest: Digest,
    generation: Generation,
    files: BTreeMap<String, Digest>,
}

/// All bundles in the agent's folder.
#[derive(Debug)]
pub(crate) struct Bundles {
    folder: AgentFolder,
    next: AtomicU64,
    /// Held while old bundles are removed.
    sweeping: Mutex<()>,
}

impl StoredBundle {
    pub(crate) fn running(&self) -> Running {
        Running { digest: self.digest, generation: self.generation }
    }

    /// Digests by path.
    pub(crate) fn digests(&self) -> BTreeMap<String, Digest> {
        self.files.iter().map(|(path, file)| (path.clone(), file.digest)).collect()
    }

    /// The same bundle, all of whose contents are on disk.
    pub(crate) fn as_target(&self) -> TargetBundle {
        TargetBundle {
            digest: self.digest,
            generation: self.generation,
            config: self.config.clone(),
            files: self.digests(),
            texts: Texts::new(),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// How many files, and how many bytes.
    pub(crate) fn size(&self) -> (u64, u64) {
        let bytes = self.files.values().filter_map(|file| file.stamp).map(|stamp| stamp.length).sum();
        (self.files.len() as u64, bytes)
    }
}

impl Bundles {
    /// Finds the bundle that counts. Without one, the bootstrap file is put in its place.
    pub(crate) fn open(folder: AgentFolder) -> io::Result<(Self, Option<StoredBundle>)> {
        let names = numbers(&folder.bundles()).into_iter().chain(numbers(&folder.trees()));
        let next = AtomicU64::new(names.max().unwrap_or(0) + 1);
        let bundles = Self { next, folder, sweeping: Mutex::default() };
        let current = bundles.current().filter(|number| bundles.home(*number).join("haproxy.cfg").exists());
        if current.is_none() {
            let bootstrap = bundles.folder.bundles().join(BOOTSTRAP);
            std::fs::create_dir_all(&bootstrap)?;
            folder::replace(&bootstrap.join("haproxy.cfg"), BOOTSTRAP_CONFIG.as_bytes())?;
            bundles.link(BOOTSTRAP)?;
        }
        let stored = current.and_then(|number| bundles.load(number));
        Ok((bundles, stored))
    }

    /// Reads a bundle's record and checks its files.
    pub(crate) fn load(&self, number: u64) -> Option<StoredBundle> {
        let record = match read_record(&self.record(number)) {
            Ok(record) => record,
            Err(error) => {
                tracing::warn!(%error, "what the current bundle is cannot be read; a controller has to bring it again");
                return None;
            }
        };
        let home = self.home(number);
        let checked = |(path, digest): (String, Digest)| {
            let stamp = verified(&home, &path, digest);
            (path, StoredFile { digest, stamp })
        };
        Some(StoredBundle {
            number,
            digest: record.running.digest,
            generation: record.running.generation,
            config: record.config,
            files: record.running.files.into_iter().map(checked).collect(),
        })
    }

    /// Writes a bundle beside the others. It counts only after [`Self::activate`].
    pub(crate) fn write(
        &self,
        before: Option<&StoredBundle>,
        target: &TargetBundle,
    ) -> io::Result<StoredBundle> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let written = Writing::begin(self, number, before, target).and_then(|mut writing| {
            writing.all()?;
            writing.finish()
        });
        if written.is_err() {
            self.remove(number);
        }
        written
    }

    /// Makes a bundle count, or with `None` the bootstrap file.
    pub(crate) fn activate(&self, stored: Option<u64>) -> io::Result<()> {
        self.link(&stored.map_or_else(|| BOOTSTRAP.to_owned(), |number| number.to_string()))
    }

    /// Removes a bundle that never counted, except for its empty folder: after a reload that failed, a master of 3.0 stays in
    /// it, and could not reload any more without.
    pub(crate) fn remove(&self, number: u64) {
        for name in names(&self.folder.trees()).into_iter().filter(|name| number_of(name) == Some(number)) {
            folder::removed(&self.folder.trees().join(name));
        }
        names(&self.home(number)).iter().for_each(|name| folder::removed(&self.home(number).join(name)));
        folder::removed(&self.record(number));
    }

    /// Removes all bundles before `keep` and what only they used.
    pub(crate) fn sweep(&self, keep: u64) {
        let _one_at_a_time = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        if self.current() != Some(keep) {
            // A newer one counts already, and uses folders of which this one knows nothing.
            return;
        }
        if let Err(error) = folder::sync_folder(self.folder.root()) {
            tracing::warn!(%error, "which bundle counts cannot be made durable; older ones are kept");
            return;
        }
        let used: Vec<PathBuf> = names(&self.home(keep))
            .iter()
            .filter_map(|name| std::fs::read_link(self.home(keep).join(name)).ok())
            .collect();
        let old = |name: &String| number_of(name).is_some_and(|number| number < keep);
        for name in names(&self.folder.trees()).into_iter().filter(old) {
            if !used.iter().any(|link| link.file_name().is_some_and(|tree| *tree == *name)) {
                folder::removed(&self.folder.trees().join(name));
            }
        }
        let old: Vec<String> = names(&self.folder.bundles()).into_iter().filter(old).collect();
        let is_empty = |name: &&String| {
            std::fs::read_dir(self.folder.bundles().join(name)).is_ok_and(|mut d| d.next().is_none())
        };
        let last_failed = old.iter().filter(is_empty).max_by_key(|name| number_of(name));
        for name in old.iter().filter(|name| Some(*name) != last_failed) {
            folder::removed(&self.folder.bundles().join(name));
        }
    }

    /// Whether every file on disk is still the bundle's.
    pub(crate) fn intact(&self, stored: &StoredBundle) -> bool {
        let home = self.home(stored.number);
        self.current() == Some(stored.number)
            && stored
                .files
                .iter()
                .all(|(path, file)| file.stamp.is_some() && stamp(&home.join(path)) == file.stamp)
    }

    /// All contents.
    pub(crate) fn read(&self, stored: &StoredBundle) -> io::Result<RunningBundle> {
        let home = self.home(stored.number);
        let content = |path: &String| {
            let file = home.join(path);
            // Someone may have put a link to elsewhere in its place.
            stamp(&file).ok_or_else(|| io::Error::other(format!("{path} is not a file any more")))?;
            Ok((path.clone(), std::fs::read_to_string(file)?))
        };
        let files = stored.files.keys().map(content).collect::<io::Result<_>>()?;
        Ok(RunningBundle { config: stored.config.clone(), files })
    }

    /// Which bundle counts.
    fn current(&self) -> Option<u64> {
        number_of(std::fs::read_link(self.folder.current()).ok()?.file_name()?.to_str()?)
    }

    /// What `stored` has. `checked`: each file is looked at before it is said to be there.
    pub(crate) fn had<'a>(&self, stored: Option<&'a StoredBundle>, checked: bool) -> StoredContents<'a> {
        let home = stored.map(|stored| self.home(stored.number)).unwrap_or_default();
        StoredContents { home, stored, by_digest: OnceCell::new(), checked }
    }

    fn link(&self, name: &str) -> io::Result<()> {
        let new = self.folder.root().join("current.new");
        folder::removed(&new);
        symlink(Path::new("bundles").join(name), &new)?;
        // Made durable before anything is removed: until then the bundle before is still there.
        std::fs::rename(&new, self.folder.current())
    }

    fn home(&self, number: u64) -> PathBuf {
        self.folder.bundles().join(number.to_string())
    }

    fn record(&self, number: u64) -> PathBuf {
        self.folder.bundles().join(format!("{number}.json"))
    }
}

/// Which bytes a stored bundle has.
pub(crate) struct StoredContents<'a> {
    home: PathBuf,
    stored: Option<&'a StoredBundle>,
    /// Made when a file is looked for that is not where it was.
    by_digest: OnceCell<HashMap<Digest, (&'a str, StoredFile)>>,
    /// A repair looks at every file; other orders do without ten thousand looks.
    checked: bool,
}

impl<'a> StoredContents<'a> {
    /// Where it has what is to be at `path`: there, or elsewhere.
    pub(crate) fn at(&self, path: &str, digest: Digest) -> Option<(&'a str, StoredFile)> {
        let same = self.stored?.files.get_key_value(path).map(|(path, file)| (path.as_str(), *file));
        same.filter(|(path, file)| file.digest == digest && self.good(path, file))
            .or_else(|| self.anywhere(digest))
    }

    /// A content, `None` when it is not there any more.
    pub(crate) fn read(&self, digest: Digest) -> io::Result<Option<SplicedText>> {
        let Some((path, _)) = self.anywhere(digest) else { return Ok(None) };
        let content = SplicedText::from(std::fs::read_to_string(self.home.join(path))?);
        Ok((content.digest() == digest).then_some(content))
    }

    /// Where it has this content.
    pub(crate) fn anywhere(&self, digest: Digest) -> Option<(&'a str, StoredFile)> {
        let all = || {
            let files = self.stored.into_iter().flat_map(|stored| &stored.files);
            files.map(|(path, file)| (file.digest, (path.as_str(), *file))).collect()
        };
        let found = self.by_digest.get_or_init(all).get(&digest).copied();
        found.filter(|(path, file)| self.good(path, file))
    }

    fn good(&self, path: &str, file: &StoredFile) -> bool {
        file.stamp.is_some() && (!self.checked || stamp(&self.home.join(path)) == file.stamp)
    }
}

/// One bundle being written.
struct Writing<'a> {
    bundles: &'a Bundles,
    before: Option<&'a StoredBundle>,
    had: StoredContents<'a>,
    bundle: &'a TargetBundle,
    number: u64,
    home: PathBuf,
    files: BTreeMap<String, StoredFile>,
    /// Folders that are not shared.
    trees: Vec<PathBuf>,
    bytes: u64,
}

impl<'a> Writing<'a> {
    fn begin(
        bundles: &'a Bundles,
        number: u64,
        before: Option<&'a StoredBundle>,
        bundle: &'a TargetBundle,
    ) -> io::Result<Self> {
        let home = bundles.home(number);
        make_folder(&home)?;
        Ok(Self {
            bundles,
            before,
            // A repair looks at every file.
            had: bundles.had(before, before.is_some_and(|before| before.digest == bundle.digest)),
            bundle,
            number,
            home,
            files: BTreeMap::new(),
            trees: Vec::new(),
            bytes: 0,
        })
    }

    fn all(&mut self) -> io::Result<()> {
        let mut by_folder: BTreeMap<&str, Vec<(&'a str, Digest)>> = BTreeMap::new();
        for (path, digest) in &self.bundle.files {
            let top = path.split_once('/').map_or("", |(top, _)| top);
            by_folder.entry(top).or_default().push((path.as_str(), *digest));
        }
        for (index, (top, files)) in by_folder.into_iter().enumerate() {
            if !top.is_empty() && !self.share(top, &files)? {
                let tree = format!("{}.{index}", self.number);
                let fresh = self.bundles.folder.trees().join(&tree);
                make_folder(&fresh)?;
                self.trees.push(fresh);
                symlink(Path::new("../../trees").join(tree), self.home.join(top))?;
            }
            for (path, digest) in files {
                if !self.files.contains_key(path) {
                    self.place(path, digest)?;
                }
            }
        }
        if self.bundle.config != crate::disk::request::CONFIG {
            symlink(&self.bundle.config, self.home.join(crate::disk::request::CONFIG))?;
        }
        Ok(())
    }

    /// Uses a folder of the bundle before when all its files are the same and untouched.
    fn share(&mut self, top: &str, files: &[(&'a str, Digest)]) -> io::Result<bool> {
        let Some(before) = self.before else { return Ok(false) };
        let inside = |path: &&String| path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'));
        if before.files.keys().filter(inside).count() != files.len() {
            return Ok(false);
        }
        let mut shared = Vec::with_capacity(files.len());
        for (path, digest) in files {
            match before.files.get(*path) {
                Some(file) if file.digest == *digest && self.had.good(path, file) => {
                    shared.push(((*path).to_owned(), *file));
                }
                _ => return Ok(false),
            }
        }
        let link = std::fs::read_link(self.had.home.join(top))?;
        if !link.starts_with("../../trees") || link.components().count() != 4 {
            return Ok(false);
        }
        symlink(link, self.home.join(top))?;
        for (_, file) in &shared {
            self.count(file.stamp.map_or(0, |s| s.length))?;
        }
        self.files.extend(shared);
        Ok(true)
    }

    /// Links a file that is there already, or writes it.
    fn place(&mut self, path: &str, digest: Digest) -> io::Result<()> {
        let target = self.home.join(path);
        if let Some(parent) = target.parent().filter(|parent| !parent.exists()) {
            make_folder(parent)?;
        }
        let file = match (self.had.at(path, digest), self.bundle.texts.get(&digest)) {
            (Some((old, file)), _) => {
                std::fs::hard_link(self.had.home.join(old), &target)?;
                file
            }
            (None, Some(content)) => {
                self.write_file(&target, content)?;
                StoredFile { digest, stamp: stamp(&target) }
            }
            (None, None) => return Err(io::Error::other(format!("the content of {path} is not there"))),
        };
        self.count(file.stamp.map_or(0, |s| s.length))?;
        self.files.insert(path.to_owned(), file);
        Ok(())
    }

    fn write_file(&self, target: &Path, content: &SplicedText) -> io::Result<()> {
        let mut file =
            BufWriter::new(OpenOptions::new().create_new(true).write(true).mode(0o640).open(target)?);
        content.pieces().try_for_each(|piece| file.write_all(piece.as_bytes()))?;
        let file = file.into_inner()?;
        if self.bundle.texts.len() <= SYNCED_SINGLY { file.sync_all() } else { Ok(()) }
    }

    fn count(&mut self, bytes: u64) -> io::Result<()> {
        self.bytes += bytes;
        if self.bytes > LARGEST_BUNDLE as u64 {
            return Err(io::Error::other(format!("the bundle has more than {LARGEST_BUNDLE} bytes")));
        }
        Ok(())
    }

    /// Puts all on disk, the record last.
    fn finish(self) -> io::Result<StoredBundle> {
        if self.bundle.texts.len() > SYNCED_SINGLY {
            rustix::fs::syncfs(File::open(&self.home)?)?;
        } else {
            for tree in &self.trees {
                folder::sync_folder(tree)?;
            }
            folder::sync_folder(&self.home)?;
        }
        let stored = StoredBundle {
            number: self.number,
            digest: self.bundle.digest,
            generation: self.bundle.generation,
            config: self.bundle.config.clone(),
            files: self.files,
        };
        let listed =
            RecordedFiles { digest: stored.digest, generation: stored.generation, files: stored.digests() };
        let record = BundleRecord { config: stored.config.clone(), running: listed };
        folder::replace(&self.bundles.record(self.number), &serde_json::to_vec(&record)?)?;
        Ok(stored)
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o750).create(path)
}

fn read_record(path: &Path) -> io::Result<BundleRecord> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// A plain file's stamp; `None` for anything else, links included.
fn stamp(path: &Path) -> Option<FileStamp> {
    let meta = std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some(FileStamp { inode: meta.ino(), length: meta.len(), modified: (meta.mtime(), meta.mtime_nsec()) })
}

fn verified(home: &Path, path: &str, digest: Digest) -> Option<FileStamp> {
    let path = home.join(path);
    let stamp = stamp(&path)?;
    (Digest::of(&std::fs::read(path).ok()?) == digest).then_some(stamp)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn numbers(folder: &Path) -> Vec<u64> {
    names(folder).iter().filter_map(|name| number_of(name)).collect()
}

/// 7 of `7`, `7.json` and `7.2`.
fn number_of(name: &str) -> Option<u64> {
    name.split('.').next()?.parse().ok()
}
