//! Whether changes of watched objects bring a fault: rendered, read, and checked by HAProxy, all that wait at once.
//!
//! When nothing is wrong with them together, each is allowed. Otherwise those that a fault names are judged one by one, and
//! the others again without them.

use super::{
    answer::ReviewAnswer,
    dummy_certificate::{self, DummyCertificate},
    render_cache::{Live, LiveTopics, ObjectChange, RenderCache, RenderComparison},
};
use haptic_attribution::brought;
use haptic_model::{Bundle, Diagnostic, ObjectRef, Severity};
use haptic_render::actor::ForkRequested;
use haptic_runtime::{Mailbox, cpu};
use haptic_validate::Checker;
use std::{collections::HashSet, sync::Arc};
use tokio::time::{Instant, timeout_at};

/// Judges changes of watched objects.
pub struct Evaluator {
    topics: LiveTopics,
    /// The pipeline's renderer, which knows all that is live; without it all is rendered anew here.
    renderer: Option<Mailbox<ForkRequested>>,
    checker: Checker,
    cache: RenderCache,
    /// `None` until one could be made.
    dummy: Option<DummyCertificate>,
}

type ChangedObjects = HashSet<Arc<ObjectRef>>;

/// For changes whose turn never came.
fn no_time() -> ReviewAnswer {
    ReviewAnswer::Undecided { why: "no time was left for it: rendering, or other changes, took it".into() }
}

impl Evaluator {
    /// One that judges by what the pipeline publishes. The checker is its own: nobody waits for it.
    #[must_use]
    pub fn new(topics: LiveTopics, renderer: Option<Mailbox<ForkRequested>>, checker: Checker) -> Self {
        let (cache, dummy) = (RenderCache::default(), DummyCertificate::new().ok());
        Self { topics, renderer, checker, cache, dummy }
    }

    /// An answer to each change, in their order; no check goes on after `end`.
    pub async fn evaluate(&mut self, changes: &[ObjectChange], end: Instant) -> Vec<ReviewAnswer> {
        self.checker = self.checker.until(end);
        let live = match Live::of(&self.topics) {
            Ok(live) => live,
            Err(why) => {
                return changes.iter().map(|_| ReviewAnswer::Undecided { why: why.clone() }).collect();
            }
        };
        // The first bundle of a large cluster takes a while.
        if timeout_at(end, self.begin(&live)).await.is_err() {
            return changes.iter().map(|_| no_time()).collect();
        }
        let mut answers: Vec<Option<ReviewAnswer>> =
            changes.iter().map(|change| impossible(change, &live)).collect();
        let open = |answers: &[Option<ReviewAnswer>]| {
            let open = answers.iter().enumerate().filter(|(_, answer)| answer.is_none());
            open.map(|(at, _)| at).collect::<Vec<usize>>()
        };
        let mut together = open(&answers);
        while !together.is_empty() {
            if Instant::now() >= end {
                return answers.into_iter().map(|answer| answer.unwrap_or_else(no_time)).collect();
            }
            let chosen: Vec<ObjectChange> =
                together.iter().filter_map(|at| changes.get(*at)).cloned().collect();
            let verdict = self.evaluate_together(&live, chosen).await;
            let done: Vec<(usize, ReviewAnswer)> = match verdict {
                ReviewVerdict::Fine(warnings) => {
                    together.iter().map(|at| (*at, warned(changes.get(*at), &warnings))).collect()
                }
                ReviewVerdict::Unknown(why) => {
                    together.iter().map(|at| (*at, ReviewAnswer::Undecided { why: why.clone() })).collect()
                }
                ReviewVerdict::Faulty(faults) if together.len() == 1 => {
                    together.iter().map(|at| (*at, ReviewAnswer::denied(&faults))).collect()
                }
                ReviewVerdict::Faulty(faults) => {
                    let mut done = Vec::new();
                    for at in suspects(&together, changes, &faults) {
                        let Some(change) = changes.get(at).filter(|_| Instant::now() < end) else { continue };
                        done.push((at, self.evaluate_alone(&live, change).await));
                    }
                    done
                }
            };
            for (at, answer) in done {
                if let Some(slot) = answers.get_mut(at) {
                    *slot = Some(answer);
                }
            }
            together = open(&answers);
        }
        answers.into_iter().map(|answer| answer.unwrap_or_else(ReviewAnswer::allowed)).collect()
    }

