//! Content of Secrets and ConfigMaps that options name is held to the pace of reloads as far as its change takes one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_model::{ActiveConfig, FindingKind, ObjectRef, Snapshot, Snapshots};
use haptic_routes::{Routes, userlists_of};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

const SECRETS: &str = "labelledsecrets";
const CONFIG_MAPS: &str = "labelledconfigmaps";

struct Cluster {
    routes: Routes,
    begin: Instant,
    stores: BTreeMap<Arc<str>, Snapshot>,
}

impl Cluster {
    /// With an Ingress in the namespace that names what is called `named` by an option.
    fn naming(option: &str) -> Self {
        let stores = ["ingresses", "services", SECRETS, CONFIG_MAPS].map(|name| {
            let mut store = Snapshot::full();
            store.set_synced();
            (Arc::from(name), store)
        });
        let mut cluster = Self { routes: Routes::default(), begin: Instant::now(), stores: stores.into() };
        let paths = json!([{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}]);
        let annotations = json!({format!("haproxy-haptic.org/{option}"): "named"});
        let rules = json!([{"host": "shop.example", "http": {"paths": paths}}]);
        let ingress = json!({"metadata": {"annotations": annotations}, "spec": {"rules": rules}});
        cluster.put("ingresses", "a", ingress);
        cluster.seen_at(0);
        cluster
    }

    fn put(&mut self, store: &str, name: &str, mut object: Value) {
        object["metadata"]["namespace"] = json!("shop");
        object["metadata"]["name"] = json!(name);
        self.stores.get_mut(store).unwrap().put(ObjectRef::new(store, "shop", name), &object);
    }

    fn delete(&mut self, store: &str) {
        self.stores.get_mut(store).unwrap().remove(&ObjectRef::new(store, "shop", "named"));
    }

    fn config() -> ActiveConfig {
        let watched = |version: &str, resources: &str| json!({"apiVersion": version, "resources": resources});
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "watchedResources": {
                "ingresses": watched("networking.k8s.io/v1", "ingresses"), "services": watched("v1", "services"),
                SECRETS: watched("v1", "secrets"), CONFIG_MAPS: watched("v1", "configmaps"),
            },
        });
        ActiveConfig::of("c", "n", serde_json::from_value(spec).unwrap())
    }

    fn snapshots(&self) -> Snapshots {
        let stores = self.stores.iter().map(|(name, store)| (name.clone(), Arc::new(store.clone())));
        Snapshots::new(stores.collect())
    }

    /// What templates see at a second; a fresh start that knows as much sees the same.
    fn seen_at(&mut self, second: u64) -> Snapshots {
        self.routes.set_time(self.begin + Duration::from_secs(second));
        let seen = self.routes.beside(&Self::config(), &self.snapshots());
        let fresh = self.routes.emptied().beside(&Self::config(), &self.snapshots());
        for store in [SECRETS, CONFIG_MAPS] {
            assert_eq!(data(&seen, store), data(&fresh, store), "{store}");
        }
        seen
    }

    fn waits(&self, store: &str) -> bool {
        let found = self.routes.findings();
        let found = found.of(&ObjectRef::new(store, "shop", "named"));
        found.iter().any(|finding| finding.kind == FindingKind::ReloadDelayed)
    }

    fn due(&self) -> Option<u64> {
        self.routes.due().map(|due| due.duration_since(self.begin).as_secs())
    }
}

/// What is in the object that is named.
fn data(seen: &Snapshots, store: &str) -> Option<Value> {
    Some(seen.get(store)?.get("shop", "named")?.value().unwrap()["data"].take())
}

/// The passwords of the users of the Secret that is named.
fn passwords(seen: &Snapshots) -> Vec<String> {
    let list = seen.get(&userlists_of("ingresses")).and_then(|lists| lists.get("shop", "named").cloned());
    let list = list.map(|list| list.value().unwrap()).unwrap_or_default();
    let users = list["data"]["users"].as_array().cloned().unwrap_or_default();
    users.iter().map(|user| user["password"].as_str().unwrap().to_owned()).collect()
}

fn secret(password: &str) -> Value {
    json!({"data": {"auth": STANDARD.encode(format!("u:{password}"))}})
}

