//! Routes that are held back because of what is in them: what their statuses say while a former version is served in their place, or nothing.

use super::{
    kinds::{GatewayKind, KindSource, StatusKey},
    references::{GROUP, identity_of},
};
use haptic_model::{
    Instead, Quarantine, Quarantined,
    gateway::{GatewayVerdicts, NamespacedName, ParentVerdict, RouteVerdict, StatusCondition},
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

const PARTIALLY_INVALID: &str = "PartiallyInvalid";
const REASON: &str = "UnsupportedValue";

/// A route that is held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldRoute {
    instead: Instead,
    /// What is wrong with it, and what is served.
    why: String,
}

/// The routes that are held back. Of those that are only suspected nothing is proven, and nothing is told.
pub(crate) fn routes(
    quarantine: &Quarantine,
    sources: &BTreeMap<GatewayKind, KindSource>,
) -> BTreeMap<StatusKey, HeldRoute> {
    let is_route = |(kind, _): &(&GatewayKind, &KindSource)| matches!(kind, GatewayKind::Route(_));
    let stores: BTreeMap<&str, GatewayKind> =
        sources.iter().filter(is_route).map(|(kind, source)| (&*source.store, *kind)).collect();
    let proven = quarantine.held.values().filter(|held| !held.suspected);
    let route = |held: &Arc<Quarantined>| {
        let kind = *stores.get(&*held.object.resource)?;
        let key = StatusKey::new(kind, &held.object.namespace, &held.object.name);
        Some((key, HeldRoute { instead: held.instead, why: held.to_string() }))
    };
    proven.filter_map(route).collect()
}

/// Whether one of the route's parents is ours: whatever its status says, its verdict is there or to come.
pub(crate) fn has_parent_of_ours(route: &Value, namespace: &str, all: &GatewayVerdicts) -> bool {
    parents_of_ours(route, namespace, all).next().is_some()
}

fn parents_of_ours<'r>(
    route: &'r Value,
    namespace: &'r str,
    all: &'r GatewayVerdicts,
) -> impl Iterator<Item = &'r Value> {
    let references = route.pointer("/spec/parentRefs").and_then(Value::as_array).into_iter().flatten();
    references.filter(move |reference| {
        let identity = identity_of(reference, namespace);
        let text = |field: &str| identity.get(field).and_then(Value::as_str).unwrap_or_default();
        let name: NamespacedName = (text("namespace").into(), text("name").into());
        match (text("group"), text("kind")) {
            (GROUP, "Gateway") => all.gateways.contains_key(&name),
            (GROUP, "ListenerSet") => all.listener_sets.contains_key(&name),
            _ => false,
        }
    })
}

impl HeldRoute {
    /// What is said of the route as it is stored; `former` is the verdict about what is served in its place. `None`: nothing else than without
    /// the hold, because what is served has the same spec.
    pub(crate) fn verdict(
        &self,
        route: &Value,
        namespace: &str,
        former: Option<&RouteVerdict>,
        all: &GatewayVerdicts,
    ) -> Option<RouteVerdict> {
        let generation = route.pointer("/metadata/generation").and_then(Value::as_i64)?;
        let parents = match (self.instead, former) {
            (Instead::Nothing, _) => {
                parents_of_ours(route, namespace, all).map(|parent| self.left_out(parent)).collect()
            }
            (Instead::Former, Some(former)) if former.generation != generation => {
                former.parents.iter().map(|parent| self.fallen_back(parent)).collect()
            }
            _ => return None,
        };
        Some(RouteVerdict { generation, parents, has_others: false })
    }

    fn left_out(&self, parent: &Value) -> ParentVerdict {
        let message = self.why.clone().into();
        let refused = StatusCondition { kind: "Accepted", holds: false, reason: REASON, message };
        ParentVerdict { reference: parent.into(), conditions: vec![refused], is_served: false }
    }

