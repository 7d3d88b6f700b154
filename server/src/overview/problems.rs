//! What is wrong, in sentences that name the cause and whom it concerns: for somebody who has a minute.
//!
//! Everything is on the board or in the history; nothing is measured here and nothing is decided.

use super::{
    Config, Overview, Pod, Problem, Severity, Standing,
    look::{since_1970, without_object},
};
use crate::http::debug::Inside;
use haptic_commentator::{Entry, Level};
use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

/// What happened longer ago is no news.
const NEWS_MS: u64 = 10 * 60 * 1000;
/// An object that causes so many reconciles a minute is told of: it hardly does by being deployed.
const FLAPPING: usize = 12;
/// A pod that takes longer to follow is slow.
const SLOW_MS: u64 = 5000;

/// All problems, errors first.
#[must_use]
pub fn found(inside: &Inside, overview: &Overview, history: &[Arc<Entry>]) -> Vec<Problem> {
    let mut all = Vec::new();
    all.extend(of_config(&overview.config));
    all.extend(inside.vitality.why_not_ready().iter().filter_map(|why| of_process(why, overview)));
    all.extend(of_stores(overview));
    all.extend(of_stages(inside, overview, history));
    all.extend(overview.quarantine.iter().map(|held| {
        let what = if held.suspected { "object suspected" } else { "object held back" };
        error(what, Some(&held.object), &held.why)
    }));
    all.extend(overview.pods.iter().filter_map(of_pod));
    all.extend(overview.pods.iter().filter_map(|pod| began_anew(pod, overview.taken_unix_ms)));
    all.extend(of_warnings(inside));
    all.extend(of_news(history));
    all.extend(of_flapping(history));
    let mut kept: Vec<Problem> = Vec::new();
    for problem in all {
        let same = |known: &Problem| known.object == problem.object && known.why == problem.why;
        if !kept.iter().any(same) {
            kept.push(problem);
        }
    }
    kept.sort_by_key(|problem| problem.severity);
    kept
}

fn error(what: &str, object: Option<&str>, why: &str) -> Problem {
    Problem { severity: Severity::Error, what: what.into(), object: object.map(Into::into), why: why.into() }
}

fn warning(what: &str, object: Option<&str>, why: &str) -> Problem {
    Problem { severity: Severity::Warning, ..error(what, object, why) }
}

fn of_config(config: &Config) -> Vec<Problem> {
    let name = config.name.as_deref();
    match config.state.as_str() {
        "waiting" => config.why.iter().map(|why| error("no configuration", name, why)).collect(),
        "invalid" => {
            let what = match name {
                Some(_) => "configuration refused, the one before stays in force",
                None => "configuration refused",
            };
            config.why.iter().map(|why| error(what, name, why)).collect()
        }
        "deleted" => {
            let why = "it was deleted; the last one is still served: create it again";
            vec![error("configuration deleted", name, why)]
        }
        _ => Vec::new(),
    }
}

/// A reason of `/readyz` that nothing else tells of.
fn of_process(why: &str, overview: &Overview) -> Option<Problem> {
    let told = overview.config.why.iter().any(|known| why.contains(known.as_str()))
        || overview
            .stores
            .iter()
            .filter_map(|s| s.trouble.as_ref())
            .any(|known| why.contains(known.as_str()));
    (!told).then(|| error("controller not ready", None, why))
}

fn of_stores(overview: &Overview) -> impl Iterator<Item = Problem> {
    overview.stores.iter().filter_map(|store| {
        let why = store.trouble.as_deref()?;
        Some(error("resource cannot be watched", Some(&store.name), why))
    })
}

