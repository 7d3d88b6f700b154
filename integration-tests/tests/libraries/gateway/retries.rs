//! Which requests are tried again.

use super::{around, gateway, listener, on_each, route, to};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

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
        rule("/short", json!({"request": "500ms"})),
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
        // Two tries of 300 ms each are longer than what the first rule allows, and one is not.
        let (answer, time) = ask("/short/first-500/slow-300");
        assert_eq!(answer.status, 504);
        assert!(time < Duration::from_millis(595), "{time:?}");
        assert_eq!(ask("/short/slow-300").0.status, 200);
        assert_eq!(ask("/long/first-500/slow-300").0.status, 200);
        assert_eq!(ask("/endless/first-500/slow-300").0.status, 200);
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
