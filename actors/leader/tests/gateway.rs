//! Statuses of the Gateway API and Services of Gateways, as the actor writes them to an API server that refuses what is out of date.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod gateway_server;
mod validated;

use actix::Arbiter;
use gateway_server::{Server, gateway, route};
use haptic_leader::{GatewayReporting, GatewayStatusActor, GatewayStatusOptions, reporting::Report};
use haptic_model::{
    ActiveConfig, Diagnostic, Generation, HaproxyPod, Instead, ObjectRef, Quarantine, Quarantined, ReadyPod,
    Snapshots,
    gateway::{
        CONTROLLER, ClassVerdict, GatewayPort, GatewayVerdict, GatewayVerdicts, ListenerVerdict,
        ParentVerdict, RouteKind, RouteVerdict, StatusCondition,
    },
    pipeline::{Candidate, Leadership, PodState, Rendered, Validated},
};
use haptic_runtime::{ActorHandle, Health, Publisher, Spec, Supervision, Topic, topic};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::{Instant, pause, sleep, timeout};

/// A status waits less long than this for the pods that are to run it.
const LONGEST_WAIT: Duration = Duration::from_secs(4);

/// A replica that leads, and all that it hears.
struct Replica {
    server: Server,
    _actor: ActorHandle<GatewayStatusActor>,
    config: Arc<ActiveConfig>,
    snapshots: Publisher<Snapshots>,
    proposed: Publisher<Option<Arc<Candidate>>>,
    validated: Publisher<Option<Arc<Validated>>>,
    pods: Publisher<BTreeMap<HaproxyPod, PodState>>,
    quarantine: Publisher<Quarantine>,
    _ready: Publisher<Vec<ReadyPod>>,
    leadership: Publisher<Leadership>,
    reporting: Topic<GatewayReporting>,
}

fn config(gateway: &Value) -> Arc<ActiveConfig> {
    let watched = |version: &str, plural: &str| json!({"apiVersion": version, "resources": plural});
    let spec = json!({
        "credentialsSecretRef": {"name": "c"},
        "podSelector": {"matchLabels": {"a": "b"}},
        "controller": {"gateway": gateway},
        "watchedResources": {
            "gatewayclasses": watched("gateway.networking.k8s.io/v1", "gatewayclasses"),
            "gateways": watched("gateway.networking.k8s.io/v1", "gateways"),
            "httproutes": watched("gateway.networking.k8s.io/v1", "httproutes"),
            "services": watched("v1", "services"),
            "endpoints": watched("discovery.k8s.io/v1", "endpointslices"),
        },
    });
    Arc::new(ActiveConfig::of("edge", "n", serde_json::from_value(spec).unwrap()))
}

fn pod(name: &str) -> HaproxyPod {
    HaproxyPod::at("n", name, ([10, 0, 0, 1], 5555))
}

impl Replica {
    fn start(server: &Server, gateway: &Value, ready: &[&str]) -> Self {
        let config = config(gateway);
        let (_, active) = topic(Some(config.clone()));
        let (snapshots, stores) = topic(server.stores());
        let (proposed, candidates) = topic(None);
        let (validated, bundles) = topic(None);
        let (pods, states) = topic(BTreeMap::new());
        let (quarantine, held) = topic(Quarantine::default());
        let ready = ready.iter().map(|name| ReadyPod {
            pod: pod(name),
            node: Some("node-1".into()),
            terminating: false,
        });
        let (ready, readiness) = topic(ready.collect::<Vec<_>>());
        let (leadership, leading) = topic(Leadership { leads: true, ..Leadership::default() });
        let (failures, reporting) = topic(GatewayReporting::default());
        let options = GatewayStatusOptions {
            client: server.client(),
            leadership: leading.clone(),
            reporting: Arc::new(failures),
        };
        let actor = Spec::named("gateway-status")
            .subscribes(&active)
            .subscribes(&stores)
            .subscribes(&candidates)
            .subscribes(&bundles)
            .subscribes(&readiness)
            .subscribes(&states)
            .subscribes(&held)
            .subscribes(&leading)
            .start(&Arbiter::current(), &Supervision::new(Health::new()), move |own| {
                GatewayStatusActor::new(own, options.clone())
            });
        Self {
            server: server.clone(),
            _actor: actor,
            config,
            snapshots,
            proposed,
            validated,
            pods,
            quarantine,
            _ready: ready,
            leadership,
            reporting,
        }
    }

