//! `haptic explain`: which way a request goes, from a running controller or from a configuration and a folder.

use crate::{
    cli::{CommandFailure, ExplainArgs, SummaryOrJson},
    command::{debug_client, input},
    output, process,
};
use haptic_inspect::{
    explain::{self, Context, ExplainedRequest, Explanation, text},
    offline::{certificate, objects, render_once},
};
use haptic_model::Fleet;
use haptic_render::compile;
use haptic_watch::ObjectSource;
use std::path::Path;

/// Prints the explanation.
///
/// # Errors
/// Exit code 1 when the request reaches no server, or it cannot be found out.
pub fn run(args: &ExplainArgs) -> Result<(), CommandFailure> {
    let request = ExplainedRequest::parse(&args.request).map_err(CommandFailure::Usage)?;
    let explanation = match (&args.file, &args.resources) {
        (Some(file), Some(resources)) => offline(args, file, resources, request)?,
        (Some(_), None) => return Err(CommandFailure::Usage("-f needs --resources DIR".into())),
        _ => ask(args)?,
    };
    match args.output {
        SummaryOrJson::Summary => output::print(&text::as_text(&explanation)),
        SummaryOrJson::Json => output::print_json(&explanation),
    }
    .map_err(CommandFailure::because)?;
    if explanation.why_not.is_empty() { Ok(()) } else { Err(CommandFailure::Exit(1)) }
}

fn ask(args: &ExplainArgs) -> Result<Explanation, CommandFailure> {
    let path = format!("/debug/explain?url={}", debug_client::escaped(&args.request));
    let answer = debug_client::block_on(async {
        debug_client::get(&args.url, &path).await.map_err(CommandFailure::Because)
    })?;
    serde_json::from_str(&answer).map_err(|why| {
        CommandFailure::Because(format!("{} answers something else than an explanation: {why}", args.url))
    })
}

fn offline(
    args: &ExplainArgs,
    file: &Path,
    resources: &Path,
    request: ExplainedRequest,
) -> Result<Explanation, CommandFailure> {
    let config = input::read_config(file)?.as_if_active()?;
    let origin = ObjectSource::Folder(resources.to_owned());
    let read = process::runtime()?.block_on(objects::read(&config.spec, &origin))?;
    input::report_unread(&read);
    let snapshots = certificate::beside(&config.spec, &read.snapshots, args.state.folder().as_deref())?;
    let fleet = Fleet::of_version(args.haproxy_version);
    let compiled = compile(&config.spec).map_err(|problems| CommandFailure::printed(&problems))?;
    let (rendering, quarantine) = render_once(&compiled, &config, &snapshots, &fleet)
        .map_err(|problems| CommandFailure::printed(&problems))?;
    output::print_problems(&rendering.diagnostics());
    input::report_quarantined(&quarantine);
    let context = Context {
        bundle: &rendering.bundle,
        config: &config,
        snapshots: &snapshots,
        quarantine: &quarantine,
        findings: &rendering.findings,
    };
    Ok(explain::explain(&context, request))
}
