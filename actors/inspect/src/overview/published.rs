//! The overview of a controller, from what its leader publishes at the API server: for somebody who has kubectl and no way to
//! `/debug`. Pure.

use super::{
    Config, GenerationStage, Overview, OverviewProblem, OverviewSource, PlanOverview, PodOverview,
    PodStanding, QuarantinedObjects, RecentEvent, Replica, RestsOn, StoreOverview, problems,
};
use haptic_leader::{
    read_back::{FoundEvent, FoundLease, LeaseHolder, ReadBackState},
    reporting::Report,
};
use haptic_model::crd::{HAProxyCfgStatus, PublishedObject, PublishedPod, ValidationStatus};
use jiff::Timestamp;

/// So many lines of what happened are shown.
const RECENT: usize = 30;
/// Clocks of two machines may differ by so many seconds: a Lease that is older than that is not renewed.
const SKEW: i64 = 15;
/// What only the controller itself knows.
const ONLY_INSIDE: &str = "what each pod's deployment is doing now and its lag, watches that fail, warnings that stand, what is found at objects, the webhook";

/// How everything is, as far as `found` shows at `now`.
#[must_use]
pub fn overview(found: &ReadBackState, now: Timestamp) -> Overview {
    let status = found.published.as_ref().ok().and_then(Option::as_ref).and_then(|cfg| cfg.status.as_ref());
    let mut overview = Overview {
        taken_unix_ms: millis(now),
        rests_on: rests_on(found, now),
        replica: Replica { leader: leader(found, now), ..Replica::default() },
        config: config(found),
        checked: status.map(|status| GenerationStage {
            generation: u64::try_from(status.generation).unwrap_or_default(),
            digest: status.digest.clone(),
            ..GenerationStage::default()
        }),
        pods: status.map(|status| status.pods.iter().map(|pod| shown(found, status, pod)).collect()),
        quarantine: status.map(held_back),
        stores: found.status.watched_objects.iter().map(|(name, count)| store(name, *count)).collect(),
        recent: found.events.as_ref().ok().map(|events| recent(events)),
        ..Overview::default()
    };
    overview.problems = problems(found, status, &overview, now);
    overview
}

fn rests_on(found: &ReadBackState, now: Timestamp) -> RestsOn {
    let written = match found.written() {
        Some(at) => format!("written last {} s ago", seconds_since(at, now)),
        None => "nothing so far".into(),
    };
    let said = format!("what the leader publishes in namespace {}: {written}", found.namespace);
    let mut unknown = vec![ONLY_INSIDE.to_owned()];
    match &found.published {
        Err(why) => unknown.push(format!("pods and objects that are held back: {why}")),
        Ok(None) => unknown
            .push(format!("pods and objects that are held back: there is no HAProxyCfg {}", found.name)),
        Ok(Some(_)) => {}
    }
    if let Some(FoundLease { name, holder: Err(why) }) = &found.lease {
        unknown.push(format!("who leads (Lease {name}): {why}"));
    }
    if let Err(why) = &found.events {
        unknown.push(format!("what happened lately: {why}"));
    }
    RestsOn { source: OverviewSource::Published, said, unknown }
}

fn leader(found: &ReadBackState, now: Timestamp) -> Option<String> {
    let FoundLease { name, holder } = found.lease.as_ref()?;
    let LeaseHolder { identity, renewed, .. } = holder.as_ref().ok()?.as_ref()?;
    Some(format!("{identity} holds Lease {name}, renewed {} s ago", seconds_since(*renewed, now)))
}

fn config(found: &ReadBackState) -> Config {
    let status = &found.status;
    let message = status.validation_message.clone().filter(|message| !message.is_empty());
    let (state, why) = match status.validation_status {
        Some(ValidationStatus::Valid | ValidationStatus::Unknown) => ("valid", None),
        Some(ValidationStatus::Invalid) => ("invalid", message),
        None => {
            let ReadBackState { name, namespace, .. } = found;
            let why = format!(
                "no controller has looked at it yet: is one running (kubectl get pods -n {namespace}), with --name {name} \
                 and --namespace {namespace}, and does its log say what it waits for?"
            );
            ("waiting", Some(why))
        }
    };
    Config {
        passed: (status.validation_status == Some(ValidationStatus::Unknown)).then_some(false),
        name: Some(format!("{}/{}", found.namespace, found.name)),
        state: state.into(),
        why: why.into_iter().collect(),
        resource_generation: status.observed_generation,
    }
}

