//! The overview of this process. Copies what it publishes; what is wrong is found by [`super::problems`].

use super::{
    Config, GenerationStage, Overview, OverviewSource, PlanOverview, PodOverview, PodStanding,
    QuarantinedObjects, RecentEvent, Replica, RestsOn, StoreOverview, activity, millis,
    problems::{self, without_object},
    since_1970,
};
use crate::readers::Readers;
use haptic_commentator::{HistoryEntry, MessageLevel};
use haptic_config::ConfigState;
use haptic_deploy::deployment_name;
use haptic_model::{
    HaproxyPod, LimitReached, PublishedInstead, Quarantined, RejectedObjects,
    pipeline::{LastPlan, PodState, Rendered},
};
use haptic_runtime::ActorState;
use haptic_text::Digest;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// So many lines of what happened are shown.
const RECENT: usize = 30;
/// So many sentences say what a store does not hold.
const LIMITS: usize = 20;

/// How everything is now.
#[must_use]
pub fn overview(readers: &Readers, protections: &Value) -> Overview {
    let history = readers.history.latest(usize::MAX);
    let replica = replica(readers);
    let mut overview = Overview {
        taken_unix_ms: since_1970(SystemTime::now()),
        rests_on: RestsOn {
            source: OverviewSource::Debug,
            said: "this controller, now".into(),
            unknown: unknown(&replica).into_iter().collect(),
        },
        replica,
        config: config(readers),
        rendered: (*readers.rendered.latest()).as_ref().map(|r| stage(r, r.took)),
        checked: (*readers.validated.latest()).as_ref().map(|v| stage(&v.rendered, v.took)),
        checked_since_unix_ms: wanted_since(readers),
        pods: Some(pods(readers)),
        quarantine: Some(readers.quarantine.latest().held.values().map(|held| held_back(held)).collect()),
        findings: Some(findings(readers)),
        stores: stores(readers),
        problems: Vec::new(),
        recent: Some(recent(&history)),
    };
    overview.problems = problems::found(readers, protections, &overview, &history);
    overview
}

/// How many there are, without kinds of which there are none.
fn findings(readers: &Readers) -> BTreeMap<String, usize> {
    let findings = readers.findings();
    let some = findings.counts().filter(|(_, count)| *count > 0);
    some.map(|(kind, count)| (kind.name().to_owned(), count)).collect()
}

fn replica(readers: &Readers) -> Replica {
    let of_leader = |actor: ActorState| (actor.name == "leader").then_some(actor.detail).flatten();
    let leader = readers.actors.actors().into_iter().find_map(of_leader);
    Replica {
        version: Some(env!("CARGO_PKG_VERSION").into()),
        leads: Some(readers.leadership.latest().leads),
        leader: leader.map(|detail| held_by(&detail)),
    }
}

/// A replica that stands by renders each change, and asks pods only now and then what they run.
fn unknown(replica: &Replica) -> Option<String> {
    let leader = replica.leader.as_deref().unwrap_or("who holds the Lease is not known");
    (replica.leads == Some(false)).then(|| {
        format!("whether each pod runs the newest change: this replica stands by; ask the one that leads: {leader}")
    })
}

/// What the election says of itself, as a sentence.
fn held_by(detail: &Value) -> String {
    let said = |part: &str| detail.get(part).and_then(Value::as_str);
    let lease = match (said("lease"), said("holder")) {
        (None, _) => return "it is the only replica".into(),
        (Some(lease), Some(holder)) if Some(holder) == said("identity") => format!("it holds Lease {lease}"),
        (Some(lease), Some(holder)) => format!("{holder} holds Lease {lease}"),
        (Some(lease), None) => format!("nobody is known to hold Lease {lease}"),
    };
    match said("trouble") {
        Some(trouble) => format!("{lease}; {trouble}"),
        None => lease,
    }
}

