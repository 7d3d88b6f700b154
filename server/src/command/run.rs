//! `haptic run`: the controller, in a cluster or against one.

use crate::{
    binaries,
    cli::{Failure, RunArgs},
    cluster::Cluster,
    hardening::{self, Readers},
    leading::LeadingBy,
    logging,
    process::{self, Addresses},
    wiring::{OriginOf, Outside, Pods},
};
use haptic_config::source::Source;
use haptic_leader::certificate::keeper::DefaultCertificate;

/// Runs the controller.
///
/// # Errors
/// When it cannot start: no API server is configured, no HAProxy to check with, a port is in use.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    hardening::hide_files(Readers::Nobody);
    let log_level = logging::start();
    let checker = binaries::checker(&args.haproxy)?;
    let runtime = process::runtime()?;
    let (addresses, paranoid) = (Addresses::new(args.bind_address, args.debug_address), args.paranoid);
    let (name, cluster) = (args.name()?, args.cluster.clone());
    process::run(runtime.clone(), async move {
        let Cluster { client, namespace } = Cluster::reach(&cluster).await?;
        tracing::info!(config = name, namespace, "starting");
        let outside = Outside {
            leading: LeadingBy::Lease {
                client: client.clone(),
                namespace: namespace.as_str().into(),
                name: name.as_str().into(),
            },
            certificate: DefaultCertificate::Awaited,
            source: Source::Kubernetes { client: client.clone(), namespace, name },
            origin: OriginOf::Cluster(client.clone()),
            pods: Pods::Selected(client),
            checker,
            forced_level: log_level.forced(),
            traces: None,
            paranoid,
        };
        process::control(outside, runtime, addresses, log_level, |_| {}).await
    })
}