    /// Generation `generation` passed all checks.
    fn validates(&self, generation: u64, verdicts: GatewayVerdicts) {
        let rendered = self.rendered(generation, verdicts);
        let other = validated::validated(generation);
        self.validated.publish(Some(Arc::new(Validated { rendered, ..other })));
    }

    /// It passed all but HAProxy's own checker.
    fn proposes(&self, generation: u64, verdicts: GatewayVerdicts) {
        let rendered = self.rendered(generation, verdicts);
        self.proposed.publish(Some(Arc::new(Candidate { rendered })));
    }

    fn rendered(&self, generation: u64, verdicts: GatewayVerdicts) -> Arc<Rendered> {
        let other = validated::validated(generation);
        Arc::new(Rendered {
            gateway_verdicts: Arc::new(verdicts),
            config: self.config.clone(),
            ..(*other.rendered).clone()
        })
    }

    /// The pods run these generations.
    fn run(&self, pods: &[(&str, u64)]) {
        let state =
            |generation: u64| PodState { deployed: Some(Generation(generation)), ..PodState::default() };
        let states: BTreeMap<_, _> =
            pods.iter().map(|(name, generation)| (pod(name), state(*generation))).collect();
        self.pods.publish(states);
    }

    /// The watches deliver what the API server has, again and again, until it is as `is_so` says.
    async fn until(&self, what: &str, is_so: impl Fn(&Server) -> bool) {
        let began = Instant::now();
        while !is_so(&self.server) {
            assert!(began.elapsed() < Duration::from_secs(120), "never: {what}\n{}", self.server.shown());
            self.deliver().await;
        }
    }

    async fn deliver(&self) {
        self.snapshots.publish(self.server.stores());
        sleep(Duration::from_millis(20)).await;
    }

    /// Nothing happens any more.
    async fn settles(&self) {
        let began = Instant::now();
        self.deliver().await;
        while timeout(LONGEST_WAIT, self.server.changed()).await.is_ok() {
            assert!(began.elapsed() < Duration::from_secs(120), "never at rest\n{}", self.server.shown());
            self.deliver().await;
        }
    }
}

fn condition(kind: &'static str) -> StatusCondition {
    StatusCondition { kind, holds: true, reason: kind, message: "".into() }
}

fn class(is_served: bool) -> ClassVerdict {
    let accepted = StatusCondition { holds: is_served, ..condition("Accepted") };
    ClassVerdict { generation: 1, conditions: vec![accepted], features: Vec::new(), is_served }
}

fn gateway_verdict() -> GatewayVerdict {
    GatewayVerdict {
        generation: 1,
        uid: "uid-of-web".into(),
        conditions: vec![condition("Accepted")],
        listeners: vec![ListenerVerdict {
            name: "http".into(),
            port: 80,
            conditions: vec![condition("Accepted"), condition("ResolvedRefs")],
            supported_kinds: vec![("gateway.networking.k8s.io", "HTTPRoute")],
            attached_routes: 1,
            is_served: true,
        }],
        ports: vec![GatewayPort { port: 80, target: 20_000 }],
        ..GatewayVerdict::default()
    }
}

fn route_verdict() -> RouteVerdict {
    let reference = json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "web"});
    let conditions = vec![condition("Accepted"), condition("ResolvedRefs")];
    let parent = ParentVerdict { reference: (&reference).into(), conditions, is_served: true };
    RouteVerdict { generation: 1, parents: vec![parent], has_others: false }
}

fn verdicts(gateways: &[&str], routes: &[String]) -> GatewayVerdicts {
    let name = |name: &str| (Arc::from("shop"), Arc::from(name));
    GatewayVerdicts {
        gateways: gateways.iter().map(|one| (name(one), Arc::new(gateway_verdict()))).collect(),
        routes: routes.iter().map(|one| ((RouteKind::Http, name(one)), Arc::new(route_verdict()))).collect(),
        ..GatewayVerdicts::default()
    }
}

fn status_of<'a>(conditions: &'a Value, kind: &str) -> &'a str {
    let all = conditions.as_array().into_iter().flatten();
    all.filter(|one| one["type"] == kind).find_map(|one| one["status"].as_str()).unwrap_or_default()
}

