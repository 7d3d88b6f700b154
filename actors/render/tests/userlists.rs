//! Userlists after any history are those of a fresh start.

use crate::support::Setup;
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use haptic_model::{Object, ObjectRef, Snapshot, Snapshots};
use haptic_routes::{userlists::Userlists, userlists_of};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// What happens to a store.
#[derive(Clone, Debug)]
enum Step {
    /// This Ingress names that Secret, or none.
    Names(u8, Option<u8>),
    /// That Secret has so many users, or is gone.
    Holds(u8, Option<usize>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let names =
        (0..6_u8, proptest::option::of(0..4_u8)).prop_map(|(route, secret)| Step::Names(route, secret));
    let holds =
        (0..4_u8, proptest::option::of(0..60_usize)).prop_map(|(name, users)| Step::Holds(name, users));
    proptest::collection::vec(prop_oneof![names, holds], 1..40)
}

fn put(store: &mut Snapshot, resource: &str, namespace: &str, name: &str, object: Option<&Value>) {
    let reference = ObjectRef::new(resource, namespace, name);
    match object {
        Some(json) => {
            store.put(reference, json);
        }
        None => drop(store.remove(&reference)),
    }
}

/// Names, and what is in them.
fn content(lists: &Snapshot) -> Vec<(String, String)> {
    let text = |object: &Object| String::from_utf8_lossy(&object.json.bytes()).into_owned();
    lists.iter().map(|object| (object.reference.to_string(), text(object))).collect()
}

fn namespace(number: u8) -> String {
    format!("n{}", number % 2)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn kept_ones_are_as_fresh_ones(steps in steps()) {
        // Fifty bcrypt users have room, so that sharing is a part of it.
        let setup = Setup::new("").extra(json!({"passwordLimits": {"milliseconds": 320}}));
        let (config, mut kept) = (setup.config(), Userlists::default());
        let (mut sets, mut secrets) = (Snapshot::full(), Snapshot::full());
        let hash = format!("$2y$07${}", "a".repeat(53));
        for step in steps {
            match step {
                Step::Names(route, secret) => {
                    let named = secret.map(|secret| json!({"auth-secret": format!("s{secret}")}));
                    let set = json!({"options": named.unwrap_or_else(|| json!({}))});
                    put(&mut sets, "ingresses", &namespace(route), &format!("i{route}"), Some(&set));
                }
                Step::Holds(name, users) => {
                    let lines = |count| (0..count).map(|n| format!("u{n}:{hash}\n")).collect::<String>();
                    let secret = users.map(|count| json!({"data": {"auth": BASE64.encode(lines(count))}}));
                    for namespace in ["n0", "n1"] {
                        put(&mut secrets, "labelledsecrets", namespace, &format!("s{name}"), secret.as_ref());
                    }
                }
            }
            let stores = BTreeMap::from([(Arc::from("labelledsecrets"), Arc::new(secrets.clone()))]);
            let (snapshots, routes) = (Snapshots::new(stores), Arc::new(sets.clone()));
            let now = kept.update(&config, &snapshots, &routes);
            let fresh = Userlists::default().update(&config, &snapshots, &routes);
            prop_assert_eq!(content(&now), content(&fresh));
        }
    }
}

#[test]
fn a_template_reads_the_users_of_a_secret_that_a_route_names() {
    let ingress = json!({
        "kind": "Ingress", "metadata": {"namespace": "n", "name": "i", "annotations": {"haproxy-haptic.org/auth-secret": "s"}},
        "spec": {"rules": []},
    });
    let secret = |lines: &str| json!({"kind": "Secret", "metadata": {"namespace": "n", "name": "s"}, "data": {"auth": BASE64.encode(lines)}});
    let template = r#"{{#each (userlists "ingresses") as |list|}}{{list.metadata.name}}:{{#each list.data.users as |u|}} {{u.name}}{{/each}}{{/each}}"#;
    let setup = Setup::new(template).object("ingresses", "n", "i", &["n", "i"], ingress).object(
        "labelledsecrets",
        "n",
        "s",
        &["n", "s"],
        secret(&format!("anna:$1$s${}\nbob:x\n", "a".repeat(22))),
    );
    assert_eq!(setup.unmarked(), "s: anna");
    assert!(userlists_of("ingresses").contains("ingresses"));
}