fn config(readers: &Readers) -> Config {
    let (state, why) = match &*readers.config_state.latest() {
        ConfigState::Waiting(why) => ("waiting", vec![why.clone()]),
        ConfigState::Valid => ("valid", Vec::new()),
        ConfigState::Invalid(problems) => ("invalid", problems.iter().map(ToString::to_string).collect()),
        ConfigState::Deleted => ("deleted", Vec::new()),
    };
    let active = readers.config.latest();
    let active = (*active).as_ref();
    let validated = (*readers.validated.latest()).clone();
    Config {
        name: active.map(|a| format!("{}/{}", a.namespace, a.name)),
        passed: active.zip(validated.as_ref()).map(|(a, v)| Arc::ptr_eq(&a.spec, &v.rendered.config.spec)),
        state: state.into(),
        why,
        resource_generation: active.map(|a| a.resource_generation),
    }
}

fn stage(rendered: &Rendered, took: Duration) -> GenerationStage {
    GenerationStage {
        generation: rendered.reconcile.generation.0,
        digest: rendered.bundle.digest.to_string(),
        files: Some(rendered.bundle.files.len() + 1),
        bytes: Some(rendered.bundle.size()),
        took_ms: Some(millis(took)),
    }
}

fn pods(readers: &Readers) -> Vec<PodOverview> {
    let actors = readers.actors.actors();
    let details: BTreeMap<&str, &Value> =
        actors.iter().filter_map(|actor| Some((&*actor.name, actor.detail.as_ref()?))).collect();
    let doing = |pod| activity::doing(details.get(&*deployment_name(pod))?);
    let (wanted, leads) = (wanted(readers), readers.leadership.latest().leads);
    let known = readers.pods.latest();
    let shown = |(pod, state)| PodOverview {
        standing: standing(state, &wanted, leads),
        activity: doing(pod),
        ..known_of(pod, state)
    };
    known.iter().map(shown).collect()
}

/// The digests of which a pod should run one: of the newest checked bundle, or of a newer one, which may go live before.
fn wanted(readers: &Readers) -> Vec<Digest> {
    let rendered = (*readers.rendered.latest()).as_ref().map(|rendered| rendered.bundle.digest);
    let checked = (*readers.validated.latest()).as_ref().map(|validated| validated.bundle().digest);
    rendered.into_iter().chain(checked).collect()
}

/// Since when there has been a bundle that every pod should run, in milliseconds since 1970.
fn wanted_since(readers: &Readers) -> Option<u64> {
    let validated = readers.validated.latest();
    let rendered = &(*validated).as_ref()?.rendered;
    Some(since_1970(SystemTime::now().checked_sub(rendered.reconcile.triggered.elapsed())?))
}

fn standing(state: &PodState, wanted: &[Digest], leads: bool) -> PodStanding {
    let running = state.running.as_ref().map(|running| running.digest);
    match (&state.last_error, running) {
        (Some(_), _) => PodStanding::Failing,
        (None, Some(digest)) if wanted.contains(&digest) => PodStanding::Converged,
        // Whoever does not lead asked it a while ago, and what is wanted is new.
        _ if state.capabilities.is_none() || wanted.is_empty() || !leads => PodStanding::Unknown,
        _ => PodStanding::Behind,
    }
}

/// What the pod said of itself, and what was done to it last.
fn known_of(pod: &HaproxyPod, state: &PodState) -> PodOverview {
    PodOverview {
        pod: pod.to_string(),
        address: Some(format!("{}:{}", pod.address, pod.port)),
        haproxy: state.capabilities.map(|c| c.version.to_string()),
        deployed: state.deployed.map(|generation| generation.0),
        running: state.running.as_ref().map(|running| running.digest.to_string()),
        lag_ms: state.lag.map(millis),
        last_plan: state.last_plan.as_ref().map(plan),
        began_anew_unix_ms: state.began_anew.map(since_1970),
        last_error: state.last_error.clone(),
        ..PodOverview::default()
    }
}

