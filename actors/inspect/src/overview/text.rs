//! The overview as text, for a terminal: the verdict first, then what is wrong, then everything else.

use super::{
    Overview, OverviewProblem, PlanOverview, PodOverview, PodStanding, ProblemSeverity, RecentEvent, Replica,
    StoreOverview,
};
use crate::terminal;
use haptic_model::{default_certificate, external_names, host_holds};
use owo_colors::OwoColorize;
use std::fmt::Write;

/// The stores that no watch fills.
const UNWATCHED: [&str; 3] = [default_certificate::STORE, external_names::STORE, host_holds::STORE];

/// All of it. What others wrote moves no terminal.
#[must_use]
pub fn as_text(overview: &Overview) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    _ = write_overview(&terminal::all_safe(overview), &mut text);
    text
}

fn write_overview(overview: &Overview, text: &mut String) -> std::fmt::Result {
    writeln!(text, "{}", verdict(overview))?;
    writeln!(text, "{}", format!("from {}", overview.rests_on.said).dimmed())?;
    for problem in &overview.problems {
        write_problem(problem, text)?;
    }
    writeln!(text)?;
    let config = &overview.config;
    let name = config.name.as_deref().unwrap_or("none in force");
    let state = match (&*config.state, config.passed) {
        ("valid", Some(false)) => "accepted, and nothing of it has passed the checks",
        (state, _) => state,
    };
    writeln!(text, "{}  {name}, {state}", "config    ".bold())?;
    if let Some(generation) = generation(overview) {
        writeln!(text, "{}  {generation}", "generation".bold())?;
    }
    if let Some(replica) = replica(&overview.replica) {
        writeln!(text, "{}  {replica}", "replica   ".bold())?;
    }
    let stores = stores(&overview.stores);
    if !stores.is_empty() {
        writeln!(text, "{}  {stores}", "stores    ".bold())?;
    }
    if let Some(findings) = overview.findings.as_ref().filter(|findings| !findings.is_empty()) {
        let kinds: Vec<String> = findings.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        writeln!(text, "{}  {}", "findings  ".bold(), kinds.join(", "))?;
    }
    if let Some(pods) = &overview.pods {
        let title = format!("pods ({} of {} up to date)", overview.converged(), pods.len());
        writeln!(text, "\n{}", title.bold())?;
        pods.iter().try_for_each(|pod| write_pod(pod, overview.taken_unix_ms, text))?;
    }
    let recent = overview.recent.as_deref().unwrap_or_default();
    if !recent.is_empty() {
        writeln!(text, "\n{}", "recently".bold())?;
    }
    recent.iter().try_for_each(|event| write_event(event, overview.taken_unix_ms, text))?;
    if !overview.rests_on.unknown.is_empty() {
        writeln!(text, "\n{}", "not known from there".bold())?;
    }
    overview.rests_on.unknown.iter().try_for_each(|unknown| writeln!(text, "  {unknown}"))
}

/// The newest one, and how far it is.
fn generation(overview: &Overview) -> Option<String> {
    let newest = overview.rendered.as_ref().or(overview.checked.as_ref())?;
    let digest = newest.digest.get(..12).unwrap_or(&newest.digest);
    let checked = match (&overview.rendered, &overview.checked) {
        (_, None) => "not checked yet".into(),
        (Some(rendered), Some(checked)) if rendered.generation != checked.generation => {
            format!("generation {} is the last that passed its check", checked.generation)
        }
        (_, Some(checked)) => match checked.took_ms {
            Some(took) => format!("checked in {took} ms"),
            None => "checked".into(),
        },
    };
    let files = newest.files.map(|files| format!("{files} files"));
    let known = [files, newest.bytes.map(size), Some(checked)];
    Some(format!(
        "{} ({digest}), {}",
        newest.generation,
        known.into_iter().flatten().collect::<Vec<_>>().join(", ")
    ))
}

fn replica(replica: &Replica) -> Option<String> {
    let version = replica.version.as_ref().map(|version| format!("haptic {version}"));
    let leads = replica.leads.map(|leads| if leads { "leads" } else { "does not lead" }.to_owned());
    let said: Vec<String> = [version, leads].into_iter().flatten().collect();
    match (said.is_empty(), &replica.leader) {
        (true, leader) => leader.clone(),
        (false, None) => Some(said.join(", ")),
        (false, Some(leader)) => Some(format!("{}: {leader}", said.join(", "))),
    }
}

/// Those of watched objects: what the controller keeps beside them is nothing that a person looks for.
fn stores(stores: &[StoreOverview]) -> String {
    let is_watched = |store: &&StoreOverview| !UNWATCHED.contains(&&*store.name);
    let one = |store: &StoreOverview| {
        let about = if store.about { "about " } else { "" };
        let (objects, name) = (store.objects, &store.name);
        match store.resources.as_ref().filter(|resources| *resources != name) {
            Some(resources) => format!("{about}{objects} {resources} ({name})"),
            None => format!("{about}{objects} {name}"),
        }
    };
    stores.iter().filter(is_watched).map(one).collect::<Vec<_>>().join(", ")
}