    /// Knows what the pipeline rendered and checked last, unless something has been rendered here with the same configuration since.
    async fn begin(&mut self, live: &Live) {
        if let Some(renderer) = self.renderer.as_ref().filter(|_| !self.cache.knows(&live.config))
            && let Ok(fork) = renderer.send(ForkRequested).await
        {
            let checker = self.checker.clone();
            // Whoever has not caught up reads all of it anew.
            _ = cpu("webhook", move || checker.catch_up()).await;
            self.cache = RenderCache::from_fork(fork);
        }
    }

    /// Renders what there is, so that the next review need not.
    pub async fn prepare(&mut self) {
        if let Ok(live) = Live::of(&self.topics) {
            self.begin(&live).await;
            let mut cache = std::mem::take(&mut self.cache);
            let work = cpu("webhook", move || {
                cache.baseline(&live);
                cache
            });
            self.cache = work.await.unwrap_or_default();
        }
    }

    /// Gives back the memory that is kept for the next review.
    pub fn forget(&mut self) {
        self.checker.forget();
        self.cache = RenderCache::default();
    }

    async fn evaluate_alone(&mut self, live: &Live, change: &ObjectChange) -> ReviewAnswer {
        match self.evaluate_together(live, vec![change.clone()]).await {
            ReviewVerdict::Fine(warnings) => warned(Some(change), &warnings),
            ReviewVerdict::Faulty(faults) => ReviewAnswer::denied(&faults),
            ReviewVerdict::Unknown(why) => ReviewAnswer::Undecided { why },
        }
    }

    async fn evaluate_together(&mut self, live: &Live, changes: Vec<ObjectChange>) -> ReviewVerdict {
        let objects: ChangedObjects = changes.iter().flat_map(ObjectChange::objects).collect();
        let (mut cache, seen) = (std::mem::take(&mut self.cache), live.clone());
        let work = cpu("webhook", move || {
            let comparison = cache.compare(&seen, &changes);
            (cache, comparison)
        });
        let compared = match work.await {
            Ok((cache, compared)) => {
                self.cache = cache;
                compared
            }
            Err(panicked) => return ReviewVerdict::Unknown(panicked.to_string()),
        };
        match &compared.after {
            None => ReviewVerdict::Fine(Vec::new()),
            Some(Err(faults)) => {
                let (after, before) = (brought::diagnostics(faults, &objects), compared.faults_before());
                let hidden = compared.bundle_before().is_none();
                let brought = brought::brought(&after, &before, hidden, &objects);
                if brought.is_empty() {
                    ReviewVerdict::Fine(old_faults(&after, &objects))
                } else {
                    ReviewVerdict::Faulty(brought)
                }
            }
            Some(Ok(rendering)) => match compared.refusals(&objects) {
                refused if refused.is_empty() => {
                    self.check(live, &compared, &rendering.bundle, &objects).await
                }
                refused => ReviewVerdict::Faulty(refused),
            },
        }
    }

    /// Asks the keyword tables, then HAProxy.
    async fn check(
        &self,
        live: &Live,
        compared: &RenderComparison,
        bundle: &Bundle,
        objects: &ChangedObjects,
    ) -> ReviewVerdict {
        let (versions, checker) =
            (&live.fleet.versions, self.checker.allowing(&live.config.spec.allow.features));
        let mut warnings = compared.warnings(objects);
        let syntax = checker.syntax(bundle, versions).await;
        if has_errors(&syntax) {
            let before = match compared.bundle_before() {
                Some(before) => checker.syntax(before, versions).await,
                None => compared.faults_before(),
            };
            return against(&syntax, &before, objects, warnings);
        }
        let Some(dummy) = &self.dummy else {
            return ReviewVerdict::Unknown("there is no randomness to make a key of".into());
        };
        let own = dummy_certificate::own(bundle, compared.bundle_before(), objects);
        if let Some(part) = &compared.part {
            let verdict = checker.semantics(&dummy.in_place(part, &own), versions).await;
            if verdict.undecided {
                return unchecked(verdict);
            }
            if verdict.passed() {
                let about = verdict.diagnostics.into_iter().filter(|d| brought::is_of(d, objects));
                warnings.extend(about);
                return ReviewVerdict::Fine(warnings);
            }
        }
        // What the part lacks, the whole has.
        let whole = checker.semantics(&dummy.in_place(bundle, &own), versions).await;
        if whole.passed() {
            return ReviewVerdict::Fine(warnings);
        }
        if whole.undecided {
            return unchecked(whole);
        }
        let before = match compared.bundle_before() {
            Some(before) => {
                let before = checker.semantics(&dummy.in_place(before, &own), versions).await;
                if before.undecided {
                    return unchecked(before);
                }
                before.diagnostics
            }
            None => compared.faults_before(),
        };
        against(&whole.diagnostics, &before, objects, warnings)
    }
}

