//! The messages between stages: each arrow of the pipeline's picture is one of these, and the handlers of an actor are the list of what
//! it reacts to.
//!
//! All but [`RenderRequested`] travel by topics, so at most one of each waits, and the newest.

use crate::envelope::Envelope;
use haptic_model::{
    ActiveConfig, AllRejected, Epoch, Event, FailedReloads, FailureReports, Fleet, HaproxyPod, HostHolds,
    MassDeletions, Quarantine, ReadyPod, Snapshots,
    config::{AcceptedConfig, ConfigVerdict},
    pipeline::{Candidate, Leadership, PodState, Refused, RenderEnded, RenderOrder, Rendered, Validated},
};
use std::{collections::BTreeMap, sync::Arc};

/// All validators accept a configuration; none before the first.
pub type ConfigAccepted = Envelope<Option<AcceptedConfig>>;
/// The stores of a configuration are read: it is the one that is rendered from now on. None before the first.
pub type ConfigActivated = Envelope<Option<Arc<ActiveConfig>>>;
/// The newest configuration was validated, well or not.
pub type ConfigValidated = Envelope<Option<ConfigVerdict>>;
/// Objects changed, or stores came and went.
pub type StoresChanged = Envelope<Snapshots>;
/// The HAProxy pods are others, or can do something else.
pub type FleetChanged = Envelope<Fleet>;
/// A bundle is to be rendered. The answer comes when that has ended, well or not.
pub type RenderRequested = Envelope<RenderOrder, RenderEnded>;
/// A bundle is rendered.
pub type BundleRendered = Envelope<Option<Arc<Rendered>>>;
/// A bundle passed everything but HAProxy's own checker.
pub type BundleProposed = Envelope<Option<Arc<Candidate>>>;
/// A bundle passed HAProxy's own checker, too.
pub type BundleValidated = Envelope<Option<Arc<Validated>>>;
/// HAProxy's own checker refused the newest bundle that it saw; none again once a newer one passes.
///
/// This is a topic beside [`BundleValidated`], because a refusal takes nothing from what was validated before. Whichever of a pass and the
/// withdrawn refusal is received first, nothing wrong follows: with the refusal alone a subscriber brings only what was validated, and
/// without it it may bring ahead of its check only what has just passed.
pub type BundleRefused = Envelope<Option<Arc<Refused>>>;
/// Which HAProxy pods there are.
pub type PodsDiscovered = Envelope<Vec<HaproxyPod>>;
/// Which HAProxy pods take traffic.
pub type ReadyPodsChanged = Envelope<Vec<ReadyPod>>;
/// The checks found objects at fault.
pub type FailuresReported = Envelope<FailureReports>;
/// A pod's HAProxy refused to reload, and objects are at fault.
pub type ReloadsFailed = Envelope<FailedReloads>;
/// Objects are held back, or no longer.
pub type QuarantineChanged = Envelope<Quarantine>;
/// Something else is kept of hosts for those that lost them; none before the first render.
pub type HostHoldsChanged = Envelope<Option<HostHolds>>;
/// A pod runs something else, or something else is known of it.
pub type PodStatesChanged = Envelope<BTreeMap<HaproxyPod, PodState>>;
/// The newest leadership that a pod has seen; the default before any has.
pub type LeadershipSeen = Envelope<Epoch>;
/// Whether this replica leads.
pub type LeadershipChanged = Envelope<Leadership>;
/// Watched resources cannot be read, each with the reason, or can be again.
pub type StoresTroubled = Envelope<BTreeMap<Arc<str>, String>>;
/// Most objects of a store vanished at once, and are held; or they are not any more.
pub type MassDeletionsHeld = Envelope<MassDeletions>;
/// Stores reject objects because of their limits, or no longer.
pub type ObjectsRejected = Envelope<AllRejected>;
/// Something happened that observers tell.
pub type EventEmitted = Envelope<Event>;