fn crypt(letter: &str) -> String {
    format!("$5$aaaaaaaa${}", letter.repeat(43))
}

#[test]
fn users_whose_change_takes_a_reload_wait_for_their_turn_and_the_former_ones_get_in() {
    let mut cluster = Cluster::naming("auth-secret");
    for (second, letter) in ["a", "b", "c"].into_iter().enumerate() {
        cluster.put(SECRETS, "named", secret(&crypt(letter)));
        assert_eq!(passwords(&cluster.seen_at(second as u64)), [crypt(letter)]);
    }
    cluster.put(SECRETS, "named", secret(&crypt("d")));
    assert_eq!(passwords(&cluster.seen_at(3)), [crypt("c")]);
    assert!(cluster.waits(SECRETS));
    assert_eq!(cluster.due(), Some(60));
    assert_eq!(passwords(&cluster.seen_at(59)), [crypt("c")]);
    assert_eq!(passwords(&cluster.seen_at(60)), [crypt("d")]);
    assert!(!cluster.waits(SECRETS));
    assert_eq!(cluster.due(), None);
    cluster.put(SECRETS, "named", secret(&crypt("e")));
    assert_eq!(passwords(&cluster.seen_at(61)), [crypt("d")]);
    cluster.delete(SECRETS);
    assert_eq!(passwords(&cluster.seen_at(62)), [""; 0], "what is deleted is gone at once");
    assert_eq!((cluster.waits(SECRETS), cluster.due()), (false, None));
    cluster.put(SECRETS, "named", secret(&crypt("f")));
    assert_eq!(passwords(&cluster.seen_at(63)), [""; 0], "nor does deleting it in between help");
}

#[test]
fn users_whom_lua_checks_never_wait() {
    let mut cluster = Cluster::naming("auth-secret");
    for (second, letter) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
        let password = format!("$apr1$aaaaaaaa${}", letter.repeat(22));
        cluster.put(SECRETS, "named", secret(&password));
        assert_eq!(passwords(&cluster.seen_at(second as u64)), [password]);
    }
}

#[test]
fn pages_and_authorities_wait_and_what_nobody_names_does_not() {
    for (store, option) in [
        (CONFIG_MAPS, "error-pages"),
        (SECRETS, "server-ca-secret"),
        (CONFIG_MAPS, "server-ca-config-map"),
        (SECRETS, "client-ca-secret"),
    ] {
        for (option, is_named) in [(option, true), ("timeout-server", false)] {
            let mut cluster = Cluster::naming(option);
            for number in 0..6_u64 {
                let content = json!({"503.html": number.to_string(), "ca.crt": number.to_string()});
                cluster.put(store, "named", json!({ "data": content }));
                let counting = if is_named { number.min(2) } else { number };
                let seen = data(&cluster.seen_at(number), store).unwrap();
                assert_eq!(seen["ca.crt"], json!(counting.to_string()), "{option}");
                assert_eq!(cluster.waits(store), counting != number, "{option}");
            }
        }
    }
}

#[test]
fn without_a_time_nothing_waits() {
    let mut cluster = Cluster::naming("auth-secret");
    for letter in ["a", "b", "c", "d", "e"] {
        cluster.put(SECRETS, "named", secret(&crypt(letter)));
        cluster.seen_at(1);
    }
    assert!(cluster.waits(SECRETS));
    let mut offline = cluster.routes.without_time();
    assert_eq!(passwords(&offline.beside(&Cluster::config(), &cluster.snapshots())), [crypt("e")]);
}

#[test]
fn what_stands_in_for_a_version_that_haproxy_refuses_does_not_wait() {
    let mut cluster = Cluster::naming("auth-secret");
    cluster.put(SECRETS, "named", secret(&crypt("a")));
    let good = cluster.stores[SECRETS].get("shop", "named").unwrap().clone();
    cluster.seen_at(1);
    for letter in ["b", "c", "d"] {
        cluster.put(SECRETS, "named", secret(&crypt(letter)));
        cluster.seen_at(2);
    }
    let mut laid = cluster.stores[SECRETS].clone();
    laid.restore(good, ["shop".into(), "named".into()].into());
    cluster.stores.insert(SECRETS.into(), laid);
    assert_eq!(passwords(&cluster.seen_at(3)), [crypt("a")]);
}
