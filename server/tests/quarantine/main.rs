//! Whatever finds them at fault, bad objects change nothing for anybody else: render and search for causes together.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod attack;
mod stages;

use haptic_model::{Bundle, Diagnostic, FileKey, HaproxyVersion};
use haptic_render::Checked;
use haptic_validate::{Binaries, CheckLimits, Checker, Sandbox};
use proptest::prelude::*;
use stages::Stages;
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// What becomes of an Ingress is said by its word; a Service of its name says another one in its block.
const TEMPLATE: &str = "\
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend web
  bind 127.0.0.1:8080
  http-request set-var(txn.net) src,map_ip(maps/nets.map,none)
{{#each (list \"ingresses\") as |ing|}}
{{#if (eq ing.word \"fails\")}}{{ing.nope}}{{/if}}
backend {{proxy_name ing.metadata.name}}
  description {{ing.word}}
{{#with (get_single \"services\" ing.metadata.namespace ing.metadata.name) as |service|}}
  # {{service.word}}
{{else}}
{{/with}}
{{/each}}
";
/// HAProxy tells of a wrong net only where the map is used, which is nobody's line.
const NETS: &str = "\
10.0.0.0/8 ten
{{#each (list \"ingresses\") as |ing|}}
{{#if (eq ing.word \"net\")}}
10.0.0.0/99 {{ing.metadata.name}}
{{/if}}
{{/each}}
";

/// The bad ones first.
const WORDS: [&str; 6] = ["fails", "named", "unnamed", "one", "two", "three"];
const BAD: usize = 3;

const SECOND: Duration = Duration::from_secs(1);

/// A checker that tells of at most three lines, and only if there are none of something else, without a line.
async fn judge(bundle: Bundle) -> Vec<Diagnostic> {
    let text = bundle.config.text.to_string();
    let mut said = Vec::new();
    for (number, line) in (1_u32..).zip(text.lines()) {
        if line.ends_with(" named") && said.len() < 3 {
            said.push(Diagnostic::error("haproxy", "no").at_output(FileKey::config(), number, line));
        }
    }
    if said.is_empty() && text.lines().any(|line| line.ends_with(" unnamed")) {
        said.push(Diagnostic::error("haproxy", "somewhere"));
    }
    said
}

#[derive(Clone, Debug)]
enum Step {
    Put(usize, usize),
    Delete(usize),
    Service(usize, usize),
    Nothing,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..8_usize, 0..WORDS.len()).prop_map(|(name, word)| Step::Put(name, word)),
        1 => (0..8_usize).prop_map(Step::Delete),
        2 => (0..8_usize, 1..WORDS.len()).prop_map(|(name, word)| Step::Service(name, word)),
        1 => Just(Step::Nothing),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everybody_elses_bytes_are_those_without_bad_objects_whoever_finds_them(
        batches in prop::collection::vec(prop::collection::vec(step(), 1..6), 1..8),
    ) {
        let mut stages = Stages::new(TEMPLATE, NETS, Checked::Always);
        stages.put("ingresses", "always", "always");
        stages.settle(judge);
        let mut present: BTreeMap<String, usize> = BTreeMap::new();
        let mut spoilt: BTreeMap<String, bool> = BTreeMap::new();
        let mut in_force: BTreeMap<String, String> = [("always".into(), "always".into())].into();
        for (number, batch) in batches.iter().enumerate() {
            for step in batch {
                match *step {
                    Step::Put(name, word) => {
                        stages.put("ingresses", &format!("i{name}"), WORDS[word]);
                        present.insert(format!("i{name}"), word);
                    }
                    Step::Delete(name) => {
                        stages.delete("ingresses", &format!("i{name}"));
                        present.remove(&format!("i{name}"));
                    }
                    Step::Service(name, word) => {
                        stages.put("services", &format!("i{name}"), WORDS[word]);
                        spoilt.insert(format!("i{name}"), word < BAD);
                    }
                    Step::Nothing => {}
                }
            }
            stages.rest();
            stages.settle_all(judge);
            in_force.retain(|name, _| name == "always" || present.contains_key(name));
            for (name, word) in &present {
                match (*word >= BAD, spoilt.get(name) == Some(&true)) {
                    (_, true) => _ = in_force.remove(name),
                    (true, false) => _ = in_force.insert(name.clone(), WORDS[*word].to_owned()),
                    (false, false) => {}
                }
            }
            prop_assert_eq!(stages.text(), stages.expected(&in_force), "batch {}", number);
        }
    }
}

#[test]
fn an_object_whose_service_is_mended_is_back_whatever_turns_bad_at_once() {
    let mut stages = Stages::new(TEMPLATE, NETS, Checked::Always);
    stages.put("ingresses", "always", "always");
    stages.settle(judge);
    let mut turn = |steps: &[(&str, &str, &str)]| {
        for (resource, name, word) in steps {
            stages.put(resource, name, word);
        }
        stages.rest();
        stages.settle_all(judge);
    };
    turn(&[("services", "i3", "named")]);
    turn(&[("ingresses", "i3", "one")]);
    turn(&[("ingresses", "i1", "one")]);
    turn(&[("services", "i3", "one"), ("ingresses", "i1", "named"), ("services", "i1", "named")]);
    let in_force = [("always", "always"), ("i3", "one")].map(|(name, word)| (name.into(), word.into()));
    assert_eq!(stages.text(), stages.expected(&in_force.into()), "{:?}", stages.held());
}

fn haproxy() -> PathBuf {
    let found = std::env::var_os("HAPTIC_HAPROXY_3_4");
    found.expect("HAPTIC_HAPROXY_3_4 is not set: run this test through `make test`").into()
}

/// Thousands of objects change at once, and HAProxy says of a few only that something is wrong.
#[test]
fn of_thousands_that_change_at_once_the_few_that_nothing_names_are_found_bit_by_bit_and_the_others_go_live() {
    const ALL: usize = 2000;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _entered = runtime.enter();
    let checker =
        Checker::new(Binaries::probe([haproxy()]).unwrap(), CheckLimits::default(), Sandbox::none());
    let version = [HaproxyVersion::new(3, 4)];
    let judge = async |bundle: Bundle| checker.semantics(&bundle, &version).await.diagnostics;
    let mut stages = Stages::new(TEMPLATE, NETS, Checked::Never);
    let name = |number: usize| format!("i{number:04}");
    (0..ALL).for_each(|number| stages.put("ingresses", &name(number), "old"));
    stages.settle(judge);
    let before = stages.text();

    let bad = [3, 4, 700, 1500, 1999];
    for number in 0..ALL {
        stages.put("ingresses", &name(number), if bad.contains(&number) { "net" } else { "new" });
    }
    let effort = stages.settle(judge);
    assert!(effort.generations <= 2, "what is not known to be good goes back at once: {effort:?}");
    assert!(
        stages.suspects() > 0,
        "one round of checks is not enough to find them all: {:?}",
        stages.held().len()
    );
    assert!(stages.text().lines().count() == before.lines().count(), "everybody is there, as new or as good");

    let mut rounds = 0;
    while stages.suspects() > 0 {
        let held = stages.held().len();
        stages.pass(SECOND);
        stages.settle(judge);
        rounds += 1;
        assert!(rounds < 60, "{held} are still held back");
    }
    assert_eq!(stages.held(), bad.map(name));
    let mut in_force: BTreeMap<String, String> =
        (0..ALL).map(|number| (name(number), "new".into())).collect();
    bad.iter().for_each(|number| _ = in_force.insert(name(*number), "old".into()));
    assert_eq!(stages.text(), stages.expected(&in_force));
    println!("{rounds} rounds, at most {} checks each", effort.checks);
}
