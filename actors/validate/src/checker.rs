//! Phase 3: `haproxy -c` on a whole bundle, bounded in time, memory and number.

use crate::{
    binaries::{Binaries, Binary},
    durations::CheckDurations,
    folder::{self, Passwords},
    listeners,
    memory::{Budget, Loan, NO_MEMORY, Needs},
    process::{self, CheckBounds, CheckEnd, FinishedCheck},
    report,
    sandbox::{self, MissingProtection, Order, Sandbox},
    syntax::{self, Syntax},
    verdict::CheckVerdict,
};
use haptic_attribution::causes::Ruling;
use haptic_model::{Bundle, Diagnostic, HaproxyVersion, Severity, crd::Allowance};
use haptic_text::Digest;
use moka::sync::Cache;
use std::{sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{
    sync::{AcquireError, Semaphore, SemaphorePermit},
    time::Instant,
};

/// Verdicts remembered: enough for a fleet of versions and a configuration that goes to and fro.
const REMEMBERED: u64 = 64;

/// HAProxy ends so when there is nothing wrong but that nothing listens.
const NO_LISTENER: i32 = 2;

/// Who has begun this part of its memory and is refused was refused for it, whatever it says.
const LAST_PART: u64 = 16;
/// A check that ran out of memory takes more by this part of what it had, as far as anybody knows.
const TAKES_MORE: u64 = 4;

/// How much one check may use.
#[derive(Clone, Copy, Debug)]
pub struct CheckLimits {
    /// Wall-clock time.
    pub time: Duration,
    /// Address space in bytes, where the [`Budget`] does not give less.
    pub memory: u64,
    /// Checks at once: one a core, since each keeps a core busy.
    pub at_once: usize,
}

impl Default for CheckLimits {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { time: Duration::from_secs(30), memory: 4 << 30, at_once: cores }
    }
}

/// Checks bundles. Clones share the cache, the limit of checks at once and the memory.
#[derive(Clone, Debug)]
pub struct Checker {
    binaries: Binaries,
    limits: CheckLimits,
    end: Option<Instant>,
    timeout: CheckTimeout,
    /// Whether a bundle in which nothing listens is refused.
    needs_listener: bool,
    budget: Budget,
    needs: Needs,
    durations: CheckDurations,
    sandbox: Sandbox,
    slots: Arc<Semaphore>,
    syntax: Syntax,
    allow: Arc<[Allowance]>,
    known: Cache<CheckKey, Arc<Vec<Diagnostic>>>,
}

/// How much time of a CPU a check may take.
#[derive(Clone, Copy, Debug)]
enum CheckTimeout {
    /// As much as there is.
    All,
    /// As much as others as large took, and some more.
    AsOthers,
    /// As much as one object may take.
    AsOne,
}

/// Where HAProxy may run: its turn, its memory and its folder, all given back when this is dropped.
pub(crate) struct Room<'c> {
    pub folder: TempDir,
    pub order: Order,
    pub time: Duration,
    pub sandbox: &'c Sandbox,
    /// What is held for as long as it runs.
    pub _turn: (Result<SemaphorePermit<'c>, AcquireError>, Loan),
}

/// Why HAProxy cannot run.
#[derive(Debug)]
pub(crate) struct CannotRun {
    pub why: Diagnostic,
    /// Whether it is so on any machine.
    pub is_of_bundle: bool,
}

impl CannotRun {
    fn machine(why: Diagnostic) -> Self {
        Self { why, is_of_bundle: false }
    }

    pub fn of_machine(why: &impl std::fmt::Display) -> Self {
        Self::machine(cannot_run(why))
    }

    pub fn no_time() -> Self {
        Self::machine(no_time())
    }

    pub fn out_of_memory(memory: u64) -> Self {
        Self::machine(out_of_memory(memory))
    }
}

/// What an answer is remembered for.
type CheckKey = (Digest, Vec<HaproxyVersion>, Arc<[Allowance]>, bool);

