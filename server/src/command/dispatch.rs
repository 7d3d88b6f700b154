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
use clap::Parser;
use std::process::ExitCode;

/// The exit code for arguments that make no sense, clap's own.
const USAGE: u8 = 2;

/// Runs the command line and gives the process's exit code.
#[must_use]
pub fn dispatch() -> ExitCode {
    // Most commands read Secrets, or what was rendered of them.
    hardening::hide_memory();
    let cli = Cli::parse();
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
            output::complain(&failure.to_string());
            let is_usage = matches!(failure, CommandFailure::Usage(_) | CommandFailure::Unknown(_));
            ExitCode::from(if is_usage { USAGE } else { 1 })
        }
    }
}
