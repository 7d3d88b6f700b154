//! `haptic run`: the controller, in a cluster or against one.

use crate::{
    binaries,
    cli::{Failure, RunArgs},
    leading::LeadingBy,
    logging,
    process::{self, Addresses},
    wiring::{OriginOf, Outside, Pods},
};
use haptic_config::source::Source;
use haptic_validate::{CheckLimits, Checker};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use std::{
    net::{IpAddr, Ipv4Addr},
    path::Path,
    time::Duration,
};

/// A call to the API server that takes longer than this is given up and tried again; watches are not calls.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the controller.
///
/// # Errors
/// When it cannot start: no API server is configured, no HAProxy to check with, a port is in use.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let log_level = logging::start();
    let checker = Checker::new(binaries::find(&args.haproxy)?, CheckLimits::default());
    let runtime = process::runtime()?;
    let addresses = addresses(args);
    let (name, namespace, kubeconfig) = (args.name.clone(), args.namespace.clone(), args.kubeconfig.clone());
    process::run(runtime.clone(), async move {
        let config = api_server(kubeconfig.as_deref()).await?;
        let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).map_err(Failure::because)?;
        tracing::info!(config = name, namespace, "starting");
        let outside = Outside {
            leading: LeadingBy::Lease { client: client.clone(), namespace: namespace.as_str().into() },
            source: Source::Kubernetes { client: client.clone(), namespace, name },
            origin: OriginOf::Cluster(client.clone()),
            pods: Pods::Selected(client),
            checker,
        };
        process::control(outside, runtime, addresses, log_level).await
    })
}

fn addresses(args: &RunArgs) -> Addresses {
    let everywhere = args.bind_address.is_unspecified();
    let debug = if everywhere { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { args.bind_address };
    Addresses { bind: args.bind_address, debug: args.debug_address.unwrap_or(debug) }
}

async fn api_server(kubeconfig: Option<&Path>) -> Result<Config, Failure> {
    let mut config = match kubeconfig {
        Some(file) => {
            let unusable = |e: kube::config::KubeconfigError| {
                Failure::Because(format!("kubeconfig {} cannot be used: {e}", file.display()))
            };
            let read = Kubeconfig::read_from(file).map_err(unusable)?;
            Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.map_err(unusable)?
        }
        None => Config::incluster().map_err(|e| {
            Failure::Because(format!(
                "no API server is known: this is no pod with a service account ({e}). Give --kubeconfig FILE or set KUBECONFIG"
            ))
        })?,
    };
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    Ok(config)
}
