//! The life of a controller process: start the pipeline, serve, and end in order when told to.

use crate::{
    cli::Failure,
    http::{
        debug::{Inside, recording::Recorder},
        health::Vitality,
        metrics::{self, Scraped},
        servers::Front,
    },
    logging::LogLevel,
    protections, traces,
    webhook::{start::admission, workshop::Board},
    wiring::{self, Outside, Pipeline},
};
use haptic_config::ConfigState;
use haptic_model::{ActiveConfig, Event};
use haptic_runtime::{Arbiters, CellReader, Drain, Events, Health, Signals, cell};
use serde_json::Value;
use std::{
    future::Future,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};
use tokio::runtime::Runtime;

/// An arbiter that does not answer a ping for this long is stuck.
const ARBITER_BOUND: Duration = Duration::from_secs(4);

/// Addresses the process listens on.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Health and metrics.
    pub bind: IpAddr,
    /// `/debug`.
    pub debug: IpAddr,
}

impl Addresses {
    /// `/debug` is on loopback unless an address was given for it.
    #[must_use]
    pub fn new(bind: IpAddr, debug: Option<IpAddr>) -> Self {
        let near = if bind.is_loopback() { bind } else { IpAddr::V4(Ipv4Addr::LOCALHOST) };
        Self { bind, debug: debug.unwrap_or(near) }
    }
}

/// The one tokio runtime of the process.
///
/// # Errors
/// When the operating system gives no threads.
pub fn runtime() -> Result<Arc<Runtime>, Failure> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    runtime.map(Arc::new).map_err(Failure::because)
}

/// Runs `main` on an actix system; its failure, or an actor that died for good, is the process's.
///
/// # Errors
/// What `main` fails with, or [`Failure::Exit`] with the code the system was stopped with.
pub fn run(
    runtime: Arc<Runtime>,
    main: impl Future<Output = Result<(), Failure>> + 'static,
) -> Result<(), Failure> {
    haptic_runtime::install_panic_hook();
    let failure = std::rc::Rc::new(std::cell::RefCell::new(None));
    let failed = failure.clone();
    let code = haptic_runtime::run(runtime, async move {
        match main.await {
            Ok(()) => 0,
            Err(why) => {
                *failed.borrow_mut() = Some(why);
                1
            }
        }
    });
    match (failure.take(), code.map_err(Failure::because)?) {
        (Some(failure), _) => Err(failure),
        (None, 0) => Ok(()),
        (None, code) => Err(Failure::Exit(u8::try_from(code).unwrap_or(1))),
    }
}

/// Runs the whole controller until a signal ends it. `began` sees the pipeline once it runs.
///
/// # Errors
/// When the pipeline or a server cannot start.
pub async fn control(
    mut outside: Outside,
    runtime: Arc<Runtime>,
    addresses: Addresses,
    log_level: LogLevel,
    began: impl FnOnce(&Pipeline),
) -> Result<(), Failure> {
    let mut signals = Signals::listen().map_err(Failure::because)?;
    let recorded = metrics::install().map_err(Failure::because)?;
    haptic_commentator::metrics::describe();
    let health = Health::new();
    let arbiters = Arbiters::new(runtime, health.clone(), ARBITER_BOUND);
    let (leading, checker) = (outside.leading.clone(), outside.checker.clone());
    let exporter = traces::start();
    outside.traces = exporter.as_ref().map(|exporter| exporter.sink.clone());
    let pipeline = wiring::start(outside, &arbiters, health).map_err(Failure::because)?;
    began(&pipeline);
    let (draining_writer, draining) = cell(false);
    follow_log_level(pipeline.config.clone(), log_level.clone());
    tell_what_is_waited_for(pipeline.config_state.clone(), pipeline.events.clone());
    let vitality = vitality(&pipeline, draining);
    let front = Front {
        address: addresses.bind,
        debug_address: addresses.debug,
        vitality: vitality.clone(),
        metrics: Scraped {
            recorded,
            events: pipeline.events.clone(),
            actors: pipeline.health.clone(),
            pods: pipeline.pods.clone(),
            snapshots: pipeline.snapshots.clone(),
            leadership: pipeline.leadership.clone(),
            quarantine: pipeline.quarantine.clone(),
        },
        inside: inside(&pipeline, vitality, log_level, protections::tell(&checker)),
        admission: admission(
            &leading,
            board(&pipeline),
            pipeline.webhook.clone(),
            &checker,
            pipeline.events.clone(),
        ),
    };
    tokio::select! {
        served = front.serve(pipeline.config.clone()) => served.map_err(Failure::because)?,
        signal = signals.next() => tracing::info!(signal, "shutting down; a second signal ends at once"),
    }
    let pipeline = std::rc::Rc::new(pipeline);
    let (deployments, lease, observers) = (pipeline.clone(), pipeline.clone(), pipeline.clone());
    Drain::new()
        .phase("intake", Duration::from_secs(5), async move { pipeline.stop_intake().await })
        .phase("deployments", Duration::from_secs(10), async move { deployments.stop_deploying().await })
        .phase("lease", Duration::from_secs(5), async move { lease.step_down().await })
        .phase("observers", Duration::from_secs(5), async move {
            observers.flush_observers().await;
            if let Some(exporter) = exporter {
                exporter.flush().await;
            }
        })
        .run(&draining_writer, signals.next())
        .await;
    Ok(())
}

fn vitality(pipeline: &Pipeline, draining: CellReader<bool>) -> Vitality {
    Vitality {
        actors: pipeline.health.clone(),
        config_state: pipeline.config_state.clone(),
        config: pipeline.config.clone(),
        accepted: pipeline.accepted.clone(),
        judged: pipeline.judged.clone(),
        snapshots: pipeline.snapshots.clone(),
        troubles: pipeline.troubles.clone(),
        left_out: pipeline.left_out.clone(),
        webhook: pipeline.webhook.clone(),
        draining,
    }
}

fn board(pipeline: &Pipeline) -> Board {
    Board {
        config: pipeline.config.clone(),
        snapshots: pipeline.snapshots.clone(),
        quarantine: pipeline.quarantine.clone(),
        fleet: pipeline.fleet_view.clone(),
    }
}

fn inside(pipeline: &Pipeline, vitality: Vitality, log_level: LogLevel, protections: Value) -> Inside {
    Inside {
        vitality,
        rendered: pipeline.rendered.clone(),
        validated: pipeline.validated.clone(),
        refused: pipeline.refused.clone(),
        pods: pipeline.pods.clone(),
        quarantine: pipeline.quarantine.clone(),
        leadership: pipeline.leadership.clone(),
        reporting: pipeline.reporting.clone(),
        log_level,
        history: pipeline.history.clone(),
        recorder: Recorder::new(pipeline.recording.clone()),
        protections: Arc::new(protections),
        #[cfg(debug_assertions)]
        events: pipeline.events.clone(),
    }
}

/// A controller that waits says for what: nothing else would be in its log. (A refused configuration is an event.)
fn tell_what_is_waited_for(mut state: CellReader<ConfigState>, events: Events) {
    tokio::spawn(async move {
        loop {
            if let ConfigState::Waiting(what) = &*state.changed().await {
                events.tell(Event::Awaited { what: what.clone() });
            }
        }
    });
}

fn follow_log_level(mut config: CellReader<Option<Arc<ActiveConfig>>>, log_level: LogLevel) {
    tokio::spawn(async move {
        loop {
            if let Some(config) = &*config.changed().await {
                log_level.configure(config.spec.logging.level.as_deref());
            }
        }
    });
}
