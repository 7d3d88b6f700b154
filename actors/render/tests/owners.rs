//! What belongs to whom: two namespaces that claim the same host, path, certificate or client verification, in any order,
//! with deletions, re-creations and restores. The table is in docs/concepts.md.

use crate::support::Setup;
use haptic_model::{
    ActiveConfig, ObjectRef, Snapshot, Snapshots,
    host_holds::{STORE, store},
    store::StoreChange,
};
use haptic_routes::{Routes, store_of};
use proptest::{prelude::*, test_runner::Config};
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const HOLD: Duration = Duration::from_secs(600);
const VICTIM: &str = "victim";
const ATTACKER: &str = "attacker";
const HOST: &str = "a.shop.example";

/// The Ingresses of a cluster, and what became of them.
struct World {
    routes: Routes,
    ingresses: Snapshot,
    config: ActiveConfig,
    now: Instant,
    sets: Vec<Value>,
    /// The store with the record of the controller before.
    record: Snapshot,
}

/// What an Ingress asks for.
#[derive(Clone, Debug, Default)]
struct Ask {
    created: u8,
    rules: Vec<(&'static str, &'static str)>,
    default: bool,
    tls: Vec<&'static str>,
    ca: bool,
}

impl Ask {
    /// A path of a host.
    fn route(created: u8, host: &'static str, path: &'static str) -> Self {
        Self { created, rules: vec![(host, path)], ..Self::default() }
    }

    /// With a certificate for these hosts.
    fn tls(self, hosts: &[&'static str]) -> Self {
        Self { tls: hosts.to_vec(), ..self }
    }

    /// And clients must show a certificate.
    fn verified(self) -> Self {
        Self { ca: true, ..self }
    }

    fn object(&self, namespace: &str, name: &str) -> Value {
        let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
        let rule = |(host, path): &(&str, &str)| {
            let http = json!({"paths": [{"path": path, "pathType": "Prefix", "backend": backend}]});
            if host.is_empty() { json!({"http": http}) } else { json!({"host": host, "http": http}) }
        };
        let mut object = json!({
            "metadata": {"namespace": namespace, "name": name, "creationTimestamp": format!("2026-01-{:02}T00:00:00Z", self.created)},
            "spec": {"rules": self.rules.iter().map(rule).collect::<Vec<_>>()},
        });
        if self.default {
            object["spec"]["defaultBackend"] = backend.clone();
        }
        if !self.tls.is_empty() {
            object["spec"]["tls"] = json!([{"hosts": self.tls, "secretName": format!("{name}-tls")}]);
        }
        if self.ca {
            let annotations = json!({"haproxy-haptic.org/client-ca-secret": format!("{name}-ca")});
            object["metadata"]["annotations"] = annotations;
        }
        object
    }
}

impl World {
    fn new() -> Self {
        Self::with_hosts(json!([]))
    }

    fn with_hosts(hosts: Value) -> Self {
        let config = Setup::new("").with("hosts", hosts).config();
        let mut ingresses = Snapshot::full();
        ingresses.set_synced();
        let mut world = Self {
            routes: Routes::default(),
            ingresses,
            config,
            now: Instant::now(),
            sets: vec![],
            record: Snapshot::full(),
        };
        world.look();
        world
    }

    /// Changes what the operator lists.
    fn list(&mut self, hosts: Value) {
        self.config = Setup::new("").with("hosts", hosts).config();
        self.look();
    }

    fn put(&mut self, namespace: &str, name: &str, ask: &Ask) {
        self.write(namespace, name, ask);
        self.look();
    }

    fn write(&mut self, namespace: &str, name: &str, ask: &Ask) {
        self.ingresses.put(ObjectRef::new("ingresses", namespace, name), &ask.object(namespace, name));
    }

    fn delete(&mut self, namespace: &str, name: &str) {
        self.ingresses.remove(&ObjectRef::new("ingresses", namespace, name));
        self.look();
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.look();
    }

    /// A controller that starts and knows nothing.
    fn restart(&mut self) {
        self.routes = Routes::default();
        self.look();
    }

    /// Another controller, which reads what this one wrote down; meanwhile `change` happens.
    fn hand_over(&mut self, change: impl FnOnce(&mut Snapshot)) {
        let record = self.routes.holds().unwrap().record(HOLD, self.now, 1_000_000);
        self.routes = Routes::default();
        // Time passes while none runs, and counts for nothing: no clock is the same in both.
        self.now += 10 * HOLD;
        self.record = store(std::mem::take(&mut self.record), &record);
        change(&mut self.ingresses);
        self.look();
    }

