//! Carrying out an order: checks first, then runtime operations or a reload, then what counts on disk. One at a time; only
//! the writing of files goes on beside operations.

use super::{LoadedBundle, RunningState, addresses};
use crate::{
    disk::{
        Disk, DiskError,
        bundles::StoredBundle,
        target::{Available, TargetBundle, UnverifiedTarget},
    },
    haproxy::{HaproxyProcess, NotUp, channel::SocketError, connection::Worker},
    ops::{
        self, Contents,
        run::{RunError, run},
    },
};
use haptic_model::{
    Epoch, Operation,
    agent_api::{Apply, Method, Outcome},
};
use haptic_text::Digest;
use std::sync::Arc;
use tokio::{sync::MutexGuard, time::Instant};

/// Why operations cannot follow after files were stored beside the bootstrap file.
const NO_BUNDLE: &str = "HAProxy runs the bootstrap file";

impl RunningState {
    /// Carries out `apply`.
    pub(crate) async fn apply(&self, apply: Apply) -> Outcome {
        let begun = Instant::now();
        let method = match &apply.method {
            Method::Runtime { operations, .. } => format!("{} runtime operations", operations.len()),
            Method::Store => "store".to_owned(),
            Method::Reload { reason } => format!("reload: {reason}"),
        };
        let (generation, bundle) = (apply.generation.0, apply.target.short());
        let order = ApplyOrder { state: self, disk: &self.disk, haproxy: &self.haproxy };
        let outcome = order.carry_out(apply).await.unwrap_or_else(|refused| refused);
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
}

/// Where operations lead.
enum OperatedTarget {
    /// Operations bring some of its contents.
    Verified(Arc<TargetBundle>),
    /// HAProxy is sent none of its contents: they are verified beside the operations.
    Unverified(UnverifiedTarget),
}

/// An order on its way, with what it changes.
struct ApplyOrder<'a> {
    state: &'a RunningState,
    disk: &'a Disk,
    haproxy: &'a HaproxyProcess,
}

impl<'a> ApplyOrder<'a> {
    async fn carry_out(&self, apply: Apply) -> Result<Outcome, Outcome> {
        self.check_epoch(apply.epoch)?;
        match apply.method.clone() {
            Method::Runtime { operations, store: false } => {
                let _lock = self.lock(apply.epoch).await?;
                self.operate(apply, &operations).await.map(|(_, outcome)| outcome)
            }
            Method::Runtime { operations, store: true } => {
                let _writing = self.disk.writing.lock().await;
                let _lock = self.lock(apply.epoch).await?;
                let (target, outcome) = self.operate(apply, &operations).await?;
                if self.disk.stored().is_none_or(|stored| stored.digest != target.digest) {
                    let stored = self.disk.write(target).await?;
                    self.count(stored).await?;
                }
                Ok(outcome)
            }
            Method::Store => {
                let _writing = self.disk.writing.lock().await;
                self.store(apply).await
            }
            Method::Reload { .. } => {
                let _writing = self.disk.writing.lock().await;
                let _lock = self.lock(apply.epoch).await?;
                self.reload(apply).await
            }
        }
    }

