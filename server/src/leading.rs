//! Who leads, wired: by a Lease in a cluster, alone on one machine.

use crate::wiring::keep;
use actix::ArbiterHandle;
use haptic_leader::{Fence, LeaderActor, LeaderArguments, StepDown, identity};
use haptic_model::{ActiveConfig, pipeline::Leadership};
use haptic_runtime::{CellReader, Events, Kept, Supervision, cell};
use std::sync::Arc;

/// How it is found out whether this process leads.
#[derive(Clone)]
pub enum LeadingBy {
    /// It is the only one.
    Itself,
    /// It has to hold a Lease, unless the configuration says otherwise.
    Lease {
        /// The API server.
        client: kube::Client,
        /// Where the Lease is: the configuration's namespace.
        namespace: Arc<str>,
    },
}

/// Whether this process leads, and how it stops.
pub struct Leading {
    /// The cell that everybody reads.
    pub leadership: CellReader<Leadership>,
    actor: Option<Kept<LeaderActor>>,
}

impl Leading {
    /// Begins to find out.
    pub fn start(
        by: LeadingBy,
        config: &CellReader<Option<Arc<ActiveConfig>>>,
        events: &Events,
        arbiter: &ArbiterHandle,
        supervision: &Supervision,
    ) -> Self {
        match by {
            LeadingBy::Itself => {
                let (_, leadership) = cell(haptic_leader::sole_replica());
                Self { leadership, actor: None }
            }
            LeadingBy::Lease { client, namespace } => {
                let (writer, leadership) = cell(Leadership::default());
                let arguments = LeaderArguments {
                    client,
                    namespace,
                    identity: identity::of_this_process().into(),
                    config: config.clone(),
                    fence: Fence::new(writer, events.clone()),
                };
                let actor = keep(arbiter, "leader", supervision, move |seat| {
                    LeaderActor::new(seat, arguments.clone())
                });
                Self { leadership, actor: Some(actor) }
            }
        }
    }

    /// Stops leading and releases the Lease, so that another replica leads at once.
    pub async fn step_down(&self) {
        if let Some(actor) = &self.actor
            && actor.post::<StepDown>().send(StepDown).await.is_ok()
        {
            actor.exited().await;
        }
    }
}
