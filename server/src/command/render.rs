//! `haptic render`: a configuration and a folder of manifests, rendered once into another folder.

use crate::{
    cli::{CommandFailure, RenderArgs},
    command::{bundle_folder, input},
    output, process,
};
use haptic_inspect::offline::{certificate, objects, render_once};
use haptic_model::{ActiveConfig, Bundle, Diagnostic, Fleet, Snapshots};
use haptic_render::compile;
use haptic_watch::ObjectSource;

/// Renders and writes.
///
/// # Errors
/// When the configuration or a template is wrong, or a file cannot be written. Exit code 1 after writing when objects are left out.
pub fn run(args: &RenderArgs) -> Result<(), CommandFailure> {
    let config = input::read_config(&args.file)?.as_if_active()?;
    let runtime = process::runtime()?;
    runtime.block_on(input::must_be_valid(&config.spec))?;
    let origin = ObjectSource::Folder(args.resources.clone());
    let read = runtime.block_on(objects::read(&config.spec, &origin))?;
    let is_short = input::report_unread(&read);
    let snapshots = certificate::beside(&config.spec, &read.snapshots, args.state.folder().as_deref())?;
    let (bundle, is_whole) = render_for(&config, &snapshots, &Fleet::of_version(args.haproxy_version))
        .map_err(|problems| CommandFailure::printed(&problems))?;
    bundle_folder::write(&bundle, &args.out)?;
    let summary =
        format!("{} files, {} bytes in {}\n", bundle.files.len() + 1, bundle.size(), args.out.display());
    output::print(&summary).map_err(CommandFailure::because)?;
    if is_whole && !is_short { Ok(()) } else { Err(CommandFailure::Exit(1)) }
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
    let (rendering, quarantine) = render_once(&compiled, config, snapshots, fleet)?;
    output::print_problems(&rendering.diagnostics());
    input::report_quarantined(&quarantine);
    Ok((rendering.bundle, quarantine.held.is_empty()))
}
