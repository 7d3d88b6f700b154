//! The overview of this process, from the board. Copies what is there; what is wrong is found by [`super::problems`].

use super::{Config, HeldBack, Overview, Plan, Pod, Replica, Stage, Standing, Store, Told, problems};
use crate::http::debug::Inside;
use haptic_commentator::{Entry, Level};
use haptic_config::ConfigState;
use haptic_model::{
    Diagnostic, Digest, HaproxyPod, ObjectRef, Quarantined,
    pipeline::{LastPlan, PodState, Rendered},
};
use haptic_runtime::ActorState;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// So many lines of what happened are shown.
const RECENT: usize = 30;

/// How everything is now.
#[must_use]
pub fn look(inside: &Inside) -> Overview {
    let history = inside.history.latest(usize::MAX);
    let mut overview = Overview {
        taken_unix_ms: since_1970(SystemTime::now()),
        replica: replica(inside),
        config: config(inside),
        rendered: (*inside.rendered.read()).as_ref().map(|r| stage(r, r.took)),
        checked: (*inside.validated.read()).as_ref().map(|v| stage(&v.rendered, v.took)),
        pods: pods(inside),
        quarantine: inside.quarantine.read().held.values().map(held_back).collect(),
        stores: stores(inside),
        problems: Vec::new(),
        recent: recent(&history),
    };
    overview.problems = problems::found(inside, &overview, &history);
    overview
}

