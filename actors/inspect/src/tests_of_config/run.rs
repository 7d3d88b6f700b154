//! Runs tests, several at once, each by itself.

use super::{
    PROVES_NOTHING,
    assertion::{Fault, dump, judge, judge_verdict},
    check::Check,
    report::{AssertionResult, Report, TestResult},
    requests::{self, Time},
    subject::{Subject, context, render},
};
use crate::offline::{certificate, names};
use futures::{StreamExt, stream};
use haptic_config::library;
use haptic_model::{
    ActiveConfig, Fleet, HAProxyTemplateConfigSpec, HaproxyVersion,
    crd::{Assertion, ValidationTest},
    external_names::{ExternalNames, Resolved},
};
use haptic_render::Program;
use haptic_validate::Checker;
use haptic_watch::provided::{self, ProvidedObjects};
use serde_json::{Map, Value};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// A configuration whose tests are to be run.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The configuration, as it would be in force.
    pub config: Arc<ActiveConfig>,
    /// Its templates.
    pub compiled: Arc<Program>,
    /// Runs `haproxy -c` for `haproxy_valid`.
    pub checker: Checker,
    /// The version that templates see and that checks.
    pub version: HaproxyVersion,
    /// Run only the test of this name.
    pub only: Option<String>,
    /// Whether results hold everything that was rendered.
    pub keep_rendered: bool,
    /// How long the requests of all tests may take; those that there is no time for are told, and fail nothing.
    pub requests_within: Option<Duration>,
}

/// An assertion as it was read, and what came of it so far.
type Judged = (Assertion, Result<Check, String>, Result<(), Fault>);

/// Runs the tests of `suite`; `finished` is told of each. Dropping the future ends the checks under way.
pub async fn run(suite: &Suite, mut finished: impl FnMut(&TestResult)) -> Report {
    let began = Instant::now();
    let chosen = |name: &String| suite.only.as_ref().is_none_or(|only| only == name);
    let tests = &suite.config.spec.validation_tests.by_name;
    let mut tests: Vec<_> = tests.iter().filter(|(name, _)| chosen(name)).collect();
    // There may be no time for all: what libraries prove of themselves waits.
    let libraries = &suite.config.spec.libraries;
    let of_libraries = library::untouched(libraries, &suite.config.spec.validation_tests.by_name);
    tests.sort_by_key(|(name, _)| of_libraries.contains(name.as_str()));
    let bare = without_tests(&suite.config);
    let as_in_libraries = with_settings_of_libraries(&bare);
    let time = Time::of(suite.requests_within);
    let at_once = std::thread::available_parallelism().map_or(2, usize::from);
    let one = |(name, test): (&String, &ValidationTest)| {
        let bare = if of_libraries.contains(name.as_str()) { &as_in_libraries } else { &bare };
        one(suite, bare.clone(), name.clone(), test.clone(), &time)
    };
    let mut running = stream::iter(tests.into_iter().map(one)).buffer_unordered(at_once);
    let mut results = Vec::new();
    while let Some(result) = running.next().await {
        finished(&result);
        results.push(result);
    }
    Report::of(results, began.elapsed())
}

/// What each test starts from; copying it must not copy all tests.
fn without_tests(config: &ActiveConfig) -> ActiveConfig {
    let spec = HAProxyTemplateConfigSpec { validation_tests: Default::default(), ..(*config.spec).clone() };
    ActiveConfig { spec: Arc::new(spec), ..config.clone() }
}

/// What tests of libraries start from. They say how a library answers with its own settings; what a configuration sets is rendered
/// and checked without them.
fn with_settings_of_libraries(bare: &ActiveConfig) -> ActiveConfig {
    let mut spec = (*bare.spec).clone();
    spec.templating_settings.extra_context.extend(library::settings_of(&spec.libraries));
    ActiveConfig { spec: Arc::new(spec), ..bare.clone() }
}

