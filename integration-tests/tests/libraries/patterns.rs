//! Paths that are regular expressions: which requests they take, in which order, what becomes of the path, and whose they are.

use crate::{
    client::Answer,
    on_each_haproxy,
    options::{annotations, certificate, users},
    site::{Scheme, Site, rendered_alone, sentences},
};
use serde_json::{Value, json};

const REGEX: (&str, &str) = ("path-type", "regex");

/// An Ingress on `host` with these paths, types and services.
pub fn ingress(
    (namespace, name): (&str, &str),
    host: &str,
    options: &[(&str, &str)],
    paths: &[(&str, &str, &str)],
) -> Value {
    let path = |(path, kind, service): &(&str, &str, &str)| json!({"path": path, "pathType": kind, "backend": {"service": {"name": service, "port": {"number": 80}}}});
    json!({"kind": "Ingress", "metadata": {"namespace": namespace, "name": name, "annotations": annotations(options)},
        "spec": {"rules": [{"host": host, "http": {"paths": paths.iter().map(path).collect::<Vec<_>>()}}]}})
}

/// Of namespace `shop`, whose services have servers; all paths of type ImplementationSpecific.
fn shop(name: &str, host: &str, options: &[(&str, &str)], paths: &[(&str, u8)]) -> Value {
    let services: Vec<String> = paths.iter().map(|(_, service)| format!("s{service}")).collect();
    let paths: Vec<_> = paths
        .iter()
        .zip(&services)
        .map(|((path, _), service)| (*path, "ImplementationSpecific", service.as_str()))
        .collect();
    ingress(("shop", name), host, options, &paths)
}

fn get(site: &Site, host: &str, path: &str) -> Answer {
    site.get(Scheme::Http, host, path)
}

fn goes(site: &Site, host: &str, expected: &[(&str, Option<u8>)]) {
    for (path, service) in expected {
        let answer = get(site, host, path);
        assert_eq!(answer.service(), *service, "{host}{path}: {answer:?}");
    }
}

#[test]
fn an_expression_takes_what_begins_so_and_the_longest_beginning_counts_first() {
    let paths = [
        ("/api/v[0-9]+/", 1),
        ("/api(/|$)(.*)", 2),
        ("/api/(.*)", 3),
        ("/app.*", 4),
        ("/(?:x|y)[a-z]{2}$", 5),
        ("/api/v[0-9]+/users/[a-z]+", 6),
        ("/whole$", 7),
        ("/CASE/[a-z]+", 8),
    ];
    let case = "/CASE/[a-z]+: {path-type: regex-ignore-case}";
    let plain = [("/static", "Prefix", "s10"), ("/app/exact", "Exact", "s11"), ("/", "Prefix", "s12")];
    let manifests = [
        shop("regex", "a.example", &[REGEX, ("paths", case)], &paths),
        ingress(("shop", "plain"), "a.example", &[], &plain),
        shop("other", "b.example", &[], &[("/api/v[0-9]+", 20)]),
    ];
    on_each_haproxy(&manifests, |site| {
        goes(
            site,
            "a.example",
            &[
                ("/api/v1/", Some(1)),
                ("/api/v12/x?y=1", Some(1)),
                ("/api/v1/users/anna", Some(6)),
                ("/api/v1/users/", Some(1)),
                ("/api/v/x", Some(3)),
                ("/api", Some(2)),
                ("/api/", Some(3)),
                ("/apix", Some(12)),
                ("/apple", Some(4)),
                ("/app", Some(4)),
                ("/app/exact", Some(11)),
                ("/app/exactly", Some(4)),
                ("/xab", Some(5)),
                ("/xabc", Some(12)),
                ("/y/xab", Some(12)),
                ("/whole", Some(7)),
                ("/whole/", Some(12)),
                ("/static/xab", Some(10)),
                ("/case/z", Some(8)),
                ("/CaSe/Z", Some(8)),
                ("/API/v1/", Some(12)),
                // In the normal form of paths.
                ("/./api/./v1/", Some(1)),
                ("//api//v%31/z", Some(1)),
                ("/%78ab", Some(5)),
                ("/api;p=1/v1/", Some(1)),
            ],
        );
        goes(site, "b.example", &[("/api/v[0-9]+", Some(20)), ("/api/v1", None)]);
    });
}

