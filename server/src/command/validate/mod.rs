//! `haptic validate`: everything that can be known of a configuration before it serves anybody, its own tests included.

mod findings;
mod junit;
mod machine;
mod summary;

use crate::{
    cli::{CommandFailure, ConfigurationArgs, ValidateArgs, ValidateOutput},
    command::{
        binaries,
        input::{self, Loading, load},
    },
    output, process,
};
use findings::Examined;
use haptic_config::{
    ConfigCandidate, library,
    validators::{TIME_LIMIT, refused, scatter_gather},
};
use haptic_inspect::{
    maps,
    offline::{certificate, objects, render_once},
    tests_of_config::{self, Suite},
    validators,
};
use haptic_model::{ActiveConfig, Diagnostic, Fleet, HaproxyVersion, Snapshots};
use haptic_render::{Checked, Program, RenderJob, RenderLimits, Renderer, compile};
use haptic_validate::Checker;
use haptic_watch::{ObjectSource, provided};
use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
    sync::Arc,
};

/// Checks fields, templates, structure and, with the newest HAProxy found, `haproxy -c`; then runs the tests. Of each configuration.
///
/// # Errors
/// Exit code 1 when anything is wrong; told before. 2 for arguments that do not fit together.
pub fn run(args: &ValidateArgs) -> Result<(), CommandFailure> {
    let runtime = process::runtime()?;
    let all = runtime.block_on(process::until_signal(examine_all(args)))?;
    report(args, &all)?;
    if all.iter().all(Examined::is_valid) { Ok(()) } else { Err(CommandFailure::Exit(1)) }
}

async fn examine_all(args: &ValidateArgs) -> Result<Vec<Examined>, CommandFailure> {
    let mut all = Vec::new();
    for configuration in configurations(args) {
        all.push(examine(args, &configuration).await?);
    }
    Ok(all)
}

fn configurations(args: &ValidateArgs) -> Vec<ConfigurationArgs> {
    if args.files.is_empty() {
        return vec![args.configuration.clone()];
    }
    let of = |file: &PathBuf| ConfigurationArgs { file: Some(file.clone()), ..args.configuration.clone() };
    args.files.iter().map(of).collect()
}

async fn examine(args: &ValidateArgs, configuration: &ConfigurationArgs) -> Result<Examined, CommandFailure> {
    let mut findings = Examined::of(name_of(configuration));
    match load(configuration).await {
        Err(Loading::Failed(failure)) => return Err(failure),
        Err(Loading::Problems(problems)) => findings.diagnostics = problems,
        Ok(candidate) => {
            known_test(args, &candidate)?;
            match check(args, candidate, &mut findings).await {
                Err(CommandFailure::Because(why)) => {
                    findings.diagnostics.push(Diagnostic::error("validate", why));
                }
                done => done?,
            }
        }
    }
    Ok(findings)
}

fn name_of(configuration: &ConfigurationArgs) -> String {
    match &configuration.file {
        Some(file) if input::is_standard_input(file) => "standard input".to_owned(),
        Some(file) => file.display().to_string(),
        None => configuration.name.clone().unwrap_or_default(),
    }
}

/// A mistyped `--test` must not look like a configuration whose tests pass.
fn known_test(args: &ValidateArgs, candidate: &ConfigCandidate) -> Result<(), CommandFailure> {
    let tests = &candidate.spec.validation_tests.by_name;
    match &args.test {
        Some(test) if !tests.contains_key(test) => {
            let known: Vec<&str> = tests.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(CommandFailure::Usage(format!("there is no test {test:?}; validationTests has: {known}")))
        }
        _ => Ok(()),
    }
}

async fn check(
    args: &ValidateArgs,
    candidate: ConfigCandidate,
    found: &mut Examined,
) -> Result<(), CommandFailure> {
    let checker = binaries::checker(&args.haproxy)?;
    found.untested.clone_from(&candidate.untested);
    found.of_libraries = library::tests_of(&candidate.spec.libraries);
    let notices = candidate.notices.clone();
    let config = candidate.as_if_active()?;
    found.diagnostics = notices;
    found.diagnostics.extend(scatter_gather(&validators(), &config.spec, TIME_LIMIT).await.diagnostics);
    if refused(&found.diagnostics) {
        return Ok(());
    }
    let compiled = compile(&config.spec).map_err(|problems| CommandFailure::printed(&problems))?;
    found.haproxy = checker.newest().map(|binary| binary.version);
    let version = found.haproxy.unwrap_or(HaproxyVersion::NEWEST);
    let checker = checker.allowing(&config.spec.allow.features);
    let snapshots = objects_of(args, &config, found).await?;
    let snapshots = certificate::beside(&config.spec, &snapshots, None)?;
    let renders = check_render(args, found, &config, (&compiled, version), &snapshots, &checker).await;
    let config = if renders { config } else { with_own_tests(&config, found) };
    let suite = Suite {
        config,
        compiled,
        checker,
        version,
        only: args.test.clone(),
        keep_rendered: args.dump_rendered,
        requests_within: None,
    };
    run_tests(args, &suite, found).await;
    Ok(())
}

