//! Limits of requests: bursts, what is counted, and that no namespace takes another's counters.

use crate::{
    on_each_haproxy,
    options::{both, certificate},
    patience::within_patience,
    site::{Scheme, Site, rendered_alone, sentences},
};
use std::time::{Duration, Instant};

const HOST: &str = "a.example";

fn status(site: &Site, path: &str, headers: &str) -> u16 {
    site.ask(Scheme::Http, "GET", HOST, path, headers, "").status
}

fn limited(options: &[(&str, &str)], see: impl Fn(&Site)) {
    let mut manifests = both(options);
    manifests.push(certificate());
    on_each_haproxy(&manifests, |site| {
        see(site);
        assert_eq!(status(site, "/off", ""), 200);
    });
}

#[test]
fn a_burst_comes_at_once_and_then_requests_at_the_pace_of_the_limit() {
    for (limit, period, burst) in [("1", "hour", "4"), ("2", "minute", "4"), ("1", "second", "4")] {
        let options = [("rate-limit", limit), ("rate-limit-period", period), ("rate-limit-burst", burst)];
        limited(&options, |site| {
            let started = Instant::now();
            let statuses: Vec<u16> = (0..8).map(|_| status(site, "/on", "")).collect();
            if started.elapsed() < Duration::from_millis(900) {
                assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429, 429], "{options:?}");
            }
            if period == "second" {
                // What was refused took nothing away.
                within_patience(|| status(site, "/on", "") == 200);
                assert!(started.elapsed() < Duration::from_secs(4));
            }
        });
    }
    let many = [("rate-limit", "10"), ("rate-limit-burst", "1001")];
    let said = sentences(&rendered_alone(&both(&many)).expect_err("too many at once"));
    assert!(said.contains("it must be up to 100 times rate-limit"), "{said}");
}

#[test]
fn the_pace_of_a_limit_with_bursts_is_the_limit() {
    for (limit, period, every) in [("31000", "minute", 193), ("200000", "hour", 18), ("7", "second", 142_857)]
    {
        let options = [("rate-limit", limit), ("rate-limit-period", period), ("rate-limit-burst", "1")];
        let (bundle, _) = rendered_alone(&both(&options)).unwrap();
        let files: String = bundle.all().map(|file| file.text.to_string()).collect();
        assert!(files.contains(&format!("rate-every={every}|")), "{options:?}");
    }
}

/// Anybody's change may take a reload.
#[test]
fn what_a_client_has_used_up_outlives_a_reload() {
    let burst = [("rate-limit", "2"), ("rate-limit-period", "hour"), ("rate-limit-burst", "1")];
    for options in [&burst[..2], &burst[..]] {
        limited(options, |site| {
            while status(site, "/on", "") == 200 {}
            site.reload();
            assert_eq!(status(site, "/on", ""), 429, "{options:?}");
        });
    }
}

#[test]
fn a_client_beyond_its_limit_is_told_when_the_next_request_passes() {
    let after = |options: &[(&str, &str)], seconds: &str| {
        limited(options, |site| {
            let refused = (0..9).map(|_| site.get(Scheme::Http, HOST, "/on")).find(|got| got.status == 429);
            assert_eq!(refused.unwrap().header("retry-after"), Some(seconds), "{options:?}");
        });
    };
    after(&[("rate-limit", "2"), ("rate-limit-period", "hour")], "3600");
    after(&[("rate-limit", "2"), ("rate-limit-period", "hour"), ("rate-limit-burst", "1")], "1800");
    after(&[("rate-limit", "7"), ("rate-limit-period", "second"), ("rate-limit-burst", "1")], "1");
}

#[test]
fn requests_are_counted_by_what_is_asked_for() {
    let of =
        |key: &'static str| [("rate-limit", "2"), ("rate-limit-period", "hour"), ("rate-limit-key", key)];
    type Request = fn(usize) -> (String, String);
    let kinds: [(&str, Request); 5] = [
        ("header:X-Api-Key", |n| ("/on".to_owned(), format!("X-Api-Key: {n}\r\n"))),
        ("cookie:user", |n| ("/on".to_owned(), format!("Cookie: a=b; user={n}\r\n"))),
        ("query:user", |n| (format!("/on?user={n}"), String::new())),
        ("path", |n| (format!("/on/{n}?x={n}"), String::new())),
        ("uri", |n| (format!("/on?{n}"), String::new())),
    ];
    for (key, request) in kinds {
        limited(&of(key), |site| {
            for n in 0..3 {
                let (path, headers) = request(n);
                let statuses = [0; 3].map(|_| status(site, &path, &headers));
                assert_eq!(statuses, [200, 200, 429], "{key} {n}");
            }
        });
    }
    // Who has none is counted by address.
    limited(&of("header:X-Api-Key"), |site| {
        assert_eq!([0; 3].map(|_| status(site, "/on", "")), [200, 200, 429]);
        assert_eq!(status(site, "/on", "X-Api-Key: 1\r\n"), 200);
        // Which of several a server takes nobody knows.
        assert_eq!(status(site, "/on", "X-Api-Key: 1\r\nX-Api-Key: 2\r\n"), 400);
    });
}

#[test]
fn a_namespace_has_no_more_than_its_share_of_the_counters() {
    let options = [("rate-limit", "1"), ("rate-limit-period", "hour"), ("rate-limit-key", "query:n")];
    let mut manifests = both(&options);
    manifests.push(certificate());
    // Nobody asks 20,000 times in a test: a share of 20 shows the same.
    let small = |spec: &mut serde_json::Value| {
        spec["templatingSettings"]["extraContext"]["rateLimitCounters"] =
            serde_json::json!({"share": 20, "groups": 8});
    };
    crate::on_each_haproxy_with(&manifests, small, |site| {
        let first: Vec<u16> = (0..20).map(|n| status(site, &format!("/on?n={n}"), "")).collect();
        assert!(first.iter().all(|status| *status == 200), "{first:?}");
        let later = (100..200).filter(|n| status(site, &format!("/on?n={n}"), "") == 200).count();
        assert!((1..=10).contains(&later), "{later} of 100 clients have a counter of their own");
    });
}

#[test]
fn counters_of_bursts_count_for_their_namespace_as_long_as_they_stay() {
    let options = [("rate-limit", "1"), ("rate-limit-burst", "1"), ("rate-limit-key", "query:n")];
    let mut manifests = both(&options);
    manifests.push(certificate());
    let small = |spec: &mut serde_json::Value| {
        spec["templatingSettings"]["extraContext"]["rateLimitCounters"] =
            serde_json::json!({"share": 20, "groups": 1});
    };
    crate::on_each_haproxy_with(&manifests, small, |site| {
        let let_in = |numbers: std::ops::Range<usize>| {
            numbers.filter(|n| status(site, &format!("/on?n={n}"), "") == 200).count()
        };
        assert_eq!(let_in(0..20), 20);
        // Each time that a client is let in again a period is over, and the counters are still there.
        let is_let_in = || status(site, "/on?n=0", "") == 200;
        for _ in 0..3 {
            while is_let_in() {}
            within_patience(is_let_in);
        }
        let later = let_in(100..120);
        assert!((1..=8).contains(&later), "{later} of 20 clients have a counter of their own");
    });
}
