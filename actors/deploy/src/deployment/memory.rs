//! What a deployment remembers of its pod, all of it lost without harm: a new life asks the pod.

use super::{knowledge::Knowledge, order::Lacks, storing::Storing};
use crate::{
    planner::{Reason, RunningView},
    transport::Transport,
};
use haptic_model::{
    ActiveConfig, Digest, Epoch, Generation,
    pipeline::{Leadership, Rendered},
};
use std::{cell::Cell, rc::Rc, sync::Arc, time::Duration};
use tokio::{sync::Notify, task::JoinHandle, time::Instant};

/// The pause before an agent that did not answer is asked again for its next incarnation.
const LOOKOUT_PAUSE: Duration = Duration::from_millis(300);

/// The memory of one pod's deployment.
#[derive(Default)]
pub(super) struct Memory {
    /// `None`: the pod must be asked.
    pub known: Option<Knowledge>,
    /// When it first said what it can do.
    pub asked_first: Option<Instant>,
    /// Which leadership it is known since.
    pub led: Option<Epoch>,
    /// As it was when it was last known to be right.
    pub settled: Option<Settled>,
    /// What the pod runs, what is on its disk, and what it is being brought to.
    pub view: Option<Arc<RunningView>>,
    pub stored: Option<Arc<RunningView>>,
    pub desired: Option<Arc<RunningView>>,
    /// What this deployment brought the pod to.
    pub reached: Option<(Digest, Generation)>,
    /// What that was rendered from: where good versions of objects are found when a reload fails.
    pub worked: Option<Arc<Rendered>>,
    /// What the pod was brought to when servers went ahead of a reload last.
    pub ahead: Option<Digest>,
    /// The newest generation that was told to be deployed.
    pub deployed: Option<Generation>,
    /// The newest refusal that was told to be taken back.
    pub taken_back: Option<Generation>,
    pub last_reload: Option<Instant>,
    /// Since when HAProxy refuses what it is given.
    pub refused: Option<Instant>,
    /// Only a reload helps.
    pub instead: Option<Instead>,
    pub lacks: Lacks,
    pub lacks_to_store: Lacks,
    pub repetitions: u32,
    pub link: Option<Link>,
    pub storing: Option<Storing>,
}

/// A pod as this replica brought it, or found it to be right, while it led.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    pub known: Knowledge,
    /// Another leader changes pods, too: what is found under another leadership says nothing of who changed it.
    pub under: Leadership,
}

/// Operations are of no use until a reload.
#[derive(Clone, Debug)]
pub(super) struct Instead {
    pub reason: Reason,
    /// The generation whose operations failed: its check is waited for, so that one reload is enough.
    pub failed: Option<Generation>,
}

/// The way to the pod.
pub(super) struct Link {
    pub made_for: Arc<ActiveConfig>,
    pub transport: Rc<dyn Transport>,
    lookout: Option<Lookout>,
}

/// Waits for the pod's next incarnation, as long as this lives.
struct Lookout {
    /// The newest one that it was told of.
    latest: Rc<Cell<Option<u64>>>,
    task: JoinHandle<()>,
}

impl Memory {
    /// The generation that the pod runs, if this deployment brought it there.
    pub fn reached(&self) -> Option<Generation> {
        let known = self.known.as_ref().filter(|known| known.exact)?;
        self.reached.filter(|(digest, _)| known.digest() == Some(*digest)).map(|(_, generation)| generation)
    }

    /// Whether servers of what the pod runs went ahead of a reload.
    pub fn is_ahead(&self) -> bool {
        self.ahead.is_some() && self.ahead == self.known.as_ref().and_then(Knowledge::digest)
    }

    /// The view of a bundle that is held for another reason.
    pub fn held(&self, digest: Digest) -> Option<Arc<RunningView>> {
        let held = [&self.view, &self.stored, &self.desired];
        held.into_iter().flatten().find(|view| view.digest() == Some(digest)).cloned()
    }

    /// Forgets how the pod was under another leadership than `now`.
    pub fn forget_other_leaderships(&mut self, now: Leadership) {
        self.settled.take_if(|settled| settled.under != now);
    }

    /// Whether the pod is known to have begun anew since it was asked.
    pub fn is_anew(&self) -> bool {
        let lookout = self.link.as_ref().and_then(|link| link.lookout.as_ref());
        let latest = lookout.and_then(|lookout| lookout.latest.get());
        latest.is_some() && latest != self.known.as_ref().map(|known| known.incarnation)
    }

    /// The pod is in `incarnation`; a later one sets [`Self::is_anew`] and wakes.
    pub fn look_out(&mut self, incarnation: u64, wake: &Arc<Notify>) {
        if let Some(link) = self.link.as_mut().filter(|link| link.lookout.is_none()) {
            link.lookout = Some(Lookout::start(Rc::clone(&link.transport), incarnation, Arc::clone(wake)));
        }
    }
}

impl Link {
    pub fn new(made_for: Arc<ActiveConfig>, transport: Rc<dyn Transport>) -> Self {
        Self { made_for, transport, lookout: None }
    }
}

impl Lookout {
    fn start(transport: Rc<dyn Transport>, mut seen: u64, wake: Arc<Notify>) -> Self {
        let latest = Rc::new(Cell::new(None));
        let found = Rc::clone(&latest);
        let task = tokio::task::spawn_local(async move {
            loop {
                match transport.incarnation(seen).await {
                    Ok(now) if now != seen => {
                        seen = now;
                        found.set(Some(now));
                        wake.notify_one();
                    }
                    Ok(_) => {}
                    Err(_) => tokio::time::sleep(LOOKOUT_PAUSE).await,
                }
            }
        });
        Self { latest, task }
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        self.task.abort();
    }
}
