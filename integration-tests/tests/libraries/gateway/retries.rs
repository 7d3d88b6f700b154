//! Which requests are tried again.

use super::{GatewaySite, around_gateway, on_each, route, to};
use crate::{
    around::service,
    client::{self, Answer, Way},
    echo,
    failing::ServerFailure,
    patience::within_patience,
};
use integration_tests::program::HaproxySeries;
use serde_json::{Value, json};
use std::{
    io::Write,
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// Services of servers that fail: alone, and beside one that answers; and how often those alone were asked.
fn failing_servers() -> (Vec<Value>, Vec<Arc<AtomicUsize>>) {
    const BAD: &str = "127.0.9.1";
    const ALONE: &str = "127.0.9.2";
    const GOOD: &str = "127.0.9.3";
    let (mut all, mut counts) = (Vec::new(), Vec::new());
    for (called, how) in ServerFailure::ALL {
        let (port, _) = how.start(BAD.parse().unwrap());
        echo::at(TcpListener::bind((GOOD, port)).unwrap());
        all.extend(service(&format!("{called}-or-not"), "IPv4", port, &[BAD, GOOD]));
        let (port, asked) = how.start(ALONE.parse().unwrap());
        all.extend(service(&format!("{called}-alone"), "IPv4", port, &[ALONE]));
        counts.push(asked);
    }
    (all, counts)
}

#[test]
fn what_ends_without_an_answer_is_tried_again_on_another_server() {
    let (services, counts) = failing_servers();
    let mut all = around_gateway();
    all.extend(services);
    let rule = |path: String, service: String, retry: Value, timeouts: Value| {
        let mut rule = json!({"matches": [{"path": {"value": path}}], "backendRefs": [{"name": service, "port": 80}], "timeouts": timeouts});
        if !retry.is_null() {
            rule["retry"] = retry;
        }
        rule
    };
    let each = || json!({"backendRequest": "400ms"});
    let bounded = || json!({"request": "30s", "backendRequest": "400ms"});
    let mut rules = Vec::new();
    for (called, _) in ServerFailure::ALL {
        let (two, alone) = (format!("{called}-or-not"), format!("{called}-alone"));
        rules.extend([
            rule(format!("/{called}/two"), two.clone(), json!({"attempts": 3}), each()),
            rule(
                format!("/{called}/codes"),
                two.clone(),
                json!({"attempts": 3, "codes": [500, 503]}),
                each(),
            ),
            rule(format!("/{called}/bounded"), two.clone(), json!({"attempts": 3}), bounded()),
            rule(format!("/{called}/once"), two, Value::Null, each()),
            rule(format!("/{called}/alone"), alone.clone(), json!({"attempts": 2}), each()),
            rule(format!("/{called}/never"), alone.clone(), json!({"attempts": 0}), each()),
            rule(format!("/{called}/plain"), alone, Value::Null, each()),
        ]);
    }
    // A route has sixteen rules.
    for (number, rules) in rules.chunks(14).enumerate() {
        all.push(route(&format!("r{number}"), &[], rules.into()));
    }
    on_each(&all, |site| {
        let post = |path: &str, bytes: usize| -> Answer {
            let head = format!("POST {path} HTTP/1.1\r\nHost: a.example\r\n");
            client::ask(&Way::to(site.address(80), None), &head, &"x".repeat(bytes)).unwrap()
        };
        for ((called, how), asked) in ServerFailure::ALL.into_iter().zip(&counts) {
            let failure = if how == ServerFailure::IsSilent { 504 } else { 502 };
            for path in ["two", "codes", "bounded"].map(|path| format!("/{called}/{path}")) {
                for _ in 0..4 {
                    assert_eq!(site.get("a.example", &path).status, 200, "GET {path}");
                    assert_eq!(post(&path, 100).status, 200, "POST {path}");
                }
            }
            let once: Vec<u16> =
                (0..4).map(|_| site.get("a.example", &format!("/{called}/once")).status).collect();
            assert!(once.contains(&200) && once.contains(&failure), "{called}: {once:?}");
            // The last request is one whose body HAProxy has no room to keep.
            for (path, bytes, tries) in
                [("alone", 0, 3), ("never", 0, 1), ("plain", 0, 1), ("alone", 40_000, 1)]
            {
                let before = asked.load(Ordering::Relaxed);
                assert_eq!(post(&format!("/{called}/{path}"), bytes).status, failure, "{called} {path}");
                assert_eq!(asked.load(Ordering::Relaxed) - before, tries, "{called} {path} {bytes}");
            }
        }
    });
}

#[test]
fn tries_that_get_no_answer_end_with_the_time_of_all_of_them() {
    let (services, counts) = failing_servers();
    let mut all = around_gateway();
    all.extend(services);
    let rule = |path: &str, attempts: u8, request: &str| {
        json!({"matches": [{"path": {"value": path}}], "backendRefs": [{"name": "silent-alone", "port": 80}],
            "retry": {"attempts": attempts}, "timeouts": {"request": request, "backendRequest": "300ms"}})
    };
    all.push(route("r", &[], json!([rule("/all", 2, "30s"), rule("/some", 90, "1s")])));
    on_each(&all, |site| {
        let asked = counts.last().unwrap();
        let ask = |path: &str| {
            let (before, begun) = (asked.load(Ordering::Relaxed), Instant::now());
            assert_eq!(site.get("a.example", path).status, 504, "{path}");
            (asked.load(Ordering::Relaxed) - before, begun.elapsed())
        };
        let (tries, time) = ask("/all");
        assert_eq!(tries, 3);
        assert!((Duration::from_millis(850)..Duration::from_secs(10)).contains(&time), "{time:?}");
        let (tries, time) = ask("/some");
        assert!((2..=4).contains(&tries), "{tries}");
        assert!((Duration::from_millis(950)..Duration::from_millis(2500)).contains(&time), "{time:?}");
        // Nobody tries any more.
        let before = asked.load(Ordering::Relaxed);
        std::thread::park_timeout(Duration::from_secs(1));
        assert!(asked.load(Ordering::Relaxed) <= before + 1);
    });
}

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
    let mut all = around_gateway();
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
    let mut all = around_gateway();
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
    let mut all = around_gateway();
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
