//! What a check may read: its own folder and HAProxy's own files. It writes nowhere.

use super::Order;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// What the kernel has given since 6.12, and this asks for: files, TCP ports, abstract sockets and signals.
const WANTED: ABI = ABI::V6;

/// What HAProxy and its libraries look at wherever they run, none of it a secret: certificates of authorities, what OpenSSL and
/// the loader are configured with, time zones, the machine's cores.
const COMMON: [&str; 18] = [
    "/dev/urandom",
    "/dev/random",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/resolv.conf",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/usr/share/ca-certificates",
    "/usr/share/zoneinfo",
];

/// What the C library reads to resolve a name.
const FOR_NAMES: [&str; 6] = [
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/services",
    "/run/systemd/resolve",
];

/// Where an administrator's own files are, when a configuration may show files that it does not render. Where a pod keeps its
/// tokens and its neighbours' memory is not among them.
const OUTSIDE: [&str; 4] = ["/etc", "/opt", "/srv", "/usr"];

pub(super) fn put_on(order: &Order) -> Result<(), String> {
    match restrict(order) {
        Ok(RulesetStatus::FullyEnforced) => Ok(()),
        Ok(RulesetStatus::PartiallyEnforced) => Err(
            "this kernel has an older Landlock: files are confined, TCP, abstract sockets or signals are not"
                .into(),
        ),
        Ok(RulesetStatus::NotEnforced) => {
            Err("this kernel has no Landlock (5.13 and newer have, unless `lsm=` leaves it out)".into())
        }
        Err(error) => Err(format!("Landlock refuses: {error}")),
    }
}

fn restrict(order: &Order) -> Result<RulesetStatus, RulesetError> {
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let own = AccessFs::ReadFile | AccessFs::Execute;
    let null = AccessFs::ReadFile | AccessFs::WriteFile;
    let sockets = if order.answers { read | AccessFs::MakeSock | AccessFs::RemoveFile } else { read };
    let for_names: &[&str] = if order.names { &FOR_NAMES } else { &[] };
    let outside: &[&str] = if order.outside { &OUTSIDE } else { &[] };
    // Files that are not there are left out.
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))?
        .handle_access(AccessNet::from_all(WANTED))?
        .scope(Scope::from_all(WANTED))?
        .create()?
        .add_rules(path_beneath_rules(["."], sockets))?
        .add_rules(path_beneath_rules(COMMON.iter().chain(for_names).chain(outside), read))?
        .add_rules(path_beneath_rules(["/dev/null"], null))?
        .add_rules(path_beneath_rules(&order.files, own))?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// The HAProxy at `program`, its loader and its libraries.
#[must_use]
pub fn own_files(program: &Path) -> Vec<PathBuf> {
    let mut files = vec![program.to_owned()];
    // As ldd does it. Where the loader does not know of that, HAProxy prints its version.
    let traced = Command::new(program).arg("-v").env_clear().env("LD_TRACE_LOADED_OBJECTS", "1").output();
    let said = traced.map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    files.extend(libraries(&said));
    if files.len() == 1 {
        files.extend(["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from));
    }
    files
}

/// The paths in `libssl.so.3 => /lib/libssl.so.3 (0x7f…)` and `/lib64/ld-linux-x86-64.so.2 (0x7f…)`.
fn libraries(said: &str) -> impl Iterator<Item = PathBuf> {
    said.lines().filter_map(|line| {
        let line = line.trim();
        let path = line.split_once(" => ").map_or(line, |(_, path)| path);
        let path = path.split_once(" (").map_or(path, |(path, _)| path);
        path.starts_with('/').then(|| PathBuf::from(path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_loader_are_read_from_what_it_says() {
        let said = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibssl.so.3 => /opt/h/lib/libssl.so.3 (0x00007f)\n\t\
            libx.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let found: Vec<_> = libraries(said).collect();
        assert_eq!(found, ["/opt/h/lib/libssl.so.3", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from));
    }
}
