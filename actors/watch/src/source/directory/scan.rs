//! Finds manifest files and tells which of them changed.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Directories deeper than this are a loop of symbolic links.
const DEEPEST: usize = 16;

/// What a file looks like from outside; follows symbolic links, so a swapped mount differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl Stamp {
    /// Of the file, if there is one.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Self { modified: metadata.modified().ok(), length: metadata.len(), inode: metadata.ino() })
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// Every manifest file below `root`, by path.
///
/// # Errors
/// When `root` itself cannot be listed.
pub(crate) fn scan(root: &Path) -> io::Result<BTreeMap<PathBuf, Stamp>> {
    let mut found = BTreeMap::new();
    descend(root, 0, &mut found)?;
    Ok(found)
}

fn descend(directory: &Path, depth: usize, found: &mut BTreeMap<PathBuf, Stamp>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if is_hidden(&path) {
            continue;
        }
        if is_manifest(&path) {
            if let Some(stamp) = Stamp::of(&path) {
                found.insert(path, stamp);
            }
        } else if depth < DEEPEST && path.is_dir() {
            // A directory that went away meanwhile is simply not there.
            descend(&path, depth + 1, found).or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
        }
    }
    Ok(())
}

/// Whether the name says that it is a manifest.
pub(crate) fn is_manifest(path: &Path) -> bool {
    !is_hidden(path)
        && path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml" || ending == "json")
}

/// Editors' swap files, and the `..data` of Kubernetes' mounts, through which their files are reached anyway.
fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}
