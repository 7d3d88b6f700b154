//! How actors are supervised: those of the pipeline, and those that only observe it.

use haptic_model::Event;
use haptic_runtime::{Events, Health, Restart, RestartPolicy, Supervision};

/// For actors of the pipeline: each restart is an event.
pub(super) fn observed(health: Health, events: &Events) -> Supervision {
    let events = events.clone();
    Supervision::new(health).on_restart(move |restart| {
        events.emit(Event::ActorRestarted {
            actor: restart.actor.clone(),
            reason: restart.reason.clone(),
            restarts: restart.restarts,
        });
    })
}

/// For observers: the supervisor logs their restarts, and no event tells of them, for the observers would receive it; and however often
/// they fail, or hang, the pipeline goes on.
pub(super) fn unobserved(health: &Health) -> Supervision {
    let counted = |restart: &Restart| haptic_commentator::metrics::restarted(&restart.actor);
    Supervision::new(health.clone()).observing().policy(RestartPolicy::endless()).on_restart(counted)
}
