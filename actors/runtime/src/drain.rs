//! Shutdown as an ordered protocol: `System::stop` drops queued work, so each stage is given its time before it.
//!
//! The first SIGTERM or SIGINT starts the drain, a second one aborts what is left of it. The whole takes at most 25
//! seconds, below Kubernetes' default `terminationGracePeriodSeconds` of 30.

use std::{future::Future, io, pin::Pin, time::Duration};

use futures::future::{Either, select};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::Instant,
};

use crate::topic::Publisher;

/// The longest a drain takes as a whole.
pub const TOTAL: Duration = Duration::from_secs(25);

/// An ordered list of phases.
#[derive(Default)]
pub struct Drain {
    phases: Vec<DrainPhase>,
}

struct DrainPhase {
    name: &'static str,
    deadline: Duration,
    work: Pin<Box<dyn Future<Output = ()>>>,
}

/// How a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainOutcome {
    /// It did what it had to.
    Finished,
    /// Its deadline, or that of the whole drain, passed first.
    TimedOut,
    /// A second signal came, during it or before.
    Aborted,
}

/// One phase's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseReport {
    /// The phase.
    pub name: &'static str,
    /// How it ended.
    pub outcome: DrainOutcome,
    /// The time it took.
    pub took: Duration,
}

/// SIGTERM and SIGINT, in the order they come.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes over both signals from now on.
    ///
    /// # Errors
    /// When the operating system refuses the handlers.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The name of the next signal. Cancel safe.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

impl Drain {
    /// No phases yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a phase that runs after those before it have ended, for at most `deadline`.
    #[must_use]
    pub fn phase(
        mut self,
        name: &'static str,
        deadline: Duration,
        work: impl Future<Output = ()> + 'static,
    ) -> Self {
        self.phases.push(DrainPhase { name, deadline, work: Box::pin(work) });
        self
    }

    /// Runs the phases in order. `draining` becomes true first, so that readiness fails before anything stops; when
    /// `abort` resolves, the rest is skipped. Each phase's end is logged.
    pub async fn run<S>(
        self,
        draining: &Publisher<bool>,
        abort: impl Future<Output = S>,
    ) -> Vec<PhaseReport> {
        draining.publish(true);
        let end = Instant::now() + TOTAL;
        let mut abort = Some(Box::pin(abort));
        let mut reports = Vec::with_capacity(self.phases.len());
        for phase in self.phases {
            let start = Instant::now();
            let outcome = match abort.take() {
                None => DrainOutcome::Aborted,
                Some(aborted) => {
                    let work = tokio::time::timeout_at(end.min(start + phase.deadline), phase.work);
                    match select(Box::pin(work), aborted).await {
                        Either::Left((result, aborted)) => {
                            abort = Some(aborted);
                            result.map_or(DrainOutcome::TimedOut, |()| DrainOutcome::Finished)
                        }
                        Either::Right(_) => DrainOutcome::Aborted,
                    }
                }
            };
            reports.push(log(PhaseReport { name: phase.name, outcome, took: start.elapsed() }));
        }
        reports
    }
}

fn log(report: PhaseReport) -> PhaseReport {
    let PhaseReport { name, outcome, took } = &report;
    match outcome {
        DrainOutcome::Finished => tracing::info!(phase = name, ?took, "drain phase finished"),
        DrainOutcome::TimedOut => {
            tracing::warn!(phase = name, ?took, "drain phase ran out of time and was left")
        }
        DrainOutcome::Aborted => tracing::warn!(phase = name, "drain phase aborted by a second signal"),
    }
    report
}

impl std::fmt::Debug for Drain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.phases.iter().map(|phase| phase.name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, future::pending, rc::Rc};

    use super::*;
    use crate::topic::topic;

    fn outcomes(reports: &[PhaseReport]) -> Vec<(&'static str, DrainOutcome)> {
        reports.iter().map(|report| (report.name, report.outcome)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn phases_run_in_order_and_readiness_falls_first() {
        let (draining, readiness) = topic(false);
        let order = Rc::new(RefCell::new(Vec::new()));
        let phase = |name: &'static str, millis| {
            let (order, readiness) = (Rc::clone(&order), readiness.clone());
            async move {
                assert!(*readiness.latest());
                tokio::time::sleep(Duration::from_millis(millis)).await;
                order.borrow_mut().push(name);
            }
        };
        let drain = Drain::new()
            .phase("intake", Duration::from_secs(1), phase("intake", 300))
            .phase("deployments", Duration::from_secs(1), phase("deployments", 10))
            .phase("lease", Duration::from_secs(1), phase("lease", 1));
        let reports = drain.run(&draining, pending::<()>()).await;
        assert_eq!(*order.borrow(), ["intake", "deployments", "lease"]);
        assert!(reports.iter().all(|report| report.outcome == DrainOutcome::Finished));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stuck_phase_is_left_at_its_deadline_and_the_next_one_runs() {
        let (draining, _readiness) = topic(false);
        let drain = Drain::new().phase("deployments", Duration::from_secs(3), pending()).phase(
            "lease",
            Duration::from_secs(3),
            async {},
        );
        let reports = drain.run(&draining, pending::<()>()).await;
        assert_eq!(
            outcomes(&reports),
            [("deployments", DrainOutcome::TimedOut), ("lease", DrainOutcome::Finished)]
        );
        assert_eq!(reports[0].took, Duration::from_secs(3));
    }

    #[tokio::test(start_paused = true)]
    async fn the_whole_drain_ends_after_25_seconds_whatever_the_phases_ask() {
        let (draining, _readiness) = topic(false);
        let start = Instant::now();
        let drain = Drain::new()
            .phase("a", Duration::from_secs(20), pending())
            .phase("b", Duration::from_secs(20), pending())
            .phase("c", Duration::from_secs(20), pending());
        drain.run(&draining, pending::<()>()).await;
        assert_eq!(start.elapsed(), TOTAL);
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_signal_aborts_what_is_left() {
        let (draining, _readiness) = topic(false);
        let drain = Drain::new().phase("a", Duration::from_secs(5), pending()).phase(
            "b",
            Duration::from_secs(5),
            async {},
        );
        let reports = drain.run(&draining, tokio::time::sleep(Duration::from_secs(1))).await;
        assert_eq!(outcomes(&reports), [("a", DrainOutcome::Aborted), ("b", DrainOutcome::Aborted)]);
        assert_eq!(reports[0].took, Duration::from_secs(1));
    }
}
