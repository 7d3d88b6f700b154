//! Tests of the tests, with a real HAProxy where `haproxy_valid` is asked.

use super::*;
use haptic_model::HaproxyVersion;
use haptic_render::compile;
use haptic_validate::{Binaries, CheckLimits, Checker, Sandbox};
use serde_json::{Value, json};

const CONFIG: &str = "defaults\n  mode http\n  timeout client 1s\n  timeout connect 1s\n  timeout server 1s\n\
    frontend web\n  bind 127.0.0.1:7999\n{{#each (list \"services\") as |s|}}\nbackend {{proxy_name s.metadata.name}}\n  \
    balance {{get @root.extraContext \"balance\" \"random\"}}\n  server a {{s.spec.clusterIP}}:80\n{{/each}}\n\
    {{#if (get extraContext \"asked\" false)}}\nfrontend asked\n  bind 127.0.0.1:8000\n  default_backend shop\n{{/if}}\n\
    {{#if (get extraContext \"silent\" false)}}\n  tcp-request inspect-delay 1h\n  tcp-request content accept if WAIT_END\n{{/if}}\n";

const HOSTS: &str = "{{#each (list \"services\") as |s|}}\n{{s.metadata.name}}.example {{proxy_name s.metadata.name}}\n{{/each}}\n";

pub(super) fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"clusterIP": "10.0.0.1"}})
}

pub(super) fn suite(tests: Value) -> Suite {
    let haproxy = std::env::var_os("HAPTIC_HAPROXY_3_4")
        .expect("HAPTIC_HAPROXY_3_4 is not set: run this test through `make test`");
    let config = json!({"apiVersion": "haproxy-haptic.org/v1alpha1", "kind": "HAProxyTemplateConfig", "metadata": {"name": "t"},
    "spec": {
        "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
        "watchedResources": {"services": {"apiVersion": "v1", "resources": "services"}},
        "haproxyConfig": {"template": CONFIG},
        "maps": {"host.map": {"template": HOSTS}},
        "files": {"info.json": {"template": "{\"kind\": \"info\"}"}},
        "validationTests": tests,
    }});
    let candidate = haptic_config::parse(&config.to_string(), "t.yaml").unwrap();
    let config = candidate.as_if_active().unwrap();
    Suite {
        compiled: compile(&config.spec).unwrap(),
        config,
        checker: Checker::new(Binaries::probe([haproxy]).unwrap(), CheckLimits::default(), Sandbox::none()),
        version: HaproxyVersion::new(3, 4),
        only: None,
        keep_rendered: false,
        requests_within: None,
    }
}

/// The report of one test with two Services and these assertions.
async fn report(assertions: Value) -> TestResult {
    let fixtures = json!({"services": [service("shop"), service("blog")]});
    let suite = suite(json!([{"name": "one", "fixtures": fixtures, "assertions": assertions}]));
    run(&suite, |_| {}).await.tests.remove(0)
}

