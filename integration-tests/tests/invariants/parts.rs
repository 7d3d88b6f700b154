//! Where the scripts that fetch real parts take Debian's packages from: whatever apt is configured with.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::{assert_none, root};
use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

#[test]
fn no_script_names_a_mirror() {
    let mut files = vec![root().join("Dockerfile"), root().join("Makefile")];
    for folder in ["integration-tests/parts", "release", ".ci"] {
        files.extend(files_below(&root().join(folder)));
    }
    let naming = files.iter().filter(|file| {
        fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("debian.org"))
    });
    assert_none(
        &naming.map(|file| format!("{} names a mirror of Debian", file.display())).collect::<Vec<_>>(),
    );
}

fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// What `mirror` prints for a host with `os`, whose apt says `targets`; nothing when it fails.
fn mirror(os: &str, targets: &[&str]) -> Option<String> {
    let host = tempfile::tempdir().unwrap();
    let (release, apt) = (host.path().join("os-release"), host.path().join("apt-get"));
    fs::write(&release, os).unwrap();
    let lines: String = targets.iter().map(|line| format!("echo '{line}'\n")).collect();
    fs::write(&apt, format!("#!/bin/sh\n{lines}")).unwrap();
    fs::set_permissions(&apt, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", host.path().display(), std::env::var("PATH").unwrap());
    let ran = Command::new(root().join("integration-tests/parts/mirror"))
        .env("PATH", path)
        .env("OS_RELEASE", &release)
        .env_remove("HAPTIC_DEBIAN_MIRROR")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success() || said.contains("HAPTIC_DEBIAN_MIRROR"), "{said}");
    ran.status.success().then(|| String::from_utf8_lossy(&ran.stdout).trim().to_owned())
}

#[test]
fn the_mirror_is_the_one_that_apt_is_configured_with() {
    const DEBIAN: &str = "ID=debian\nVERSION_CODENAME=trixie\n";
    let read = [
        "Debian|Debian-Security|main|trixie-security|http://mirror.corp.example/security",
        "Elsewhere|Elsewhere|main|trixie|http://packages.example/trixie",
        "Debian|Debian|main|trixie|http://mirror.corp.example/apt",
    ];
    assert_eq!(mirror(DEBIAN, &read).as_deref(), Some("http://mirror.corp.example/apt"));
    // A derivative that has Debian's archive, too.
    assert_eq!(mirror("ID=mint\n", &read).as_deref(), Some("http://mirror.corp.example/apt"));
    // apt has read no list yet: what it does not know it prints as it was asked.
    let unread = [
        "$(ORIGIN)|$(LABEL)|main|trixie-security|http://mirror.corp.example/security",
        "$(ORIGIN)|$(LABEL)|main|trixie|http://mirror.corp.example/apt",
    ];
    assert_eq!(mirror(DEBIAN, &unread).as_deref(), Some("http://mirror.corp.example/apt"));
    let other = ["Ubuntu|Ubuntu|main|noble|http://archive.corp.example/ubuntu"];
    assert_eq!(mirror("ID=ubuntu\nVERSION_CODENAME=noble\n", &other), None);
}