fn plan(plan: &Arc<LastPlan>) -> PlanOverview {
    let names = |paths: &[Arc<str>]| paths.iter().map(ToString::to_string).collect();
    PlanOverview {
        generation: plan.generation.0,
        reload: plan.reload.clone(),
        operations: Some(plan.operations.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()),
        written: Some(names(&plan.written)),
        deleted: Some(names(&plan.deleted)),
        took_ms: Some(millis(plan.took)),
        unix_ms: since_1970(plan.at),
    }
}

fn held_back(held: &Quarantined) -> QuarantinedObjects {
    QuarantinedObjects {
        object: held.object.to_string(),
        why: without_object(&held.why, Some(&held.object)),
        in_force: PublishedInstead::Known(held.instead),
        suspected: held.suspected,
        since: Some(held.since.0),
    }
}

fn stores(readers: &Readers) -> Vec<StoreOverview> {
    let troubles = readers.troubles.latest();
    let snapshots = readers.snapshots.latest();
    let rejected = readers.rejected.latest();
    let config = readers.config.latest();
    let resources = |name: &Arc<str>| {
        Some(config.as_ref().as_ref()?.spec.watched_resources.get(&**name)?.resources.clone())
    };
    let store = |name: &Arc<str>, store: &haptic_model::Snapshot| StoreOverview {
        name: name.to_string(),
        resources: resources(name),
        objects: store.len(),
        about: false,
        bytes: Some(store.bytes()),
        synced: Some(store.is_synced()),
        trouble: troubles.get(name).cloned(),
        left_out: rejected.get(name).map(|all| messages(name, all)).unwrap_or_default(),
    };
    snapshots.iter().map(|(name, snapshot)| store(name, snapshot)).collect()
}

/// What store `name` does not hold, the first of it.
fn messages(name: &Arc<str>, rejected: &RejectedObjects) -> Vec<String> {
    let sentence = |reached: LimitReached| match &reached {
        LimitReached::Namespace { crowded, .. } => {
            format!("{reached} ({} are left out now)", crowded.rejected)
        }
        LimitReached::Object(_) => reached.to_string(),
    };
    rejected.reached(name).take(LIMITS).map(sentence).collect()
}

fn recent(history: &[Arc<HistoryEntry>]) -> Vec<RecentEvent> {
    let mut recent: Vec<RecentEvent> = history
        .iter()
        .rev()
        .filter(|e| e.level >= MessageLevel::Info)
        .take(RECENT)
        .map(|e| recent_event(e))
        .collect();
    recent.reverse();
    recent
}

/// One entry of the history as it is shown.
fn recent_event(entry: &HistoryEntry) -> RecentEvent {
    RecentEvent {
        unix_ms: u64::try_from(entry.unix_ms).unwrap_or(u64::MAX),
        level: format!("{:?}", entry.level).to_lowercase(),
        kind: entry.kind.into(),
        generation: entry.generation.map(|generation| generation.0),
        object: entry.object.clone(),
        text: entry.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{Capabilities, Generation, HaproxyVersion, agent_api::Running};

    #[test]
    fn only_the_one_that_leads_says_that_a_pod_is_behind() {
        let [old, new] = [Digest::of(b"old"), Digest::of(b"new")];
        let state = PodState {
            capabilities: Some(Capabilities::of(HaproxyVersion::new(3, 4))),
            running: Some(Running { digest: old, generation: Generation(1) }),
            ..PodState::default()
        };
        assert_eq!(standing(&state, &[new], true), PodStanding::Behind);
        assert_eq!(standing(&state, &[new], false), PodStanding::Unknown);
        assert_eq!(standing(&state, &[old], false), PodStanding::Converged);
        let unread = PodState { last_error: Some("connection refused".into()), ..state };
        assert_eq!(standing(&unread, &[old], false), PodStanding::Failing);
    }
}
