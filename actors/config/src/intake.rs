//! Decides, purely, what an observation of the sources means for the configuration in force.

use crate::{
    candidate::Candidate,
    credentials,
    validators::{self, Answers},
};
use haptic_model::{
    ActiveConfig, Diagnostic, Event, Layout, Severity, config::Judgement, secret::Credentials,
};
use std::sync::Arc;

/// What the sources hold at the moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// The configuration.
    pub config: ObservedConfig,
    /// The credentials it names; `None` until the Secret was looked for.
    pub credentials: Option<Result<Credentials, Diagnostic>>,
    /// Why the source cannot be read at the moment.
    pub trouble: Option<String>,
}

/// The configuration as its source holds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ObservedConfig {
    /// The source has not answered yet.
    #[default]
    Unknown,
    /// There is none of that name.
    Absent,
    /// There is one of this `metadata.generation` that does not fit the types.
    Unreadable(i64, Vec<Diagnostic>),
    /// There is one.
    Found(Candidate),
}

/// How the configuration is, for readiness, status and `/debug/config`.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigState {
    /// Nothing to serve yet, and why.
    Waiting(String),
    /// The newest configuration is in force.
    Valid,
    /// The newest one was refused; an earlier one is still served if there was one.
    Invalid(Vec<Diagnostic>),
    /// It was deleted; the last one is still served.
    Deleted,
}

/// What to do about an observation.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Nothing new.
    Nothing,
    /// Only the state changes.
    Declare(ConfigState),
    /// Ask the validators about this one.
    Validate(Candidate, Credentials),
}

/// Remembers what was judged, so that nothing is judged or told twice.
#[derive(Debug)]
pub struct Intake {
    /// What is waited for, in words: `HAProxyTemplateConfig edge in namespace haptic`.
    wanted: String,
    active: Option<Arc<ActiveConfig>>,
    state: ConfigState,
    refused: Option<Candidate>,
    judgement: Option<Judgement>,
}

impl Intake {
    /// Waits for `wanted`; `active` is what an earlier life of the actor had put in force.
    #[must_use]
    pub fn new(wanted: String, active: Option<Arc<ActiveConfig>>) -> Self {
        let state = match &active {
            Some(_) => ConfigState::Valid,
            None => ConfigState::Waiting(format!("waiting for {wanted}")),
        };
        let judgement = active.as_deref().map(in_force);
        Self { wanted, active, state, refused: None, judgement }
    }

    /// How the configuration is.
    #[must_use]
    pub fn state(&self) -> &ConfigState {
        &self.state
    }

    /// The verdict on the newest configuration, once there is one.
    #[must_use]
    pub fn judgement(&self) -> Option<&Judgement> {
        self.judgement.as_ref()
    }

    /// What `seen` asks for.
    #[must_use]
    pub fn look(&self, seen: &Observation) -> Step {
        match &seen.config {
            ObservedConfig::Unknown => self.declare_waiting(match &seen.trouble {
                Some(trouble) => format!("{} cannot be read: {trouble}", self.wanted),
                None => format!("waiting for {}", self.wanted),
            }),
            ObservedConfig::Absent if self.active.is_some() => self.declare(ConfigState::Deleted),
            ObservedConfig::Absent => self.declare_waiting(format!("there is no {}", self.wanted)),
            ObservedConfig::Unreadable(_, problems) => self.declare(ConfigState::Invalid(problems.clone())),
            ObservedConfig::Found(candidate) => self.look_at(candidate, seen),
        }
    }

    fn look_at(&self, candidate: &Candidate, seen: &Observation) -> Step {
        let credentials = match &seen.credentials {
            None => return self.declare_waiting(format!("waiting for the Secret of {}", self.wanted)),
            Some(Err(problem)) if self.active.is_none() => {
                return self.declare(ConfigState::Invalid(vec![problem.clone()]));
            }
            // A Secret that went away while serving takes nothing away: the credentials in force stay.
            Some(Err(_)) => match self.active.as_ref().and_then(|a| a.credentials.first()) {
                Some(last) => last,
                None => return Step::Nothing,
            },
            Some(Ok(credentials)) => credentials,
        };
        if self.refused.as_ref() == Some(candidate) || self.serves(candidate, credentials) {
            return Step::Nothing;
        }
        Step::Validate(candidate.clone(), credentials.clone())
    }

