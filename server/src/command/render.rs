//! `haptic render`: a configuration and a folder of manifests, rendered once into another folder.

use crate::{
    bundle_folder,
    cli::{Failure, RenderArgs},
    command, objects, output, process, wiring,
    wiring::OriginOf,
};
use haptic_config::validators::{TIME_LIMIT, refused, scatter_gather};
use haptic_model::{ActiveConfig, Bundle, Capabilities, Diagnostic, Fleet, HaproxyVersion, Snapshots};
use haptic_render::{Compiled, Limits, Templates, engine};
use std::sync::Arc;

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
    let origin = OriginOf::Folder(args.resources.clone());
    let (snapshots, problems) = runtime.block_on(objects::read(&config.spec, &origin))?;
    for problem in problems {
        output::complain(&problem);
    }
    let bundle = render_for(&config, &snapshots, &fleet_of_one(args.haproxy_version))
        .map_err(|problems| told(&problems))?;
    bundle_folder::write(&bundle, &args.out)?;
    let summary =
        format!("{} files, {} bytes in {}\n", bundle.files.len() + 1, bundle.size(), args.out.display());
    output::print(&summary).map_err(Failure::because)
}

/// A fleet of which only the version is known.
#[must_use]
pub fn fleet_of_one(version: HaproxyVersion) -> Fleet {
    Fleet { pods: Vec::new(), versions: vec![version], common: Some(Capabilities::of(version)) }
}

/// The templates of `config`.
///
/// # Errors
/// Everything that is wrong with them.
pub fn compile(config: &ActiveConfig) -> Result<Arc<dyn Compiled>, Vec<Diagnostic>> {
    let engine = engine(&config.spec.templating_settings.engine).map_err(|d| vec![d])?;
    engine.compile(&Templates::of(&config.spec))
}

/// Renders as the controller does, for `fleet`. Warnings are printed.
///
/// # Errors
/// Everything that is wrong with the templates, or with what they make of the objects.
pub fn render_for(
    config: &ActiveConfig,
    snapshots: &Snapshots,
    fleet: &Fleet,
) -> Result<Bundle, Vec<Diagnostic>> {
    let compiled = compile(config)?;
    let (bundle, warnings) = haptic_render::render(&*compiled, config, snapshots, fleet, &Limits::default())?;
    output::complain_about(&warnings);
    Ok(bundle)
}

/// Prints what is wrong; only the exit code is left.
pub fn told(problems: &[Diagnostic]) -> Failure {
    output::complain_about(problems);
    Failure::Exit(1)
}
