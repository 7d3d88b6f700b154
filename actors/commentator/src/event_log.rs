//! One line for each event, in the words of the field, joined with what led to it.
//!
//! Pure: events and times in, lines out. It remembers what triggered the latest generations, where each pod is and what
//! was told lately, so that a line can name the object that changed, say on how many pods a change is, and how often
//! something has happened before. Nothing that is remembered grows without end.

pub mod kinds;
mod messages;
mod recent;
mod rollout;

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use haptic_model::{Diagnostic, Event, Fleet, Generation, LimitReached, pipeline::Cause};
use serde::Serialize;

pub(crate) use messages::trigger;

use recent::Recent;
use rollout::Rollout;

/// Generations whose trigger is remembered.
const REMEMBERED: usize = 64;

/// A warning that was not given for so many generations is news again; some are superseded before they are checked.
const STANDING: u64 = 16;

/// A line's importance; a higher one is more important.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageLevel {
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
pub struct LogLine {
    /// How important it is.
    pub level: MessageLevel,
    /// The sentence.
    pub text: String,
    /// The watched object it concerns, if it is one.
    pub object: Option<String>,
}

/// What is the case when something happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventContext<'a> {
    /// When it is.
    pub now: Instant,
    /// Which pods there are.
    pub fleet: &'a Fleet,
    /// Events that are remembered for counting.
    pub remembered: usize,
}

/// The commentator's memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventLog {
    triggers: VecDeque<Trigger>,
    /// Warnings of the latest generations, with the last one that had them.
    warnings: HashMap<Diagnostic, Generation>,
    recent: Recent,
    rollout: Rollout,
    /// The newest generation that passed all checks.
    good: Option<Generation>,
}

#[derive(Clone, Debug)]
struct Trigger {
    generation: Generation,
    text: String,
    object: Option<String>,
    /// When its first change was seen.
    at: Instant,
}

impl MessageLevel {
    /// Its name, as configurations have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

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

impl EventLog {
    /// Nothing has happened.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says what happened.
    pub fn format(&mut self, event: &Event, context: &EventContext<'_>) -> LogLine {
        self.learn(event, context);
        let (mut level, text) = self.message(event, context);
        if let Event::Warned { generation, diagnostic } = event
            && self.warned_before(*generation, diagnostic)
        {
            level = MessageLevel::Debug;
        }
        if self.recent.is_repeated(event, context.now) {
            level = level.min(MessageLevel::Debug);
        }
        LogLine { level, text, object: self.object_of(event) }
    }

    fn learn(&mut self, event: &Event, context: &EventContext<'_>) {
        self.recent.keep(event, context);
        match event {
            Event::ReconcileStarted { generation, cause, waited } => {
                let at = context.now.checked_sub(*waited).unwrap_or(context.now);
                self.remember(*generation, cause, at);
            }
            Event::Validated { generation, .. } => self.good = Some(*generation),
            _ => self.rollout.learn(event, context.now),
        }
    }

    /// A warning that stands is news once, not with each generation.
    fn warned_before(&mut self, generation: Generation, warning: &Diagnostic) -> bool {
        let oldest = Generation(generation.0.saturating_sub(STANDING));
        self.warnings.retain(|_, last| *last >= oldest);
        self.warnings.insert(warning.clone(), generation).is_some()
    }

    fn remember(&mut self, generation: Generation, cause: &Cause, at: Instant) {
        let object = cause.example.as_ref().map(ToString::to_string);
        self.triggers.push_back(Trigger { generation, text: messages::trigger(cause), object, at });
        if self.triggers.len() > REMEMBERED {
            self.triggers.pop_front();
        }
    }

    fn trigger(&self, generation: Generation) -> Option<&Trigger> {
        self.triggers.iter().rev().find(|trigger| trigger.generation == generation)
    }

