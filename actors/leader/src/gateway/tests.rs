//! Statuses after any history: what is right is written once, and what others wrote stays as it is.

use super::{
    progress::{FleetProgress, ProgrammedProof, RenderedSince, parts_of_listeners, parts_of_route},
    services::may_differ,
    status::{GatewayAddresses, GatewayStatusChange, StatusContext},
};
use haptic_model::{
    Generation,
    gateway::{GatewayPort, GatewayVerdict, ListenerVerdict, ParentVerdict, RouteVerdict, StatusCondition},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

const OURS: &str = "haproxy-haptic.org/gateway-controller";

fn condition(kind: &'static str, holds: bool) -> StatusCondition {
    let reason = if holds { kind } else { "NoMatchingParent" };
    StatusCondition { kind, holds, reason, message: format!("{kind} is {holds}").into() }
}

fn parent(name: &str, accepted: bool) -> ParentVerdict {
    ParentVerdict {
        reference: (&json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": name})).into(),
        conditions: vec![condition("Accepted", accepted), condition("ResolvedRefs", true)],
        is_served: true,
    }
}

fn listener(name: &str, is_served: bool, routes: usize) -> ListenerVerdict {
    ListenerVerdict {
        name: name.into(),
        port: 80,
        conditions: vec![condition("Accepted", true), condition("ResolvedRefs", is_served)],
        supported_kinds: vec![("gateway.networking.k8s.io", "HTTPRoute")],
        attached_routes: routes,
        is_served,
    }
}

fn gateway(generation: i64, listeners: Vec<ListenerVerdict>) -> GatewayVerdict {
    GatewayVerdict {
        generation,
        uid: "uid".into(),
        conditions: vec![condition("Accepted", true)],
        listeners,
        ..GatewayVerdict::default()
    }
}

#[test]
fn services_are_looked_at_when_what_they_are_made_of_differs_and_not_for_routes() {
    let name = || (Arc::from("shop"), Arc::from("edge"));
    let of = |verdict: &GatewayVerdict| BTreeMap::from([(name(), Arc::new(verdict.clone()))]);
    let known = gateway(1, vec![listener("web", true, 3)]);
    let with_routes = gateway(2, vec![listener("web", true, 4)]);
    let ports = vec![GatewayPort { port: 80, target: 20_000 }];
    for (now, is_other) in [
        (of(&known), false),
        (of(&with_routes), false),
        (of(&GatewayVerdict { ports, ..known.clone() }), true),
        (of(&GatewayVerdict { uid: "another".into(), ..known.clone() }), true),
        (of(&GatewayVerdict { addresses: vec![("IPAddress".into(), None)], ..known.clone() }), true),
        (of(&GatewayVerdict { labels: BTreeMap::from([("a".into(), "b".into())]), ..known.clone() }), true),
        (
            of(&GatewayVerdict { annotations: BTreeMap::from([("a".into(), "b".into())]), ..known.clone() }),
            true,
        ),
        (BTreeMap::new(), true),
    ] {
        assert_eq!(may_differ(&of(&known), &now), is_other, "{now:?}");
    }
}

fn assigned() -> GatewayAddresses {
    GatewayAddresses::Assigned(vec![("IPAddress", "192.0.2.7".into())])
}

/// An object at the API server, and what it takes to judge it.
struct Scene {
    object: Value,
    since: RenderedSince,
    fleet: FleetProgress,
    seconds: u32,
}

impl Scene {
    fn new(status: Value) -> Self {
        let object =
            json!({"metadata": {"generation": 1, "name": "web", "namespace": "shop"}, "status": status});
        Self { object, since: RenderedSince::default(), fleet: FleetProgress::default(), seconds: 0 }
    }

    /// The pods run these generations.
    fn run(mut self, pods: &[u64]) -> Self {
        self.fleet = FleetProgress { pods: pods.iter().map(|pod| Some(Generation(*pod))).collect() };
        self
    }

    fn now(&self) -> String {
        format!("2026-01-01T00:{:02}:{:02}Z", self.seconds / 60 % 60, self.seconds % 60)
    }

    fn judge<T>(&self, judge: impl FnOnce(&StatusContext<'_>, &Value) -> T) -> T {
        let now = self.now();
        let proof = ProgrammedProof { fleet: &self.fleet, since: Some(&self.since) };
        judge(&StatusContext { controller: OURS, namespace: "shop", now: &now, proof }, &self.object)
    }

    fn route(&self, verdict: &RouteVerdict) -> GatewayStatusChange {
        self.judge(|status, object| status.of_route(object, verdict))
    }

    fn gateway(&self, verdict: &GatewayVerdict, addresses: &GatewayAddresses) -> GatewayStatusChange {
        self.judge(|status, object| status.of_gateway(object, verdict, addresses))
    }

    /// As the API server takes a merge patch of the status.
    fn write(&mut self, change: &GatewayStatusChange) {
        if self.object["status"].is_null() {
            self.object["status"] = json!({});
        }
        for (field, value) in &change.fields {
            self.object["status"][field] = value.clone();
        }
        self.seconds += 1;
    }

    fn status(&self) -> &Value {
        &self.object["status"]
    }

    fn condition<'a>(conditions: &'a Value, kind: &str) -> &'a Value {
        conditions.as_array().unwrap().iter().find(|one| one["type"] == kind).unwrap_or(&Value::Null)
    }
}

#[test]
fn a_listener_is_programmed_when_every_ready_pod_runs_it_and_stays_so() {
    let verdict = gateway(1, vec![listener("http", true, 2), listener("tls", false, 0)]);
    let mut scene = Scene::new(json!({}));
    scene.since = RenderedSince::after(None, 1, parts_of_listeners(&verdict.listeners), Generation(7));
    scene = scene.run(&[7, 6, 7]);
    let change = scene.gateway(&verdict, &assigned());
    assert!(change.waits);
    scene.write(&change);
    let programmed = Scene::condition(&scene.status()["conditions"], "Programmed");
    assert_eq!((&programmed["status"], &programmed["reason"]), (&json!("False"), &json!("Pending")));
    assert_eq!(programmed["message"], "2 of 3 ready pods run generation 7");
    assert_eq!(scene.status()["addresses"], json!([{"type": "IPAddress", "value": "192.0.2.7"}]));

    scene = scene.run(&[7, 7, 8]);
    let change = scene.gateway(&verdict, &assigned());
    assert!(!change.waits);
    scene.write(&change);
    let listeners = scene.status()["listeners"].as_array().unwrap();
    let states: Vec<&Value> =
        listeners.iter().map(|one| &Scene::condition(&one["conditions"], "Programmed")["status"]).collect();
    assert_eq!(states, ["True", "False"]);

    // Another pod, which runs nothing yet, takes nothing back; another generation of the object does.
    scene = scene.run(&[7, 7, 8, 0]);
    assert_eq!(scene.gateway(&verdict, &assigned()), GatewayStatusChange::default());
    let newer = GatewayVerdict { generation: 2, ..verdict };
    assert_eq!(
        scene.gateway(&newer, &assigned()),
        GatewayStatusChange::default(),
        "it is not of the object as stored"
    );
    scene.object["metadata"]["generation"] = json!(2);
    scene.since =
        RenderedSince::after(Some(&scene.since), 2, parts_of_listeners(&newer.listeners), Generation(9));
    assert!(scene.gateway(&newer, &assigned()).waits);
}

#[test]
fn listeners_that_are_gone_leave_the_status_and_what_is_wrong_with_a_gateway_is_said() {
    let both = gateway(1, vec![listener("a", true, 1), listener("b", true, 0)]);
    let mut scene = Scene::new(json!({})).run(&[1]);
    scene.since = RenderedSince::after(None, 1, parts_of_listeners(&both.listeners), Generation(1));
    scene.write(&scene.gateway(&both, &assigned()));
    let one = gateway(1, vec![listener("b", true, 0)]);
    scene.write(&scene.gateway(&one, &assigned()));
    let names: Vec<&Value> =
        scene.status()["listeners"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["b"]);

    let unusable = GatewayAddresses::NotUsable("no".into());
    let reason = |scene: &Scene, change: &GatewayStatusChange| {
        let conditions = change.fields.get("conditions").unwrap_or(&scene.status()["conditions"]).clone();
        Scene::condition(&conditions, "Programmed")["reason"].clone()
    };
    let change = scene.gateway(&one, &unusable);
    assert_eq!(reason(&scene, &change), "AddressNotUsable");
    assert_eq!(change.fields["addresses"], json!([]));
    let change = scene.gateway(&gateway(1, vec![listener("b", false, 0)]), &assigned());
    assert_eq!(reason(&scene, &change), "Invalid");
    let mut taken = listener("b", false, 0);
    let conflict = StatusCondition { reason: "HostnameConflict", ..condition("Accepted", false) };
    taken.conditions = vec![conflict, condition("ResolvedRefs", true)];
    let change = scene.gateway(&gateway(1, vec![listener("a", true, 0), taken]), &assigned());
    let programmed = Scene::condition(&change.fields["listeners"][1]["conditions"], "Programmed");
    assert_eq!(programmed["reason"], "HostnameConflict");
}

#[test]
fn a_route_at_a_listener_that_is_not_served_is_not_programmed() {
    let unserved = ParentVerdict { is_served: false, ..parent("web", true) };
    let verdict = RouteVerdict { generation: 1, parents: vec![unserved], has_others: false };
    let mut scene = Scene::new(json!({})).run(&[7]);
    let parts = parts_of_route(&verdict);
    scene.since = RenderedSince::after(None, 1, parts, Generation(7));
    let change = scene.route(&verdict);
    assert!(!change.waits, "no pod will ever run it");
    scene.write(&change);
    let conditions = &scene.status()["parents"][0]["conditions"];
    let programmed = Scene::condition(conditions, "haproxy-haptic.org/Programmed");
    assert_eq!((&programmed["status"], &programmed["reason"]), (&json!("False"), &json!("Invalid")));
    assert_eq!(Scene::condition(conditions, "Accepted")["status"], "True");
}

#[test]
fn who_knows_a_newer_generation_is_not_overwritten() {
    let entry = |generation: i64| {
        let condition = json!({"type": "Accepted", "status": "True", "reason": "Accepted", "message": "",
            "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        json!({"parents": [{"controllerName": OURS, "parentRef": {"name": "web"}, "conditions": [condition]}]})
    };
    let verdict = RouteVerdict { generation: 1, parents: vec![parent("web", false)], has_others: false };
    assert_eq!(Scene::new(entry(2)).route(&verdict), GatewayStatusChange::default());
    assert!(!Scene::new(entry(1)).route(&verdict).fields.is_empty());
}

#[test]
fn of_a_route_that_is_not_ours_any_more_only_our_entries_go() {
    let verdict = RouteVerdict { generation: 1, parents: vec![parent("web", true)], has_others: false };
    let foreign =
        json!({"controllerName": "example.com/other", "parentRef": {"name": "x"}, "conditions": null});
    let mut scene = Scene::new(json!({"parents": [foreign]}));
    scene.write(&scene.route(&verdict));
    assert_eq!(scene.status()["parents"].as_array().unwrap().len(), 2);
    let withdrawn = |scene: &Scene| {
        scene.judge(|status, object| {
            status.withdrawn(object, super::references::EntryList::parents(OURS, "shop"))
        })
    };
    scene.write(&withdrawn(&scene));
    assert_eq!(scene.status()["parents"], json!([foreign]));
    assert_eq!(withdrawn(&scene), GatewayStatusChange::default());
}

/// What happens to a route.
#[derive(Clone, Debug)]
enum Step {
    /// It is judged so, by the pairs of Gateway and whether that takes it.
    Judged(Vec<(u8, bool)>),
    /// The pods run up to this.
    Acknowledged(Vec<u64>),
    /// Its spec changes.
    Changed,
    /// Another controller writes its entry for a Gateway, at a place of the list.
    Foreign(u8, usize),
    /// Somebody adds a condition to one of our entries.
    ConditionAdded(usize),
    /// Somebody takes an entry out.
    Removed(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        proptest::collection::btree_map(0_u8..4, any::<bool>(), 0..4)
            .prop_map(|parents| Step::Judged(parents.into_iter().collect())),
        proptest::collection::vec(0_u64..12, 0..3).prop_map(Step::Acknowledged),
        Just(Step::Changed),
        (any::<u8>(), any::<usize>()).prop_map(|(value, at)| Step::Foreign(value, at)),
        any::<usize>().prop_map(Step::ConditionAdded),
        any::<usize>().prop_map(Step::Removed),
    ]
}

fn entries(status: &Value, ours: bool) -> Vec<Value> {
    let all = status["parents"].as_array().into_iter().flatten();
    all.filter(|entry| (entry["controllerName"] == OURS) == ours).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn after_any_history_a_route_is_as_judged_and_others_entries_are_as_they_wrote_them(
        steps in proptest::collection::vec(step(), 1..25),
    ) {
        let mut scene = Scene::new(Value::Null);
        let mut verdict = RouteVerdict { generation: 1, parents: Vec::new(), has_others: false };
        for (number, step) in steps.into_iter().enumerate() {
            if scene.object["status"].is_null() {
                scene.object["status"] = json!({"parents": []});
            }
            let list = scene.object["status"]["parents"].as_array_mut().unwrap();
            match step {
                Step::Judged(parents) => {
                    verdict.parents = parents.iter().map(|(one, takes)| parent(&format!("g{one}"), *takes)).collect();
                }
                Step::Acknowledged(pods) => {
                    scene.fleet = FleetProgress { pods: pods.into_iter().map(|pod| Some(Generation(pod))).collect() };
                }
                Step::Changed => {
                    verdict.generation += 1;
                    scene.object["metadata"]["generation"] = json!(verdict.generation);
                }
                Step::Foreign(value, at) => {
                    let entry = json!({"controllerName": "example.com/other", "odd": {"b": value, "a": [value]},
                        "parentRef": {"name": format!("g{}", value % 4)}});
                    list.insert(at % (list.len() + 1), entry);
                }
                Step::ConditionAdded(at) => {
                    let ours: Vec<usize> = (0..list.len()).filter(|one| list[*one]["controllerName"] == OURS).collect();
                    if let Some(one) = ours.get(at % ours.len().max(1)) {
                        let conditions = list[*one]["conditions"].as_array_mut().unwrap();
                        if conditions.iter().all(|one| one["type"] != "example.com/Extra") {
                            conditions.insert(0, json!({"type": "example.com/Extra", "status": "Odd"}));
                        }
                    }
                }
                Step::Removed(at) if !list.is_empty() => {
                    let at = at % list.len();
                    list.remove(at);
                }
                Step::Removed(_) => {}
            }
            let generation = Generation(u64::try_from(number).unwrap());
            scene.since =
                RenderedSince::after(Some(&scene.since), verdict.generation, parts_of_route(&verdict), generation);
            let (foreign, before) = (entries(scene.status(), false), entries(scene.status(), true));
            let extra = |all: &[Value]| -> Vec<Value> {
                let extra = all.iter().flat_map(|entry| entry["conditions"].as_array().unwrap());
                extra.filter(|one| one["type"] == "example.com/Extra").cloned().collect()
            };
            let change = scene.route(&verdict);
            scene.write(&change);

            prop_assert_eq!(scene.route(&verdict).fields.len(), 0, "it is written twice");
            prop_assert_eq!(entries(scene.status(), false), foreign);
            let ours = entries(scene.status(), true);
            prop_assert_eq!(ours.len(), verdict.parents.len());
            for parent in &verdict.parents {
                let Some(entry) = ours.iter().find(|one| one["parentRef"] == parent.reference.value()) else {
                    return Err(TestCaseError::fail(format!("no entry for {}", parent.reference.value())));
                };
                let accepted = Scene::condition(&entry["conditions"], "Accepted");
                let takes = parent.conditions[0].holds;
                prop_assert_eq!(&accepted["status"], if takes { "True" } else { "False" });
                let old = before.iter().find(|one| one["parentRef"] == parent.reference.value());
                for one in entry["conditions"].as_array().unwrap() {
                    if one["type"] == "example.com/Extra" {
                        continue;
                    }
                    prop_assert_eq!(&one["observedGeneration"], &json!(verdict.generation));
                    let was = old.map(|old| Scene::condition(&old["conditions"], one["type"].as_str().unwrap()));
                    if let Some(was) = was.filter(|was| was["status"] == one["status"]) {
                        prop_assert_eq!(&was["lastTransitionTime"], &one["lastTransitionTime"]);
                    }
                }
                let programmed = Scene::condition(&entry["conditions"], super::references::PROGRAMMED);
                prop_assert_eq!(!programmed.is_null(), takes, "what is accepted says whether it runs");
            }
            let kept = before.iter().filter(|old| ours.iter().any(|one| one["parentRef"] == old["parentRef"]));
            let kept: Vec<Value> = kept.cloned().collect();
            prop_assert_eq!(extra(&ours), extra(&kept));
        }
    }

    #[test]
    fn nothing_is_programmed_before_every_ready_pod_runs_it(
        since in 1_u64..9, pods in proptest::collection::vec(0_u64..12, 0..4),
    ) {
        let verdict = gateway(1, vec![listener("http", true, 0)]);
        let parts: Vec<Arc<str>> = parts_of_listeners(&verdict.listeners).collect();
        let mut scene = Scene::new(json!({})).run(&pods);
        scene.since = RenderedSince::after(None, 1, parts, Generation(since));
        scene.write(&scene.gateway(&verdict, &GatewayAddresses::Unmanaged));
        let programmed = &Scene::condition(&scene.status()["conditions"], "Programmed")["status"];
        let runs = !pods.is_empty() && pods.iter().all(|pod| *pod >= since);
        prop_assert_eq!(programmed, if runs { "True" } else { "False" });
    }
}
