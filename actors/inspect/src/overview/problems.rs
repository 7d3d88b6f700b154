//! What is wrong, in sentences that name the cause and whom it concerns: for somebody who has a minute.
//!
//! Everything is on a topic or in the history; nothing is measured here and nothing is decided.

use super::{
    Config, Overview, OverviewProblem, PodOverview, PodStanding, ProblemSeverity, QuarantinedObjects,
    since_1970, text::ago,
};
use crate::{
    readers::Readers,
    readiness::{NotReady, UnreadableResource},
};
use haptic_commentator::{HistoryEntry, MessageLevel};
use haptic_config::ConfigState;
use haptic_model::{
    Diagnostic, Findings, HaproxyPod, ObjectFinding, ObjectRef, PublishedInstead, Severity,
    pipeline::SetAside,
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

/// What happened longer ago is no news.
const NEWS_MS: u64 = 10 * 60 * 1000;
/// An object that causes so many reconciles a minute is told of: it hardly does by being deployed.
const FLAPPING: usize = 12;
/// A pod that has not followed after this time most likely does not by itself.
const BEHIND_MS: u64 = 15_000;
/// A pod that takes longer to follow is slow.
const SLOW_MS: u64 = 5000;

/// All problems, errors first.
#[must_use]
pub fn found(
    readers: &Readers,
    protections: &Value,
    overview: &Overview,
    history: &[Arc<HistoryEntry>],
) -> Vec<OverviewProblem> {
    let mut all = Vec::new();
    all.extend(of_config(&overview.config));
    let state = readers.config_state.latest();
    all.extend(readers.why_not_ready().iter().filter_map(|why| of_process(why, overview, &state)));
    all.extend(readers.actors.why_not_observed().iter().map(|why| of_observer(why)));
    all.extend(readers.set_aside.latest().iter().flat_map(|set_aside| of_set_aside(set_aside)));
    all.extend(of_stores(overview));
    all.extend(of_limits(overview));
    let refused = readers.refused.latest();
    let refused = (*refused).as_ref().map(|r| (r.rendered.reconcile.generation.0, &r.diagnostics[..]));
    all.extend(of_stages(refused, overview, history));
    let stands_by = overview.replica.leads == Some(false);
    let now = overview.taken_unix_ms;
    let held_for = |held: &QuarantinedObjects| Some(now.saturating_sub(began(held.since?, history)?));
    all.extend(overview.quarantine().iter().map(|held| of_object(held, held_for(held))));
    let since = overview.checked_since_unix_ms;
    let of_pod = |pod| if stands_by { of_pod_from_aside(pod) } else { of_pod(pod, now, since) };
    all.extend(overview.pods().iter().filter_map(of_pod));
    all.extend(overview.pods().iter().filter_map(|pod| restarted(pod, now)));
    all.extend(of_protections(protections));
    all.extend(of_reporting(readers));
    all.extend(of_warnings(readers));
    all.extend(of_findings(&readers.findings()));
    all.extend(of_leadership(readers, overview, history));
    all.extend(of_news(history));
    all.extend(of_flapping(history));
    once_each(all)
}

/// The worst first, and none twice.
pub(super) fn once_each(all: Vec<OverviewProblem>) -> Vec<OverviewProblem> {
    let mut kept: Vec<OverviewProblem> = Vec::new();
    for problem in all {
        let same = |known: &OverviewProblem| known.object == problem.object && known.why == problem.why;
        if !kept.iter().any(same) {
            kept.push(problem);
        }
    }
    kept.sort_by_key(|problem| problem.severity);
    kept
}

/// An object that is held back, and what is served in its place; `held_for`: milliseconds.
pub(super) fn of_object(held: &QuarantinedObjects, held_for: Option<u64>) -> OverviewProblem {
    let what = if held.suspected { "object suspected" } else { "object held back" };
    let PublishedInstead::Known(instead) = held.in_force else {
        return error(what, Some(&held.object), &held.why);
    };
    let since = held_for.map_or_else(String::new, |millis| format!(" (held back {})", ago(millis)));
    error(what, Some(&held.object), &format!("{}\n{}{since}", held.why, instead.sentence()))
}

/// When a generation held something back, if that is still remembered.
fn began(generation: u64, history: &[Arc<HistoryEntry>]) -> Option<u64> {
    let changed = |entry: &&Arc<HistoryEntry>| {
        entry.kind == "QuarantineChanged" && entry.generation.is_some_and(|of| of.0 == generation)
    };
    history.iter().find(changed).and_then(|entry| u64::try_from(entry.unix_ms).ok())
}

pub(super) fn error(what: &str, object: Option<&str>, why: &str) -> OverviewProblem {
    OverviewProblem {
        severity: ProblemSeverity::Error,
        what: what.into(),
        object: object.map(Into::into),
        why: why.into(),
    }
}

pub(super) fn warning(what: &str, object: Option<&str>, why: &str) -> OverviewProblem {
    OverviewProblem { severity: ProblemSeverity::Warning, ..error(what, object, why) }
}

pub(super) fn of_config(config: &Config) -> Vec<OverviewProblem> {
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

/// A reason of `/readyz` that nothing else tells of; `state`: how the newest configuration is.
fn of_process(why: &NotReady, overview: &Overview, state: &ConfigState) -> Option<OverviewProblem> {
    let has_trouble = |resource: &UnreadableResource| {
        overview.stores.iter().any(|store| store.name == resource.name && store.trouble.is_some())
    };
    let is_shown = match why {
        NotReady::NoConfig(_) => !overview.config.why.is_empty(),
        NotReady::Unreadable(resource) => has_trouble(resource),
        NotReady::NextConfigWaits(unreadable) => unreadable.iter().any(has_trouble),
        NotReady::Credentials(why) => {
            matches!(state, ConfigState::Invalid(problems) if problems.contains(why))
        }
        NotReady::Actor(_) | NotReady::Draining | NotReady::Unread(_) | NotReady::Webhook(_) => false,
    };
    (!is_shown).then(|| error("controller not ready", None, &why.to_string()))
}

/// A configuration that its render or its check refused. What objects change is in force.
fn of_set_aside(set_aside: &SetAside) -> Vec<OverviewProblem> {
    let SetAside { config, why } = set_aside;
    let what = "configuration refused, objects follow the one before";
    let name = format!("{}/{}", config.namespace, config.name);
    why.iter().map(|why| error(what, Some(&name), &why.to_string())).collect()
}

/// An observer that hangs: no change waits for it.
fn of_observer(why: &str) -> OverviewProblem {
    let why = format!(
        "{why}\nEvery change is deployed all the same; metrics, history, traces or what is told the API server stand still. If \
         that stays: keep the log, which says what it did last, and delete this controller's pod"
    );
    warning("an observer is stuck", None, &why)
}

fn of_stores(overview: &Overview) -> impl Iterator<Item = OverviewProblem> {
    overview.stores.iter().filter_map(|store| {
        let why = store.trouble.as_deref()?;
        Some(error("resource cannot be watched", Some(&store.name), why))
    })
}

fn of_limits(overview: &Overview) -> impl Iterator<Item = OverviewProblem> {
    let sentences = overview.stores.iter().flat_map(|store| store.left_out.iter());
    sentences.map(|why| error("objects left out", None, why))
}

/// A render or check that failed and that nothing newer has made good. `refused`: the generation that HAProxy's check refused
/// last, and why, if nothing was checked since.
fn of_stages(
    refused: Option<(u64, &[Diagnostic])>,
    overview: &Overview,
    history: &[Arc<HistoryEntry>],
) -> Vec<OverviewProblem> {
    let mut problems = Vec::new();
    let rendered = overview.rendered.as_ref().map(|stage| stage.generation);
    let checked = overview.checked.as_ref().map(|stage| stage.generation);
    for (kind, what, good) in [
        ("RenderFailed", "render failed, the last good bundle stays", rendered),
        ("ValidationFailed", "check failed, the last good bundle stays", checked),
    ] {
        let last = history.iter().rev().find(|entry| entry.kind == kind);
        let generation = |entry: &HistoryEntry| entry.generation.map(|g| g.0);
        // What HAProxy's check refused is told below, in its own words.
        let known = |entry: &HistoryEntry| generation(entry) == refused.map(|(generation, _)| generation);
        let last = last.filter(|entry| generation(entry) > good && !known(entry));
        problems.extend(last.map(|entry| error(what, entry.object.as_deref(), &entry.text)));
    }
    if let Some((generation, diagnostics)) = refused
        && Some(generation) > checked
    {
        let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        problems.extend(errors.map(|why| {
            let object = why.object.as_ref().map(ToString::to_string);
            error("HAProxy's check refuses it", object.as_deref(), &without_object(why, why.object.as_ref()))
        }));
    }
    problems
}

/// What a replica that does not lead knows of a pod: whether it answers.
fn of_pod_from_aside(pod: &PodOverview) -> Option<OverviewProblem> {
    let why = pod.last_error.as_deref()?;
    let why = format!(
        "{why}\nThis replica stands by and only reads what the pod runs, which it tries again. Its own words: {}",
        log_of(pod)
    );
    Some(error("pod cannot be read", Some(&pod.pod), &why))
}

/// `since`: when what it should run was there to be run.
fn of_pod(pod: &PodOverview, now: u64, since: Option<u64>) -> Option<OverviewProblem> {
    let doing = pod.activity.as_deref().unwrap_or("nothing is known of its deployment");
    let log = log_of(pod);
    match pod.standing {
        PodStanding::Failing => Some(of_failing(pod, doing)),
        // A reload waits for the one before it, and takes its time.
        PodStanding::Behind if since.is_some_and(|since| now.saturating_sub(since) < BEHIND_MS) => None,
        PodStanding::Behind => {
            let why =
                format!("{doing}\nIf that stays: is the pod short of CPU, or is its agent stuck? {log}");
            Some(error("pod behind", Some(&pod.pod), &why))
        }
        PodStanding::Unknown if pod.haproxy.is_some() => {
            Some(error("pod waits", Some(&pod.pod), "nothing that could be deployed has been rendered yet"))
        }
        PodStanding::Unknown => {
            let why = format!("{doing}\nIs it running, and can the controller reach its agent? {log}");
            Some(error("pod has not answered", Some(&pod.pod), &why))
        }
        PodStanding::Converged => {
            let slow = pod.lag_ms.filter(|lag| *lag > SLOW_MS)?;
            let ago = pod.last_plan.as_ref().map(|plan| now.saturating_sub(plan.unix_ms))?;
            let why = format!(
                "its last change took {:.1} s to reach it, {} s ago",
                std::time::Duration::from_millis(slow).as_secs_f32(),
                ago / 1000
            );
            (ago < NEWS_MS).then(|| warning("pod slow", Some(&pod.pod), &why))
        }
    }
}

/// A pod for which the last attempt failed; `doing` says what else is known.
pub(super) fn of_failing(pod: &PodOverview, doing: &str) -> OverviewProblem {
    let (why, log) = (pod.last_error.as_deref().unwrap_or(doing), log_of(pod));
    let why = format!("{why}\nIt goes on with what it runs and is tried again. Its own words: {log}");
    error("pod not deployed", Some(&pod.pod), &why)
}

/// How the pod's own words are read.
fn log_of(pod: &PodOverview) -> String {
    let (namespace, name) = pod.pod.split_once('/').unwrap_or(("", &pod.pod));
    match namespace == HaproxyPod::LOCAL {
        true => "the output of haptic local".to_owned(),
        false => format!("kubectl logs -n {namespace} {name}"),
    }
}

/// The same of one that began anew: Kubernetes keeps the words of the container before.
fn log_before(pod: &PodOverview) -> String {
    let is_container = !pod.pod.starts_with(&format!("{}/", HaproxyPod::LOCAL));
    let before = if is_container { ", with --previous if the container was restarted" } else { "" };
    log_of(pod) + before
}

fn restarted(pod: &PodOverview, now: u64) -> Option<OverviewProblem> {
    let ago = now.saturating_sub(pod.began_anew_unix_ms?);
    let why = format!(
        "its HAProxy or its agent ended and began anew {} s ago; why: {}",
        ago / 1000,
        log_before(pod)
    );
    (ago < NEWS_MS).then(|| warning("HAProxy began anew", Some(&pod.pod), &why))
}

/// What checks are not protected by on this machine.
fn of_protections(protections: &Value) -> Option<OverviewProblem> {
    let all = protections.as_object().into_iter().flatten();
    let missing =
        all.filter_map(|(name, state)| Some((name, state.as_str().filter(|state| *state != "on")?)));
    let missing: Vec<String> = missing.map(|(name, why)| format!("{name} ({why})")).collect();
    let why = format!(
        "haproxy -c runs without {}; what that means: /debug/checks, and SECURITY.md",
        missing.join(", ")
    );
    (!missing.is_empty()).then(|| warning("checks lack protections", None, &why))
}

/// What is wrong, without what is said beside it: whom it concerns, and where in the output it is.
pub(super) fn without_object(why: &Diagnostic, of: Option<&Arc<ObjectRef>>) -> String {
    let other = why.object.clone().filter(|other| Some(other) != of);
    Diagnostic { object: other, output: None, ..why.clone() }.to_string()
}

fn of_warnings(readers: &Readers) -> Vec<OverviewProblem> {
    let rendered = readers.rendered.latest();
    let warnings = (*rendered).as_ref().map(|r| r.warnings.clone()).unwrap_or_default();
    let of_warning = |why: &Diagnostic| {
        let object = why.object.as_ref().map(ToString::to_string);
        warning("warning", object.as_deref(), &without_object(why, why.object.as_ref()))
    };
    warnings.iter().map(of_warning).collect()
}

/// What is found at objects, the first of each namespace.
fn of_findings(findings: &Findings) -> Vec<OverviewProblem> {
    let few = findings.first_few();
    let one = |found: &ObjectFinding| {
        let object = found.object.to_string();
        warning(found.finding.kind.title(), Some(&object), &found.finding.sentence)
    };
    let rest = (few.untold > 0).then(|| {
        let why = format!("{} more, which /debug/findings shows", few.untold);
        warning("findings", None, &why)
    });
    few.found.iter().map(one).chain(rest).collect()
}

/// What the leader cannot tell the API server: nothing waits for it, so nothing else shows it.
fn of_reporting(readers: &Readers) -> Vec<OverviewProblem> {
    let reporting = readers.reporting.latest();
    reporting.failures.iter().map(|(what, why)| warning(what.failure(), Some(what.resource()), why)).collect()
}

/// That another one leads than before, with the Lease and who holds it.
fn of_leadership(
    readers: &Readers,
    overview: &Overview,
    history: &[Arc<HistoryEntry>],
) -> Option<OverviewProblem> {
    let last = history.iter().rev().find(|entry| entry.kind == "LeadershipChanged");
    let last =
        last.filter(|entry| entry.unix_ms >= u128::from(overview.taken_unix_ms.saturating_sub(NEWS_MS)))?;
    let config = readers.config.latest();
    let lease = (*config).as_ref().map(|config| {
        format!("Lease {}/{}", config.namespace, config.spec.controller.leader_election.lease_name)
    });
    let holder = overview.replica.leader.as_deref().unwrap_or("who holds the Lease is not known");
    Some(warning("leadership changed", lease.as_deref(), &format!("{}; {holder}", last.text)))
}

/// What happened lately and is not seen in how things are now.
fn of_news(history: &[Arc<HistoryEntry>]) -> Vec<OverviewProblem> {
    let now = since_1970(SystemTime::now());
    let age = |entry: &HistoryEntry| now.saturating_sub(u64::try_from(entry.unix_ms).unwrap_or_default());
    let mut last: BTreeMap<(&str, Option<&str>), &HistoryEntry> = BTreeMap::new();
    for entry in history.iter().filter(|entry| age(entry) <= NEWS_MS) {
        if let Some(what) = what_of(entry.kind) {
            last.insert((what, entry.object.as_deref()), entry);
        }
    }
    // The last of these may say that it is over, or that all went as it should.
    let over = |entry: &HistoryEntry| {
        matches!(entry.kind, "ElectionTroubled" | "Reviewed" | "ManifestMended" | "ObjectMended")
            && entry.level < MessageLevel::Warn
    };
    let problem = |((what, object), entry): (&(&str, Option<&str>), &&HistoryEntry)| {
        (!over(entry)).then(|| warning(what, *object, &format!("{} ({})", entry.text, ago(age(entry)))))
    };
    last.iter().filter_map(problem).collect()
}

fn what_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "ActorRestarted" => "an actor failed and was restarted",
        "DriftFound" => "a pod did not run what it was left with",
        "TakenBack" => "a live generation was taken back",
        "ObjectMalformed" | "ObjectMended" => "an object could not be read",
        "ManifestRefused" | "ManifestMended" => "a problem in a file of manifests",
        "ElectionTroubled" => "the Lease cannot be kept",
        "Reviewed" => "the webhook could not judge a change",
        "EventsLost" => "events were lost",
        _ => return None,
    })
}

