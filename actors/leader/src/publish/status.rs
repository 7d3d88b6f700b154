//! Which pods run what was checked last and which objects are held back, as the resource's status. Pure.

use haptic_model::{
    Diagnostic, HaproxyPod, PublishedInstead, Quarantine, Quarantined,
    crd::{HAProxyCfgStatus, PublishedObject, PublishedPod},
    pipeline::{PodState, Validated},
};
use haptic_text::Digest;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::collections::BTreeMap;

/// So many objects that are held back are named.
const NAMED: usize = 50;
/// The condition that says whether every pod runs it.
const CONVERGED: &str = "Converged";

/// What of the files is not there.
pub enum MissingFiles {
    /// The content of these, each with why; nothing when there are none.
    TooLarge(Vec<String>),
    /// Something that the API server did not take.
    Refused(String),
}

/// The status for `validated`, `pods` and `quarantine`. `before` is what the resource has: times of conditions that did not
/// change stay.
#[must_use]
pub fn status(
    before: &HAProxyCfgStatus,
    validated: &Validated,
    pods: &BTreeMap<HaproxyPod, PodState>,
    quarantine: &Quarantine,
    missing: &MissingFiles,
    now: Timestamp,
) -> HAProxyCfgStatus {
    let digest = validated.bundle().digest;
    let converged = pods.values().filter(|pod| runs(pod, digest)).count();
    let behind = pods.iter().find(|(_, pod)| !runs(pod, digest));
    let (reached, why) = match behind {
        None if pods.is_empty() => ("Unknown", "no HAProxy pod is known".to_owned()),
        None => ("True", "every pod runs it".to_owned()),
        Some((pod, state)) => {
            let why = state.last_error.as_deref().unwrap_or("it is being brought there");
            ("False", format!("{pod}: {why}"))
        }
    };
    let (complete, what, message) = match missing {
        MissingFiles::TooLarge(files) if files.is_empty() => {
            ("True", "Complete", "every file is there".to_owned())
        }
        MissingFiles::TooLarge(files) => ("False", "TooLarge", files.join("; ")),
        MissingFiles::Refused(why) => {
            ("False", "Refused", format!("not every file is there, or not as it is now: {why}"))
        }
    };
    let published = condition(before, "Published", complete, what, message, now);
    let reason = match reached {
        "True" => "Converged",
        "False" => "Behind",
        _ => "NoPods",
    };
    HAProxyCfgStatus {
        generation: i64::try_from(validated.generation().0).unwrap_or(i64::MAX),
        digest: digest.to_string(),
        converged: format!("{converged}/{}", pods.len()),
        pods: pods.iter().map(|(pod, state)| published_pod(pod, state)).collect(),
        held_back: i64::try_from(quarantine.held.len()).unwrap_or(i64::MAX),
        objects: quarantine.held.values().take(NAMED).map(|held| published_object(held)).collect(),
        conditions: vec![condition(before, CONVERGED, reached, reason, why, now), published],
    }
}

/// Whether there are pods, and all of them run `validated`.
#[must_use]
pub fn is_reached(validated: &Validated, pods: &BTreeMap<HaproxyPod, PodState>) -> bool {
    !pods.is_empty() && pods.values().all(|pod| runs(pod, validated.bundle().digest))
}

/// Whether `status` says that pods are behind.
#[must_use]
pub fn is_behind(status: &HAProxyCfgStatus) -> bool {
    status.conditions.iter().any(|condition| condition.type_ == CONVERGED && condition.status == "False")
}

fn runs(pod: &PodState, digest: Digest) -> bool {
    pod.running.as_ref().is_some_and(|running| running.digest == digest)
}

fn published_pod(pod: &HaproxyPod, state: &PodState) -> PublishedPod {
    let plan = state.last_plan.as_deref();
    let at = plan.and_then(|plan| Timestamp::try_from(plan.at).ok());
    PublishedPod {
        pod: pod.name.to_string(),
        haproxy: state.capabilities.map(|capabilities| capabilities.version.to_string()),
        generation: state.deployed.and_then(|generation| i64::try_from(generation.0).ok()),
        digest: state.running.as_ref().map(|running| running.digest.to_string()),
        method: plan.map(|plan| if plan.reload.is_some() { "reload" } else { "runtime" }.to_owned()),
        reason: plan.and_then(|plan| plan.reload.clone()),
        time: at.map(|at| format!("{at:.0}")),
        last_error: state.last_error.clone(),
    }
}

fn published_object(held: &Quarantined) -> PublishedObject {
    let other = held.why.object.clone().filter(|other| *other != held.object);
    PublishedObject {
        object: held.object.to_string(),
        why: Diagnostic { object: other, output: None, ..held.why.clone() }.to_string(),
        in_force: PublishedInstead::Known(held.instead),
        suspected: held.suspected,
    }
}

fn condition(
    before: &HAProxyCfgStatus,
    kind: &str,
    status: &str,
    reason: &str,
    message: String,
    now: Timestamp,
) -> Condition {
    let known = before.conditions.iter().find(|known| known.type_ == kind && known.status == status);
    Condition {
        type_: kind.into(),
        status: status.into(),
        reason: reason.into(),
        message,
        last_transition_time: known.map_or(Time(now), |known| known.last_transition_time.clone()),
        observed_generation: None,
    }
}
