//! What a process that holds secrets does first: its memory is in no core dump and in no debugger of another user, and its files are
//! nobody else's.

use rustix::{fs::Mode, process::DumpableBehavior};

/// Who else may read the files of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Nobody.
    Nobody,
    /// Its group: a HAProxy that somebody else starts.
    Group,
}

/// Begins a process that holds secrets. Its children's files are as its own.
pub fn begin(readers: Readers) {
    if let Err(error) = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        // Before there is a log.
        crate::output::complain(&format!("this process may be dumped, with the keys that it holds: {error}"));
    }
    let hidden = match readers {
        Readers::Nobody => Mode::RWXG | Mode::RWXO,
        Readers::Group => Mode::WGRP | Mode::RWXO,
    };
    rustix::process::umask(hidden);
}