#[test]
fn an_exact_path_and_another_host_come_before_expressions() {
    let manifests = [
        shop("wild", "*.example", &[REGEX], &[("/[a-z]+", 1), ("/deep/[a-z]+", 2)]),
        shop("own", "a.example", &[REGEX], &[("/[0-9]+", 3)]),
        ingress(("shop", "exact"), "a.example", &[], &[("/7", "Exact", "s4"), ("/deep", "Prefix", "s5")]),
    ];
    on_each_haproxy(&manifests, |site| {
        goes(
            site,
            "a.example",
            &[("/7", Some(4)), ("/77", Some(3)), ("/deep/x", Some(5)), ("/abc", Some(1)), ("/-", None)],
        );
        goes(site, "b.example", &[("/deep/x", Some(2)), ("/7", None), ("/a7", Some(1))]);
    });
}

#[test]
fn what_takes_the_place_of_a_path_has_its_groups() {
    let with = |target: &'static str| [REGEX, ("rewrite-target", target)];
    let manifests = [
        shop("below", "a.example", &with("/\\2"), &[("/below(/|$)(.*)", 1), ("/odd/([a-z])/(.*)", 2)]),
        shop("rest", "a.example", &with("/v2/\\1"), &[("/rest/(.*)", 3), ("/id/([0-9]+)x*", 4)]),
        shop("whole", "a.example", &with("/always"), &[("/whole(/|$)(.*)", 5), ("/w[0-9]", 6)]),
        shop("turned", "a.example", &with("\\2/\\1"), &[("/turn/([a-z]+)(/[a-z]+)", 7)]),
    ];
    on_each_haproxy(&manifests, |site| {
        for (path, service, sent) in [
            ("/below", 1, "/"),
            ("/below/x/y?z=1", 1, "/x/y?z=1"),
            ("/odd/q/w/e?r", 2, "/w/e?r"),
            ("/rest/a%20b/c", 3, "/v2/a%20b/c"),
            ("/rest/", 3, "/v2/"),
            ("/id/42xx/more", 4, "/v2/42"),
            ("/whole/x?y", 5, "/always?y"),
            ("/w1/x", 6, "/always"),
            ("/turn/a/b/c", 7, "/b/a"),
            ("//rest//a/./b", 3, "/v2/a/b"),
        ] {
            let answer = get(site, "a.example", path);
            assert_eq!(answer.service(), Some(service), "{path}: {answer:?}");
            assert_eq!(answer.request_line(), format!("GET {sent} HTTP/1.1"), "{path}");
        }
    });
}

#[test]
fn options_of_a_path_count_for_its_expression() {
    let paths = "/in/[a-z]+:\n  auth-secret: users\n/out:\n  path-type: regex\n";
    let mut manifests = vec![
        shop("guarded", "a.example", &[REGEX, ("paths", paths)], &[("/in/[a-z]+", 1), ("/[a-z]+", 2)]),
        shop(
            "one",
            "b.example",
            &[("paths", "/[0-9]+:\n  path-type: regex\n")],
            &[("/[0-9]+", 3), ("/[a-z]", 4)],
        ),
    ];
    manifests.extend([certificate(), users()]);
    on_each_haproxy(&manifests, |site| {
        let statuses = ["/in/x", "//in//x", "/in/x/y", "/%69n/x", "/in", "/in/1"];
        let statuses = statuses.map(|path| get(site, "a.example", path).status);
        assert_eq!(statuses, [401, 401, 401, 401, 200, 200]);
        goes(site, "b.example", &[("/7", Some(3)), ("/a", None), ("/[a-z]", Some(4))]);
    });
}

#[test]
fn nobody_takes_the_host_or_paths_of_another_namespace_by_an_expression() {
    let aged = |mut ingress: Value, year: u16| {
        ingress["metadata"]["creationTimestamp"] = json!(format!("{year}-01-01T00:00:00Z"));
        ingress
    };
    let own = [("/", "Prefix", "s1"), ("/api", "Prefix", "s2")];
    let manifests = [
        aged(ingress(("shop", "own"), "a.example", &[], &own), 2020),
        aged(
            ingress(
                ("evil", "regex"),
                "a.example",
                &[REGEX],
                &[
                    ("/[a-z]+", "Prefix", "nobody"),
                    ("/api/.*", "ImplementationSpecific", "nobody"),
                    ("/api(/|$)(.*)", "ImplementationSpecific", "nobody"),
                    ("/.*", "ImplementationSpecific", "nobody"),
                    ("/api/[a-z]{1,50}", "ImplementationSpecific", "nobody"),
                ],
            ),
            2021,
        ),
        // Who has a host takes nothing from those that have paths of it.
        aged(shop("holder", "b.example", &[REGEX], &[("/[a-z]+/[a-z]+", 3)]), 2020),
        aged(ingress(("other", "path"), "b.example", &[], &[("/other", "Prefix", "nobody")]), 2021),
    ];
    let (_, warnings) = rendered_alone(&manifests).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    let said = sentences(&warnings);
    assert!(said.contains("a.example is held by namespace shop, and only its own may be there"), "{said}");
    on_each_haproxy(&manifests, |site| {
        goes(
            site,
            "a.example",
            &[("/abc", Some(1)), ("/api", Some(2)), ("/api/x", Some(2)), ("/x/y", Some(1))],
        );
        goes(site, "b.example", &[("/a/b", Some(3))]);
        assert_eq!(get(site, "b.example", "/other/x").status, 503);
    });
}

