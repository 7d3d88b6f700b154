//! `haptic explain`: which way a request goes, from a running controller or from a configuration and a folder.

use crate::{
    asking,
    cli::{ExplainArgs, Failure, SummaryOrJson},
    command, default_certificate,
    explain::{self, Explanation, Ground, Request, told},
    objects, output, process,
    render_once::{complain_of, render_once},
    wiring::OriginOf,
};
use haptic_model::Fleet;
use haptic_render::compile;
use std::path::Path;

/// Prints the explanation.
///
/// # Errors
/// Exit code 1 when the request reaches no server, or it cannot be found out.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let request = Request::parse(&args.request).map_err(Failure::Usage)?;
    let explanation = match (&args.file, &args.resources) {
        (Some(file), Some(resources)) => offline(args, file, resources, request)?,
        (Some(_), None) => return Err(Failure::Usage("-f needs --resources DIR".into())),
        _ => ask(args)?,
    };
    match args.output {
        SummaryOrJson::Summary => output::print(&told::as_text(&explanation)),
        SummaryOrJson::Json => output::print_json(&explanation),
    }
    .map_err(Failure::because)?;
    if explanation.why_not.is_empty() { Ok(()) } else { Err(Failure::Exit(1)) }
}

fn ask(args: &ExplainArgs) -> Result<Explanation, Failure> {
    let path = format!("/debug/explain?url={}", asking::escaped(&args.request));
    let answer = asking::get(&args.url, &path).map_err(Failure::Because)?;
    serde_json::from_str(&answer).map_err(|why| {
        Failure::Because(format!("{} answers something else than an explanation: {why}", args.url))
    })
}

fn offline(
    args: &ExplainArgs,
    file: &Path,
    resources: &Path,
    request: Request,
) -> Result<Explanation, Failure> {
    let config = command::as_if_active(command::read_config(file)?)?;
    let origin = OriginOf::Folder(resources.to_owned());
    let read = process::runtime()?.block_on(objects::read(&config.spec, &origin))?;
    read.complain();
    let snapshots =
        default_certificate::beside(&config.spec, &read.snapshots, args.state.folder().as_deref())?;
    let fleet = Fleet::of_version(args.haproxy_version);
    let compiled = compile(&config.spec).map_err(|problems| Failure::told(&problems))?;
    let (rendering, quarantine) =
        render_once(&compiled, &config, &snapshots, &fleet).map_err(|problems| Failure::told(&problems))?;
    output::complain_about(&rendering.warnings);
    complain_of(&quarantine);
    let ground =
        Ground { bundle: &rendering.bundle, config: &config, snapshots: &snapshots, quarantine: &quarantine };
    Ok(explain::explain(&ground, request))
}
