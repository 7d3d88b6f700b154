//! Which pods run what was checked last, as the resource's status. Pure.

use haptic_model::{
    HaproxyPod,
    crd::{HAProxyCfgStatus, PublishedPod},
    pipeline::{PodState, Validated},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::collections::BTreeMap;

/// The status for `validated` and `pods`. `before` is what the resource has: times of conditions that did not change stay.
#[must_use]
pub fn status(
    before: &HAProxyCfgStatus,
    validated: &Validated,
    pods: &BTreeMap<HaproxyPod, PodState>,
    omitted: &[String],
    now: Timestamp,
) -> HAProxyCfgStatus {
    let digest = validated.bundle().digest;
    let converged =
        pods.values().filter(|pod| pod.running.as_ref().is_some_and(|r| r.digest == digest)).count();
    let behind = pods.iter().find(|(_, pod)| pod.running.as_ref().is_none_or(|r| r.digest != digest));
    let (reached, why) = match behind {
        None if pods.is_empty() => ("Unknown", "no HAProxy pod is known".to_owned()),
        None => ("True", "every pod runs it".to_owned()),
        Some((pod, state)) => {
            let why = state.last_error.as_deref().unwrap_or("it is being brought there");
            ("False", format!("{pod}: {why}"))
        }
    };
    let published = match omitted {
        [] => condition(before, "Published", "True", "Complete", "every file is there".to_owned(), now),
        omitted => condition(before, "Published", "False", "TooLarge", omitted.join("; "), now),
    };
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
        conditions: vec![condition(before, "Converged", reached, reason, why, now), published],
    }
}

fn published_pod(pod: &HaproxyPod, state: &PodState) -> PublishedPod {
    let plan = state.last_plan.as_deref();
    let at = plan.and_then(|plan| Timestamp::try_from(plan.at).ok());
    PublishedPod {
        pod: pod.name.to_string(),
        generation: state.deployed.and_then(|generation| i64::try_from(generation.0).ok()),
        digest: state.running.as_ref().map(|running| running.digest.to_string()),
        method: plan.map(|plan| if plan.reload.is_some() { "reload" } else { "runtime" }.to_owned()),
        reason: plan.and_then(|plan| plan.reload.clone()),
        time: at.map(|at| format!("{at:.0}")),
        last_error: state.last_error.clone(),
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