    /// What holds for the version that is served, and that it is not the present one.
    fn fallen_back(&self, parent: &ParentVerdict) -> ParentVerdict {
        let others = parent.conditions.iter().filter(|condition| condition.kind != PARTIALLY_INVALID);
        let message = format!("Fall Back: {}", self.why).into();
        let partly = StatusCondition { kind: PARTIALLY_INVALID, holds: true, reason: REASON, message };
        ParentVerdict {
            reference: parent.reference.clone(),
            conditions: others.cloned().chain([partly]).collect(),
            is_served: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{Diagnostic, Generation, ObjectRef, gateway::RouteKind};
    use serde_json::json;
    use std::time::Instant;

    const ROUTE: GatewayKind = GatewayKind::Route(RouteKind::Http);

    fn quarantine(resource: &str, instead: Instead, suspected: bool) -> Quarantine {
        let object = Arc::new(ObjectRef::new(resource, "shop", "web"));
        let why = Diagnostic::error("haproxy", "unknown keyword");
        let (since, at) = (Generation(3), Instant::now());
        let held = Quarantined { object: object.clone(), why, instead, suspected, since, at };
        Quarantine { held: [(object, Arc::new(held))].into() }
    }

    fn sources() -> BTreeMap<GatewayKind, KindSource> {
        let watched = |plural: &str| haptic_model::crd::WatchedResource {
            api_version: format!("{GROUP}/v1"),
            resources: plural.into(),
            ..Default::default()
        };
        let all = [("mine", "httproutes"), ("gateways", "gateways")];
        let all = all.map(|(name, plural)| (name.to_owned(), watched(plural)));
        GatewayKind::sources(&all.into(), &[])
    }

    fn held(instead: Instead) -> HeldRoute {
        let all = routes(&quarantine("mine", instead, false), &sources());
        all.into_values().next().unwrap()
    }

    #[test]
    fn routes_are_told_of_that_are_proven_to_be_at_fault() {
        let all = routes(&quarantine("mine", Instead::Former, false), &sources());
        let keys: Vec<&StatusKey> = all.keys().collect();
        assert_eq!(keys, [&StatusKey::new(ROUTE, &"shop".into(), &"web".into())]);
        assert!(routes(&quarantine("mine", Instead::Former, true), &sources()).is_empty());
        assert!(routes(&quarantine("gateways", Instead::Former, false), &sources()).is_empty());
    }

    #[test]
    fn a_former_version_is_accepted_and_partially_invalid_and_nothing_is_not_accepted() {
        let reference = json!({"name": "gw", "namespace": "edge"});
        let condition = |kind, message: &str| StatusCondition {
            kind,
            holds: true,
            reason: kind,
            message: message.to_owned().into(),
        };
        let conditions = vec![condition("Accepted", ""), condition(PARTIALLY_INVALID, "Dropped Rule 0")];
        let parent = ParentVerdict { reference: (&reference).into(), conditions, is_served: true };
        let former = RouteVerdict { generation: 1, parents: vec![parent], has_others: false };
        let route = |generation: i64| {
            json!({"metadata": {"generation": generation},
                "spec": {"parentRefs": [{"name": "foreign"}, reference, {"kind": "Service", "group": "", "name": "gw"}]}})
        };
        let none = GatewayVerdicts::default();
        let told = held(Instead::Former).verdict(&route(2), "shop", Some(&former), &none).unwrap();
        let said: Vec<(&str, bool, &str)> =
            told.parents[0].conditions.iter().map(|one| (one.kind, one.holds, &*one.message)).collect();
        assert_eq!((told.generation, said.len(), said[0]), (2, 2, ("Accepted", true, "")));
        assert_eq!((said[1].0, said[1].1), (PARTIALLY_INVALID, true));
        assert!(said[1].2.starts_with("Fall Back") && said[1].2.contains("unknown keyword"), "{said:?}");
        assert_eq!(held(Instead::Former).verdict(&route(1), "shop", Some(&former), &none), None);
        assert_eq!(held(Instead::Former).verdict(&route(2), "shop", None, &none), None);

        let verdict = haptic_model::gateway::ListenerSetVerdict {
            generation: 1,
            conditions: Vec::new(),
            listeners: Vec::new(),
        };
        let name = (Arc::from("edge"), Arc::from("gw"));
        let ours = GatewayVerdicts { listener_sets: [(name, Arc::new(verdict))].into(), ..none.clone() };
        let mut of_set = route(2);
        of_set["spec"]["parentRefs"][1]["kind"] = json!("ListenerSet");
        let told = held(Instead::Nothing).verdict(&of_set, "shop", None, &ours).unwrap();
        assert_eq!(told.parents.len(), 1);
        let said = &told.parents[0].conditions[0];
        assert_eq!((said.kind, said.holds, said.reason), ("Accepted", false, REASON));
        assert!(said.message.contains("unknown keyword"), "{}", said.message);
        assert!(has_parent_of_ours(&of_set, "shop", &ours) && !has_parent_of_ours(&route(2), "shop", &ours));
    }
}
