//! How much memory this process may use, with all that it starts.

use rustix::process::{Resource, getrlimit};
use std::{fs, path::Path};

/// Where the kernel shows control groups.
const GROUPS: &str = "/sys/fs/cgroup";
/// Larger numbers mean that nobody set a limit.
const NONE: u64 = 1 << 60;

/// A limit on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryLimit {
    /// Bytes.
    pub bytes: u64,
    /// Whether it is the container's; otherwise it is this process'.
    pub is_containers: bool,
}

impl MemoryLimit {
    /// The smallest limit there is, if any.
    #[must_use]
    pub fn read() -> Option<Self> {
        let member = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let of_container =
            of_groups(Path::new(GROUPS), &member).map(|bytes| Self { bytes, is_containers: true });
        let own = getrlimit(Resource::As).current.filter(|bytes| *bytes < NONE);
        let own = own.map(|bytes| Self { bytes, is_containers: false });
        of_container.into_iter().chain(own).min()
    }
}

/// The smallest limit of the groups that `/proc/self/cgroup` names, and of those around them. Within a container that sees
/// only its own group that group is the root.
fn of_groups(root: &Path, member: &str) -> Option<u64> {
    let of = |line: &str| {
        let mut words = line.splitn(3, ':').skip(1);
        let (controllers, group) = (words.next()?, words.next()?);
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            all if all.split(',').any(|one| one == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let own = root.join(group.trim_start_matches('/'));
        let groups = own.ancestors().take_while(|group| group.starts_with(&root));
        groups.filter_map(|group| limit_in(&group.join(file))).min()
    };
    member.lines().filter_map(of).min()
}

fn limit_in(file: &Path) -> Option<u64> {
    let limit = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    (limit < NONE).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_smallest_limit_of_a_group_and_those_around_it_counts() {
        let member = "0::/kubepods/pod1/c1\n";
        let second = root(&[
            ("memory.max", "max\n"),
            ("kubepods/memory.max", "8589934592\n"),
            ("kubepods/pod1/memory.max", "1073741824\n"),
            ("kubepods/pod1/c1/memory.max", "max\n"),
        ]);
        assert_eq!(of_groups(second.path(), member), Some(1 << 30));
        let inside = root(&[("memory.max", "536870912\n")]);
        assert_eq!(of_groups(inside.path(), "0::/\n"), Some(512 << 20));
        assert_eq!(
            of_groups(inside.path(), "0::/../../elsewhere\n"),
            Some(512 << 20),
            "a group that is not to be seen"
        );
    }

    #[test]
    fn the_first_version_of_groups_is_read_too() {
        let member = "5:cpu,cpuacct:/kubepods\n4:memory:/kubepods/c1\n1:name=systemd:/x\n0::/\n";
        let first = root(&[
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/kubepods/c1/memory.limit_in_bytes", "268435456\n"),
        ]);
        assert_eq!(of_groups(first.path(), member), Some(256 << 20));
        let free = root(&[("memory/memory.limit_in_bytes", "9223372036854771712\n")]);
        assert_eq!(of_groups(free.path(), member), None);
    }
}