    fn look(&mut self) {
        self.routes.set_time(self.now);
        self.sets = sets(&mut self.routes, &self.config, &self.ingresses, &self.record);
        let fresh = sets(&mut self.routes.emptied(), &self.config, &self.ingresses, &self.record);
        for (set, fresh) in self.sets.iter().zip(&fresh) {
            let text = |set: &Value| set.to_string().chars().take(2_000).collect::<String>();
            assert!(
                set == fresh,
                "a fresh start with the same memory gives\n{}\nnot\n{}",
                text(fresh),
                text(set)
            );
        }
    }

    fn set(&self, namespace: &str, name: &str) -> &Value {
        let is = |set: &&Value| set["metadata"]["namespace"] == namespace && set["metadata"]["name"] == name;
        self.sets.iter().find(is).unwrap()
    }

    /// The namespace whose route answers.
    fn answers(&self, host: &str, path: &str) -> Option<&str> {
        self.routes.index("ingresses").unwrap().answer(host, path).map(|(object, _)| &*object.namespace)
    }

    /// Certificate and CA of a handshake. HAProxy chooses among the lines for the host and for the wildcard over it by kinds of
    /// keys, so where both are there they must be of one namespace and one CA; without any the default certificate is shown.
    fn handshake(&self, host: &str) -> (Option<String>, Option<String>) {
        let wildcard = host.split_once('.').map(|(_, parent)| format!("*.{parent}")).unwrap_or_default();
        let has =
            |line: &Value, list: &str, host: &str| line[list].as_array().unwrap().contains(&json!(host));
        let lines: Vec<&Value> = self.sets.iter().flat_map(|set| set["tls"].as_array().unwrap()).collect();
        let own = lines.iter().filter(|line| has(line, "hosts", host));
        let over = lines.iter().filter(|line| has(line, "hosts", &wildcard) && !has(line, "except", host));
        let all: Vec<_> = own.chain(over).collect();
        assert!(
            all.iter().all(|l| l["namespace"] == all[0]["namespace"] && l["ca"] == all[0]["ca"]),
            "{all:?}"
        );
        let name = |value: &Value| {
            let secret = value["secret"].as_str()?;
            Some(format!("{}/{secret}", value["namespace"].as_str()?))
        };
        all.first().map_or((None, None), |line| (name(line), name(&line["ca"])))
    }

    fn certificate(&self, host: &str) -> Option<String> {
        self.handshake(host).0
    }

