//! `haptic render`: a configuration and a folder of manifests, rendered once into another folder.

use crate::{
    cli::{Failure, RenderArgs},
    command, manifests, output, process, wiring,
};
use haptic_config::validators::{TIME_LIMIT, refused, scatter_gather};
use haptic_model::{ActiveConfig, Bundle, Capabilities, Diagnostic, Fleet, HaproxyVersion, Snapshots};
use haptic_render::{Limits, Templates, engine};
use std::{
    fs,
    path::{Component, Path},
};

/// Renders and writes.
///
/// # Errors
/// When the configuration or a template is wrong, or a file cannot be written.
pub fn run(args: &RenderArgs) -> Result<(), Failure> {
    let config = command::as_if_active(command::read_config(&args.file)?)?;
    let runtime = process::runtime()?;
    let wrong = runtime.block_on(scatter_gather(&wiring::validators(), &config.spec, TIME_LIMIT));
    if refused(&wrong) {
        return Err(told(&wrong));
    }
    let (snapshots, problems) = runtime.block_on(manifests::read(&config.spec, &args.resources))?;
    for problem in problems {
        output::complain(&problem);
    }
    let bundle = render(&config, &snapshots, args.haproxy_version).map_err(|problems| told(&problems))?;
    for file in bundle.all() {
        write(&args.out, &file.path, &file.text.to_string())?;
    }
    let summary =
        format!("{} files, {} bytes in {}\n", bundle.files.len() + 1, bundle.size(), args.out.display());
    output::print(&summary).map_err(Failure::because)
}

/// Renders as the controller does, for a fleet of one version. Warnings are printed.
///
/// # Errors
/// Everything that is wrong with the templates, or with what they make of the objects.
pub fn render(
    config: &ActiveConfig,
    snapshots: &Snapshots,
    version: HaproxyVersion,
) -> Result<Bundle, Vec<Diagnostic>> {
    let engine = engine(&config.spec.templating_settings.engine).map_err(|d| vec![d])?;
    let compiled = engine.compile(&Templates::of(&config.spec))?;
    let fleet = Fleet { pods: Vec::new(), versions: vec![version], common: Some(Capabilities::of(version)) };
    let (bundle, warnings) =
        haptic_render::render(&*compiled, config, snapshots, &fleet, &Limits::default())?;
    output::complain_about(&warnings);
    Ok(bundle)
}

/// Prints what is wrong; only the exit code is left.
pub fn told(problems: &[Diagnostic]) -> Failure {
    output::complain_about(problems);
    Failure::Exit(1)
}

/// Absolute paths (the Data Plane API's) go below `out` like relative ones.
fn write(out: &Path, path: &str, content: &str) -> Result<(), Failure> {
    let below: std::path::PathBuf =
        Path::new(path).components().filter(|c| matches!(c, Component::Normal(_))).collect();
    let target = out.join(below);
    let failed = |e: std::io::Error| {
        Failure::Because(format!(
            "cannot write {}: {e}; give --out a folder that can be written to",
            target.display()
        ))
    };
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::write(&target, content).map_err(failed)
}
