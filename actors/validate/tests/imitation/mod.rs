//! Checkers that misbehave as HAProxy's own never would on command.

use haptic_validate::Binaries;
use std::{path::Path, process::Command};

/// A checker that is no HAProxy: says a version, then runs `check`.
pub fn imitation(folder: &Path, check: &str) -> Binaries {
    let (text, path) = (folder.join("text"), folder.join("haproxy"));
    let script = format!("#!/bin/sh\n[ \"$1\" = -v ] && echo 'HAProxy version 3.4.0' && exit 0\n{check}\n");
    std::fs::write(&text, script).unwrap();
    // Another process writes it: a program that this one has open for writing while another thread starts a process
    // stays open there for a moment, and cannot be started.
    let installed = Command::new("install").args(["-m", "755"]).args([&text, &path]).status().unwrap();
    assert!(installed.success(), "{installed}");
    Binaries::probe([path]).unwrap()
}
