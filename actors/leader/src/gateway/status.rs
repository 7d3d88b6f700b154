//! The status of each kind, as it should be: a function of the object as stored, its verdict, what the pods run, and the time.
//!
//! Nothing is judged here. What is right already gives no change, so applying a result to itself writes nothing.

use super::{
    abandoned,
    conditions::{self, WantedConditions},
    kinds::GatewayKind,
    progress::{ProgrammedProof, WHOLE},
    references::{self, EntryList, WantedEntry},
};
use haptic_model::gateway::{
    ClassVerdict, GatewayVerdict, ListenerSetVerdict, ListenerVerdict, ParentVerdict, PolicyVerdict,
    RouteVerdict, StatusCondition,
};
use serde_json::{Map, Value, json};

/// Types of conditions that are ours, by place.
const OF_CLASS: [&str; 2] = ["Accepted", "SupportedVersion"];
pub(crate) const OF_GATEWAY: [&str; 5] =
    ["Accepted", PROGRAMMED, "ResolvedRefs", "InsecureFrontendValidationMode", "AddressesAssigned"];
const OF_LISTENER: [&str; 5] = ["Accepted", "ResolvedRefs", PROGRAMMED, "Conflicted", "OverlappingTLSConfig"];
pub(crate) const OF_LISTENER_SET: [&str; 2] = ["Accepted", PROGRAMMED];
pub(crate) const PROGRAMMED: &str = "Programmed";
/// Said of what runs; no number in it, so that a change of the fleet writes no status.
pub(crate) const RUNS: &str = "every ready HAProxy pod runs it";
/// Said of a Gateway that nobody serves because its class is refused.
pub(crate) const CLASS_REFUSED: &str = "its GatewayClass is not accepted: see the status there";
/// Said of a route that is attached, and that no pod has: a listener without its certificate takes routes, too.
const UNSERVED: &str = "no listener that takes it is served: see the status of its Gateway or ListenerSet";
/// Said of a route that is accepted as it was before.
const HELD_BACK: &str = "this version of it is served nowhere: see PartiallyInvalid";
/// The API takes so many addresses.
const ADDRESSES: usize = 16;

/// What is to be written of a status.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct GatewayStatusChange {
    /// Fields of `status` that change; `null`: the field goes. Empty: everything is right.
    pub(crate) fields: Map<String, Value>,
    /// Whether a part of it waits for the pods.
    pub(crate) waits: bool,
}