async fn objects_of(
    args: &ValidateArgs,
    config: &ActiveConfig,
    found: &mut Examined,
) -> Result<Snapshots, CommandFailure> {
    let Some(folder) = &args.resources else {
        let none = provided::snapshots(&config.spec, &provided::ProvidedObjects::new());
        return none.map_err(|problems| CommandFailure::Because(problems.join("; ")));
    };
    let read = objects::read(&config.spec, &ObjectSource::Folder(folder.clone())).await?;
    found.diagnostics.extend(read.ignored.into_iter().map(|sentence| Diagnostic::warning("watch", sentence)));
    found.diagnostics.extend(read.problems.into_iter().map(|sentence| Diagnostic::error("watch", sentence)));
    Ok(read.snapshots)
}

/// Renders and checks; whether nothing is wrong.
async fn check_render(
    args: &ValidateArgs,
    found: &mut Examined,
    config: &ActiveConfig,
    (compiled, version): (&Arc<Program>, HaproxyVersion),
    snapshots: &Snapshots,
    checker: &Checker,
) -> bool {
    let before = found.errors();
    let mut renderer = Renderer::checked(Checked::Never);
    let fleet = Fleet::of_version(version);
    let rendering = renderer.render(&RenderJob {
        compiled,
        config,
        snapshots,
        fleet: &fleet,
        limits: &RenderLimits::default(),
    });
    found.uncacheable = compiled.impure_blocks().into_iter().map(|block| (block, 0)).collect();
    for seen in renderer.uncacheable(compiled) {
        *found.uncacheable.entry(seen.block).or_default() += seen.count;
    }
    let rendering = rendering.or_else(|problems| {
        found.diagnostics.extend(problems);
        // Of the templates themselves everything is told by now. Without objects at fault there is more to find.
        render_once(compiled, config, snapshots, &fleet).map(|(rendering, _left_out)| rendering)
    });
    if let Ok(rendering) = rendering {
        found.diagnostics.extend(rendering.diagnostics());
        found.diagnostics.extend(maps::doubtful(&rendering.bundle));
        let verdict = checker.check(&rendering.bundle, &[version]).await;
        found.diagnostics.extend(verdict.diagnostics);
        if args.dump_rendered {
            let files = rendering.bundle.all();
            found.rendered = files.map(|f| (f.path.to_string(), f.text.to_string())).collect();
        }
    }
    found.errors() == before
}

/// Without the tests of libraries: all of them would say once more what is wrong already.
fn with_own_tests(config: &Arc<ActiveConfig>, found: &Examined) -> Arc<ActiveConfig> {
    let mut spec = (*config.spec).clone();
    spec.validation_tests.by_name.retain(|name, _| !found.of_libraries.contains_key(name));
    Arc::new(ActiveConfig { spec: Arc::new(spec), ..(**config).clone() })
}

/// Shows on a terminal how far it is.
async fn run_tests(args: &ValidateArgs, suite: &Suite, found: &mut Examined) {
    let total = if suite.only.is_some() { 1 } else { suite.config.spec.validation_tests.by_name.len() };
    let mut terminal = std::io::stderr();
    let shows = matches!(args.output, ValidateOutput::Summary) && terminal.is_terminal();
    let (mut done, mut failed) = (0, 0);
    found.tests = tests_of_config::run(suite, |result| {
        done += 1;
        failed += usize::from(!result.passed);
        if shows {
            drop(write!(terminal, "\r\x1b[K{done} of {total} tests, {failed} failed"));
        }
    })
    .await;
    if shows && total > 0 {
        drop(write!(std::io::stderr(), "\r\x1b[K"));
    }
}

fn report(args: &ValidateArgs, all: &[Examined]) -> Result<(), CommandFailure> {
    match args.output {
        ValidateOutput::Summary => all.iter().try_for_each(|findings| {
            output::print_problems(&findings.diagnostics);
            output::print(&summary::text(findings, args.verbose))
        }),
        ValidateOutput::Json => output::print_json(&machine::value(all)),
        ValidateOutput::Yaml => output::print(&machine::yaml(all).map_err(CommandFailure::Because)?),
        ValidateOutput::Junit => output::print(&junit::xml(all)),
    }
    .map_err(CommandFailure::because)
}