/// A render or check that failed and that nothing newer has made good.
fn of_stages(inside: &Inside, overview: &Overview, history: &[Arc<Entry>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let rendered = overview.rendered.as_ref().map(|stage| stage.generation);
    let checked = overview.checked.as_ref().map(|stage| stage.generation);
    for (kind, what, good) in [
        ("RenderFailed", "render failed, the last good bundle stays", rendered),
        ("ValidationFailed", "check failed, the last good bundle stays", checked),
    ] {
        let last = history.iter().rev().find(|entry| entry.kind == kind);
        let last = last.filter(|entry| entry.generation.map(|g| g.0) > good);
        problems.extend(last.map(|entry| error(what, entry.object.as_deref(), &entry.text)));
    }
    if let Some(refused) = &*inside.refused.read()
        && Some(refused.rendered.reconcile.generation.0) > checked
    {
        problems.extend(refused.diagnostics.iter().map(|why| {
            let object = why.object.as_ref().map(ToString::to_string);
            error("HAProxy's check refuses it", object.as_deref(), &without_object(why, why.object.as_ref()))
        }));
    }
    problems
}

fn of_pod(pod: &Pod) -> Option<Problem> {
    let doing = pod.activity.as_deref().unwrap_or("nothing is known of its deployment");
    match pod.standing {
        Standing::Failing => {
            let why = pod.last_error.as_deref().unwrap_or(doing);
            Some(error("pod not deployed", Some(&pod.pod), why))
        }
        Standing::Behind => Some(error("pod behind", Some(&pod.pod), doing)),
        Standing::Unknown if pod.haproxy.is_some() => {
            Some(error("pod waits", Some(&pod.pod), "nothing that could be deployed has been rendered yet"))
        }
        Standing::Unknown => Some(error("pod has not answered", Some(&pod.pod), doing)),
        Standing::Converged => {
            let slow = pod.lag_ms.filter(|lag| *lag > SLOW_MS)?;
            let why = format!(
                "its last change took {:.1} s to reach it",
                std::time::Duration::from_millis(slow).as_secs_f32()
            );
            Some(warning("pod slow", Some(&pod.pod), &why))
        }
    }
}

fn began_anew(pod: &Pod, now: u64) -> Option<Problem> {
    let ago = now.saturating_sub(pod.began_anew_unix_ms?);
    let why =
        format!("its HAProxy or its agent ended and began anew {} s ago: the pod's log says why", ago / 1000);
    (ago < NEWS_MS).then(|| warning("HAProxy began anew", Some(&pod.pod), &why))
}

fn of_warnings(inside: &Inside) -> Vec<Problem> {
    let rendered = inside.rendered.read();
    let warnings = (*rendered).as_ref().map(|r| r.warnings.clone()).unwrap_or_default();
    let told = |why: &haptic_model::Diagnostic| {
        let object = why.object.as_ref().map(ToString::to_string);
        warning("warning", object.as_deref(), &without_object(why, why.object.as_ref()))
    };
    warnings.iter().map(told).collect()
}

/// What happened lately and is not seen in how things are now.
fn of_news(history: &[Arc<Entry>]) -> Vec<Problem> {
    let since = u128::from(since_1970(SystemTime::now()).saturating_sub(NEWS_MS));
    let mut last: BTreeMap<(&str, Option<&str>), &Entry> = BTreeMap::new();
    for entry in history.iter().filter(|entry| entry.unix_ms >= since) {
        if what_of(entry.kind).is_some() {
            last.insert((entry.kind, entry.object.as_deref()), entry);
        }
    }
    // The last of these may say that it is over, or that all went as it should.
    let over =
        |entry: &Entry| matches!(entry.kind, "ElectionTroubled" | "Reviewed") && entry.level < Level::Warn;
    let problem = |entry: &&Entry| {
        (!over(entry))
            .then(|| Some(warning(what_of(entry.kind)?, entry.object.as_deref(), &entry.text)))
            .flatten()
    };
    last.values().filter_map(problem).collect()
}

fn what_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "ActorRestarted" => "an actor failed and was restarted",
        "LeadershipChanged" => "leadership changed",
        "DriftFound" => "a pod did not run what it was left with",
        "TakenBack" => "a live generation was taken back",
        "ObjectMalformed" | "ManifestRefused" => "an object cannot be read",
        "ElectionTroubled" => "the Lease cannot be kept",
        "Reviewed" => "the webhook could not judge a change",
        "EventsLost" => "events were lost",
        _ => return None,
    })
}

/// Objects that cause one reconcile after another.
fn of_flapping(history: &[Arc<Entry>]) -> Vec<Problem> {
    let since = u128::from(since_1970(SystemTime::now()).saturating_sub(60_000));
    let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in history.iter().filter(|e| e.kind == "ReconcileStarted" && e.unix_ms >= since) {
        if let Some(object) = entry.object.as_deref() {
            *causes.entry(object).or_default() += 1;
        }
    }
    let flapping = causes.into_iter().filter(|(_, count)| *count >= FLAPPING);
    let told = |(object, count): (&str, usize)| {
        let why = format!("it caused {count} reconciles within the last minute: what changes it so often?");
        warning("object flapping", Some(object), &why)
    };
    flapping.map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_commentator::{History, Line};
    use haptic_model::Event;
    use std::time::Duration;

    fn reviewed(refused: bool) -> Event {
        Event::Reviewed {
            resource: "ingresses".into(),
            object: "shop/web".into(),
            refused,
            why: "the check took longer than 7 s".into(),
            dry_run: false,
            took: Duration::from_secs(8),
        }
    }

    #[test]
    fn a_webhook_that_could_not_judge_is_told_of_with_the_object_and_one_that_refuses_is_not() {
        let told = |refused| {
            let history = History::new();
            let level = if refused { Level::Info } else { Level::Warn };
            let text = "not checked: the check took longer than 7 s".to_owned();
            let line = Line { level, text, object: Some("ingresses shop/web".into()) };
            history.keep(&reviewed(refused), &line, 100);
            of_news(&history.latest(100))
        };
        let problems = told(false);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].what.contains("webhook") && problems[0].why.contains("took longer than 7 s"));
        assert!(format!("{:?}", problems[0]).contains("shop/web"));
        assert!(told(true).is_empty());
    }
}
