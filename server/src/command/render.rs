//! `haptic render`: a configuration and a folder of manifests, rendered once into another folder.

use crate::{
    bundle_folder,
    cli::{Failure, RenderArgs},
    command, default_certificate, objects, output, process, wiring,
    wiring::OriginOf,
};
use haptic_config::validators::{TIME_LIMIT, refused, scatter_gather};
use haptic_model::{ActiveConfig, Bundle, Diagnostic, Fleet, Snapshots};
use haptic_render::{Limits, compile};

/// Renders and writes.
///
/// # Errors
/// When the configuration or a template is wrong, or a file cannot be written.
pub fn run(args: &RenderArgs) -> Result<(), Failure> {
    let config = command::as_if_active(command::read_config(&args.file)?)?;
    let runtime = process::runtime()?;
    let wrong = runtime.block_on(scatter_gather(&wiring::validators(), &config.spec, TIME_LIMIT)).diagnostics;
    if refused(&wrong) {
        return Err(Failure::told(&wrong));
    }
    let origin = OriginOf::Folder(args.resources.clone());
    let (snapshots, problems) = runtime.block_on(objects::read(&config.spec, &origin))?;
    for problem in problems {
        output::complain(&problem);
    }
    let snapshots = default_certificate::beside(&config.spec, &snapshots, args.state.folder().as_deref())?;
    let bundle = render_for(&config, &snapshots, &Fleet::of_version(args.haproxy_version))
        .map_err(|problems| Failure::told(&problems))?;
    bundle_folder::write(&bundle, &args.out)?;
    let summary =
        format!("{} files, {} bytes in {}\n", bundle.files.len() + 1, bundle.size(), args.out.display());
    output::print(&summary).map_err(Failure::because)
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
    let compiled = compile(&config.spec)?;
    let (bundle, warnings) = haptic_render::render(&*compiled, config, snapshots, fleet, &Limits::default())?;
    output::complain_about(&warnings);
    Ok(bundle)
}
