//! Whether a configuration may be stored: all validators, its own tests, and a render of what is in the cluster.

use super::{
    answer::Answer,
    budget::{BUDGET, end_of_checks},
    failed_tests, faults,
    review::Review,
    secrets::Secrets,
    workshop::{Board, Live},
};
use crate::{
    command::as_if_active,
    tests_of_config::{self, Report, Suite, TestResult},
    wiring,
};
use haptic_config::{Candidate, credentials::secret_of, scatter_gather, validators::refused};
use haptic_model::{
    ActiveConfig, Diagnostic, Fleet, HAProxyTemplateConfigSpec, HaproxyVersion, Severity, Snapshots,
};
use haptic_render::{Checked, Compiled, Limits, Renderer, compile};
use haptic_runtime::cpu;
use haptic_validate::Checker;
use haptic_watch::WatchSpec;
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};
use tokio::time::Instant;

/// A version to test with when no HAProxy is at hand.
const SOME_VERSION: HaproxyVersion = HaproxyVersion::new(3, 4);

/// Which configuration this controller runs.
#[derive(Clone, Debug)]
pub struct Own {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

/// Judges the configuration in `review`, which came at `came`, within [`BUDGET`].
pub async fn judge(
    review: &Review,
    came: Instant,
    own: &Own,
    secrets: &Secrets,
    board: &Board,
    checker: &Checker,
) -> Answer {
    let object = Value::Object(review.object.clone().unwrap_or_default());
    let checker = checker.until(end_of_checks(came));
    let judged =
        tokio::time::timeout_at(came + BUDGET, judge_object(object, own, secrets, board, &checker)).await;
    judged.unwrap_or_else(|_| Answer::Unjudged {
        why: format!("validators and tests did not end within {} s", BUDGET.as_secs()),
    })
}

async fn judge_object(
    object: Value,
    own: &Own,
    secrets: &Secrets,
    board: &Board,
    checker: &Checker,
) -> Answer {
    let candidate = match Candidate::from_resource(&object) {
        Ok(candidate) => candidate,
        Err(problem) => return Answer::denied(&[problem]),
    };
    let is_own = candidate.name == own.name && candidate.namespace == own.namespace;
    let live = board.look().ok();
    if is_own && live.as_ref().is_some_and(|live| live.config.spec == candidate.spec) {
        return Answer::allowed();
    }
    let answers = scatter_gather(&wiring::validators(), &candidate.spec, BUDGET).await;
    let mut found = answers.diagnostics;
    if !answers.is_complete {
        return unjudged(&errors(found));
    }
    if refused(&found) {
        return Answer::denied(&errors(found));
    }
    let named = candidate.secret();
    let named_before = live
        .as_ref()
        .filter(|_| is_own)
        .is_some_and(|live| secret_of(&live.config.spec, &live.config.namespace) == named);
    match secrets.look_for(&named, !named_before, is_own).await {
        Ok(warning) => found.extend(warning),
        Err(answer) => return answer,
    }
    let config = match as_if_active(candidate) {
        Ok(config) => config,
        Err(why) => return Answer::denied(&[Diagnostic::error("basic", why.to_string())]),
    };
    let (spec, checker) = (config.spec.clone(), &checker.allowing(&config.spec.allow.features));
    let compiled = match cpu("webhook", move || compile(&spec)).await {
        Ok(Ok(compiled)) => compiled,
        Ok(Err(problems)) => return Answer::denied(&problems),
        Err(panicked) => return Answer::Unjudged { why: panicked.to_string() },
    };
    let report = own_tests(&config, &compiled, checker, board).await;
    if let Some(answer) = told_of_failures(&report) {
        return answer;
    }
    if let Some(live) = live.filter(|_| is_own) {
        match render_live(&config, &compiled, checker, live).await {
            Ok(warnings) => found.extend(warnings),
            Err(answer) => return answer,
        }
    }
    Answer::warned(&found)
}

async fn own_tests(
    config: &Arc<ActiveConfig>,
    compiled: &Arc<dyn Compiled>,
    checker: &Checker,
    board: &Board,
) -> Report {
    let oldest = board.fleet.read().versions.iter().min().copied();
    let suite = Suite {
        config: config.clone(),
        compiled: compiled.clone(),
        checker: checker.clone(),
        version: oldest.or_else(|| checker.newest().map(|binary| binary.version)).unwrap_or(SOME_VERSION),
        only: None,
        keep_rendered: false,
    };
    tests_of_config::run(&suite, |_| {}).await
}

/// What is to be said when tests fail: of those that came to their end, if any did.
fn told_of_failures(report: &Report) -> Option<Answer> {
    let (undecided, failed): (Vec<_>, Vec<_>) =
        report.tests.iter().filter(|test| !test.passed).partition(|test| test.undecided);
    if !failed.is_empty() {
        let passed = report.tests.iter().filter(|test| test.passed).count();
        return Some(Answer::Denied { message: failed_tests::message(&failed, passed, report.tests.len()) });
    }
    let faults: Vec<_> = undecided.into_iter().map(undecided_by).collect();
    (!faults.is_empty()).then(|| unjudged(&faults))
}

/// Nothing was found out, and this is why.
fn unjudged(errors: &[Diagnostic]) -> Answer {
    let why: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
    Answer::Unjudged { why: why.join("; ") }
}

fn undecided_by(test: &TestResult) -> Diagnostic {
    let failed = test.assertions.iter().find(|assertion| !assertion.passed);
    let why = match (&test.error, failed) {
        (Some(error), _) => error.clone(),
        (None, Some(failed)) => {
            format!("{}: {}", failed.title(), failed.error.as_deref().unwrap_or("it does not hold"))
        }
        (None, None) => "it does not hold".to_owned(),
    };
    Diagnostic::error("tests", format!("the test {} fails: {why}", test.name))
        .at_field(format!("spec.validationTests.{}", test.name))
}

/// Renders and checks what the cluster holds with the new configuration: its warnings, or what it breaks that was whole.
async fn render_live(
    config: &Arc<ActiveConfig>,
    compiled: &Arc<dyn Compiled>,
    checker: &Checker,
    live: Live,
) -> Result<Vec<Diagnostic>, Answer> {
    let snapshots = match stores_for(&config.spec, &live) {
        Ok(snapshots) => snapshots,
        Err(names) => return Ok(vec![not_read(&names)]),
    };
    let fleet = live.fleet.clone();
    let (new, with, objects) = (config.clone(), compiled.clone(), snapshots.clone());
    let rendered = cpu("webhook", move || render(&*with, &new, &objects, &fleet)).await;
    let found = match rendered {
        Ok(Ok((bundle, warnings))) => {
            let verdict = checker.check(&bundle, &live.fleet.versions).await;
            if verdict.passed() {
                return Ok(warnings.into_iter().filter(|w| w.object.is_none()).collect());
            }
            let undecided = verdict.undecided;
            let found = errors(verdict.diagnostics);
            if undecided {
                return Err(unjudged(&found));
            }
            found
        }
        Ok(Err(faults)) => faults,
        Err(panicked) => return Err(Answer::Unjudged { why: panicked.to_string() }),
    };
    // An object that the configuration in force cannot serve either is no reason.
    let fleet = live.fleet.clone();
    let before = cpu("webhook", move || {
        let compiled = compile(&live.config.spec)?;
        render(&*compiled, &live.config, &live.snapshots, &fleet).map(drop)
    });
    let before = before.await.ok().and_then(Result::err).unwrap_or_default();
    let troubled: HashSet<_> = before.iter().filter_map(|fault| fault.object.clone()).collect();
    let known = |fault: &Diagnostic| faults::is_of(fault, &troubled);
    let (old, new): (Vec<_>, Vec<_>) = found.into_iter().partition(known);
    if new.is_empty() {
        let warn = |fault: Diagnostic| Diagnostic { severity: Severity::Warning, ..fault };
        return Ok(old.into_iter().map(warn).collect());
    }
    Err(Answer::denied(&new))
}

fn render(
    compiled: &dyn Compiled,
    config: &ActiveConfig,
    snapshots: &Snapshots,
    fleet: &Fleet,
) -> Result<(haptic_model::Bundle, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut renderer = Renderer::checked(Checked::Never);
    let rendering = renderer.render(compiled, config, snapshots, fleet, &Limits::default())?;
    Ok((rendering.bundle, rendering.warnings))
}

/// The live stores, if the new configuration watches nothing else.
fn stores_for(spec: &HAProxyTemplateConfigSpec, live: &Live) -> Result<Snapshots, Vec<String>> {
    let (wanted, running) = (WatchSpec::all(spec), WatchSpec::all(&live.config.spec));
    let missing = wanted.iter().filter(|(name, spec)| running.get(*name) != Some(spec));
    let missing: Vec<String> = missing.map(|(name, _)| name.to_string()).collect();
    if !missing.is_empty() {
        return Err(missing);
    }
    let stores = spec.stores().filter_map(|name| Some((Arc::from(name), live.snapshots.get(name)?.clone())));
    Ok(Snapshots::new(stores.collect::<BTreeMap<_, _>>()))
}

fn not_read(names: &[String]) -> Diagnostic {
    let what = format!("not tried with the objects in the cluster: {} not yet watched so", names.join(", "));
    Diagnostic::warning("webhook", what)
}

fn errors(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_could_not_be_checked_denies_nothing_unless_another_one_fails() {
        let test = |name: &str, passed, undecided| TestResult {
            name: name.into(),
            passed,
            undecided,
            error: (!passed).then(|| format!("{name} says why")),
            ..TestResult::default()
        };
        let report = |tests| Report { tests, ..Report::default() };
        let (good, bad, unknown) =
            (test("good", true, false), test("bad", false, false), test("unknown", false, true));
        assert!(told_of_failures(&report(vec![good.clone()])).is_none());
        let Some(Answer::Unjudged { why }) = told_of_failures(&report(vec![good, unknown.clone()])) else {
            panic!("nothing is known of it")
        };
        assert!(why.contains("unknown says why"), "{why}");
        let Some(Answer::Denied { message }) = told_of_failures(&report(vec![unknown, bad])) else {
            panic!("a test fails")
        };
        assert!(
            message.starts_with("validation failed: 0/2 tests passed") && message.contains("bad says why"),
            "{message}"
        );
    }
}
