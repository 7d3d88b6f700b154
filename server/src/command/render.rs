//! `haptic render`: a configuration and a folder of manifests, rendered once into another folder.

use crate::{
    bundle_folder,
    cli::{Failure, RenderArgs},
    command, default_certificate, objects, output, process,
    render_once::{complain_of, render_once},
    wiring,
    wiring::OriginOf,
};
use haptic_config::validators::{TIME_LIMIT, refused, scatter_gather};
use haptic_model::{ActiveConfig, Bundle, Diagnostic, Fleet, Snapshots};
use haptic_render::compile;

/// Renders and writes.
///
/// # Errors
/// When the configuration or a template is wrong, or a file cannot be written. Exit code 1 after writing when objects are left out.
pub fn run(args: &RenderArgs) -> Result<(), Failure> {
    let config = command::as_if_active(command::read_config(&args.file)?)?;
    let runtime = process::runtime()?;
    let wrong = runtime.block_on(scatter_gather(&wiring::validators(), &config.spec, TIME_LIMIT)).diagnostics;
    if refused(&wrong) {
        return Err(Failure::told(&wrong));
    }
    let origin = OriginOf::Folder(args.resources.clone());
    let read = runtime.block_on(objects::read(&config.spec, &origin))?;
    let is_short = read.complain();
    let snapshots =
        default_certificate::beside(&config.spec, &read.snapshots, args.state.folder().as_deref())?;
    let (bundle, is_whole) = render_for(&config, &snapshots, &Fleet::of_version(args.haproxy_version))
        .map_err(|problems| Failure::told(&problems))?;
    bundle_folder::write(&bundle, &args.out)?;
    let summary =
        format!("{} files, {} bytes in {}\n", bundle.files.len() + 1, bundle.size(), args.out.display());
    output::print(&summary).map_err(Failure::because)?;
    if is_whole && !is_short { Ok(()) } else { Err(Failure::Exit(1)) }
}

/// Renders as the controller does, for `fleet`: without objects that are at fault. They and warnings are printed; also says
/// whether nothing is left out.
///
/// # Errors
/// Everything that is wrong with the templates.
pub fn render_for(
    config: &ActiveConfig,
    snapshots: &Snapshots,
    fleet: &Fleet,
) -> Result<(Bundle, bool), Vec<Diagnostic>> {
    let compiled = compile(&config.spec)?;
    let (rendering, left_out) = render_once(&compiled, config, snapshots, fleet)?;
    output::complain_about(&rendering.warnings);
    complain_of(&left_out);
    Ok((rendering.bundle, left_out.held.is_empty()))
}
