//! What the stages hand to one another.

pub use crate::cause::Cause;

use crate::{
    agent_api::{Epoch, Running},
    bundle::Bundle,
    config::ActiveConfig,
    diagnostic::Diagnostic,
    finding::Findings,
    fleet::{Capabilities, Fleet},
    gateway::GatewayVerdicts,
    generation::Generation,
    object::Object,
    quarantine::{FailureReports, PreviousFailures, Quarantine},
    store::{Snapshot, Snapshots},
};
use haptic_text::Digest;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

/// One reconcile: what every result of it names.
#[derive(Clone, Debug)]
pub struct Reconcile {
    /// Its number.
    pub generation: Generation,
    /// Why.
    pub cause: Cause,
    /// When the first of its changes was seen.
    pub triggered: Instant,
}

/// The order to render, with all that a render is made from: what was published before an order may arrive after it.
#[derive(Clone, Debug)]
pub struct RenderOrder {
    /// What the bundle will name.
    pub reconcile: Reconcile,
    /// The active configuration.
    pub config: Arc<ActiveConfig>,
    /// All stores.
    pub snapshots: Arc<Snapshots>,
    /// The HAProxy pods.
    pub fleet: Arc<Fleet>,
    /// What later stages found at fault.
    pub failure_reports: FailureReports,
    /// What the newest bundle that passed all checks was rendered from: where good versions of objects are found.
    pub good: Option<RenderBasis>,
}

/// The answer to a [`RenderOrder`], when the render has ended, well or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderEnded {
    /// After this time another render would find things better though nothing changes.
    pub again_after: Option<Duration>,
}

/// A finished render.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// What it answers.
    pub reconcile: Reconcile,
    /// The configuration it was rendered from.
    pub config: Arc<ActiveConfig>,
    /// The stores it was rendered from: without what is held back.
    pub snapshots: Snapshots,
    /// The fleet as templates saw it.
    pub fleet: Arc<Fleet>,
    /// The result.
    pub bundle: Bundle,
    /// How long rendering took.
    pub took: Duration,
    /// Worth telling, but nothing is held back.
    pub warnings: Vec<Diagnostic>,
    /// What is found at objects.
    pub findings: Findings,
    /// What is decided about objects of the Gateway API.
    pub gateway_verdicts: Arc<GatewayVerdicts>,
    /// What was known of refused bundles.
    pub previous_failures: PreviousFailures,
}

/// What a bundle was rendered from, kept without the bundle.
#[derive(Clone, Debug)]
pub struct RenderBasis {
    /// Its number.
    pub generation: Generation,
    /// The configuration.
    pub config: Arc<ActiveConfig>,
    /// The stores, without what was held back.
    pub snapshots: Snapshots,
    /// That of the bundle.
    pub digest: Digest,
}

impl Rendered {
    /// `bundle` of `snapshots`, in which nothing was found and nothing decided.
    #[must_use]
    pub fn of(
        generation: Generation,
        config: Arc<ActiveConfig>,
        snapshots: Snapshots,
        bundle: Bundle,
    ) -> Self {
        Self {
            reconcile: Reconcile { generation, cause: Cause::default(), triggered: Instant::now() },
            config,
            snapshots,
            fleet: Arc::default(),
            bundle,
            took: Duration::ZERO,
            warnings: Vec::new(),
            findings: Findings::default(),
            gateway_verdicts: Arc::default(),
            previous_failures: PreviousFailures::default(),
        }
    }

    /// What it was rendered from.
    #[must_use]
    pub fn basis(&self) -> RenderBasis {
        RenderBasis {
            generation: self.reconcile.generation,
            config: self.config.clone(),
            snapshots: self.snapshots.clone(),
            digest: self.bundle.digest,
        }
    }
}

/// The newest attempts, the last one last. Whoever records may be slower than who renders.
pub type Attempts = Vec<Arc<Attempt>>;

/// What one render was made from, whatever came of it: whoever renders the same again gets the same.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What it answers.
    pub reconcile: Reconcile,
    /// The configuration it was rendered from.
    pub config: Arc<ActiveConfig>,
    /// The stores as they were.
    pub given: Arc<Snapshots>,
    /// The stores it was rendered from: without what is held back.
    pub snapshots: Snapshots,
    /// The HAProxy pods, as templates saw them.
    pub fleet: Arc<Fleet>,
    /// What is held back, and why.
    pub held: Quarantine,
    /// The bundle's digest, or everything that is wrong.
    pub outcome: Result<Digest, Vec<Diagnostic>>,
}