/// Objects that cause one reconcile after another.
fn of_flapping(history: &[Arc<HistoryEntry>]) -> Vec<OverviewProblem> {
    let since = u128::from(since_1970(SystemTime::now()).saturating_sub(60_000));
    let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in history.iter().filter(|e| e.kind == "ReconcileStarted" && e.unix_ms >= since) {
        if let Some(object) = entry.object.as_deref() {
            *causes.entry(object).or_default() += 1;
        }
    }
    let flapping = causes.into_iter().filter(|(_, count)| *count >= FLAPPING);
    let of_object = |(object, count): (&str, usize)| {
        let why = format!("it caused {count} reconciles within the last minute: what changes it so often?");
        warning("object flapping", Some(object), &why)
    };
    flapping.map(of_object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overview::{GenerationStage, StoreOverview};
    use haptic_commentator::{History, LogLine};
    use haptic_model::{Event, Generation, Instead};
    use serde_json::json;
    use std::time::Duration;

    fn keep(history: &History, event: &Event, level: MessageLevel, object: Option<&str>) {
        let line = LogLine { level, text: "what was said".into(), object: object.map(Into::into) };
        history.keep(event, &line, 100);
    }

    #[test]
    fn of_what_is_held_back_it_is_told_what_is_served_and_for_how_long() {
        let history = History::new();
        let event = Event::QuarantineChanged {
            generation: Generation(3),
            entered: Vec::new(),
            left: Vec::new(),
            held: 1,
        };
        keep(&history, &event, MessageLevel::Warn, None);
        let began = began(3, &history.latest(9)).unwrap();
        let held = |instead| QuarantinedObjects {
            why: "it is wrong".into(),
            in_force: PublishedInstead::Known(instead),
            since: Some(3),
            ..QuarantinedObjects::default()
        };
        let said = |instead| of_object(&held(instead), Some(90_000)).why;
        assert_eq!(
            said(Instead::Former),
            "it is wrong\nIts last good version is still served (held back 90 s ago)"
        );
        assert_eq!(
            said(Instead::Nothing),
            "it is wrong\nIt is not served: no good version of it is known (held back 90 s ago)"
        );
        assert!(began > 0 && super::began(4, &history.latest(9)).is_none());
    }

    #[test]
    fn a_reason_not_to_be_ready_is_told_once() {
        let store = StoreOverview {
            name: "pods".into(),
            trouble: Some("it is forbidden".into()),
            ..StoreOverview::default()
        };
        let overview = Overview { stores: vec![store], ..Overview::default() };
        let unreadable = |name: &str| UnreadableResource { name: name.into(), why: "it is forbidden".into() };
        let secret = Diagnostic::error("basic", "there is no Secret");
        let told = |why: NotReady, state: &ConfigState| of_process(&why, &overview, state).is_some();
        let valid = ConfigState::Valid;
        assert!(told(NotReady::Draining, &valid) && told(NotReady::Unreadable(unreadable("nodes")), &valid));
        assert!(!told(NotReady::Unreadable(unreadable("pods")), &valid));
        assert!(!told(NotReady::NextConfigWaits(vec![unreadable("nodes"), unreadable("pods")]), &valid));
        assert!(told(NotReady::Credentials(secret.clone()), &valid));
        assert!(!told(NotReady::Credentials(secret.clone()), &ConfigState::Invalid(vec![secret])));
        assert!(told(NotReady::NoConfig(ConfigState::Deleted), &ConfigState::Deleted));
    }

    #[test]
    fn what_haproxys_check_refuses_is_one_problem_and_not_two() {
        let history = History::new();
        let diagnostics = vec![
            Diagnostic::warning("haproxy", "please set tune.lua.bool-sample-conversion"),
            Diagnostic::error("haproxy", "unknown keyword 'x'"),
        ];
        let event = |generation, diagnostics| Event::ValidationFailed {
            generation: Generation(generation),
            configuration: 1,
            diagnostics,
            took: Duration::ZERO,
        };
        keep(&history, &event(3, diagnostics.clone()), MessageLevel::Error, None);
        let checked = Some(GenerationStage { generation: 2, ..GenerationStage::default() });
        let overview = Overview { checked, ..Overview::default() };
        let problems = of_stages(Some((3, &diagnostics[..])), &overview, &history.latest(9));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].why.contains("unknown keyword"));
        keep(&history, &event(4, Vec::new()), MessageLevel::Error, None);
        assert_eq!(of_stages(Some((3, &diagnostics[..])), &overview, &history.latest(9)).len(), 2);
    }

    #[test]
    fn a_file_that_was_corrected_is_no_news_and_one_that_was_not_is_told_with_its_age() {
        let history = History::new();
        let refused = |file: &str| Event::ManifestRefused { file: file.into(), message: String::new() };
        for file in ["a.yaml", "b.yaml"] {
            keep(&history, &refused(file), MessageLevel::Warn, Some(file));
        }
        assert_eq!(of_news(&history.latest(9)).len(), 2);
        keep(&history, &Event::ManifestMended { file: "a.yaml".into() }, MessageLevel::Info, Some("a.yaml"));
        let problems = of_news(&history.latest(9));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].object.as_deref(), Some("b.yaml"));
        assert!(problems[0].why.ends_with("(now)"), "{problems:?}");
    }

    #[test]
    fn a_pod_is_slow_for_as_long_as_that_is_news() {
        let slow = |ago: u64| {
            let last_plan =
                Some(super::super::PlanOverview { unix_ms: 1_000_000_000 - ago, ..Default::default() });
            let standing = PodStanding::Converged;
            let pod = PodOverview {
                pod: "edge/a".into(),
                standing,
                lag_ms: Some(12_000),
                last_plan,
                ..PodOverview::default()
            };
            of_pod(&pod, 1_000_000_000, None)
        };
        assert!(slow(3000).unwrap().why.contains("took 12.0 s to reach it, 3 s ago"));
        assert_eq!(slow(NEWS_MS + 1), None);
    }

    #[test]
    fn a_pod_that_is_being_brought_there_is_no_problem_until_it_takes_too_long() {
        let pod = |name: &str| PodOverview {
            pod: name.into(),
            standing: PodStanding::Behind,
            ..PodOverview::default()
        };
        assert_eq!(of_pod(&pod("edge/a"), 100_000, Some(95_000)), None);
        let late = of_pod(&pod("edge/a"), 100_000, Some(50_000)).unwrap();
        assert!(late.why.contains("kubectl logs -n edge a"), "{late:?}");
        let local = of_pod(&pod("local/haproxy"), 100_000, None).unwrap();
        assert!(!local.why.contains("kubectl"), "{local:?}");
    }

    #[test]
    fn of_a_haproxy_that_began_anew_it_is_said_where_its_own_words_are() {
        let why = |name: &str| {
            let pod =
                PodOverview { pod: name.into(), began_anew_unix_ms: Some(90_000), ..PodOverview::default() };
            restarted(&pod, 100_000).unwrap().why
        };
        assert!(why("edge/a").ends_with(
            "10 s ago; why: kubectl logs -n edge a, with --previous if the container was restarted"
        ));
        assert!(why("local/haproxy").ends_with("10 s ago; why: the output of haptic local"));
    }

    #[test]
    fn a_replica_that_stands_by_tells_only_of_pods_that_it_cannot_read() {
        let pod =
            PodOverview { pod: "edge/a".into(), haproxy: Some("3.4.1".into()), ..PodOverview::default() };
        assert_eq!(of_pod_from_aside(&pod), None);
        let unread = PodOverview { last_error: Some("connection refused".into()), ..pod };
        let problem = of_pod_from_aside(&unread).unwrap();
        assert!(problem.what.contains("cannot be read") && problem.why.contains("stands by"), "{problem:?}");
    }

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
    fn protections_that_checks_lack_are_one_warning_with_their_reasons() {
        let told = |protections: &Value| of_protections(protections);
        assert!(told(&json!({ "landlock": "on", "calls": "on" })).is_none());
        let missing =
            json!({ "calls": "turned off by --unprotected", "landlock": "on", "memory": "no rights" });
        let problem = told(&missing).unwrap();
        assert_eq!(problem.severity, ProblemSeverity::Warning);
        let why = "haproxy -c runs without calls (turned off by --unprotected), memory (no rights);";
        assert!(problem.why.starts_with(why), "{}", problem.why);
    }

    #[test]
    fn a_webhook_that_could_not_judge_is_told_of_with_the_object_and_one_that_refuses_is_not() {
        let told = |refused| {
            let history = History::new();
            let level = if refused { MessageLevel::Info } else { MessageLevel::Warn };
            let text = "not checked: the check took longer than 7 s".to_owned();
            let line = LogLine { level, text, object: Some("ingresses shop/web".into()) };
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
