//! From what a pod runs to what it should run: which files change, and whether the running HAProxy can follow
//! through its socket or must reload, and why. Pure: no pod is asked here.
//!
//! Every difference becomes an [`Effect`]: operations, or a reason to reload. One reason is enough for a reload,
//! and then no operations are sent, because the reload brings everything. Whatever is not known to be possible at
//! run time is a reason to reload: a needless reload costs little, traffic that differs from the files costs much.

mod accepted;
mod authorities;
mod backend;
mod cache;
mod certificates;
mod changed_lines;
mod configuration;
mod crt_list;
mod files;
mod map;
mod map_keys;
mod references;
mod server;
mod servers_first;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_reasons;
#[cfg(test)]
mod tests_of_routes;
mod usages;
mod view;
mod whole_backend;

pub use cache::PlanCache;
pub(crate) use servers_first::ahead;
pub use view::RunningView;

use authorities::Authorities;
use haptic_model::{Bundle, Capabilities, Operation, quotation::redact};
use haptic_text::Digest;
use std::{fmt, sync::Arc};

/// How one pod gets from what it runs to a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The bundle it runs now; `None` while it runs its bootstrap file.
    pub base: Option<Digest>,
    /// The bundle it runs afterwards.
    pub target: Digest,
    /// Paths whose content is new or changes, sorted.
    pub write: Vec<Arc<str>>,
    /// Paths that are no longer part of the bundle, sorted.
    pub delete: Vec<Arc<str>>,
    /// What the running HAProxy must do.
    pub verdict: Verdict,
}

/// What the running HAProxy must do to follow the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: at most comments and spaces differ.
    Nothing,
    /// The operations, in this order, and no reload.
    Runtime {
        /// At least one.
        operations: Vec<Operation>,
    },
    /// One reload.
    Reload {
        /// At least one.
        reasons: Vec<Reason>,
    },
}

/// Why a reload is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Its kind, for counting.
    pub kind: ReasonKind,
    /// For people: `backend shop: balance changed`.
    pub sentence: String,
}

/// The kinds of reasons to reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReasonKind {
    /// The pod runs no bundle of a controller yet.
    FirstBundle,
    /// haproxy.cfg changed in more than its servers.
    Configuration,
    /// A server changed in a way that the socket cannot bring.
    Server,
    /// A file beside haproxy.cfg changed.
    File,
    /// The socket refused what was planned.
    Refused,
    /// The pod's transport has no call for it.
    Transport,
    /// Somebody else changed the pod.
    Drift,
}

impl ReasonKind {
    /// One word, for counting.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FirstBundle => "first-bundle",
            Self::Configuration => "configuration",
            Self::Server => "server",
            Self::File => "file",
            Self::Refused => "refused",
            Self::Transport => "transport",
            Self::Drift => "drift",
        }
    }
}

/// What one difference asks of the running HAProxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// These operations, in order.
    Operations(Vec<Operation>),
    /// A reload.
    Reload(Reason),
}

/// Compares what runs with what is desired, for a HAProxy that can do `capabilities`.
#[must_use]
pub fn plan(running: &RunningView, desired: &Bundle, capabilities: Capabilities) -> Plan {
    plan_between(running, &RunningView::of(desired.clone()), capabilities, |_, _, _| Vec::new())
}

/// Why a pod's transport cannot bring operations that HAProxy could follow; nothing: it can.
pub type TransportLimits = fn(&[Operation], &Bundle, Capabilities) -> Vec<String>;

/// As [`plan`], for a desired bundle that was looked at before, and a transport with `limits`.
pub(crate) fn plan_between(
    running: &RunningView,
    desired: &RunningView,
    capabilities: Capabilities,
    limits: TransportLimits,
) -> Plan {
    desired.follow(running);
    let changes = files::changes(running, desired);
    let verdict = match (running.bundle(), desired.bundle()) {
        (Some(old), Some(new)) if old.digest == new.digest => Verdict::Nothing,
        (Some(old), Some(new)) => {
            let mut effects = configuration::effects(running, desired, capabilities);
            let usages =
                (&running.block_index().aggregate().usages, &desired.block_index().aggregate().usages);
            let authorities = Authorities::compare((usages.0, old), (usages.1, new), capabilities);
            let views = (running, desired);
            effects.extend(files::effects(&changes, views, (old, new), capabilities, &authorities));
            effects.extend(authorities.effects);
            let verdict = merge(effects);
            let objections = limits(verdict.operations(), new, capabilities);
            verdict.or_reload_for(objections).redacted(old, new)
        }
        _ => Verdict::Reload {
            reasons: vec![Reason::new(
                ReasonKind::FirstBundle,
                "this is the first configuration of this pod",
            )],
        },
    };
    Plan {
        base: running.digest(),
        target: desired.digest().unwrap_or_else(|| Digest::of(b"")),
        write: changes.write,
        delete: changes.delete,
        verdict,
    }
}

