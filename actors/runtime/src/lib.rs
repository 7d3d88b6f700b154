//! What actix lacks, in one place: supervision that survives panics, counted mailboxes, topics, liveness and an ordered shutdown.
//!
//! This crate knows actix and tokio. Of the stages it knows the names of their [`messages`], and it decides nothing about them.
//! A stage's actor holds a [`OwnHandle`], is started by a [`Spec`], is reached through a [`Mailbox`], and tells observers through an [`Outbox`].

pub mod alarm;
pub mod arbiters;
pub mod cpu;
pub mod drain;
pub mod envelope;
pub mod events;
pub mod handle;
pub mod health;
mod inbox;
pub mod mailbox;
pub mod messages;
pub mod outbox;
pub mod panics;
pub mod restarts;
pub mod retry;
pub mod spec;
pub mod stats;
pub mod supervisor;
pub mod topic;
pub mod work;
pub mod yield_every;

pub use alarm::Alarm;
pub use arbiters::{Arbiters, run};
pub use cpu::{CpuPanicked, cpu};
pub use drain::{Drain, DrainOutcome, PhaseReport, Signals};
pub use envelope::Envelope;
pub use events::Events;
pub use handle::{ActorHandle, Exit, OwnHandle, SupervisedActor};
pub use health::{Health, HealthRole};
pub use inbox::Subscriber;
pub use mailbox::{Lost, Mailbox};
pub use outbox::{Losses, Observer, Outbox};
pub use panics::install_panic_hook;
pub use restarts::RestartPolicy;
pub use spec::Spec;
pub use stats::{ActorState, Lifecycle};
pub use supervisor::{Restart, Supervision, Supervisor};
pub use topic::{Publisher, Topic, topic};
pub use work::{Work, deliver};
pub use yield_every::YieldEvery;

#[cfg(test)]
mod tests;
