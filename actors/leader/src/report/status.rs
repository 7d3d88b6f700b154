//! The status of the resource: what it should say, and whether that is worth a write.

use super::health::{FailedGeneration, FailedStage, FleetHealth, Progress, ReportedHealth};
use crate::reporting::Report;
use haptic_model::{
    Diagnostic,
    crd::{HAProxyTemplateConfigStatus, ValidationStatus},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::collections::BTreeMap;

/// Longer messages help nobody, and the API server limits them (32,768).
const LONGEST: usize = 2000;

const ACCEPTED: &str = "validators, render and HAProxy's own check accept it";

/// A condition without its times.
struct ConditionVerdict {
    kind: &'static str,
    /// Which `metadata.generation` it speaks of.
    about: i64,
    status: &'static str,
    reason: &'static str,
    message: String,
}

/// The status for `health` at `now`, if it differs from `before`, the one that the resource has.
///
/// Times are no difference: `lastTransitionTime` is when a condition's status changed, `lastValidated` when a
/// configuration was found valid. A fleet that is only catching up leaves the condition as it is.
#[must_use]
pub fn changed(
    before: &HAProxyTemplateConfigStatus,
    health: &ReportedHealth,
    now: Timestamp,
) -> Option<HAProxyTemplateConfigStatus> {
    let generation = Some(health.judgement.resource_generation).filter(|generation| *generation > 0);
    let is_as_before = before.observed_generation == generation;
    let was_valid = is_as_before && before.validation_status == Some(ValidationStatus::Valid);
    let (validation, message) = validation(was_valid, health);
    let is_news = validation == ValidationStatus::Valid && !was_valid;
    let last_validated = if is_news { Some(format!("{now:.0}")) } else { before.last_validated.clone() };
    let status = HAProxyTemplateConfigStatus {
        observed_generation: generation,
        last_validated,
        validation_status: Some(validation),
        validation_message: Some(message),
        watched_objects: watched(&before.watched_objects, &health.watched),
        conditions: conditions(before, health, now),
    };
    (status != *before).then_some(status)
}

/// `was_valid`: this very configuration, before this controller had rendered it.
fn validation(was_valid: bool, health: &ReportedHealth) -> (ValidationStatus, String) {
    let unknown =
        |what: &str| (ValidationStatus::Unknown, shortened(format!("the validators accept it; {what}")));
    match (health.invalid(), &health.progress) {
        ([], Progress::Rendered) => (ValidationStatus::Valid, ACCEPTED.to_owned()),
        ([], Progress::Comes) if was_valid => (ValidationStatus::Valid, ACCEPTED.to_owned()),
        ([], Progress::Comes) => unknown("it is not yet rendered and checked"),
        ([], Progress::Waits(why)) => unknown(&format!("it is rendered when these can be read: {why}")),
        (problems, _) => (ValidationStatus::Invalid, text_of(problems)),
    }
}

fn conditions(
    before: &HAProxyTemplateConfigStatus,
    health: &ReportedHealth,
    now: Timestamp,
) -> Vec<Condition> {
    let generation = health.judgement.resource_generation;
    // What is held or left out is so in what was checked last.
    let checked = health.checked.unwrap_or(generation);
    let deployed = deployed(before, health);
    let first = [ready(health, &deployed), templates_valid(health), credentials_valid(health), deployed];
    let held = [quarantined(health), deletions_held(health), limits_reached(health)];
    let published = published(health).or_else(|| as_before(before, "Published"));
    let held = held.into_iter().chain(published).map(|verdict| verdict.about(checked));
    first.into_iter().chain(held).map(|verdict| verdict.at(before, now)).collect()
}

fn ready(health: &ReportedHealth, deployed: &ConditionVerdict) -> ConditionVerdict {
    let generation = health.judgement.resource_generation;
    let not =
        |reason, message: &str| ConditionVerdict::new("Ready", "False", reason, message).about(generation);
    match (&health.judgement.problems[..], health.failed(), &health.judgement.credentials) {
        ([], None, None) if deployed.status == "True" => {
            let what = "the configuration is in force on every pod";
            ConditionVerdict::new("Ready", "True", "Deployed", what).about(generation)
        }
        ([], None, None) => {
            ConditionVerdict { kind: "Ready", message: deployed.message.clone(), ..*deployed }
        }
        ([], _, Some(why)) => not("CredentialsUnreadable", &text_of(std::slice::from_ref(why))),
        ([], Some(FailedGeneration { stage, diagnostics, .. }), _) => {
            not(stage.reason(), &text_of(diagnostics))
        }
        (problems, ..) => not("Invalid", &text_of(problems)),
    }
}

fn credentials_valid(health: &ReportedHealth) -> ConditionVerdict {
    let verdict = |status, reason, message: &str| {
        let verdict = ConditionVerdict::new("CredentialsValid", status, reason, message);
        verdict.about(health.judgement.resource_generation)
    };
    match &health.judgement.credentials {
        Some(why) => verdict("False", "CredentialsUnreadable", &text_of(std::slice::from_ref(why))),
        None => verdict("True", "Read", "the Secret has what it needs"),
    }
}

fn templates_valid(health: &ReportedHealth) -> ConditionVerdict {
    let generation = health.judgement.resource_generation;
    let verdict = |status, reason, message: &str| {
        ConditionVerdict::new("TemplatesValid", status, reason, message).about(generation)
    };
    let broken: Vec<Diagnostic> =
        health.judgement.problems.iter().filter(|problem| problem.source == "template").cloned().collect();
    match (&broken[..], health.failed()) {
        ([], Some(failed)) if !failed.is_an_objects() && failed.stage == FailedStage::Render => {
            verdict("False", failed.stage.reason(), &text_of(&failed.diagnostics))
        }
        ([], _) if health.judgement.leader_election.is_none() => {
            verdict("Unknown", "Unreadable", "the configuration does not fit its schema")
        }
        ([], _) => verdict("True", "Compiled", "all templates compile"),
        (broken, _) => verdict("False", "Invalid", &text_of(broken)),
    }
}

/// Whether every pod runs the newest valid configuration. Of a wrong one this says nothing: then it is about the one before.
fn deployed(before: &HAProxyTemplateConfigStatus, health: &ReportedHealth) -> ConditionVerdict {
    let verdict = |status, reason, message: &str| ConditionVerdict::new("Deployed", status, reason, message);
    let generation = health.judgement.resource_generation;
    let (about, found) = match &health.progress {
        _ if !health.invalid().is_empty() => (health.checked.unwrap_or(generation), of_fleet(&health.fleet)),
        Progress::Rendered => (generation, of_fleet(&health.fleet)),
        Progress::Waits(why) => {
            let what = format!("nothing of it is deployed until these can be read: {why}");
            (generation, Some(verdict("False", "ResourcesUnreadable", &shortened(what))))
        }
        Progress::Comes if health.checked.is_none() => (generation, of_fleet(&health.fleet)),
        Progress::Comes => (generation, None),
    };
    let found = found.or_else(|| as_before(before, "Deployed").filter(|known| known.about == about));
    let comes = || verdict("Unknown", "InProgress", "pods are being brought to the configuration");
    found.unwrap_or_else(comes).about(about)
}

/// `None`: they are being brought to it.
fn of_fleet(fleet: &FleetHealth) -> Option<ConditionVerdict> {
    let verdict =
        |status, reason, message: &str| Some(ConditionVerdict::new("Deployed", status, reason, message));
    match fleet {
        FleetHealth::Catching => None,
        FleetHealth::NothingToDeploy => {
            verdict("False", "NothingToDeploy", "nothing has passed all checks yet")
        }
        FleetHealth::NoPods => {
            verdict("False", "NoPods", "no HAProxy pod has the labels of spec.podSelector")
        }
        FleetHealth::Deployed(pods) => {
            verdict("True", "Deployed", &format!("{pods} of {pods} pods run the newest valid configuration"))
        }
        FleetHealth::Behind { pods, of, why } => {
            let why = why.as_deref().unwrap_or("see the controller's log");
            let names = pods.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
            verdict(
                "False",
                "PodsBehind",
                &format!("{} of {of} pods are behind ({names}): {why}", pods.len()),
            )
        }
    }
}

fn quarantined(health: &ReportedHealth) -> ConditionVerdict {
    let held = &health.quarantine.held;
    if held.is_empty() {
        return ConditionVerdict::new("Quarantined", "False", "None", "no object is held back");
    }
    let message = first(held.values().map(ToString::to_string), held.len());
    ConditionVerdict::new("Quarantined", "True", "ObjectsHeldBack", &message)
}

fn limits_reached(health: &ReportedHealth) -> ConditionVerdict {
    let reached: Vec<_> =
        health.rejected.iter().flat_map(|(resource, rejected)| rejected.reached(resource)).collect();
    if reached.is_empty() {
        return ConditionVerdict::new("LimitsReached", "False", "None", "no object is left out");
    }
    let message = first(reached.iter().map(ToString::to_string), reached.len());
    ConditionVerdict::new("LimitsReached", "True", "ObjectsLeftOut", &message)
}

fn deletions_held(health: &ReportedHealth) -> ConditionVerdict {
    if health.missing.is_empty() {
        return ConditionVerdict::new("DeletionsHeld", "False", "None", "no objects vanished at once");
    }
    let message = health.missing.values().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    ConditionVerdict::new("DeletionsHeld", "True", "ObjectsVanished", &shortened(message))
}

/// `None`: nothing was tried yet, it is as it was.
fn published(health: &ReportedHealth) -> Option<ConditionVerdict> {
    let verdict =
        |status, reason, message: &str| Some(ConditionVerdict::new("Published", status, reason, message));
    let reporting = &health.reporting;
    match (reporting.failures.get(&Report::Published), reporting.omitted.as_deref()) {
        (Some(why), _) => verdict("False", "Refused", &shortened(why.clone())),
        (None, None) => None,
        (None, Some([])) => verdict("True", "Complete", "every file is published"),
        (None, Some(omitted)) => verdict("False", "TooLarge", &shortened(omitted.join("; "))),
    }
}

/// Counts that are only somewhat other ones stay as they are: a status is not written for each object. What is not read, or
/// doubted, stays, too.
fn watched(before: &BTreeMap<String, i64>, now: &BTreeMap<String, usize>) -> BTreeMap<String, i64> {
    let mut all = before.clone();
    for (resource, count) in now {
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        let known = before.get(resource).copied().unwrap_or_default();
        if (count - known).saturating_mul(4).abs() > known {
            all.insert(resource.clone(), count);
        }
    }
    all
}

fn as_before(before: &HAProxyTemplateConfigStatus, kind: &'static str) -> Option<ConditionVerdict> {
    let found = before.conditions.iter().find(|condition| condition.type_ == kind)?;
    let known = ["Deployed", "NothingToDeploy", "NoPods", "PodsBehind", "Complete", "Refused", "TooLarge"];
    let reason = known.into_iter().find(|reason| *reason == found.reason)?;
    let status = ["True", "False", "Unknown"].into_iter().find(|status| *status == found.status)?;
    let about = found.observed_generation.unwrap_or_default();
    Some(ConditionVerdict { kind, about, status, reason, message: found.message.clone() })
}

impl ConditionVerdict {
    fn new(kind: &'static str, status: &'static str, reason: &'static str, message: &str) -> Self {
        Self { kind, about: 0, status, reason, message: message.to_owned() }
    }

    fn about(self, generation: i64) -> Self {
        Self { about: generation, ..self }
    }

    fn at(self, before: &HAProxyTemplateConfigStatus, now: Timestamp) -> Condition {
        let same = before.conditions.iter().find(|c| c.type_ == self.kind && c.status == self.status);
        let whole_seconds = Timestamp::from_second(now.as_second()).unwrap_or(now);
        Condition {
            type_: self.kind.to_owned(),
            status: self.status.to_owned(),
            reason: self.reason.to_owned(),
            message: self.message,
            observed_generation: Some(self.about),
            last_transition_time: same.map_or(Time(whole_seconds), |c| c.last_transition_time.clone()),
        }
    }
}

/// What is wrong, without the line of the output: that moves with every object that comes or goes.
fn text_of(problems: &[Diagnostic]) -> String {
    let text = |problem: &Diagnostic| Diagnostic { output: None, ..problem.clone() }.to_string();
    first(problems.iter().map(text), problems.len())
}

/// The first few sentences of `all`, and how many more there are.
fn first(sentences: impl Iterator<Item = String>, all: usize) -> String {
    let mut text = sentences.take(5).collect::<Vec<_>>().join("\n");
    if let Some(more @ 1..) = all.checked_sub(5) {
        text.push_str(&format!("\nand {more} more"));
    }
    shortened(text)
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests;
