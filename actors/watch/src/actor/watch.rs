//! Keeps one watch's pump going.

use crate::pump::{RunningPump, WatchTask};
use actix::{Actor, ActorContext, Context, Handler, Message};
use haptic_runtime::{OwnHandle, deliver};
use serde_json::json;

/// One watched resource. Objects never pass through its mailbox: the pump writes the store by itself.
#[derive(Debug)]
pub struct WatchActor {
    own: OwnHandle<Self>,
    job: WatchTask,
}

/// The pump has ended by itself, for this reason.
#[derive(Message)]
#[rtype(result = "()")]
struct PumpEnded(String);

impl WatchActor {
    /// The actor of `job`.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, job: WatchTask) -> Self {
        Self { own, job }
    }

    fn pump(&self) -> RunningPump {
        let resource = &self.job.spec.resource;
        self.own.set_detail(&json!({
            "apiVersion": resource.api_version, "resources": resource.resources, "store": resource.store,
        }));
        self.job.start()
    }
}

impl Actor for WatchActor {
    type Context = Context<Self>;

    /// The pump lives within a future of the context, so it ends with this life of the actor; a pump that ends by
    /// itself ends the life, and the supervisor begins another.
    fn started(&mut self, context: &mut Self::Context) {
        let mut pump = self.pump();
        deliver(context, async move { PumpEnded(pump.ended().await) });
    }
}

impl Handler<PumpEnded> for WatchActor {
    type Result = ();

    fn handle(&mut self, PumpEnded(why): PumpEnded, context: &mut Self::Context) {
        tracing::warn!(actor = self.own.name(), why, "the watch's task has ended");
        context.stop();
    }
}

haptic_runtime::rebuilt!(WatchActor);
