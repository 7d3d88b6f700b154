//! From the words of the command line to the command, and from what it ends with to the exit code.

use super::{
    agent, benchmark, config, explain, init, library, local, migrate, plan, print, record, reference, render,
    replay, run, status, validate,
};
use crate::{
    cli::{Cli, Command, CommandFailure},
    output,
    process::hardening,
};
use clap::{CommandFactory as _, FromArgMatches as _};
use std::process::ExitCode;

/// The exit code for arguments that make no sense, clap's own.
const USAGE: u8 = 2;

/// Runs the command line and gives the process's exit code.
#[must_use]
pub fn dispatch() -> ExitCode {
    // Most commands read Secrets, or what was rendered of them.
    hardening::hide_memory();
    let cli = parsed();
    let done = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Agent(args) => agent::run(args),
        Command::Local(args) => local::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Render(args) => render::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Migrate(args) => migrate::run(&args.command),
        Command::Benchmark(args) => benchmark::run(&args),
        Command::Crd(args) => print::crd(args.output),
        Command::Functions(args) => print::functions(&args),
        Command::Library(args) => library::run(&args.command),
        Command::Config(args) => config::run(&args.command),
        Command::Completion(args) => print::completion(args.shell),
        Command::Version(args) => print::version(args.output),
        Command::Reference(args) => reference::run(args.page),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(CommandFailure::Exit(code)) => ExitCode::from(code),
        Err(failure) => {
            output::print_problem(&failure.to_string());
            let is_usage = matches!(failure, CommandFailure::Usage(_) | CommandFailure::Unknown(_));
            ExitCode::from(if is_usage { USAGE } else { 1 })
        }
    }
}

/// The command line, or the end of the process with clap's own words on it.
fn parsed() -> Cli {
    let mut command = without_empty_variables(Cli::command());
    let matches = command.get_matches_mut();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

/// A variable without a value is one that is not set: that is all that some shells and manifests can say.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|arg| if arg.get_env().is_some_and(is_empty) { arg.env(None::<&str>) } else { arg })
        .mut_subcommands(without_empty_variables)
}
