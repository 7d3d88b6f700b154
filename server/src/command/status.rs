//! `haptic status`: the fleet at a glance, from a running controller or from what its leader publishes at the API server.

use crate::{
    cli::{CommandFailure, PublishedArgs, StatusArgs, SummaryOrJson},
    command::{cluster::Cluster, debug_client},
    output,
};
use haptic_inspect::overview::{Overview, OverviewSource, published, text};
use haptic_leader::read_back::{self, ConfigQuery};
use std::time::Duration;

/// Where a controller's `/debug` is on its own machine, and behind a port-forward.
const HERE: &str = "http://127.0.0.1:6060";
/// How often `--watch` looks at `/debug`.
const EVERY: Duration = Duration::from_secs(2);
/// The same for what is published, which changes less often and costs the API server something.
const EVERY_PUBLISHED: Duration = Duration::from_secs(5);

/// Prints the status.
///
/// # Errors
/// Exit code 1 when something is refused or not converged, or nobody answers.
pub fn run(args: &StatusArgs) -> Result<(), CommandFailure> {
    debug_client::block_on(async {
        if args.watch {
            return watch(args).await;
        }
        let overview = read_overview(args).await?;
        text_of(args, &overview).and_then(|text| output::print(&text)).map_err(CommandFailure::because)?;
        if overview.is_well() { Ok(()) } else { Err(CommandFailure::Exit(1)) }
    })
}

/// Until nobody reads any more.
async fn watch(args: &StatusArgs) -> Result<(), CommandFailure> {
    loop {
        let overview = read_overview(args).await;
        output::clear().map_err(CommandFailure::because)?;
        let pause = match &overview {
            Ok(overview) if overview.rests_on.source == OverviewSource::Debug => EVERY,
            _ => EVERY_PUBLISHED,
        };
        match overview {
            Ok(overview) => {
                let printed = text_of(args, &overview).and_then(|text| output::print_to_reader(&text));
                if !printed.map_err(CommandFailure::because)? {
                    return Ok(());
                }
            }
            Err(why) => output::print_problem(&why.to_string()),
        }
        tokio::time::sleep(pause).await;
    }
}

/// Asks where it was told to; else the controller, and the API server when no controller answers here.
async fn read_overview(args: &StatusArgs) -> Result<Overview, CommandFailure> {
    if let Some(url) = &args.url {
        return ask(url).await.map_err(CommandFailure::Because);
    }
    if args.published.say_which() {
        return read(args).await;
    }
    match ask(HERE).await {
        Ok(overview) => Ok(overview),
        Err(silent) => read(args)
            .await
            .map_err(|why| CommandFailure::Because(format!("{silent}\nAnd at the API server: {why}"))),
    }
}

async fn ask(url: &str) -> Result<Overview, String> {
    let answer = debug_client::get(url, "/debug/overview").await?;
    let mut overview: Overview = serde_json::from_str(&answer)
        .map_err(|why| format!("{url} answers something else than an overview: {why}"))?;
    overview.rests_on.said = format!("the controller itself, {url}/debug");
    Ok(overview)
}

async fn read(args: &StatusArgs) -> Result<Overview, CommandFailure> {
    let cluster = Cluster::as_kubectl_does(&args.published).await?;
    let PublishedArgs { name, namespace, .. } = &args.published;
    let wanted = ConfigQuery {
        name: name.clone(),
        namespace: cluster.namespace.clone(),
        only_there: namespace.is_some(),
    };
    let found = read_back::read(&cluster.client, &wanted).await.map_err(CommandFailure::Because)?;
    let mut overview = published::overview(&found, jiff::Timestamp::now());
    let pod = found.leading_pod().map_or_else(|| "CONTROLLER".to_owned(), str::to_owned);
    overview.rests_on.unknown.push(format!(
        "ask the controller itself: kubectl port-forward -n {} pod/{pod} 6060, then haptic status",
        found.namespace
    ));
    Ok(overview)
}

fn text_of(args: &StatusArgs, overview: &Overview) -> std::io::Result<String> {
    match args.output {
        SummaryOrJson::Summary => Ok(text::as_text(overview)),
        SummaryOrJson::Json => output::json(overview),
    }
}
