//! `haptic replay`: renders a recording again, without cluster and network, and compares with what was recorded.

use crate::{
    cli::{CommandFailure, ReplayArgs, SummaryOrJson},
    command::{binaries, bundle_folder},
    output, process,
};
use haptic_inspect::recording::{
    replay::{Replay, replay},
    text,
};
use haptic_model::{ActiveConfig, Bundle, Fleet, Generation};
use haptic_validate::Checker;
use std::sync::Arc;

/// The exit code when something else is rendered.
const DIFFERS: u8 = 3;

/// A generation's bundle, for which pods, by which configuration.
type Made = (Generation, Bundle, Fleet, Arc<ActiveConfig>);

/// Prints what comes of each generation.
///
/// # Errors
/// Exit code 3 when a generation renders something else, 1 when the file cannot be replayed, or a check refuses what comes of it.
pub fn run(args: &ReplayArgs) -> Result<(), CommandFailure> {
    let mut made: Vec<Made> = Vec::new();
    let keeps = args.out.is_some() || args.check;
    let replayed = replay(&args.file, |generation, bundle, inputs| {
        if let (Some(bundle), Some(config), true) = (bundle, inputs.config(), keeps) {
            made.push((generation.opening.number, bundle.clone(), inputs.fleet().clone(), config.clone()));
        }
    });
    let replayed =
        replayed.map_err(|flaw| CommandFailure::Because(format!("{} {flaw}", args.file.display())))?;
    show(args, &replayed).map_err(CommandFailure::because)?;
    if let Some(out) = &args.out {
        for (number, bundle, ..) in &made {
            bundle_folder::write(bundle, &out.join(number.to_string()))?;
        }
    }
    if args.check {
        check(args, &made)?;
    }
    if replayed.differing() > 0 { Err(CommandFailure::Exit(DIFFERS)) } else { Ok(()) }
}

fn show(args: &ReplayArgs, replayed: &Replay) -> std::io::Result<()> {
    if let SummaryOrJson::Json = args.output {
        return output::print_json(replayed);
    }
    let generations: String = replayed.generations.iter().map(text::generation).collect();
    output::print(&format!("{}{generations}{}", text::head(replayed), text::verdict(replayed)))
}

/// Lets HAProxy check what was rendered.
fn check(args: &ReplayArgs, made: &[Made]) -> Result<(), CommandFailure> {
    let checker = binaries::checker(&args.haproxy)?;
    let all_passed = process::runtime()?.block_on(process::until_signal(all_pass(&checker, made)))?;
    if !all_passed {
        return Err(CommandFailure::Exit(1));
    }
    match (args.output, made.len()) {
        (SummaryOrJson::Json, _) | (_, 0) => Ok(()),
        (SummaryOrJson::Summary, 1) => output::print("HAProxy accepts it\n"),
        (SummaryOrJson::Summary, all) => output::print(&format!("HAProxy accepts all {all} of them\n")),
    }
    .map_err(CommandFailure::because)
}

/// Whether HAProxy accepts all of them; tells of those that it refuses.
async fn all_pass(checker: &Checker, made: &[Made]) -> Result<bool, CommandFailure> {
    let mut all_pass = true;
    for (number, bundle, fleet, config) in made {
        let checker = checker.clone().allowing(&config.spec.allow.features);
        let verdict = checker.check(bundle, &fleet.versions).await;
        if !verdict.passed() {
            all_pass = false;
            output::print_problem(&format!("HAProxy refuses generation {number}:"));
            output::print_problems(&verdict.diagnostics);
        }
    }
    Ok(all_pass)
}
