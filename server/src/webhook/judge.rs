//! Whether changes of watched objects bring a fault: rendered, read, and checked by HAProxy, all that wait at once.
//!
//! When nothing is wrong with them together, each is allowed. Otherwise those that a fault names are judged one by one, and
//! the others again without them.

use super::{
    answer::Answer,
    faults,
    reduced::reduced,
    stand_in::{self, StandIn},
    workshop::{Board, Change, Comparison, Live, Workshop},
};
use haptic_model::{Bundle, Diagnostic, ObjectRef, Severity};
use haptic_runtime::cpu;
use haptic_validate::Checker;
use std::{collections::HashSet, sync::Arc};
use tokio::time::Instant;

/// Judges changes of watched objects.
pub struct Judge {
    board: Board,
    checker: Checker,
    workshop: Workshop,
    /// `None` until one could be made.
    stand_in: Option<StandIn>,
}

/// Objects that change.
type Objects = HashSet<Arc<ObjectRef>>;

/// For those whose turn never came.
fn no_time() -> Answer {
    Answer::Unjudged { why: "no time was left for it: rendering, or other changes, took it".into() }
}

impl Judge {
    /// One that reads this board. The checker is its own: nobody waits for it.
    #[must_use]
    pub fn new(board: Board, checker: Checker) -> Self {
        Self { board, checker, workshop: Workshop::default(), stand_in: StandIn::new().ok() }
    }

