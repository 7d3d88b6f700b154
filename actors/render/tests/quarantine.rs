//! With any set of bad objects, everybody else's bytes are those of a cluster in which they are good, or not there.

use crate::support::{
    Setup,
    cluster::{Cluster, MAP, TEMPLATE, cluster, note, put, report, text},
};
use haptic_attribution::quarantine::{RenderTiming, changes};
use haptic_model::{ActiveConfig, Diagnostic, FailureReport, Fleet, Generation, Instead, Object, ObjectRef};
use haptic_render::{
    Checked, RenderLimits, Renderer,
    fallback::{self, FallbackConfig},
    quarantine::QuarantinedRender,
};
use proptest::prelude::*;
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

const HOSTS: [&str; 6] =
    ["fails", "registered", "control\u{7}", "one.example", "two.example", "three.example"];
const BAD: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Put(usize, usize),
    Delete(usize),
    Note(usize, bool),
    Nothing,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..6_usize, 0..HOSTS.len()).prop_map(|(name, host)| Step::Put(name, host)),
        1 => (0..6_usize).prop_map(Step::Delete),
        2 => (0..6_usize, any::<bool>()).prop_map(|(name, good)| Step::Note(name, good)),
        1 => Just(Step::Nothing),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everybody_elses_bytes_are_those_of_a_cluster_without_bad_objects(
        batches in prop::collection::vec(prop::collection::vec(step(), 1..5), 1..10),
    ) {
        let mut cluster = cluster();
        // A first good bundle, so that no configuration is unproven.
        cluster.change(|setup| put(setup, "always", "always.example"));
        cluster.render().rendering.unwrap();
        let mut present: BTreeMap<String, usize> = BTreeMap::new();
        let mut in_force: BTreeMap<String, String> = [("always".into(), "always.example".into())].into();
        let mut spoilt: BTreeMap<String, bool> = BTreeMap::new();
        for (number, batch) in batches.iter().enumerate() {
            for step in batch {
                match *step {
                    Step::Put(name, host) => {
                        let name = format!("i{name}");
                        cluster.change(|setup| put(setup, &name, HOSTS[host]));
                        present.insert(name, host);
                    }
                    Step::Delete(name) => {
                        let name = format!("i{name}");
                        let reference = ObjectRef::new("ingresses", "n", &name);
                        cluster.setup.stores.get_mut("ingresses").unwrap().remove(&reference);
                        present.remove(&name);
                    }
                    Step::Note(name, good) => {
                        let name = format!("i{name}");
                        cluster.change(|setup| note(setup, &name, if good { "x" } else { "\u{7}" }));
                        spoilt.insert(name, !good);
                    }
                    Step::Nothing => {}
                }
            }
            let mut outcome = cluster.render();
            // What stood in for an object may be at fault by now, which is only seen in its place.
            for _ in 0..3 {
                prop_assert!(outcome.renders <= 2);
                if !outcome.again {
                    break;
                }
                outcome = cluster.render();
            }
            in_force.retain(|name, _| name == "always" || present.contains_key(name));
            for (name, host) in &present {
                match (*host >= BAD, spoilt.get(name) == Some(&true)) {
                    (_, true) => _ = in_force.remove(name),
                    (true, false) => _ = in_force.insert(name.clone(), HOSTS[*host].to_owned()),
                    (false, false) => {}
                }
            }
            let rendering = outcome.rendering.unwrap_or_else(|faults| panic!("{faults:?}"));
            let expected = cluster.expected(&in_force);
            prop_assert_eq!(text(&rendering.bundle), expected, "batch {}", number);
            prop_assert!(cluster.renderer.take_difference().is_none());
            // Those whose good version was lost stay out until they change or what spoils them does.
            let held = cluster.quarantine.described().held;
            for (name, host) in &present {
                let bad = *host < BAD || spoilt.get(name) == Some(&true);
                let is_held = held.keys().any(|object| &*object.name == name);
                prop_assert_eq!(bad, is_held, "{} in {:?}", name, held);
            }
        }
    }
}

