//! Every object at fault is named in one pass, by its own fault only, and nobody else is.

use crate::support::Setup;
use haptic_attribution::{FaultKind, Faults};
use haptic_model::store::Read;
use haptic_model::{FileKey, Fleet};
use haptic_render::{Checked, RenderJob, RenderLimits, Renderer};
use serde_json::json;
use std::time::Duration;

/// What becomes of an Ingress is said by its host.
const TEMPLATE: &str = "\
defaults
{{#each (list \"ingresses\") as |ing|}}
{{#with ing.spec.rules.0 as |rule|}}
{{#if (eq rule.host \"fails\")}}{{warn \"about to fail\"}}{{rule.nope}}{{/if}}
{{#if (eq rule.host \"registered\")}}{{register_error ing \"not yours\"}}{{/if}}
backend {{proxy_name ing.metadata.name}}
  description {{rule.host}}
{{#each (fetch \"endpoints\" ing.metadata.namespace ing.metadata.name) as |slice|}}
  # {{slice.metadata.note}}
{{/each}}
{{/with}}
{{/each}}
";

fn faults(setup: &Setup) -> Faults {
    let mut renderer = Renderer::checked(Checked::Always);
    let (config, compiled) = (setup.config(), setup.compile().unwrap());
    let mut attempt = || {
        renderer.attempt(&RenderJob {
            compiled: &compiled,
            config: &config,
            snapshots: &setup.snapshots(),
            fleet: &Fleet::default(),
            limits: &setup.limits,
        })
    };
    let first = attempt().unwrap_err();
    assert_eq!(first, attempt().unwrap_err(), "the same faults are found again");
    assert!(renderer.take_difference().is_none());
    first
}

fn told(faults: &Faults) -> Vec<String> {
    let of = |(object, sentence): (&std::sync::Arc<haptic_model::ObjectRef>, &haptic_model::Diagnostic)| {
        format!("{}: {}", object.name, sentence.message)
    };
    faults.messages().map(of).collect()
}

fn with(hosts: &[(&str, &str)]) -> Setup {
    hosts
        .iter()
        .fold(Setup::new(TEMPLATE), |setup, (name, host)| setup.ingress("n", name, host, &[("/", "s")]))
}

#[test]
fn each_object_at_fault_is_told_of_in_one_pass_whatever_its_fault() {
    let setup = with(&[
        ("a", "fails"),
        ("b", "good.example"),
        ("c", "registered"),
        ("d", "control\u{7}"),
        ("e", "fails"),
        ("f", "registered"),
    ]);
    let faults = faults(&setup);
    assert!(faults.others.is_empty(), "{faults:?}");
    let said = told(&faults);
    assert_eq!(said.len(), 5, "{said:?}");
    for (said, expected) in
        said.iter().zip(["a: rule.nope is missing", "c: not yours", "d: the value \"control"])
    {
        assert!(said.starts_with(expected), "{said}");
    }
    let kinds: Vec<FaultKind> = faults.objects.values().map(|of_one| of_one[0].kind).collect();
    use FaultKind::{Failed, Registered, Value};
    assert_eq!(kinds, [Failed, Registered, Value, Failed, Registered]);
}

#[test]
fn what_another_object_does_to_a_block_is_the_fault_of_the_blocks_object() {
    let slice = json!({"metadata": {"namespace": "n", "name": "a-1", "note": "x\u{7}"}});
    let none = json!({"metadata": {"namespace": "n", "name": "b-1"}});
    let setup = with(&[("a", "a.example"), ("b", "b.example"), ("c", "c.example")])
        .object("endpoints", "n", "a-1", &["n", "a"], slice)
        .object("endpoints", "n", "b-1", &["n", "b"], none);
    let faults = faults(&setup);
    let blamed: Vec<String> = faults.objects.keys().map(ToString::to_string).collect();
    assert_eq!(blamed, ["ingresses n/a", "ingresses n/b"]);
    for (name, of_one) in ["a", "b"].into_iter().zip(faults.objects.values()) {
        assert_eq!(&*of_one[0].diagnostic.object.as_ref().unwrap().resource, "endpoints");
        let read = Read { resource: "endpoints".into(), key: ["n".into(), name.into()].into() };
        assert!(of_one[0].reads.as_ref().unwrap().contains(&read), "{of_one:?}");
    }
}

#[test]
fn a_failed_block_leaves_no_trace_in_a_render_that_keeps_what_did_not_change() {
    let template = "\
{{#each (list \"ingresses\") as |ing|}}
  {{> inner}}
# {{ing.metadata.name}} {{#each ing.spec.rules as |rule|}}{{add_file \"file\" \"shared\" \"x\"}} {{#if (eq rule.host \"fails\")}}{{fail \"it fails\"}}{{/if}}{{/each}}
{{/each}}
tail
";
    let setup = Setup::new(template)
        .snippet("inner", "{{#if (eq ing.spec.rules.0.host \"deep\")}}{{> inner}}{{/if}}\n")
        .ingress("n", "a", "fails", &[])
        .ingress("n", "b", "b.example", &[])
        .ingress("n", "c", "deep", &[])
        .ingress("n", "d", "d.example", &[]);
    let (config, compiled) = (setup.config(), setup.compile().unwrap());
    let mut renderer = Renderer::checked(Checked::Always);
    let mut attempt = |setup: &Setup| {
        renderer.attempt(&RenderJob {
            compiled: &compiled,
            config: &config,
            snapshots: &setup.snapshots(),
            fleet: &Fleet::default(),
            limits: &RenderLimits::default(),
        })
    };
    let faults = attempt(&setup).unwrap_err();
    assert_eq!(told(&faults)[0], "a: it fails");
    assert!(told(&faults)[1].starts_with("c: snippets are nested deeper"), "{faults:?}");
    let mut without = setup;
    for name in ["a", "c"] {
        let reference = haptic_model::ObjectRef::new("ingresses", "n", name);
        without.stores.get_mut("ingresses").unwrap().remove(&reference);
    }
    let bundle = attempt(&without).unwrap().bundle;
    assert!(bundle.config.text.to_string().ends_with("tail\n"));
    assert_eq!(bundle.files.keys().map(|path| &**path).collect::<Vec<_>>(), ["general/shared"]);
    assert!(renderer.take_difference().is_none());
}

#[test]
fn all_who_add_a_file_that_cannot_be_are_at_fault() {
    let template = "{{#each (list \"ingresses\") as |ing|}}\n# {{add_file \"certificate\" \"shared.pem\" ing.spec.rules.0.host}}\n{{/each}}\n";
    let setup = Setup::new(template).ingress("n", "a", "h\u{7}", &[]).ingress("n", "b", "h\u{7}", &[]);
    assert_eq!(told(&faults(&setup)).len(), 2);
}

#[test]
fn what_the_templates_do_is_no_objects_fault_and_hides_none() {
    let setup = with(&[("a", "fails")]).map("m", "{{nope}}");
    let faults = faults(&setup);
    assert_eq!(told(&faults), ["a: rule.nope is missing: rule is a dict with host, http, without \"nope\""]);
    assert!(faults.others[0].message.starts_with("nope is missing"), "{:?}", faults.others);
}

/// Prints as many lines for each Ingress as its host has letters.
const LINES: &str = "{{#each (list \"ingresses\") as |ing|}}\n{{#each (range (len ing.spec.rules.0.host))}}\n# a line of some length\n{{/each}}\n{{/each}}\n";

#[test]
fn whose_block_prints_more_than_one_may_is_at_fault_while_it_prints() {
    let long = "h".repeat(300);
    let mut setup = Setup::new(LINES).ingress("n", "a", "short", &[]).ingress("n", "b", &long, &[]);
    setup.limits = RenderLimits { block: 1_000, ..RenderLimits::default() };
    let alone = faults(&setup);
    assert_eq!(told(&alone), ["b: what is printed and kept for it is longer than 1000 bytes"]);
    let fault = &alone.objects.values().next().unwrap()[0].diagnostic;
    assert_eq!(fault.field.as_deref(), Some("spec.controller.limits.blockBytes"));
    // Empty lines count, too: what is noted of each takes memory.
    let mut setup = Setup::new(&LINES.replace("# a line of some length", ""));
    setup = setup.ingress("n", "b", &"h".repeat(2_000), &[]);
    setup.limits = RenderLimits { block: 1_000, ..RenderLimits::default() };
    assert_eq!(told(&faults(&setup)).len(), 1);
}

#[test]
fn a_namespace_that_prints_more_than_half_of_what_all_may_is_at_fault_and_nobody_else() {
    let many = |name: &dyn Fn(usize) -> String| {
        let mut setup = Setup::new(LINES).ingress("good", "z", "hhhh", &[]);
        setup.limits = RenderLimits { output: 20_000, ..RenderLimits::default() };
        (0..400).fold(setup, |setup, n| setup.ingress(&name(n), &format!("{n:03}"), "hh", &[]))
    };
    let all = faults(&many(&|_| "junk".to_owned()));
    assert!(all.others.is_empty() && all.objects.len() > 100, "{} {:?}", all.objects.len(), all.others);
    assert!(all.objects.keys().all(|object| &*object.namespace == "junk"));
    assert!(
        told(&all)[0].contains("objects of namespace \"junk\" print more than 10000 bytes"),
        "{:?}",
        told(&all)[0]
    );
    // Of many namespaces those that print most.
    let all = faults(&many(&|n| format!("{n:03}")));
    assert!(all.others.is_empty() && all.objects.len() > 100, "{} {:?}", all.objects.len(), all.others);
    let of_good = all.objects.keys().filter(|object| &*object.namespace == "good").count();
    let said = told(&all)[0].clone();
    assert!(of_good <= 1 && said.contains("all objects print ") && said.contains("namespace"), "{said}");
}

#[test]
fn a_map_has_no_more_lines_than_it_may_and_half_of_them_are_of_one_namespace() {
    let map = "{{#each (list \"ingresses\") as |ing|}}\n{{ing.metadata.name}} x\n{{/each}}\n";
    let with_lines = |of: &[(&str, usize)]| {
        let setup = Setup::new("global\n").map("hosts.map", map);
        let setup = setup.with("controller", json!({"limits": {"mapEntries": 6}}));
        let all = of.iter().flat_map(|(namespace, count)| (0..*count).map(move |n| (*namespace, n)));
        all.fold(setup, |setup, (namespace, n)| setup.ingress(namespace, &n.to_string(), "h", &[]))
    };
    assert!(with_lines(&[("a", 1), ("junk", 3)]).bundle().is_ok());
    let all = faults(&with_lines(&[("a", 3), ("junk", 5), ("z", 1)]));
    let names: Vec<_> =
        all.objects.keys().map(|object| format!("{}/{}", object.namespace, object.name)).collect();
    assert_eq!((names, all.others.len()), (vec!["junk/3".to_owned(), "junk/4".to_owned()], 0));
    let said = told(&all)[0].clone();
    assert!(said.contains("hosts.map has more than 3 lines of objects of namespace \"junk\""), "{said}");
    // Of many namespaces that of which most are.
    let all = faults(&with_lines(&[("a", 2), ("junk", 3), ("z", 2)]));
    let names: Vec<_> =
        all.objects.keys().map(|object| format!("{}/{}", object.namespace, object.name)).collect();
    assert_eq!((names, all.others.len()), (vec!["junk/2".to_owned()], 0));
    let said = told(&all)[0].clone();
    assert!(said.contains("hosts.map has 7 lines, of 6"), "{said}");
    assert!(said.ends_with("3 of them are of objects of namespace \"junk\""), "{said}");
}

#[test]
fn haproxy_has_no_more_servers_than_it_may_and_three_quarters_of_them_are_of_one_namespace() {
    let template = "global\n{{#each (list \"ingresses\") as |ing|}}\nbackend {{ing.metadata.namespace}}-{{ing.metadata.name}}\n  # server of nobody\n  server a 10.0.0.1:80\n  server-template b 2 {{ing.spec.rules.0.host}}:80\n{{/each}}\n";
    let with = |of: &[(&str, usize)]| {
        let setup = Setup::new(template).with("controller", json!({"limits": {"servers": 18}}));
        let all = of.iter().flat_map(|(namespace, count)| (0..*count).map(move |n| (*namespace, n)));
        all.fold(setup, |setup, (namespace, n)| setup.ingress(namespace, &n.to_string(), "h", &[]))
    };
    assert!(with(&[("a", 2), ("junk", 4)]).bundle().is_ok());
    let all = faults(&with(&[("a", 2), ("junk", 5)]));
    let names: Vec<_> = all.objects.keys().map(|object| object.name.to_string()).collect();
    assert_eq!((names, all.others.len()), (vec!["4".to_owned()], 0));
    let said = told(&all)[0].clone();
    assert!(said.contains("haproxy.cfg has more than 13 servers of objects of namespace \"junk\""), "{said}");
}

#[test]
fn files_beyond_a_namespaces_half_are_the_fault_of_those_who_add_them() {
    let template = "{{#each (list \"ingresses\") as |ing|}}\n# {{add_file \"certificate\" (concat ing.metadata.namespace ing.metadata.name) ing.spec.rules.0.host}}\n{{/each}}\n";
    let limited = |limits, host: &str| {
        let setup = Setup::new(template).with("controller", json!({ "limits": limits }));
        let setup = setup.ingress("good", "z", "h", &[]);
        faults(&(0..5).fold(setup, |setup, n| setup.ingress("junk", &n.to_string(), host, &[])))
    };
    let names =
        |faults: &Faults| faults.objects.keys().map(|object| object.name.to_string()).collect::<Vec<_>>();
    let many = limited(json!({"files": 6}), "h");
    assert_eq!(names(&many), ["3", "4"]);
    assert!(
        told(&many)[0].contains("files for objects of namespace \"junk\" are more than 3"),
        "{:?}",
        told(&many)
    );
    let large = limited(json!({"fileBytes": 16_000}), &"h".repeat(3_000));
    assert_eq!(names(&large), ["2", "3", "4"]);
    assert!(told(&large)[0].contains("have more than 8000 bytes"), "{:?}", told(&large));
}

#[test]
fn a_line_knows_the_block_that_it_would_not_be_there_without() {
    let slice = json!({"metadata": {"namespace": "n", "name": "a-1", "note": "x"}});
    let setup = with(&[("a", "a.example")]).object("endpoints", "n", "a-1", &["n", "a"], slice);
    let (bundle, _) = setup.bundle().unwrap();
    let number = bundle.config.text.to_string().lines().position(|line| line.contains("# x")).unwrap() + 1;
    let number = u32::try_from(number).unwrap();
    assert_eq!(bundle.config.key, FileKey::config());
    assert_eq!(&*bundle.config.text.origin(number).unwrap().object.unwrap().resource, "endpoints");
    assert_eq!(&*bundle.config.text.blamed(number).unwrap().resource, "ingresses");
    assert_eq!(bundle.config.text.blamed(1), None);
}

#[test]
fn a_block_that_takes_most_of_the_time_is_at_fault() {
    let template = "{{#each (list \"ingresses\") as |ing|}}\n{{#if (eq ing.spec.rules.0.host \"slow\")}}{{let all=(range 10000)}}{{#each all}}{{#each all}}{{#each all}}{{/each}}{{/each}}{{/each}}{{/if}}\n{{/each}}\n";
    let mut setup = Setup::new(template).ingress("n", "a", "slow", &[]);
    setup.limits = RenderLimits { time: Duration::from_millis(50), ..RenderLimits::default() };
    let (config, compiled) = (setup.config(), setup.compile().unwrap());
    let faults = Renderer::checked(Checked::Never)
        .attempt(&RenderJob {
            compiled: &compiled,
            config: &config,
            snapshots: &setup.snapshots(),
            fleet: &Fleet::default(),
            limits: &setup.limits,
        })
        .unwrap_err();
    assert!(
        told(&faults)[0].starts_with("a: objects of namespace \"n\" take longer than 25ms"),
        "{faults:?}"
    );
}
