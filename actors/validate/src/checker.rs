//! Phase 3: `haproxy -c` on a whole bundle, bounded in time, memory and number.

use crate::{
    binaries::{Binaries, Binary},
    folder, report,
    sandbox::{Missing, Order, Sandbox},
    syntax::{self, Syntax},
    verdict::Verdict,
};
use haptic_model::{Bundle, Diagnostic, Digest, HaproxyVersion, crd::Allowance};
use moka::sync::Cache;
use std::{process::Stdio, sync::Arc, time::Duration};
use tokio::{io::AsyncReadExt, process::Command, sync::Semaphore, time::Instant};

/// Verdicts remembered: enough for a fleet of versions and a configuration that goes to and fro.
const REMEMBERED: u64 = 64;

/// Most of a check's output that is read.
const OUTPUT_LIMIT: u64 = 1 << 20;

/// How much one check may use.
#[derive(Clone, Copy, Debug)]
pub struct CheckLimits {
    /// Wall-clock time.
    pub time: Duration,
    /// Address space in bytes.
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

/// Checks bundles. Clones share the cache and the limit of checks at once.
#[derive(Clone, Debug)]
pub struct Checker {
    binaries: Binaries,
    limits: CheckLimits,
    end: Option<Instant>,
    sandbox: Sandbox,
    slots: Arc<Semaphore>,
    syntax: Syntax,
    allow: Arc<[Allowance]>,
    known: Cache<Question, Arc<Vec<Diagnostic>>>,
}

/// What an answer is remembered for.
type Question = (Digest, Vec<HaproxyVersion>, Arc<[Allowance]>);

impl Checker {
    /// A checker with these binaries, which run in this sandbox.
    #[must_use]
    pub fn new(binaries: Binaries, limits: CheckLimits, sandbox: Sandbox) -> Self {
        let slots = Arc::new(Semaphore::new(limits.at_once.max(1)));
        let (syntax, known) = (Syntax::default(), Cache::new(REMEMBERED));
        Self { binaries, limits, end: None, sandbox, slots, syntax, allow: Arc::new([]), known }
    }