pub(super) fn failure(result: &TestResult) -> String {
    let failed = result.assertions.iter().filter_map(|assertion| assertion.error.clone());
    result.error.clone().into_iter().chain(failed).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn every_assertion_type_passes_where_it_holds() {
    let result = report(json!([
        {"type": "haproxy_valid"},
        {"type": "deterministic"},
        {"type": "contains", "target": "haproxy_config", "pattern": "^backend shop$"},
        {"type": "not_contains", "target": "maps.host.map", "pattern": "nobody"},
        {"type": "equals", "target": "maps.host.map", "expected": "blog.example blog\nshop.example shop\n"},
        {"type": "match_count", "target": "haproxy_config", "pattern": "server a", "expected": 2},
        {"type": "match_order", "target": "haproxy_config", "patterns": ["^frontend", "^backend blog", "^backend shop"]},
        {"type": "jsonpath", "jsonpath": "resources.services[0].metadata.name", "expected": "blog"},
        {"type": "jsonpath", "jsonpath": "{.resources.services[*].metadata.name}", "expected": "blog shop"},
        {"type": "jsonpath", "target": "files.info.json", "jsonpath": "kind", "expected": "info"},
    ]))
    .await;
    assert!(result.passed, "{}", failure(&result));
    assert_eq!(result.assertions.len(), 10);
}

#[tokio::test]
async fn a_check_that_does_not_come_to_its_end_decides_nothing() {
    let mut suite = suite(json!([{"name": "one", "assertions": [{"type": "haproxy_valid"}]}]));
    let limits = CheckLimits { time: std::time::Duration::ZERO, ..CheckLimits::default() };
    let binaries = Binaries::probe([std::env::var_os("HAPTIC_HAPROXY_3_4").unwrap()]).unwrap();
    suite.checker = Checker::new(binaries, limits, Sandbox::none());
    let result = run(&suite, |_| {}).await.tests.remove(0);
    assert!(!result.passed && result.undecided, "{}", failure(&result));
}

#[tokio::test]
async fn every_assertion_type_fails_where_it_does_not_hold_and_says_why() {
    for (assertion, told, line) in [
        (
            json!({"type": "contains", "target": "haproxy_config", "pattern": "^backend shopp$"}),
            "not found in haproxy_config",
            "backend shop",
        ),
        (
            json!({"type": "not_contains", "target": "haproxy_config", "pattern": "balance"}),
            "unexpectedly found in haproxy_config, 2 times",
            "  balance random",
        ),
        (
            json!({"type": "equals", "target": "maps.host.map", "expected": "blog.example blog\n"}),
            "+shop.example shop",
            "",
        ),
        (
            json!({"type": "equals", "target": "maps.host.map", "expected": "blog.example blog\nshop.example shop"}),
            "only the newlines at the end differ",
            "",
        ),
        (
            json!({"type": "match_count", "target": "haproxy_config", "pattern": "^backend", "expected": "3"}),
            "found 2 times",
            "backend blog",
        ),
        (
            json!({"type": "match_order", "target": "haproxy_config", "patterns": ["^backend shop", "^backend blog"]}),
            "pattern 2 of 2, \"^backend blog\", not found in haproxy_config after line 11, only before it, in line 8",
            "backend blog",
        ),
        (
            json!({"type": "jsonpath", "jsonpath": "resources.services[0].metadata.name", "expected": "shop"}),
            "is \"blog\", expected \"shop\"",
            "",
        ),
        (json!({"type": "jsonpath", "jsonpath": "extraContext.nope"}), "leads to nothing", ""),
        (
            json!({"type": "jsonpath", "target": "maps.host.map", "jsonpath": "x"}),
            "maps.host.map is not JSON",
            "",
        ),
        (
            json!({"type": "contains", "target": "maps.hots.map", "pattern": "x"}),
            "did you mean maps.host.map?",
            "",
        ),
        (
            json!({"type": "not_contains", "target": "crtLists.x", "pattern": "x"}),
            "nothing was rendered for crtLists.x; there is: haproxy_config",
            "",
        ),
        (json!({"type": "contains", "target": "rendering_error", "pattern": "x"}), "rendering succeeded", ""),
        (
            json!({"type": "not_contains", "target": "rendering_error", "pattern": "x"}),
            "rendering succeeded",
            "",
        ),
    ] {
        let result = report(json!([assertion])).await;
        assert!(
            !result.passed && failure(&result).contains(told),
            "{assertion}: {:?}, not {told:?}",
            failure(&result)
        );
        let marked = |l: &ExcerptLine| l.marked && l.text == line;
        assert!(line.is_empty() || result.assertions[0].lines.iter().any(marked), "{result:#?}");
    }
}

#[tokio::test]
async fn the_lines_around_a_failure_know_template_and_object() {
    let result =
        report(json!([{"type": "not_contains", "target": "haproxy_config", "pattern": "^backend shop"}]))
            .await;
    let line = result.assertions[0].lines.iter().find(|line| line.marked).unwrap();
    assert_eq!(line.template.as_deref(), Some("haproxyConfig:9"));
    assert_eq!(line.object.as_deref(), Some("services default/shop"));
}

#[tokio::test]
async fn what_haproxy_refuses_leads_to_line_template_and_object() {
    let tests = json!({"one": {
        "fixtures": {"services": [service("shop")]},
        "extraContext": {"balance": "nonesuch"},
        "assertions": [{"type": "haproxy_valid"}],
    }});
    let report = run(&suite(tests), |_| {}).await;
    let told = failure(&report.tests[0]);
    for part in ["nonesuch", "services default/shop", "haproxyConfig:10"] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    assert!(report.tests[0].assertions[0].lines.iter().any(|line| line.marked), "{report:#?}");
}

#[tokio::test]
async fn a_render_that_fails_is_a_target_and_fails_every_other_assertion() {
    let bad = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "bad"}, "spec": {}});
    let tests = json!({"one": {"fixtures": {"services": [bad]}, "assertions": [
        {"type": "contains", "target": "rendering_error", "pattern": "services default/bad"},
        {"type": "haproxy_valid"},
        {"type": "deterministic"},
        {"type": "not_contains", "target": "haproxy_config", "pattern": "x"},
        {"type": "jsonpath", "jsonpath": "config"},
    ]}});
    let report = run(&suite(tests), |_| {}).await;
    let passed: Vec<bool> = report.tests[0].assertions.iter().map(|a| a.passed).collect();
    assert_eq!(passed, [true, false, false, false, false], "{report:#?}");
    assert!(failure(&report.tests[0]).contains("rendering failed: "));
}