/// How a Gateway is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GatewayAddresses {
    /// Nobody here cares.
    Unmanaged,
    /// By these; each with its type.
    Assigned(Vec<(&'static str, String)>),
    /// By these, once a port of it leads to what the pods run.
    NotLedYet(Vec<(&'static str, String)>),
    /// Not yet, or not at all; why.
    NotAssigned(String),
    /// Not by what it asks for; why.
    NotUsable(String),
}

/// What statuses are made with.
#[derive(Clone, Copy)]
pub(crate) struct StatusContext<'a> {
    /// Our controller name.
    pub(crate) controller: &'a str,
    /// The namespace of the object.
    pub(crate) namespace: &'a str,
    /// RFC 3339, whole seconds.
    pub(crate) now: &'a str,
    pub(crate) proof: ProgrammedProof<'a>,
}

impl StatusContext<'_> {
    pub(crate) fn of_class(&self, object: &Value, verdict: &ClassVerdict) -> GatewayStatusChange {
        let status = status_of(object);
        if is_another(object, verdict.generation) || self.is_newer(status, &OF_CLASS, verdict.generation) {
            return GatewayStatusChange::default();
        }
        let wanted = verdict.conditions.clone();
        let conditions = self.merged(status, &OF_CLASS, wanted, verdict.generation);
        let mut features = verdict.features.clone();
        features.sort_unstable();
        features.dedup();
        let features: Vec<Value> = features.into_iter().map(|name| json!({ "name": name })).collect();
        difference(
            status,
            [("conditions", Value::Array(conditions)), ("supportedFeatures", Value::Array(features))],
            false,
        )
    }

    pub(crate) fn of_gateway(
        &self,
        object: &Value,
        verdict: &GatewayVerdict,
        addresses: &GatewayAddresses,
    ) -> GatewayStatusChange {
        let (status, generation) = (status_of(object), verdict.generation);
        if is_another(object, generation) || self.is_newer(status, &OF_GATEWAY, generation) {
            return GatewayStatusChange::default();
        }
        let (listeners, listeners_wait) = self.listeners(status, &verdict.listeners, generation);
        let accepted = verdict.conditions.iter().find(|condition| condition.kind == "Accepted");
        let mut waits = listeners_wait;
        let programmed = match (accepted, addresses) {
            (Some(StatusCondition { holds: false, message, .. }), _) => {
                programmed(PROGRAMMED, Err(("Invalid", message.to_string())))
            }
            _ if is_unserved(&verdict.listeners) => {
                programmed(PROGRAMMED, Err(("Invalid", "no listener of it can be served".into())))
            }
            (_, GatewayAddresses::NotUsable(why)) => {
                programmed(PROGRAMMED, Err(("AddressNotUsable", why.clone())))
            }
            (_, GatewayAddresses::NotAssigned(why)) => {
                programmed(PROGRAMMED, Err(("AddressNotAssigned", why.clone())))
            }
            _ => {
                let stored = conditions::find(status.get("conditions"), PROGRAMMED);
                let why = self.waits(stored, WHOLE, generation);
                waits |= why.is_some();
                programmed(PROGRAMMED, why.map_or(Ok(()), |why| Err(("Pending", why))))
            }
        };
        let wanted = verdict.conditions.iter().cloned().chain([programmed]).collect();
        let conditions = self.merged(status, &OF_GATEWAY, wanted, generation);
        let mut fields = vec![
            ("conditions", Value::Array(conditions)),
            ("listeners", Value::Array(listeners)),
            ("attachedListenerSets", json!(verdict.attached_listener_sets)),
        ];
        fields.extend(addresses.as_field().map(|addresses| ("addresses", addresses)));
        difference(status, fields, waits)
    }

    pub(crate) fn of_listener_set(
        &self,
        object: &Value,
        verdict: &ListenerSetVerdict,
    ) -> GatewayStatusChange {
        let (status, generation) = (status_of(object), verdict.generation);
        if is_another(object, generation) || self.is_newer(status, &OF_LISTENER_SET, generation) {
            return GatewayStatusChange::default();
        }
        let (listeners, mut waits) = self.listeners(status, &verdict.listeners, generation);
        let refused = verdict.conditions.iter().find(|one| one.kind == "Accepted" && !one.holds);
        let programmed = match refused {
            Some(StatusCondition { reason, message, .. }) => {
                programmed(PROGRAMMED, Err((reason, message.to_string())))
            }
            None if is_unserved(&verdict.listeners) => {
                programmed(PROGRAMMED, Err(("Invalid", "no listener of it can be served".into())))
            }
            None => {
                let stored = conditions::find(status.get("conditions"), PROGRAMMED);
                let why = self.waits(stored, WHOLE, generation);
                waits |= why.is_some();
                programmed(PROGRAMMED, why.map_or(Ok(()), |why| Err(("Pending", why))))
            }
        };
        let wanted = verdict.conditions.iter().cloned().chain([programmed]).collect();
        let conditions = self.merged(status, &OF_LISTENER_SET, wanted, generation);
        difference(
            status,
            [("conditions", Value::Array(conditions)), ("listeners", Value::Array(listeners))],
            waits,
        )
    }

    pub(crate) fn of_route(&self, object: &Value, verdict: &RouteVerdict) -> GatewayStatusChange {
        let list = EntryList::parents(self.controller, self.namespace);
        let (status, mut waits) = (status_of(object), false);
        let wanted = verdict.parents.iter().map(|parent| {
            let (reference, mut conditions) = (parent.reference.value(), parent.conditions.clone());
            if is_accepted(&conditions) {
                let stored = list.entry_for(status, &reference).and_then(|e| e.get("conditions"));
                let stored = conditions::find(stored, references::PROGRAMMED);
                let outcome = if parent.is_served {
                    let why = self.waits(stored, parent.reference.text(), verdict.generation);
                    waits |= why.is_some();
                    why.map_or(Ok(()), |why| Err(("Pending", why)))
                } else {
                    Err(("Invalid", UNSERVED.to_owned()))
                };
                conditions.push(programmed(references::PROGRAMMED, outcome));
            }
            WantedEntry { reference, conditions, accepted: None }
        });
        let wanted = wanted.collect();
        GatewayStatusChange { waits, ..self.of_entries(object, list, wanted, verdict.generation) }
    }

    /// Of a route of which another version is served, or none: the present one is programmed nowhere. What is accepted is generation `served`.
    pub(crate) fn of_held_route(
        &self,
        object: &Value,
        verdict: &RouteVerdict,
        served: Option<i64>,
    ) -> GatewayStatusChange {
        let list = EntryList::parents(self.controller, self.namespace);
        let wanted = verdict.parents.iter().map(|parent| {
            let mut conditions = parent.conditions.clone();
            if is_accepted(&conditions) {
                conditions.push(programmed(references::PROGRAMMED, Err(("Invalid", HELD_BACK.to_owned()))));
            }
            WantedEntry { reference: parent.reference.value(), conditions, accepted: served }
        });
        self.of_entries(object, list, wanted.collect(), verdict.generation)
    }

    pub(crate) fn of_policy(&self, object: &Value, verdict: &PolicyVerdict) -> GatewayStatusChange {
        let list = EntryList::ancestors(self.controller, self.namespace);
        let entry = |ancestor: &ParentVerdict| WantedEntry {
            reference: ancestor.reference.value(),
            conditions: ancestor.conditions.clone(),
            accepted: None,
        };
        let wanted = verdict.ancestors.iter().map(entry).collect();
        self.of_entries(object, list, wanted, verdict.generation)
    }

    /// The status of an object of which nothing is ours any more: our entries of `list` go.
    pub(crate) fn withdrawn(&self, object: &Value, list: EntryList<'_>) -> GatewayStatusChange {
        let status = status_of(object);
        if list.ours(status).next().is_none() {
            return GatewayStatusChange::default();
        }
        let entries = list.merged(status, Vec::new(), 0, self.now);
        difference(status, [(list.field, Value::Array(entries))], false)
    }

    /// The status of a Gateway whose class is ours and refused: nobody serves it.
    pub(crate) fn of_refused_class(&self, object: &Value, has_addresses: bool) -> GatewayStatusChange {
        let (status, generation) = (status_of(object), generation_of(object).unwrap_or_default());
        let refused =
            |kind, reason| StatusCondition { kind, holds: false, reason, message: CLASS_REFUSED.into() };
        let wanted = vec![refused("Accepted", "InvalidParameters"), refused(PROGRAMMED, "Invalid")];
        let conditions = self.merged(status, &OF_GATEWAY, wanted, generation);
        let gone =
            abandoned::fields_gone(GatewayKind::Gateway, has_addresses).map(|field| (field, Value::Null));
        difference(status, gone.chain([("conditions", Value::Array(conditions))]), false)
    }

    /// The status of a Gateway or ListenerSet that is nobody's any more, where it was ours.
    pub(crate) fn abandoned(
        &self,
        kind: GatewayKind,
        object: &Value,
        validated: Option<i64>,
        has_addresses: bool,
    ) -> GatewayStatusChange {
        let fields = abandoned::fields(kind, status_of(object), validated, has_addresses, self.now);
        GatewayStatusChange { fields, waits: false }
    }

    fn of_entries(
        &self,
        object: &Value,
        list: EntryList<'_>,
        wanted: Vec<WantedEntry>,
        generation: i64,
    ) -> GatewayStatusChange {
        let status = status_of(object);
        let is_newer = list.ours(status).any(|entry| references::is_newer(entry, generation));
        if is_another(object, generation) || is_newer {
            return GatewayStatusChange::default();
        }
        let entries = list.merged(status, wanted, generation, self.now);
        if entries.is_empty() && status.get(list.field).is_none() {
            return GatewayStatusChange::default();
        }
        difference(status, [(list.field, Value::Array(entries))], false)
    }

    /// `status.listeners`, and whether one of them waits for the pods.
    fn listeners(&self, status: &Value, verdicts: &[ListenerVerdict], generation: i64) -> (Vec<Value>, bool) {
        let stored = status.get("listeners").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut waits = false;
        let mut listener = |verdict: &ListenerVerdict| {
            let named = |entry: &&Value| entry.get("name").and_then(Value::as_str) == Some(&*verdict.name);
            let stored = stored.iter().find(named);
            let conditions = stored.and_then(|stored| stored.get("conditions"));
            let outcome = if verdict.is_served {
                let why = self.waits(conditions::find(conditions, PROGRAMMED), &verdict.name, generation);
                waits |= why.is_some();
                why.map_or(Ok(()), |why| Err(("Pending", why)))
            } else {
                let failed = verdict.conditions.iter().find(|one| is_failure(one));
                let why = failed.map_or("it cannot be served", |failed| &failed.message);
                Err((failed.map_or("Invalid", reason_of), why.to_owned()))
            };
            let wanted = verdict.conditions.iter().cloned().chain([programmed(PROGRAMMED, outcome)]);
            let wanted = WantedConditions {
                ours: &OF_LISTENER,
                wanted: wanted.collect(),
                generation,
                accepted: None,
                now: self.now,
            };
            let mut entry = stored.and_then(Value::as_object).cloned().unwrap_or_default();
            let kinds: Vec<Value> = verdict
                .supported_kinds
                .iter()
                .map(|(group, kind)| json!({ "group": group, "kind": kind }))
                .collect();
            entry.insert("name".into(), (*verdict.name).into());
            entry.insert("supportedKinds".into(), kinds.into());
            entry.insert("attachedRoutes".into(), json!(verdict.attached_routes));
            entry.insert("conditions".into(), wanted.merged_into(conditions).into());
            Value::Object(entry)
        };
        let listeners = verdicts.iter().map(&mut listener).collect();
        (listeners, waits)
    }

    /// Why a part does not run. What was proven once for a generation of its object stays proven.
    fn waits(&self, stored: Option<&Value>, part: &str, generation: i64) -> Option<String> {
        if conditions::holds(stored, generation) { None } else { self.proof.waits(part) }
    }

    fn merged(
        &self,
        status: &Value,
        ours: &[&str],
        wanted: Vec<StatusCondition>,
        generation: i64,
    ) -> Vec<Value> {
        WantedConditions { ours, wanted, generation, accepted: None, now: self.now }
            .merged_into(status.get("conditions"))
    }

    fn is_newer(&self, status: &Value, ours: &[&str], generation: i64) -> bool {
        conditions::is_newer(status.get("conditions"), ours, generation)
    }
}

impl GatewayAddresses {
    /// `status.addresses`; `None`: it is not ours to say.
    fn as_field(&self) -> Option<Value> {
        let addresses = match self {
            Self::Unmanaged => return None,
            Self::Assigned(addresses) | Self::NotLedYet(addresses) => addresses.as_slice(),
            Self::NotAssigned(_) | Self::NotUsable(_) => &[],
        };
        let all = addresses.iter().take(ADDRESSES);
        Some(all.map(|(kind, value)| json!({ "type": kind, "value": value })).collect())
    }
}

fn programmed(kind: &'static str, outcome: Result<(), (&'static str, String)>) -> StatusCondition {
    match outcome {
        Ok(()) => StatusCondition { kind, holds: true, reason: "Programmed", message: RUNS.into() },
        Err((reason, message)) => StatusCondition { kind, holds: false, reason, message: message.into() },
    }
}

