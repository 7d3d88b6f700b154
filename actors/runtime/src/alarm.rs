//! The time at which an actor looks again though nothing happens.

use crate::handle::SupervisedActor;
use actix::{AsyncContext, Context};
use std::{cell::Cell, rc::Rc};
use tokio::time::Instant;

/// An actor's timers, of which none is ever cancelled: one that rings too early makes the actor ask once more what is due.
#[derive(Debug, Default)]
pub struct Alarm(Rc<Cell<Option<Instant>>>);

impl Alarm {
    /// Has `ring` called at `due`, if that is ever, unless a timer that rings earlier is set already.
    pub fn set<A: SupervisedActor>(
        &self,
        due: impl Into<Option<Instant>>,
        context: &mut Context<A>,
        ring: fn(&mut A, &mut Context<A>),
    ) {
        let Some(due) = due.into() else { return };
        if self.0.get().is_some_and(|armed| armed <= due) {
            return;
        }
        self.0.set(Some(due));
        let armed = Rc::clone(&self.0);
        context.run_later(due.saturating_duration_since(Instant::now()), move |actor, context| {
            if armed.get() == Some(due) {
                armed.set(None);
            }
            ring(actor, context);
        });
    }
}