impl Checker {
    /// A checker with these binaries, which run in this sandbox, and the memory of this process' container.
    #[must_use]
    pub fn new(binaries: Binaries, limits: CheckLimits, sandbox: Sandbox) -> Self {
        Self {
            binaries,
            limits,
            end: None,
            timeout: CheckTimeout::All,
            needs_listener: true,
            budget: Budget::of_this_process(),
            needs: Needs::default(),
            durations: CheckDurations::default(),
            sandbox,
            slots: Arc::new(Semaphore::new(limits.at_once.max(1))),
            syntax: Syntax::default(),
            allow: Arc::new([]),
            known: Cache::new(REMEMBERED),
        }
    }

    /// The same checker with another memory.
    #[must_use]
    pub fn within(&self, budget: Budget) -> Self {
        Self { budget, ..self.clone() }
    }

    /// Another checker with the same binaries that remembers by itself which syntax it read last, and waits for nobody but its
    /// own checks. What either of them found out about a bundle, both know.
    #[must_use]
    pub fn apart(&self, limits: CheckLimits) -> Self {
        let slots = Arc::new(Semaphore::new(limits.at_once.max(1)));
        Self { limits, slots, syntax: self.syntax.apart(), ..self.clone() }
    }

    /// Of syntax this checker knows from now on what the one that it was made [apart](Self::apart) from has read.
    pub fn catch_up(&self) {
        self.syntax.catch_up();
    }

    /// Gives back what is kept for the next bundle.
    pub fn forget(&self) {
        self.syntax.forget();
    }

    /// The same checker for a configuration with this `allow`.
    #[must_use]
    pub fn allowing(&self, allow: &[Allowance]) -> Self {
        Self { allow: allow.into(), ..self.clone() }
    }

    /// The same checker for somebody who waits until `end`: no check goes on after it.
    #[must_use]
    pub fn until(&self, end: Instant) -> Self {
        Self { end: Some(end), ..self.clone() }
    }

    /// The same checker for somebody who takes a check that needs much more of a CPU than others as large for a failed one.
    #[must_use]
    pub fn impatient(&self) -> Self {
        Self { timeout: CheckTimeout::AsOthers, ..self.clone() }
    }

    /// What its checks are not protected by, and why.
    #[must_use]
    pub fn unprotected_by(&self) -> Vec<MissingProtection> {
        self.sandbox.missing()
    }

    /// The newest binary that it has.
    #[must_use]
    pub fn newest(&self) -> Option<&Binary> {
        self.binaries.nearest(None)
    }

    /// Checks `bundle` for every one of `versions` (none: the newest binary's). Dropping the future ends the check.
    pub async fn check(&self, bundle: &Bundle, versions: &[HaproxyVersion]) -> CheckVerdict {
        let start = Instant::now();
        let diagnostics = self.syntax(bundle, versions).await;
        if !diagnostics.is_empty() {
            return CheckVerdict { diagnostics, took: start.elapsed(), ..CheckVerdict::default() };
        }
        self.semantics(bundle, versions).await
    }

    /// Phase 1 alone: what the keyword tables know, in milliseconds.
    pub async fn syntax(&self, bundle: &Bundle, versions: &[HaproxyVersion]) -> Vec<Diagnostic> {
        let newest = self.binaries.nearest(None).map(|b| b.version);
        let versions = if versions.is_empty() { newest.into_iter().collect() } else { versions.to_vec() };
        let (bundle, syntax, allow) = (bundle.clone(), self.syntax.clone(), self.allow.clone());
        let work = tokio::task::spawn_blocking(move || syntax.problems(&bundle, &versions, &allow));
        work.await
            .unwrap_or_else(|e| vec![Diagnostic::error("syntax", format!("the syntax check failed: {e}"))])
    }