fn ours(server: &Server, route: &str) -> Value {
    let parents = server.object(&format!("httproutes/{route}"))["status"]["parents"].clone();
    let parents = parents.as_array().cloned().unwrap_or_default();
    parents.into_iter().find(|entry| entry["controllerName"] == CONTROLLER).unwrap_or_default()
}

const PROGRAMMED: &str = "haproxy-haptic.org/Programmed";

#[actix::test]
async fn one_write_says_all_once_every_ready_pod_runs_it() {
    pause();
    let server = Server::with([gateway("web"), route("a")]);
    let replica = Replica::start(&server, &json!({"serviceMode": "none"}), &["one", "two"]);
    replica.validates(3, verdicts(&["web"], &["a".into()]));
    replica.run(&[("one", 3), ("two", 2)]);
    sleep(Duration::from_millis(500)).await;
    assert_eq!(server.writes(), 0, "it is about to run");
    replica.run(&[("one", 3), ("two", 3)]);
    replica
        .until("both are programmed", |server| {
            status_of(&server.object("gateways/web")["status"]["conditions"], "Programmed") == "True"
                && status_of(&ours(server, "a")["conditions"], PROGRAMMED) == "True"
        })
        .await;
    replica.settles().await;
    assert_eq!(server.writes(), 2);
}

#[actix::test]
async fn what_every_pod_runs_is_told_before_it_is_checked_and_an_older_verdict_changes_nothing() {
    pause();
    let server = Server::with([route("a")]);
    let replica = Replica::start(&server, &json!({"serviceMode": "none"}), &["one"]);
    replica.proposes(2, verdicts(&[], &["a".into()]));
    replica.run(&[("one", 2)]);
    replica
        .until("it is programmed", |server| status_of(&ours(server, "a")["conditions"], PROGRAMMED) == "True")
        .await;
    replica.validates(1, verdicts(&[], &[]));
    replica.settles().await;
    replica.validates(2, verdicts(&[], &["a".into()]));
    replica.settles().await;
    assert_eq!(server.writes(), 1, "{}", server.shown());
}

#[actix::test]
async fn what_waits_for_a_pod_says_so_and_is_written_again_when_it_runs() {
    pause();
    let server = Server::with([route("a")]);
    let replica = Replica::start(&server, &json!({"serviceMode": "none"}), &["one", "two"]);
    replica.validates(3, verdicts(&[], &["a".into()]));
    replica.run(&[("one", 3)]);
    replica.until("the route is accepted", |server| !ours(server, "a").is_null()).await;
    let conditions = ours(&server, "a")["conditions"].clone();
    assert_eq!((status_of(&conditions, "Accepted"), status_of(&conditions, PROGRAMMED)), ("True", "False"));
    assert!(conditions.to_string().contains("1 of 2 ready pods run generation 3"), "{conditions}");
    replica.settles().await;
    assert_eq!(server.writes(), 1);
    replica.run(&[("one", 3), ("two", 4)]);
    replica
        .until("it is programmed", |server| status_of(&ours(server, "a")["conditions"], PROGRAMMED) == "True")
        .await;
    // A pod that falls behind later takes nothing back.
    replica.run(&[("one", 3), ("two", 1)]);
    replica.settles().await;
    assert_eq!(server.writes(), 2);
}

#[actix::test]
async fn an_entry_that_another_controller_writes_meanwhile_is_kept() {
    pause();
    let server = Server::with([route("a")]);
    let replica = Replica::start(&server, &json!({"serviceMode": "none"}), &["one"]);
    let foreign =
        json!({"controllerName": "example.com/other", "parentRef": {"name": "x"}, "conditions": null});
    // The store does not have it yet.
    server.edit("httproutes/a", |object| object["status"] = json!({"parents": [foreign]}));
    server.edit_before_next_write("httproutes/a", |object| {
        object["status"]["parents"][0]["odd"] = json!({"kept": true});
    });
    replica.run(&[("one", 1)]);
    replica.validates(1, verdicts(&[], &["a".into()]));
    replica.until("the route is accepted", |server| !ours(server, "a").is_null()).await;
    let parents = server.object("httproutes/a")["status"]["parents"].clone();
    assert_eq!(parents[0]["odd"], json!({"kept": true}));
    assert_eq!(parents[0]["parentRef"], foreign["parentRef"]);
    // A route that is not ours any more loses our entry and no other.
    replica.validates(2, verdicts(&[], &[]));
    replica.until("our entry is gone", |server| ours(server, "a").is_null()).await;
    assert_eq!(server.object("httproutes/a")["status"]["parents"].as_array().unwrap().len(), 1);
}