    /// Records `state`, which `seen` led to; the event to tell, if it is news.
    pub fn declared(&mut self, state: ConfigState, seen: &Observation) -> Option<Event> {
        if let ConfigState::Invalid(problems) = &state {
            self.judgement = match &seen.config {
                ObservedConfig::Unreadable(resource_generation, _) => Some(Judgement {
                    resource_generation: *resource_generation,
                    problems: problems.clone(),
                    leader_election: None,
                }),
                ObservedConfig::Found(candidate) => Some(refused(candidate, problems)),
                ObservedConfig::Unknown | ObservedConfig::Absent => self.judgement.take(),
            };
        }
        let name: Arc<str> = self.wanted.as_str().into();
        let event = match &state {
            ConfigState::Invalid(diagnostics) => {
                Some(Event::ConfigRejected { name, diagnostics: diagnostics.clone() })
            }
            ConfigState::Deleted => Some(Event::ConfigDeleted { name }),
            ConfigState::Waiting(_) | ConfigState::Valid => None,
        };
        if state == ConfigState::Deleted {
            self.refused = None;
        }
        self.state = state;
        event
    }

    /// Records the validators' verdict on a candidate: the configuration to put in force, if it passed, and what to tell.
    pub fn judged(
        &mut self,
        candidate: Candidate,
        credentials: &Credentials,
        answers: Answers,
    ) -> (Option<Arc<ActiveConfig>>, Vec<Event>) {
        let Answers { mut diagnostics, is_complete } = answers;
        let layout = Layout::of(&candidate.spec.dataplane);
        if let Err(why) = &layout
            && !validators::refused(&diagnostics)
        {
            diagnostics.push(Diagnostic::error("basic", why.clone()).at_field("spec.dataplane"));
        }
        let name = candidate.full_name();
        let layout = match layout {
            Ok(layout) if !validators::refused(&diagnostics) => layout,
            _ => {
                self.judgement = Some(refused(&candidate, &diagnostics));
                self.refused = is_complete.then_some(candidate);
                self.state = ConfigState::Invalid(diagnostics.clone());
                return (None, vec![Event::ConfigRejected { name, diagnostics }]);
            }
        };
        let before = self.active.as_deref();
        let mut events = Vec::new();
        if before.is_some_and(|b| b.credentials.first() != Some(credentials)) {
            events.push(Event::CredentialsChanged);
        }
        let revision = before.map_or(1, |b| b.revision + 1);
        events.push(Event::ConfigAccepted { name, revision });
        let active = Arc::new(ActiveConfig {
            name: candidate.name,
            namespace: candidate.namespace,
            resource_generation: candidate.resource_generation,
            revision,
            spec: candidate.spec,
            layout,
            credentials: credentials::rotate(credentials, before.map_or(&[], |b| &b.credentials)),
        });
        self.refused = None;
        self.state = ConfigState::Valid;
        self.judgement = Some(in_force(&active));
        self.active = Some(active.clone());
        (Some(active), events)
    }

    fn serves(&self, candidate: &Candidate, credentials: &Credentials) -> bool {
        self.state == ConfigState::Valid
            && self.active.as_ref().is_some_and(|a| {
                a.spec == candidate.spec
                    && a.resource_generation == candidate.resource_generation
                    && a.name == candidate.name
                    && a.credentials.first() == Some(credentials)
            })
    }

    /// While something is served, waiting is no news: an API server that is away takes nothing away.
    fn declare_waiting(&self, why: String) -> Step {
        if self.active.is_some() { Step::Nothing } else { self.declare(ConfigState::Waiting(why)) }
    }

    fn declare(&self, state: ConfigState) -> Step {
        if self.state == state { Step::Nothing } else { Step::Declare(state) }
    }
}

fn in_force(active: &ActiveConfig) -> Judgement {
    Judgement {
        resource_generation: active.resource_generation,
        problems: Vec::new(),
        leader_election: Some(active.spec.controller.leader_election.clone()),
    }
}

