//! Gateways and ListenerSets without a verdict: whether their statuses still say what was decided here before.
//!
//! Such a status names nobody. What is known is which generation was judged last while this replica led, and the sentence of `Programmed`, which
//! no other controller writes. So a status that waited for pods stays where its Gateway goes to another controller while nobody leads here.

use super::{
    conditions,
    kinds::GatewayKind,
    references::{GROUP, identity_of},
    status::{OF_GATEWAY, OF_LISTENER_SET, PROGRAMMED, RUNS},
};
use haptic_model::gateway::{GatewayVerdicts, NamespacedName};
use serde_json::{Map, Value, json};

/// What the API server fills in, for whoever comes.
const WAITING: &str = "Waiting for controller";

/// Whether the object is of a class, or at a Gateway, of ours: its verdict is to come.
pub(crate) fn is_ours(kind: GatewayKind, object: &Value, namespace: &str, all: &GatewayVerdicts) -> bool {
    match kind {
        GatewayKind::Gateway => {
            let class = object.pointer("/spec/gatewayClassName").and_then(Value::as_str);
            class.is_some_and(|class| all.classes.contains_key(class))
        }
        GatewayKind::ListenerSet => object.pointer("/spec/parentRef").is_some_and(|parent| {
            let identity = identity_of(parent, namespace);
            let text = |field: &str| identity.get(field).and_then(Value::as_str).unwrap_or_default();
            let name: NamespacedName = (text("namespace").into(), text("name").into());
            (text("group"), text("kind")) == (GROUP, "Gateway") && all.gateways.contains_key(&name)
        }),
        _ => false,
    }
}

/// The fields of a status that was ours, as they are of an object that nobody has judged; empty where it was not, or somebody else has judged a
/// newer generation. `judged`: the generation that this replica judged last.
pub(crate) fn fields(
    kind: GatewayKind,
    status: &Value,
    validated: Option<i64>,
    has_addresses: bool,
    now: &str,
) -> Map<String, Value> {
    let stored = status.get("conditions");
    let (ours, others): (&[&str], _) = match kind {
        GatewayKind::Gateway => (&OF_GATEWAY, ["listeners", "attachedListenerSets"].as_slice()),
        _ => (&OF_LISTENER_SET, ["listeners"].as_slice()),
    };
    let Some(validated) = validated.or_else(|| generation_that_runs(stored)) else { return Map::new() };
    if conditions::is_newer(stored, ours, validated) {
        return Map::new();
    }
    let addresses = (kind == GatewayKind::Gateway && has_addresses).then_some("addresses");
    let gone = others.iter().copied().chain(addresses).filter(|field| status.get(*field).is_some());
    let mut fields: Map<String, Value> = gone.map(|field| (field.to_owned(), Value::Null)).collect();
    fields.insert("conditions".into(), unjudged(stored, ours, now).into());
    fields
}

/// The generation that every pod runs, by a sentence of ours.
fn generation_that_runs(stored: Option<&Value>) -> Option<i64> {
    let programmed = conditions::find(stored, PROGRAMMED)?;
    let is_ours = programmed.get("message").and_then(Value::as_str) == Some(RUNS);
    programmed.get("observedGeneration").and_then(Value::as_i64).filter(|_| is_ours)
}

/// The conditions without ours, but for those that objects have from their beginning.
fn unjudged(stored: Option<&Value>, ours: &[&str], now: &str) -> Vec<Value> {
    let all = stored.and_then(Value::as_array).into_iter().flatten();
    let is_foreign =
        |one: &&Value| !ours.contains(&one.get("type").and_then(Value::as_str).unwrap_or_default());
    let waiting = ["Accepted", PROGRAMMED].map(|kind| {
        json!({"type": kind, "status": "Unknown", "reason": "Pending", "message": WAITING, "lastTransitionTime": now})
    });
    waiting.into_iter().chain(all.filter(is_foreign).cloned()).collect()
}
