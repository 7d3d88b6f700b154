//! Keeps one watch's pump going.

use crate::pump::{Running, WatchJob};
use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Context, Supervised, fut::wrap_future};
use haptic_runtime::Seat;
use serde_json::json;

/// One watched resource. Objects never pass through its mailbox: the pump writes the store by itself.
#[derive(Debug)]
pub struct WatchActor {
    seat: Seat<Self>,
    job: WatchJob,
}

impl WatchActor {
    /// The actor of `job`.
    #[must_use]
    pub fn new(seat: Seat<Self>, job: WatchJob) -> Self {
        Self { seat, job }
    }

    fn pump(&self) -> Running {
        let resource = &self.job.spec.resource;
        self.seat.set_detail(&json!({
            "apiVersion": resource.api_version, "resources": resource.resources, "store": resource.store,
        }));
        self.job.start()
    }
}

impl Actor for WatchActor {
    type Context = Context<Self>;

    /// The pump lives within a future of the context, so it ends with this life of the actor; a pump that ends by
    /// itself ends the life, and the Keeper begins another.
    fn started(&mut self, context: &mut Self::Context) {
        let mut pump = self.pump();
        let ended = wrap_future::<_, Self>(async move { pump.ended().await }).map(
            |why, actor, context: &mut Self::Context| {
                tracing::warn!(actor = actor.seat.name(), why, "the watch's task has ended");
                context.stop();
            },
        );
        context.spawn(ended);
    }
}

impl Supervised for WatchActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}
