//! What is asked for Ingresses, and what is reported.

use super::{
    AnswerComparison, AnswerDifference, ComparedIngress, ComparedOutcome, ComparedRequest, ComparedScheme,
    RequestPlan, as_comparison_page, as_comparison_summary, requests::IngressRequests,
};
use crate::migrate::{Family, configuration};
use haptic_model::{Object, ObjectRef, Snapshot, Snapshots};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

fn plan(family: Family) -> RequestPlan {
    RequestPlan::new(&configuration(family, None).unwrap(), family, &Map::new())
}

fn object(annotations: &Value, spec: &Value) -> Object {
    let json = json!({
        "metadata": {"namespace": "shop", "name": "a", "annotations": annotations}, "spec": spec,
    });
    Object::new(ObjectRef::new("ingresses", "shop", "a"), &json)
}

fn spec(host: Option<&str>, paths: &[&str]) -> Value {
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let paths: Vec<Value> =
        paths.iter().map(|path| json!({"path": path, "pathType": "Prefix", "backend": backend})).collect();
    json!({"rules": [{"host": host, "http": {"paths": paths}}]})
}

fn asked(plan: &RequestPlan, annotations: &Value, spec: &Value) -> Vec<String> {
    let nothing = Snapshots::new(BTreeMap::from([("services".into(), Arc::new(Snapshot::full()))]));
    let all = plan.requests(&object(annotations, spec), &nothing);
    all.requests.iter().map(ToString::to_string).collect()
}

fn must_have(all: &[String], wanted: &[&str]) {
    for one in wanted {
        assert!(all.iter().any(|request| request.starts_with(one)), "{one} is not in {all:#?}");
    }
}

#[test]
fn a_path_is_asked_in_the_spellings_in_which_controllers_differ() {
    let all = asked(&plan(Family::HaproxyOrg), &json!({}), &spec(Some("a.example"), &["/shop/App"]));
    let wanted = [
        "GET http://a.example/shop/App (the path itself)",
        "GET http://a.example/shop/App/ (",
        "GET http://a.example/shop/App/haptic-compare (",
        "GET http://a.example/shop/Appx (",
        "GET http://a.example/SHOP/aPP (",
        "GET http://a.example/shop/%41pp (",
        "GET http://a.example/shop%2FApp (",
        "GET https://a.example/shop/App (the other scheme)",
        "HEAD http://a.example/shop/App (",
        "OPTIONS http://a.example/shop/App (",
        "GET http://a.example/ (",
        "GET http://a.example/haptic-compare (",
    ];
    must_have(&all, &wanted);
    assert_eq!(all.len(), wanted.len(), "{all:#?}");
}

#[test]
fn hosts_with_tls_are_asked_over_it_and_only_schemes_of_both_are_asked() {
    let mut tls = spec(Some("*.b.example"), &["/"]);
    tls["tls"] = json!([{"hosts": ["*.b.example"]}]);
    let mut plan = plan(Family::IngressNginx);
    let all = asked(&plan, &json!({}), &tls);
    must_have(
        &all,
        &[
            "GET https://haptic-compare.b.example/ (the path itself)",
            "GET http://haptic-compare.b.example/ (the other",
        ],
    );
    plan.schemes = vec![ComparedScheme::Http];
    let all = asked(&plan, &json!({}), &tls);
    assert!(!all.is_empty() && all.iter().all(|request| request.contains(" http://")), "{all:#?}");
}

