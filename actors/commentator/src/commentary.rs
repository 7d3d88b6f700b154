//! One line for each event, in the words of the field, joined with what led to it.
//!
//! Pure: events in, lines out. It remembers what triggered the latest generations, so that a line about a pod can
//! name the object that changed.

use std::{
    collections::{HashMap, VecDeque},
    fmt::Write,
    time::Duration,
};

use haptic_model::{Diagnostic, Event, Generation, Quarantined, Released, pipeline::Cause};
use serde::Serialize;

/// Generations whose trigger is remembered.
const REMEMBERED: usize = 64;

/// So many objects are told of in one line.
const TOLD: usize = 3;

/// A warning that was not given for so many generations is news again; some are superseded before they are checked.
const STANDING: u64 = 16;

/// A line's importance; a higher one is more important.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For following every step.
    Trace,
    /// Of use while something is being looked into.
    Debug,
    /// What an operator wants to see of normal work.
    Info,
    /// Something is held back or tried again.
    Warn,
    /// Something does not work until somebody acts.
    Error,
}

/// What is said of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How important it is.
    pub level: Level,
    /// The sentence.
    pub text: String,
    /// The watched object it concerns, if it is one.
    pub object: Option<String>,
}

/// The commentator's memory.
#[derive(Clone, Debug, Default)]
pub struct Commentary {
    triggers: VecDeque<(Generation, Trigger)>,
    /// Warnings of the latest generations, with the last one that had them.
    warnings: HashMap<Diagnostic, Generation>,
}

#[derive(Clone, Debug)]
struct Trigger {
    text: String,
    object: Option<String>,
}

impl Level {
    /// The level of that name, in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "trace" => Some(Self::Trace),
            "debug" => Some(Self::Debug),
            "info" => Some(Self::Info),
            "warn" | "warning" => Some(Self::Warn),
            "error" => Some(Self::Error),
            _ => None,
        }
    }
}

impl Commentary {
    /// Nothing has happened.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says what happened.
    pub fn tell(&mut self, event: &Event) -> Line {
        if let Event::ReconcileStarted { generation, cause } = event {
            self.remember(*generation, cause);
        }
        let (mut level, text) = self.sentence(event);
        if let Event::Warned { generation, diagnostic } = event
            && self.warned_before(*generation, diagnostic)
        {
            level = Level::Debug;
        }
        Line { level, text, object: self.object_of(event) }
    }

    /// A warning that stands is news once, not with each generation.
    fn warned_before(&mut self, generation: Generation, warning: &Diagnostic) -> bool {
        let oldest = Generation(generation.0.saturating_sub(STANDING));
        self.warnings.retain(|_, last| *last >= oldest);
        self.warnings.insert(warning.clone(), generation).is_some()
    }

    fn remember(&mut self, generation: Generation, cause: &Cause) {
        let object = cause.example.as_ref().map(ToString::to_string);
        self.triggers.push_back((generation, Trigger { text: trigger_text(cause), object }));
        if self.triggers.len() > REMEMBERED {
            self.triggers.pop_front();
        }
    }

    fn trigger(&self, generation: Generation) -> Option<&Trigger> {
        self.triggers.iter().rev().find(|(number, _)| *number == generation).map(|(_, trigger)| trigger)
    }

    fn object_of(&self, event: &Event) -> Option<String> {
        let blamed = match event {
            Event::ObjectMalformed { object, .. } => Some(object),
            Event::QuarantineChanged { entered, left, .. } => {
                let entered = entered.first().map(|held| &held.object);
                entered.or(left.first().map(|released| &released.object))
            }
            Event::Warned { diagnostic, .. } => diagnostic.object.as_ref(),
            Event::ConfigRejected { diagnostics, .. }
            | Event::RenderFailed { diagnostics, .. }
            | Event::ValidationFailed { diagnostics, .. } => {
                diagnostics.iter().find_map(|diagnostic| diagnostic.object.as_ref())
            }
            _ => None,
        };
        blamed.map(ToString::to_string).or_else(|| self.trigger(event.generation()?)?.object.clone())
    }

    fn sentence(&self, event: &Event) -> (Level, String) {
        match event {
            Event::ReconcileStarted { generation, cause } => (
                Level::Debug,
                format!("generation {generation} begins, triggered by {}", trigger_text(cause)),
            ),
            Event::Deployed { generation, pod, reload, operations, files, took, lag } => {
                let how = reload.as_ref().map_or_else(
                    || format!("runtime only, {}", counted(*operations, "operation")),
                    |reason| format!("reloaded because {reason}, {}", counted(*files, "file")),
                );
                let mut text = format!(
                    "generation {generation} runs on {pod}: {how}, {}, {} after the change",
                    ms(*took),
                    ms(*lag)
                );
                if let Some(trigger) = self.trigger(*generation) {
                    let _infallible = write!(text, " ({})", trigger.text);
                }
                (Level::Info, text)
            }
            Event::DeployFailed { generation, pod, message, retry_in } => (
                Level::Warn,
                format!(
                    "generation {generation} is not on {pod} yet: {message}; next try in {}",
                    ms(*retry_in)
                ),
            ),
            Event::TakenBack { generation, pod, to, why } => (
                Level::Warn,
                format!(
                    "generation {generation} was live on {pod} and HAProxy's checker refuses it: {why}; \
                     {pod} goes back to generation {to}"
                ),
            ),
            Event::DriftFound { pod, what } => {
                (Level::Warn, format!("somebody else changed {pod}: {what}; it is brought back"))
            }
            Event::PodDiscovered { pod } => (Level::Info, format!("HAProxy pod {pod} found")),
            Event::PodGone { pod } => (Level::Info, format!("HAProxy pod {pod} is gone")),
            Event::LeadershipChanged { leads: true } => {
                (Level::Info, "this replica leads now and deploys".to_owned())
            }
            Event::LeadershipChanged { leads: false } => {
                (Level::Info, "this replica does not lead; it stays ready to".to_owned())
            }
            Event::ActorRestarted { actor, reason, restarts } => (
                Level::Error,
                format!("actor {actor} failed and was restarted ({restarts} in all): {reason}"),
            ),
            other => render_sentence(other).unwrap_or_else(|| input_sentence(other)),
        }
    }
}