#[test]
fn a_thousand_bad_objects_among_ten_thousand_cost_one_render_more_and_only_once() {
    let mut setup = Setup::new(TEMPLATE);
    for number in 0..10_000 {
        setup = put(setup, &format!("i{number:05}"), &format!("h{number}.example"));
    }
    let mut cluster = Cluster::new(setup);
    cluster.renderer = Renderer::checked(Checked::Never);
    assert_eq!(cluster.render().renders, 1);
    for number in 0..1000 {
        let host = HOSTS[number % BAD];
        cluster.change(|setup| put(setup, &format!("i{:05}", number * 10), host));
    }
    let outcome = cluster.render();
    assert_eq!((outcome.renders, outcome.again, cluster.held().len()), (2, false, 1000));
    cluster.change(|setup| put(setup, "i00001", "changed.example"));
    let outcome = cluster.render();
    assert_eq!((outcome.renders, cluster.renderer.cache().printed), (1, 1), "what stands in is kept, too");
    assert!(outcome.rendering.unwrap().bundle.config.text.contains("changed.example"));
}

/// The first of all Ingresses is at fault, and when it is held back the next one is the first.
const SUCCESSORS: &str = "\
defaults
{{#each (list \"ingresses\") as |ing|}}
{{#if @first}}{{#if (eq ing.spec.rules.0.host \"registered\")}}{{register_error ing \"not yours\"}}{{/if}}{{/if}}
backend {{proxy_name ing.metadata.namespace ing.metadata.name}}
{{/each}}
";

#[test]
fn objects_of_a_namespace_that_fail_one_after_the_other_do_not_keep_others_waiting() {
    for is_fresh in [false, true] {
        let mut cluster = Cluster::new(Setup::new(SUCCESSORS));
        cluster.change(|setup| setup.ingress("z", "innocent", "one.example", &[("/", "s")]));
        if !is_fresh {
            assert!(cluster.render().rendering.is_ok());
        }
        cluster.change(|setup| {
            (0..100).fold(setup, |setup, number| put(setup, &format!("i{number:03}"), "registered"))
        });
        cluster.change(|setup| setup.ingress("z", "late", "two.example", &[("/", "s")]));
        let rendered = (1..5).find_map(|_| cluster.render().rendering.ok());
        let config = rendered.unwrap_or_else(|| panic!("{is_fresh}")).bundle.config.text.to_string();
        assert!(config.contains("z_late") && config.contains("z_innocent"), "{config}");
        assert!(cluster.held().iter().all(|held| held.starts_with('i')), "{:?}", cluster.held());
    }
}

#[test]
fn what_was_never_good_is_left_out_and_says_so() {
    let mut cluster = cluster();
    cluster.change(|setup| put(put(setup, "a", "fails"), "b", "b.example"));
    let outcome = cluster.render();
    assert!(!outcome.rendering.unwrap().bundle.config.text.contains("backend a"));
    let told = cluster.quarantine.described();
    let (_, held) = told.held.first_key_value().unwrap();
    assert!(
        held.to_string()
            .ends_with("It is not served: no good version of it is known since this controller started"),
        "{held}"
    );
}

#[test]
fn of_what_was_never_good_the_annotations_that_cannot_be_read_are_left_out() {
    let text = "{{#each (routes \"ingresses\") as |set|}}\n{{#each set.faults as |why|}}\n{{register_error set why}}\n{{/each}}\n\
        {{#each set.routes as |r|}}\n{{r.key}} {{json set.options}}\n{{/each}}\n{{/each}}\n";
    let mut cluster = Cluster::new(Setup::new("defaults\n").map("m", text));
    let annotated = |setup: Setup, annotations: serde_json::Value| {
        let paths = [
            json!({"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}),
        ];
        setup.object(
            "ingresses",
            "default",
            "a",
            &["default", "a"],
            json!({"metadata": {"annotations": annotations},
            "spec": {"rules": [{"host": "a.example", "http": {"paths": paths}}]}}),
        )
    };
    let steps = [
        (json!({"haproxy-haptic.org/retry": "never"}), "{}", Some(Instead::Defaults)),
        // What stood in is no good version.
        (
            json!({"haproxy-haptic.org/retries": "1", "haproxy-haptic.org/allow-from": "x"}),
            r#"{"closed":true,"retries":1}"#,
            Some(Instead::Defaults),
        ),
        (json!({"haproxy-haptic.org/retries": "2"}), r#"{"retries":2}"#, None),
        (json!({"haproxy-haptic.org/retries": "many"}), r#"{"retries":2}"#, Some(Instead::Former)),
    ];
    for (annotations, options, instead) in steps {
        cluster.change(|setup| annotated(setup, annotations.clone()));
        let outcome = cluster.render();
        assert_eq!(map_of(&outcome), format!("a.example/ {options}\n"), "{annotations}");
        let held: Vec<Instead> =
            cluster.quarantine.described().held.values().map(|held| held.instead).collect();
        assert_eq!(held, instead.into_iter().collect::<Vec<_>>(), "{annotations}");
    }
}

#[test]
fn an_object_is_tried_again_when_what_its_block_had_read_changes_and_not_before() {
    let mut cluster = cluster();
    cluster.change(|setup| note(put(put(setup, "a", "a.example"), "b", "b.example"), "a", "\u{7}"));
    assert_eq!(cluster.render().renders, 2);
    cluster.change(|setup| note(setup, "b", "fine"));
    assert_eq!((cluster.render().renders, cluster.held()), (1, vec!["a false".to_owned()]));
    cluster.change(|setup| note(setup, "a", "still \u{7}"));
    assert_eq!((cluster.render().renders, cluster.held()), (2, vec!["a false".to_owned()]));
    cluster.change(|setup| note(setup, "a", "fine"));
    assert_eq!((cluster.render().renders, cluster.held()), (1, vec![]));
}

/// Another haproxy.cfg for the same objects.
fn configure(cluster: &mut Cluster, template: &str) {
    cluster.change(|setup| setup.with("haproxyConfig/template", json!(template)));
    (cluster.config, cluster.compiled) = (cluster.setup.config(), cluster.setup.compile().unwrap());
    cluster.config.revision += cluster.generation;
}

fn harmless() -> String {
    TEMPLATE.replace("description", "# another comment\n  description")
}

#[test]
fn a_new_configuration_that_fails_for_what_did_not_change_is_at_fault_itself() {
    let misspelt = TEMPLATE.replace("rule.host}}\n", "rule.hots}}\n");
    let for_one =
        TEMPLATE.replace("backend", "{{#if (eq rule.host \"h0.example\")}}{{rule.nope}}{{/if}}\nbackend");
    for (objects, template) in [(1, &misspelt), (2, &misspelt), (5, &misspelt), (5, &for_one)] {
        let mut cluster = cluster();
        for number in 0..objects {
            cluster.change(|setup| put(setup, &format!("i{number}"), &format!("h{number}.example")));
        }
        cluster.render().rendering.unwrap();
        configure(&mut cluster, template);
        for step in ["at once", "a Service changes", "another Ingress changes"] {
            let faults = cluster.render().rendering.unwrap_err();
            assert!(faults.objects.is_empty() && cluster.held().is_empty(), "{step}");
            let message = &faults.others[0].message;
            assert!(message.contains("the new configuration is refused as a whole"), "{step}: {message}");
            assert!(message.contains("ingresses n/i0 did not change"), "{step}: {message}");
            cluster.change(|setup| match step {
                "at once" => note(setup, "i0", "changed"),
                _ => put(setup, "late", "late.example"),
            });
        }
        configure(&mut cluster, &harmless());
        assert!(cluster.render().rendering.unwrap().bundle.config.text.contains("another comment"));
    }
}

#[test]
fn what_changed_with_the_configuration_or_was_bad_before_is_at_fault_itself() {
    for reads in [false, true] {
        let mut cluster = cluster();
        cluster.change(|setup| put(put(put(setup, "a", "a.example"), "b", "b.example"), "bad", "fails"));
        cluster.render().rendering.unwrap();
        configure(&mut cluster, &harmless());
        cluster.change(|setup| match reads {
            true => note(setup, "a", "\u{7}"),
            false => put(setup, "a", "fails"),
        });
        let text = cluster.render().rendering.unwrap().bundle.config.text.to_string();
        assert!(text.contains("another comment") && text.contains("b.example"), "{text}");
        assert_eq!(
            text.contains("a.example"),
            !reads,
            "its last good version stands in for one that changed"
        );
        assert_eq!(cluster.held(), [format!("a {}", !reads), "bad false".to_owned()]);
    }
}

#[test]
fn a_new_configuration_that_a_check_refuses_for_what_did_not_change_is_at_fault_itself() {
    for suspected in [false, true] {
        let mut cluster = cluster();
        cluster.change(|setup| put(setup, "a", "a.example"));
        cluster.render().rendering.unwrap();
        configure(&mut cluster, &harmless());
        let outcome = cluster.render_unchecked(None);
        let report = report(&cluster, &outcome, "a", suspected);
        let refused =
            |outcome: QuarantinedRender| outcome.rendering.is_err_and(|faults| faults.objects.is_empty());
        assert!(refused(cluster.render_unchecked(Some(&report))) && cluster.held().is_empty());
        cluster.change(|setup| note(setup, "a", "changed"));
        assert!(refused(cluster.render_unchecked(Some(&report))), "a report counts once");
        match suspected {
            true => cluster.now += cluster.quarantine.next_try(cluster.now).unwrap(),
            false => cluster.change(|setup| put(setup, "a", "other.example")),
        }
        assert!(cluster.render().rendering.unwrap().bundle.config.text.contains("another comment"));
    }
}

#[test]
fn a_new_configuration_that_a_check_refuses_without_any_object_rests_longer_each_time() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "a", "a.example"));
    cluster.render().rendering.unwrap();
    configure(&mut cluster, &harmless());
    for seconds in [30, 60, 120] {
        let outcome = cluster.render_unchecked(None);
        let report = Arc::new(FailureReport {
            objects: Vec::new(),
            templates: Some(Diagnostic::error("haproxy", "unknown keyword")),
            ..(*report(&cluster, &outcome, "a", false)).clone()
        });
        let faults = cluster.render_unchecked(Some(&report)).rendering.unwrap_err();
        let message = &faults.others[0].message;
        assert!(message.contains("refused as a whole") && message.contains("unknown keyword"), "{message}");
        cluster.change(|setup| put(setup, "late", &format!("late{seconds}.example")));
        let outcome = cluster.render_unchecked(None);
        assert!(outcome.rendering.is_err() && outcome.renders == 0, "nothing is rendered with it");
        let rest = cluster.quarantine.next_try(cluster.now).unwrap();
        assert_eq!(rest.as_secs(), seconds);
        cluster.now += rest;
    }
    assert!(cluster.render().rendering.unwrap().bundle.config.text.contains("another comment"));
}

#[test]
fn a_refused_configuration_is_tried_again_only_when_something_is_other_than_it_was() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "a", "a.example"));
    cluster.render().rendering.unwrap();
    configure(&mut cluster, "global\n  description {{nothing.there}}\n{{register_error \"no\"}}\n");
    let tried = |cluster: &mut Cluster, seconds: u64| {
        cluster.now += Duration::from_secs(seconds);
        cluster.render_unchecked(None).renders > 0
    };
    assert!(tried(&mut cluster, 0));
    assert!(!tried(&mut cluster, 30) && !tried(&mut cluster, 60), "nothing has changed");
    cluster.change(|setup| put(setup, "late", "late.example"));
    assert!(tried(&mut cluster, 1));
    cluster.change(|setup| put(setup, "later", "later.example"));
    assert!(!tried(&mut cluster, 59) && tried(&mut cluster, 1), "after a longer rest");
    assert_eq!(cluster.quarantine.next_try(cluster.now), Some(Duration::from_secs(120)));
    assert!(!tried(&mut cluster, 120));
    assert_eq!(cluster.quarantine.next_try(cluster.now), Some(Duration::from_secs(480)));
    assert!(tried(&mut cluster, 480), "the machine may have been at fault");
}

#[test]
fn what_a_configuration_fails_for_counts_less_and_less_often_when_it_changes_again_and_again() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "a", "a.example"));
    cluster.render().rendering.unwrap();
    configure(&mut cluster, &TEMPLATE.replace("rule.host}}\n", "rule.hots}}\n"));
    let mut renders = 0;
    for second in 0..30 {
        renders += cluster.render_unchecked(None).renders;
        cluster.now += Duration::from_secs(1);
        cluster.change(|setup| put(setup, "a", &format!("a{second}.example")));
    }
    assert!((3..12).contains(&renders), "{renders}");
}