/// Milliseconds since 1970.
#[must_use]
pub fn since_1970(time: SystemTime) -> u64 {
    millis(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn replica(inside: &Inside) -> Replica {
    let of_leader = |actor: ActorState| (actor.name == "leader").then_some(actor.detail).flatten();
    let leader = inside.vitality.actors.actors().into_iter().find_map(of_leader);
    Replica {
        version: env!("CARGO_PKG_VERSION").into(),
        leads: inside.leadership.read().leads,
        leader: leader.map(|detail| plainly(&detail)),
    }
}

/// What an actor says of itself, as `key value, key value`.
fn plainly(detail: &serde_json::Value) -> String {
    let serde_json::Value::Object(fields) = detail else { return as_word(detail) };
    let said = fields.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| match key.as_str() {
        "state" => as_word(value),
        key => format!("{key} {}", as_word(value)),
    });
    said.collect::<Vec<_>>().join(", ")
}

fn as_word(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn config(inside: &Inside) -> Config {
    let (state, why) = match &*inside.vitality.config_state.read() {
        ConfigState::Waiting(why) => ("waiting", vec![why.clone()]),
        ConfigState::Valid => ("valid", Vec::new()),
        ConfigState::Invalid(problems) => ("invalid", problems.iter().map(ToString::to_string).collect()),
        ConfigState::Deleted => ("deleted", Vec::new()),
    };
    let active = inside.vitality.config.read();
    let active = (*active).as_ref();
    Config {
        name: active.map(|a| format!("{}/{}", a.namespace, a.name)),
        state: state.into(),
        why,
        resource_generation: active.map(|a| a.resource_generation),
    }
}

fn stage(rendered: &Rendered, took: Duration) -> Stage {
    Stage {
        generation: rendered.reconcile.generation.0,
        digest: rendered.bundle.digest.to_string(),
        files: rendered.bundle.files.len() + 1,
        bytes: rendered.bundle.size(),
        took_ms: millis(took),
    }
}

fn pods(inside: &Inside) -> Vec<Pod> {
    let actors = inside.vitality.actors.actors();
    let activities: BTreeMap<&str, String> = actors
        .iter()
        .filter_map(|actor| Some((actor.name.strip_prefix("deploy ")?, plainly(actor.detail.as_ref()?))))
        .collect();
    let wanted = wanted(inside);
    let known = inside.pods.read();
    known.iter().map(|(pod, state)| shown(pod, state, &wanted, &activities)).collect()
}

/// The digests of which a pod should run one: of the newest bundle, unless its check refused it; and of the newest checked one
/// for as long as the newest of all is being checked.
fn wanted(inside: &Inside) -> Vec<Digest> {
    let rendered = (*inside.rendered.read()).as_ref().map(|r| (r.reconcile.generation, r.bundle.digest));
    let refused = (*inside.refused.read()).as_ref().map(|r| r.rendered.reconcile.generation);
    let checked = (*inside.validated.read()).as_ref().map(|v| v.bundle().digest);
    match rendered {
        Some((generation, digest)) if refused != Some(generation) => vec![digest],
        _ => checked.into_iter().collect(),
    }
}

fn shown(pod: &HaproxyPod, state: &PodState, wanted: &[Digest], activities: &BTreeMap<&str, String>) -> Pod {
    let running = state.running.as_ref().map(|running| running.digest);
    let standing = match (&state.last_error, running) {
        (Some(_), _) => Standing::Failing,
        (None, Some(digest)) if wanted.contains(&digest) => Standing::Converged,
        _ if state.capabilities.is_none() || wanted.is_empty() => Standing::Unknown,
        _ => Standing::Behind,
    };
    Pod {
        pod: pod.to_string(),
        address: format!("{}:{}", pod.address, pod.port),
        haproxy: state.capabilities.map(|c| c.version.to_string()),
        standing,
        activity: activities.get(pod.to_string().as_str()).cloned(),
        deployed: state.deployed.map(|generation| generation.0),
        running: running.map(|digest| digest.to_string()),
        lag_ms: state.lag.map(millis),
        last_plan: state.last_plan.as_ref().map(plan),
        began_anew_unix_ms: state.began_anew.map(since_1970),
        last_error: state.last_error.clone(),
    }
}

fn plan(plan: &Arc<LastPlan>) -> Plan {
    let names = |paths: &[Arc<str>]| paths.iter().map(ToString::to_string).collect();
    Plan {
        generation: plan.generation.0,
        reload: plan.reload.clone(),
        operations: plan.operations.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        written: names(&plan.written),
        deleted: names(&plan.deleted),
        took_ms: millis(plan.took),
        unix_ms: since_1970(plan.at),
    }
}

fn held_back(held: &Quarantined) -> HeldBack {
    HeldBack {
        object: held.object.to_string(),
        why: without_object(&held.why, Some(&held.object)),
        in_force: if held.replaced { "last good version" } else { "left out" }.into(),
        suspected: held.suspected,
        since: held.since.0,
    }
}

/// What is wrong, without what is said beside it: whom it concerns, and where in the output it is.
pub(super) fn without_object(why: &Diagnostic, of: Option<&Arc<ObjectRef>>) -> String {
    let other = why.object.clone().filter(|other| Some(other) != of);
    Diagnostic { object: other, output: None, ..why.clone() }.to_string()
}

fn stores(inside: &Inside) -> Vec<Store> {
    let troubles = inside.vitality.troubles.read();
    let snapshots = inside.vitality.snapshots.read();
    let store = |name: &str, store: &haptic_model::Snapshot| Store {
        name: name.to_owned(),
        objects: store.len(),
        bytes: store.bytes(),
        synced: store.is_synced(),
        trouble: troubles.get(name).cloned(),
    };
    snapshots.iter().map(|(name, snapshot)| store(name, snapshot)).collect()
}

fn recent(history: &[Arc<Entry>]) -> Vec<Told> {
    let mut recent: Vec<Told> =
        history.iter().rev().filter(|e| e.level >= Level::Info).take(RECENT).map(|e| told(e)).collect();
    recent.reverse();
    recent
}

/// One entry of the history as it is shown.
#[must_use]
pub fn told(entry: &Entry) -> Told {
    Told {
        unix_ms: u64::try_from(entry.unix_ms).unwrap_or(u64::MAX),
        level: format!("{:?}", entry.level).to_lowercase(),
        kind: entry.kind.into(),
        generation: entry.generation.map(|generation| generation.0),
        object: entry.object.clone(),
        text: entry.text.clone(),
    }
}
