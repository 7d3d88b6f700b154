//! Which file it is, whatever its name.

use std::{fs::Metadata, os::unix::fs::MetadataExt as _, time::SystemTime};

/// Which file or folder it is: one that was made again in the place of another one differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
    /// The number of one that was removed is soon another one's.
    made: Option<SystemTime>,
}

impl FileIdentity {
    /// That of the file that `metadata` is of.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino(), made: metadata.created().ok() }
    }
}