#[test]
fn while_a_new_configuration_is_refused_the_last_good_one_is_rendered_with_what_objects_are_now() {
    let mut cluster = cluster();
    cluster.change(|setup| put(put(setup, "a", "a.example"), "bad", "fails"));
    cluster.render().rendering.unwrap();
    configure(&mut cluster, &TEMPLATE.replace("rule.host}}\n", "rule.hots}}\n"));
    let new = cluster.config.clone();
    let fallback_for = |new: &ActiveConfig, cluster: &Cluster| {
        FallbackConfig::of(new, cluster.good.as_ref(), None, &cluster.quarantine)
    };
    let mut instead = fallback_for(&new, &cluster).unwrap();
    cluster.render().rendering.unwrap_err();
    cluster.change(|setup| put(put(setup, "b", "b.example"), "worse", "control\u{7}"));
    let (snapshots, fleet, limits) = (cluster.setup.snapshots(), Fleet::default(), RenderLimits::default());
    let given = fallback::FallbackInputs { snapshots: &snapshots, fleet: &fleet, limits: &limits };
    let timing = RenderTiming { generation: Generation(9), now: cluster.now, good: cluster.good.as_ref() };
    let outcome = instead.render(&mut cluster.renderer, given, &Vec::new(), &timing).unwrap();
    let text = outcome.rendering.unwrap().bundle.config.text.to_string();
    assert!(text.contains("a.example") && text.contains("b.example"), "{text}");
    let held = instead.quarantine().described().held;
    assert_eq!(held.keys().map(|object| &*object.name).collect::<Vec<_>>(), ["bad", "worse"]);

    assert!(fallback_for(&cluster.good.as_ref().unwrap().config, &cluster).is_none(), "it is the same one");
    let mut other = new.clone();
    Arc::make_mut(&mut other.spec).watched_resources.remove("services");
    assert!(fallback_for(&other, &cluster).is_none(), "what it watches is not there any more");
}