fn shown(found: &ReadBackState, status: &HAProxyCfgStatus, pod: &PublishedPod) -> PodOverview {
    let standing = match (&pod.last_error, &pod.digest) {
        (Some(_), _) => PodStanding::Failing,
        (None, Some(digest)) if *digest == status.digest => PodStanding::Converged,
        (None, Some(_)) => PodStanding::Behind,
        (None, None) => PodStanding::Unknown,
    };
    PodOverview {
        pod: format!("{}/{}", found.namespace, pod.pod),
        haproxy: pod.haproxy.clone(),
        standing,
        deployed: pod.generation.and_then(|generation| u64::try_from(generation).ok()),
        running: pod.digest.clone(),
        last_plan: plan(pod),
        last_error: pod.last_error.clone(),
        ..PodOverview::default()
    }
}

fn plan(pod: &PublishedPod) -> Option<PlanOverview> {
    let at: Timestamp = pod.time.as_deref()?.parse().ok()?;
    let reload = pod.reason.clone().or_else(|| {
        (pod.method.as_deref() == Some("reload")).then(|| "of a reason that is not published".to_owned())
    });
    let generation = pod.generation.and_then(|generation| u64::try_from(generation).ok()).unwrap_or_default();
    Some(PlanOverview { generation, reload, unix_ms: millis(at), ..PlanOverview::default() })
}

fn held_back(status: &HAProxyCfgStatus) -> Vec<QuarantinedObjects> {
    let one = |held: &PublishedObject| QuarantinedObjects {
        object: held.object.clone(),
        why: held.why.clone(),
        in_force: held.in_force.clone(),
        suspected: held.suspected,
        since: None,
    };
    status.objects.iter().map(one).collect()
}

fn store(name: &str, count: i64) -> StoreOverview {
    let objects = usize::try_from(count).unwrap_or_default();
    StoreOverview { name: name.to_owned(), objects, about: true, ..StoreOverview::default() }
}

fn recent(events: &[FoundEvent]) -> Vec<RecentEvent> {
    let mut recent: Vec<RecentEvent> = events.iter().map(recent_event).collect();
    recent.sort_by_key(|event| event.unix_ms);
    recent.drain(..recent.len().saturating_sub(RECENT));
    recent
}

fn recent_event(event: &FoundEvent) -> RecentEvent {
    let FoundEvent { at, warning, reason, about, note } = event;
    RecentEvent {
        unix_ms: millis(*at),
        level: if *warning { "warn" } else { "info" }.into(),
        kind: reason.clone(),
        generation: None,
        object: Some(about.clone()),
        text: format!("{reason}, {about}: {note}"),
    }
}

fn problems(
    found: &ReadBackState,
    status: Option<&HAProxyCfgStatus>,
    overview: &Overview,
    now: Timestamp,
) -> Vec<OverviewProblem> {
    let mut all: Vec<OverviewProblem> = of_lease(found, now).into_iter().collect();
    all.extend(problems::of_config(&overview.config));
    all.extend(not_looked_at(found));
    all.extend(overview.quarantine().iter().map(|held| problems::of_object(held, None)));
    all.extend(status.and_then(more_held_back));
    all.extend(overview.pods().iter().filter_map(of_pod));
    let of_pods = overview.pods().iter().any(|pod| pod.standing != PodStanding::Converged);
    let conditions = found.status.conditions.iter();
    all.extend(conditions.filter_map(|condition| {
        let verdict = (&*condition.type_, &*condition.status, &*condition.reason);
        of_condition(verdict, &condition.message, status.is_some(), of_pods)
    }));
    problems::once_each(all)
}

fn of_lease(found: &ReadBackState, now: Timestamp) -> Option<OverviewProblem> {
    let FoundLease { name, holder } = found.lease.as_ref()?;
    let namespace = &found.namespace;
    let why = match holder.as_ref().ok()? {
        None => "nobody holds it".to_owned(),
        Some(LeaseHolder { identity, renewed, seconds }) => {
            let silent = seconds_since(*renewed, now);
            if silent <= seconds + SKEW {
                return None;
            }
            format!("{identity} led last and has not renewed it for {silent} s")
        }
    };
    let next = format!(
        "no change reaches HAProxy, which goes on as it is, and nothing here is news. Are the controllers up (kubectl get \
         pods -n {namespace})? Their logs say why they do not lead"
    );
    Some(problems::error(
        "nobody leads",
        Some(&format!("Lease {namespace}/{name}")),
        &format!("{why}: {next}"),
    ))
}

/// A change of the configuration of which the status does not tell yet.
fn not_looked_at(found: &ReadBackState) -> Option<OverviewProblem> {
    let looked_at = found.status.observed_generation?;
    let newest = found.generation.filter(|newest| *newest != looked_at)?;
    let why = format!(
        "its newest change (metadata.generation {newest}) is not judged yet, what is told here is of {looked_at}: look again \
         in a moment"
    );
    Some(problems::warning(
        "configuration changed",
        Some(&format!("{}/{}", found.namespace, found.name)),
        &why,
    ))
}

