//! `haptic run`: the controller, in a cluster or against one.

use crate::{
    cli::{CommandFailure, RunArgs},
    command::{binaries, cluster::Cluster},
    logging,
    process::{
        self, Addresses,
        frugal::become_frugal,
        hardening::{self, FileReaders},
    },
    wiring::{Environment, Pods, leading::LeadingBy},
};
use haptic_config::source::ConfigSource;
use haptic_leader::{certificate::DefaultCertificate, succession::folder_of_this_pod};
use haptic_validate::{folder::remove_left_behind, memory::MemoryLimit};
use haptic_watch::ObjectSource;

/// In a container with less than this, room for checks is worth more than a few milliseconds.
const SMALL: u64 = 1 << 30;

/// Runs the controller.
///
/// # Errors
/// When it cannot start: no API server is configured, no HAProxy to check with, a port is in use.
pub fn run(args: &RunArgs) -> Result<(), CommandFailure> {
    if MemoryLimit::read().is_some_and(|limit| limit.is_containers && limit.bytes < SMALL) {
        become_frugal();
    }
    hardening::hide_files(FileReaders::Nobody);
    let log_level = logging::start();
    if let Some(folder) = folder_of_this_pod() {
        remove_left_behind(&folder);
    }
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
