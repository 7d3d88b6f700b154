//! From what a pod runs to what it should run: which files change, and whether the running HAProxy can follow
//! through its socket or must reload, and why. Pure: no pod is asked here.
//!
//! Every difference becomes an [`Effect`]: operations, or a reason to reload. One reason is enough for a reload,
//! and then no operations are sent, because the reload brings everything. Whatever is not known to be possible at
//! run time is a reason to reload: a needless reload costs little, traffic that differs from the files costs much.

mod accepted;
mod ahead;
mod authorities;
mod backend;
mod cache;
mod certificates;
mod changed_lines;
mod configuration;
mod crt_list;
mod files;
mod hosts;
mod map;
mod map_keys;
mod mentions;
mod order;
mod reach;
mod references;
mod server;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_reasons;
#[cfg(test)]
mod tests_of_routes;
mod usages;
mod view;
mod whole_backend;

pub(crate) use ahead::ahead;
pub use cache::PlanCache;
pub use view::RunningView;

use authorities::Authorities;
use haptic_model::{Bundle, Capabilities, Digest, Operation, quotation::redact};
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
    plan_between(running, &RunningView::of(desired.clone()), capabilities)
}

/// As [`plan`], for a desired bundle that was looked at before.
pub(crate) fn plan_between(running: &RunningView, desired: &RunningView, capabilities: Capabilities) -> Plan {
    desired.follow(running);
    let changes = files::changes(running, desired);
    let verdict = match (running.bundle(), desired.bundle()) {
        (Some(old), Some(new)) if old.digest == new.digest => Verdict::Nothing,
        (Some(old), Some(new)) => {
            let mut effects = configuration::effects(running, desired, capabilities);
            let usages = (&running.outline().ledger().usages, &desired.outline().ledger().usages);
            let authorities = Authorities::compare((usages.0, old), (usages.1, new), capabilities);
            let views = (running, desired);
            effects.extend(files::effects(&changes, views, (old, new), capabilities, &authorities));
            effects.extend(authorities.effects);
            reach::within(merge(effects), Some(new), capabilities).redacted(old, new)
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
    operations.sort_by_key(order::step);
    match (reasons.is_empty(), operations.is_empty()) {
        (false, _) => Verdict::Reload { reasons },
        (true, false) => Verdict::Runtime { operations },
        (true, true) => Verdict::Nothing,
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
