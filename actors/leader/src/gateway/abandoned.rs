//! Gateways and ListenerSets without a verdict: whether their statuses still say what was decided here before.
//!
//! Such a status names nobody. What is known is which generation was judged last while this replica led, and the sentences of `Programmed`, which
//! no other controller writes. So a status that waited for pods stays where its Gateway goes to another controller while nobody leads here.

use super::{
    conditions,
    kinds::GatewayKind,
    references::{GROUP, identity_of},
    status::{CLASS_REFUSED, OF_GATEWAY, OF_LISTENER_SET, PROGRAMMED, RUNS},
};
use haptic_model::gateway::{GatewayVerdicts, NamespacedName};
use serde_json::{Map, Value, json};

/// What the API server fills in, for whoever comes.
const WAITING: &str = "Waiting for controller";

/// Why an object has no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithoutVerdict {
    /// It is of a class, or at a Gateway, of ours: its verdict is to come.
    ToCome,
    /// Its class is ours and is refused: no verdict comes.
    ClassRefused,
    /// It is nothing of ours.
    NotOurs,
}

impl WithoutVerdict {
    pub(crate) fn of(kind: GatewayKind, object: &Value, namespace: &str, all: &GatewayVerdicts) -> Self {
        let class = |object: &Value| {
            let class = object.pointer("/spec/gatewayClassName").and_then(Value::as_str)?;
            all.classes.get(class)
        };
        match kind {
            GatewayKind::Gateway => match class(object) {
                Some(class) if class.is_served => Self::ToCome,
                Some(_) => Self::ClassRefused,
                None => Self::NotOurs,
            },
            GatewayKind::ListenerSet if is_at_one_of_ours(object, namespace, all) => Self::ToCome,
            _ => Self::NotOurs,
        }
    }
}

fn is_at_one_of_ours(listener_set: &Value, namespace: &str, all: &GatewayVerdicts) -> bool {
    listener_set.pointer("/spec/parentRef").is_some_and(|parent| {
        let identity = identity_of(parent, namespace);
        let text = |field: &str| identity.get(field).and_then(Value::as_str).unwrap_or_default();
        let name: NamespacedName = (text("namespace").into(), text("name").into());
        (text("group"), text("kind")) == (GROUP, "Gateway") && all.gateways.contains_key(&name)
    })
}

/// The fields of a status that say what is served, and go with it.
pub(crate) fn fields_gone(kind: GatewayKind, has_addresses: bool) -> impl Iterator<Item = &'static str> {
    let is_gateway = kind == GatewayKind::Gateway;
    let of_gateway = is_gateway.then_some("attachedListenerSets");
    let addresses = (is_gateway && has_addresses).then_some("addresses");
    ["listeners"].into_iter().chain(of_gateway).chain(addresses)
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
    let ours: &[&str] = match kind {
        GatewayKind::Gateway => &OF_GATEWAY,
        _ => &OF_LISTENER_SET,
    };
    let Some(validated) = validated.or_else(|| generation_told(stored)) else { return Map::new() };
    if conditions::is_newer(stored, ours, validated) {
        return Map::new();
    }
    let gone = fields_gone(kind, has_addresses).filter(|field| status.get(*field).is_some());
    let mut fields: Map<String, Value> = gone.map(|field| (field.to_owned(), Value::Null)).collect();
    fields.insert("conditions".into(), unjudged(stored, ours, now).into());
    fields
}

/// The generation that every pod runs, or whose class was refused, by a sentence of ours.
fn generation_told(stored: Option<&Value>) -> Option<i64> {
    let programmed = conditions::find(stored, PROGRAMMED)?;
    let message = programmed.get("message").and_then(Value::as_str);
    let is_ours = [RUNS, CLASS_REFUSED].map(Some).contains(&message);
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
    waiting.into_iter().chain(all.filter(is_foreign).cloned()).take(conditions::MOST).collect()
}