fn is_accepted(conditions: &[StatusCondition]) -> bool {
    conditions.iter().any(|one| one.kind == "Accepted" && one.holds)
}

/// Of `Conflicted` and `OverlappingTLSConfig` True is what is wrong.
fn is_failure(condition: &StatusCondition) -> bool {
    !condition.holds && ["Accepted", "ResolvedRefs"].contains(&condition.kind)
}

/// Why what failed so is not programmed: the API has reasons of conflicts for this, too.
fn reason_of(failed: &StatusCondition) -> &'static str {
    if ["HostnameConflict", "ProtocolConflict"].contains(&failed.reason) { failed.reason } else { "Invalid" }
}

fn is_unserved(listeners: &[ListenerVerdict]) -> bool {
    !listeners.is_empty() && listeners.iter().all(|listener| !listener.is_served)
}

fn status_of(object: &Value) -> &Value {
    object.get("status").unwrap_or(&Value::Null)
}

/// Whether the object as stored is of another generation than the one that was judged: its own verdict comes.
fn is_another(object: &Value, generation: i64) -> bool {
    generation_of(object) != Some(generation)
}

fn generation_of(object: &Value) -> Option<i64> {
    object.pointer("/metadata/generation").and_then(Value::as_i64)
}

/// Those of `fields` that `status` has otherwise. An empty list is as good as none.
fn difference(
    status: &Value,
    fields: impl IntoIterator<Item = (&'static str, Value)>,
    waits: bool,
) -> GatewayStatusChange {
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let differs = |(name, value): &(&str, Value)| match status.get(*name) {
        None => !is_empty(value) && *value != 0,
        Some(stored) => stored != value && !(is_empty(stored) && is_empty(value)),
    };
    let fields = fields.into_iter().filter(differs).map(|(name, value)| (name.to_owned(), value));
    GatewayStatusChange { fields: fields.collect(), waits }
}
