//! Threads for actors, all on one shared tokio runtime, each with a heartbeat; and the program's entry.
//!
//! Handlers stay on their arbiter's thread, `tokio::spawn` goes to the shared pool: no client or connection is tied
//! to an arbiter. An arbiter isolates blocking, not panics; panics are the supervisor's.

use std::{future::Future, io, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use actix::{Arbiter, ArbiterHandle, System};
use futures::FutureExt;
use tokio::runtime::Runtime;

use crate::{
    health::{Health, HealthRole, Pulse},
    panics::message_of,
    supervisor::EXIT_ESCALATED,
};

/// Time between two pings of an arbiter.
const PING_PERIOD: Duration = Duration::from_secs(1);

/// Starts named arbiters on one runtime and watches their heartbeats.
#[derive(Clone, Debug)]
pub struct Arbiters {
    runtime: Arc<Runtime>,
    health: Health,
    bound: Duration,
}

impl Arbiters {
    /// Arbiters on `runtime`; one that does not answer a ping within `bound` fails liveness by name.
    #[must_use]
    pub fn new(runtime: Arc<Runtime>, health: Health, bound: Duration) -> Self {
        Self { runtime, health, bound }
    }

    /// Starts one arbiter. Call it within [`run`]; the arbiter ends with the system.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start(&self, name: &str) -> io::Result<ArbiterHandle> {
        self.start_as(name, HealthRole::Works)
    }

    /// The same for actors that only observe: the process is live without it.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start_observing(&self, name: &str) -> io::Result<ArbiterHandle> {
        self.start_as(name, HealthRole::Observes)
    }

    fn start_as(&self, name: &str, role: HealthRole) -> io::Result<ArbiterHandle> {
        let runtime = Arc::clone(&self.runtime);
        let arbiter = Arbiter::try_with_tokio_rt(move || Ok(runtime))?.handle();
        let pulse = self.health.enrol_pulse(name, self.bound, role);
        let period = PING_PERIOD.min(self.bound / 2).max(Duration::from_millis(1));
        self.runtime.spawn(ping(arbiter.clone(), pulse, period));
        Ok(arbiter)
    }
}

/// Runs `main` on an actix system over `runtime`, until it returns a code or someone stops the system with one.
///
/// # Errors
/// When the system's event loop cannot run.
pub fn run(runtime: Arc<Runtime>, main: impl Future<Output = i32> + 'static) -> io::Result<i32> {
    let system = System::with_tokio_rt(move || runtime);
    system.block_on(async {
        actix_rt::spawn(async {
            let code = AssertUnwindSafe(main).catch_unwind().await.unwrap_or_else(|payload| {
                tracing::error!("the program's main task panicked: {}", message_of(payload.as_ref()));
                EXIT_ESCALATED
            });
            System::current().stop_with_code(code);
        });
    });
    system.run_with_code()
}

async fn ping(arbiter: ArbiterHandle, pulse: Arc<Pulse>, period: Duration) {
    let mut ticks = tokio::time::interval(period);
    loop {
        ticks.tick().await;
        if !pulse.ask() {
            continue;
        }
        let answer = Arc::clone(&pulse);
        if !arbiter.spawn_fn(move || answer.answered()) {
            pulse.stopped();
            return;
        }
    }
}