/// One reason makes it a reload; otherwise the operations get their order.
fn merge(effects: Vec<Effect>) -> Verdict {
    let (mut operations, mut reasons) = (Vec::new(), Vec::new());
    for effect in effects {
        match effect {
            Effect::Operations(more) => operations.extend(more),
            Effect::Reload(reason) if reasons.contains(&reason) => {}
            Effect::Reload(reason) => reasons.push(reason),
        }
    }
    operations.sort_by_key(step_of);
    match (reasons.is_empty(), operations.is_empty()) {
        (false, _) => Verdict::Reload { reasons },
        (true, false) => Verdict::Runtime { operations },
        (true, true) => Verdict::Nothing,
    }
}

/// When an operation is sent: whatever leads somewhere comes after it and goes before it, so that no request meets a half-made
/// route. Those of the same step keep their order.
fn step_of(operation: &Operation) -> u8 {
    match operation {
        // What TLS needs, then where requests go, then what leads there.
        Operation::AddCertificate { .. }
        | Operation::SetCertificate { .. }
        | Operation::AddCaFile { .. }
        | Operation::SetCaFile { .. } => 0,
        Operation::AddCrtListLine { .. } => 1,
        Operation::AddBackend { .. } => 2,
        // New servers before others go, so that no backend is empty in between.
        Operation::AddServer { .. } => 3,
        Operation::SetServerAddress { .. }
        | Operation::SetServerWeight { .. }
        | Operation::SetServerState { .. }
        | Operation::SetServerMaxconn { .. }
        | Operation::SetServerCheck { .. }
        | Operation::SetFrontendMaxconn { .. } => 4,
        Operation::PublishBackend { .. } => 5,
        Operation::SetMapEntry { .. }
        | Operation::AddMapEntry { .. }
        | Operation::ReplaceMap { .. }
        | Operation::AddAclEntry { .. } => 6,
        // And back.
        Operation::DelMapEntry { .. } | Operation::DelAclEntry { .. } => 7,
        Operation::UnpublishBackend { .. } => 8,
        Operation::DeleteServer { .. } => 9,
        Operation::DeleteBackend { .. } => 10,
        Operation::DeleteCrtListLine { .. } => 11,
        Operation::DeleteCertificate { .. } | Operation::DeleteCaFile { .. } => 12,
    }
}

impl Plan {
    /// Whether the pod runs the target already.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.write.is_empty() && self.delete.is_empty() && self.verdict == Verdict::Nothing
    }

    /// The same plan, by a reload for another reason.
    #[must_use]
    pub fn by_reload(&self, reason: Reason) -> Self {
        Self { verdict: Verdict::Reload { reasons: vec![reason] }, ..self.clone() }
    }
}

impl Verdict {
    /// The runtime operations; none for a reload.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        match self {
            Self::Runtime { operations } => operations,
            Self::Nothing | Self::Reload { .. } => &[],
        }
    }

    /// The same, or a reload if the transport has `objections`.
    fn or_reload_for(self, objections: Vec<String>) -> Self {
        let reasons: Vec<_> =
            objections.into_iter().map(|why| Reason::new(ReasonKind::Transport, why)).collect();
        if reasons.is_empty() { self } else { Self::Reload { reasons } }
    }

    /// The same, its sentences without what they quote of Secrets.
    fn redacted(mut self, old: &Bundle, new: &Bundle) -> Self {
        if let Self::Reload { reasons } = &mut self {
            redact(&[old, new], reasons.iter_mut().map(|reason| &mut reason.sentence));
        }
        self
    }

    /// One word, for counting: `nothing`, `runtime` or `reload`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Runtime { .. } => "runtime",
            Self::Reload { .. } => "reload",
        }
    }

    /// The kind of the first reason; `None` when nothing is reloaded.
    #[must_use]
    pub fn reload_kind(&self) -> Option<ReasonKind> {
        let Self::Reload { reasons } = self else { return None };
        reasons.first().map(|reason| reason.kind)
    }

    /// The reasons in one line, the first ones in full; `None` when nothing is reloaded.
    #[must_use]
    pub fn reload_reason(&self) -> Option<String> {
        const SHOWN: usize = 3;
        let Self::Reload { reasons } = self else { return None };
        let mut line =
            reasons.iter().take(SHOWN).map(|reason| reason.sentence.as_str()).collect::<Vec<_>>().join("; ");
        if let Some(more @ 1..) = reasons.len().checked_sub(SHOWN) {
            line.push_str(&format!("; and {more} more"));
        }
        Some(line)
    }
}

impl Reason {
    pub(crate) fn new(kind: ReasonKind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}
