//! Which requests are tried again.

use super::{GatewaySite, around, gateway, listener, on_each, route, to};
use crate::patience::within_patience;
use integration_tests::program::HaproxySeries;
use serde_json::{Value, json};
use std::{
    io::Write,
    net::TcpStream,
    time::{Duration, Instant},
};

#[test]
fn a_rule_says_after_which_answers_a_request_is_tried_again() {
    let rule = |path: &str, retry: Value| {
        let mut rule = json!({"matches": [{"path": {"type": "PathPrefix", "value": path}}],
            "backendRefs": [{"name": "s1", "port": 80}]});
        if !retry.is_null() {
            rule["retry"] = retry;
        }
        rule
    };
    let mut all = around();
    all.push(gateway("gw", json!([listener("http", None)])));
    let rules = json!([
        rule("/some", json!({"codes": [500, 502], "attempts": 2})),
        rule("/none", json!({"codes": [500], "attempts": 0})),
        rule("/backoff", json!({"codes": [500], "backoff": "1s"})),
        rule("/unknown", json!({"codes": [421], "attempts": 1})),
        rule("/plain", Value::Null),
    ]);
    all.push(route("r", &[], rules));
    on_each(&all, |site| {
        for (path, method, status) in [
            ("/some/first-500", "GET", 200),
            ("/some/first-502", "POST", 200),
            ("/some/first-503", "GET", 503),
            ("/none/first-500", "GET", 500),
            ("/plain/first-500", "GET", 500),
            ("/backoff/first-200", "GET", 500),
            ("/unknown/first-200", "GET", 500),
        ] {
            let answer = site.ask(80, None, method, "a.example", path, "Content-Length: 0\r\n");
            assert_eq!(answer.status, status, "{method} {path}");
        }
    });
}

#[test]
fn all_tries_of_a_request_have_the_time_of_its_rule() {
    let rule = |path: &str, timeouts: Value| {
        json!({"matches": [{"path": {"type": "PathPrefix", "value": path}}], "backendRefs": to(1),
            "retry": {"codes": [500], "attempts": 5}, "timeouts": timeouts})
    };
    let mut all = around();
    all.push(gateway("gw", json!([listener("http", None)])));
    let rules = json!([
        rule("/short", json!({"request": "2s"})),
        rule("/long", json!({"request": "20s"})),
        rule("/try", json!({"request": "20s", "backendRequest": "200ms"})),
        rule("/endless", json!({"request": "0s", "backendRequest": "20s"})),
    ]);
    all.push(route("r", &[], rules));
    on_each(&all, |site| {
        let ask = |path: &str| {
            let begun = Instant::now();
            let answer = site.ask(
                80,
                None,
                "POST",
                "a.example",
                path,
                "X-Haptic-Tries: backend=web\r\nContent-Length: 0\r\n",
            );
            (answer, begun.elapsed())
        };
        // Two tries take longer than the first rule allows, and one does not: nobody waits for the end of the second.
        let (answer, time) = ask("/short/first-500/slow-1300");
        assert_eq!(answer.status, 504);
        assert!(time < Duration::from_millis(2600), "{time:?}");
        assert_eq!(ask("/short/first-500/slow-50").0.status, 200);
        assert_eq!(ask("/long/first-500/slow-50").0.status, 200);
        assert_eq!(ask("/endless/first-500/slow-50").0.status, 200);
        let (answer, time) = ask("/try/never");
        assert_eq!(answer.status, 504);
        assert!(time < Duration::from_secs(10), "{time:?}");
        // The server sees the client's request, once.
        let (answer, _) = ask("/long/here?x=1");
        let headers: Vec<String> = answer.body.lines().map(str::to_ascii_lowercase).collect();
        let told = |name: &str| headers.iter().filter(|line| line.starts_with(name)).count();
        assert_eq!(
            (told("x-haptic-tries"), told("x-forwarded-for:"), told("x-request-id:")),
            (0, 1, 1),
            "{}",
            answer.body
        );
        assert!(headers.contains(&"post /long/here?x=1 http/1.1".to_owned()), "{}", answer.body);
        assert!(headers.contains(&"host: a.example".to_owned()), "{}", answer.body);
    });
}

#[test]
fn routes_of_a_namespace_have_so_many_requests_at_a_time_that_may_be_tried_again_in_time() {
    let mut all = around();
    all.push(gateway("gw", json!([listener("http", None)])));
    let path = |path: &str| json!([{"path": {"type": "PathPrefix", "value": path}}]);
    let rules = json!([
        {"matches": path("/timed"), "backendRefs": to(1), "retry": {"codes": [500]}, "timeouts": {"request": "60s"}},
        {"matches": path("/plain"), "backendRefs": to(1)},
    ]);
    all.push(route("r", &[], rules));
    let one = |spec: &mut Value| {
        spec["templatingSettings"]["extraContext"]["retryConcurrency"] = json!({"namespace": 1, "all": 9})
    };
    let site = GatewaySite::start_with(HaproxySeries::V3_4, &all, one);
    assert_eq!(site.get("a.example", "/timed").status, 200);
    let mut held = Vec::new();
    within_patience(|| {
        // One that comes while another one is asked has no room itself.
        let client = TcpStream::connect(site.address(80)).unwrap();
        (&client).write_all(b"GET /timed/never HTTP/1.1\r\nHost: a.example\r\n\r\n").unwrap();
        held.push(client);
        site.get("a.example", "/timed").status == 503
    });
    assert_eq!(site.get("a.example", "/plain").status, 200);

    // A try that has begun ends with the time of all of them, and its room is others'.
    all.push(route("short", &[], json!([{"matches": path("/short"), "backendRefs": to(1), "retry": {"codes": [500]}, "timeouts": {"request": "2s"}}])));
    let site = GatewaySite::start_with(HaproxySeries::V3_4, &all, one);
    assert_eq!(site.get("a.example", "/short/first-500/slow-1900").status, 504);
    let begun = Instant::now();
    within_patience(|| site.get("a.example", "/short").status == 200);
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
}