#[test]
fn what_annotations_make_a_difference_for_is_asked() {
    let nginx = |key: &str| format!("nginx.ingress.kubernetes.io/{key}");
    let annotations = json!({
        nginx("canary"): "true", nginx("canary-by-header"): "X-Try", nginx("canary-by-header-value"): "now",
        nginx("canary-by-cookie"): "try",
    });
    let all = asked(&plan(Family::IngressNginx), &annotations, &spec(Some("a.example"), &["/"]));
    must_have(
        &all,
        &[
            "GET http://a.example/ with X-Try: now (",
            "GET http://a.example/ with X-Try: never (",
            "GET http://a.example/ with cookie: try=always (",
        ],
    );
    let annotations = json!({
        nginx("enable-cors"): "true", nginx("cors-allow-origin"): "https://page.example",
        nginx("from-to-www-redirect"): "true", nginx("server-alias"): "other.example",
    });
    let all = asked(&plan(Family::IngressNginx), &annotations, &spec(Some("a.example"), &["/"]));
    must_have(
        &all,
        &[
            "GET http://a.example/ with origin: https://page.example (",
            "GET http://a.example/ with origin: https://haptic-compare.example (",
            "OPTIONS http://a.example/ with origin: https://page.example, access-control-request-method: GET (",
            "GET http://other.example/ (another name",
            "GET http://www.a.example/ (another name",
        ],
    );
    let annotations = json!({"haproxy.org/response-set-header": "X-Frame-Options \"DENY\""});
    let nothing = Snapshots::new(BTreeMap::new());
    let all =
        plan(Family::HaproxyOrg).requests(&object(&annotations, &spec(Some("a.example"), &["/"])), &nothing);
    assert!(all.requests.iter().all(|request| request.compares == ["x-frame-options"]), "{all:#?}");
}

#[test]
fn an_expression_is_asked_by_a_path_that_it_takes() {
    let annotations = json!({"nginx.ingress.kubernetes.io/use-regex": "true"});
    let all = asked(
        &plan(Family::IngressNginx),
        &annotations,
        &spec(Some("a.example"), &["/api(/|$)(.*)", "/b c/ü"]),
    );
    must_have(
        &all,
        &[
            "GET http://a.example/api/a (the path itself)",
            "GET http://a.example/b%20c/%C3%BC (the path itself)",
        ],
    );
}

#[test]
fn credentials_are_sent_only_where_there_are_some_and_the_ingress_asks_for_them() {
    let guarded = json!({"haproxy.org/auth-type": "basic-auth", "haproxy.org/auth-secret": "users"});
    let mut plan = plan(Family::HaproxyOrg);
    plan.credentials = ["a.example".to_owned()].into();
    let count = |annotations: &Value, host: &str| {
        let all = asked(&plan, annotations, &spec(Some(host), &["/"]));
        all.iter().filter(|request| request.contains("(with credentials)")).count()
    };
    assert_eq!(count(&guarded, "a.example"), 1);
    assert_eq!(count(&guarded, "b.example"), 0);
    assert_eq!(count(&json!({}), "a.example"), 0);
    let asked_about = json!({"haproxy-ingress.github.io/auth-url": "http://auth.other.svc:80/check"});
    let mut plan = self::plan(Family::HaproxyIngress);
    plan.credentials = ["a.example".to_owned()].into();
    let all = asked(&plan, &asked_about, &spec(Some("a.example"), &["/"]));
    assert!(all.iter().any(|request| request.contains("(with credentials)")), "{all:#?}");
}

#[test]
fn nothing_that_may_change_something_is_asked_unless_it_is_allowed() {
    let mut plan = plan(Family::IngressNginx);
    let safe =
        |request: &String| ["GET ", "HEAD ", "OPTIONS "].iter().any(|method| request.starts_with(method));
    let all = asked(&plan, &json!({}), &spec(Some("a.example"), &["/"]));
    assert!(all.iter().all(safe), "{all:#?}");
    plan.methods = vec!["POST".to_owned()];
    must_have(&asked(&plan, &json!({}), &spec(Some("a.example"), &["/"])), &["POST http://a.example/ ("]);
}

