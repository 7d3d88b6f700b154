//! Decides, purely, what an observation of the sources means for the configuration in force.

use crate::{
    candidate::ConfigCandidate,
    credentials,
    validators::{self, ValidatorResponses},
};
use haptic_model::{
    ActiveConfig, Diagnostic, Event, Layout, Severity,
    config::ConfigVerdict,
    config::Credentials,
    event::{Asked, ConfigName},
};
use std::sync::Arc;

/// What the sources hold at the moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceState {
    /// The configuration.
    pub config: ObservedConfig,
    /// The credentials that it names; `None` until that Secret was looked for.
    pub credentials: Option<Result<Credentials, Diagnostic>>,
    /// Why the source cannot be read at the moment.
    pub trouble: Option<String>,
}

impl SourceState {
    /// Whether something is wrong with the source, and it has not only yet to answer.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        match self.config {
            ObservedConfig::Unknown => self.trouble.is_some(),
            ObservedConfig::Absent => true,
            ObservedConfig::Unreadable(..) | ObservedConfig::Found(_) => false,
        }
    }
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
    Found(ConfigCandidate),
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
pub enum IntakeStep {
    /// Nothing new.
    Nothing,
    /// Only the state changes.
    Declare(ConfigState),
    /// Ask the validators about this one.
    Validate(Box<ConfigCandidate>, Credentials),
}

/// Remembers what was judged, so that nothing is judged or told twice.
#[derive(Debug)]
pub struct Intake {
    /// What is waited for, in words: `HAProxyTemplateConfig edge in namespace haptic`.
    wanted: String,
    active: Option<Arc<ActiveConfig>>,
    /// `metadata.uid` of the resource that is in force.
    uid: Option<Arc<str>>,
    state: ConfigState,
    refused: Option<ConfigCandidate>,
    judgement: Option<ConfigVerdict>,
    /// Why the credentials that the newest configuration names cannot be had.
    credentials: Option<Diagnostic>,
}

impl Intake {
    /// Waits for `wanted`; `active` is what an earlier life of the actor had put in force.
    #[must_use]
    pub fn new(wanted: String, active: Option<Arc<ActiveConfig>>) -> Self {
        let state = match &active {
            Some(_) => ConfigState::Valid,
            None => ConfigState::Waiting(format!("waiting for {wanted}")),
        };
        let judgement = active.as_deref().map(verdict_of);
        Self { wanted, active, uid: None, state, refused: None, judgement, credentials: None }
    }

    /// The same, where the resource with `metadata.uid` `uid` is in force.
    #[must_use]
    pub fn of_resource(mut self, uid: Option<Arc<str>>) -> Self {
        if let Some(judgement) = &mut self.judgement {
            judgement.uid.clone_from(&uid);
        }
        Self { uid, ..self }
    }

    /// How the configuration is.
    #[must_use]
    pub fn state(&self) -> &ConfigState {
        &self.state
    }

    /// The verdict on the newest configuration, once there is one.
    #[must_use]
    pub fn judgement(&self) -> Option<&ConfigVerdict> {
        self.judgement.as_ref()
    }

    /// Notes whether the credentials that `seen` names can be had; the event to tell, if that is news.
    pub fn look_at_credentials(&mut self, seen: &SourceState) -> Option<Event> {
        let why = match &seen.credentials {
            Some(Err(why)) => Some(why.clone()),
            Some(Ok(_)) => None,
            // They are yet to be looked for.
            None => return None,
        };
        if why == self.credentials {
            return None;
        }
        self.credentials.clone_from(&why);
        if let Some(judgement) = &mut self.judgement {
            judgement.credentials.clone_from(&why);
        }
        Some(Event::CredentialsTroubled { name: self.source(), why })
    }

    /// Whatever configuration is found where one is waited for.
    fn source(&self) -> ConfigName {
        ConfigName::Source(self.wanted.as_str().into())
    }

