//! Finds manifest files and tells which of them changed.

use haptic_model::FileIdentity;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Of the directory, if there is one; follows symbolic links.
pub(super) fn directory_identity(path: &Path) -> Option<FileIdentity> {
    fs::metadata(path).ok().filter(fs::Metadata::is_dir).as_ref().map(FileIdentity::of)
}

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
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Self { modified: metadata.modified().ok(), length: metadata.len(), inode: metadata.ino() })
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// Every manifest file below `root`, by path. A directory that has several names is read by one of them.
///
/// # Errors
/// When `root` itself cannot be listed.
pub(crate) fn scan(root: &Path) -> io::Result<BTreeMap<PathBuf, Stamp>> {
    let mut scanned = ScannedTree::default();
    scanned.descend(root)?;
    // Who has a name of its own is not read by that of a link, wherever the link is.
    while let Some(link) = scanned.links.pop_first() {
        scanned.descend_if_there(&link)?;
    }
    Ok(scanned.found)
}

#[derive(Default)]
struct ScannedTree {
    found: BTreeMap<PathBuf, Stamp>,
    visited: BTreeSet<FileIdentity>,
    /// To directories that are read after all others.
    links: BTreeSet<PathBuf>,
}

impl ScannedTree {
    fn descend(&mut self, directory: &Path) -> io::Result<()> {
        let is_new = |identity| self.visited.insert(identity);
        if !directory_identity(directory).is_none_or(is_new) {
            return Ok(());
        }
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if is_hidden(&path) {
                continue;
            }
            if path.is_dir() {
                if path.is_symlink() {
                    self.links.insert(path);
                } else {
                    self.descend_if_there(&path)?;
                }
            } else if is_manifest(&path)
                && let Some(stamp) = Stamp::of(&path)
            {
                self.found.insert(path, stamp);
            }
        }
        Ok(())
    }

    /// A directory that went away meanwhile is simply not there.
    fn descend_if_there(&mut self, directory: &Path) -> io::Result<()> {
        self.descend(directory).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })
    }
}

/// Whether the name says that it is a manifest.
pub(crate) fn is_manifest(path: &Path) -> bool {
    let is_one = |ending: &std::ffi::OsStr| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known));
    !is_hidden(path) && path.extension().is_some_and(is_one)
}

/// Of manifests' names, in small or capital letters.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Whether a symbolic link stands between `root` and the file, or is the file: its changes come without an event, or with one
/// of another name.
pub(crate) fn is_behind_a_link(root: &Path, path: &Path) -> bool {
    path.ancestors().take_while(|place| *place != root).any(Path::is_symlink)
}

/// Editors' swap files, and the `..data` of Kubernetes' mounts, through which their files are reached anyway.
fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn names(root: &Path) -> Vec<String> {
        let found = scan(root).unwrap();
        found.keys().map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect()
    }

    #[test]
    fn a_directory_is_read_once_however_many_links_lead_to_it() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("s.yaml"), "").unwrap();
        for link in ["a", "b", "c"] {
            symlink(".", root.path().join(link)).unwrap();
            symlink("..", inner.join(link)).unwrap();
        }
        assert_eq!(names(root.path()), ["inner/s.yaml"]);
    }

    #[test]
    fn neither_the_case_of_an_ending_nor_a_directorys_name_nor_its_depth_hides_a_manifest() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("folder.yaml").join("d/".repeat(20));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("s.yml"), "").unwrap();
        fs::write(root.path().join("A.YAML"), "").unwrap();
        let deep = format!("folder.yaml/{}s.yml", "d/".repeat(20));
        assert_eq!(names(root.path()), ["A.YAML".to_owned(), deep]);
    }
}
