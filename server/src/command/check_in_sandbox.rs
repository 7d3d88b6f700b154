//! `haptic check-in-sandbox`: what the controller starts for each check. It confines itself and becomes HAProxy.
//!
//! It is in no help, and reads its words without the command line's parser: each millisecond here is one of every check.

use crate::output;
use haptic_validate::sandbox::{self, Order};
use std::{ffi::OsString, process::ExitCode};

/// The words after the subcommand, if it is asked for.
#[must_use]
pub fn asked_for() -> Option<Vec<OsString>> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == sandbox::SUBCOMMAND).then(|| words.collect())
}

/// Confines this process as `words` say and becomes their command, or prints what it could not give up.
#[must_use]
pub fn run(words: &[OsString]) -> ExitCode {
    let order = match Order::read(words) {
        Ok(order) => order,
        Err(error) => return failed(&error.to_string(), 2),
    };
    let missing = sandbox::enter(&order);
    let Some(program) = order.command.first() else {
        let lines: String = missing.iter().map(|missing| format!("{missing}\n")).collect();
        return output::print(&lines)
            .map_or_else(|error| failed(&error.to_string(), 1), |()| ExitCode::SUCCESS);
    };
    let error = sandbox::become_command(&order);
    failed(&format!("{} cannot be executed: {error}", program.display()), sandbox::CANNOT_EXECUTE)
}

fn failed(why: &str, code: u8) -> ExitCode {
    output::print_problem(why);
    ExitCode::from(code)
}
