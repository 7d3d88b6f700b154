//! `haptic explain`: which way a request goes, from a running controller or from a configuration and a folder.

use super::render::render_for;
use crate::{
    asking,
    cli::{ExplainArgs, Failure, SummaryOrJson},
    command, default_certificate,
    explain::{self, Explanation, Ground, Request, told},
    objects, output, process,
    wiring::OriginOf,
};
use haptic_model::{Fleet, Quarantine};
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
    let (snapshots, problems) = process::runtime()?.block_on(objects::read(&config.spec, &origin))?;
    problems.iter().for_each(|problem| output::complain(problem));
    let snapshots = default_certificate::beside(&config.spec, &snapshots, args.state.folder().as_deref())?;
    let fleet = Fleet::of_version(args.haproxy_version);
    let bundle = render_for(&config, &snapshots, &fleet).map_err(|problems| Failure::told(&problems))?;
    let quarantine = Quarantine::default();
    let ground = Ground { bundle: &bundle, config: &config, snapshots: &snapshots, quarantine: &quarantine };
    Ok(explain::explain(&ground, request))
}
