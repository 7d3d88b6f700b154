//! Two trees' benchmarks, run alternately, and how many times worse one is than the other. Run it with `make bench-compare BASE=REV`.
//!
//! Alternately, because a machine is faster or slower for minutes at a time; medians, because one round may be unlucky.

mod comparison;

use clap::Parser;
use comparison::{Comparison, Round};
use integration_tests::{Failure, Outcome, ensure, progress::say};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// Runs the benchmarks of two trees alternately and compares their figures
#[derive(Debug, Parser)]
#[command(name = "bench-compare")]
struct Arguments {
    /// The tree to compare this one with
    base: PathBuf,
    /// Its benchmark, with its `haptic` beside it
    bench: PathBuf,
    /// How often each is run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// What both are run with: see `bench --help`
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// A tree, and the benchmark built from it.
struct Side {
    name: &'static str,
    tree: PathBuf,
    bench: PathBuf,
}

fn main() -> ExitCode {
    match compare(&Arguments::parse()) {
        Ok(comparison) => {
            say(&format!("\n{comparison}"));
            if comparison.is_worse() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(failure) => {
            say(&format!("the comparison cannot go on: {failure}"));
            ExitCode::from(2)
        }
    }
}

fn compare(arguments: &Arguments) -> Outcome<Comparison> {
    let beside = std::env::current_exe()?.with_file_name("bench");
    let here =
        Side { name: "this tree", tree: Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), bench: beside };
    let base = Side { name: "base", tree: arguments.base.clone(), bench: arguments.bench.clone() };
    let mut comparison = Comparison::default();
    for round in 1..=arguments.rounds {
        say(&format!("== round {round} of {}", arguments.rounds));
        // Each begins as often as the other: whoever is second finds a warmer machine.
        let (first, second) = if round % 2 == 0 { (&here, &base) } else { (&base, &here) };
        let (one, two) = (first.run(&arguments.arguments)?, second.run(&arguments.arguments)?);
        let (base, here) = if round % 2 == 0 { (two, one) } else { (one, two) };
        comparison.add(base, here);
    }
    Ok(comparison)
}

impl Side {
    /// One whole run: what the benchmark says goes into a file, its figures are given.
    fn run(&self, arguments: &[String]) -> Outcome<Round> {
        say(self.name);
        let folder = self.tree.join("target/bench");
        fs::create_dir_all(&folder)?;
        let (figures, log) = (folder.join("latest.json"), folder.join("latest.log"));
        // Those of another run are none of this one.
        if figures.exists() {
            fs::remove_file(&figures)?;
        }
        let said = fs::File::create(&log)?;
        let mut bench = Command::new(&self.bench);
        // It takes the `haptic` that was built beside it.
        bench.args(arguments).env_remove("HAPTIC_BIN").stdout(said.try_clone()?).stderr(said);
        let status =
            bench.status().map_err(|error| Failure::new(format!("{}: {error}", self.bench.display())))?;
        ensure(status.success(), format!("{} ended with {status}: see {}", self.name, log.display()))?;
        Ok(serde_json::from_str(&fs::read_to_string(&figures)?)?)
    }
}