#[test]
fn an_ingress_without_hosts_of_another_class_or_with_many_paths_is_bounded() {
    let mut plan = plan(Family::IngressNginx);
    must_have(&asked(&plan, &json!({}), &spec(None, &["/a"])), &["GET http://*/a (the path itself)"]);
    must_have(&asked(&plan, &json!({}), &json!({"defaultBackend": {}})), &["GET http://*/ ("]);
    let many: Vec<String> = (0..5_000).map(|number| format!("/path-{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let nothing = Snapshots::new(BTreeMap::new());
    let IngressRequests { requests, left_out } =
        plan.requests(&object(&json!({}), &spec(Some("a.example"), &many)), &nothing);
    assert_eq!(requests.len(), 1_000);
    assert!(left_out > 10_000, "{left_out}");
    plan.classes = vec!["other".to_owned()];
    assert!(asked(&plan, &json!({}), &spec(Some("a.example"), &["/a"])).is_empty());
    plan.classes.clear();
    let broken = Object { json: b"[]".as_slice().into(), ..object(&json!({}), &json!({})) };
    assert_eq!(plan.requests(&broken, &nothing), IngressRequests::default());
}

#[test]
fn what_is_far_too_long_makes_no_long_request() {
    let long = format!("/{}", "ü".repeat(250_000));
    let expression = format!("/{}", r"(?i)\w{9}".repeat(8_000));
    let names: String = (0..5_000).map(|number| format!("X-{number} y\n")).collect();
    let annotations = json!({"haproxy.org/response-set-header": names});
    let nothing = Snapshots::new(BTreeMap::new());
    let spec = spec(Some("a.example"), &[&long, &expression, "/short"]);
    let IngressRequests { requests, left_out } =
        plan(Family::HaproxyOrg).requests(&object(&annotations, &spec), &nothing);
    assert!(left_out > 8, "{left_out}");
    assert!(requests.iter().any(|request| request.target == "/short"));
    for request in &requests {
        let line = serde_json::to_string(request).unwrap();
        assert!(line.len() < 100_000, "{}", line.len());
    }
}

fn request() -> ComparedRequest {
    let nothing = Snapshots::new(BTreeMap::new());
    let all =
        plan(Family::IngressNginx).requests(&object(&json!({}), &spec(Some("a.example"), &["/"])), &nothing);
    all.requests.into_iter().next().unwrap()
}

#[test]
fn what_is_reported_is_bounded_and_counts_are_right() {
    let mut comparison =
        AnswerComparison::new("ingress-nginx", vec!["http://old".into()], vec!["http://new".into()]);
    let ingress = |name: &str| ComparedIngress { namespace: "shop".into(), name: name.into() };
    let differs = || {
        let (what, reference, ours) = ("status".to_owned(), Some("200".to_owned()), Some("a|b".to_owned()));
        ComparedOutcome::Differs(vec![AnswerDifference { what, reference, ours }])
    };
    for _ in 0..8 {
        comparison.add(&ingress("a"), request(), differs());
    }
    comparison.add(&ingress("b"), request(), ComparedOutcome::Same);
    comparison.add(&ingress("c"), request(), ComparedOutcome::NotAsked("it is gone".to_owned()));
    let report = comparison.done();
    let totals = report.totals;
    assert_eq!(
        (totals.ingresses, totals.same, totals.differs, totals.differing, totals.not_asked),
        (3, 1, 1, 8, 1)
    );
    assert_eq!(report.ingresses.iter().map(|one| one.shown.len()).collect::<Vec<_>>(), [5, 1]);
    let summary = as_comparison_summary(&report);
    for words in [
        "differs Ingress shop/a (8 of 8 requests)",
        "    status: 200, here a|b",
        "  and 3 requests more",
        "not asked Ingress shop/c (1 of 1 requests without an answer)",
        "    no answer: it is gone",
        "3 Ingresses: 1 answered the same, 1 otherwise; 10 requests: 8 answered otherwise, 1 without an answer",
    ] {
        assert!(summary.contains(words), "{words} is not in {summary}");
    }
    assert!(as_comparison_page(&report).contains("| status | 200 | a\\|b |"));
}
