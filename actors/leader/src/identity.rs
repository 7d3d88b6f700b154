//! Under which name this process stands in the Lease.
//!
//! A container that is started again has another name than its former life: what that one sent may still be under way, and
//! is told from ours by the number of hand-overs. How it takes its former Lease at once is in [`crate::succession`].

use std::hash::{BuildHasher, Hasher, RandomState};

/// `POD_NAME`, or the host's name, and a number of its own for each process.
#[must_use]
pub fn of_this_process() -> String {
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = |name: &String| !name.trim().is_empty();
    let name = std::env::var("POD_NAME").ok().filter(named).or_else(host).filter(named);
    unique(name.as_deref().map_or("haptic", str::trim), RandomState::new().build_hasher().finish())
}

/// `name_0123456789abcdef`. A field manager's name, which this becomes too, has 128 characters at most.
fn unique(name: &str, number: u64) -> String {
    let name: String = name.chars().take(100).collect();
    format!("{name}_{number:016x}")
}

/// Whether these are two processes of one pod.
#[must_use]
pub fn is_of_one_pod(one: &str, other: &str) -> bool {
    let pod = |identity: &str| identity.rsplit_once('_').map(|(name, _)| name.to_owned());
    pod(one).is_some() && pod(one) == pod(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_of_one_pod_have_different_identities() {
        assert_ne!(of_this_process(), of_this_process());
    }

    #[test]
    fn a_long_name_stays_within_what_a_field_manager_may_have() {
        assert_eq!(unique(&"x".repeat(300), 1).len(), 117);
    }
}
