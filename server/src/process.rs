//! The life of a controller process: start the pipeline, serve, and end in order when told to.

pub mod frugal;
pub mod hardening;
mod sandbox_status;
mod traces;

use crate::{
    cli::CommandFailure,
    http::{
        debug::DebugState,
        metrics::{self, Scraped},
        servers::{Front, HttpServers},
    },
    logging::LogLevel,
    wiring::{self, Environment, Pipeline, leading::LeadingBy},
};
use haptic_inspect::recording::stream::RecordingSource;
use haptic_model::{ActiveConfig, crd::ControllerSpec};
use haptic_runtime::{Arbiters, Drain, Health, Signals};
use haptic_validate::Checker;
use haptic_webhook::{
    OwnConfiguration,
    service::{Admission, AdmissionOptions},
};
use serde_json::Value;
use std::{
    future::Future,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};
use tokio::{runtime::Runtime, sync::oneshot};

/// An arbiter that does not answer a ping for this long is stuck.
const ARBITER_BOUND: Duration = Duration::from_secs(4);

/// Exit codes of a process that a signal ended, as shells tell them.
const INTERRUPTED: u8 = 128 + 2;
const TERMINATED: u8 = 128 + 15;

/// So long after a signal a command may take to remove what it keeps on the disk.
const TIDIES_UP: Duration = Duration::from_secs(2);

/// So long after a pod was told to end, connections to its Service may still be led to it: until each node's kube-proxy, and the
/// API server itself, has heard of it.
const ASKED_AFTER_THE_END: Duration = Duration::from_secs(3);

/// Addresses the process listens on.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// Health and metrics.
    pub bind: IpAddr,
    /// `/debug`.
    pub debug: IpAddr,
    /// At which ports, until a configuration is in force.
    pub first_ports: ControllerSpec,
}

impl Addresses {
    /// `/debug` is on loopback unless an address was given for it.
    #[must_use]
    pub fn new(bind: IpAddr, debug: Option<IpAddr>) -> Self {
        let near = if bind.is_loopback() { bind } else { IpAddr::V4(Ipv4Addr::LOCALHOST) };
        Self { bind, debug: debug.unwrap_or(near), first_ports: ControllerSpec::default() }
    }
}

/// The one tokio runtime of the process.
///
/// # Errors
/// When the operating system gives no threads.
pub fn runtime() -> Result<Arc<Runtime>, CommandFailure> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    runtime.map(Arc::new).map_err(CommandFailure::because)
}

/// Runs `main` on an actix system; its failure, or an actor that died for good, is the process's.
///
/// # Errors
/// What `main` fails with, or [`CommandFailure::Exit`] with the code the system was stopped with.
pub fn run(
    runtime: Arc<Runtime>,
    main: impl Future<Output = Result<(), CommandFailure>> + 'static,
) -> Result<(), CommandFailure> {
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
    match (failure.take(), code.map_err(CommandFailure::because)?) {
        (Some(failure), _) => Err(failure),
        (None, 0) => Ok(()),
        (None, code) => Err(CommandFailure::Exit(u8::try_from(code).unwrap_or(1))),
    }
}

/// Does `work`, or ends it at the first signal: what it keeps on the disk while it lasts, such as the folder of a check, is
/// removed.
///
/// # Errors
/// Those of `work`; the exit code that a shell gives a process which the signal ended.
pub async fn until_signal<T>(
    work: impl Future<Output = Result<T, CommandFailure>>,
) -> Result<T, CommandFailure> {
    let signalled = signalled().map_err(CommandFailure::because)?;
    tokio::select! {
        done = work => done,
        Ok(code) = signalled => Err(CommandFailure::Exit(code)),
    }
}

/// The exit code of the first signal. A thread of its own waits for it, because the work may keep its own thread busy: a
/// little later, or at a second signal, the process ends whatever it does.
fn signalled() -> std::io::Result<oneshot::Receiver<u8>> {
    let (sender, receiver) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _handlers_belong_to_it = runtime.enter();
        Signals::listen()?
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async move {
            let code = if signals.next().await == "SIGINT" { INTERRUPTED } else { TERMINATED };
            if sender.send(code).is_ok() {
                tokio::select! {
                    () = tokio::time::sleep(TIDIES_UP) => {}
                    _ = signals.next() => {}
                }
            }
            std::process::exit(code.into());
        });
    })?;
    Ok(receiver)
}