#[actix::test]
async fn who_leads_before_anything_was_judged_withdraws_nothing() {
    pause();
    let server = Server::with([route("a"), route("strange")]);
    for name in ["httproutes/a", "httproutes/strange"] {
        let entry = json!({"controllerName": CONTROLLER, "parentRef": {"name": "web"}, "conditions": []});
        server.edit(name, |object| object["status"] = json!({"parents": [entry]}));
    }
    let replica = Replica::start(&server, &json!({"serviceMode": "none"}), &["one"]);
    replica.settles().await;
    assert_eq!(server.writes(), 0, "nothing is known of any route");
    replica.run(&[("one", 1)]);
    replica.validates(1, verdicts(&[], &["a".into()]));
    replica.until("a route of nobody's is withdrawn", |server| ours(server, "strange").is_null()).await;
    assert!(!ours(&server, "a").is_null());
}

/// A Gateway whose status is as a leader of ours wrote it.
fn programmed(name: &str, message: &str) -> Value {
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": kind, "message": message, "observedGeneration": 1});
    let mut gateway = gateway(name);
    gateway["spec"] = json!({"gatewayClassName": "other"});
    gateway["status"] = json!({"conditions": [condition("Accepted"), condition("Programmed"), condition("ResolvedRefs"), condition("example.com/Odd")],
        "listeners": [{"name": "http"}], "addresses": [{"type": "IPAddress", "value": "192.0.2.7"}], "attachedListenerSets": 1});
    gateway
}

fn reasons(server: &Server, gateway: &str) -> BTreeMap<String, String> {
    let conditions = server.object(&format!("gateways/{gateway}"))["status"]["conditions"].clone();
    let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
    let all = conditions.as_array().cloned().unwrap_or_default();
    all.iter().map(|one| (text(one, "type"), text(one, "reason"))).collect()
}

const OURS_RUNS: &str = "every ready HAProxy pod runs it";

#[actix::test]
async fn a_gateway_that_is_nobodys_any_more_waits_for_a_controller() {
    pause();
    let mut newer = programmed("newer", OURS_RUNS);
    newer["metadata"]["generation"] = json!(2);
    newer["status"]["conditions"][0]["observedGeneration"] = json!(2);
    let server = Server::with([
        programmed("stale", OURS_RUNS),
        programmed("theirs", "it is programmed"),
        newer,
        programmed("to-come", OURS_RUNS),
    ]);
    server.edit("gateways/to-come", |gateway| gateway["spec"]["gatewayClassName"] = json!("ours"));
    let replica = Replica::start(&server, &json!({"serviceMode": "shared"}), &["one"]);
    replica.settles().await;
    assert_eq!(server.writes(), 0, "nothing is known of any Gateway");
    let class = class(true);
    let classes = [(Arc::from("ours"), Arc::new(class))].into();
    replica.validates(1, GatewayVerdicts { classes, ..verdicts(&[], &[]) });
    replica.run(&[("one", 1)]);
    replica.until("the Gateway waits", |server| reasons(server, "stale")["Accepted"] == "Pending").await;
    replica.settles().await;
    assert_eq!(server.writes(), 1, "{}", server.shown());
    let status = server.object("gateways/stale")["status"].clone();
    let said = reasons(&server, "stale");
    assert_eq!(said.keys().collect::<Vec<_>>(), ["Accepted", "Programmed", "example.com/Odd"]);
    assert_eq!(
        (status_of(&status["conditions"], "Programmed"), said["Programmed"].as_str()),
        ("Unknown", "Pending")
    );
    for field in ["listeners", "addresses", "attachedListenerSets"] {
        assert!(status[field].is_null(), "{status}");
    }
}