async fn one(
    suite: &Suite,
    bare: ActiveConfig,
    name: String,
    test: ValidationTest,
    time: &Time,
) -> TestResult {
    let began = Instant::now();
    let blank = TestResult { name, description: test.description.clone(), ..TestResult::default() };
    let (compiled, version) = (suite.compiled.clone(), suite.version);
    let test = Arc::new(test);
    let looked_at = test.clone();
    let work = tokio::task::spawn_blocking(move || judged_subject(&compiled, bare, version, &looked_at));
    let looked = match work.await {
        Ok(Ok(looked)) => looked,
        Ok(Err(problems)) => {
            return TestResult { error: Some(problems), took: began.elapsed(), ..blank };
        }
        Err(panicked) => {
            let error = format!("the test itself failed, which is a bug in HAPTIC: {panicked}");
            return TestResult { error: Some(error), took: began.elapsed(), ..blank };
        }
    };
    let (subject, judged) = looked;
    let (mut assertions, mut undecided) = (Vec::new(), false);
    for (assertion, check, verdict) in judged {
        let verdict = match (&check, verdict, &subject.outcome) {
            (Ok(Check::Valid), Ok(()), Ok(bundle)) => {
                let verdict = suite.checker.check(bundle, &[version]).await;
                undecided |= verdict.undecided;
                judge_verdict(&verdict.diagnostics, bundle)
            }
            (_, verdict, _) => verdict,
        };
        assertions.push(result(assertion, verdict));
    }
    let asked = requests::ask(&suite.checker, version, &test, &subject.outcome, time).await;
    assertions.extend(asked.results);
    let proves_nothing = assertions.is_empty() && asked.unsent.is_none();
    TestResult {
        passed: !proves_nothing && assertions.iter().all(|assertion| assertion.passed),
        error: proves_nothing.then(|| PROVES_NOTHING.to_owned()),
        undecided: undecided || asked.undecided,
        unsent: asked.unsent,
        assertions,
        rendered: if suite.keep_rendered { dump(&subject.outcome) } else { Default::default() },
        took: began.elapsed(),
        ..blank
    }
}

/// Renders, and judges everything that needs no process. An error is one of the fixtures.
fn judged_subject(
    compiled: &Program,
    bare: ActiveConfig,
    version: HaproxyVersion,
    test: &ValidationTest,
) -> Result<(Subject, Vec<Judged>), String> {
    let config = with_extra_context(bare, &test.extra_context);
    let secret = certificate::throw_away()?;
    let resolved = resolved(test);
    let given = |fixtures: &ProvidedObjects| {
        let snapshots =
            provided::snapshots(&config.spec, fixtures).map_err(|problems| problems.join("\n"))?;
        let snapshots = names::with(&config.spec, &snapshots, &resolved);
        Ok::<_, String>(certificate::with(&config.spec, &snapshots, &secret))
    };
    let snapshots = given(&test.fixtures)?;
    let fleet = Fleet::of_version(version);
    let checks: Vec<_> = test.assertions.iter().map(Check::read).collect();
    let again = checks.iter().any(|check| matches!(check, Ok(Check::Deterministic)));
    let again = again.then(|| {
        let mut turned = test.fixtures.clone();
        turned.values_mut().for_each(|objects| objects.reverse());
        render(compiled, &config, &given(&turned)?, &fleet)
    });
    let subject = Subject {
        outcome: render(compiled, &config, &snapshots, &fleet),
        again,
        context: context(&config, &snapshots, &fleet),
    };
    let judged = test.assertions.iter().zip(checks).map(|(assertion, check)| {
        let verdict = match &check {
            Ok(check) => judge(check, &subject),
            Err(why) => Err(why.clone().into()),
        };
        (assertion.clone(), check, verdict)
    });
    let judged = judged.collect();
    Ok((subject, judged))
}

fn resolved(test: &ValidationTest) -> ExternalNames {
    let to = |addresses: &Vec<_>| Resolved { addresses: addresses.clone(), why: String::new() };
    test.external_names.iter().map(|(name, addresses)| (name.clone(), to(addresses))).collect()
}

fn result(assertion: Assertion, verdict: Result<(), Fault>) -> AssertionResult {
    let passed = verdict.is_ok();
    let Fault { message, lines } = verdict.err().unwrap_or_default();
    AssertionResult {
        kind: assertion.kind.name(),
        description: assertion.description,
        target: assertion.target,
        passed,
        error: (!passed).then_some(message),
        lines,
    }
}

fn with_extra_context(config: ActiveConfig, over: &Map<String, Value>) -> ActiveConfig {
    if over.is_empty() {
        return config;
    }
    let mut spec = (*config.spec).clone();
    lay_over(&mut spec.templating_settings.extra_context, over);
    ActiveConfig { spec: Arc::new(spec), ..config }
}

/// Dicts are merged, anything else is replaced.
fn lay_over(below: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (below.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(over)) => lay_over(below, over),
            _ => drop(below.insert(key.clone(), value.clone())),
        }
    }
}