    /// Another checker with the same binaries that remembers by itself which syntax it read last, and waits for nobody but its
    /// own checks. What either of them found out about a bundle, both know.
    #[must_use]
    pub fn apart(&self, limits: CheckLimits) -> Self {
        let slots = Arc::new(Semaphore::new(limits.at_once.max(1)));
        Self { limits, slots, syntax: Syntax::default(), ..self.clone() }
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

    /// What its checks are not protected by, and why.
    #[must_use]
    pub fn unprotected_by(&self) -> Vec<Missing> {
        self.sandbox.missing()
    }

    /// The newest binary that it has.
    #[must_use]
    pub fn newest(&self) -> Option<&Binary> {
        self.binaries.nearest(None)
    }

    /// Checks `bundle` for every one of `versions` (none: the newest binary's). Dropping the future ends the check.
    pub async fn check(&self, bundle: &Bundle, versions: &[HaproxyVersion]) -> Verdict {
        let start = Instant::now();
        let diagnostics = self.syntax(bundle, versions).await;
        if !diagnostics.is_empty() {
            return Verdict { diagnostics, took: start.elapsed(), ..Verdict::default() };
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
    pub async fn semantics(&self, bundle: &Bundle, versions: &[HaproxyVersion]) -> Verdict {
        let start = Instant::now();
        let key = (bundle.digest, versions.to_vec(), self.allow.clone());
        if let Some(known) = self.known.get(&key) {
            return Verdict {
                diagnostics: known.to_vec(),
                took: start.elapsed(),
                cached: true,
                undecided: false,
            };
        }
        let (mut diagnostics, mut undecided) = (Vec::new(), false);
        for (binary, warning) in self.binaries_for(versions) {
            diagnostics.extend(warning);
            match self.run(binary, bundle).await {
                Ok(found) => diagnostics.extend(found),
                Err(why) => {
                    undecided = true;
                    diagnostics.push(why);
                }
            }
        }
        if !undecided {
            self.known.insert(key, Arc::new(diagnostics.clone()));
        }
        Verdict { diagnostics, took: start.elapsed(), cached: false, undecided }
    }

    /// As [`Self::semantics`], asked once more when the first check did not come to its end.
    pub async fn semantics_at_length(&self, bundle: &Bundle, versions: &[HaproxyVersion]) -> Verdict {
        let verdict = self.semantics(bundle, versions).await;
        if verdict.undecided { self.semantics(bundle, versions).await } else { verdict }
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

    /// What HAProxy says; or why it could not be asked.
    async fn run(&self, binary: &Binary, bundle: &Bundle) -> Result<Vec<Diagnostic>, Diagnostic> {
        let failed = |what: String| Diagnostic::error("haproxy", format!("the check could not run: {what}"));
        let _slot = self.slots.acquire().await.map_err(|e| failed(e.to_string()))?;
        let time = self.time_left();
        if time.is_zero() {
            let nothing = "no time was left for haproxy -c: rendering, or other checks, took it";
            return Err(Diagnostic::error("haproxy", nothing).help("Give the controller more CPU"));
        }
        let laid_out = bundle.clone();
        let folder = tokio::task::spawn_blocking(move || folder::lay_out(&laid_out))
            .await
            .map_err(|e| failed(e.to_string()))?
            .map_err(|e| failed(e.to_string()))?;
        let (program, words) = self.sandbox.command(self.order(binary, bundle));
        let mut child = Command::new(program)
            .args(words)
            .current_dir(folder.path())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| failed(format!("{}: {e}", binary.path.display())))?;
        let finish = async {
            let mut output = Vec::new();
            if let Some(said) = child.stderr.take() {
                let mut beginning = said.take(OUTPUT_LIMIT);
                beginning.read_to_end(&mut output).await?;
                // It is killed when nobody reads the rest.
                tokio::io::copy(&mut beginning.into_inner(), &mut tokio::io::sink()).await?;
            }
            Ok::<_, std::io::Error>((child.wait().await?, output))
        };
        let (status, output) = match tokio::time::timeout(time, finish).await {
            Ok(finished) => finished.map_err(|e| failed(e.to_string()))?,
            Err(_) => {
                let limit = time.as_secs_f32().ceil();
                return Err(Diagnostic::error("haproxy", format!("haproxy -c did not end within {limit} s"))
                    .help("Make the configuration smaller or give the controller more CPU"));
            }
        };
        let output = String::from_utf8_lossy(&output);
        let found = report::diagnostics(&output, bundle);
        // HAProxy never refuses without an alert. Without one it was killed, or never ran.
        if !status.success() && found.iter().all(|d| d.severity < haptic_model::Severity::Error) {
            let last = output.lines().last().unwrap_or("it said nothing");
            return Err(unexplained(status, &bundle.redacted(last), self.limits.memory));
        }
        Ok(found)
    }

    /// How long a check may take that begins now.
    fn time_left(&self) -> Duration {
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        left.map_or(self.limits.time, |left| left.min(self.limits.time))
    }

    /// What the check of `bundle` by `binary` may use.
    fn order(&self, binary: &Binary, bundle: &Bundle) -> Order {
        let arguments = ["-c", "-dr", "-f", folder::PREAMBLE, "-f", folder::below(&bundle.config.path)];
        let command = std::iter::once(binary.path.clone().into()).chain(arguments.map(Into::into));
        Order {
            memory: self.limits.memory,
            // The clock on the wall ends it before.
            seconds: self.limits.time.as_secs() + 1,
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

fn unexplained(status: std::process::ExitStatus, last: &str, memory: u64) -> Diagnostic {
    let diagnostic = Diagnostic::error("haproxy", format!("haproxy -c ended with {status}: {last}"));
    diagnostic.help(format!("If it ran out of memory: it had {} MB", memory >> 20))
}
