//! Canaries and weights: which backend a request of a route goes to, and that a change of it takes no reload.

use crate::{
    client::Answer,
    on_each_haproxy,
    options::{both, certificate, users},
    site::{SCHEMES, Scheme, Site, rendered_alone, sentences},
};
use serde_json::{Value, json};

/// The Service of the canary; that of the path has number 1.
const CANARY: (&str, &str) = ("canary-service", "s3:80");

fn with(options: &[(&str, &str)], check: impl Fn(&Site)) {
    let mut all = vec![CANARY];
    all.extend(options);
    let mut manifests = both(&all);
    manifests.extend([certificate(), users()]);
    on_each_haproxy(&manifests, |site| {
        check(site);
        assert_eq!(site.get(Scheme::Http, "a.example", "/off").service(), Some(2));
    });
}

fn ask(site: &Site, headers: &str) -> Answer {
    site.ask(Scheme::Http, "GET", "a.example", "/on/x", headers, "")
}

/// Which services get these requests.
fn services<const N: usize>(site: &Site, headers: [&str; N]) -> [Option<u8>; N] {
    headers.map(|headers| ask(site, headers).service())
}

/// How many of 400 requests go to each of the services 1 to 4.
fn shares(site: &Site, headers: &str) -> [usize; 4] {
    let mut shares = [0; 4];
    for _ in 0..400 {
        shares[usize::from(ask(site, headers).service().unwrap()) - 1] += 1;
    }
    shares
}

#[test]
fn a_header_leads_to_the_canary_or_away_from_it() {
    let always = [("canary-header", "X-Canary"), ("canary-weight", "0")];
    with(&always, |site| {
        let asked = ["X-Canary: always\r\n", "x-canary: never\r\n", "X-Canary: yes\r\n", ""];
        assert_eq!(services(site, asked), [Some(3), Some(1), Some(1), Some(1)]);
    });
    let value =
        [("canary-header", "X-Canary"), ("canary-header-value", "be;t|a, %1"), ("canary-weight", "100")];
    with(&value, |site| {
        assert_eq!(services(site, ["X-Canary: never\r\n", "X-Canary: be;t|a\r\n", ""]), [Some(3); 3]);
    });
    let value = [("canary-header", "X-Canary"), ("canary-header-value", "be;t|a %1")];
    with(&value, |site| {
        let asked = ["X-Canary: be;t|a %1\r\n", "X-Canary: always\r\n", "X-Canary: be\r\n", ""];
        assert_eq!(services(site, asked), [Some(3), Some(1), Some(1), Some(1)]);
    });
    let pattern = [("canary-header", "X-Canary"), ("canary-header-pattern", "^(beta|rc)[0-9]+$")];
    with(&pattern, |site| {
        let asked =
            ["X-Canary: beta12\r\n", "X-Canary: rc1\r\n", "X-Canary: beta\r\n", "X-Canary: always\r\n", ""];
        assert_eq!(services(site, asked), [Some(3), Some(3), Some(1), Some(1), Some(1)]);
    });
}

#[test]
fn a_cookie_is_asked_after_the_header_and_before_the_weight() {
    let all = [("canary-header", "X-Canary"), ("canary-cookie", "try"), ("canary-weight", "100")];
    with(&all, |site| {
        let asked = [
            "Cookie: a=b; try=never\r\n",
            "Cookie: try=always\r\n",
            "Cookie: try=perhaps\r\n",
            "X-Canary: always\r\nCookie: try=never\r\n",
            "X-Canary: never\r\nCookie: try=always\r\n",
            "",
        ];
        assert_eq!(services(site, asked), [Some(1), Some(3), Some(3), Some(3), Some(1), Some(3)]);
    });
}

#[test]
fn a_weight_leads_so_many_to_the_canary_by_chance() {
    with(&[("canary-weight", "25")], |site| {
        let [own, _, canary, _] = shares(site, "");
        // Five standard deviations of 400 requests.
        assert!((57..=143).contains(&canary) && own + canary == 400, "{canary}");
    });
    let weights = [("canary-weight", "50"), ("weights", "s2:80=50, s4:web=50")];
    with(&weights, |site| {
        let shares = shares(site, "");
        assert_eq!(shares[0], 0, "{shares:?}");
        assert!((150..=250).contains(&shares[2]) && shares[1] > 50 && shares[3] > 50, "{shares:?}");
    });
}

#[test]
fn a_client_with_a_cookie_stays_where_chance_led_it() {
    for options in [
        [("canary-weight", "50"), ("affinity", "cookie")],
        [("canary-weight", "50"), ("canary-sticky", "true")],
    ] {
        with(&options, |site| {
            for scheme in SCHEMES {
                let first = site.get(scheme, "a.example", "/on");
                let set = first
                    .headers
                    .iter()
                    .find(|(name, value)| name == "set-cookie" && value.contains("AFFINITY_"));
                let (_, set) = set.unwrap_or_else(|| panic!("{first:?}"));
                assert_eq!(set.ends_with("; Secure"), scheme == Scheme::Https, "{set}");
                let cookie = format!("Cookie: {}\r\n", set.split(';').next().unwrap());
                for _ in 0..20 {
                    let next = site.ask(scheme, "GET", "a.example", "/on", &cookie, "");
                    assert_eq!(next.service(), first.service());
                    assert!(next.headers.iter().all(|(_, value)| !value.contains("AFFINITY_")), "{next:?}");
                }
            }
        });
    }
    let off = [("canary-weight", "50"), ("affinity", "cookie"), ("canary-sticky", "false")];
    with(&off, |site| assert!(ask(site, "").headers.iter().all(|(_, value)| !value.contains("AFFINITY_"))));
}

