//! Carrying out an order: checks first, then runtime operations or a reload, then what counts on disk. One at a time.

use crate::{
    agent::Inner,
    answer,
    bundles::{Bundles, Stored},
    command::{self, Contents},
    connection::{SocketError, Worker},
    request,
};
use haptic_model::{
    Epoch, Operation,
    agent_api::{Apply, Method, Outcome},
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How long a new worker may take to be the one that accepts connections.
const TAKEOVER: Duration = Duration::from_secs(10);

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
        let (generation, bundle) = (apply.generation, apply.target.short());
        let outcome = self.apply_now(apply).await.unwrap_or_else(|refused| refused);
        let took_ms = begun.elapsed().as_millis();
        match &outcome {
            Outcome::Applied { .. } => tracing::info!(%generation, bundle, method, took_ms, "applied"),
            other => tracing::warn!(%generation, bundle, method, took_ms, outcome = ?other, "not applied"),
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
                let contents = self.contents(before.clone(), &apply, operations).await?;
                let worker_pid = self.operate(operations, &contents).await.map_err(reload_may_help)?;
                let stored = self.write(before, apply.clone()).await?;
                self.count(stored).await?;
                Ok(Outcome::Applied { reloaded: false, worker_pid, log: String::new() })
            }
            Method::Reload { .. } => self.reload(before, apply.clone()).await,
        }
    }

    /// The contents of the target's files that `operations` bring.
    async fn contents(
        &self,
        before: Option<Arc<Stored>>,
        apply: &Arc<Apply>,
        operations: &[Operation],
    ) -> Result<Contents, Outcome> {
        let paths: Vec<String> =
            operations.iter().filter_map(command::content_of).map(str::to_owned).collect();
        if paths.is_empty() {
            return Ok(Contents::new());
        }
        let apply = apply.clone();
        let read = move |bundles: &Bundles| {
            let content = |path: String| bundles.content(before.as_deref(), &apply, &path).map(|c| (path, c));
            paths.into_iter().map(content).collect::<std::io::Result<_>>()
        };
        let read = self.on_disk(read).await?;
        read.map_err(|e| reload_may_help(format!("a file cannot be read: {e}")))
    }

    /// Refuses an older leadership, remembers a newer one.
    fn check_epoch(&self, apply: &Apply) -> Result<(), Outcome> {
        let newest = self.epoch();
        // Without an election there is one controller, and nothing that its orders could be older than.
        if apply.epoch == Epoch::default() {
            return Ok(());
        }
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
            let worker = self.sockets.kept_worker(wanted).await?;
            if worker.pid == wanted || Instant::now() > until {
                self.now_version(&worker.version);
                return Ok(worker);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
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