#[test]
fn what_cannot_be_asked_refuses_the_ingress() {
    for (path, target, expected) in [
        (
            "/(a+)+b",
            None,
            "path \"/(a+)+b\" is a regular expression by haproxy-haptic.org/path-type, and it must not go back",
        ),
        ("/(", None, "must be a regular expression"),
        ("/a[0-9]", Some("v2"), "begins with / or a group"),
        ("/a(.*)", Some("/$1"), "with \\1 (not $1) for the first group"),
    ] {
        let mut options = vec![REGEX];
        options.extend(target.map(|target| ("rewrite-target", target)));
        let said =
            sentences(&rendered_alone(&[shop("on", "a.example", &options, &[(path, 1)])]).expect_err(path));
        assert!(said.contains(expected), "{said}");
    }
    let alone = shop("on", "a.example", &[("rewrite-target", "/x")], &[("/a", 1)]);
    let said = sentences(&rendered_alone(&[alone]).expect_err("alone"));
    assert!(said.contains("given together with path-type"), "{said}");
}

#[test]
fn a_path_that_an_expression_may_not_be_asked_with_is_too_long() {
    let manifests = [shop("on", "a.example", &[REGEX], &[("/(.*)a(.*)b$", 1), ("/", 2)])];
    on_each_haproxy(&manifests, |site| {
        goes(site, "a.example", &[("/xaxb", Some(1)), ("/x", Some(2))]);
        assert_eq!(get(site, "a.example", &format!("/{}", "ab".repeat(2500))).status, 414);
    });
}

#[test]
fn no_path_is_so_long_that_it_passes_the_guard_of_an_expression() {
    let guarded = |name, host, guard: (&str, &str), path| {
        shop(
            name,
            host,
            &[("paths", &format!("{path}: {{path-type: regex, {}: {}}}", guard.0, guard.1))],
            &[(path, 1), ("/", 2)],
        )
    };
    let mut manifests = vec![
        guarded("users", "a.example", ("auth-secret", "users"), "/admin(/[a-z]+)*"),
        guarded("addresses", "b.example", ("deny-from", "127.0.0.0/8"), "/(admin|root)(/|[a-z])*"),
        shop("turned", "c.example", &[REGEX, ("rewrite-target", "/own\\1")], &[("/x((/[a-z]+)+)", 3)]),
    ];
    manifests.extend([certificate(), users()]);
    on_each_haproxy(&manifests, |site| {
        for (host, head, guarded) in [("a.example", "/admin", 401), ("b.example", "/root", 403)] {
            for rounds in [1, 500, 1000, 1300, 1400, 2000, 5000, 7000] {
                let path = format!("{head}{}", "/a".repeat(rounds));
                let status = get(site, host, &path).status;
                assert!(status == guarded || (status == 414 && rounds > 500), "{host} {rounds}: {status}");
                let other = get(site, host, &format!("/o{}", "/a".repeat(rounds)));
                assert_eq!(other.service(), Some(2), "{host} {rounds}: {other:?}");
            }
        }
        for rounds in [1, 500, 1000, 1300, 1400, 2000, 5000] {
            let rest = "/a".repeat(rounds);
            let answer = get(site, "c.example", &format!("/x{rest}"));
            let is_turned = answer.request_line() == format!("GET /own{rest} HTTP/1.1");
            assert!(is_turned || (answer.status == 414 && rounds > 500), "{rounds}: {answer:?}");
        }
    });
}

#[test]
fn as_many_expressions_as_a_host_has_are_asked_in_their_order() {
    let numbers: Vec<String> = (0..600).map(|n| format!("/n{n:03}-[a-z]+")).collect();
    let paths: Vec<(&str, u8)> = numbers.iter().map(|path| (path.as_str(), 1)).collect();
    let manifests = [shop("many", "a.example", &[REGEX], &paths)];
    let (_, warnings) = rendered_alone(&manifests).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    let said = sentences(&warnings);
    assert!(said.contains("100 routes of a.example are not served"), "{said}");
    on_each_haproxy(&manifests, |site| {
        goes(site, "a.example", &[("/n599-x", Some(1)), ("/n100-x", Some(1)), ("/n099-x", None)]);
    });
}