    /// Phase 1 of a bundle that is none of those that come one after another: nothing of it is kept.
    pub async fn syntax_alone(&self, bundle: Bundle, versions: &[HaproxyVersion]) -> Vec<Diagnostic> {
        let newest = self.binaries.nearest(None).map(|b| b.version);
        let versions = if versions.is_empty() { newest.into_iter().collect() } else { versions.to_vec() };
        let allow = self.allow.clone();
        let work = tokio::task::spawn_blocking(move || syntax::problems(&bundle, &versions, &allow));
        work.await
            .unwrap_or_else(|e| vec![Diagnostic::error("syntax", format!("the syntax check failed: {e}"))])
    }

    /// Bytes that phase 1 keeps for the next bundle.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.syntax.bytes()
    }

    /// Phase 3 alone: `haproxy -c` of each version, for a bundle that has passed phase 1.
    pub async fn semantics(&self, bundle: &Bundle, versions: &[HaproxyVersion]) -> CheckVerdict {
        let start = Instant::now();
        let key = (bundle.digest, versions.to_vec(), self.allow.clone(), self.needs_listener);
        if let Some(known) = self.known.get(&key) {
            return CheckVerdict {
                diagnostics: known.to_vec(),
                took: start.elapsed(),
                cached: true,
                ..CheckVerdict::default()
            };
        }
        let (mut diagnostics, mut undecided) = (Vec::new(), false);
        let mut work = Duration::ZERO;
        for (binary, warning) in self.binaries_for(versions) {
            diagnostics.extend(warning);
            match self.run(binary, bundle, &mut work).await {
                Ok(found) => diagnostics.extend(found),
                Err(why) => {
                    undecided = true;
                    diagnostics.push(why);
                }
            }
        }
        let with_listeners = bundle.clone();
        let warned = tokio::task::spawn_blocking(move || listeners::warnings(&with_listeners)).await;
        diagnostics.extend(warned.unwrap_or_default());
        if !undecided {
            self.known.insert(key, Arc::new(diagnostics.clone()));
        }
        CheckVerdict { diagnostics, took: start.elapsed(), work, cached: false, undecided }
    }

    /// Phase 3 of a part of a bundle, that of so many objects, by somebody who is impatient. It need not listen anywhere.
    pub async fn ruling_on_part(
        &self,
        bundle: &Bundle,
        objects: usize,
        versions: &[HaproxyVersion],
    ) -> Ruling {
        let timeout = if objects == 1 { CheckTimeout::AsOne } else { CheckTimeout::AsOthers };
        let checker = Self { timeout, needs_listener: false, ..self.clone() };
        checker.semantics(bundle, versions).await.ruling()
    }

    /// The binary for each version, once, with a warning where it is another version.
    fn binaries_for(&self, versions: &[HaproxyVersion]) -> Vec<(&Binary, Option<Diagnostic>)> {
        if versions.is_empty() {
            return self.binaries.nearest(None).map(|b| (b, None)).into_iter().collect();
        }
        let mut chosen: Vec<(&Binary, Option<Diagnostic>)> = Vec::new();
        for version in versions {
            let Some(binary) = self.binaries.nearest(Some(*version)) else { continue };
            if !chosen.iter().any(|(b, _)| *b == binary) {
                chosen.push((
                    binary,
                    (binary.version != *version).then(|| other_version(*version, binary.version)),
                ));
            }
        }
        chosen
    }

    /// What HAProxy says; or why it could not be asked. `work` grows by what it took of a CPU.
    async fn run(
        &self,
        binary: &Binary,
        bundle: &Bundle,
        work: &mut Duration,
    ) -> Result<Vec<Diagnostic>, Diagnostic> {
        let arguments = ["-c", "-dr", "-f", folder::PREAMBLE, "-f", folder::below(&bundle.config.path)];
        let room = match self.room(binary, bundle, &arguments, Passwords::Cheap).await {
            Ok(room) => room,
            Err(CannotRun { why, is_of_bundle: true }) => return Ok(vec![why]),
            Err(CannotRun { why, .. }) => return Err(why),
        };
        let memory = room.order.memory;
        let bounds = CheckBounds { wall: room.time, cpu: self.work_allowed(bundle) };
        let (command, launcher) = (self.sandbox.command(room.order), self.sandbox.launcher());
        let ended = process::run(command, launcher, room.folder.path(), bounds).await;
        match ended.map_err(|error| cannot_run(&format!("{}: {error}", binary.path.display())))? {
            CheckEnd::TooLate(time) => Err(too_slow("", time)),
            CheckEnd::TooMuchWork(time) => Err(too_slow(" of a CPU", time)),
            CheckEnd::Finished(ended) => {
                *work += ended.work;
                self.conclude(bundle, &ended, memory)
            }
        }
    }

    /// A place to run HAProxy for requests, with the binary nearest to `version`.
    pub(crate) async fn room_to_answer(
        &self,
        bundle: &Bundle,
        version: HaproxyVersion,
    ) -> Result<Room<'_>, CannotRun> {
        let nowhere = || CannotRun::of_machine(&"there is no HAProxy");
        let binary = self.binaries.nearest(Some(version)).ok_or_else(nowhere)?;
        let arguments = ["-db", "-dr", "-f", folder::PREAMBLE, "-f", folder::below(&bundle.config.path)];
        let mut room = self.room(binary, bundle, &arguments, Passwords::AsTheyAre).await?;
        room.order.answers = true;
        room.order.names = false;
        Ok(room)
    }

    /// Waits for its turn and for memory, and lays out `bundle` for `haproxy` with `arguments`.
    async fn room(
        &self,
        binary: &Binary,
        bundle: &Bundle,
        arguments: &[&str],
        passwords: Passwords,
    ) -> Result<Room<'_>, CannotRun> {
        let waited = async {
            let slot = self.slots.acquire().await;
            (slot, self.budget.lend(self.needs.of(bundle)).await)
        };
        let (slot, loan) = match self.end {
            None => waited.await,
            Some(end) => tokio::time::timeout_at(end, waited).await.map_err(|_| CannotRun::no_time())?,
        };
        let loan = loan.map_err(|why| {
            CannotRun::machine(Diagnostic::error("haproxy", why.to_string()).help(why.help()))
        })?;
        let time = self.time_left();
        if time.is_zero() {
            return Err(CannotRun::no_time());
        }
        let laid_out = bundle.clone();
        let folder = match tokio::task::spawn_blocking(move || folder::lay_out(&laid_out, passwords)).await {
            Ok(Ok(folder)) => folder,
            // No machine could write that file.
            Ok(Err(error)) => {
                return Err(CannotRun { is_of_bundle: error.is_of_file(), why: error.diagnostic(bundle) });
            }
            Err(panicked) => return Err(CannotRun::of_machine(&panicked)),
        };
        let order = self.order(binary, arguments, time, &loan);
        Ok(Room { folder, order, time, sandbox: &self.sandbox, _turn: (slot, loan) })
    }

    fn conclude(
        &self,
        bundle: &Bundle,
        ended: &FinishedCheck,
        memory: u64,
    ) -> Result<Vec<Diagnostic>, Diagnostic> {
        let took_all = ended.most.is_some_and(|most| most > memory - memory / LAST_PART);
        if report::is_out_of_memory(&ended.output) || (took_all && !ended.status.success()) {
            self.needs.learn(bundle, memory + memory / TAKES_MORE);
            return Err(out_of_memory(memory));
        }
        let mut found = report::diagnostics(&ended.output, bundle);
        let is_refused = found.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        if ended.status.code() == Some(NO_LISTENER) && !is_refused {
            let refused = Diagnostic::error("haproxy", NOTHING_LISTENS);
            found.extend(self.needs_listener.then(|| refused.help("Write a frontend with a bind line")));
        } else if !ended.status.success() && !is_refused {
            // HAProxy never refuses without an alert. Without one it was killed, or never ran.
            let last = ended.output.lines().last().unwrap_or("it said nothing");
            return Err(unexplained(ended.status, &bundle.redacted(last), memory));
        } else if ended.status.success() {
            self.durations.learn(bundle.size(), ended.work);
        }
        if let Some(most) = ended.most {
            self.needs.learn(bundle, most);
        }
        Ok(found)
    }

    /// How long a check may last that begins now.
    fn time_left(&self) -> Duration {
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        left.map_or(self.limits.time, |left| left.min(self.limits.time))
    }

    /// How much time of a CPU a check may take, where others are the measure.
    fn work_allowed(&self, bundle: &Bundle) -> Option<Duration> {
        match self.timeout {
            CheckTimeout::All => None,
            CheckTimeout::AsOthers => Some(self.durations.allowed(bundle.size())),
            CheckTimeout::AsOne => Some(self.durations.allowed_for_one(bundle.size())),
        }
    }

    /// What `binary` may use with `arguments`.
    fn order(&self, binary: &Binary, arguments: &[&str], time: Duration, loan: &Loan) -> Order {
        let command = std::iter::once(binary.path.clone().into()).chain(arguments.iter().map(Into::into));
        Order {
            memory: loan.bytes.map_or(self.limits.memory, |bytes| self.limits.memory.min(bytes + NO_MEMORY)),
            // The clock on the wall ends it before.
            seconds: time.as_secs() + 1,
            names: self.allow.contains(&Allowance::HostNames),
            outside: self.allow.contains(&Allowance::OutsideFiles),
            files: binary.files.clone(),
            command: command.collect(),
            ..Order::default()
        }
    }
}