/// Runs the whole controller until a signal ends it. `began` sees the pipeline once it runs.
///
/// # Errors
/// When the pipeline or a server cannot start.
pub async fn control(
    mut environment: Environment,
    runtime: Arc<Runtime>,
    addresses: Addresses,
    log_level: LogLevel,
    began: impl FnOnce(&Pipeline),
) -> Result<(), CommandFailure> {
    let mut signals = Signals::listen().map_err(CommandFailure::because)?;
    let recorded = metrics::install().map_err(CommandFailure::because)?;
    haptic_commentator::metrics::describe();
    let health = Health::new();
    let arbiters = Arbiters::new(runtime, health.clone(), ARBITER_BOUND);
    let (leading, checker) = (environment.leading.clone(), environment.checker.clone());
    let exporter = traces::start();
    environment.traces = exporter.as_ref().map(|exporter| exporter.sink.clone());
    let upkept = recorded.clone();
    environment.upkeep = Some(Arc::new(move || upkept.run_upkeep()));
    let pipeline = wiring::start(environment, &arbiters, health).map_err(CommandFailure::because)?;
    began(&pipeline);
    let readers = pipeline.readers.clone();
    let front = Front {
        address: addresses.bind,
        debug_address: addresses.debug,
        first_ports: addresses.first_ports,
        readers: readers.clone(),
        metrics: Scraped { recorded, events: pipeline.events.clone(), readers: readers.clone() },
        debug: debug(&pipeline, log_level, sandbox_status::report(&checker)),
        admission: admission(&leading, &pipeline, &checker),
    };
    let (mut servers, config) = (HttpServers::default(), readers.config.clone());
    tokio::select! {
        served = servers.serve(&front, readers.config) => served.map_err(CommandFailure::because)?,
        signal = signals.next() => tracing::info!(signal, "shutting down; a second signal ends at once"),
    }
    let signalled_at = tokio::time::Instant::now();
    let webhook = |config: &ActiveConfig| config.spec.controller.webhook.is_some();
    let asked = front.admission.filter(|_| config.latest().as_ref().as_ref().is_some_and(|c| webhook(c)));
    let pipeline = std::rc::Rc::new(pipeline);
    let (ending, deployments) = (pipeline.clone(), pipeline.clone());
    let (lease, observers) = (pipeline.clone(), pipeline.clone());
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
        .phase("webhook", ASKED_AFTER_THE_END + Duration::from_secs(11), async move {
            if let Some(admission) = asked {
                tokio::time::sleep_until(signalled_at + ASKED_AFTER_THE_END).await;
                servers.end_webhook(&admission).await;
            }
        })
        .run(&ending.draining, signals.next())
        .await;
    Ok(())
}

/// What the API server asks before it stores something, where there is one.
fn admission(leading: &LeadingBy, pipeline: &Pipeline, checker: &Checker) -> Option<Admission> {
    let LeadingBy::Lease { client, namespace, name } = leading else { return None };
    Some(Admission::open(AdmissionOptions {
        client: client.clone(),
        own: OwnConfiguration { namespace: namespace.clone(), name: name.clone() },
        readers: pipeline.readers.clone(),
        endpoint: pipeline.endpoint.clone(),
        queue: pipeline.reviews.clone()?,
        checker: checker.clone(),
        events: pipeline.events.clone(),
    }))
}

fn debug(pipeline: &Pipeline, log_level: LogLevel, protections: Value) -> DebugState {
    DebugState {
        readers: pipeline.readers.clone(),
        log_level,
        recorder: RecordingSource::new(pipeline.readers.recording.clone()),
        protections: Arc::new(protections),
        #[cfg(debug_assertions)]
        events: pipeline.events.clone(),
    }
}
