//! Which requests are tried again.

use super::{around, gateway, listener, on_each, route};
use serde_json::{Value, json};

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