    /// The apply lock; a newer leader may have sent an order while it was waited for.
    async fn lock(&self, epoch: Epoch) -> Result<MutexGuard<'a, ()>, Outcome> {
        let lock = self.state.apply_lock.lock().await;
        if *self.state.ending.borrow() {
            return Err(failed("the agent ends".to_owned()));
        }
        self.check_epoch(epoch)?;
        Ok(lock)
    }

    /// Refuses an older leadership, stores a newer one.
    fn check_epoch(&self, epoch: Epoch) -> Result<(), Outcome> {
        let newest = self.disk.epoch();
        // Without an election there is one controller, and nothing that its orders could be older than.
        if epoch == Epoch::default() {
            return Ok(());
        }
        if epoch < newest {
            return Err(Outcome::Stale { epoch: newest });
        }
        if epoch > newest {
            let stored = self.disk.store_epoch(epoch);
            stored.map_err(|e| failed(format!("the agent cannot remember the leadership: {e}")))?;
        }
        Ok(())
    }

    /// The bundle that `apply` leads to, as far as its files' digests say. Only a repair looks at files for it, and is worth another thread.
    async fn accept(&self, loaded: LoadedBundle, apply: Apply) -> Result<UnverifiedTarget, Outcome> {
        let stored = self.disk.stored();
        if stored.as_ref().is_some_and(|stored| stored.digest == apply.target) {
            return self.of_available(loaded, |available| available.accept(apply)).await;
        }
        let (bundles, live) = (self.disk.bundles(), loaded.unsaved());
        Available { bundles, stored: stored.as_deref(), live }.accept(apply)
    }

    /// The bundle that `apply` leads to, with what is needed of it.
    async fn resolve(&self, apply: Apply) -> Result<Arc<TargetBundle>, Outcome> {
        self.of_available(self.state.loaded(), |available| available.resolve(apply)).await.map(Arc::new)
    }

    /// `target` with its contents, when HAProxy ran `loaded` before any operation.
    async fn verify(
        &self,
        target: OperatedTarget,
        loaded: LoadedBundle,
    ) -> Result<Arc<TargetBundle>, Outcome> {
        match target {
            OperatedTarget::Verified(target) => Ok(target),
            OperatedTarget::Unverified(target) => {
                self.of_available(loaded, |available| available.verify(target)).await.map(Arc::new)
            }
        }
    }

    /// What `ask` makes of the files that there are, while HAProxy runs `loaded`.
    async fn of_available<T: Send + 'static>(
        &self,
        loaded: LoadedBundle,
        ask: impl FnOnce(Available<'_>) -> Result<T, Outcome> + Send + 'static,
    ) -> Result<T, Outcome> {
        let asked =
            self.disk.run(move |bundles, stored| ask(Available { bundles, stored, live: loaded.unsaved() }));
        asked.await?
    }

    fn running_digest(&self) -> Option<Digest> {
        self.state.running().map(|running| running.digest)
    }

    // --- operations --------------------------------------------------------------------------------

    /// Has HAProxy follow `apply` by operations; gives what it then runs.
    async fn operate(
        &self,
        apply: Apply,
        operations: &[Operation],
    ) -> Result<(Arc<TargetBundle>, Outcome), Outcome> {
        let mut worker = self.state.connect().await?;
        let outcome = self.operate_on(&mut worker, apply, operations).await;
        self.haproxy.sockets.keep(worker);
        outcome
    }

    async fn operate_on(
        &self,
        worker: &mut Worker,
        apply: Apply,
        operations: &[Operation],
    ) -> Result<(Arc<TargetBundle>, Outcome), Outcome> {
        let before = self.state.loaded();
        if let LoadedBundle::Unknown { why, .. } = before {
            return Err(reload_may_help(why));
        }
        let (running, base) = (self.running_digest(), apply.base);
        let again = running == Some(apply.target);
        if running != base && !again {
            return Err(Outcome::Conflict { running });
        }
        if again && base != running {
            // The same order again.
            return Ok((self.resolve(apply).await?, applied(worker.pid)));
        }
        let accepted = self.accept(before.clone(), apply).await?;
        let brought: Vec<String> = operations.iter().filter_map(ops::content_of).map(str::to_owned).collect();
        let mut target = OperatedTarget::Unverified(accepted);
        let mut contents = Contents::new();
        // What brings a content waits for it, and so does what brings nothing: then HAProxy is as it was, whatever is wrong.
        if !brought.is_empty() || operations.is_empty() {
            let verified = self.verify(target, before.clone()).await?;
            contents = self.contents(verified.clone(), brought).await?;
            target = OperatedTarget::Verified(verified);
        }
        let from = self.state.running();
        let unknown = |why: String| LoadedBundle::Unknown { from, why };
        if let Err(e) = self.state.set_loaded(unknown("operations were interrupted".to_owned())) {
            // Nothing was sent: HAProxy runs what it ran, and no reload is needed once this can be noted.
            self.state.lock().loaded = before;
            return Err(failed(format!("the agent cannot note what it does to HAProxy: {e}")));
        }
        let (done, verified) = tokio::join!(
            run(self.haproxy, worker, operations, &contents),
            self.verify(target, before.clone()),
        );
        let nothing_sent = operations.is_empty() || matches!(done, Err(RunError::NotSent(_)));
        let outcome = done.map_err(|why| why.to_string()).and_then(|()| verified.map_err(unverified));
        let loaded = match &outcome {
            Err(_) if nothing_sent => before,
            Ok(target) if self.disk.stored().is_some_and(|stored| stored.digest == target.digest) => {
                LoadedBundle::Stored
            }
            Ok(target) => LoadedBundle::Unsaved(target.clone()),
            Err(why) => unknown(why.clone()),
        };
        if outcome.is_ok() {
            self.state.lock().last_failure = None;
        }
        self.state.note_loaded(loaded);
        let target = outcome.map_err(reload_may_help)?;
        Ok((target, applied(worker.pid)))
    }

    /// The contents of these of the target's files.
    async fn contents(&self, target: Arc<TargetBundle>, paths: Vec<String>) -> Result<Contents, Outcome> {
        let read = self.disk.run(move |bundles, stored| {
            let content = |path: String| {
                let content = target.content(bundles, stored, &path)?;
                Ok((path, content.to_string()))
            };
            paths.into_iter().map(content).collect::<std::io::Result<_>>()
        });
        read.await?.map_err(|e| reload_may_help(format!("a file cannot be read: {e}")))
    }

    // --- files -------------------------------------------------------------------------------------

    /// Stores a bundle; HAProxy goes on with what it runs. The files are written beside orders to HAProxy.
    async fn store(&self, apply: Apply) -> Result<Outcome, Outcome> {
        let stored = self.disk.stored().map(|stored| stored.digest);
        let (base, target, epoch) = (apply.base, apply.target, apply.epoch);
        let again = stored == Some(target) && base != stored && self.disk.intact().await;
        if stored != base && !again {
            return Err(Outcome::Conflict { running: stored });
        }
        if !again {
            let target = self.resolve(apply).await?;
            let written = self.disk.write(target).await?;
            let _lock = self.lock(epoch).await?;
            self.count(written).await?;
        }
        Ok(applied(self.state.lock().worker.map_or(0, |worker| worker.pid)))
    }

    /// Makes a written bundle the one that counts, while HAProxy goes on with what it runs. Only with the apply lock.
    async fn count(&self, stored: StoredBundle) -> Result<(), Outcome> {
        // A HAProxy that was started since it was last looked at began with the files before these.
        let worker = self.state.connect_idle().await?;
        let loaded = self.loaded_beside(&stored).await?;
        if !matches!(loaded, LoadedBundle::Stored) {
            self.state
                .set_loaded(loaded.clone())
                .map_err(|e| failed(format!("the agent cannot note what HAProxy runs: {e}")))?;
        }
        self.disk.activate(Some(stored.number())).await?;
        self.disk.set_stored(stored);
        match self.haproxy.current_worker().await {
            Ok(still) if still.identity() == worker => self.haproxy.sockets.keep(still),
            _ => {
                self.state.lose("HAProxy was started while its files were replaced");
                return Ok(());
            }
        }
        if matches!(loaded, LoadedBundle::Stored) {
            self.state.note_loaded(loaded);
        }
        Ok(())
    }

    /// What HAProxy runs, as seen from the bundle that is to be stored.
    async fn loaded_beside(&self, now: &StoredBundle) -> Result<LoadedBundle, Outcome> {
        let running = match (self.state.loaded(), self.state.target()) {
            (LoadedBundle::Unsaved(_) | LoadedBundle::Stored, Some(target)) => target,
            (LoadedBundle::Recorded(running), _) if running.digest == now.digest => {
                return Ok(LoadedBundle::Stored);
            }
            (LoadedBundle::Stored, None) => {
                return Ok(LoadedBundle::Unknown { from: None, why: NO_BUNDLE.to_owned() });
            }
            (loaded, _) => return Ok(loaded),
        };
        if running.digest == now.digest {
            return Ok(LoadedBundle::Stored);
        }
        let now = now.clone();
        let beside = self.disk.run(move |bundles, before| running.beside(bundles, before, &now)).await?;
        let beside = beside.map_err(|e| failed(format!("a file that HAProxy runs cannot be read: {e}")))?;
        Ok(LoadedBundle::Unsaved(Arc::new(beside)))
    }

    // --- reload ------------------------------------------------------------------------------------

    async fn reload(&self, apply: Apply) -> Result<Outcome, Outcome> {
        let (running, base) = (self.running_digest(), apply.base);
        let is_there = matches!(self.state.loaded(), LoadedBundle::Stored) && running == Some(apply.target);
        if is_there && base != running && self.disk.intact().await {
            // The same order again.
            return Ok(applied(self.state.connect_idle().await?.pid));
        }
        if running != base {
            return Err(Outcome::Conflict { running });
        }
        let target = self.resolve(apply).await?;
        self.refuse_taken_addresses(&target).await?;
        let old = self.disk.stored().map(|stored| stored.number());
        let stored = self.disk.write(target).await?;
        let number = stored.number();
        let brought = match self.put_in_place(number, old).await {
            Ok(()) => self.haproxy.bring_up().await,
            Err(why) => Err(why.into()),
        };
        match brought {
            Ok((worker, log)) => {
                self.disk.end_reload();
                self.state.set_worker(worker.identity());
                self.disk.set_stored(stored);
                self.state.lock().last_failure = None;
                self.state.note_loaded(LoadedBundle::Stored);
                Ok(Outcome::Applied { reloaded: true, worker_pid: worker.pid, log })
            }
            Err(problem) => {
                let back = self.disk.activate(old).await;
                match &problem {
                    // The next agent, too, would not know what HAProxy runs.
                    NotUp::Lost(_) => self.state.lose("HAProxy was lost while it was reloaded"),
                    // It runs what it ran, or starts with it.
                    _ if back.is_ok() => self.disk.end_reload(),
                    _ => {}
                }
                self.haproxy.start_soon();
                self.disk.remove(number).await?;
                back?;
                Err(problem.into())
            }
        }
    }

    /// Refuses what listens where somebody else does, in HAProxy's words, before HAProxy meets it. One that the agent does not start may
    /// have another network.
    async fn refuse_taken_addresses(&self, target: &Arc<TargetBundle>) -> Result<(), Outcome> {
        if !self.haproxy.is_supervised() {
            return Ok(());
        }
        let wanted = target.clone();
        let new = self.disk.run(move |bundles, stored| {
            let after = wanted.content(bundles, stored, &wanted.config).ok()?;
            let before = stored.and_then(|stored| {
                let target = stored.as_target();
                target.content(bundles, Some(stored), &target.config).ok()
            });
            Some(addresses::new_addresses(&before.unwrap_or_default().text(), &after.text()))
        });
        match addresses::taken(&new.await?.unwrap_or_default()) {
            None => Ok(()),
            Some((line, address)) => Err(Outcome::Refused {
                message: format!(
                    "Binding [{}:{line}]: cannot bind socket (Address already in use) for [{address}]",
                    target.config
                ),
                reload_may_help: false,
            }),
        }
    }

    /// Puts the new bundle where HAProxy reads it, and notes that HAProxy does not run it yet.
    async fn put_in_place(&self, new: u64, old: Option<u64>) -> Result<(), DiskError> {
        self.disk.begin_reload(old)?;
        self.disk.activate(Some(new)).await
    }
}

