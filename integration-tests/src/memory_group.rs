//! A control group with a limit on memory, as a container has one.

use crate::failure::{Failure, Outcome};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

const GROUPS: &str = "/sys/fs/cgroup";

/// A group within this process' own, removed when it is dropped.
pub struct MemoryGroup {
    path: PathBuf,
    version: Version,
}

/// The two interfaces of the kernel.
#[derive(Clone, Copy)]
enum Version {
    First,
    Second,
}

impl Version {
    fn limit(self) -> &'static str {
        match self {
            Self::First => "memory.limit_in_bytes",
            Self::Second => "memory.max",
        }
    }

    /// Where the kernel counts processes that it ended because the group had no memory left.
    fn kills(self) -> &'static str {
        match self {
            Self::First => "memory.oom_control",
            Self::Second => "memory.events",
        }
    }
}

impl MemoryGroup {
    /// A group of `bytes`.
    pub fn make(name: &str, bytes: u64) -> Outcome<Self> {
        let (parent, version) = own()?;
        let path = parent.join(format!("haptic-{name}-{}", std::process::id()));
        let refused = |error: std::io::Error| {
            let path = path.display();
            Failure::new(format!(
                "{path}: {error}. A limit on memory needs root, or a group that is this user's"
            ))
        };
        fs::create_dir_all(&path).map_err(refused)?;
        fs::write(path.join(version.limit()), bytes.to_string()).map_err(refused)?;
        Ok(Self { path, version })
    }

    /// What starts `program` in the group.
    #[must_use]
    pub fn words(&self, program: &Path) -> Vec<OsString> {
        let joins = format!("echo 0 > '{}/cgroup.procs' && exec \"$@\"", self.path.display());
        ["sh", "-c", &joins, "sh"].map(OsString::from).into_iter().chain([program.into()]).collect()
    }

    /// How many processes the kernel has ended for want of memory.
    pub fn kills(&self) -> Outcome<u64> {
        let text = fs::read_to_string(self.path.join(self.version.kills()))?;
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        Ok(count.ok_or_else(|| Failure::new(format!("no oom_kill in {text}")))?.trim().parse()?)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // A process that still ends in it keeps it; the kernel has no other use for it.
        drop(fs::remove_dir(&self.path));
    }
}

/// The group of this process that counts memory.
fn own() -> Outcome<(PathBuf, Version)> {
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let own = groups.lines().filter_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let group = group.trim_start_matches('/');
        match controllers {
            // Its processes may be in leaves alone: the new group is beside this process' own.
            "" => Some((beside(Path::new(GROUPS), group), Version::Second)),
            all if all.split(',').any(|one| one == "memory") => {
                Some((Path::new(GROUPS).join("memory").join(group), Version::First))
            }
            _ => None,
        }
    });
    // A machine with both has the memory in the first.
    let own = own.min_by_key(|(_, version)| matches!(version, Version::Second));
    own.ok_or_else(|| Failure::new("this kernel has no control groups with memory"))
}

fn beside(root: &Path, group: &str) -> PathBuf {
    let own = root.join(group);
    own.parent().filter(|parent| parent.starts_with(root)).map_or(own.clone(), Path::to_owned)
}