#[actix::test]
async fn a_gateway_whose_class_is_refused_says_so_and_waits_when_the_class_is_gone() {
    pause();
    let mut new = gateway("new");
    new["spec"] = json!({"gatewayClassName": "team"});
    let server = Server::with([programmed("web", OURS_RUNS), new]);
    server.edit("gateways/web", |gateway| gateway["spec"]["gatewayClassName"] = json!("team"));
    let replica = Replica::start(&server, &json!({"serviceMode": "shared"}), &["one"]);
    let with_class = |is_served: bool, gateways: &[&str]| GatewayVerdicts {
        classes: [(Arc::from("team"), Arc::new(class(is_served)))].into(),
        ..verdicts(gateways, &[])
    };
    let says = |server: &Server, name: &str, expected: (&str, &str, &str)| {
        let conditions = server.object(&format!("gateways/{name}"))["status"]["conditions"].clone();
        let said = reasons(server, name);
        let reason = |kind: &str| said.get(kind).map(String::as_str).unwrap_or_default();
        (status_of(&conditions, "Programmed"), reason("Accepted"), reason("Programmed")) == expected
    };
    let refused = ("False", "InvalidParameters", "Invalid");
    // By a controller that never served it, as after a restart.
    replica.validates(1, with_class(false, &[]));
    replica.run(&[("one", 1)]);
    for name in ["web", "new"] {
        replica.until("it is refused", |server| says(server, name, refused)).await;
    }
    let nothing_is_served = |server: &Server| {
        let status = server.object("gateways/web")["status"].clone();
        ["listeners", "addresses", "attachedListenerSets"].iter().all(|field| status[field].is_null())
            && status.to_string().contains("example.com/Odd")
    };
    assert!(nothing_is_served(&server), "{}", server.shown());
    replica.settles().await;
    assert_eq!(server.writes(), 2, "each is written once: {}", server.shown());
    replica.validates(2, with_class(true, &["web"]));
    replica
        .until("it is accepted", |server| says(server, "web", ("False", "Accepted", "AddressNotAssigned")))
        .await;
    replica.validates(3, with_class(false, &[]));
    replica.until("it is refused", |server| says(server, "web", refused)).await;
    assert!(nothing_is_served(&server), "{}", server.shown());
    replica.validates(4, verdicts(&[], &[]));
    for name in ["web", "new"] {
        replica
            .until("it waits for a controller", |server| {
                says(server, name, ("Unknown", "Pending", "Pending"))
            })
            .await;
    }
}

#[actix::test]
async fn a_gateway_that_goes_to_another_controller_waits_for_it_though_no_pod_ran_it() {
    pause();
    let server = Server::with([gateway("web")]);
    let replica = Replica::start(&server, &json!({"serviceMode": "none"}), &["one"]);
    replica.validates(3, verdicts(&["web"], &[]));
    replica.run(&[("one", 2)]);
    replica.until("it is accepted", |server| reasons(server, "web").contains_key("Accepted")).await;
    replica.validates(4, verdicts(&[], &[]));
    replica
        .until("it waits for a controller", |server| reasons(server, "web")["Accepted"] == "Pending")
        .await;
    // What the other controller says stays, whatever it says.
    let theirs = json!([{"type": "Accepted", "status": "True", "reason": "Theirs", "message": "", "observedGeneration": 1}]);
    server.edit("gateways/web", |gateway| gateway["status"]["conditions"] = theirs);
    let writes = server.writes();
    replica.settles().await;
    assert_eq!((server.writes(), reasons(&server, "web")["Accepted"].as_str()), (writes, "Theirs"));
}

fn held(route: &str, instead: Instead) -> Quarantine {
    let object = Arc::new(ObjectRef::new("httproutes", "shop", route));
    let why = Diagnostic::error("haproxy", "unknown keyword");
    let (since, at) = (Generation(1), std::time::Instant::now());
    let one = Quarantined { object: object.clone(), why, instead, suspected: false, since, at };
    Quarantine { held: [(object, Arc::new(one))].into() }
}

