//! Everything a HAProxy needs of one generation: haproxy.cfg and the files it names.

use haptic_text::{Digest, DigestMarks, ObjectRef, Text};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

/// What a file is to HAProxy, which decides how values in it are encoded and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FileKind {
    /// haproxy.cfg.
    Config,
    /// A map or ACL file.
    Map,
    /// A certificate with its key, or a CA.
    Certificate,
    /// A crt-list.
    CrtList,
    /// Error pages and anything else.
    General,
}

/// A file's kind and name, unique in a bundle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileKey {
    /// What it is.
    pub kind: FileKind,
    /// Its name in the configuration (`host.map`), empty for haproxy.cfg.
    pub name: Arc<str>,
}

/// One rendered file.
#[derive(Clone, Debug)]
pub struct BundleFile {
    /// Kind and name.
    pub key: FileKey,
    /// As haproxy.cfg names it: relative with the agent, absolute with the Data Plane API.
    pub path: Arc<str>,
    /// Its content.
    pub text: Text,
    /// Of its content.
    pub digest: Digest,
}

/// haproxy.cfg and its files. Cheap to clone; equal bundles have equal digests.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// haproxy.cfg.
    pub config: Arc<BundleFile>,
    /// All other files by path.
    pub files: BTreeMap<Arc<str>, Arc<BundleFile>>,
    /// Of all paths and contents.
    pub digest: Digest,
}

impl FileKey {
    /// The key of haproxy.cfg.
    #[must_use]
    pub fn config() -> Self {
        Self { kind: FileKind::Config, name: "".into() }
    }

    /// The key of a named file.
    #[must_use]
    pub fn new(kind: FileKind, name: &str) -> Self {
        Self { kind, name: name.into() }
    }
}

impl std::fmt::Display for FileKey {
    /// `haproxy.cfg`, `map host.map`, `certificate shop.pem`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            FileKind::Config => return f.write_str("haproxy.cfg"),
            FileKind::Map => "map",
            FileKind::Certificate => "certificate",
            FileKind::CrtList => "crt-list",
            FileKind::General => "file",
        };
        write!(f, "{kind} {}", self.name)
    }
}

impl BundleFile {
    /// A file with its digest.
    #[must_use]
    pub fn new(key: FileKey, path: &str, text: Text) -> Self {
        Self::begun(key, path, text, &mut DigestMarks::default())
    }

    /// The same, with marks for the one that [follows](Self::followed_by) it.
    #[must_use]
    pub fn begun(key: FileKey, path: &str, text: Text, marks: &mut DigestMarks) -> Self {
        Self { key, path: path.into(), digest: text.digest_after(0, marks), text }
    }

    /// The same file as it is now. `marks` are those of this one's digest, and then of the other one's.
    #[must_use]
    pub fn followed_by(&self, text: Text, marks: &mut DigestMarks) -> Self {
        let same = text.begins_as(&self.text);
        let is_same = same == text.len() && same == self.text.len();
        let digest = if is_same { self.digest } else { text.digest_after(same, marks) };
        Self { key: self.key.clone(), path: self.path.clone(), digest, text }
    }
}

impl Bundle {
    /// A bundle with its digest.
    #[must_use]
    pub fn new(config: BundleFile, files: impl IntoIterator<Item = BundleFile>) -> Self {
        let files: BTreeMap<_, _> = files.into_iter().map(|f| (f.path.clone(), Arc::new(f))).collect();
        let config = Arc::new(config);
        let digest = digest_of(&config, &files);
        Self { config, files, digest }
    }

    /// haproxy.cfg first, then the files by path.
    pub fn all(&self) -> impl Iterator<Item = &Arc<BundleFile>> {
        std::iter::once(&self.config).chain(self.files.values())
    }

    /// The objects whose blocks have a piece here that `before` has not: the same piece is the same memory.
    #[must_use]
    pub fn changed_since(&self, before: Option<&Self>) -> BTreeSet<Arc<ObjectRef>> {
        let mut all = BTreeSet::new();
        for file in self.all() {
            let earlier = before.and_then(|before| before.all().find(|other| other.path == file.path));
            let known: HashSet<usize> =
                earlier.iter().flat_map(|file| file.text.fragments()).map(|f| f.address()).collect();
            let fresh = file.text.fragments().iter().filter(|fragment| !known.contains(&fragment.address()));
            all.extend(fresh.filter_map(|fragment| fragment.blame().block.clone()));
        }
        all
    }

    /// Whether it is for pods with the Data Plane API: files have absolute names there, and relative ones with the agent.
    #[must_use]
    pub fn is_for_data_plane_api(&self) -> bool {
        self.config.path.starts_with('/')
    }

    /// Bytes of all files.
    #[must_use]
    pub fn size(&self) -> usize {
        self.all().map(|f| f.text.len()).sum()
    }
}

fn digest_of(config: &BundleFile, files: &BTreeMap<Arc<str>, Arc<BundleFile>>) -> Digest {
    let files = files.values().map(|f| (f.path.as_ref(), &f.digest));
    digest_of_files((config.path.as_ref(), &config.digest), files)
}

/// A bundle's digest from the paths and content digests of haproxy.cfg and of the other files, these sorted by path:
/// names are part of a bundle's identity.
pub fn digest_of_files<'a>(
    config: (&'a str, &'a Digest),
    files: impl IntoIterator<Item = (&'a str, &'a Digest)>,
) -> Digest {
    let pieces = std::iter::once(config).chain(files);
    Digest::of_pieces(
        pieces.flat_map(|(path, digest)| [path.as_bytes(), b"\0".as_slice(), digest.as_bytes()]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> BundleFile {
        BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("global\n"))
    }

    #[test]
    fn a_renamed_file_is_another_bundle() {
        let file = |name: &str| {
            BundleFile::new(FileKey::new(FileKind::Map, name), &format!("maps/{name}"), Text::plain("a b\n"))
        };
        let (a, b) = (Bundle::new(config(), [file("a")]), Bundle::new(config(), [file("b")]));
        assert_ne!(a.digest, b.digest);
        assert_eq!(a.digest, Bundle::new(config(), [file("a")]).digest);
    }
}
