//! What a process that may hold secrets does first: its memory is in no core dump and in no debugger of another user, and its files are
//! nobody else's.

use rustix::{fs::Mode, process::DumpableBehavior};

/// Who else may read the files of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileReaders {
    Nobody,
    /// Its group: a HAProxy that somebody else starts.
    Group,
}

/// Keeps what this process has in its memory to itself. A debugger of root's sees it still.
pub fn hide_memory() {
    if let Err(error) = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        // Before there is a log.
        crate::output::print_problem(&format!(
            "this process may be dumped, with the keys that it holds: {error}"
        ));
    }
}

/// Keeps files of this process, and those of its children, from others.
pub fn hide_files(readers: FileReaders) {
    let hidden = match readers {
        FileReaders::Nobody => Mode::RWXG | Mode::RWXO,
        FileReaders::Group => Mode::WGRP | Mode::RWXO,
    };
    rustix::process::umask(hidden);
}