    fn told(&self, namespace: &str, name: &str) -> String {
        let rejected = self.set(namespace, name)["rejected"].as_array().unwrap();
        rejected.iter().map(|why| why.as_str().unwrap()).collect::<Vec<_>>().join("\n")
    }
}

fn sets(routes: &mut Routes, config: &ActiveConfig, ingresses: &Snapshot, record: &Snapshot) -> Vec<Value> {
    let stores =
        [(Arc::from("ingresses"), Arc::new(ingresses.clone())), (Arc::from(STORE), Arc::new(record.clone()))];
    let all = routes.beside(config, &Snapshots::new(stores.into()));
    all.get(&store_of("ingresses")).unwrap().iter().map(|object| object.value().unwrap()).collect()
}

/// The victim's Ingress, with a certificate and verification of clients.
fn victim(created: u8) -> Ask {
    Ask::route(created, HOST, "/").tls(&[HOST]).verified()
}

/// The host is the victim's, whatever the attacker asks for.
fn is_the_victims(world: &World) {
    assert_eq!(world.answers(HOST, "/x"), Some(VICTIM));
    assert_eq!(world.handshake(HOST), (Some("victim/own-tls".into()), Some("victim/own-ca".into())));
}

/// All that an attacker can ask for of the host, one by one and together.
fn attacks(created: u8) -> Vec<Ask> {
    let tls_only = Ask { created, ..Ask::default() };
    vec![
        victim(created),
        tls_only.clone().tls(&[HOST]).verified(),
        tls_only.tls(&["*.shop.example"]).verified(),
        Ask::route(created, "*.shop.example", "/").tls(&[HOST, "*.shop.example"]).verified(),
        Ask::route(created, "", "/").tls(&[HOST, "*.shop.example"]).verified(),
        Ask::route(created, HOST, "/other").tls(&[HOST]).verified(),
        Ask {
            rules: vec![(HOST, "/other"), ("*.shop.example", "/"), ("", "/")],
            default: true,
            ..victim(created)
        },
    ]
}

#[test]
fn who_has_the_first_route_has_the_host_whichever_came_into_sight_first() {
    for attack in attacks(2) {
        for attacker_first in [true, false] {
            let mut world = World::new();
            let mut both = [(VICTIM, victim(1)), (ATTACKER, attack.clone())];
            if attacker_first {
                both.reverse();
            }
            for (namespace, ask) in &both {
                world.put(namespace, "own", ask);
            }
            is_the_victims(&world);
            world.restart();
            is_the_victims(&world);
            world.delete(ATTACKER, "own");
            is_the_victims(&world);
        }
    }
}

#[test]
fn who_waits_for_a_re_creation_gets_nothing_and_the_same_namespace_gets_all_back_at_once() {
    for attack in attacks(2) {
        let mut world = World::new();
        world.put(VICTIM, "own", &victim(1));
        world.put(ATTACKER, "own", &attack);
        world.delete(VICTIM, "own");
        world.wait(HOLD - Duration::from_secs(1));
        let granted = world.set(ATTACKER, "own")["routes"].as_array().unwrap().clone();
        assert!(granted.iter().all(|route| route["key"] != format!("{HOST}/")), "{granted:?}");
        let lines = world.set(ATTACKER, "own")["tls"].as_array().unwrap().clone();
        assert!(
            lines.iter().all(|line| !line["hosts"].as_array().unwrap().contains(&json!(HOST))),
            "{lines:?}"
        );
        // Younger than who waits, and for good.
        world.put(VICTIM, "own", &victim(9));
        is_the_victims(&world);
        world.wait(10 * HOLD);
        is_the_victims(&world);
    }
}

#[test]
fn a_holder_that_drops_the_host_or_has_a_younger_object_there_keeps_it_as_long() {
    let mut world = World::new();
    world.put(VICTIM, "own", &victim(1));
    world.put(ATTACKER, "own", &attacks(2)[0]);
    world.put(VICTIM, "own", &Ask::route(1, "b.shop.example", "/"));
    assert_eq!(world.answers(HOST, "/"), None);
    world.put(VICTIM, "own", &victim(9));
    is_the_victims(&world);
    world.put(VICTIM, "second", &Ask::route(10, HOST, "/more"));
    world.delete(VICTIM, "own");
    assert_eq!((world.answers(HOST, "/more"), world.certificate(HOST)), (Some(VICTIM), None));
    world.wait(3 * HOLD);
    assert_eq!(world.certificate(HOST), None);
    // What it asks for no more is free; the rest of the host is not.
    assert_eq!((world.answers(HOST, "/"), world.answers(HOST, "/more")), (Some(ATTACKER), Some(VICTIM)));
}

#[test]
fn when_the_time_is_over_the_next_one_gets_it_and_a_render_is_due_just_then() {
    let mut world = World::new();
    world.put(VICTIM, "own", &victim(1));
    world.put(ATTACKER, "own", &victim(2));
    assert_eq!(world.routes.due(), None);
    world.delete(VICTIM, "own");
    assert_eq!(world.routes.due(), Some(world.now + HOLD));
    assert!(
        world.told(ATTACKER, "own").contains("is kept for namespace victim"),
        "{}",
        world.told(ATTACKER, "own")
    );
    world.wait(HOLD);
    assert_eq!(world.routes.due(), None);
    assert_eq!(
        (world.answers(HOST, "/"), world.certificate(HOST)),
        (Some(ATTACKER), Some("attacker/own-tls".into()))
    );
    world.put(VICTIM, "own", &victim(3));
    assert_eq!(world.answers(HOST, "/"), Some(ATTACKER));
}

#[test]
fn a_restore_in_another_order_gives_everybody_what_they_had() {
    for order in [[VICTIM, ATTACKER], [ATTACKER, VICTIM]] {
        let mut world = World::new();
        world.put(VICTIM, "own", &victim(1));
        world.put(ATTACKER, "own", &victim(2));
        world.delete(VICTIM, "own");
        world.delete(ATTACKER, "own");
        for (number, namespace) in (5..).zip(order) {
            world.wait(Duration::from_secs(60));
            world.put(namespace, "own", &victim(number));
        }
        is_the_victims(&world);
    }
}

#[test]
fn without_a_hold_ages_alone_count() {
    let mut world = World::new();
    world.config = Setup::new("").with("controller", json!({"hostHold": "0s"})).config();
    world.put(VICTIM, "own", &victim(1));
    world.put(ATTACKER, "own", &victim(2));
    world.delete(VICTIM, "own");
    world.put(VICTIM, "own", &victim(3));
    assert_eq!(world.answers(HOST, "/"), Some(ATTACKER));
}

#[test]
fn a_listed_host_belongs_to_its_namespaces_whatever_the_ages() {
    let hosts = json!([{"hosts": ["*.shop.example"], "namespaces": [VICTIM]}]);
    for attack in attacks(1) {
        let mut world = World::with_hosts(hosts.clone());
        world.put(ATTACKER, "own", &attack);
        assert_eq!((world.answers(HOST, "/"), world.certificate(HOST)), (None, None));
        world.put(VICTIM, "own", &victim(2));
        is_the_victims(&world);
        assert_ne!(world.answers(HOST, "/other"), Some(ATTACKER));
        // There is no waiting for what one may not have.
        world.delete(VICTIM, "own");
        world.wait(2 * HOLD);
        assert_eq!(
            (world.answers(HOST, "/"), world.answers(HOST, "/other"), world.certificate(HOST)),
            (None, None, None)
        );
    }
    let mut world = World::new();
    world.put(ATTACKER, "own", &victim(1));
    world.put(VICTIM, "own", &victim(2));
    assert_eq!(world.answers(HOST, "/"), Some(ATTACKER));
    world.list(hosts);
    is_the_victims(&world);
    assert!(world.told(ATTACKER, "own").contains("a.shop.example belongs to namespace victim by spec.hosts"));
}

#[test]
fn a_wildcard_certificate_and_an_authentication_service_of_other_namespaces_work_by_the_list() {
    let certificates = Ask { created: 5, ..Ask::default() }.tls(&["*.shop.example"]);
    let proxy = Ask::route(1, HOST, "/oauth2");
    let app = Ask::route(3, HOST, "/");
    let told = |hosts: Value| {
        let mut world = World::with_hosts(hosts);
        world.put("certs", "wild", &certificates);
        world.put("auth", "proxy", &proxy);
        world.put("shop", "app", &app);
        let answers = (world.answers(HOST, "/oauth2/x"), world.answers(HOST, "/x"));
        assert_eq!(answers, (Some("auth"), Some("shop")));
        world.certificate(HOST)
    };
    let namespaces = ["shop", "auth", "certs"];
    assert_eq!(
        told(json!([{"hosts": ["*.shop.example"], "namespaces": namespaces}])),
        Some("certs/wild-tls".into())
    );
    assert_eq!(told(json!([])), None);
}

#[test]
fn a_wildcard_serves_the_hosts_of_its_own_namespace_and_of_nobody_else() {
    let mut world = World::new();
    world.put("one", "wild", &Ask::route(1, "a.shop.example", "/").tls(&["*.shop.example"]));
    world.put("one", "more", &Ask::route(2, "b.shop.example", "/"));
    world.put("two", "copy", &Ask::route(3, "c.shop.example", "/").tls(&["*.shop.example"]));
    world.put("two", "more", &Ask::route(4, "d.shop.example", "/"));
    world.put("three", "none", &Ask::route(5, "e.shop.example", "/"));
    let of =
        |world: &World| ["a", "b", "c", "d", "e"].map(|h| world.certificate(&format!("{h}.shop.example")));
    let (one, two) = (Some("one/wild-tls".to_owned()), Some("two/copy-tls".to_owned()));
    assert_eq!(of(&world), [one.clone(), one.clone(), two.clone(), two.clone(), None]);
    // The oldest that brings it has the line for all; nobody's hosts are left without when it goes.
    world.delete("one", "wild");
    assert_eq!(of(&world), [None, None, two.clone(), two, None]);
    world.put("one", "more", &Ask::route(2, "b.shop.example", "/").tls(&["*.shop.example"]));
    assert_eq!(world.certificate("b.shop.example"), Some("one/more-tls".into()));
}

#[test]
fn of_two_cas_on_a_host_the_older_one_counts_and_the_other_ingress_is_told() {
    let mut world = World::new();
    world.put(VICTIM, "own", &victim(1));
    world.put(VICTIM, "zweite", &Ask::route(2, HOST, "/more").tls(&[HOST]).verified());
    assert_eq!(world.handshake(HOST).1, Some("victim/own-ca".into()));
    let told = world.told(VICTIM, "zweite");
    assert!(told.contains("are verified with the CA of Secret victim/own-ca"), "{told}");
    assert_eq!(world.told(VICTIM, "own"), "");
    // A path on another namespace's host cannot ask clients of it for anything.
    world.put(ATTACKER, "own", &Ask::route(3, HOST, "/theirs").tls(&[HOST]).verified());
    let told = world.told(ATTACKER, "own");
    for expected in [
        "a.shop.example is held by ingresses victim/own, which is older: its TLS and client verification are not this one's",
        "all requests there that need client-ca-secret are refused",
        "the certificate of a.shop.example in Secret own-tls is not used: a.shop.example is held by ingresses victim/own",
    ] {
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn beside_the_default_certificate_clients_are_verified_for_the_hosts_of_a_namespace_alone() {
    let mut world = World::new();
    world.put(VICTIM, "own", &Ask::route(1, "*.shop.example", "/").verified());
    world.put(ATTACKER, "own", &Ask::route(2, HOST, "/").verified());
    world.put(ATTACKER, "two", &Ask::route(3, "b.shop.example", "/"));
    world.put(VICTIM, "two", &Ask::route(4, "c.shop.example", "/"));
    world.put("third", "own", &Ask::route(5, "", "/").verified());
    let authority = |world: &World, host: &str| world.handshake(host).1;
    assert_eq!(authority(&world, "x.shop.example").as_deref(), Some("victim/own-ca"));
    assert_eq!(authority(&world, HOST).as_deref(), Some("attacker/own-ca"));
    for host in ["b.shop.example", "c.shop.example", "any.example"] {
        assert_eq!(authority(&world, host), None, "{host}");
    }
    let told = world.told("third", "own");
    assert!(told.contains("clients of hosts that no rule names are asked for no certificate"), "{told}");
    world.delete(VICTIM, "own");
    world.wait(HOLD);
    assert_eq!(authority(&world, "x.shop.example"), None);
}

#[test]
fn a_default_backend_steps_back_for_its_own_namespace_only() {
    let mut world = World::new();
    world.put(VICTIM, "own", &Ask { created: 1, default: true, ..Ask::default() });
    world.put(ATTACKER, "own", &Ask::route(2, "", "/"));
    assert_eq!(world.answers("any.example", "/"), Some(VICTIM));
    world.put(VICTIM, "more", &Ask::route(3, "", "/"));
    let (object, _) = world.routes.index("ingresses").unwrap().answer("any.example", "/").unwrap();
    assert_eq!(&*object.name, "more");
}

#[test]
fn what_is_no_host_name_takes_nothing() {
    let mut world = World::new();
    world.put(VICTIM, "own", &victim(2));
    let mut ask = Ask { created: 1, default: true, ..Ask::default() };
    ask.rules =
        vec![("a.shop.example/auth", "/"), ("*", "/"), ("*.*.example", "/"), ("a.shop.example.", "/")];
    world.put(ATTACKER, "own", &ask.tls(&["*", "", "a.shop.example/x"]));
    is_the_victims(&world);
    assert_eq!(world.answers("other.example", "/"), None);
    let set = world.set(ATTACKER, "own");
    assert_eq!((&set["routes"], &set["tls"]), (&json!([]), &json!([])));
    assert!(world.told(ATTACKER, "own").contains("host \"a.shop.example/auth\" is no host name"));
}

#[test]
fn thousands_of_claims_are_few_words_and_short_lines() {
    let mut world = World::new();
    world.put(VICTIM, "own", &Ask::route(1, "*.shop.example", "/"));
    let many: Vec<String> = (0..5_000).map(|n| format!("h{n}.shop.example")).collect();
    let mut object = Ask::route(2, "x.other.example", "/").object(ATTACKER, "own");
    object["spec"]["tls"] = json!([{"hosts": many, "secretName": "own-tls"}]);
    world.ingresses.put(ObjectRef::new("ingresses", ATTACKER, "own"), &object);
    world.look();
    assert!(world.told(ATTACKER, "own").len() < 5_000);
    assert_eq!(world.certificate("h1.shop.example"), None);
    world.delete(VICTIM, "own");
    world.wait(HOLD);
    assert_eq!(world.certificate("h1.shop.example"), Some("attacker/own-tls".into()));
    let lines = world.set(ATTACKER, "own")["tls"].as_array().unwrap();
    assert!(lines.len() < 200 && lines.iter().all(|line| line["hosts"].as_array().unwrap().len() <= 32));
}

/// A wildcard's line has room for a few hundred hosts to leave out. Where there are more, no CA of theirs is trusted, and they
/// crowd out nobody.
#[test]
fn hosts_for_which_a_wildcards_line_has_no_room_trust_no_ca() {
    let mut world = World::new();
    world.put(VICTIM, "own", &Ask::route(1, "*.shop.example", "/").tls(&["*.shop.example"]).verified());
    let many: Vec<String> = (0..1_000).map(|n| format!("h{n}.shop.example")).collect();
    let mut object = Ask::route(2, "x.other.example", "/").verified().object(ATTACKER, "own");
    object["spec"]["tls"] = json!([{"hosts": many, "secretName": "own-tls"}]);
    let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
    let paths = json!([{"path": "/x", "pathType": "Prefix", "backend": backend}]);
    object["spec"]["rules"] =
        many.iter().map(|host| json!({"host": host, "http": {"paths": paths}})).collect();
    world.ingresses.put(ObjectRef::new("ingresses", ATTACKER, "own"), &object);
    world.look();
    world.put("third", "own", &Ask::route(3, "z.shop.example", "/").tls(&["z.shop.example"]).verified());
    let except = world.set(VICTIM, "own")["tls"][0]["except"].as_array().unwrap();
    assert!(except.len() <= 400 && except.contains(&json!("z.shop.example")));
    let mut trusted = 0;
    for line in ["third", ATTACKER].iter().flat_map(|who| world.set(who, "own")["tls"].as_array().unwrap()) {
        for host in line["hosts"].as_array().unwrap() {
            assert_eq!(line["trusted"], except.contains(host), "{host}");
            assert_eq!(line["first"], true);
            trusted += usize::from(line["trusted"] == true);
        }
    }
    assert_eq!(trusted, except.len());
    assert!(world.told(ATTACKER, "own").contains("too many hosts are apart from the wildcard over"));
}

/// The victim's object is gone, in the sight of a controller or while none runs.
fn lost(world: &mut World, is_seen: bool) {
    let reference = ObjectRef::new("ingresses", VICTIM, "own");
    if is_seen {
        world.delete(VICTIM, "own");
        world.hand_over(|_| {});
    } else {
        world.hand_over(|ingresses| assert_eq!(ingresses.remove(&reference), StoreChange::Deleted));
    }
}

#[test]
fn another_controller_keeps_what_the_one_before_kept_and_gives_it_back() {
    for attack in attacks(2) {
        for is_seen in [true, false] {
            let mut world = World::new();
            world.put(VICTIM, "own", &victim(1));
            world.put(ATTACKER, "own", &attack);
            lost(&mut world, is_seen);
            for _ in 0..3 {
                let set = world.set(ATTACKER, "own");
                let routes = set["routes"].as_array().unwrap();
                assert!(routes.iter().all(|route| route["key"] != format!("{HOST}/")), "{routes:?}");
                if attack.rules.iter().any(|(host, _)| *host == HOST) {
                    let lines = set["tls"].as_array().unwrap();
                    let names = |line: &&Value| line["hosts"].as_array().unwrap().contains(&json!(HOST));
                    assert!(!lines.iter().any(|line| names(&line)), "{lines:?}");
                }
                world.hand_over(|_| {});
            }
            world.put(VICTIM, "own", &victim(9));
            is_the_victims(&world);
            world.hand_over(|_| {});
            is_the_victims(&world);
            world.wait(10 * HOLD);
            is_the_victims(&world);
        }
    }
}

#[test]
fn a_hold_goes_on_with_another_controller_for_the_time_that_was_left() {
    let mut world = World::new();
    world.put(VICTIM, "own", &victim(1));
    world.put(ATTACKER, "own", &victim(2));
    world.delete(VICTIM, "own");
    world.wait(Duration::from_secs(200));
    world.hand_over(|_| {});
    assert_eq!(world.routes.due(), Some(world.now + Duration::from_secs(400)));
    world.wait(Duration::from_secs(399));
    assert_eq!((world.answers(HOST, "/"), world.certificate(HOST)), (None, None));
    world.wait(Duration::from_secs(1));
    assert_eq!(world.answers(HOST, "/"), Some(ATTACKER));
    assert_eq!(world.routes.due(), None);
}

#[test]
fn a_namespace_that_is_still_there_keeps_its_age_with_another_controller() {
    let mut world = World::new();
    world.put(VICTIM, "own", &victim(1));
    world.put(ATTACKER, "own", &victim(2));
    world.put(VICTIM, "second", &Ask::route(10, HOST, "/").tls(&[HOST]));
    world.delete(VICTIM, "own");
    for _ in 0..3 {
        world.hand_over(|_| {});
        assert_eq!(world.answers(HOST, "/"), Some(VICTIM));
        assert_eq!(world.certificate(HOST), Some("victim/second-tls".into()));
        world.wait(3 * HOLD);
        assert_eq!(world.answers(HOST, "/"), Some(VICTIM));
    }
}

#[test]
fn a_replica_that_begins_to_lead_takes_over_what_only_the_one_before_knows() {
    let mut before = World::new();
    before.put(VICTIM, "own", &victim(1));
    before.put(ATTACKER, "own", &victim(2));
    before.delete(VICTIM, "own");
    // It started when the victim's object was gone already, so to it the host is the attacker's.
    let mut after = World::new();
    after.put(ATTACKER, "own", &victim(2));
    assert_eq!(after.answers(HOST, "/"), Some(ATTACKER));
    let record = before.routes.holds().unwrap().record(HOLD, before.now, 1_000_000);
    after.record = store(Snapshot::full(), &record);
    after.look();
    assert_eq!((after.answers(HOST, "/"), after.certificate(HOST)), (None, None));
    after.put(VICTIM, "own", &victim(9));
    is_the_victims(&after);
}

#[test]
fn what_nobody_waits_for_is_not_written_down_and_nothing_is_once_it_is_free() {
    let mut world = World::new();
    world.put(VICTIM, "own", &victim(1));
    world.put(ATTACKER, "own", &Ask::route(2, "b.shop.example", "/"));
    assert!(world.routes.holds().unwrap().is_empty());
    world.put(ATTACKER, "own", &victim(2));
    assert!(!world.routes.holds().unwrap().is_empty());
    world.put(ATTACKER, "own", &Ask::route(2, "b.shop.example", "/"));
    assert!(world.routes.holds().unwrap().is_empty());
    world.delete(VICTIM, "own");
    assert!(world.routes.holds().unwrap().is_counting());
    world.wait(HOLD);
    assert!(world.routes.holds().unwrap().is_empty());
}

#[test]
fn a_record_that_is_none_or_names_what_is_not_known_changes_nothing() {
    let unknown = r#"{"holds": [{"resource": "ingresses", "namespace": "attacker", "left": 60, "things": ["[]", "x"]},
        {"resource": "others", "namespace": "attacker", "things": ["{\"host\":\"a.shop.example\"}"]}]}"#;
    for record in ["", "{", "null", unknown] {
        let mut world = World::new();
        world.record = store(Snapshot::full(), record);
        world.look();
        world.put(ATTACKER, "own", &victim(2));
        world.put(VICTIM, "own", &victim(1));
        is_the_victims(&world);
    }
}

const NAMESPACES: [&str; 3] = [VICTIM, ATTACKER, "third"];
const NAMES: [&str; 2] = ["own", "two"];
const HOSTS: [&str; 6] = [HOST, "b.shop.example", "*.shop.example", "", "*.example", "shop.example"];
const PATHS: [&str; 3] = ["/", "/x", "/x/y"];

#[derive(Clone, Debug)]
enum Event {
    Put(usize, usize, Ask),
    Delete(usize, usize),
    Wait(u64),
    Restart,
    HandOver,
    List(bool),
}

fn ask() -> impl Strategy<Value = Ask> {
    let rules =
        prop::collection::vec((prop::sample::select(&HOSTS[..]), prop::sample::select(&PATHS[..])), 0..3);
    let named: Vec<&'static str> = HOSTS.into_iter().filter(|host| !host.is_empty()).collect();
    let tls = prop::collection::vec(prop::sample::select(named), 0..3);
    (1..6_u8, rules, any::<bool>(), tls, any::<bool>()).prop_map(|(created, rules, default, tls, ca)| Ask {
        created,
        rules,
        default,
        tls,
        ca,
    })
}

fn event() -> impl Strategy<Value = Event> {
    let who = || (0..NAMESPACES.len(), 0..NAMES.len());
    prop_oneof![
        8 => (who(), ask()).prop_map(|((namespace, name), ask)| Event::Put(namespace, name, ask)),
        4 => who().prop_map(|(namespace, name)| Event::Delete(namespace, name)),
        2 => (1..900_u64).prop_map(Event::Wait),
        1 => any::<bool>().prop_map(Event::List),
        1 => Just(Event::Restart),
        2 => Just(Event::HandOver),
    ]
}

proptest! {
    #![proptest_config(Config { cases: 128, failure_persistence: None, ..Config::default() })]

    /// [`World::look`] compares each update with a fresh start that remembers the same.
    #[test]
    fn an_update_gives_what_a_fresh_start_with_the_same_memory_gives(history in prop::collection::vec(event(), 1..25)) {
        let mut world = World::new();
        for event in history {
            match event {
                Event::Put(namespace, name, ask) => world.put(NAMESPACES[namespace], NAMES[name], &ask),
                Event::Delete(namespace, name) => world.delete(NAMESPACES[namespace], NAMES[name]),
                Event::Wait(seconds) => world.wait(Duration::from_secs(seconds)),
                Event::Restart => world.restart(),
                Event::HandOver => world.hand_over(|_| {}),
                Event::List(some) => world.list(if some {
                    json!([{"hosts": ["*.shop.example"], "namespaces": [VICTIM, "third"]}, {"hosts": [HOST], "namespaces": ["third"]}])
                } else {
                    json!([])
                }),
            }
        }
    }

    /// But for what is free a second later: the record counts whole seconds.
    #[test]
    fn another_controller_decides_as_the_one_before(history in prop::collection::vec(event(), 1..25)) {
        let mut world = World::new();
        for event in history {
            match event {
                Event::Put(namespace, name, ask) => world.put(NAMESPACES[namespace], NAMES[name], &ask),
                Event::Delete(namespace, name) => world.delete(NAMESPACES[namespace], NAMES[name]),
                Event::Wait(seconds) => world.wait(Duration::from_secs(seconds)),
                Event::Restart | Event::HandOver | Event::List(_) => {
                    let before = world.sets.clone();
                    world.hand_over(|_| {});
                    prop_assert_eq!(&before, &world.sets);
                }
            }
        }
    }

    #[test]
    fn in_whatever_order_objects_come_into_sight_the_same_ones_get_the_same(
        asks in prop::collection::vec(ask(), 6),
        order in Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let place = |number: usize| (NAMESPACES[number % 3], NAMES[number / 3]);
        let (mut one, mut other) = (World::new(), World::new());
        for (number, ask) in asks.iter().enumerate() {
            one.write(place(number).0, place(number).1, ask);
        }
        one.look();
        for number in order {
            other.put(place(number).0, place(number).1, &asks[number]);
        }
        // Nobody was older and gone, so nothing is remembered that would make a difference.
        prop_assert_eq!(&one.sets, &other.sets);
    }

    #[test]
    fn nothing_of_the_first_holder_is_ever_the_attackers(history in prop::collection::vec(event(), 1..25)) {
        let mut world = World::new();
        world.put(VICTIM, "own", &victim(1));
        for event in history {
            match event {
                // The attackers' objects are all younger than the victim's first one.
                Event::Put(namespace, name, ask) if namespace > 0 => {
                    let ask = Ask { created: ask.created + 1, ..ask };
                    world.put(NAMESPACES[namespace], NAMES[name], &ask);
                }
                Event::Delete(namespace, name) if namespace > 0 => world.delete(NAMESPACES[namespace], NAMES[name]),
                // A re-creation that takes some time.
                Event::Wait(seconds) => {
                    world.delete(VICTIM, "own");
                    world.wait(Duration::from_secs(seconds.min(599) / 2));
                    if seconds % 2 == 0 {
                        world.hand_over(|_| {});
                    }
                    world.wait(Duration::from_secs(seconds.min(599) / 2));
                    let theirs = world.sets.iter().filter(|set| set["metadata"]["namespace"] != VICTIM);
                    for set in theirs {
                        let routes = set["routes"].as_array().unwrap();
                        prop_assert!(routes.iter().all(|route| route["key"] != format!("{HOST}/")), "{set}");
                        let lines = set["tls"].as_array().unwrap();
                        prop_assert!(lines.iter().all(|line| !line["hosts"].as_array().unwrap().contains(&json!(HOST))), "{set}");
                    }
                    world.put(VICTIM, "own", &victim(20));
                }
                _ => {}
            }
            let (certificate, ca) = world.handshake(HOST);
            prop_assert_eq!((certificate.as_deref(), ca.as_deref()), (Some("victim/own-tls"), Some("victim/own-ca")));
            prop_assert_eq!(world.answers(HOST, "/z"), Some(VICTIM));
        }
    }
}
