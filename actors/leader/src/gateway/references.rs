//! `status.parents` of routes and `status.ancestors` of policies: lists that several controllers write, of which only the entries with
//! our name are changed.
//!
//! The API takes such a list as one value: whoever writes it writes everybody's entries.

use super::conditions::{self, WantedConditions};
use haptic_model::gateway::StatusCondition;
use serde_json::{Map, Value, json};

/// The group of all kinds of the Gateway API.
pub(crate) const GROUP: &str = "gateway.networking.k8s.io";

/// Types of conditions that are ours in an entry with our name.
pub(crate) const OURS: [&str; 5] = ["Accepted", "ResolvedRefs", "PartiallyInvalid", "Conflicted", PROGRAMMED];
/// Whether all pods run a route as this parent has it. The Gateway API has no such condition of routes.
pub(crate) const PROGRAMMED: &str = "haproxy-haptic.org/Programmed";

/// A list of entries in a status.
#[derive(Clone, Copy)]
pub(crate) struct EntryList<'a> {
    /// `parents` or `ancestors`.
    pub(crate) field: &'static str,
    /// `parentRef` or `ancestorRef`.
    pub(crate) reference: &'static str,
    /// So many entries the API takes.
    pub(crate) limit: usize,
    /// The name in our entries.
    pub(crate) controller: &'a str,
    /// The namespace of the object, which a reference without one means.
    pub(crate) namespace: &'a str,
}

/// An entry that should be there.
pub(crate) struct WantedEntry {
    pub(crate) reference: Value,
    /// Never empty: the API refuses an entry without.
    pub(crate) conditions: Vec<StatusCondition>,
    /// The generation of the version that is accepted, where a former one is served.
    pub(crate) accepted: Option<i64>,
}

impl<'a> EntryList<'a> {
    pub(crate) fn parents(controller: &'a str, namespace: &'a str) -> Self {
        Self { field: "parents", reference: "parentRef", limit: 32, controller, namespace }
    }

    pub(crate) fn ancestors(controller: &'a str, namespace: &'a str) -> Self {
        Self { field: "ancestors", reference: "ancestorRef", limit: 16, controller, namespace }
    }

    /// Our entries of `status`.
    pub(crate) fn ours<'s>(&'s self, status: &'s Value) -> impl Iterator<Item = &'s Value> {
        let entries = status.get(self.field).and_then(Value::as_array).into_iter().flatten();
        entries.filter(|entry| self.is_ours(entry))
    }

    /// Our entry of `status` for `reference`.
    pub(crate) fn entry_for<'s>(&'s self, status: &'s Value, reference: &Value) -> Option<&'s Value> {
        let identity = identity_of(reference, self.namespace);
        self.ours(status).find(|entry| self.identity(entry) == identity)
    }

    /// The list with our entries as they should be: each in its place, new ones at the end, those whose reference is gone left out.
    pub(crate) fn merged(
        &self,
        status: &Value,
        wanted: Vec<WantedEntry>,
        generation: i64,
        now: &str,
    ) -> Vec<Value> {
        let mut wanted: Vec<WantedEntry> =
            wanted.into_iter().filter(|entry| !entry.conditions.is_empty()).collect();
        let stored = status.get(self.field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let foreign = stored.iter().filter(|entry| !self.is_ours(entry)).count();
        wanted.truncate(self.limit.saturating_sub(foreign));
        let mut merged = Vec::new();
        for entry in stored {
            if !self.is_ours(entry) {
                merged.push(entry.clone());
                continue;
            }
            let identity = self.identity(entry);
            let found =
                wanted.iter().position(|wanted| identity_of(&wanted.reference, self.namespace) == identity);
            if let Some(found) = found {
                merged.push(self.written(wanted.remove(found), Some(entry), generation, now));
            }
        }
        merged.extend(wanted.into_iter().map(|wanted| self.written(wanted, None, generation, now)));
        merged
    }

    fn written(&self, wanted: WantedEntry, stored: Option<&Value>, generation: i64, now: &str) -> Value {
        let WantedEntry { reference: wanted_reference, conditions, accepted } = wanted;
        let conditions = WantedConditions { ours: &OURS, wanted: conditions, generation, accepted, now };
        // The API server fills in what is left out, which is no difference.
        let reference = stored
            .and_then(|stored| stored.get(self.reference))
            .filter(|stored| complete(stored) == complete(&wanted_reference));
        json!({
            self.reference: reference.unwrap_or(&wanted_reference),
            "controllerName": self.controller,
            "conditions": conditions.merged_into(stored.and_then(|stored| stored.get("conditions"))),
        })
    }

    fn is_ours(&self, entry: &Value) -> bool {
        entry.get("controllerName").and_then(Value::as_str) == Some(self.controller)
    }

    fn identity(&self, entry: &Value) -> Map<String, Value> {
        identity_of(entry.get(self.reference).unwrap_or(&Value::Null), self.namespace)
    }
}

/// Whether one of our conditions in `entry` was judged at a newer generation.
pub(crate) fn is_newer(entry: &Value, generation: i64) -> bool {
    conditions::is_newer(entry.get("conditions"), &OURS, generation)
}

/// What a reference refers to, however much of it is written.
pub(crate) fn identity_of(reference: &Value, namespace: &str) -> Map<String, Value> {
    let mut all = complete(reference);
    all.entry("namespace").or_insert_with(|| namespace.into());
    all
}

/// The reference with what the API server fills in.
fn complete(reference: &Value) -> Map<String, Value> {
    let mut all = reference.as_object().cloned().unwrap_or_default();
    all.retain(|_, value| !value.is_null());
    all.entry("group").or_insert_with(|| GROUP.into());
    all.entry("kind").or_insert_with(|| "Gateway".into());
    all
}