    fn object_of(&self, event: &Event) -> Option<String> {
        let blamed = match event {
            Event::ObjectMalformed { object, .. } | Event::ObjectMended { object } => Some(object),
            Event::LimitReached { reached: LimitReached::Object(oversized) } => Some(&oversized.object),
            Event::QuarantineChanged { entered, left, .. } => {
                let entered = entered.first().map(|held| &held.object);
                entered.or(left.first().map(|released| &released.object))
            }
            Event::Warned { diagnostic, .. } => diagnostic.object.as_ref(),
            Event::FindingsChanged { change, .. } => change.found.first().map(|one| &one.object),
            Event::ConfigRejected { diagnostics, .. }
            | Event::RenderFailed { diagnostics, .. }
            | Event::ValidationFailed { diagnostics, .. } => {
                diagnostics.iter().find_map(|diagnostic| diagnostic.object.as_ref())
            }
            Event::Reviewed { resource, object, .. } => return Some(format!("{resource} {object}")),
            Event::ManifestRefused { file, .. }
            | Event::ManifestMended { file }
            | Event::ManifestIgnored { file, .. } => {
                return Some(file.to_string());
            }
            _ => None,
        };
        // What is said of nobody is not laid on the object that happened to change.
        let is_of_somebody = !matches!(
            event,
            Event::Warned { .. }
                | Event::FindingsChanged { .. }
                | Event::ConfigRejected { .. }
                | Event::RenderFailed { .. }
                | Event::ValidationFailed { .. }
        );
        let trigger = || self.trigger(event.generation()?)?.object.clone().filter(|_| is_of_somebody);
        blamed.map(ToString::to_string).or_else(trigger)
    }

    /// Sentences that need what is remembered; all others are in [`messages`].
    fn message(&self, event: &Event, context: &EventContext<'_>) -> (MessageLevel, String) {
        match event {
            Event::Deployed { .. } | Event::DeployFailed { .. } => self.rollout.message(
                event,
                context,
                event.generation().and_then(|generation| self.trigger(generation)),
            ),
            Event::RenderFailed { .. } | Event::ValidationFailed { .. } => self.refusal(event, context),
            Event::ConfigAccepted { .. } => {
                let (level, mut text) = messages::plain(event);
                let refused =
                    self.recent.count_since_last(event.kind(), "ConfigRejected", context.now, MINUTES_5);
                if refused > 0 {
                    text.push_str(&format!(", after {refused} that were refused"));
                }
                (level, text)
            }
            Event::ConfigRejected { .. } => self.counted(event, None, context, MINUTES_5),
            Event::WatchFailed { resource, .. } => self.counted(event, Some(resource), context, MINUTES_5),
            Event::DriftFound { pod, .. } => self.counted(event, Some(pod), context, HOUR),
            Event::LeadershipChanged { .. } => self.counted(event, None, context, HOUR),
            Event::PodDiscovered { .. } | Event::PodGone { .. } => {
                let (level, text) = messages::plain(event);
                (level, format!("{text} ({} now)", messages::counted(self.rollout.pods(), "pod")))
            }
            _ => messages::plain(event),
        }
    }

    /// The plain sentence, and how often the like has happened.
    fn counted(
        &self,
        event: &Event,
        subject: Option<&str>,
        context: &EventContext<'_>,
        within: Duration,
    ) -> (MessageLevel, String) {
        let (level, mut text) = messages::plain(event);
        let times = self.recent.count(event.kind(), subject, context.now, within);
        if times > 1 {
            text.push_str(&format!(" ({times} times within {})", messages::window(within)));
        }
        (level, text)
    }

    fn refusal(&self, event: &Event, context: &EventContext<'_>) -> (MessageLevel, String) {
        let (generation, what, diagnostics) = match event {
            Event::RenderFailed { generation, diagnostics, .. } => {
                (generation, "did not render".to_owned(), diagnostics)
            }
            Event::ValidationFailed { generation, diagnostics, took, .. } => {
                (generation, format!("was refused after {}", messages::ms(*took)), diagnostics)
            }
            _ => return messages::plain(event),
        };
        let caused = self.trigger(*generation).map(|trigger| {
            format!(", triggered by {} {} before,", trigger.text, messages::ms(context.now - trigger.at))
        });
        let stays = match self.good {
            Some(good) => format!("the last good one, {good}, stays"),
            None => "there is no good one yet".to_owned(),
        };
        let mut text = format!(
            "generation {generation}{} {what}, {stays}: {}",
            caused.unwrap_or_default(),
            messages::first(diagnostics)
        );
        let times = self.recent.count("RenderFailed", None, context.now, MINUTES_5)
            + self.recent.count("ValidationFailed", None, context.now, MINUTES_5);
        if times > 1 {
            text.push_str(&format!(" ({times} refused within {})", messages::window(MINUTES_5)));
        }
        (MessageLevel::Error, text)
    }
}

/// A figure, as a line of the log at TRACE.
pub(crate) fn figure(event: &Event) -> LogLine {
    LogLine { level: MessageLevel::Trace, text: messages::figure(event), object: None }
}

const MINUTES_5: Duration = Duration::from_secs(300);
const HOUR: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests;