#[tokio::test]
async fn tests_do_not_see_each_other_and_each_is_told_once() {
    let one = |name: &str, pattern: &str| {
        json!({"fixtures": {"services": [service(name)]}, "assertions": [
            {"type": "equals", "target": "maps.host.map", "expected": format!("{pattern}.example {pattern}\n")}]})
    };
    let mut tests: serde_json::Map<String, Value> =
        (0..40).map(|n| (format!("t{n:02}"), one(&format!("s{n}"), &format!("s{n}")))).collect();
    tests.insert("wrong".into(), one("a", "b"));
    let mut told = 0;
    let report = run(&suite(Value::Object(tests)), |_| told += 1).await;
    assert_eq!((report.total, report.passed, report.failed, told), (41, 40, 1, 41));
    assert!(report.tests.is_sorted_by_key(|test| test.name.clone()));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!((&json["total"], &json["passed"], &json["failed"]), (&json!(41), &json!(40), &json!(1)));
}

#[tokio::test]
async fn fixtures_that_no_store_can_hold_fail_the_test() {
    for (fixtures, told) in [
        (json!({"servces": [service("a")]}), "\"servces\" is not watched"),
        (
            json!({"services": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}]}),
            "Secret default/a",
        ),
    ] {
        let tests = json!({"one": {"fixtures": fixtures, "assertions": [{"type": "haproxy_valid"}]}});
        let report = run(&suite(tests), |_| {}).await;
        assert!(failure(&report.tests[0]).contains(told) && report.failed == 1, "{report:#?}");
    }
}

#[test]
fn a_test_that_proves_nothing_is_a_problem_of_the_configuration() {
    let suite = suite(json!([
        {"name": "", "assertions": [{"type": "haproxy_valid"}]},
        {"name": "empty"},
        {"name": "vague", "assertions": [{"type": "haproxy_valid"}, {"type": "contains", "target": "haproxy_cfg", "pattern": "x"}]},
    ]));
    let said: Vec<String> = problems(&suite.config.spec).iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].contains("a test has no name"), "{said:?}");
    assert!(said[1].contains("spec.validationTests.empty.assertions"), "{said:?}");
    assert!(
        said[2].contains("no target \"haproxy_cfg\"") && said[2].contains("vague.assertions[1]"),
        "{said:?}"
    );
}
