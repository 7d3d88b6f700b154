//! What a controller leaves to the next one of its pod: by which leadership it led. A pod's temporary folder outlives its
//! containers, so a controller that crashed and is started again need not wait for a Lease that it held itself.
//!
//! That the one before is dead must be certain. It holds a lock on the file for as long as it lives, and only the kernel
//! takes a lock from a process. So whoever has the lock may take what the file says for the leadership of a dead process,
//! whatever else runs under that pod's name.

use crate::identity;
use haptic_model::agent_api::Epoch;
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

const FILE: &str = "haptic-leader.json";
/// No record is longer, in bytes.
const LONGEST: usize = 4096;

/// A leadership, and the process that had it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    /// Its name in the Lease.
    pub identity: String,
    /// `namespace/name` of the Lease.
    pub lease: String,
    /// Which leadership.
    pub epoch: Epoch,
}

/// The file, for as long as this process lives.
#[derive(Debug, Default)]
pub struct Succession {
    /// `None`: there is no folder, or another living process has it. Then nothing is left and nothing is found.
    file: Option<(PathBuf, File)>,
    former: Option<Former>,
}

impl Succession {
    /// Takes the file over in `folder`, and reads what a process named like `identity` left there.
    #[must_use]
    pub fn open(folder: &Path, identity: &str) -> Self {
        let path = folder.join(FILE);
        match Self::locked(&path) {
            Ok(file) => {
                let former = read(&file).filter(|former| identity::is_of_one_pod(&former.identity, identity));
                Self { file: Some((path, file)), former }
            }
            Err(error) => {
                tracing::debug!(folder = %folder.display(), %error, "a leadership before is not known");
                Self::default()
            }
        }
    }

    /// The leadership of a dead process by the Lease `lease`.
    #[must_use]
    pub fn former(&self, lease: &str) -> Option<&Former> {
        self.former.as_ref().filter(|former| former.lease == lease)
    }

    /// Leaves `led` to the next process. Call it before leading: what is not written is only waited for.
    pub fn leave(&self, led: &Former) {
        let Some((_, file)) = &self.file else { return };
        if let Err(error) = write(file, led) {
            tracing::warn!(%error, "this leadership cannot be noted; after a crash it is waited for");
        }
    }

    /// Removes the file at an orderly end: nobody needs to succeed who holds no Lease.
    pub fn forget(&self) {
        let Some((path, _)) = &self.file else { return };
        if let Err(error) = std::fs::remove_file(path) {
            tracing::debug!(file = %path.display(), %error, "the note of this leadership stays");
        }
    }

    fn locked(path: &Path) -> io::Result<File> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        file.try_lock()?;
        Ok(file)
    }
}

/// The folder that outlives a container of this pod; `None` outside of pods, where others share it.
#[must_use]
pub fn folder_of_this_pod() -> Option<PathBuf> {
    std::env::var_os("POD_NAME").map(|_| std::env::temp_dir())
}

fn read(file: &File) -> Option<Former> {
    let mut bytes = vec![0; LONGEST];
    let length = file.read_at(&mut bytes, 0).ok()?;
    serde_json::from_slice(bytes.get(..length)?).ok()
}

/// In place: the lock is this file's. Half a record is none.
fn write(file: &File, led: &Former) -> io::Result<()> {
    let record = serde_json::to_vec(led)?;
    file.set_len(0)?;
    file.write_all_at(&record, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn led(identity: &str) -> Former {
        let epoch = Epoch { lease_created: 7, transitions: 3 };
        Former { identity: identity.to_owned(), lease: "n/l".to_owned(), epoch }
    }

    #[test]
    fn the_next_process_of_a_pod_learns_what_the_dead_one_led_by() {
        let folder = tempfile::tempdir().unwrap();
        let first = Succession::open(folder.path(), "pod-a_1");
        assert_eq!(first.former("n/l"), None);
        first.leave(&Former { lease: "n/a-much-longer-name".to_owned(), ..led("pod-a_1") });
        first.leave(&led("pod-a_1"));
        drop(first);
        let second = Succession::open(folder.path(), "pod-a_2");
        assert_eq!(second.former("n/l"), Some(&led("pod-a_1")));
        assert_eq!(second.former("n/other"), None);
        drop(second);
        assert!(
            Succession::open(folder.path(), "pod-a_3").former("n/l").is_some(),
            "the second one never led"
        );
        assert_eq!(Succession::open(folder.path(), "pod_1").former("n/l"), None, "another pod's");
    }

    #[test]
    fn nothing_is_learnt_while_the_one_before_lives() {
        let folder = tempfile::tempdir().unwrap();
        let first = Succession::open(folder.path(), "pod_1");
        first.leave(&led("pod_1"));
        let second = Succession::open(folder.path(), "pod_2");
        assert_eq!(second.former("n/l"), None);
        second.leave(&led("pod_2"));
        drop((first, second));
        let third = Succession::open(folder.path(), "pod_3");
        assert_eq!(third.former("n/l"), Some(&led("pod_1")), "who has no lock leaves nothing");
    }

    #[test]
    fn an_orderly_end_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let first = Succession::open(folder.path(), "pod_1");
        first.leave(&led("pod_1"));
        first.forget();
        assert!(!folder.path().join(FILE).exists());
        assert_eq!(Succession::open(folder.path(), "pod_2").former, None);
    }

    #[test]
    fn what_is_no_record_is_none() {
        let folder = tempfile::tempdir().unwrap();
        for content in ["", "{", "{\"identity\":\"pod_1\"}", &"x".repeat(2 * LONGEST)] {
            std::fs::write(folder.path().join(FILE), content).unwrap();
            assert_eq!(Succession::open(folder.path(), "pod_2").former, None, "{content:.20}");
        }
        let nowhere = Succession::open(&folder.path().join("not-there"), "pod_2");
        nowhere.leave(&led("pod_2"));
        assert_eq!(nowhere.former, None);
    }
}