#[actix::test]
async fn a_route_that_is_held_back_says_so_and_is_not_withdrawn_while_it_is_tried_again() {
    pause();
    let mut held_back = route("a");
    held_back["spec"] = json!({"parentRefs": [{"name": "web"}]});
    let server = Server::with([gateway("web"), held_back]);
    let replica = Replica::start(&server, &json!({"serviceMode": "none"}), &["one"]);
    let said = |kind: &str| status_of(&ours(&server, "a")["conditions"], kind).to_owned();
    replica.validates(1, verdicts(&["web"], &["a".into()]));
    replica.run(&[("one", 1)]);
    replica.until("it is programmed", |_| said(PROGRAMMED) == "True").await;
    server.edit("httproutes/a", |object| object["metadata"]["generation"] = json!(2));
    replica.quarantine.publish(held("a", Instead::Former));
    replica.until("it falls back", |_| said("PartiallyInvalid") == "True").await;
    assert_eq!((said("Accepted").as_str(), said(PROGRAMMED).as_str()), ("True", "False"));
    let conditions = ours(&server, "a")["conditions"].clone();
    for one in conditions.as_array().unwrap() {
        let of = if one["type"] == "Accepted" { 1 } else { 2 };
        assert_eq!(one["observedGeneration"], of, "what is accepted is what is served: {conditions}");
    }

    replica.quarantine.publish(held("a", Instead::Nothing));
    replica.validates(2, verdicts(&["web"], &[]));
    replica.until("it is not accepted", |_| said("Accepted") == "False").await;
    replica.settles().await;
    let writes = server.writes();
    replica.quarantine.publish(Quarantine::default());
    replica.settles().await;
    assert_eq!(server.writes(), writes, "whoever withdraws it has it judged anew, and again");
    let mut good = verdicts(&["web"], &["a".into()]);
    let newer = |route| (route, Arc::new(RouteVerdict { generation: 2, ..route_verdict() }));
    good.routes = good.routes.keys().cloned().map(newer).collect();
    replica.validates(3, good);
    replica.run(&[("one", 3)]);
    replica.until("it is programmed again", |_| said(PROGRAMMED) == "True").await;
    assert_eq!((said("Accepted").as_str(), said("PartiallyInvalid").as_str()), ("True", ""));
}

#[actix::test]
async fn ten_thousand_routes_are_ten_thousand_writes_and_the_next_leader_writes_none() {
    pause();
    let names: Vec<String> = (0..10_000).map(|number| format!("r{number:05}")).collect();
    let server = Server::with(names.iter().map(|name| route(name)));
    let first = Replica::start(&server, &json!({"serviceMode": "none"}), &["one"]);
    first.validates(1, verdicts(&[], &names));
    first.run(&[("one", 1)]);
    let is_last = |server: &Server| status_of(&ours(server, "r09999")["conditions"], PROGRAMMED) == "True";
    let began = Instant::now();
    while !is_last(&server) {
        assert!(began.elapsed() < Duration::from_secs(600), "{} writes", server.writes());
        sleep(Duration::from_millis(100)).await;
    }
    first.settles().await;
    assert_eq!((server.writes(), server.reads()), (10_000, 0));
    assert!(server.at_once() <= 4, "{} at once", server.at_once());
    drop(first);
    let second = Replica::start(&server, &json!({"serviceMode": "none"}), &["one"]);
    second.validates(1, verdicts(&[], &names));
    second.settles().await;
    second.run(&[("one", 1)]);
    second.settles().await;
    assert_eq!(server.writes(), 10_000);
}

#[actix::test]
async fn a_leader_that_ends_amid_its_writes_leaves_the_rest_to_the_next() {
    pause();
    let names: Vec<String> = (0..10_000).map(|number| format!("r{number:05}")).collect();
    let server = Server::with(names.iter().map(|name| route(name)));
    let first = Replica::start(&server, &json!({"serviceMode": "none"}), &["one"]);
    first.validates(1, verdicts(&[], &names));
    first.run(&[("one", 1)]);
    let began = Instant::now();
    while server.writes() < 5_000 {
        assert!(began.elapsed() < Duration::from_secs(600), "{} writes", server.writes());
        sleep(Duration::from_millis(10)).await;
    }
    first.leadership.publish(Leadership::default());
    // What was under way when it ended is answered.
    sleep(Duration::from_secs(1)).await;
    let before = server.writes();
    assert!((5_000..10_000).contains(&before), "{before} writes by the first");
    let second = Replica::start(&server, &json!({"serviceMode": "none"}), &["one"]);
    second.validates(1, verdicts(&[], &names));
    second.run(&[("one", 1)]);
    let is_done = |name: &String| status_of(&ours(&server, name)["conditions"], PROGRAMMED) == "True";
    while !names.iter().rev().all(is_done) {
        assert!(began.elapsed() < Duration::from_secs(600), "{} writes", server.writes());
        sleep(Duration::from_millis(100)).await;
    }
    second.settles().await;
    assert_eq!(server.writes(), 10_000);
}