/// Rendering and validating.
fn render_sentence(event: &Event) -> Option<(Level, String)> {
    Some(match event {
        Event::Rendered { generation, bytes, files, took, .. } => (
            Level::Debug,
            format!(
                "generation {generation} rendered: {}, {bytes} bytes, {}",
                counted(*files, "file"),
                ms(*took)
            ),
        ),
        Event::RenderDiffered { generation, diagnostic } => {
            (Level::Error, format!("generation {generation}: {diagnostic}"))
        }
        Event::RenderFailed { generation, diagnostics } => (
            Level::Error,
            format!(
                "generation {generation} did not render, the last good one stays: {}",
                first(diagnostics)
            ),
        ),
        Event::QuarantineChanged { entered, left, held, .. } => quarantine_sentence(entered, left, *held),
        Event::Validated { generation, cached: true, .. } => {
            (Level::Debug, format!("generation {generation} is valid, known from before"))
        }
        Event::Validated { generation, took, .. } => {
            (Level::Debug, format!("generation {generation} is valid, checked in {}", ms(*took)))
        }
        Event::ValidationFailed { generation, diagnostics, took } => (
            Level::Error,
            format!(
                "generation {generation} was refused after {}, the last good one stays: {}",
                ms(*took),
                first(diagnostics)
            ),
        ),
        Event::Warned { generation, diagnostic } => {
            (Level::Warn, format!("generation {generation}: {diagnostic}"))
        }
        _ => return None,
    })
}

/// What is held back, and what is not any more, each in the sentence that its own Event says.
fn quarantine_sentence(entered: &[Quarantined], left: &[Released], held: usize) -> (Level, String) {
    let level = if entered.is_empty() { Level::Info } else { Level::Warn };
    let said = entered.iter().map(ToString::to_string).chain(left.iter().map(ToString::to_string));
    let mut text = said.take(TOLD).collect::<Vec<_>>().join("; ");
    if let Some(more @ 1..) = (entered.len() + left.len()).checked_sub(TOLD) {
        let _infallible = write!(text, "; and {more} more");
    }
    let _infallible = write!(text, " ({} held back in all)", counted(held, "object"));
    (level, text)
}

/// Configuration and watched resources.
fn input_sentence(event: &Event) -> (Level, String) {
    match event {
        Event::ConfigAccepted { name, revision } => {
            (Level::Info, format!("configuration {name} is in force (revision {revision})"))
        }
        Event::ConfigRejected { name, diagnostics } => (
            Level::Error,
            format!(
                "configuration {name} was refused, the one before stays in force: {}",
                first(diagnostics)
            ),
        ),
        Event::ConfigDeleted { name } => (
            Level::Error,
            format!("configuration {name} was deleted; it stays in force until there is another"),
        ),
        Event::CredentialsChanged => {
            (Level::Info, "credentials changed; both old and new are tried".to_owned())
        }
        Event::StoreSynced { resource, objects } => {
            (Level::Info, format!("{resource} are known: {}", counted(*objects, "object")))
        }
        Event::StoreSize { resource, objects } => {
            (Level::Trace, format!("{resource} now: {}", counted(*objects, "object")))
        }
        Event::WatchFailed { resource, message } => {
            (Level::Warn, format!("the watch of {resource} failed and is tried again: {message}"))
        }
        Event::ObjectMalformed { object, message } => {
            (Level::Warn, format!("{object} cannot be read and is left out: {message}"))
        }
        Event::ManifestRefused { message, .. } => (Level::Warn, message.clone()),
        other => (Level::Debug, other.kind().to_owned()),
    }
}

/// `ingresses default/shop and 2 more changes`.
fn trigger_text(cause: &Cause) -> String {
    let changes = cause.created + cause.modified + cause.deleted;
    match (&cause.example, cause.other, changes) {
        (Some(object), None, 0 | 1) => object.to_string(),
        (Some(object), None, more) => format!("{object} and {}", counted(more - 1, "more change")),
        (_, Some(other), 0) => other.to_owned(),
        (_, Some(other), more) => format!("{other} and {}", counted(more, "change")),
        (None, None, more) => counted(more, "change"),
    }
}

fn first(diagnostics: &[Diagnostic]) -> String {
    match diagnostics {
        [] => "no reason given".to_owned(),
        [only] => only.to_string(),
        [first, more @ ..] => format!("{first} (and {} more)", more.len()),
    }
}

fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn ms(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds >= 10.0 => format!("{seconds:.0} s"),
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds if seconds >= 0.01 => format!("{:.0} ms", seconds * 1000.0),
        seconds => format!("{:.1} ms", seconds * 1000.0),
    }
}

#[cfg(test)]
mod tests;
