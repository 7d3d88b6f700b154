//! `haptic run`: the controller, in a cluster or against one.

use crate::{
    cli::{CommandFailure, RunArgs},
    command::{binaries, cluster::Cluster},
    logging,
    process::hardening::{self, FileReaders},
    process::{self, Addresses},
    wiring::{Environment, Pods, leading::LeadingBy},
};
use haptic_config::source::ConfigSource;
use haptic_leader::certificate::DefaultCertificate;
use haptic_watch::ObjectSource;

/// Runs the controller.
///
/// # Errors
/// When it cannot start: no API server is configured, no HAProxy to check with, a port is in use.
pub fn run(args: &RunArgs) -> Result<(), CommandFailure> {
    hardening::hide_files(FileReaders::Nobody);
    let log_level = logging::start();
    let checker = binaries::checker(&args.haproxy)?;
    let runtime = process::runtime()?;
    let (addresses, paranoid) = (Addresses::new(args.bind_address, args.debug_address), args.paranoid);
    let (name, cluster) = (args.name()?, args.cluster.clone());
    process::run(runtime.clone(), async move {
        let Cluster { client, namespace } = Cluster::reach(&cluster).await?;
        tracing::info!(config = name, namespace, "starting");
        let environment = Environment {
            leading: LeadingBy::Lease {
                client: client.clone(),
                namespace: namespace.as_str().into(),
                name: name.as_str().into(),
            },
            certificate: DefaultCertificate::Awaited,
            source: ConfigSource::Kubernetes { client: client.clone(), namespace, name },
            objects: ObjectSource::Cluster(client.clone()),
            pods: Pods::Selected(client),
            checker,
            log_level: log_level.clone(),
            upkeep: None,
            traces: None,
            paranoid,
        };
        process::control(environment, runtime, addresses, log_level, |_| {}).await
    })
}
