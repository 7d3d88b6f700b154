//! Who leads, and what only the leader reports: of all replicas exactly one deploys, and writes to the API server.
//!
//! The lock is a Lease in the configuration's namespace. [`Election`] decides purely, from times and what the API
//! server shows, when this replica may try to write it and until when it leads; [`lease`] lets kube-leader-election
//! write it, as a compare-and-swap, with a [`permit`]; [`Fence`] ends a leadership on time even if nothing else runs any more. The
//! [`LeaderActor`] brings the three together, in one `run` for each Lease. A [`Succession`] spares a crashed leader's next life the wait.
//!
//! The [`ReporterActor`] runs the tasks of the `reporter`: the configuration's status ([`report`]), Events ([`notices`]), the addresses
//! of Ingresses ([`addresses`]), what is rendered ([`publish`]); what the API server does not take is [`reporting`]. [`read_back`] reads
//! all of it, for people. The [`GatewayStatusActor`] writes statuses of the Gateway API, and Services of Gateways. [`certificate`] keeps the certificate for hosts that have none,
//! [`host_holds`] what namespaces keep of hosts that they lost. Nothing here renders or deploys.

pub mod actor;
pub mod addresses;
mod api_server;
pub mod certificate;
pub mod election;
pub mod fence;
mod gateway;
pub mod host_holds;
pub mod identity;
pub mod lease;
pub mod notices;
pub mod permit;
pub mod publish;
pub mod read_back;
pub mod report;
mod reporter;
pub mod reporting;
mod rounds;
mod run;
pub mod succession;
pub mod timing;

pub use actor::{
    CertificateActor, CertificateOptions, FenceActor, GatewayStatusActor, GatewayStatusOptions,
    HostHoldsActor, HostHoldsOptions, LeaderActor, LeaderOptions, ReporterActor, ReporterOptions, StepDown,
};
pub use election::Election;
pub use fence::Fence;
pub use reporting::{GatewayReporting, Reporting};
pub use succession::Succession;
pub use timing::Timing;

use haptic_model::pipeline::Leadership;

/// The leadership of a controller that runs alone: it has no Lease, and no epoch that would make another's orders old.
#[must_use]
pub fn sole_replica() -> Leadership {
    Leadership { leads: true, ..Leadership::default() }
}