impl From<DiskError> for NotUp {
    fn from(why: DiskError) -> Self {
        Self::Failed(why.to_string())
    }
}

impl From<NotUp> for Outcome {
    fn from(why: NotUp) -> Self {
        match why {
            NotUp::Refused(message) => Self::Refused { message, reload_may_help: false },
            NotUp::Failed(message) => failed(message),
            NotUp::Lost(error) => error.into(),
        }
    }
}

impl From<DiskError> for Outcome {
    fn from(why: DiskError) -> Self {
        failed(why.to_string())
    }
}

impl From<SocketError> for Outcome {
    fn from(why: SocketError) -> Self {
        failed(why.to_string())
    }
}

/// Without a reload.
fn applied(worker_pid: u32) -> Outcome {
    Outcome::Applied { reloaded: false, worker_pid, log: String::new() }
}

/// Why operations that HAProxy carried out lead to no bundle that the agent has.
fn unverified(why: Outcome) -> String {
    match why {
        Outcome::Failed { message } => message,
        Outcome::Missing { paths } => {
            format!("what the contents of {} were made from is gone", paths.join(", "))
        }
        other => format!("the bundle's contents cannot be verified: {other:?}"),
    }
}

fn failed(message: String) -> Outcome {
    Outcome::Failed { message }
}

fn reload_may_help(message: String) -> Outcome {
    Outcome::Refused { message, reload_may_help: true }
}
