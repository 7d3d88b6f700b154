//! Storing a checked bundle's files on the pod, beside whatever else is done to it: what HAProxy runs is not affected, and
//! nothing waits for a disk.

use super::{
    Failure,
    driver::Deployment,
    memory::{Instead, Memory},
    order::{Ground, Lacks},
    outlook::Outlook,
};
use crate::{
    planner::{Reason, ReasonKind},
    transport::TransportError,
};
use haptic_model::{
    Epoch, Event,
    agent_api::{Method, Outcome},
    pipeline::Validated,
};
use std::{cell::RefCell, rc::Rc, sync::Arc};
use tokio::{task::JoinHandle, time::Instant};

type Answer = Result<Outcome, TransportError>;

/// An order to store that is under way. Dropped, nobody waits for its answer any more.
pub(super) struct Storing {
    validated: Arc<Validated>,
    answer: Rc<RefCell<Option<Answer>>>,
    task: JoinHandle<()>,
}

impl Drop for Storing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Deployment {
    /// Has the newest checked bundle stored, once the pod runs it or what came after it.
    pub(super) fn store_if_due(&self, memory: &mut Memory, outlook: &Outlook, epoch: Epoch) {
        let (Some(known), Some(link), Some(validated)) = (&memory.known, &memory.link, &outlook.validated)
        else {
            return;
        };
        let (generation, bundle) = (validated.generation(), validated.bundle());
        let is_there = known.stored_digest() == Some(bundle.digest) && known.intact;
        let is_reached = memory.reached().is_some_and(|reached| reached >= generation);
        // A reload that is due brings them.
        if memory.storing.is_some() || memory.instead.is_some() || is_there || !is_reached {
            return;
        }
        let since = known.stored_digest().and_then(|digest| memory.held(digest));
        let besides = known.digest().filter(|_| known.exact).and_then(|digest| memory.held(digest));
        let ground = Ground {
            epoch,
            base: known.stored_digest(),
            since: since.as_ref().and_then(|view| view.bundle()),
            besides: besides.as_ref().and_then(|view| view.bundle()),
            lacks: &memory.lacks_to_store,
        };
        let order = Arc::new(ground.order(bundle, generation, Method::Store));
        let (transport, wake) = (Rc::clone(&link.transport), Arc::clone(&self.wake));
        let answer = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&answer);
        let (events, pod, began) = (self.events.clone(), Some(self.name()), Instant::now());
        let task = tokio::task::spawn_local(async move {
            let outcome = transport.apply(order).await;
            events.tell(Event::Timed { part: "store", generation, pod, took: began.elapsed() });
            *slot.borrow_mut() = Some(outcome);
            wake.notify_one();
        });
        memory.storing = Some(Storing { validated: Arc::clone(validated), answer, task });
    }

    /// Takes the answer of an order to store, if it is there.
    pub(super) fn conclude_storing(&self, memory: &mut Memory) -> Result<(), Failure> {
        let Some(answer) = memory.storing.as_ref().and_then(|storing| storing.answer.borrow_mut().take())
        else {
            return Ok(());
        };
        let Some(validated) = memory.storing.take().map(|storing| Arc::clone(&storing.validated)) else {
            return Ok(());
        };
        match answer? {
            Outcome::Applied { .. } => {
                if let Some(known) = &mut memory.known {
                    known.stored(validated.bundle(), validated.generation());
                    let stored = known.stored;
                    self.roster.update(&self.pod, |state| state.stored = stored);
                }
                memory.stored = Some(self.plans.view(validated.bundle()));
                memory.lacks_to_store = Lacks::Nothing;
                tracing::debug!(pod = %self.pod, generation = validated.generation().0, "files stored");
                Ok(())
            }
            Outcome::Conflict { .. } => {
                memory.known = None;
                Ok(())
            }
            Outcome::Stale { .. } => {
                memory.known = None;
                Err(Failure::Stale)
            }
            Outcome::Missing { paths } => memory.lacks_to_store.learn(paths),
            Outcome::Refused { message, .. } => {
                // HAProxy could not begin anew with it: a reload finds whose fault that is.
                let said = validated.bundle().redacted(&message);
                let sentence = format!("what it runs is refused by the pod's checker: {said}");
                let reason = Reason { kind: ReasonKind::Refused, sentence };
                memory.instead = Some(Instead { reason, failed: None });
                Ok(())
            }
            Outcome::Failed { message } => Err(Failure::NotStored(message)),
        }
    }
}