#[actix::test]
async fn a_missing_right_is_named_and_other_kinds_go_on() {
    pause();
    let names: Vec<String> = (0..50).map(|number| format!("r{number}")).collect();
    let server = Server::with(names.iter().map(|name| route(name)).chain([gateway("web")]));
    server.forbid("httproutes");
    let replica = Replica::start(&server, &json!({"serviceMode": "none"}), &["one"]);
    replica.run(&[("one", 1)]);
    replica.validates(1, verdicts(&["web"], &names));
    replica
        .until("the Gateway has its status", |server| {
            status_of(&server.object("gateways/web")["status"]["conditions"], "Programmed") == "True"
        })
        .await;
    replica.until("it is told", |_| !replica.reporting.latest().failures.is_empty()).await;
    let why = replica.reporting.latest().failures[&Report::GatewayStatuses].clone();
    assert!(why.ends_with("Allow patch on httproutes/status (gateway.networking.k8s.io)"), "{why}");
    assert!(server.refusals() < 10, "{} refusals: one tells of all", server.refusals());
    server.allow();
    replica.until("they are written", |server| names.iter().all(|name| !ours(server, name).is_null())).await;
    replica.until("it is over", |_| replica.reporting.latest().failures.is_empty()).await;
}

#[actix::test]
async fn a_gateway_has_a_service_that_is_set_right_and_goes_with_it() {
    pause();
    let server = Server::with([gateway("web")]);
    let replica = Replica::start(&server, &json!({"serviceType": "ClusterIP"}), &["one"]);
    replica.run(&[("one", 1)]);
    replica.validates(1, verdicts(&["web"], &[]));
    replica
        .until("the Gateway is programmed", |server| {
            status_of(&server.object("gateways/web")["status"]["conditions"], "Programmed") == "True"
        })
        .await;
    let service = server.only("services");
    assert_eq!(service["spec"]["ports"][0]["targetPort"], 20_000);
    assert_eq!(service["metadata"]["ownerReferences"][0]["uid"], "uid-of-web");
    assert_eq!(server.only("endpointslices")["endpoints"][0]["addresses"], json!(["10.0.0.1"]));
    let addresses = server.object("gateways/web")["status"]["addresses"].clone();
    assert_eq!(addresses, json!([{"type": "IPAddress", "value": "10.96.0.1"}]));
    replica.settles().await;
    assert_eq!(server.writes(), 3, "Service, slice, status");

    let name = format!("services/{}", service["metadata"]["name"].as_str().unwrap());
    server.edit(&name, |service| service["spec"]["selector"] = json!({"app": "mine"}));
    replica
        .until("the selector is gone", |server| server.object(&name)["spec"].get("selector").is_none())
        .await;
    server.remove("gateways/web");
    replica.validates(2, verdicts(&[], &[]));
    replica.until("the Service is gone", |server| server.object(&name).is_null()).await;
}

/// Where the only Service and the only EndpointSlice lead.
fn led_to(server: &Server) -> (Value, Value) {
    let service = server.only("services")["spec"]["ports"][0]["targetPort"].clone();
    (service, server.only("endpointslices")["ports"][0]["port"].clone())
}

fn at(port: u16, target: u16) -> GatewayVerdicts {
    let verdict = GatewayVerdict { ports: vec![GatewayPort { port, target }], ..gateway_verdict() };
    let name = (Arc::from("shop"), Arc::from("web"));
    GatewayVerdicts { gateways: [(name, Arc::new(verdict))].into(), ..GatewayVerdicts::default() }
}