/// What a check says, against what it said before. It may stop at some errors, so old ones may hide others.
fn against(
    after: &[Diagnostic],
    before: &[Diagnostic],
    objects: &ChangedObjects,
    warnings: Vec<Diagnostic>,
) -> ReviewVerdict {
    let (after, before) = (errors(after), errors(before));
    let brought = brought::brought(&after, &before, !before.is_empty(), objects);
    if !brought.is_empty() {
        return ReviewVerdict::Faulty(brought);
    }
    ReviewVerdict::Fine(warnings.into_iter().chain(old_faults(&after, objects)).collect())
}

/// What became of changes that were judged together.
enum ReviewVerdict {
    /// They bring no fault; these are warnings.
    Fine(Vec<Diagnostic>),
    /// They bring these.
    Faulty(Vec<Diagnostic>),
    /// It could not be found out.
    Unknown(String),
}

/// The check did not come to its end.
fn unchecked(verdict: haptic_validate::CheckVerdict) -> ReviewVerdict {
    let why = errors(&verdict.diagnostics).into_iter().map(|error| error.message).next();
    ReviewVerdict::Unknown(why.unwrap_or_else(|| "the check did not come to its end".to_owned()))
}

/// An object that its store cannot hold.
fn impossible(change: &ObjectChange, live: &Live) -> Option<ReviewAnswer> {
    let problems = change.over(&live.config.spec, &live.snapshots).err()?;
    let faults: Vec<Diagnostic> = problems.into_iter().map(|why| Diagnostic::error("watch", why)).collect();
    Some(ReviewAnswer::denied(&faults))
}

/// Those of `together` that `faults` name; if they name none, all.
fn suspects(together: &[usize], changes: &[ObjectChange], faults: &[Diagnostic]) -> Vec<usize> {
    let named = |at: &&usize| {
        let objects: ChangedObjects = changes.get(**at).into_iter().flat_map(ObjectChange::objects).collect();
        faults.iter().any(|fault| brought::is_of(fault, &objects))
    };
    let named: Vec<usize> = together.iter().filter(named).copied().collect();
    if named.is_empty() { together.to_vec() } else { named }
}

/// Yes, with what is worth knowing about this change.
fn warned(change: Option<&ObjectChange>, warnings: &[Diagnostic]) -> ReviewAnswer {
    let objects: ChangedObjects = change.into_iter().flat_map(ObjectChange::objects).collect();
    let own = warnings.iter().filter(|w| brought::is_of(w, &objects) || w.object.is_none());
    ReviewAnswer::warned(&own.cloned().collect::<Vec<_>>())
}

/// Faults that were there before and that concern these objects, or all: who changes something should know of them.
fn old_faults(faults: &[Diagnostic], objects: &ChangedObjects) -> Vec<Diagnostic> {
    let concern = |fault: &&Diagnostic| fault.object.is_none() || brought::is_of(fault, objects);
    let say = |fault: &Diagnostic| Diagnostic {
        severity: Severity::Warning,
        message: format!("not mended yet: {}", fault.message),
        ..fault.clone()
    };
    faults.iter().filter(concern).map(say).collect()
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

fn errors(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    diagnostics.iter().filter(|d| d.severity == Severity::Error).cloned().collect()
}

#[cfg(test)]
#[path = "evaluator_tests.rs"]
mod tests;