fn map_of(outcome: &QuarantinedRender) -> String {
    let bundle = &outcome.rendering.as_ref().unwrap().bundle;
    bundle.files.values().next().unwrap().text.to_string()
}

#[test]
fn a_namespace_with_too_many_lines_of_a_map_takes_nothing_from_others_from_the_beginning() {
    let setup = Setup::new(TEMPLATE).map("hosts.map", MAP);
    let setup = setup.with("controller", json!({"limits": {"mapEntries": 8}}));
    let setup = setup.ingress("good", "a", "a.example", &[("/", "s")]);
    let setup = (0..20).fold(setup, |setup, n| {
        setup.ingress("junk", &format!("{n:02}"), &format!("h{n:02}.example"), &[("/", "s")])
    });
    let mut cluster = Cluster::new(setup);
    // Nothing was good before it: it is not for the templates to answer for all those objects.
    let map = map_of(&cluster.render());
    assert_eq!((map.lines().count(), map.contains("a.example")), (5, true), "{map}");
    assert_eq!(cluster.held().len(), 16);
    cluster.change(|setup| setup.ingress("good", "b", "b.example", &[("/", "s")]));
    let map = map_of(&cluster.render());
    assert!(map.lines().count() == 6 && map.contains("b.example"), "{map}");
}

#[test]
fn what_is_told_is_what_is_news() {
    let mut cluster = cluster();
    let before = cluster.quarantine.described();
    cluster.change(|setup| put(put(setup, "a", "fails"), "b", "fails"));
    cluster.render();
    let held = cluster.quarantine.described();
    let (entered, left) = changes(&before, &held, &cluster.setup.snapshots());
    assert_eq!((entered.len(), left.len()), (2, 0));
    let removed: Object = (**cluster.setup.stores["ingresses"].iter().next().unwrap()).clone();
    cluster.setup.stores.get_mut("ingresses").unwrap().remove(&removed.reference);
    cluster.change(|setup| put(setup, "b", "b.example"));
    cluster.render();
    let (entered, left) = changes(&held, &cluster.quarantine.described(), &cluster.setup.snapshots());
    assert!(entered.is_empty());
    let told: Vec<String> = left.iter().map(ToString::to_string).collect();
    assert!(told[0].contains("n/a is gone") && told[1].contains("n/b is good again"), "{told:?}");
}
