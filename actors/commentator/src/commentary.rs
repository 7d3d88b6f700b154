//! One line for each event, in the words of the field, joined with what led to it.
//!
//! Pure: events and times in, lines out. It remembers what triggered the latest generations, where each pod is and what
//! was told lately, so that a line can name the object that changed, say on how many pods a change is, and how often
//! something has happened before. Nothing that is remembered grows without end.

mod heard;
pub mod kinds;
mod rollout;
mod sentences;

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use haptic_model::{Diagnostic, Event, Fleet, Generation, LimitReached, pipeline::Cause};
use serde::Serialize;

pub(crate) use sentences::trigger;

use heard::Heard;
use rollout::Rollout;

/// Generations whose trigger is remembered.
const REMEMBERED: usize = 64;

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

/// What is the case when something happens.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// When it is.
    pub now: Instant,
    /// Which pods there are.
    pub fleet: &'a Fleet,
    /// Events that are remembered for counting.
    pub remembered: usize,
}

/// The commentator's memory.
#[derive(Clone, Debug, Default)]
pub struct Commentary {
    triggers: VecDeque<Trigger>,
    /// Warnings of the latest generations, with the last one that had them.
    warnings: HashMap<Diagnostic, Generation>,
    heard: Heard,
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

impl Level {
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

impl Commentary {
    /// Nothing has happened.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says what happened.
    pub fn tell(&mut self, event: &Event, moment: &Moment<'_>) -> Line {
        self.learn(event, moment);
        let (mut level, text) = self.sentence(event, moment);
        if let Event::Warned { generation, diagnostic } = event
            && self.warned_before(*generation, diagnostic)
        {
            level = Level::Debug;
        }
        if self.heard.was_just_told(event, moment.now) {
            level = level.min(Level::Debug);
        }
        Line { level, text, object: self.object_of(event) }
    }

    fn learn(&mut self, event: &Event, moment: &Moment<'_>) {
        self.heard.keep(event, moment);
        match event {
            Event::ReconcileStarted { generation, cause, waited } => {
                let at = moment.now.checked_sub(*waited).unwrap_or(moment.now);
                self.remember(*generation, cause, at);
            }
            Event::Validated { generation, .. } => self.good = Some(*generation),
            _ => self.rollout.learn(event, moment.now),
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
        self.triggers.push_back(Trigger { generation, text: sentences::trigger(cause), object, at });
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
                | Event::ConfigRejected { .. }
                | Event::RenderFailed { .. }
                | Event::ValidationFailed { .. }
        );
        let trigger = || self.trigger(event.generation()?)?.object.clone().filter(|_| is_of_somebody);
        blamed.map(ToString::to_string).or_else(trigger)
    }

    /// Sentences that need what is remembered; all others are in [`sentences`].
    fn sentence(&self, event: &Event, moment: &Moment<'_>) -> (Level, String) {
        match event {
            Event::Deployed { .. } | Event::DeployFailed { .. } => self.rollout.sentence(
                event,
                moment,
                event.generation().and_then(|generation| self.trigger(generation)),
            ),
            Event::RenderFailed { .. } | Event::ValidationFailed { .. } => self.refusal(event, moment),
            Event::ConfigAccepted { .. } => {
                let (level, mut text) = sentences::plain(event);
                let refused = self.heard.count("ConfigRejected", None, moment.now, MINUTES_5);
                if refused > 0 {
                    text.push_str(&format!(", after {refused} that were refused"));
                }
                (level, text)
            }
            Event::ConfigRejected { .. } => self.counted(event, None, moment, MINUTES_5),
            Event::WatchFailed { resource, .. } => self.counted(event, Some(resource), moment, MINUTES_5),
            Event::DriftFound { pod, .. } => self.counted(event, Some(pod), moment, HOUR),
            Event::LeadershipChanged { .. } => self.counted(event, None, moment, HOUR),
            Event::PodDiscovered { .. } | Event::PodGone { .. } => {
                let (level, text) = sentences::plain(event);
                (level, format!("{text} ({} now)", sentences::counted(self.rollout.pods(), "pod")))
            }
            _ => sentences::plain(event),
        }
    }

    /// The plain sentence, and how often the like has happened.
    fn counted(
        &self,
        event: &Event,
        subject: Option<&str>,
        moment: &Moment<'_>,
        within: Duration,
    ) -> (Level, String) {
        let (level, mut text) = sentences::plain(event);
        let times = self.heard.count(event.kind(), subject, moment.now, within);
        if times > 1 {
            text.push_str(&format!(" ({times} times within {})", sentences::window(within)));
        }
        (level, text)
    }

    fn refusal(&self, event: &Event, moment: &Moment<'_>) -> (Level, String) {
        let (generation, what, diagnostics) = match event {
            Event::RenderFailed { generation, diagnostics } => {
                (generation, "did not render".to_owned(), diagnostics)
            }
            Event::ValidationFailed { generation, diagnostics, took } => {
                (generation, format!("was refused after {}", sentences::ms(*took)), diagnostics)
            }
            _ => return sentences::plain(event),
        };
        let caused = self.trigger(*generation).map(|trigger| {
            format!(", triggered by {} {} before,", trigger.text, sentences::ms(moment.now - trigger.at))
        });
        let stays = match self.good {
            Some(good) => format!("the last good one, {good}, stays"),
            None => "there is no good one yet".to_owned(),
        };
        let mut text = format!(
            "generation {generation}{} {what}, {stays}: {}",
            caused.unwrap_or_default(),
            sentences::first(diagnostics)
        );
        let times = self.heard.count("RenderFailed", None, moment.now, MINUTES_5)
            + self.heard.count("ValidationFailed", None, moment.now, MINUTES_5);
        if times > 1 {
            text.push_str(&format!(" ({times} refused within {})", sentences::window(MINUTES_5)));
        }
        (Level::Error, text)
    }
}

/// A figure, as a line of the log at TRACE.
#[must_use]
pub fn figure(event: &Event) -> Line {
    Line { level: Level::Trace, text: sentences::figure(event), object: None }
}

const MINUTES_5: Duration = Duration::from_secs(300);
const HOUR: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests;