    /// The step that `seen` asks for.
    #[must_use]
    pub fn next_step(&self, seen: &SourceState) -> IntakeStep {
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

    fn look_at(&self, candidate: &ConfigCandidate, seen: &SourceState) -> IntakeStep {
        let credentials = match &seen.credentials {
            None => return self.declare_waiting(format!("waiting for the Secret of {}", self.wanted)),
            // A Secret that went away while serving takes nothing away: the credentials in force stay.
            Some(Err(problem)) => match self.last_credentials(candidate) {
                Some(last) => last,
                None => return self.declare(ConfigState::Invalid(vec![problem.clone()])),
            },
            Some(Ok(credentials)) => credentials,
        };
        if self.refused.as_ref() == Some(candidate) || self.serves(candidate, credentials) {
            return IntakeStep::Nothing;
        }
        IntakeStep::Validate(Box::new(candidate.clone()), credentials.clone())
    }

    /// Those in force, if they are of the Secret that `candidate` names.
    fn last_credentials(&self, candidate: &ConfigCandidate) -> Option<&Credentials> {
        let active = self.active.as_ref()?;
        let named = credentials::secret_of(&active.spec, &active.namespace);
        (named == candidate.secret()).then(|| active.credentials.first())?
    }

    /// Records `state`, which `seen` led to; the event to tell, if it is news.
    pub fn declared(&mut self, state: ConfigState, seen: &SourceState) -> Option<Event> {
        if let ConfigState::Invalid(problems) = &state {
            self.judgement = match &seen.config {
                ObservedConfig::Unreadable(resource_generation, _) => Some(ConfigVerdict {
                    resource_generation: *resource_generation,
                    uid: None,
                    problems: problems.clone(),
                    leader_election: None,
                    credentials: self.credentials.clone(),
                }),
                ObservedConfig::Found(candidate) => Some(self.refused(candidate, problems)),
                ObservedConfig::Unknown | ObservedConfig::Absent => self.judgement.take(),
            };
        }
        let name = self.source();
        let event = match &state {
            ConfigState::Invalid(diagnostics) => Some(Event::ConfigRejected {
                name,
                diagnostics: diagnostics.clone(),
                asked: Asked::default(),
            }),
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
    pub fn validated(
        &mut self,
        candidate: ConfigCandidate,
        credentials: &Credentials,
        answers: ValidatorResponses,
    ) -> (Option<Arc<ActiveConfig>>, Vec<Event>) {
        let is_complete = answers.is_complete();
        let ValidatorResponses { mut diagnostics, asked } = answers;
        let layout = Layout::of(&candidate.spec.dataplane);
        if let Err(why) = &layout
            && !validators::refused(&diagnostics)
        {
            diagnostics.push(Diagnostic::error("basic", why.clone()).at_field("spec.dataplane"));
        }
        let name = ConfigName::Own(candidate.full_name());
        let layout = match layout {
            Ok(layout) if !validators::refused(&diagnostics) => layout,
            _ => {
                self.judgement = Some(self.refused(&candidate, &diagnostics));
                self.refused = is_complete.then_some(candidate);
                self.state = ConfigState::Invalid(diagnostics.clone());
                return (None, vec![Event::ConfigRejected { name, diagnostics, asked }]);
            }
        };
        let before = self.active.as_deref();
        let mut events = Vec::new();
        if before.is_some_and(|b| b.credentials.first() != Some(credentials)) {
            events.push(Event::CredentialsChanged);
        }
        let revision = before.map_or(1, |b| b.revision + 1);
        events.push(Event::ConfigAccepted { name, revision, asked });
        self.uid = candidate.uid;
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
        let (credentials, uid) = (self.credentials.clone(), self.uid.clone());
        self.judgement = Some(ConfigVerdict { credentials, uid, ..verdict_of(&active) });
        self.active = Some(active.clone());
        (Some(active), events)
    }

    fn refused(&self, candidate: &ConfigCandidate, diagnostics: &[Diagnostic]) -> ConfigVerdict {
        ConfigVerdict {
            resource_generation: candidate.resource_generation,
            uid: candidate.uid.clone(),
            problems: diagnostics.iter().filter(|d| d.severity == Severity::Error).cloned().collect(),
            leader_election: Some(candidate.spec.controller.leader_election.clone()),
            credentials: self.credentials.clone(),
        }
    }

    fn serves(&self, candidate: &ConfigCandidate, credentials: &Credentials) -> bool {
        self.state == ConfigState::Valid
            && self.active.as_ref().is_some_and(|a| {
                a.spec == candidate.spec
                    && a.resource_generation == candidate.resource_generation
                    && self.uid == candidate.uid
                    && a.name == candidate.name
                    && a.credentials.first() == Some(credentials)
            })
    }

    /// While something is served, waiting is no news: an API server that is away takes nothing away.
    fn declare_waiting(&self, why: String) -> IntakeStep {
        if self.active.is_some() { IntakeStep::Nothing } else { self.declare(ConfigState::Waiting(why)) }
    }

    fn declare(&self, state: ConfigState) -> IntakeStep {
        if self.state == state { IntakeStep::Nothing } else { IntakeStep::Declare(state) }
    }
}

fn verdict_of(active: &ActiveConfig) -> ConfigVerdict {
    ConfigVerdict {
        resource_generation: active.resource_generation,
        uid: None,
        problems: Vec::new(),
        leader_election: Some(active.spec.controller.leader_election.clone()),
        credentials: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_text::Sensitive;
    use serde_json::json;

    fn candidate(template: &str) -> ConfigCandidate {
        naming("c", template)
    }

    /// One whose credentials are in `secret`.
    fn naming(secret: &str, template: &str) -> ConfigCandidate {
        ConfigCandidate::from_resource(&json!({
            "metadata": {"name": "edge", "namespace": "haptic", "generation": 3},
            "spec": {"credentialsSecretRef": {"name": secret}, "podSelector": {"matchLabels": {"a": "b"}},
                "haproxyConfig": {"template": template}}
        }))
        .unwrap()
    }

    /// The Secret that `candidate` names is not there.
    fn without_secret(candidate: ConfigCandidate) -> SourceState {
        let missing = Err(credentials::missing(&candidate.secret()));
        let config = ObservedConfig::Found(candidate);
        SourceState { config, credentials: Some(missing), trouble: None }
    }

    fn credentials(password: &str) -> Credentials {
        Credentials { username: "u".into(), password: Sensitive::new(password.into()) }
    }

    fn found(template: &str, password: &str) -> SourceState {
        SourceState {
            config: ObservedConfig::Found(candidate(template)),
            credentials: Some(Ok(credentials(password))),
            trouble: None,
        }
    }

    /// All validators answered, with these.
    fn all(diagnostics: Vec<Diagnostic>) -> ValidatorResponses {
        ValidatorResponses { diagnostics, asked: Asked::default() }
    }

    fn absent() -> SourceState {
        SourceState { config: ObservedConfig::Absent, ..SourceState::default() }
    }

    fn serving(template: &str) -> Intake {
        let mut intake = Intake::new("config edge".into(), None);
        let (active, _) = intake.validated(candidate(template), &credentials("p"), all(vec![]));
        assert!(active.is_some());
        intake
    }

    #[test]
    fn while_nothing_is_there_it_says_what_it_waits_for() {
        let intake = Intake::new("config edge in namespace haptic".into(), None);
        let IntakeStep::Declare(ConfigState::Waiting(why)) = intake.next_step(&absent()) else {
            panic!("it must wait")
        };
        assert_eq!(why, "there is no config edge in namespace haptic");
    }

    #[test]
    fn an_invalid_configuration_keeps_the_valid_one_and_is_told_once() {
        let mut intake = serving("a");
        let (active, events) =
            intake.validated(candidate("b"), &credentials("p"), all(vec![Diagnostic::error("basic", "no")]));
        assert!(active.is_none());
        assert_eq!(events.len(), 1);
        assert!(matches!(intake.state(), ConfigState::Invalid(_)));
        assert_eq!(intake.next_step(&found("b", "p")), IntakeStep::Nothing);
    }

    #[test]
    fn a_configuration_that_a_validator_said_nothing_of_is_not_taken_and_asked_about_again() {
        let mut intake = serving("a");
        let diagnostics = vec![Diagnostic::error("templates", "no answer within 10 s")];
        let (active, _) = intake.validated(
            candidate("b"),
            &credentials("p"),
            ValidatorResponses { diagnostics, asked: Asked { silent: vec!["template"], ..Asked::default() } },
        );
        assert!(active.is_none() && matches!(intake.state(), ConfigState::Invalid(_)));
        assert!(matches!(intake.next_step(&found("b", "p")), IntakeStep::Validate(..)));
    }

    #[test]
    fn going_back_to_the_configuration_in_force_ends_the_invalid_state() {
        let mut intake = serving("a");
        intake.validated(candidate("b"), &credentials("p"), all(vec![Diagnostic::error("basic", "no")]));
        assert!(matches!(intake.next_step(&found("a", "p")), IntakeStep::Validate(..)));
    }

    #[test]
    fn a_deleted_configuration_is_declared_and_taken_again_when_it_returns() {
        let mut intake = serving("a");
        let IntakeStep::Declare(state) = intake.next_step(&absent()) else { panic!("a deletion is news") };
        assert!(matches!(intake.declared(state, &absent()), Some(Event::ConfigDeleted { .. })));
        assert_eq!(intake.next_step(&absent()), IntakeStep::Nothing);
        assert!(matches!(intake.next_step(&found("a", "p")), IntakeStep::Validate(..)));
    }

    /// It has no status, and what belonged to the one before goes with that.
    #[test]
    fn one_that_was_made_again_is_news_also_where_its_deletion_was_not_seen() {
        let made = |uid: &str| {
            let mut seen = found("a", "p");
            if let ObservedConfig::Found(candidate) = &mut seen.config {
                candidate.uid = Some(uid.into());
            }
            seen
        };
        let mut intake = serving("a");
        for uid in ["first", "second"] {
            let IntakeStep::Validate(candidate, by) = intake.next_step(&made(uid)) else { panic!("{uid}") };
            intake.validated(*candidate, &by, all(Vec::new()));
            assert_eq!(intake.judgement().and_then(|verdict| verdict.uid.as_deref()), Some(uid));
            assert_eq!(intake.next_step(&made(uid)), IntakeStep::Nothing);
        }
        let next_life = Intake::new("it".into(), intake.active.clone()).of_resource(Some("second".into()));
        assert_eq!(next_life.next_step(&made("second")), IntakeStep::Nothing);
        assert_eq!(next_life.judgement().and_then(|verdict| verdict.uid.as_deref()), Some("second"));
    }

    #[test]
    fn a_rotated_password_is_news_although_the_configuration_is_the_same() {
        let mut intake = serving("a");
        assert_eq!(intake.next_step(&found("a", "p")), IntakeStep::Nothing);
        let IntakeStep::Validate(c, new) = intake.next_step(&found("a", "q")) else {
            panic!("rotation is news")
        };
        let (active, events) = intake.validated(*c, &new, all(vec![]));
        assert!(matches!(events[0], Event::CredentialsChanged));
        assert_eq!(active.unwrap().credentials.len(), 2);
    }

    #[test]
    fn a_lost_secret_or_api_server_takes_nothing_away() {
        let intake = serving("a");
        assert_eq!(intake.next_step(&without_secret(candidate("a"))), IntakeStep::Nothing);
        let away = SourceState { trouble: Some("connection refused".into()), ..SourceState::default() };
        assert_eq!(intake.next_step(&away), IntakeStep::Nothing);
    }

    #[test]
    fn a_missing_secret_at_the_start_is_an_error_that_names_it() {
        let intake = Intake::new("config edge".into(), None);
        let seen = without_secret(naming("creds", "a"));
        let IntakeStep::Declare(ConfigState::Invalid(why)) = intake.next_step(&seen) else {
            panic!("it must refuse")
        };
        assert!(why[0].to_string().contains("haptic/creds"), "{}", why[0]);
    }

    #[test]
    fn a_secret_that_is_lost_while_serving_is_told_once_and_so_is_its_return() {
        let mut intake = serving("a");
        assert!(intake.look_at_credentials(&found("a", "p")).is_none());
        let lost = without_secret(candidate("a"));
        let told = intake.look_at_credentials(&lost);
        assert!(matches!(told, Some(Event::CredentialsTroubled { why: Some(_), .. })), "{told:?}");
        assert!(intake.look_at_credentials(&lost).is_none());
        let judgement = intake.judgement().unwrap();
        assert!(judgement.problems.is_empty() && judgement.credentials.is_some(), "{judgement:?}");

        // A configuration that comes meanwhile is taken with the credentials in force, and they are missed all the same.
        let IntakeStep::Validate(newer, last) = intake.next_step(&without_secret(candidate("b"))) else {
            panic!("it names the same Secret")
        };
        intake.validated(*newer, &last, all(vec![]));
        assert!(intake.judgement().unwrap().credentials.is_some());

        let told = intake.look_at_credentials(&found("b", "p"));
        assert!(matches!(told, Some(Event::CredentialsTroubled { why: None, .. })), "{told:?}");
        assert!(intake.judgement().unwrap().credentials.is_none());
    }

    #[test]
    fn a_change_to_a_secret_that_is_not_there_is_refused_and_taken_when_it_comes() {
        let mut intake = serving("a");
        let unseen = SourceState { credentials: None, ..without_secret(naming("other", "a")) };
        assert_eq!(intake.next_step(&unseen), IntakeStep::Nothing, "the other Secret was not looked for yet");
        let seen = without_secret(naming("other", "a"));
        let IntakeStep::Declare(state) = intake.next_step(&seen) else {
            panic!("the other Secret is not there")
        };
        assert!(matches!(&state, ConfigState::Invalid(why) if why[0].to_string().contains("haptic/other")));
        assert!(matches!(intake.declared(state, &seen), Some(Event::ConfigRejected { .. })));
        assert!(!intake.judgement().unwrap().problems.is_empty());
        assert_eq!(intake.next_step(&seen), IntakeStep::Nothing);
        let there = SourceState { credentials: Some(Ok(credentials("q"))), ..seen };
        let IntakeStep::Validate(candidate, new) = intake.next_step(&there) else {
            panic!("now it is there")
        };
        let (active, _) = intake.validated(*candidate, &new, all(vec![]));
        assert_eq!(active.unwrap().credentials.first(), Some(&credentials("q")));
    }

    #[test]
    fn a_source_that_has_yet_to_answer_is_not_wrong() {
        let state = |config, trouble: Option<&str>| SourceState {
            config,
            credentials: None,
            trouble: trouble.map(str::to_owned),
        };
        assert!(!state(ObservedConfig::Unknown, None).is_wrong());
        assert!(state(ObservedConfig::Unknown, Some("forbidden")).is_wrong());
        assert!(state(ObservedConfig::Absent, None).is_wrong());
    }
}
