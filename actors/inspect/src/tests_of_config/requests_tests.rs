//! Tests of a configuration that ask, with HAProxy 3.0, 3.2 and 3.4.

use super::{
    tests::{failure, service, suite},
    *,
};
use haptic_model::HaproxyVersion;
use haptic_validate::{Binaries, CheckLimits, Checker, Sandbox};
use serde_json::{Value, json};
use std::time::Duration;

/// The suite, checked by the HAProxy of this version.
fn with(version: HaproxyVersion, tests: Value) -> Suite {
    let variable = format!("HAPTIC_HAPROXY_{}_{}", version.major, version.minor);
    let haproxy = std::env::var_os(&variable)
        .unwrap_or_else(|| panic!("{variable} is not set: run this test through `make test`"));
    let binaries = Binaries::probe([haproxy]).unwrap();
    Suite {
        checker: Checker::new(binaries, CheckLimits::default(), Sandbox::none()),
        version,
        ..suite(tests)
    }
}

/// One test with two Services, of which the shop answers to all.
fn asking(requests: Value) -> Value {
    let fixtures = json!({"services": [service("shop"), service("blog")]});
    json!({"name": "one", "fixtures": fixtures, "extraContext": {"asked": true}, "requests": requests})
}

#[tokio::test]
async fn a_request_passes_where_the_answer_is_as_expected_and_says_all_that_is_not() {
    let requests = json!([
        {"request": {"url": "http://a.example/x"}, "expect": {"status": 200, "backend": "shop", "server": "a", "body": "GET /x"}},
        {"description": "It is the blog", "request": {"url": "http://a.example/x", "method": "POST", "body": "b"},
         "expect": {"status": 404, "backend": "blog", "headers": {"arrived-host": null}}},
        {"request": {"url": "https://a.example/"}, "expect": {"status": 200}},
    ]);
    for minor in [0, 2, 4] {
        let result =
            run(&with(HaproxyVersion::new(3, minor), json!([asking(requests.clone())])), |_| {}).await;
        let result = &result.tests[0];
        let told: Vec<_> = result.assertions.iter().map(|a| (a.kind, a.title(), a.passed)).collect();
        assert_eq!(
            told,
            [
                ("request", "request GET http://a.example/x".to_owned(), true),
                ("request", "It is the blog".to_owned(), false),
                ("request", "request GET https://a.example/".to_owned(), false),
            ]
        );
        assert!(!result.passed && !result.undecided);
        assert_eq!(
            failure(result),
            "Status is 200, expected 404\nHeader arrived-host is \"a.example\", expected none\n\
             It went to backend \"shop\", expected backend \"blog\"\n\
             It was answered with 200 by server a of backend shop\n\
             There is no answer: no bind line has TLS; there is: 7999; 8000"
        );
    }
}

#[tokio::test]
async fn a_configuration_that_does_not_start_fails_its_test_once_with_template_and_object() {
    let mut test = asking(json!([
        {"request": {"url": "http://a.example/"}, "expect": {"status": 200}},
        {"request": {"url": "http://a.example/x"}, "expect": {"status": 200}},
    ]));
    test["extraContext"]["balance"] = json!("nonesuch");
    let report = run(&with(HaproxyVersion::new(3, 4), json!([test])), |_| {}).await;
    let told = failure(&report.tests[0]);
    for part in [
        "HAProxy does not start with what was rendered",
        "nonesuch",
        "services default/blog",
        "haproxyConfig:10",
    ] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    assert_eq!(report.tests[0].assertions.len(), 1);
    let broken = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "bad"}, "spec": {}});
    let mut test = asking(json!([{"request": {"url": "http://a.example/"}, "expect": {"status": 200}}]));
    test["fixtures"]["services"] = json!([broken]);
    let report = run(&with(HaproxyVersion::new(3, 4), json!([test])), |_| {}).await;
    assert!(failure(&report.tests[0]).starts_with("rendering failed: "), "{report:#?}");
}

#[tokio::test]
async fn what_there_is_no_time_for_is_told_and_fails_nothing() {
    let tests: Vec<Value> = (0..100)
        .map(|number| {
            let request = json!({"request": {"url": "http://a.example/"}, "expect": {"status": 200}});
            let mut test = asking(json!(vec![request; 60]));
            test["name"] = json!(format!("t{number}"));
            test["extraContext"]["silent"] = json!(true);
            test
        })
        .collect();
    let suite = Suite {
        requests_within: Some(Duration::from_secs(1)),
        ..with(HaproxyVersion::new(3, 4), json!(tests))
    };
    // Each alone would take five minutes.
    let report = tokio::time::timeout(Duration::from_secs(120), run(&suite, |_| {})).await.unwrap();
    assert_eq!((report.passed, report.failed), (100, 0));
    assert!(
        report.tests.iter().all(|test| test.unsent.is_some() && test.assertions.is_empty()),
        "{report:#?}"
    );
}
