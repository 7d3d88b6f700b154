//! `haptic validate`: everything that can be known of a configuration before it serves anybody.

use super::render::render;
use crate::{
    binaries,
    cli::{Failure, SummaryOrJson, ValidateArgs},
    command, manifests, output, process, wiring,
};
use haptic_config::{
    Candidate,
    validators::{TIME_LIMIT, refused, scatter_gather},
};
use haptic_model::{ActiveConfig, Diagnostic, HaproxyVersion, Severity, Snapshots};
use haptic_validate::{Binaries, CheckLimits, Checker};
use haptic_watch::Stores;
use serde_json::json;
use std::sync::Arc;

/// Checks fields, templates, structure and, with the newest HAProxy found, `haproxy -c`.
///
/// # Errors
/// Exit code 1 when anything is wrong; told before.
pub fn run(args: &ValidateArgs) -> Result<(), Failure> {
    let diagnostics = match haptic_config::load_file(&args.file) {
        Err(problems) => problems,
        Ok(candidate) => match checked(args, candidate) {
            Err(Failure::Because(why)) => vec![Diagnostic::error("validate", why)],
            done => done?,
        },
    };
    report(args, &diagnostics)
}

fn checked(args: &ValidateArgs, candidate: Candidate) -> Result<Vec<Diagnostic>, Failure> {
    let binaries = binaries::find(&args.haproxy)?;
    let config = command::as_if_active(candidate)?;
    process::runtime()?.block_on(check(args, &config, binaries))
}

async fn check(
    args: &ValidateArgs,
    config: &Arc<ActiveConfig>,
    binaries: Binaries,
) -> Result<Vec<Diagnostic>, Failure> {
    let mut found = scatter_gather(&wiring::validators(), &config.spec, TIME_LIMIT).await;
    if refused(&found) {
        return Ok(found);
    }
    let snapshots = match &args.resources {
        None => no_objects(config),
        Some(folder) => {
            let (snapshots, problems) = manifests::read(&config.spec, folder).await?;
            found.extend(problems.into_iter().map(|p| Diagnostic::warning("watch", p)));
            snapshots
        }
    };
    let version = binaries.nearest(None).map_or(HaproxyVersion::new(3, 4), |b| b.version);
    match render(config, &snapshots, version) {
        Err(problems) => found.extend(problems),
        Ok(bundle) => {
            let verdict = Checker::new(binaries, CheckLimits::default()).check(&bundle, &[version]).await;
            found.extend(verdict.diagnostics);
        }
    }
    Ok(found)
}

/// Every watched resource, read to the end and empty.
fn no_objects(config: &ActiveConfig) -> Snapshots {
    let (stores, _) = Stores::new();
    let mut snapshots = (*stores.read()).clone();
    for name in config.spec.watched_resources.keys() {
        let mut empty = haptic_model::Snapshot::full();
        empty.set_synced();
        snapshots = snapshots.with(name.as_str().into(), Arc::new(empty));
    }
    snapshots
}

fn report(args: &ValidateArgs, diagnostics: &[Diagnostic]) -> Result<(), Failure> {
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    match args.output {
        SummaryOrJson::Json => {
            let problems: Vec<_> = diagnostics
                .iter()
                .map(|d| json!({"severity": d.severity, "source": d.source, "message": d.to_string(), "details": d}))
                .collect();
            output::print_json(&json!({"valid": errors == 0, "errors": errors, "problems": problems}))
        }
        SummaryOrJson::Summary => {
            output::complain_about(diagnostics);
            let verdict = if errors == 0 { "valid".to_owned() } else { format!("invalid: {errors} error(s)") };
            output::print(&format!("{}: {verdict}\n", args.file.display()))
        }
    }
    .map_err(Failure::because)?;
    if errors == 0 { Ok(()) } else { Err(Failure::Exit(1)) }
}