fn more_held_back(status: &HAProxyCfgStatus) -> Option<OverviewProblem> {
    let named = i64::try_from(status.objects.len()).unwrap_or(i64::MAX);
    let more = status.held_back.checked_sub(named).filter(|more| *more > 0)?;
    let why =
        format!("{more} more than are named here: kubectl get events -A --field-selector reason=Quarantined");
    Some(problems::error("objects held back", None, &why))
}

fn of_pod(pod: &PodOverview) -> Option<OverviewProblem> {
    let activity = match pod.standing {
        PodStanding::Behind => {
            "it ran something else when this was published; unless that is over in ten seconds, its log and the leader's say why"
        }
        PodStanding::Unknown => {
            "it has not answered the leader yet: is it running, and can the controller reach its agent?"
        }
        PodStanding::Converged => return None,
        PodStanding::Failing => return Some(problems::of_failing(pod, "it is not said why")),
    };
    let what = if pod.standing == PodStanding::Behind { "pod behind" } else { "pod has not answered" };
    Some(problems::error(what, Some(&pod.pod), activity))
}

/// `verdict`: type, status and reason of a condition. `known`: whether pods and objects are recent of one by one. `of_pods`:
/// whether one of them is behind.
fn of_condition(
    verdict: (&str, &str, &str),
    message: &str,
    known: bool,
    of_pods: bool,
) -> Option<OverviewProblem> {
    match verdict {
        ("Deployed", "False", _) if !of_pods => {
            Some(problems::error("not deployed everywhere", None, message))
        }
        ("Quarantined", "True", _) if !known => Some(problems::error("objects held back", None, message)),
        ("DeletionsHeld", "True", _) => Some(problems::error("objects vanished at once", None, message)),
        ("LimitsReached", "True", _) => Some(problems::error("objects left out", None, message)),
        ("Ready", "False", "RenderFailed" | "CheckFailed") => {
            Some(problems::error("the last good configuration stays", None, message))
        }
        ("CredentialsValid", "False", _) => Some(problems::error("no credentials", None, message)),
        ("Published", "False", "Refused") => {
            let why = format!("{message}. What is told here of pods and objects may be old");
            Some(problems::warning(Report::Published.failure(), Some(Report::Published.resource()), &why))
        }
        _ => None,
    }
}

fn millis(time: Timestamp) -> u64 {
    u64::try_from(time.as_millisecond()).unwrap_or_default()
}

