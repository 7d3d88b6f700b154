//! `haptic end-with-parent`: what `haptic local` starts for its HAProxy. It asks the kernel to end it when the process that
//! started it ends, however that happens, and becomes HAProxy.
//!
//! It is in no help, as `check-in-sandbox`.

use super::binaries::THIS_PROGRAM;
use crate::output;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::{
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt as _,
    process::{Command, ExitCode},
};

const SUBCOMMAND: &str = "end-with-parent";

/// What stands before a command that is to end with this process.
#[must_use]
pub fn words() -> Vec<String> {
    vec![THIS_PROGRAM.to_owned(), SUBCOMMAND.to_owned(), std::process::id().to_string()]
}

/// The words after the subcommand, if it is asked for.
#[must_use]
pub fn asked_for() -> Option<Vec<OsString>> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == SUBCOMMAND).then(|| words.collect())
}

/// Becomes the command behind the first word, which is the parent's process id.
#[must_use]
pub fn run(words: &[OsString]) -> ExitCode {
    let [parent, program, arguments @ ..] = words else {
        output::print_problem("end-with-parent is for haptic itself");
        return ExitCode::from(2);
    };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::TERM)) {
        output::print_problem(&format!("HAProxy would stay behind if haptic were killed: {error}"));
    }
    // The parent may have ended before the kernel was asked.
    if !is_parent(parent) {
        return ExitCode::FAILURE;
    }
    let error = Command::new(program).args(arguments).exec();
    output::print_problem(&format!("{} cannot be executed: {error}", program.display()));
    ExitCode::FAILURE
}

fn is_parent(id: &OsStr) -> bool {
    let parent = getppid().map(Pid::as_raw_nonzero);
    id.to_str().and_then(|id| id.parse().ok()) == parent
}