#[test]
fn a_client_stays_wherever_its_first_request_went_where_that_is_asked_for() {
    let all = [("canary-header", "X-Canary"), ("affinity", "cookie"), ("canary-sticky", "all")];
    with(&all, |site| {
        for (said, other, service) in [("always", "never", 3), ("never", "always", 1), ("", "always", 1)] {
            let first = ask(site, &format!("X-Canary: {said}\r\n"));
            assert_eq!(first.service(), Some(service));
            let is_of_canary =
                |(name, value): &&(String, String)| name == "set-cookie" && value.contains("AFFINITY_");
            let (_, set) = first.headers.iter().find(is_of_canary).unwrap_or_else(|| panic!("{first:?}"));
            let cookie = set.split(';').next().unwrap();
            for said in [other, said] {
                let next = ask(site, &format!("Cookie: {cookie}\r\nX-Canary: {said}\r\n"));
                assert_eq!(next.service(), Some(service), "{next:?}");
            }
        }
    });
}

#[test]
fn a_canary_has_the_options_of_the_route_and_none_without_ready_servers() {
    with(&[("canary-weight", "100"), ("auth-secret", "users"), ("rewrite-path", "/new")], |site| {
        assert_eq!(ask(site, "").status, 401);
        let answer = ask(site, "Authorization: Basic YW5uYTpzZWNyZXQ=\r\n");
        assert_eq!((answer.service(), answer.request_line()), (Some(3), "GET /new/x HTTP/1.1"));
    });
    let mut manifests =
        both(&[("canary-service", "absent:80"), ("canary-weight", "100"), ("weights", "none:80=100")]);
    manifests.push(certificate());
    let (_, warnings) = rendered_alone(&manifests).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    assert!(
        sentences(&warnings).contains("name Service absent, which is not there"),
        "{}",
        sentences(&warnings)
    );
    on_each_haproxy(&manifests, |site| assert_eq!(ask(site, "").service(), Some(1)));
}

#[test]
fn nobody_takes_requests_of_another_namespace_by_a_canary() {
    let mut evil =
        both(&[("canary-service", "s3:80"), ("canary-weight", "100"), ("weights", "s4:80=100")])[0].clone();
    evil["metadata"]["namespace"] = json!("evil");
    evil["metadata"]["creationTimestamp"] = json!("2021-01-01T00:00:00Z");
    let mut manifests = both(&[]);
    for own in manifests.iter_mut() {
        own["metadata"]["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
    }
    manifests.extend([evil, certificate()]);
    on_each_haproxy(&manifests, |site| {
        for headers in ["", "X-Canary: always\r\n"] {
            assert_eq!(ask(site, headers).service(), Some(1));
        }
    });
    for elsewhere in ["evil/s3:80", "s3.evil:80", "s3.evil.svc:80"] {
        let said = sentences(&rendered_alone(&both(&[("canary-service", elsewhere)])).expect_err(elsewhere));
        assert!(said.contains("it must be NAME:PORT of a Service in the same namespace"), "{said}");
    }
}

/// What HAProxy reads at a start only.
fn without_maps(options: &[(&str, &str)]) -> Value {
    let mut manifests = both(options);
    manifests.push(certificate());
    let (bundle, _) = rendered_alone(&manifests).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    let read = [".cfg", ".lua", ".http"];
    let files = bundle.all().filter(|file| read.iter().any(|end| file.path.ends_with(end)));
    files.map(|file| json!([&*file.path, file.text.to_string()])).collect()
}

#[test]
fn only_maps_say_what_a_canary_gets() {
    let before =
        without_maps(&[CANARY, ("canary-weight", "1"), ("canary-header", "A"), ("weights", "s4:80=1")]);
    for options in [
        [CANARY, ("canary-weight", "99"), ("canary-header", "A"), ("weights", "s4:80=1")],
        [CANARY, ("canary-weight", "1"), ("canary-header", "Another"), ("weights", "s4:80=1")],
        [CANARY, ("canary-cookie", "new"), ("canary-header", "A"), ("weights", "s4:80=70")],
    ] {
        assert!(without_maps(&options) == before, "{options:?}");
    }
}

#[test]
fn only_maps_say_which_paths_and_conditions_there_are() {
    let regex = ("path-type", "regex");
    let before = without_maps(&[regex, ("match-headers", "X-A: 1"), ("rewrite-target", "/\\1")]);
    for options in [
        [regex, ("match-headers", "X-Other: 1\nX-More: 2"), ("rewrite-target", "/\\1")],
        [regex, ("match-query-regex", "q=^[0-9]"), ("rewrite-target", "/\\1\\2")],
        [regex, ("match-methods", "PUT"), ("rewrite-target", "/always\\1")],
    ] {
        assert!(without_maps(&options) == before, "{options:?}");
    }
}