/// The one line that matters.
#[must_use]
pub fn verdict(overview: &Overview) -> String {
    let errors = overview.problems.iter().filter(|p| p.severity == ProblemSeverity::Error).count();
    let pods = match &overview.pods {
        Some(pods) => format!("pods: {} of {} up to date", overview.converged(), pods.len()),
        None => "which pods run it is not known".to_owned(),
    };
    match (overview.is_well(), errors, overview.pods.as_deref()) {
        (true, _, None) => format!("{} {pods}", "nothing is known to be wrong:".yellow().bold()),
        (true, _, Some(_)) if overview.replica.leads == Some(false) => {
            format!(
                "{} {pods} when they were asked",
                "all is well, and this replica stands by:".green().bold()
            )
        }
        (true, _, Some([])) => format!("{} no HAProxy pods are known", "idle:".yellow().bold()),
        (true, _, Some(_)) => format!("{}; {pods}", "all is well".green().bold()),
        (false, 1, _) => format!("{}; {pods}", "1 problem".red().bold()),
        (false, n, _) => format!("{}; {pods}", format!("{n} problems").red().bold()),
    }
}

fn write_problem(problem: &OverviewProblem, text: &mut String) -> std::fmt::Result {
    let mark = match problem.severity {
        ProblemSeverity::Error => "✗".red().to_string(),
        ProblemSeverity::Warning => "!".yellow().to_string(),
    };
    let whom = problem.object.as_deref().map(|object| format!(" {}", one_line(object).bold()));
    let whom = whom.unwrap_or_default();
    writeln!(text, "  {mark} {}{whom}", problem.what)?;
    problem.why.lines().try_for_each(|line| writeln!(text, "      {line}"))
}

fn write_pod(pod: &PodOverview, now: u64, text: &mut String) -> std::fmt::Result {
    let standing = match pod.standing {
        PodStanding::Converged => "converged".green().to_string(),
        PodStanding::Behind => "behind   ".yellow().to_string(),
        PodStanding::Failing => "failing  ".red().to_string(),
        PodStanding::Unknown => "unknown  ".yellow().to_string(),
    };
    let haproxy = pod.haproxy.as_deref().map(|version| format!("HAProxy {version}"));
    let generation = pod.deployed.map(|generation| format!("generation {generation}"));
    let lag = pod.lag_ms.map(|lag| format!("lag {lag} ms"));
    let plan = pod.last_plan.as_ref().map(|last| plan(last, now));
    let known: Vec<String> = [haproxy, generation, lag, plan].into_iter().flatten().collect();
    writeln!(text, "  {standing}  {}  {}", pod.pod.bold(), known.join(", "))?;
    match &pod.last_error {
        Some(error) => error.lines().try_for_each(|line| writeln!(text, "             {}", line.red())),
        None => Ok(()),
    }
}

/// What was done last: `reload 3 s ago because …`, `2 add server 10 s ago`.
#[must_use]
pub fn plan(plan: &PlanOverview, now: u64) -> String {
    let ago = ago(now.saturating_sub(plan.unix_ms));
    let count = |files: &Option<Vec<String>>| files.as_ref().map_or(0, Vec::len);
    let files = match count(&plan.written) + count(&plan.deleted) {
        0 => String::new(),
        1 => ", 1 file".into(),
        n => format!(", {n} files"),
    };
    match (&plan.reload, &plan.operations) {
        (Some(reason), _) => format!("reload {ago} because {reason}{files}"),
        (None, None) => format!("no reload {ago}"),
        (None, Some(operations)) if operations.is_empty() => format!("files only {ago}{files}"),
        (None, Some(operations)) => {
            let operations = operations.iter().map(|(name, count)| format!("{count} × {name}"));
            format!("runtime {ago}: {}{files}", operations.collect::<Vec<_>>().join(", "))
        }
    }
}

fn write_event(event: &RecentEvent, now: u64, text: &mut String) -> std::fmt::Result {
    let ago = format!("{:>9}", ago(now.saturating_sub(event.unix_ms)));
    let line = one_line(&event.text);
    let line = match event.level.as_str() {
        "error" => line.red().to_string(),
        "warn" => line.yellow().to_string(),
        _ => line,
    };
    writeln!(text, "  {} {line}", ago.dimmed())
}

/// Further lines begin where no line of ours does.
fn one_line(text: &str) -> String {
    text.replace('\n', "\n            ")
}

pub(super) fn ago(millis: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_called_as_the_api_server_calls_them() {
        let store = |name: &str, resources: Option<&str>| StoreOverview {
            name: name.into(),
            resources: resources.map(Into::into),
            objects: 5,
            ..StoreOverview::default()
        };
        let all = [
            store("endpoints", Some("endpointslices")),
            store("services", Some("services")),
            store("secrets", None),
            store("default certificate", None),
            store("external names", None),
            store("host holds", None),
        ];
        assert_eq!(stores(&all), "5 endpointslices (endpoints), 5 services, 5 secrets");
    }

    #[test]
    fn what_others_wrote_commands_no_terminal_and_begins_no_line() {
        let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\nall is well: 3 of 3 pods converged".to_owned();
        let problem =
            OverviewProblem { object: Some(evil.clone()), why: evil.clone(), ..OverviewProblem::default() };
        let pod = PodOverview { last_error: Some(evil.clone()), ..PodOverview::default() };
        let event = RecentEvent { level: "warn".into(), text: evil, ..RecentEvent::default() };
        let overview = Overview {
            problems: vec![problem],
            pods: Some(vec![pod]),
            recent: Some(vec![event]),
            ..Overview::default()
        };
        let text = anstream::adapter::strip_str(&as_text(&overview)).to_string();
        assert_eq!(text.matches("\\u{1b}[2J\\u{1b}]0;owned\\u{7}").count(), 4, "{text}");
        assert!(!text.lines().any(|line| line.starts_with("all is well")), "{text}");
        assert!(!as_text(&overview).contains("\u{1b}[2J"), "{text}");
    }
}
