//! The table of topics in ARCHITECTURE.md is what wiring makes: who publishes, and which actors subscribe.

use crate::{root, sources::Source};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// Topics whose publisher is made where the topic's owner is, and who publishes there.
const MADE_ELSEWHERE: [(&str, &str); 6] = [
    ("deadline", "leader"),
    ("endpoint", "webhook"),
    ("leadership", "leader, fence"),
    ("rejected", "watches"),
    ("missing", "watches"),
    ("snapshots", "watches, stores"),
];
const ALSO_ELSEWHERE: (&str, &str) = ("troubles", "watches");
/// Pods come and go, so their deployments are started here.
const STARTS_DEPLOYMENTS: &str = "actors/deploy/src/actor/fleet.rs";
/// What wiring calls a topic where it is not a field.
const LOCAL_NAMES: [(&str, &str); 1] = [("stores", "snapshots")];

/// Subscribers by topic: of each chain that begins with `Spec::named("actor")`.
fn subscribers(wiring: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let mut subscribers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, text) in wiring {
        let text: String = text.split_whitespace().collect();
        // One for each pod.
        let text = text.replace("Spec::named(deployment_name(&pod))", "Spec::named(\"deploy\")");
        for chain in text.split("Spec::named(\"").skip(1) {
            let chain = chain.split(';').next().unwrap_or_default();
            let Some((actor, chain)) = chain.split_once("\")") else { continue };
            for topic in chain.split(".subscribes(").skip(1) {
                let argument = topic.split(".subscribes(").next().unwrap_or_default();
                let name = argument.trim_start_matches('&').split([')', '(']).next().unwrap_or_default();
                let name = name.rsplit('.').next().unwrap_or_default();
                let name =
                    LOCAL_NAMES.iter().find(|(local, _)| *local == name).map_or(name, |(_, topic)| topic);
                subscribers.entry(name.to_owned()).or_default().insert(actor.to_owned());
            }
        }
    }
    subscribers
}

/// Publishers by topic: of each line `topic: publishers.actor[.field].topic()`.
fn publishers(wiring: &[Source]) -> BTreeMap<String, String> {
    let made = wiring.iter().flat_map(|(_, text)| text.lines()).filter_map(|line| {
        let (topic, publisher) = line.trim().split_once(": publishers.")?;
        let actor = publisher.strip_suffix(".topic(),")?.split('.').next()?;
        Some((topic.to_owned(), actor.replace('_', "-")))
    });
    let elsewhere = MADE_ELSEWHERE.into_iter().chain([ALSO_ELSEWHERE]);
    made.chain(elsewhere.map(|(topic, actor)| (topic.to_owned(), actor.to_owned()))).collect()
}

/// The table that ARCHITECTURE.md is to have: every topic that an actor subscribes to.
fn table(wiring: &[Source]) -> String {
    let publishers = publishers(wiring);
    let row = |(topic, actors): (&String, &BTreeSet<String>)| {
        let publisher = publishers.get(topic).map_or("?", String::as_str);
        let actors = actors.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        format!("| {topic} | {publisher} | {actors} |\n")
    };
    let rows: String = subscribers(wiring).iter().map(row).collect();
    format!("| Topic | Published by | Subscribers |\n|---|---|---|\n{rows}")
}

fn wiring() -> Vec<Source> {
    let sources = crate::sources::sources();
    sources
        .into_iter()
        .filter(|(path, _)| path.starts_with("server/src/wiring") || path == STARTS_DEPLOYMENTS)
        .collect()
}

#[test]
fn the_table_of_topics_is_what_wiring_makes() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a page");
    let table = table(&wiring());
    assert!(!table.contains('?'), "who publishes this is not known:\n{table}");
    assert!(page.contains(&table), "ARCHITECTURE.md is to have this table of topics:\n{table}");
}

/// Every actor of the picture's names stands in the table or in the picture's head of wiring.
#[test]
fn a_subscription_that_is_removed_changes_the_table() {
    let line = r#"Spec::named("debounce").mailbox(9).subscribes(&self.readers.config).subscribes(&stores.missing()).start();"#;
    let all = vec![("server/src/wiring.rs".to_owned(), line.to_owned())];
    let fewer = vec![(all[0].0.clone(), line.replace(".subscribes(&self.readers.config)", ""))];
    assert_eq!(subscribers(&all).keys().collect::<Vec<_>>(), ["config", "missing"]);
    assert_eq!(subscribers(&fewer).keys().collect::<Vec<_>>(), ["missing"]);
}
