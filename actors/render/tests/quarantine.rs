//! With any set of bad objects, everybody else's bytes are those of a cluster in which they are good, or not there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use haptic_model::{
    ActiveConfig, Bundle, Complaint, Diagnostic, Fleet, Generation, Hindsight, Object, ObjectRef, Snapshots,
    pipeline::{Cause, Reconcile, Rendered},
};
use haptic_render::{
    Checked, Compiled, Limits, Renderer,
    quarantine::{Job, Moment, Outcome, Ward, changes},
    stand_in::{self, StandIn},
};
use proptest::prelude::*;
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use support::{Setup, all};

/// What becomes of an Ingress is said by its host; a Service of its name may spoil it, too.
const TEMPLATE: &str = "\
defaults
# {{len (list \"ingresses\")}} ingresses
{{#each (list \"ingresses\") as |ing|}}
{{#with ing.spec.rules.0 as |rule|}}
{{#if (eq rule.host \"fails\")}}{{rule.nope}}{{/if}}
{{#if (eq rule.host \"registered\")}}{{register_error ing \"not yours\"}}{{/if}}
backend {{proxy_name ing.metadata.name}}
  description {{rule.host}}
{{#with (get_single \"services\" ing.metadata.namespace ing.metadata.name) as |service|}}
  # {{service.metadata.note}}
{{else}}
{{/with}}
{{/with}}
{{/each}}
";
const MAP: &str = "{{#each (routes \"ingresses\") as |set|}}\n{{#each set.routes as |r|}}\n{{r.key}} {{r.backend.name}}\n{{/each}}\n{{/each}}\n";

const HOSTS: [&str; 6] =
    ["fails", "registered", "control\u{7}", "one.example", "two.example", "three.example"];
const BAD: usize = 3;

/// A cluster, and what keeps its bad objects from stopping the others.
struct Cluster {
    setup: Setup,
    config: ActiveConfig,
    compiled: Arc<dyn Compiled>,
    renderer: Renderer,
    ward: Ward,
    good: Option<Arc<Rendered>>,
    generation: u64,
    now: Instant,
}

impl Cluster {
    fn new(setup: Setup) -> Self {
        let (config, compiled) = (setup.config(), setup.compile().unwrap_or_else(|e| panic!("{}", all(&e))));
        let renderer = Renderer::checked(Checked::Always);
        let (ward, good) = (Ward::default(), None);
        Self { setup, config, compiled, renderer, ward, good, generation: 0, now: Instant::now() }
    }

    fn change(&mut self, change: impl FnOnce(Setup) -> Setup) {
        let setup = std::mem::replace(&mut self.setup, Setup::new(""));
        self.setup = change(setup);
    }

    /// Renders; a bundle passes all checks at once.
    fn render(&mut self) -> Outcome {
        let outcome = self.render_unchecked(None);
        if let Ok(rendering) = &outcome.rendering {
            self.good = Some(Arc::new(self.rendered(rendering.bundle.clone(), outcome.snapshots.clone())));
        }
        outcome
    }

    fn render_unchecked(&mut self, complaint: Option<&Arc<Complaint>>) -> Outcome {
        self.generation += 1;
        let (snapshots, fleet, limits) = (self.setup.snapshots(), Fleet::default(), Limits::default());
        let job = Job {
            compiled: &*self.compiled,
            config: &self.config,
            snapshots: &snapshots,
            fleet: &fleet,
            limits: &limits,
        };
        let moment =
            Moment { generation: Generation(self.generation), now: self.now, good: self.good.as_ref() };
        if let Some(complaint) = complaint {
            self.ward.hear(complaint, &self.renderer, &job, &moment);
        }
        self.ward.render(&mut self.renderer, &job, &moment)
    }

    fn rendered(&self, bundle: Bundle, snapshots: Snapshots) -> Rendered {
        let reconcile = Reconcile {
            generation: Generation(self.generation),
            cause: Cause::default(),
            triggered: Instant::now(),
        };
        let (config, took) = (Arc::new(self.config.clone()), Duration::ZERO);
        let (fleet, warnings, hindsight) = (Arc::default(), Vec::new(), Hindsight::default());
        Rendered { reconcile, config, snapshots, fleet, bundle, took, warnings, hindsight }
    }

    fn held(&self) -> Vec<String> {
        let told = self.ward.told();
        told.held.values().map(|held| format!("{} {}", held.object.name, held.replaced)).collect()
    }

    /// What a cluster with these objects alone looks like.
    fn expected(&self, ingresses: &BTreeMap<String, String>) -> String {
        let mut setup = Setup { stores: self.setup.stores.clone(), ..Setup::new("") };
        setup.spec = self.setup.spec.clone();
        for object in self.setup.stores["ingresses"].iter().cloned().collect::<Vec<_>>() {
            setup.stores.get_mut("ingresses").unwrap().remove(&object.reference);
        }
        let setup = ingresses.iter().fold(setup, |setup, (name, host)| put(setup, name, host));
        text(&setup.bundle().unwrap_or_else(|e| panic!("{}", all(&e))).0)
    }
}

fn put(setup: Setup, name: &str, host: &str) -> Setup {
    setup.ingress("n", name, host, &[("/", "s")])
}

fn note(setup: Setup, name: &str, note: &str) -> Setup {
    let service = json!({"metadata": {"namespace": "n", "name": name, "note": note}});
    setup.object("services", "n", name, &["n", name], service)
}

fn text(bundle: &Bundle) -> String {
    bundle.all().map(|file| format!("== {}\n{}", file.path, file.text)).collect()
}

fn cluster() -> Cluster {
    Cluster::new(Setup::new(TEMPLATE).map("host.map", MAP))
}

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
            let held = cluster.ward.told().held;
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
        let renders = (1..=10).find(|_| cluster.render().rendering.is_ok());
        assert!(renders.is_some_and(|renders| renders < 5), "{is_fresh}: {renders:?}");
        let config = cluster.good.as_ref().unwrap().bundle.config.text.to_string();
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
    let told = cluster.ward.told();
    let (_, held) = told.held.first_key_value().unwrap();
    assert!(
        held.to_string()
            .ends_with("It is not served: no good version of it is known since this controller started"),
        "{held}"
    );
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
        let complaint = complaint(&cluster, &outcome, "a", suspected);
        let refused = |outcome: Outcome| outcome.rendering.is_err_and(|faults| faults.objects.is_empty());
        assert!(refused(cluster.render_unchecked(Some(&complaint))) && cluster.held().is_empty());
        cluster.change(|setup| note(setup, "a", "changed"));
        assert!(refused(cluster.render_unchecked(Some(&complaint))), "a complaint counts once");
        match suspected {
            true => cluster.now += cluster.ward.next_try(cluster.now).unwrap(),
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
        let complaint = Arc::new(Complaint {
            objects: Vec::new(),
            templates: Some(Diagnostic::error("haproxy", "unknown keyword")),
            ..(*complaint(&cluster, &outcome, "a", false)).clone()
        });
        let faults = cluster.render_unchecked(Some(&complaint)).rendering.unwrap_err();
        let message = &faults.others[0].message;
        assert!(message.contains("refused as a whole") && message.contains("unknown keyword"), "{message}");
        cluster.change(|setup| put(setup, "late", "late.example"));
        let outcome = cluster.render_unchecked(None);
        assert!(outcome.rendering.is_err() && outcome.renders == 0, "nothing is rendered with it");
        let rest = cluster.ward.next_try(cluster.now).unwrap();
        assert_eq!(rest.as_secs(), seconds);
        cluster.now += rest;
    }
    assert!(cluster.render().rendering.unwrap().bundle.config.text.contains("another comment"));
}

#[test]
fn while_a_new_configuration_is_refused_the_last_good_one_is_rendered_with_what_objects_are_now() {
    let mut cluster = cluster();
    cluster.change(|setup| put(put(setup, "a", "a.example"), "bad", "fails"));
    cluster.render().rendering.unwrap();
    configure(&mut cluster, &TEMPLATE.replace("rule.host}}\n", "rule.hots}}\n"));
    let new = cluster.config.clone();
    let stand_in =
        |new: &ActiveConfig, cluster: &Cluster| StandIn::of(new, cluster.good.as_ref(), None, &cluster.ward);
    let mut instead = stand_in(&new, &cluster).unwrap();
    cluster.render().rendering.unwrap_err();
    cluster.change(|setup| put(put(setup, "b", "b.example"), "worse", "control\u{7}"));
    let (snapshots, fleet, limits) = (cluster.setup.snapshots(), Fleet::default(), Limits::default());
    let given = stand_in::Cluster { snapshots: &snapshots, fleet: &fleet, limits: &limits };
    let moment = Moment { generation: Generation(9), now: cluster.now, good: cluster.good.as_ref() };
    let outcome = instead.render(&mut cluster.renderer, given, &Vec::new(), &moment).unwrap();
    let text = outcome.rendering.unwrap().bundle.config.text.to_string();
    assert!(text.contains("a.example") && text.contains("b.example"), "{text}");
    let held = instead.ward().told().held;
    assert_eq!(held.keys().map(|object| &*object.name).collect::<Vec<_>>(), ["bad", "worse"]);

    assert!(stand_in(&cluster.good.as_ref().unwrap().config, &cluster).is_none(), "it is the same one");
    let mut other = new.clone();
    Arc::make_mut(&mut other.spec).watched_resources.remove("services");
    assert!(stand_in(&other, &cluster).is_none(), "what it watches is not there any more");
}

fn map_of(outcome: &Outcome) -> String {
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

fn complaint(cluster: &Cluster, outcome: &Outcome, object: &str, suspected: bool) -> Arc<Complaint> {
    let bundle = outcome.rendering.as_ref().unwrap().bundle.clone();
    let rendered = Arc::new(cluster.rendered(bundle, outcome.snapshots.clone()));
    let of = vec![(
        Arc::new(ObjectRef::new("ingresses", "n", object)),
        Diagnostic::error("haproxy", "HAProxy: no"),
    )];
    let (objects, suspects) = if suspected { (Vec::new(), of) } else { (of, Vec::new()) };
    Arc::new(Complaint { rendered, good: None, objects, suspects, templates: None, took: Duration::ZERO })
}

#[test]
fn what_a_check_refuses_goes_back_and_is_tried_again_when_it_changes_or_after_a_rest() {
    let mut cluster = cluster();
    cluster.change(|setup| put(put(setup, "a", "good.example"), "b", "b.example"));
    cluster.render();
    cluster.change(|setup| put(setup, "a", "bad.example"));
    let outcome = cluster.render_unchecked(None);
    let complaint = complaint(&cluster, &outcome, "a", false);
    let text = cluster.render_unchecked(Some(&complaint)).rendering.unwrap().bundle.config.text.clone();
    assert!(text.contains("good.example") && !text.contains("bad.example"));
    assert_eq!(cluster.held(), ["a true"]);
    assert_eq!(cluster.ward.next_try(cluster.now), Some(Duration::from_secs(240)));
    cluster.render_unchecked(Some(&complaint)).rendering.unwrap();
    assert_eq!(cluster.held(), ["a true"], "a complaint counts once");
    // The first time, what its block had read counts at once.
    cluster.change(|setup| note(setup, "a", "fine"));
    let outcome = cluster.render_unchecked(None);
    assert_eq!(cluster.held(), Vec::<String>::new());
    let again = self::complaint(&cluster, &outcome, "a", false);
    cluster.render_unchecked(Some(&again)).rendering.unwrap();
    cluster.change(|setup| note(setup, "a", "better"));
    cluster.render();
    assert_eq!(cluster.held(), ["a true"], "a service that changes all the time costs no check each time");
    assert_eq!(cluster.ward.next_try(cluster.now), Some(Duration::from_secs(30)));
    cluster.now += Duration::from_secs(30);
    let outcome = cluster.render_unchecked(None);
    assert_eq!(cluster.held(), Vec::<String>::new());
    let again = self::complaint(&cluster, &outcome, "a", false);
    cluster.render_unchecked(Some(&again)).rendering.unwrap();
    cluster.render();
    assert_eq!(
        cluster.ward.next_try(cluster.now),
        Some(Duration::from_secs(1)),
        "another version is tried then"
    );
    cluster.now += Duration::from_secs(1);
    assert_eq!(cluster.ward.next_try(cluster.now), Some(Duration::from_secs(59)));
    cluster.now += Duration::from_secs(59);
    assert_eq!(cluster.ward.next_try(cluster.now), Some(Duration::from_secs(900)));
    cluster.change(|setup| put(setup, "a", "other.example"));
    assert!(cluster.render().rendering.unwrap().bundle.config.text.contains("other.example"));
    assert_eq!(cluster.held(), Vec::<String>::new());
}

#[test]
fn a_suspect_whose_own_object_did_not_change_stays_as_long_as_another_one_is_held() {
    let mut cluster = cluster();
    cluster.change(|setup| note(put(put(setup, "a", "a.example"), "b", "b.example"), "b", "fine"));
    cluster.render();
    cluster.change(|setup| note(put(setup, "a", "other.example"), "b", "other"));
    let outcome = cluster.render_unchecked(None);
    let complaint = |names: &[&str]| {
        let all = names.iter().map(|name| self::complaint(&cluster, &outcome, name, true));
        let suspects = all.flat_map(|complaint| complaint.suspects.clone()).collect();
        Arc::new(Complaint { suspects, ..(*self::complaint(&cluster, &outcome, "a", true)).clone() })
    };
    let (both, last) = (complaint(&["a", "b"]), complaint(&["b"]));
    cluster.render_unchecked(Some(&both)).rendering.unwrap();
    assert_eq!(cluster.held(), ["a true"]);
    cluster.render_unchecked(Some(&last)).rendering.unwrap();
    assert_eq!(cluster.held(), ["a true", "b false"], "it is nobody else");
}

#[test]
fn a_complaint_about_a_version_that_is_gone_is_nothing() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "a", "bad.example"));
    let outcome = cluster.render_unchecked(None);
    let complaint = complaint(&cluster, &outcome, "a", false);
    cluster.change(|setup| put(setup, "a", "good.example"));
    cluster.render_unchecked(Some(&complaint)).rendering.unwrap();
    assert_eq!(cluster.held(), Vec::<String>::new());
}

#[test]
fn a_complaint_whose_cause_was_elsewhere_and_is_gone_is_nothing_the_first_time() {
    let mut cluster = cluster();
    cluster.change(|setup| note(put(setup, "a", "a.example"), "a", "spoils it for a check"));
    let outcome = cluster.render_unchecked(None);
    let complaint = complaint(&cluster, &outcome, "a", false);
    cluster.change(|setup| note(setup, "a", "fine"));
    cluster.render_unchecked(Some(&complaint)).rendering.unwrap();
    assert_eq!(cluster.held(), Vec::<String>::new());
    let outcome = cluster.render_unchecked(None);
    let again = self::complaint(&cluster, &outcome, "a", false);
    cluster.change(|setup| note(setup, "a", "other"));
    cluster.render_unchecked(Some(&again)).rendering.unwrap();
    assert_eq!(cluster.held(), ["a false"], "what changes all the time is no excuse");
}

#[test]
fn those_only_suspected_come_back_half_by_half_as_bundles_pass() {
    let mut cluster = cluster();
    for number in 0..4 {
        cluster.change(|setup| put(setup, &format!("i{number}"), "h.example"));
    }
    let outcome = cluster.render_unchecked(None);
    let mut all = Vec::new();
    for number in 0..4 {
        all.extend(complaint(&cluster, &outcome, &format!("i{number}"), true).suspects.clone());
    }
    let complaint = complaint(&cluster, &outcome, "i0", true);
    let complaint = Arc::new(Complaint { suspects: all, ..(*complaint).clone() });
    cluster.render_unchecked(Some(&complaint)).rendering.unwrap();
    assert_eq!(cluster.held().len(), 4);
    cluster.render();
    assert_eq!(cluster.held().len(), 4, "nothing without them has passed before this render");
    let mut left = Vec::new();
    while !cluster.held().is_empty() && left.len() < 10 {
        cluster.render();
        left.push(cluster.held().len());
    }
    assert_eq!(left, [2, 1, 0]);
}

#[test]
fn two_pods_that_fail_alike_leave_what_stands_in_for_the_object() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "a", "good.example"));
    cluster.render();
    cluster.change(|setup| put(setup, "a", "bad.example"));
    let outcome = cluster.render_unchecked(None);
    for _ in ["one pod", "the other"] {
        let complaint = complaint(&cluster, &outcome, "a", false);
        cluster.render_unchecked(Some(&complaint)).rendering.unwrap();
        assert_eq!(cluster.held(), ["a true"]);
    }
}

#[test]
fn what_a_reload_refuses_goes_back_to_what_the_pod_ran_though_all_checks_had_passed() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "a", "good.example"));
    cluster.render();
    let ran = cluster.good.clone();
    cluster.change(|setup| put(setup, "a", "bad.example"));
    let outcome = cluster.render();
    let complaint = complaint(&cluster, &outcome, "a", false);
    let complaint = Arc::new(Complaint { good: ran, ..(*complaint).clone() });
    let text = cluster.render_unchecked(Some(&complaint)).rendering.unwrap().bundle.config.text.clone();
    assert!(text.contains("good.example") && !text.contains("bad.example"), "{text}");
    assert_eq!(cluster.held(), ["a true"]);
}

#[test]
fn of_suspects_that_cost_a_reload_the_one_at_fault_is_alone_after_a_few_tries() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "always", "always.example"));
    cluster.render();
    let ran = cluster.good.clone();
    for number in 0..16 {
        cluster.change(|setup| put(setup, &format!("i{number:02}"), "h.example"));
    }
    let mut reloads = 0;
    let mut back: BTreeMap<String, bool> = BTreeMap::new();
    loop {
        let outcome = cluster.render();
        let text = outcome.rendering.as_ref().unwrap().bundle.config.text.to_string();
        let held: Vec<String> = cluster.held().iter().map(|held| held.replace(" false", "")).collect();
        let tried: Vec<String> = (0..16)
            .map(|n| format!("i{n:02}"))
            .filter(|n| !held.contains(n) && !back.contains_key(n))
            .collect();
        if !tried.is_empty() {
            reloads += 1;
        }
        if text.contains("backend i11\n") {
            let [first, ..] = &*tried else { panic!("nothing was tried") };
            if tried.len() == 1 {
                assert_eq!(first, "i11");
                break;
            }
            let suspects: Vec<_> = tried
                .iter()
                .flat_map(|name| complaint(&cluster, &outcome, name, true).suspects.clone())
                .collect();
            let all = complaint(&cluster, &outcome, first, true);
            let all = Arc::new(Complaint { suspects, good: ran.clone(), ..(*all).clone() });
            cluster.render_unchecked(Some(&all)).rendering.unwrap();
            assert_eq!(cluster.ward.next_try(cluster.now), Some(Duration::from_secs(30)));
        } else {
            back.extend(tried.into_iter().map(|name| (name, true)));
        }
        cluster.now += Duration::from_secs(30);
        assert!(reloads < 25, "{held:?}");
    }
    assert_eq!(back.len(), 15, "everybody else is back by then");
}

#[test]
fn what_is_told_is_what_is_news() {
    let mut cluster = cluster();
    let before = cluster.ward.told();
    cluster.change(|setup| put(put(setup, "a", "fails"), "b", "fails"));
    cluster.render();
    let held = cluster.ward.told();
    let (entered, left) = changes(&before, &held, &cluster.setup.snapshots());
    assert_eq!((entered.len(), left.len()), (2, 0));
    let removed: Object = (**cluster.setup.stores["ingresses"].iter().next().unwrap()).clone();
    cluster.setup.stores.get_mut("ingresses").unwrap().remove(&removed.reference);
    cluster.change(|setup| put(setup, "b", "b.example"));
    cluster.render();
    let (entered, left) = changes(&held, &cluster.ward.told(), &cluster.setup.snapshots());
    assert!(entered.is_empty());
    let told: Vec<String> = left.iter().map(ToString::to_string).collect();
    assert!(told[0].contains("n/a is gone") && told[1].contains("n/b is good again"), "{told:?}");
}
