//! Whether a configuration may be stored: all validators, its own tests, and a render of what is in the cluster.

use super::{
    answer::ReviewAnswer,
    failed_tests,
    lookups::{Lookups, SecretUser},
    render_cache::{Live, LiveTopics},
    review::{DEADLINE, REQUESTS, Review, end_of_checks},
};
use haptic_attribution::brought;
use haptic_config::{ConfigCandidate, credentials::secret_of, scatter_gather, validators::refused};
use haptic_inspect::{
    tests_of_config::{self, Report, Suite, TestResult},
    validators,
};
use haptic_model::{
    ActiveConfig, Diagnostic, Fleet, HAProxyTemplateConfigSpec, HaproxyVersion, Severity, Snapshots,
};
use haptic_render::{Checked, Program, RenderJob, RenderLimits, Renderer, compile};
use haptic_runtime::cpu;
use haptic_validate::Checker;
use haptic_watch::WatchSpec;
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};
use tokio::time::Instant;

/// Which configuration this controller runs.
#[derive(Clone, Debug)]
pub struct OwnConfiguration {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

/// Judges the configuration in `review`, which was received at `received`, within [`DEADLINE`].
pub async fn evaluate(
    review: &Review,
    received: Instant,
    own: &OwnConfiguration,
    lookups: &Lookups,
    topics: &LiveTopics,
    checker: &Checker,
) -> ReviewAnswer {
    let object = Value::Object(review.object.clone().unwrap_or_default());
    let checker = checker.until(end_of_checks(received));
    let answer =
        tokio::time::timeout_at(received + DEADLINE, evaluate_object(object, own, lookups, topics, &checker))
            .await;
    answer.unwrap_or_else(|_| ReviewAnswer::Undecided {
        why: format!("validators and tests did not end within {} s", DEADLINE.as_secs()),
    })
}

async fn evaluate_object(
    object: Value,
    own: &OwnConfiguration,
    lookups: &Lookups,
    topics: &LiveTopics,
    checker: &Checker,
) -> ReviewAnswer {
    let candidate = match ConfigCandidate::from_resource(&object) {
        Ok(candidate) => candidate,
        Err(problem) => return ReviewAnswer::denied(&[problem]),
    };
    let is_own = candidate.name == own.name && candidate.namespace == own.namespace;
    let live = Live::of(topics).ok();
    if is_own && live.as_ref().is_some_and(|live| live.config.spec == candidate.spec) {
        return ReviewAnswer::allowed();
    }
    let answers = scatter_gather(&validators(), &candidate.spec, DEADLINE).await;
    let is_complete = answers.is_complete();
    let mut found = answers.diagnostics;
    if !is_complete {
        return not_checked(&errors(found));
    }
    if refused(&found) {
        return ReviewAnswer::denied(&errors(found));
    }
    let named = candidate.secret();
    let named_before = |live: &Live| secret_of(&live.config.spec, &live.config.namespace) == named;
    let user = match is_own {
        true if live.as_ref().is_some_and(named_before) => SecretUser::OwnAsBefore,
        true => SecretUser::Own,
        false => SecretUser::Another,
    };
    match lookups.credentials(&named, user).await {
        Ok(warning) => found.extend(warning),
        Err(answer) => return answer,
    }
    let config = match candidate.as_if_active() {
        Ok(config) => config,
        Err(why) => return ReviewAnswer::denied(&[Diagnostic::error("basic", why)]),
    };
    let (spec, checker) = (config.spec.clone(), &checker.allowing(&config.spec.allow.features));
    let compiled = match cpu("webhook", move || compile(&spec)).await {
        Ok(Ok(compiled)) => compiled,
        Ok(Err(problems)) => return ReviewAnswer::denied(&problems),
        Err(panicked) => return ReviewAnswer::Undecided { why: panicked.to_string() },
    };
    let report = own_tests(&config, &compiled, checker, topics).await;
    if let Some(answer) = message_of_failures(&report) {
        return answer;
    }
    found.extend(unsent(&report));
    if let Some(live) = live.filter(|_| is_own) {
        match render_live(&config, &compiled, checker, live).await {
            Ok(warnings) => found.extend(warnings),
            Err(answer) => return answer,
        }
    }
    ReviewAnswer::warned(&found)
}

async fn own_tests(
    config: &Arc<ActiveConfig>,
    compiled: &Arc<Program>,
    checker: &Checker,
    topics: &LiveTopics,
) -> Report {
    let oldest = topics.fleet.latest().versions.iter().min().copied();
    let suite = Suite {
        config: config.clone(),
        compiled: compiled.clone(),
        checker: checker.clone(),
        // Without any HAProxy at hand, one version is as good as another.
        version: oldest
            .or_else(|| checker.newest().map(|binary| binary.version))
            .unwrap_or(HaproxyVersion::NEWEST),
        only: None,
        keep_rendered: false,
        requests_within: Some(REQUESTS),
    };
    tests_of_config::run(&suite, |_| {}).await
}

/// What is to be said when tests fail: of those that came to their end, if any did.
fn message_of_failures(report: &Report) -> Option<ReviewAnswer> {
    let (undecided, failed): (Vec<_>, Vec<_>) =
        report.tests.iter().filter(|test| !test.passed).partition(|test| test.undecided);
    if !failed.is_empty() {
        let passed = report.tests.iter().filter(|test| test.passed).count();
        return Some(ReviewAnswer::Denied {
            message: failed_tests::message(&failed, passed, report.tests.len()),
        });
    }
    let faults: Vec<_> = undecided.into_iter().map(undecided_by).collect();
    (!faults.is_empty()).then(|| not_checked(&faults))
}

/// Requests that there was no time for stand in nobody's way.
fn unsent(report: &Report) -> Option<Diagnostic> {
    let tests = || report.tests.iter().filter(|test| test.unsent.is_some());
    let why = tests().find_map(|test| test.unsent.as_deref())?;
    let names: Vec<&str> = tests().map(|test| &*test.name).collect();
    let names = names.join(", ");
    let what = format!("requests were not sent of the tests {names} ({why})");
    let help =
        format!("All requests together have {} s here; `haptic validate` sends all", REQUESTS.as_secs());
    Some(Diagnostic::warning("tests", what).at_field("spec.validationTests").help(help))
}

/// Nothing was found out, and this is why.
fn not_checked(errors: &[Diagnostic]) -> ReviewAnswer {
    let why: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
    ReviewAnswer::Undecided { why: why.join("; ") }
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
    compiled: &Arc<Program>,
    checker: &Checker,
    live: Live,
) -> Result<Vec<Diagnostic>, ReviewAnswer> {
    let snapshots = match stores_for(&config.spec, &live) {
        Ok(snapshots) => snapshots,
        Err(names) => return Ok(vec![not_read(&names)]),
    };
    let fleet = live.fleet.clone();
    let (new, with, objects) = (config.clone(), compiled.clone(), snapshots.clone());
    let rendered = cpu("webhook", move || render(&with, &new, &objects, &fleet)).await;
    let found = match rendered {
        Ok(Ok((bundle, warnings))) => {
            let verdict = checker.check(&bundle, &live.fleet.versions).await;
            if verdict.passed() {
                return Ok(warnings.into_iter().filter(|w| w.object.is_none()).collect());
            }
            let undecided = verdict.undecided;
            let found = errors(verdict.diagnostics);
            if undecided {
                return Err(not_checked(&found));
            }
            found
        }
        Ok(Err(faults)) => faults,
        Err(panicked) => return Err(ReviewAnswer::Undecided { why: panicked.to_string() }),
    };
    // An object that the configuration in force cannot serve either is no reason.
    let fleet = live.fleet.clone();
    let before = cpu("webhook", move || {
        let compiled = compile(&live.config.spec)?;
        render(&compiled, &live.config, &live.snapshots, &fleet).map(drop)
    });
    let before = before.await.ok().and_then(Result::err).unwrap_or_default();
    let troubled: HashSet<_> = before.iter().filter_map(|fault| fault.object.clone()).collect();
    let known = |fault: &Diagnostic| brought::is_of(fault, &troubled);
    let (old, new): (Vec<_>, Vec<_>) = found.into_iter().partition(known);
    if new.is_empty() {
        let warn = |fault: Diagnostic| Diagnostic { severity: Severity::Warning, ..fault };
        return Ok(old.into_iter().map(warn).collect());
    }
    Err(ReviewAnswer::denied(&new))
}

fn render(
    compiled: &Program,
    config: &ActiveConfig,
    snapshots: &Snapshots,
    fleet: &Fleet,
) -> Result<(haptic_model::Bundle, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut renderer = Renderer::checked(Checked::Never);
    let rendering = renderer.render(&RenderJob {
        compiled,
        config,
        snapshots,
        fleet,
        limits: &RenderLimits::default(),
    })?;
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
        assert_eq!(unsent(&report(vec![good.clone()])), None);
        let late = |name| TestResult { unsent: Some("no time".into()), ..test(name, true, false) };
        let warning = unsent(&report(vec![late("a"), good.clone(), late("b")])).unwrap();
        assert_eq!(warning.severity, Severity::Warning);
        assert!(warning.message.contains("of the tests a, b (no time)"), "{}", warning.message);
        assert!(message_of_failures(&report(vec![good.clone()])).is_none());
        let Some(ReviewAnswer::Undecided { why }) = message_of_failures(&report(vec![good, unknown.clone()]))
        else {
            panic!("nothing is known of it")
        };
        assert!(why.contains("unknown says why"), "{why}");
        let Some(ReviewAnswer::Denied { message }) = message_of_failures(&report(vec![unknown, bad])) else {
            panic!("a test fails")
        };
        assert!(
            message.starts_with("validation failed: 0/2 tests passed") && message.contains("bad says why"),
            "{message}"
        );
    }
}
