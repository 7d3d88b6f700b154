//! What actix lacks, in one place: supervision that survives panics, counted mailboxes, a board for state,
//! coalescing, liveness and an ordered shutdown.
//!
//! This crate knows actix and tokio and nothing of HAProxy or Kubernetes; no stage's message type appears here.
//! A stage's actor holds a [`Seat`], is started by [`Keeper::start`], is reached through a [`Post`], reads state
//! from [`CellReader`]s and tells observers through an [`Outbox`].

pub mod arbiters;
pub mod board;
pub mod cpu;
pub mod drain;
pub mod envelope;
pub mod events;
pub mod health;
pub mod keeper;
pub mod nudge;
pub mod outbox;
pub mod panics;
pub mod post;
pub mod restarts;
pub mod retry;
pub mod seat;
pub mod vitals;
pub mod yield_every;

pub use arbiters::{Arbiters, run};
pub use board::{CellReader, CellWriter, cell};
pub use cpu::{CpuPanicked, cpu};
pub use drain::{Drain, Outcome, PhaseReport, Signals};
pub use envelope::Envelope;
pub use events::Events;
pub use health::{Health, Role};
pub use keeper::{ActorSpec, Keeper, Restart, Stage, Supervision};
pub use nudge::{Look, Nudge};
pub use outbox::{Losses, Observer, Outbox};
pub use panics::install_panic_hook;
pub use post::{Lost, Post};
pub use restarts::RestartPolicy;
pub use seat::{Exit, Kept, Seat};
pub use vitals::{ActorState, Life};
pub use yield_every::YieldEvery;

#[cfg(test)]
mod tests;
