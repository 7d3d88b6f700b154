//! The status of the resource: what it should say, and whether that is worth a write.

use super::health::{Failed, Fleet, Health, Progress};
use crate::reporting::Telling;
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
struct Verdict {
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
    health: &Health,
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
fn validation(was_valid: bool, health: &Health) -> (ValidationStatus, String) {
    let unknown =
        |what: &str| (ValidationStatus::Unknown, shortened(format!("the validators accept it; {what}")));
    match (health.invalid(), &health.progress) {
        ([], Progress::Rendered) => (ValidationStatus::Valid, ACCEPTED.to_owned()),
        ([], Progress::Comes) if was_valid => (ValidationStatus::Valid, ACCEPTED.to_owned()),
        ([], Progress::Comes) => unknown("it is not yet rendered and checked"),
        ([], Progress::Waits(why)) => unknown(&format!("it is rendered when these can be read: {why}")),
        (problems, _) => (ValidationStatus::Invalid, sentence(problems)),
    }
}

fn conditions(before: &HAProxyTemplateConfigStatus, health: &Health, now: Timestamp) -> Vec<Condition> {
    let judged = health.judgement.resource_generation;
    // What is held or left out is so in what was checked last.
    let checked = health.checked.unwrap_or(judged);
    let deployed = deployed(before, health);
    let first = [ready(health, &deployed), templates_valid(health), credentials_valid(health), deployed];
    let held = [quarantined(health), deletions_held(health), limits_reached(health)];
    let published = published(health).or_else(|| as_before(before, "Published"));
    let held = held.into_iter().chain(published).map(|verdict| verdict.about(checked));
    first.into_iter().chain(held).map(|verdict| verdict.at(before, now)).collect()
}

fn ready(health: &Health, deployed: &Verdict) -> Verdict {
    let judged = health.judgement.resource_generation;
    let not = |reason, message: &str| Verdict::new("Ready", "False", reason, message).about(judged);
    match (&health.judgement.problems[..], health.failed(), &health.judgement.credentials) {
        ([], None, None) if deployed.status == "True" => {
            let what = "the configuration is in force on every pod";
            Verdict::new("Ready", "True", "Deployed", what).about(judged)
        }
        ([], None, None) => Verdict { kind: "Ready", message: deployed.message.clone(), ..*deployed },
        ([], _, Some(why)) => not("CredentialsUnreadable", &sentence(std::slice::from_ref(why))),
        ([], Some(Failed { reason, diagnostics, .. }), _) => not(reason, &sentence(diagnostics)),
        (problems, ..) => not("Invalid", &sentence(problems)),
    }
}

fn credentials_valid(health: &Health) -> Verdict {
    let verdict = |status, reason, message: &str| {
        let verdict = Verdict::new("CredentialsValid", status, reason, message);
        verdict.about(health.judgement.resource_generation)
    };
    match &health.judgement.credentials {
        Some(why) => verdict("False", "CredentialsUnreadable", &sentence(std::slice::from_ref(why))),
        None => verdict("True", "Read", "the Secret has what it needs"),
    }
}

fn templates_valid(health: &Health) -> Verdict {
    let judged = health.judgement.resource_generation;
    let verdict =
        |status, reason, message: &str| Verdict::new("TemplatesValid", status, reason, message).about(judged);
    let broken: Vec<Diagnostic> =
        health.judgement.problems.iter().filter(|problem| problem.source == "template").cloned().collect();
    match (&broken[..], health.failed()) {
        ([], Some(failed)) if !failed.is_an_objects() && failed.reason == "RenderFailed" => {
            verdict("False", failed.reason, &sentence(&failed.diagnostics))
        }
        ([], _) if health.judgement.leader_election.is_none() => {
            verdict("Unknown", "Unreadable", "the configuration does not fit its schema")
        }
        ([], _) => verdict("True", "Compiled", "all templates compile"),
        (broken, _) => verdict("False", "Invalid", &sentence(broken)),
    }
}

/// Whether every pod runs the newest valid configuration. Of a wrong one this says nothing: then it is about the one before.
fn deployed(before: &HAProxyTemplateConfigStatus, health: &Health) -> Verdict {
    let verdict = |status, reason, message: &str| Verdict::new("Deployed", status, reason, message);
    let judged = health.judgement.resource_generation;
    let (about, found) = match &health.progress {
        _ if !health.invalid().is_empty() => (health.checked.unwrap_or(judged), of_fleet(&health.fleet)),
        Progress::Rendered => (judged, of_fleet(&health.fleet)),
        Progress::Waits(why) => {
            let what = format!("nothing of it is deployed until these can be read: {why}");
            (judged, Some(verdict("False", "ResourcesUnreadable", &shortened(what))))
        }
        Progress::Comes if health.checked.is_none() => (judged, of_fleet(&health.fleet)),
        Progress::Comes => (judged, None),
    };
    let found = found.or_else(|| as_before(before, "Deployed").filter(|known| known.about == about));
    let comes = || verdict("Unknown", "InProgress", "pods are being brought to the configuration");
    found.unwrap_or_else(comes).about(about)
}

/// `None`: they are being brought to it.
fn of_fleet(fleet: &Fleet) -> Option<Verdict> {
    let verdict = |status, reason, message: &str| Some(Verdict::new("Deployed", status, reason, message));
    match fleet {
        Fleet::Catching => None,
        Fleet::NothingToDeploy => verdict("False", "NothingToDeploy", "nothing has passed all checks yet"),
        Fleet::NoPods => verdict("False", "NoPods", "no HAProxy pod has the labels of spec.podSelector"),
        Fleet::Deployed(pods) => {
            verdict("True", "Deployed", &format!("{pods} of {pods} pods run the newest valid configuration"))
        }
        Fleet::Behind { pods, of, why } => {
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

fn quarantined(health: &Health) -> Verdict {
    let held = &health.quarantine.held;
    if held.is_empty() {
        return Verdict::new("Quarantined", "False", "None", "no object is held back");
    }
    let message = first(held.values().map(ToString::to_string), held.len());
    Verdict::new("Quarantined", "True", "ObjectsHeldBack", &message)
}

fn limits_reached(health: &Health) -> Verdict {
    let reached: Vec<_> =
        health.left_out.iter().flat_map(|(resource, left_out)| left_out.reached(resource)).collect();
    if reached.is_empty() {
        return Verdict::new("LimitsReached", "False", "None", "no object is left out");
    }
    let message = first(reached.iter().map(ToString::to_string), reached.len());
    Verdict::new("LimitsReached", "True", "ObjectsLeftOut", &message)
}

fn deletions_held(health: &Health) -> Verdict {
    if health.missing.is_empty() {
        return Verdict::new("DeletionsHeld", "False", "None", "no objects vanished at once");
    }
    let message = health.missing.values().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    Verdict::new("DeletionsHeld", "True", "ObjectsVanished", &shortened(message))
}

/// `None`: nothing was tried yet, it is as it was.
fn published(health: &Health) -> Option<Verdict> {
    let verdict = |status, reason, message: &str| Some(Verdict::new("Published", status, reason, message));
    let reporting = &health.reporting;
    match (reporting.failures.get(&Telling::Published), reporting.omitted.as_deref()) {
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

fn as_before(before: &HAProxyTemplateConfigStatus, kind: &'static str) -> Option<Verdict> {
    let found = before.conditions.iter().find(|condition| condition.type_ == kind)?;
    let known = ["Deployed", "NothingToDeploy", "NoPods", "PodsBehind", "Complete", "Refused", "TooLarge"];
    let reason = known.into_iter().find(|reason| *reason == found.reason)?;
    let status = ["True", "False", "Unknown"].into_iter().find(|status| *status == found.status)?;
    let about = found.observed_generation.unwrap_or_default();
    Some(Verdict { kind, about, status, reason, message: found.message.clone() })
}

impl Verdict {
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
fn sentence(problems: &[Diagnostic]) -> String {
    let said = |problem: &Diagnostic| Diagnostic { output: None, ..problem.clone() }.to_string();
    first(problems.iter().map(said), problems.len())
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
