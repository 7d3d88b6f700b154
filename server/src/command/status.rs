//! `haptic status`: the fleet at a glance, from a running controller.

use crate::{
    asking,
    cli::{Failure, StatusArgs, SummaryOrJson},
    output,
    overview::{Overview, told},
    process,
};
use std::{io::IsTerminal, time::Duration};

/// How often `--watch` looks.
const EVERY: Duration = Duration::from_secs(2);

/// Prints the status.
///
/// # Errors
/// Exit code 1 when something is refused or not converged, or nobody answers.
pub fn run(args: &StatusArgs) -> Result<(), Failure> {
    if !args.watch {
        let overview = look(args)?;
        show(args, &overview).map_err(Failure::because)?;
        return if overview.is_well() { Ok(()) } else { Err(Failure::Exit(1)) };
    }
    process::runtime()?.block_on(watch(args))
}

async fn watch(args: &StatusArgs) -> Result<(), Failure> {
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        let clear = if std::io::stdout().is_terminal() { "\u{1b}[H\u{1b}[2J" } else { "" };
        output::print(clear).map_err(Failure::because)?;
        match look(args) {
            Ok(overview) => show(args, &overview).map_err(Failure::because)?,
            Err(why) => output::complain(&why.to_string()),
        }
    }
}

fn look(args: &StatusArgs) -> Result<Overview, Failure> {
    let answer = asking::get(&args.url, "/debug/overview").map_err(Failure::Because)?;
    serde_json::from_str(&answer).map_err(|why| {
        Failure::Because(format!("{} answers something else than an overview: {why}", args.url))
    })
}

fn show(args: &StatusArgs, overview: &Overview) -> std::io::Result<()> {
    match args.output {
        SummaryOrJson::Summary => output::print(&told::as_text(overview)),
        SummaryOrJson::Json => output::print_json(overview),
    }
}