impl Attempt {
    /// Bytes of objects that it was made from, or was given and held back, and that `after` has not, or not so: those of which it may
    /// keep the only copy.
    #[must_use]
    pub fn bytes_alone(&self, after: &Self) -> usize {
        let own = |object: &Arc<Object>| {
            let given = self.given.get(&object.reference.resource);
            given
                .and_then(|store| store.get(&object.reference.namespace, &object.reference.name))
                .is_none_or(|given| !Arc::ptr_eq(given, object))
        };
        replaced(&self.given, &after.given, |_| true) + replaced(&self.snapshots, &after.snapshots, own)
    }
}

/// Bytes of objects in `before` that are others, or not there, in `after`, as far as they count.
fn replaced(before: &Snapshots, after: &Snapshots, counts: impl Fn(&Arc<Object>) -> bool) -> usize {
    let of_store = |(resource, before): (&Arc<str>, &Arc<Snapshot>)| {
        let nothing = Snapshot::full();
        let after = after.get(resource).map_or(&nothing, |after| &**after);
        let gone = after.differences_from(before).filter_map(|difference| difference.before);
        gone.filter(|(object, _)| counts(object)).map(|(object, _)| object.json.len()).sum::<usize>()
    };
    before.iter().map(of_store).sum()
}

/// The newest configuration, while it is refused and the last good one is rendered in its place.
#[derive(Clone, Debug)]
pub struct SetAside {
    /// The refused one.
    pub config: Arc<ActiveConfig>,
    /// Why; never empty.
    pub why: Vec<Diagnostic>,
}

/// A bundle that HAProxy's own checker accepted.
#[derive(Clone, Debug)]
pub struct Validated {
    /// What was checked.
    pub rendered: Arc<Rendered>,
    /// How long the check took, 0 when it was known already.
    pub took: Duration,
    /// HAProxy's warnings.
    pub warnings: Vec<Diagnostic>,
}

/// The newest bundle that was checked, when HAProxy's own checker refused it. It may be live on pods already: see
/// [`Candidate`].
#[derive(Clone, Debug)]
pub struct Refused {
    /// What was checked.
    pub rendered: Arc<Rendered>,
    /// Everything that is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

/// A bundle that passed everything but HAProxy's own checker, which takes longer than all else. It may go live by operations
/// that HAProxy checks one by one; it is stored or reloaded only as a [`Validated`] one.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What was checked.
    pub rendered: Arc<Rendered>,
}

impl Candidate {
    /// Its generation.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.rendered.reconcile.generation
    }
}

impl Validated {
    /// Its generation.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.rendered.reconcile.generation
    }

    /// Its bundle.
    #[must_use]
    pub fn bundle(&self) -> &Bundle {
        &self.rendered.bundle
    }
}

/// Whether this process leads, and since which change of hands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leadership {
    /// Only the leader deploys.
    pub leads: bool,
    /// Sent with every order to an agent.
    pub epoch: Epoch,
}

/// What is known of one pod.
#[derive(Clone, Debug, Default)]
pub struct PodState {
    /// What it can do; `None` until it has answered.
    pub capabilities: Option<Capabilities>,
    /// What it runs, as it said last.
    pub running: Option<Running>,
    /// What a restart of it brings.
    pub stored: Option<Running>,
    /// The newest generation it acknowledged.
    pub deployed: Option<Generation>,
    /// A newer one that it follows no sooner than HAProxy's own checker has passed it.
    pub awaits_check: Option<Generation>,
    /// From the first change seen to the acknowledgement, of the newest generation that it was brought to while it was known.
    pub lag: Option<Duration>,
    /// Why the last attempt failed, if it did.
    pub last_error: Option<String>,
    /// What was done to it last.
    pub last_plan: Option<Arc<LastPlan>>,
    /// When its HAProxy or its agent was last seen to have begun anew.
    pub began_anew: Option<SystemTime>,
    /// The newest leadership that it has seen, as it said last.
    pub led: Epoch,
}

/// What one order did to a pod.
#[derive(Clone, Debug)]
pub struct LastPlan {
    /// Where it brought the pod.
    pub generation: Generation,
    /// Why HAProxy was reloaded; `None`: it was not.
    pub reload: Option<String>,
    /// How many operations of each name (`add server`) were done at run time.
    pub operations: BTreeMap<&'static str, usize>,
    /// Paths of files written.
    pub written: Vec<Arc<str>>,
    /// Paths of files deleted.
    pub deleted: Vec<Arc<str>>,
    /// How long it took.
    pub took: Duration,
    /// When it was done.
    pub at: SystemTime,
}
