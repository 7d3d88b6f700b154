//! Whether this process may be relied on, and why not.

use crate::readers::Readers;
use haptic_config::ConfigState;
use haptic_debounce::gate::Gate;
use haptic_model::Diagnostic;
use std::fmt::{self, Display};

/// A reason not to rely on this process.
#[derive(Clone, Debug, PartialEq)]
pub enum NotReady {
    /// An actor or an arbiter does not work as it should.
    Actor(String),
    /// The process is shutting down.
    Draining,
    /// No configuration is in force.
    NoConfig(ConfigState),
    /// A watched resource of the configuration in force cannot be read.
    Unreadable(UnreadableResource),
    /// These watched resources of the configuration in force are not yet read to the end.
    Unread(Vec<String>),
    /// The new configuration waits for resources that cannot be read.
    NextConfigWaits(Vec<UnreadableResource>),
    /// The credentials that the configuration names cannot be had; those before stay in use.
    Credentials(Diagnostic),
    /// The configured admission webhook cannot be called.
    Webhook(String),
}

/// A watched resource that cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableResource {
    /// Its name in the configuration.
    pub name: String,
    /// Why.
    pub why: String,
}

impl Display for UnreadableResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

impl Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Actor(why) | Self::Webhook(why) | Self::NoConfig(ConfigState::Waiting(why)) => {
                f.write_str(why)
            }
            Self::Draining => f.write_str("the process is shutting down"),
            Self::NoConfig(ConfigState::Invalid(problems)) => {
                write!(f, "the configuration is invalid: {}", lines(problems))
            }
            Self::NoConfig(ConfigState::Valid | ConfigState::Deleted) => {
                f.write_str("there is no valid configuration yet")
            }
            Self::Unreadable(resource) => resource.fmt(f),
            Self::Unread(names) => write!(f, "not yet read to the end: {}", names.join(", ")),
            Self::NextConfigWaits(unreadable) => {
                write!(f, "the new configuration waits, the one before stays in force: {}", lines(unreadable))
            }
            Self::Credentials(why) => write!(f, "the credentials before stay in use: {why}"),
        }
    }
}

fn lines(all: &[impl Display]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl Readers {
    /// The reasons not to rely on this process; empty when ready.
    #[must_use]
    pub fn why_not_ready(&self) -> Vec<NotReady> {
        let mut reasons: Vec<NotReady> =
            self.actors.why_not_live().into_iter().map(NotReady::Actor).collect();
        if !self.actors.all_running() {
            reasons.push(NotReady::Actor("an actor is starting or being restarted".into()));
        }
        reasons.extend(self.actors.why_withheld().into_iter().map(NotReady::Actor));
        if *self.draining.latest() {
            reasons.push(NotReady::Draining);
        }
        match Gate::of(self.config.latest().as_ref().as_ref(), &self.snapshots.latest()) {
            Gate::Open | Gate::Unanswered(_) => reasons.extend(self.why_the_next_waits()),
            Gate::NoConfig => reasons.push(NotReady::NoConfig((*self.config_state.latest()).clone())),
            Gate::Unsynced(names) => reasons.extend(self.why_not_read(&names)),
        }
        reasons.extend(self.why_no_credentials());
        reasons.extend(self.why_no_webhook());
        reasons
    }

    /// A webhook that only a watched resource asks for may lack the rights and objects that it needs: that is logged, and hinders
    /// nothing else.
    fn why_no_webhook(&self) -> Option<NotReady> {
        let config = self.config.latest();
        config.as_ref().as_ref()?.spec.controller.webhook.as_ref()?;
        (*self.webhook.latest()).clone().map(NotReady::Webhook)
    }

    /// What keeps the newest valid configuration from replacing the one in force; that it takes time is no reason.
    fn why_the_next_waits(&self) -> Option<NotReady> {
        let (accepted, config) = (self.accepted.latest(), self.config.latest());
        let (accepted, config) = (accepted.as_ref().as_ref()?, config.as_ref().as_ref()?);
        let snapshots = self.snapshots.latest();
        let unreadable: Vec<_> =
            accepted.unread(&snapshots).filter_map(|name| self.unreadable(name)).collect();
        let waits = accepted.revision > config.revision && !unreadable.is_empty();
        waits.then_some(NotReady::NextConfigWaits(unreadable))
    }

    /// Where nothing is in force, it is why there is no configuration.
    fn why_no_credentials(&self) -> Option<NotReady> {
        let config_verdict = self.config_verdict.latest();
        let why = config_verdict.as_ref().as_ref()?.credentials.clone()?;
        self.config.latest().is_some().then_some(NotReady::Credentials(why))
    }

    /// What keeps watched resources from being read: a reason for each that fails, one for all that only take time.
    fn why_not_read(&self, names: &[String]) -> Vec<NotReady> {
        let (mut reasons, mut reading) = (Vec::new(), Vec::new());
        for name in names {
            match self.unreadable(name) {
                Some(unreadable) => reasons.push(NotReady::Unreadable(unreadable)),
                None => reading.push(name.clone()),
            }
        }
        if !reading.is_empty() {
            reasons.push(NotReady::Unread(reading));
        }
        reasons
    }

    fn unreadable(&self, name: &str) -> Option<UnreadableResource> {
        let why = self.troubles.latest().get(name)?.clone();
        Some(UnreadableResource { name: name.to_owned(), why })
    }
}
