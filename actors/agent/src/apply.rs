//! Carrying out an order: checks first, then runtime operations or a reload, then what counts on disk. One at a time; only
//! the writing of files goes on beside operations.

use crate::{
    agent::Inner,
    answer,
    bundles::Stored,
    command::{self, Contents},
    connection::{SocketError, Worker},
    live::Live,
    process::NotStarted,
    target::{Have, Target},
};
use haptic_model::{
    Digest, Epoch, Operation,
    agent_api::{Apply, Method, Outcome},
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How long a new worker may take to be the one that accepts connections.
const TAKEOVER: Duration = Duration::from_secs(10);
/// Why operations cannot follow after files were stored beside the bootstrap file.
const NO_BUNDLE: &str = "HAProxy runs the bootstrap file";

impl Inner {
    /// Carries out `apply`.
    pub(crate) async fn apply(self: &Arc<Self>, apply: Apply) -> Outcome {
        let begun = Instant::now();
        let method = match &apply.method {
            Method::Runtime { operations, .. } => format!("{} runtime operations", operations.len()),
            Method::Store => "store".to_owned(),
            Method::Reload { reason } => format!("reload: {reason}"),
        };
        let (generation, bundle) = (apply.generation.0, apply.target.short());
        let outcome = self.apply_now(apply).await.unwrap_or_else(|refused| refused);
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        match &outcome {
            Outcome::Applied { .. } => tracing::info!(generation, bundle, method, took_ms, "applied"),
            // HAProxy's words may quote what is from a Secret. The controller, who knows that, tells them.
            Outcome::Refused { .. } => {
                tracing::warn!(
                    generation,
                    bundle,
                    method,
                    took_ms,
                    "not applied: HAProxy refuses it; the controller says why"
                );
            }
            other => tracing::warn!(generation, bundle, method, took_ms, outcome = ?other, "not applied"),
        }
        outcome
    }

    async fn apply_now(self: &Arc<Self>, apply: Apply) -> Result<Outcome, Outcome> {
        self.check_epoch(apply.epoch)?;
        match apply.method.clone() {
            Method::Runtime { operations, store: false } => {
                let _turn = self.take_turn(apply.epoch).await?;
                self.operate_towards(apply, &operations).await.map(|(_, outcome)| outcome)
            }
            Method::Runtime { operations, store: true } => {
                let _disk = self.disk.lock().await;
                let _turn = self.take_turn(apply.epoch).await?;
                let (target, outcome) = self.operate_towards(apply, &operations).await?;
                if self.stored().is_none_or(|stored| stored.digest != target.digest) {
                    let stored = self.write(target).await?;
                    self.count(stored).await?;
                }
                Ok(outcome)
            }
            Method::Store => {
                let _disk = self.disk.lock().await;
                self.store(apply).await
            }
            Method::Reload { .. } => {
                let _disk = self.disk.lock().await;
                let _turn = self.take_turn(apply.epoch).await?;
                self.reload(apply).await
            }
        }
    }

    /// The turn of an order; a newer leader may have spoken while it waited.
    async fn take_turn(&self, epoch: Epoch) -> Result<tokio::sync::MutexGuard<'_, ()>, Outcome> {
        let turn = self.turn.lock().await;
        if self.is_ending() {
            return Err(failed("the agent ends".to_owned()));
        }
        self.check_epoch(epoch)?;
        Ok(turn)
    }

    /// Refuses an older leadership, remembers a newer one.
    fn check_epoch(&self, epoch: Epoch) -> Result<(), Outcome> {
        let newest = self.epoch();
        // Without an election there is one controller, and nothing that its orders could be older than.
        if epoch == Epoch::default() {
            return Ok(());
        }
        if epoch < newest {
            return Err(Outcome::Stale { epoch: newest });
        }
        if epoch > newest {
            self.remember(epoch)
                .map_err(|e| failed(format!("the agent cannot remember the leadership: {e}")))?;
        }
        Ok(())
    }

    /// The bundle that `apply` leads to, with what is needed of it.
    async fn resolve(&self, apply: Apply) -> Result<Arc<Target>, Outcome> {
        let (stored, live) = (self.stored(), self.live());
        let resolved = self.on_disk(move |bundles| {
            Have { bundles, stored: stored.as_deref(), live: live.target() }.resolve(apply)
        });
        resolved.await?.map(Arc::new)
    }

    fn running_digest(&self) -> Option<Digest> {
        self.running().map(|running| running.digest)
    }

    // --- operations --------------------------------------------------------------------------------

    /// Has HAProxy follow `apply` by operations; gives what it then runs.
    async fn operate_towards(
        &self,
        apply: Apply,
        operations: &[Operation],
    ) -> Result<(Arc<Target>, Outcome), Outcome> {
        let worker = self.meet().await.map_err(lost)?;
        if let Live::Unknown { why, .. } = self.live() {
            return Err(reload_may_help(why));
        }
        let (running, base) = (self.running_digest(), apply.base);
        let again = running == Some(apply.target);
        if running != base && !again {
            return Err(Outcome::Conflict { running });
        }
        let target = self.resolve(apply).await?;
        let done = |pid| Outcome::Applied { reloaded: false, worker_pid: pid, log: String::new() };
        if again && base != running {
            // The same order again.
            return Ok((target, done(worker.pid)));
        }
        let contents = self.contents(target.clone(), operations).await?;
        let under_way = Live::Unknown { from: self.running(), why: "operations were interrupted".to_owned() };
        let before = self.live();
        self.now_live(under_way)
            .map_err(|e| failed(format!("the agent cannot note what it does to HAProxy: {e}")))?;
        let outcome = match self.operate(operations, &contents).await {
            Ok(pid) if pid == worker.pid => Ok(done(pid)),
            Ok(_) => Err("HAProxy was restarted meanwhile".to_owned()),
            Err(why) => Err(why),
        };
        let live = match &outcome {
            _ if operations.is_empty() && outcome.is_err() => before,
            Ok(_) if self.stored().is_some_and(|stored| stored.digest == target.digest) => Live::Stored,
            Ok(_) => Live::Ahead(target.clone()),
            Err(why) => Live::Unknown { from: self.running(), why: why.clone() },
        };
        if outcome.is_ok() {
            self.set_setback(None);
        }
        self.note(live);
        Ok((target, outcome.map_err(reload_may_help)?))
    }

    /// The contents of the target's files that `operations` bring.
    async fn contents(&self, target: Arc<Target>, operations: &[Operation]) -> Result<Contents, Outcome> {
        let paths: Vec<String> =
            operations.iter().filter_map(command::content_of).map(str::to_owned).collect();
        if paths.is_empty() {
            return Ok(Contents::new());
        }
        let stored = self.stored();
        let read = self.on_disk(move |bundles| {
            let content = |path: String| {
                let content = target.content(bundles, stored.as_deref(), &path)?;
                Ok((path, content.to_string()))
            };
            paths.into_iter().map(content).collect::<std::io::Result<_>>()
        });
        read.await?.map_err(|e| reload_may_help(format!("a file cannot be read: {e}")))
    }

    // --- files -------------------------------------------------------------------------------------

    /// Stores a bundle; HAProxy goes on with what it runs. The files are written beside orders to HAProxy.
    async fn store(&self, apply: Apply) -> Result<Outcome, Outcome> {
        let stored = self.stored().map(|stored| stored.digest);
        let (base, target, epoch) = (apply.base, apply.target, apply.epoch);
        let again = stored == Some(target) && base != stored && self.intact().await;
        if stored != base && !again {
            return Err(Outcome::Conflict { running: stored });
        }
        if !again {
            let target = self.resolve(apply).await?;
            let written = self.write(target).await?;
            let _turn = self.take_turn(epoch).await?;
            self.count(written).await?;
        }
        let worker_pid = self.worker().map_or(0, |worker| worker.pid);
        Ok(Outcome::Applied { reloaded: false, worker_pid, log: String::new() })
    }

    async fn write(&self, target: Arc<Target>) -> Result<Stored, Outcome> {
        let before = self.stored();
        let written = self.on_disk(move |bundles| bundles.write(before.as_deref(), &target)).await?;
        written.map_err(|e| failed(format!("the files cannot be written: {e}")))
    }

    /// Makes a written bundle the one that counts, while HAProxy goes on with what it runs. Only with the turn.
    async fn count(&self, stored: Stored) -> Result<(), Outcome> {
        // Whoever started HAProxy since the last look had it begin with the files before these.
        let worker = self.meet().await.map_err(lost)?;
        let live = self.live_beside(&stored).await?;
        if !matches!(live, Live::Stored) {
            self.now_live(live.clone())
                .map_err(|e| failed(format!("the agent cannot note what HAProxy runs: {e}")))?;
        }
        self.activate(Some(stored.number())).await?;
        self.now_stored(stored);
        match self.current_worker().await {
            Ok(still) if still.identity() == worker => self.sockets.keep(still),
            _ => {
                self.lost_sight("HAProxy was started while its files were replaced");
                return Ok(());
            }
        }
        if matches!(live, Live::Stored) {
            self.note(live);
        }
        Ok(())
    }

    /// What HAProxy runs, as seen from the bundle that is to be stored.
    async fn live_beside(&self, now: &Stored) -> Result<Live, Outcome> {
        let running = match (self.live(), self.stored()) {
            (Live::Ahead(target), _) => target,
            (Live::Stored, Some(stored)) => Arc::new(stored.as_target()),
            (Live::Remembered(running), _) if running.digest == now.digest => return Ok(Live::Stored),
            (Live::Stored, None) => return Ok(Live::Unknown { from: None, why: NO_BUNDLE.to_owned() }),
            (live, _) => return Ok(live),
        };
        if running.digest == now.digest {
            return Ok(Live::Stored);
        }
        let (before, now) = (self.stored(), now.clone());
        let beside = self.on_disk(move |bundles| running.beside(bundles, before.as_deref(), &now)).await?;
        let beside = beside.map_err(|e| failed(format!("a file that HAProxy runs cannot be read: {e}")))?;
        Ok(Live::Ahead(Arc::new(beside)))
    }

    async fn activate(&self, number: Option<u64>) -> Result<(), NotUp> {
        let active = self.on_disk(move |bundles| bundles.activate(number)).await?;
        active.map_err(|e| NotUp::Failed(format!("the files cannot be put in place: {e}")))
    }

    // --- reload ------------------------------------------------------------------------------------

    async fn reload(self: &Arc<Self>, apply: Apply) -> Result<Outcome, Outcome> {
        let (running, base) = (self.running_digest(), apply.base);
        let is_there = self.live().is_exact() && running == Some(apply.target);
        if is_there && base != running && matches!(self.live(), Live::Stored) && self.intact().await {
            // The same order again.
            let worker_pid = self.meet().await.map_err(lost)?.pid;
            return Ok(Outcome::Applied { reloaded: false, worker_pid, log: String::new() });
        }
        if running != base {
            return Err(Outcome::Conflict { running });
        }
        let target = self.resolve(apply).await?;
        let old = self.stored().map(|stored| stored.number());
        let stored = self.write(target).await?;
        let number = stored.number();
        let brought = match self.put_in_place(number, old).await {
            Ok(()) => self.bring_up().await,
            Err(why) => Err(why),
        };
        match brought {
            Ok((worker, log)) => {
                self.reload_is_done();
                self.now_worker(worker.identity());
                self.now_stored(stored);
                self.set_setback(None);
                self.note(Live::Stored);
                Ok(Outcome::Applied { reloaded: true, worker_pid: worker.pid, log })
            }
            Err(problem) => {
                let back = self.activate(old).await;
                match &problem {
                    // The next agent, too, would not know what HAProxy runs.
                    NotUp::Lost(_) => self.lost_sight("HAProxy was lost while it was reloaded"),
                    // It runs what it ran, or starts with it.
                    _ if back.is_ok() => self.reload_is_done(),
                    _ => {}
                }
                if self.keeper.as_ref().is_some_and(|k| !k.is_up()) {
                    self.hurry();
                }
                self.on_disk(move |bundles| bundles.remove(number)).await?;
                back?;
                Err(problem.into())
            }
        }
    }

    /// Puts the new bundle where HAProxy reads it, and notes that HAProxy does not run it yet.
    async fn put_in_place(&self, new: u64, old: Option<u64>) -> Result<(), NotUp> {
        self.reload_is_due(old)
            .map_err(|e| NotUp::Failed(format!("the agent cannot note the reload: {e}")))?;
        self.activate(Some(new)).await
    }

    /// Reloads HAProxy, or starts it when it is down.
    pub(crate) async fn bring_up(&self) -> Result<(Worker, String), NotUp> {
        if let Some(keeper) = &self.keeper
            && !keeper.is_up()
            && keeper.start_now().await?
        {
            return Ok((self.current_worker().await?, String::new()));
        }
        let (success, log) = match self.sockets.reload().await {
            Ok(outcome) => outcome,
            Err(error) => self.reloaded_after_all().await.ok_or(error)?,
        };
        if !success {
            let _counted = self.look().await;
            let words = answer::failure(&log, &self.folder.current());
            return Err(if answer::is_refusal(&log) { NotUp::Refused(words) } else { NotUp::Failed(words) });
        }
        Ok((self.current_worker().await?, answer::remarks(&log, &self.folder.current())))
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

/// Why HAProxy does not run a bundle.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotUp {
    /// HAProxy's own words.
    #[error("{0}")]
    Refused(String),
    /// It was killed, could not be started, or was not asked: the agent's disk is in trouble.
    #[error("{0}")]
    Failed(String),
    /// It cannot be asked: it may have been killed meanwhile, whatever the bundle is.
    #[error(transparent)]
    Lost(#[from] SocketError),
}

impl From<NotStarted> for NotUp {
    fn from(why: NotStarted) -> Self {
        if why.is_refusal { Self::Refused(why.to_string()) } else { Self::Failed(why.to_string()) }
    }
}

impl From<NotUp> for Outcome {
    fn from(why: NotUp) -> Self {
        match why {
            NotUp::Refused(message) => Self::Refused { message, reload_may_help: false },
            NotUp::Failed(message) => failed(message),
            NotUp::Lost(error) => lost(error),
        }
    }
}

fn failed(message: String) -> Outcome {
    Outcome::Failed { message }
}

fn reload_may_help(message: String) -> Outcome {
    Outcome::Refused { message, reload_may_help: true }
}

fn lost(error: SocketError) -> Outcome {
    failed(error.to_string())
}