fn refused(candidate: &Candidate, diagnostics: &[Diagnostic]) -> Judgement {
    Judgement {
        resource_generation: candidate.resource_generation,
        problems: diagnostics.iter().filter(|d| d.severity == Severity::Error).cloned().collect(),
        leader_election: Some(candidate.spec.controller.leader_election.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::secret::Sensitive;
    use serde_json::json;

    fn candidate(template: &str) -> Candidate {
        Candidate::from_resource(&json!({
            "metadata": {"name": "edge", "namespace": "haptic", "generation": 3},
            "spec": {"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
                "haproxyConfig": {"template": template}}
        }))
        .unwrap()
    }

    fn credentials(password: &str) -> Credentials {
        Credentials { username: "u".into(), password: Sensitive::new(password.into()) }
    }

    fn found(template: &str, password: &str) -> Observation {
        Observation {
            config: ObservedConfig::Found(candidate(template)),
            credentials: Some(Ok(credentials(password))),
            trouble: None,
        }
    }

    /// All validators answered, with these.
    fn all(diagnostics: Vec<Diagnostic>) -> Answers {
        Answers { diagnostics, is_complete: true }
    }

    fn absent() -> Observation {
        Observation { config: ObservedConfig::Absent, ..Observation::default() }
    }

    fn serving(template: &str) -> Intake {
        let mut intake = Intake::new("config edge".into(), None);
        let (active, _) = intake.judged(candidate(template), &credentials("p"), all(vec![]));
        assert!(active.is_some());
        intake
    }

    #[test]
    fn while_nothing_is_there_it_says_what_it_waits_for() {
        let intake = Intake::new("config edge in namespace haptic".into(), None);
        let Step::Declare(ConfigState::Waiting(why)) = intake.look(&absent()) else { panic!("it must wait") };
        assert_eq!(why, "there is no config edge in namespace haptic");
    }

    #[test]
    fn an_invalid_configuration_keeps_the_valid_one_and_is_told_once() {
        let mut intake = serving("a");
        let (active, events) =
            intake.judged(candidate("b"), &credentials("p"), all(vec![Diagnostic::error("basic", "no")]));
        assert!(active.is_none());
        assert_eq!(events.len(), 1);
        assert!(matches!(intake.state(), ConfigState::Invalid(_)));
        assert_eq!(intake.look(&found("b", "p")), Step::Nothing);
    }

    #[test]
    fn a_configuration_that_a_validator_said_nothing_of_is_not_taken_and_asked_about_again() {
        let mut intake = serving("a");
        let diagnostics = vec![Diagnostic::error("templates", "no answer within 10 s")];
        let (active, _) =
            intake.judged(candidate("b"), &credentials("p"), Answers { diagnostics, is_complete: false });
        assert!(active.is_none() && matches!(intake.state(), ConfigState::Invalid(_)));
        assert!(matches!(intake.look(&found("b", "p")), Step::Validate(..)));
    }

    #[test]
    fn going_back_to_the_configuration_in_force_ends_the_invalid_state() {
        let mut intake = serving("a");
        intake.judged(candidate("b"), &credentials("p"), all(vec![Diagnostic::error("basic", "no")]));
        assert!(matches!(intake.look(&found("a", "p")), Step::Validate(..)));
    }

    #[test]
    fn a_deleted_configuration_is_declared_and_taken_again_when_it_returns() {
        let mut intake = serving("a");
        let Step::Declare(state) = intake.look(&absent()) else { panic!("a deletion is news") };
        assert!(matches!(intake.declared(state, &absent()), Some(Event::ConfigDeleted { .. })));
        assert_eq!(intake.look(&absent()), Step::Nothing);
        assert!(matches!(intake.look(&found("a", "p")), Step::Validate(..)));
    }

    #[test]
    fn a_rotated_password_is_news_although_the_configuration_is_the_same() {
        let mut intake = serving("a");
        assert_eq!(intake.look(&found("a", "p")), Step::Nothing);
        let Step::Validate(c, new) = intake.look(&found("a", "q")) else { panic!("rotation is news") };
        let (active, events) = intake.judged(c, &new, all(vec![]));
        assert!(matches!(events[0], Event::CredentialsChanged));
        assert_eq!(active.unwrap().credentials.len(), 2);
    }

    #[test]
    fn a_lost_secret_or_api_server_takes_nothing_away() {
        let intake = serving("a");
        let lost = Observation { credentials: Some(Err(credentials::missing("a/b"))), ..found("a", "p") };
        assert_eq!(intake.look(&lost), Step::Nothing);
        let away = Observation { trouble: Some("connection refused".into()), ..Observation::default() };
        assert_eq!(intake.look(&away), Step::Nothing);
    }

    #[test]
    fn a_missing_secret_at_the_start_is_an_error_that_names_it() {
        let intake = Intake::new("config edge".into(), None);
        let seen =
            Observation { credentials: Some(Err(credentials::missing("haptic/creds"))), ..found("a", "p") };
        let Step::Declare(ConfigState::Invalid(why)) = intake.look(&seen) else { panic!("it must refuse") };
        assert!(why[0].to_string().contains("haptic/creds"), "{}", why[0]);
    }
}
