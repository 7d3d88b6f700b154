//! The overview as text, for a terminal: the verdict first, then what is wrong, then everything else.

use super::{Overview, Plan, Pod, Problem, Severity, Standing, Told};
use owo_colors::OwoColorize;
use std::fmt::Write;

/// All of it.
#[must_use]
pub fn as_text(overview: &Overview) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    _ = tell(overview, &mut text);
    text
}

fn tell(overview: &Overview, text: &mut String) -> std::fmt::Result {
    writeln!(text, "{}", verdict(overview))?;
    for problem in &overview.problems {
        tell_problem(problem, text)?;
    }
    writeln!(text)?;
    let config = &overview.config;
    let name = config.name.as_deref().unwrap_or("none in force");
    writeln!(text, "{}  {name}, {}", "config    ".bold(), config.state)?;
    if let Some(rendered) = &overview.rendered {
        let checked = overview.checked.as_ref().map_or("not checked yet".into(), |checked| {
            match checked.generation == rendered.generation {
                true => format!("checked in {} ms", checked.took_ms),
                false => format!("generation {} is the last that passed its check", checked.generation),
            }
        });
        let digest = rendered.digest.get(..12).unwrap_or(&rendered.digest);
        let (generation, files, bytes) = (rendered.generation, rendered.files, size(rendered.bytes));
        writeln!(
            text,
            "{}  {generation} ({digest}), {files} files, {bytes}, {checked}",
            "generation".bold()
        )?;
    }
    if !overview.replica.version.is_empty() {
        let leads = if overview.replica.leads { "leads" } else { "does not lead" };
        let known =
            overview.replica.leader.as_deref().map(|leader| format!(": {leader}")).unwrap_or_default();
        writeln!(text, "{}  haptic {}, {leads}{known}", "replica   ".bold(), overview.replica.version)?;
    }
    let stores = overview.stores.iter().map(|store| format!("{} {}", store.objects, store.name));
    writeln!(text, "{}  {}", "stores    ".bold(), stores.collect::<Vec<_>>().join(", "))?;
    writeln!(
        text,
        "\n{}",
        format!("pods ({} of {} converged)", overview.converged(), overview.pods.len()).bold()
    )?;
    for pod in &overview.pods {
        tell_pod(pod, overview.taken_unix_ms, text)?;
    }
    if !overview.recent.is_empty() {
        writeln!(text, "\n{}", "recently".bold())?;
    }
    overview.recent.iter().try_for_each(|told| tell_line(told, overview.taken_unix_ms, text))
}

/// The one line that matters.
#[must_use]
pub fn verdict(overview: &Overview) -> String {
    let errors = overview.problems.iter().filter(|p| p.severity == Severity::Error).count();
    let (all, converged) = (overview.pods.len(), overview.converged());
    let pods = format!("{converged} of {all} pods converged");
    match (overview.is_well(), errors) {
        (true, _) if all == 0 => format!("{} no HAProxy pods are known", "idle:".yellow().bold()),
        (true, _) => format!("{} {pods}", "all is well:".green().bold()),
        (false, 1) => format!("{} {pods}", "1 problem:".red().bold()),
        (false, n) => format!("{} {pods}", format!("{n} problems:").red().bold()),
    }
}

fn tell_problem(problem: &Problem, text: &mut String) -> std::fmt::Result {
    let mark = match problem.severity {
        Severity::Error => "✗".red().to_string(),
        Severity::Warning => "!".yellow().to_string(),
    };
    let whom = problem.object.as_deref().map(|object| format!(" {}", object.bold())).unwrap_or_default();
    writeln!(text, "  {mark} {}{whom}", problem.what)?;
    problem.why.lines().try_for_each(|line| writeln!(text, "      {line}"))
}

fn tell_pod(pod: &Pod, now: u64, text: &mut String) -> std::fmt::Result {
    let standing = match pod.standing {
        Standing::Converged => "converged".green().to_string(),
        Standing::Behind => "behind   ".yellow().to_string(),
        Standing::Failing => "failing  ".red().to_string(),
        Standing::Unknown => "unknown  ".yellow().to_string(),
    };
    let haproxy = pod.haproxy.as_deref().map(|version| format!("HAProxy {version}"));
    let generation = pod.deployed.map(|generation| format!("generation {generation}"));
    let lag = pod.lag_ms.map(|lag| format!("lag {lag} ms"));
    let plan = pod.last_plan.as_ref().map(|last| plan(last, now));
    let known: Vec<String> = [haproxy, generation, lag, plan].into_iter().flatten().collect();
    writeln!(text, "  {standing}  {}  {}", pod.pod.bold(), known.join(", "))?;
    match &pod.last_error {
        Some(error) => writeln!(text, "             {}", error.red()),
        None => Ok(()),
    }
}

/// What was done last: `reload 3 s ago because …`, `2 add server 10 s ago`.
#[must_use]
pub fn plan(plan: &Plan, now: u64) -> String {
    let ago = ago(now.saturating_sub(plan.unix_ms));
    let files = match plan.written.len() + plan.deleted.len() {
        0 => String::new(),
        1 => ", 1 file".into(),
        n => format!(", {n} files"),
    };
    match &plan.reload {
        Some(reason) => format!("reload {ago} because {reason}{files}"),
        None if plan.operations.is_empty() => format!("files only {ago}{files}"),
        None => {
            let operations = plan.operations.iter().map(|(name, count)| format!("{count} × {name}"));
            format!("runtime {ago}: {}{files}", operations.collect::<Vec<_>>().join(", "))
        }
    }
}

fn tell_line(told: &Told, now: u64, text: &mut String) -> std::fmt::Result {
    let ago = format!("{:>9}", ago(now.saturating_sub(told.unix_ms)));
    let line = match told.level.as_str() {
        "error" => told.text.red().to_string(),
        "warn" => told.text.yellow().to_string(),
        _ => told.text.clone(),
    };
    writeln!(text, "  {} {line}", ago.dimmed())
}

fn ago(millis: u64) -> String {
    match millis / 1000 {
        0 => "now".into(),
        s @ 1..=119 => format!("{s} s ago"),
        s @ 120..=7199 => format!("{} min ago", s / 60),
        s => format!("{} h ago", s / 3600),
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} bytes"),
        10_000..=9_999_999 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