fn seconds_since(then: Timestamp, now: Timestamp) -> i64 {
    now.as_second().saturating_sub(then.as_second()).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overview::text;
    use haptic_model::crd::{HAProxyCfg, HAProxyTemplateConfigStatus};
    use serde_json::{Value, json};

    const NOW: &str = "2026-01-01T00:10:00Z";

    /// What a leader left a moment ago, with `pods` and `objects`.
    fn left(conditions: &Value, pods: &Value, objects: &Value) -> ReadBackState {
        let published: HAProxyCfg = serde_json::from_value(json!({
            "metadata": { "name": "haptic", "managedFields": [{ "time": "2026-01-01T00:09:57Z" }] },
            "spec": { "path": "haproxy.cfg", "digest": "d", "bytes": 9 },
            "status": { "generation": 7, "digest": "abc", "pods": pods, "heldBack": 1, "objects": objects },
        }))
        .expect("a HAProxyCfg");
        let status: HAProxyTemplateConfigStatus = serde_json::from_value(json!({
            "observedGeneration": 3, "validationStatus": "Valid", "watchedObjects": { "ingresses": 120 },
            "conditions": conditions,
        }))
        .expect("a status");
        let at = |time: &str| time.parse::<Timestamp>().expect("a time");
        let holder = LeaseHolder {
            identity: "haptic-7d9f_01".into(),
            renewed: at("2026-01-01T00:09:58Z"),
            seconds: 15,
        };
        ReadBackState {
            namespace: "edge".into(),
            name: "haptic".into(),
            generation: Some(3),
            status,
            published: Ok(Some(published)),
            lease: Some(FoundLease { name: "haptic".into(), holder: Ok(Some(holder)) }),
            events: Ok(vec![FoundEvent {
                at: at("2026-01-01T00:08:00Z"),
                warning: true,
                reason: "Quarantined".into(),
                about: "Ingress default/evil".into(),
                note: "it is held back".into(),
            }]),
        }
    }

    fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
        json!({ "type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z" })
    }

    fn good_pod() -> Value {
        json!({ "pod": "haproxy-0", "haproxy": "3.4.1", "generation": 7, "digest": "abc", "method": "runtime",
            "time": "2026-01-01T00:09:00Z" })
    }

    fn overview_of(found: &ReadBackState) -> Overview {
        overview(found, NOW.parse().expect("a time"))
    }

    fn says(found: &ReadBackState, words: &[&str]) {
        let text = anstream::adapter::strip_str(&text::as_text(&overview_of(found))).to_string();
        for word in words {
            assert!(text.contains(word), "no {word:?} in {text}");
        }
    }

    #[test]
    fn a_configuration_that_nobody_has_rendered_yet_is_accepted_and_no_problem() {
        let mut found = left(&json!([]), &json!([good_pod()]), &json!([]));
        found.status.validation_status = Some(ValidationStatus::Unknown);
        says(&found, &["accepted, and nothing of it has passed the checks"]);
        assert!(overview_of(&found).problems.iter().all(|problem| problem.what != "no configuration"));
    }

    #[test]
    fn a_fleet_that_is_well_is_told_with_what_it_rests_on_and_what_cannot_be_known() {
        let mut found = left(&json!([]), &json!([good_pod()]), &json!([]));
        found.published.as_mut().unwrap().as_mut().unwrap().status.as_mut().unwrap().held_back = 0;
        says(
            &found,
            &["all is well; pods: 1 of 1 up to date", "namespace edge: written last 3 s ago", "lag"],
        );
        says(
            &found,
            &["edge/haproxy-0", "no reload 60 s ago", "about 120 ingresses", "2 min ago", "default/evil"],
        );
        says(&found, &["haptic-7d9f_01 holds Lease haptic, renewed 2 s ago"]);
        assert_eq!(found.leading_pod(), Some("haptic-7d9f"));
    }

    #[test]
    fn what_is_wrong_is_named_with_cause_and_object() {
        let bad = json!({ "pod": "haproxy-1", "lastError": "10.0.0.1:5555: connection refused" });
        let held =
            json!({ "object": "ingresses default/evil", "why": "more than one line", "inForce": "left out" });
        let found = left(
            &json!([
                condition("Published", "False", "Refused", "forbidden. Allow patch"),
                condition("DeletionsHeld", "True", "ObjectsVanished", "90 of 100 ingresses vanished"),
            ]),
            &json!([good_pod(), bad]),
            &json!([held]),
        );
        says(
            &found,
            &["3 problems; pods: 1 of 2 up to date", "pod not deployed edge/haproxy-1", "connection refused"],
        );
        says(&found, &["object held back ingresses default/evil", "more than one line", "90 of 100"]);
        says(&found, &["forbidden. Allow patch. What is told here of pods and objects may be old"]);
    }

    #[test]
    fn a_leader_that_is_gone_is_told_first_since_all_else_is_old() {
        let mut found = left(&json!([]), &json!([good_pod()]), &json!([]));
        let Some(FoundLease { holder: Ok(Some(holder)), .. }) = &mut found.lease else { unreachable!() };
        holder.renewed = "2026-01-01T00:00:00Z".parse().unwrap();
        let problems = overview_of(&found).problems;
        assert_eq!(problems[0].what, "nobody leads");
        assert!(problems[0].why.contains("has not renewed it for 600 s"), "{:?}", problems[0]);
    }

    #[test]
    fn a_configuration_that_nobody_has_looked_at_is_told_so() {
        let mut found = left(&json!([]), &json!([]), &json!([]));
        (found.status, found.published) = (HAProxyTemplateConfigStatus::default(), Ok(None));
        says(
            &found,
            &[
                "no configuration edge/haptic",
                "no controller has looked at it yet",
                "kubectl get pods -n edge",
            ],
        );
        says(&found, &["which pods run it is not known", "there is no HAProxyCfg haptic"]);
    }

    #[test]
    fn what_cannot_be_known_is_absent_and_what_is_has_the_same_names() {
        let shown =
            serde_json::to_value(overview_of(&left(&json!([]), &json!([good_pod()]), &json!([])))).unwrap();
        let pod = shown["pods"][0].as_object().unwrap();
        let names: Vec<&str> = pod.keys().map(String::as_str).collect();
        assert_eq!(names, ["deployed", "haproxy", "lastPlan", "pod", "running", "standing"]);
        assert_eq!(shown["restsOn"]["source"], "published");
        assert!(shown.get("rendered").is_none() && shown["replica"].get("leads").is_none());
        let mut found = left(&json!([]), &json!([]), &json!([]));
        (found.published, found.events) = (Err("forbidden".into()), Err("forbidden".into()));
        let shown = serde_json::to_value(overview_of(&found)).unwrap();
        assert!(["pods", "quarantine", "recent"].iter().all(|part| shown.get(part).is_none()), "{shown}");
        assert_eq!(shown["restsOn"]["unknown"].as_array().unwrap().len(), 3);
    }
}
