//! Carrying out an order: checks first, then runtime operations or a reload, then what counts on disk. One at a time.

use crate::{
    agent::Inner,
    answer,
    bundles::Stored,
    command::{self, commands},
    connection::{SocketError, Worker},
    readback::{self, Expectation},
    removals::still_in_use,
    request,
};
use haptic_model::{
    Operation,
    agent_api::{Apply, Method, Outcome},
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How long a new worker may take to be the one that accepts connections.
const TAKEOVER: Duration = Duration::from_secs(10);
/// How long HAProxy may take to do what it said it did.
const SETTLED: Duration = Duration::from_secs(1);

impl Inner {
    /// Carries out `apply`.
    pub(crate) async fn apply(self: &Arc<Self>, apply: Apply) -> Outcome {
        let _turn = self.turn.lock().await;
        if self.is_ending() {
            return refused("the agent ends".to_owned());
        }
        let begun = Instant::now();
        let method = match &apply.method {
            Method::Runtime { operations } => format!("{} runtime operations", operations.len()),
            Method::Reload { reason } => format!("reload: {reason}"),
        };
        let (generation, target) = (apply.generation, apply.target.short());
        let outcome = self.apply_now(apply).await.unwrap_or_else(|refused| refused);
        let took_ms = begun.elapsed().as_millis();
        match &outcome {
            Outcome::Applied { .. } => tracing::info!(%generation, target, method, took_ms, "applied"),
            other => tracing::warn!(%generation, target, method, took_ms, outcome = ?other, "not applied"),
        }
        outcome
    }

    async fn apply_now(self: &Arc<Self>, apply: Apply) -> Result<Outcome, Outcome> {
        self.check_epoch(&apply)?;
        request::check(&apply).map_err(refused)?;
        let before = self.stored();
        let running = before.as_ref().map(|b| b.digest);
        if running == Some(apply.target) && apply.base != Some(apply.target) && self.intact().await {
            // The same order again.
            let worker_pid = self.sockets.processes().await.map_err(lost)?.worker;
            return Ok(Outcome::Applied { reloaded: false, worker_pid, log: String::new() });
        }
        if running != apply.base {
            return Err(Outcome::Conflict { running });
        }
        let apply = Arc::new(apply);
        let missing = {
            let (apply, before) = (apply.clone(), before.clone());
            self.on_disk(move |bundles| bundles.missing(before.as_deref(), &apply)).await?
        };
        if !missing.is_empty() {
            return Err(Outcome::Missing { paths: missing });
        }
        match &apply.method {
            Method::Runtime { operations } => {
                let worker_pid = self.operate(operations).await.map_err(reload_may_help)?;
                let stored = self.write(before, apply.clone()).await?;
                self.count(stored).await?;
                Ok(Outcome::Applied { reloaded: false, worker_pid, log: String::new() })
            }
            Method::Reload { .. } => self.reload(before, apply.clone()).await,
        }
    }

    /// Refuses an older leadership, remembers a newer one.
    fn check_epoch(&self, apply: &Apply) -> Result<(), Outcome> {
        let newest = self.epoch();
        if apply.epoch < newest {
            return Err(Outcome::Stale { epoch: newest });
        }
        if apply.epoch > newest {
            self.remember(apply.epoch)
                .map_err(|e| refused(format!("the agent cannot remember the leadership: {e}")))?;
        }
        Ok(())
    }

    async fn write(&self, before: Option<Arc<Stored>>, apply: Arc<Apply>) -> Result<Stored, Outcome> {
        let written = self.on_disk(move |bundles| bundles.write(before.as_deref(), &apply)).await?;
        written.map_err(|e| refused(format!("the files cannot be written: {e}")))
    }

    /// Makes a written bundle the one that counts.
    async fn count(&self, stored: Stored) -> Result<(), Outcome> {
        self.activate(Some(stored.number())).await?;
        self.now_stored(stored);
        Ok(())
    }

    async fn activate(&self, number: Option<u64>) -> Result<(), Outcome> {
        let active = self.on_disk(move |bundles| bundles.activate(number)).await?;
        active.map_err(|e| refused(format!("the files cannot be put in place: {e}")))
    }

    // --- runtime operations ------------------------------------------------------------------------

    /// Sends the operations and reads back; gives the worker's pid.
    async fn operate(&self, operations: &[Operation]) -> Result<u32, String> {
        // All are checked before the first is sent.
        let prepared: Vec<(&Operation, Vec<String>)> = operations
            .iter()
            .map(|operation| Ok((operation, commands(operation)?)))
            .collect::<Result<_, command::CommandError>>()
            .map_err(|e| e.to_string())?;
        let mut worker = self.current_worker().await.map_err(|e| e.to_string())?;
        for (operation, commands) in prepared {
            self.operate_one(&mut worker, operation, &commands).await?;
        }
        self.verify(&mut worker, operations).await?;
        Ok(worker.pid)
    }

    async fn operate_one(
        &self,
        worker: &mut Worker,
        operation: &Operation,
        commands: &[String],
    ) -> Result<(), String> {
        let (backend, server) = command::target(operation);
        match operation {
            Operation::DeleteServer { .. } => self.delete(worker, backend, server, commands).await,
            Operation::AddServer { .. } => self.add(worker, operation, commands).await,
            _ => send_all(worker, commands).await,
        }
    }

    async fn delete(
        &self,
        worker: &mut Worker,
        backend: &str,
        server: &str,
        commands: &[String],
    ) -> Result<(), String> {
        for command in commands {
            let answer = ask(worker, command).await?;
            if answer.starts_with("No such server") || answer.starts_with("No such backend") {
                return Ok(());
            }
            if still_in_use(&answer) {
                self.removals.add(backend, server);
            } else if !answer::accepted(&answer) {
                return Err(said(command, &answer));
            }
        }
        Ok(())
    }

    /// Adds a server. One of that name that is still being removed, or that an interrupted apply left, is brought back.
    async fn add(
        &self,
        worker: &mut Worker,
        operation: &Operation,
        commands: &[String],
    ) -> Result<(), String> {
        let (backend, server) = command::target(operation);
        let Some((add, enable)) = commands.split_first() else { return Ok(()) };
        if self.removals.cancel(backend, server) {
            // It may be gone by now, and then is added as it should be.
            ask(worker, &format!("del server {backend}/{server}")).await?;
        }
        let answer = ask(worker, add).await?;
        if answer.contains("Already exists") {
            send_all(worker, &revival(operation)?).await?;
        } else if !answer::accepted(&answer) {
            return Err(said(add, &answer));
        }
        send_all(worker, enable).await
    }

    /// Compares what HAProxy runs with what was asked for, until it is the same: HAProxy answers `set server … addr` before
    /// a task of it has changed the address.
    async fn verify(&self, worker: &mut Worker, operations: &[Operation]) -> Result<(), String> {
        let expectation = Expectation::of(operations);
        let until = Instant::now() + SETTLED;
        let mut pause = Duration::from_millis(1);
        loop {
            let differences = differences(worker, &expectation).await?;
            if differences.is_empty() {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(format!("HAProxy took the commands, but {}", differences.join(", ")));
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    // --- reload ------------------------------------------------------------------------------------

    async fn reload(
        self: &Arc<Self>,
        before: Option<Arc<Stored>>,
        apply: Arc<Apply>,
    ) -> Result<Outcome, Outcome> {
        let stored = self.write(before.clone(), apply).await?;
        let (number, old) = (stored.number(), before.map(|b| b.number()));
        let switched = self.switch(number, old).await;
        match switched {
            Ok((worker_pid, log)) => {
                self.now_stored(stored);
                self.removals.clear();
                Ok(Outcome::Applied { reloaded: true, worker_pid, log })
            }
            Err(problem) => {
                let back = self.activate(old).await;
                self.reload_is_done();
                if self.keeper.as_ref().is_some_and(|k| !k.is_up()) {
                    self.hurry();
                }
                self.on_disk(move |bundles| bundles.remove(number)).await?;
                back?;
                Err(refused(problem))
            }
        }
    }

    /// Puts the new bundle in place and has HAProxy run it; gives the new worker and HAProxy's remarks.
    async fn switch(&self, new: u64, old: Option<u64>) -> Result<(u32, String), String> {
        self.reload_is_due(old).map_err(|e| format!("the agent cannot note the reload: {e}"))?;
        self.activate(Some(new)).await.map_err(|outcome| format!("{outcome:?}"))?;
        let outcome = self.bring_up().await?;
        self.reload_is_done();
        Ok(outcome)
    }

    /// Reloads HAProxy, or starts it when it is down.
    pub(crate) async fn bring_up(&self) -> Result<(u32, String), String> {
        if let Some(keeper) = &self.keeper
            && !keeper.is_up()
            && keeper.start_now().await?
        {
            let worker = self.current_worker().await.map_err(|e| e.to_string())?;
            return Ok((worker.pid, String::new()));
        }
        let (success, log) = match self.sockets.reload().await {
            Ok(outcome) => outcome,
            Err(error) => self.reloaded_after_all().await.ok_or_else(|| error.to_string())?,
        };
        if !success {
            let _counted = self.look().await;
            return Err(answer::failure(&log, &self.folder.current()));
        }
        let worker = self.current_worker().await.map_err(|e| e.to_string())?;
        Ok((worker.pid, answer::remarks(&log, &self.folder.current())))
    }

    /// Whether a reload whose answer was lost succeeded, by HAProxy's own count.
    async fn reloaded_after_all(&self) -> Option<(bool, String)> {
        let seen = self.reloads();
        self.look().await.ok()?;
        (self.reloads() > seen).then(|| (true, String::new()))
    }

    /// A connection to the worker that the master calls current. Just after a reload the old one may still accept.
    pub(crate) async fn current_worker(&self) -> Result<Worker, SocketError> {
        let until = Instant::now() + TAKEOVER;
        loop {
            let wanted = self.look().await?.worker;
            let worker = self.sockets.worker().await?;
            if worker.pid == wanted || Instant::now() > until {
                self.now_version(&worker.version);
                return Ok(worker);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// How what HAProxy runs differs from what was asked for.
async fn differences(worker: &mut Worker, expectation: &Expectation) -> Result<Vec<String>, String> {
    let mut differences = Vec::new();
    for (backend, with_maxconn) in expectation.backends() {
        let mut shown = readback::servers(&ask(worker, &format!("show servers state {backend}")).await?);
        if with_maxconn {
            readback::add_maxconn(&ask(worker, &format!("show stat {backend} 4 -1")).await?, &mut shown);
        }
        differences.extend(expectation.differences(backend, &shown));
    }
    Ok(differences)
}

/// Commands that make a server that is there already like the one to be added.
fn revival(operation: &Operation) -> Result<Vec<String>, String> {
    let Operation::AddServer { backend, server, address, params, .. } = operation else {
        return Ok(Vec::new());
    };
    let names = || (backend.clone(), server.clone());
    let mut operations = Vec::new();
    if let Some((ip, port)) = command::socket_address(address) {
        let (backend, server) = names();
        operations.push(Operation::SetServerAddress { backend, server, address: ip.to_string(), port });
    }
    if let Some(weight) = readback::weight_of(params).and_then(|weight| u16::try_from(weight).ok()) {
        let (backend, server) = names();
        operations.push(Operation::SetServerWeight { backend, server, weight });
    }
    let each = operations.iter().map(|o| commands(o).map_err(|e| e.to_string()));
    Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
}

async fn send_all(worker: &mut Worker, commands: &[String]) -> Result<(), String> {
    for command in commands {
        let answer = ask(worker, command).await?;
        if !answer::accepted(&answer) {
            return Err(said(command, &answer));
        }
    }
    Ok(())
}

async fn ask(worker: &mut Worker, command: &str) -> Result<String, String> {
    worker.ask(command).await.map_err(|e| e.to_string())
}

fn said(command: &str, answer: &str) -> String {
    let answer: String = answer.trim().lines().next().unwrap_or_default().chars().take(300).collect();
    format!("{command}: HAProxy answered: {answer}")
}

fn refused(message: String) -> Outcome {
    Outcome::Refused { message, reload_may_help: false }
}

fn reload_may_help(message: String) -> Outcome {
    Outcome::Refused { message, reload_may_help: true }
}

fn lost(error: SocketError) -> Outcome {
    refused(error.to_string())
}