fn other_version(wanted: HaproxyVersion, used: HaproxyVersion) -> Diagnostic {
    Diagnostic::warning("haproxy", format!("no HAProxy {wanted} to check with: {used} checks in its place"))
        .help("Use a controller image that carries the fleet's version")
}

const NOTHING_LISTENS: &str = "HAProxy would not start: nothing in the configuration listens";

fn no_time() -> Diagnostic {
    let nothing = "no time was left for haproxy -c: rendering, or other checks, took it";
    Diagnostic::error("haproxy", nothing).help("Give the controller more CPU")
}

fn too_slow(of: &str, time: Duration) -> Diagnostic {
    let limit = time.as_secs_f32().ceil();
    Diagnostic::error("haproxy", format!("haproxy -c did not end within {limit} s{of}"))
        .help("Make the configuration smaller or give the controller more CPU")
}

fn out_of_memory(memory: u64) -> Diagnostic {
    Diagnostic::error("haproxy", format!("haproxy -c ran out of memory: it had {} MB", memory >> 20))
        .help("Make the configuration smaller or give the controller more memory")
}

fn cannot_run(why: &impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error("haproxy", format!("the check could not run: {why}"))
}

fn unexplained(status: std::process::ExitStatus, last: &str, memory: u64) -> Diagnostic {
    if status.code() == Some(i32::from(sandbox::CANNOT_EXECUTE)) {
        let help =
            "No script is run in the sandbox of checks: give the path of a HAProxy binary with --haproxy";
        return cannot_run(&last.trim_start_matches("haptic: ")).help(help);
    }
    let diagnostic = Diagnostic::error("haproxy", format!("haproxy -c ended with {status}: {last}"));
    diagnostic.help(format!("If it ran out of memory: it had {} MB", memory >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

    #[test]
    fn of_what_cannot_be_executed_nothing_is_said_of_memory() {
        let ended = |code: i32, last: &str| unexplained(ExitStatus::from_raw(code << 8), last, 1 << 30);
        let script = ended(126, "haptic: ./hp cannot be executed: No such file or directory").to_string();
        assert!(script.starts_with("the check could not run: ./hp cannot be executed"), "{script}");
        assert!(script.contains("with --haproxy") && !script.contains("memory"), "{script}");
        assert!(ended(2, "it said nothing").to_string().contains("If it ran out of memory: it had 1024 MB"));
    }
}