#[actix::test]
async fn a_service_leads_to_another_port_once_every_ready_pod_has_it_as_this_gateways() {
    pause();
    let server = Server::with([gateway("web")]);
    let replica = Replica::start(&server, &json!({"serviceType": "ClusterIP"}), &["one", "two"]);
    replica.validates(1, at(80, 20_003));
    replica.until("there is a Service", |server| !server.only("services").is_null()).await;
    replica.settles().await;
    assert!(server.only("endpointslices").is_null(), "no pod has its port yet: {}", server.shown());
    replica.run(&[("one", 1), ("two", 1)]);
    replica.until("it is led to", |server| led_to(server) == (json!(20_003), json!(20_003))).await;

    replica.validates(2, at(80, 20_000));
    replica.run(&[("one", 2), ("two", 1)]);
    replica.settles().await;
    assert_eq!(led_to(&server), (json!(20_003), json!(20_003)), "pod two has another's there");
    // Nor is it where a user edits the Service, or another leader finds it so.
    let name = format!("services/{}", server.only("services")["metadata"]["name"].as_str().unwrap());
    server.edit(&name, |service| service["spec"]["selector"] = json!({"app": "mine"}));
    replica
        .until("the selector is gone", |server| server.object(&name)["spec"].get("selector").is_none())
        .await;
    assert_eq!(led_to(&server), (json!(20_003), json!(20_003)));
    drop(replica);
    let replica = Replica::start(&server, &json!({"serviceType": "ClusterIP"}), &["one", "two"]);
    replica.validates(7, at(80, 20_000));
    replica.settles().await;
    assert_eq!(led_to(&server), (json!(20_003), json!(20_003)));
    replica.run(&[("one", 7), ("two", 8)]);
    replica.until("it leads there", |server| led_to(server) == (json!(20_000), json!(20_000))).await;
}

#[actix::test]
async fn where_no_pod_is_ready_a_service_follows_at_once() {
    pause();
    let server = Server::with([gateway("web")]);
    let replica = Replica::start(&server, &json!({"serviceType": "ClusterIP"}), &[]);
    replica.validates(1, at(80, 20_003));
    replica.until("there is a Service", |server| led_to(server).0 == 20_003).await;
    replica.validates(2, at(80, 20_000));
    replica.until("it leads elsewhere", |server| led_to(server).0 == 20_000).await;
}

#[actix::test]
async fn the_service_of_a_gateway_that_changes_to_another_controllers_class_goes() {
    pause();
    let mut web = gateway("web");
    web["spec"]["gatewayClassName"] = json!("haptic");
    let theirs = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "other"},
        "spec": {"controllerName": "example.com/other"}});
    let server = Server::with([web, theirs]);
    let replica = Replica::start(&server, &json!({"serviceType": "ClusterIP"}), &["one"]);
    let class = class(true);
    let with_class = |gateways: &[&str]| GatewayVerdicts {
        classes: [("haptic".into(), Arc::new(class.clone()))].into(),
        ..verdicts(gateways, &[])
    };
    replica.validates(1, with_class(&["web"]));
    replica.run(&[("one", 1)]);
    replica.until("there is a Service", |server| !server.only("services").is_null()).await;
    let name = format!("services/{}", server.only("services")["metadata"]["name"].as_str().unwrap());
    server.edit("gateways/web", |gateway| gateway["spec"]["gatewayClassName"] = json!("other"));
    replica.validates(2, with_class(&[]));
    replica.until("the Service is gone", |server| server.object(&name).is_null()).await;
}

#[actix::test]
async fn a_service_of_somebody_else_is_left_alone_and_the_gateway_says_so() {
    pause();
    let server = Server::with([gateway("web")]);
    let replica = Replica::start(&server, &json!({"serviceType": "ClusterIP"}), &["one"]);
    replica.validates(1, verdicts(&["web"], &[]));
    replica.run(&[("one", 1)]);
    replica.until("there is a Service", |server| !server.only("services").is_null()).await;
    let name = server.only("services")["metadata"]["name"].as_str().unwrap().to_owned();
    drop(replica);

    let theirs = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": "shop", "name": name, "uid": "theirs"}, "spec": {"selector": {"app": "mine"}}});
    let server = Server::with([gateway("web"), theirs.clone()]);
    let replica = Replica::start(&server, &json!({"serviceType": "ClusterIP"}), &["one"]);
    replica.validates(1, verdicts(&["web"], &[]));
    replica.run(&[("one", 1)]);
    replica
        .until("the Gateway says so", |server| {
            let conditions = server.object("gateways/web")["status"]["conditions"].to_string();
            conditions.contains("AddressNotAssigned") && conditions.contains("somebody else's")
        })
        .await;
    assert_eq!(server.only("services")["spec"], theirs["spec"]);
    let why = replica.reporting.latest().failures[&Report::GatewayServices].clone();
    assert!(why.contains("delete it or rename the Gateway"), "{why}");
}
