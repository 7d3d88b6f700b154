//! Who leads, and what only the leader tells: of all replicas exactly one deploys, and writes to the API server.
//!
//! The lock is a Lease in the configuration's namespace. [`Election`] decides purely, from times and what the API
//! server shows, when this replica may try to write it and until when it leads; [`lease`] lets kube-leader-election
//! write it, as a compare-and-swap; [`Fence`] ends a leadership on time even if nothing else runs any more; a
//! [`Campaign`](campaign::Campaign) is the loop of the three. A [`Succession`] spares a crashed leader's next life the wait.
//!
//! A [`Reporter`](reporter::Reporter) is the loop of what the leader writes: the configuration's status ([`report`]),
//! Events ([`notices`]), the addresses of Ingresses ([`addresses`]), what is rendered ([`publish`]); what the API server does
//! not take is [`reporting`]. [`read_back`] reads all of it, for people. [`certificate`] keeps the certificate for hosts that
//! have none. Nothing here renders or deploys.

pub mod actor;
pub mod addresses;
pub mod campaign;
pub mod certificate;
pub mod election;
pub mod fence;
pub mod identity;
pub mod lease;
pub mod notices;
pub mod publish;
pub mod read_back;
pub mod report;
pub mod reporter;
pub mod reporting;
pub mod succession;
pub mod timing;
pub mod warrant;

pub use actor::{CertificateActor, LeaderActor, LeaderArguments, ReporterActor, ReporterArguments, StepDown};
pub use election::Election;
pub use fence::Fence;
pub use reporter::ReportBoard;
pub use reporting::Reporting;
pub use succession::Succession;
pub use timing::Timing;

use haptic_model::pipeline::Leadership;

/// The leadership of a controller that runs alone: it has no Lease, and no epoch that would make another's orders old.
#[must_use]
pub fn sole_replica() -> Leadership {
    Leadership { leads: true, ..Leadership::default() }
}