    /// An answer to each change, in their order; no check goes on after `end`.
    pub async fn judge(&mut self, changes: &[Change], end: Instant) -> Vec<Answer> {
        self.checker = self.checker.until(end);
        let live = match self.board.look() {
            Ok(live) => live,
            Err(why) => return changes.iter().map(|_| Answer::Unjudged { why: why.clone() }).collect(),
        };
        let mut answers: Vec<Option<Answer>> =
            changes.iter().map(|change| impossible(change, &live)).collect();
        let open = |answers: &[Option<Answer>]| {
            let open = answers.iter().enumerate().filter(|(_, answer)| answer.is_none());
            open.map(|(at, _)| at).collect::<Vec<usize>>()
        };
        let mut together = open(&answers);
        while !together.is_empty() {
            if Instant::now() >= end {
                return answers.into_iter().map(|answer| answer.unwrap_or_else(no_time)).collect();
            }
            let chosen: Vec<Change> = together.iter().filter_map(|at| changes.get(*at)).cloned().collect();
            let verdict = self.judge_together(&live, chosen).await;
            let done: Vec<(usize, Answer)> = match verdict {
                Verdict::Fine(warnings) => {
                    together.iter().map(|at| (*at, warned(changes.get(*at), &warnings))).collect()
                }
                Verdict::Unknown(why) => {
                    together.iter().map(|at| (*at, Answer::Unjudged { why: why.clone() })).collect()
                }
                Verdict::Faulty(faults) if together.len() == 1 => {
                    together.iter().map(|at| (*at, Answer::denied(&faults))).collect()
                }
                Verdict::Faulty(faults) => {
                    let mut done = Vec::new();
                    for at in suspects(&together, changes, &faults) {
                        let Some(change) = changes.get(at).filter(|_| Instant::now() < end) else { continue };
                        done.push((at, self.judge_alone(&live, change).await));
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
        answers.into_iter().map(|answer| answer.unwrap_or_else(Answer::allowed)).collect()
    }

    /// Renders what there is, so that the next review need not.
    pub async fn rest(&mut self) {
        if let Ok(live) = self.board.look() {
            let mut workshop = std::mem::take(&mut self.workshop);
            let work = cpu("webhook", move || {
                workshop.stand_on(&live);
                workshop
            });
            self.workshop = work.await.unwrap_or_default();
        }
    }

    /// Gives back the memory that is kept for the next review.
    pub fn forget(&mut self) {
        self.workshop = Workshop::default();
    }

    async fn judge_alone(&mut self, live: &Live, change: &Change) -> Answer {
        match self.judge_together(live, vec![change.clone()]).await {
            Verdict::Fine(warnings) => warned(Some(change), &warnings),
            Verdict::Faulty(faults) => Answer::denied(&faults),
            Verdict::Unknown(why) => Answer::Unjudged { why },
        }
    }

    async fn judge_together(&mut self, live: &Live, changes: Vec<Change>) -> Verdict {
        let objects: Objects = changes.iter().flat_map(Change::objects).collect();
        let (mut workshop, seen) = (std::mem::take(&mut self.workshop), live.clone());
        let work = cpu("webhook", move || {
            let comparison = workshop.compare(&seen, &changes);
            (workshop, comparison)
        });
        let compared = match work.await {
            Ok((workshop, compared)) => {
                self.workshop = workshop;
                compared
            }
            Err(panicked) => return Verdict::Unknown(panicked.to_string()),
        };
        match &compared.after {
            None => Verdict::Fine(Vec::new()),
            Some(Err(faults)) => {
                let (after, before) = (faults::sentences(faults, &objects), compared.faults_before());
                let hidden = compared.bundle_before().is_none();
                let brought = faults::brought(&after, &before, hidden, &objects);
                if brought.is_empty() {
                    Verdict::Fine(old_faults(&after, &objects))
                } else {
                    Verdict::Faulty(brought)
                }
            }
            Some(Ok(rendering)) => self.check(live, &compared, &rendering.bundle, &objects).await,
        }
    }

    /// Asks the keyword tables, then HAProxy.
    async fn check(&self, live: &Live, compared: &Comparison, bundle: &Bundle, objects: &Objects) -> Verdict {
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
        let Some(stand_in) = &self.stand_in else {
            return Verdict::Unknown("there is no randomness to make a key of".into());
        };
        let own = stand_in::own(bundle, compared.bundle_before(), objects);
        let part = compared.bundle_before().map(|before| reduced(bundle, before, objects));
        if let Some(part) = part {
            let verdict = checker.semantics(&stand_in.in_place(&part, &own), versions).await;
            if verdict.undecided {
                return unchecked(verdict);
            }
            if verdict.passed() {
                let about = verdict.diagnostics.into_iter().filter(|d| faults::is_of(d, objects));
                warnings.extend(about);
                return Verdict::Fine(warnings);
            }
        }
        // What the part lacks, the whole has.
        let whole = checker.semantics(&stand_in.in_place(bundle, &own), versions).await;
        if whole.passed() {
            return Verdict::Fine(warnings);
        }
        if whole.undecided {
            return unchecked(whole);
        }
        let before = match compared.bundle_before() {
            Some(before) => {
                let before = checker.semantics(&stand_in.in_place(before, &own), versions).await;
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
    objects: &Objects,
    warnings: Vec<Diagnostic>,
) -> Verdict {
    let (after, before) = (errors(after), errors(before));
    let brought = faults::brought(&after, &before, !before.is_empty(), objects);
    if !brought.is_empty() {
        return Verdict::Faulty(brought);
    }
    Verdict::Fine(warnings.into_iter().chain(old_faults(&after, objects)).collect())
}

/// What became of changes that were judged together.
enum Verdict {
    /// They bring no fault; these are warnings.
    Fine(Vec<Diagnostic>),
    /// They bring these.
    Faulty(Vec<Diagnostic>),
    /// It could not be found out.
    Unknown(String),
}

/// The check did not come to its end.
fn unchecked(verdict: haptic_validate::Verdict) -> Verdict {
    let why = errors(&verdict.diagnostics).into_iter().map(|error| error.message).next();
    Verdict::Unknown(why.unwrap_or_else(|| "the check did not come to its end".to_owned()))
}

/// An object that its store cannot hold.
fn impossible(change: &Change, live: &Live) -> Option<Answer> {
    let problems = change.over(&live.config.spec, &live.snapshots).err()?;
    let faults: Vec<Diagnostic> = problems.into_iter().map(|why| Diagnostic::error("watch", why)).collect();
    Some(Answer::denied(&faults))
}

/// Those of `together` that `faults` name; if they name none, all.
fn suspects(together: &[usize], changes: &[Change], faults: &[Diagnostic]) -> Vec<usize> {
    let named = |at: &&usize| {
        let objects: Objects = changes.get(**at).into_iter().flat_map(Change::objects).collect();
        faults.iter().any(|fault| faults::is_of(fault, &objects))
    };
    let named: Vec<usize> = together.iter().filter(named).copied().collect();
    if named.is_empty() { together.to_vec() } else { named }
}

/// Yes, with what is worth knowing about this change.
fn warned(change: Option<&Change>, warnings: &[Diagnostic]) -> Answer {
    let objects: Objects = change.into_iter().flat_map(Change::objects).collect();
    let own = warnings.iter().filter(|w| faults::is_of(w, &objects) || w.object.is_none());
    Answer::warned(&own.cloned().collect::<Vec<_>>())
}

/// Faults that were there before and that concern these objects, or all: who changes something should know of them.
fn old_faults(faults: &[Diagnostic], objects: &Objects) -> Vec<Diagnostic> {
    let concern = |fault: &&Diagnostic| fault.object.is_none() || faults::is_of(fault, objects);
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
#[path = "judge_tests.rs"]
mod tests;
