//! The table of options by tables of values: what each takes, what it makes of it, and what is said of the rest.

use super::{
    MOST_BYTES, RouteOptions, Settings, Written,
    level::Level,
    route_options::INSTEAD_OF,
    table::{self, TABLE, With},
};
use serde_json::json;

fn read(written: &[(&str, &str)]) -> RouteOptions {
    RouteOptions::read(written.iter().copied(), &Settings::default())
}

fn said(written: &[(&str, &str)]) -> Vec<String> {
    read(written).refused.iter().map(ToString::to_string).collect()
}

#[test]
fn rows_are_sorted_and_agree_with_each_other() {
    let settings = Settings::default();
    assert!(TABLE.is_sorted_by(|a, b| a.name < b.name));
    for row in TABLE {
        assert!(row.kind.read(row.example, &settings).is_ok(), "{}: {}", row.name, row.example);
        let default = row.default.is_empty() || row.kind.read(row.default, &settings).is_ok();
        assert!(default, "{}: {}", row.name, row.default);
        assert!(!row.about.is_empty() && !row.kind.expected(&settings).is_empty(), "{}", row.name);
        if let With::Needs(other) | With::Beside(other) = row.with {
            assert!(table::row(other).is_some(), "{} goes with {other}", row.name);
        }
    }
}

#[test]
fn a_good_text_is_its_value() {
    for (option, text, expected) in [
        ("affinity", "cookie", json!("cookie")),
        (
            "allow-from",
            "10.0.0.0/8 , ::1",
            json!([
                {"network": "10.0.0.0/8", "prefixes": ["40A"]},
                {"network": "::1", "prefixes": ["600000000000000000000000000000001"]},
            ]),
        ),
        ("balance", "random", json!("random")),
        ("cors-allow-origin", "*", json!(["*"])),
        ("cors-allow-origin", "https://a.b:8443, http://c", json!(["https://a.b:8443", "http://c"])),
        ("hsts-max-age", "0", json!(0)),
        ("max-body-size", "10m", json!(10 << 20)),
        ("redirect-to", "/x?y={z}&%41", json!("/x?y={z}&%41")),
        (
            "request-headers",
            "X-A: a: b\n\n X-B:c",
            json!([
                {"name": "X-A", "value": "a: b"}, {"name": "X-B", "value": "c"},
            ]),
        ),
        ("rewrite-path", "/v2/", json!("/v2")),
        ("rewrite-path", "/", json!("")),
        ("auth-secret", &"a".repeat(253), json!("a".repeat(253))),
        ("ssl-redirect", "false", json!("false")),
        ("redirect-host", "shop.example:8443", json!("shop.example:8443")),
        ("app-root", "/a?b=c", json!("/a?b=c")),
        ("timeout-server", "1h", json!(3_600_000)),
        ("timeout-server", "24h", json!(86_400_000)),
    ] {
        let options = read(&[(option, text)]);
        assert_eq!(options.refused, [], "{option}={text}");
        assert_eq!(options.to_json()[option], expected, "{option}={text}");
    }
}

#[test]
fn a_bad_text_is_refused_with_what_it_must_be_and_an_example() {
    for (option, text, expected) in [
        ("affinity", "ip", "it must be cookie"),
        ("allow-from", "10.0.0.0/33", "networks such as 10.0.0.0/8"),
        ("allow-from", "", "networks such as"),
        ("auth-realm", "-f", "the first of which is no -"),
        ("auth-realm", "a\"b", "no -, for example my shop"),
        ("auth-realm", "a\nb", "and control characters"),
        ("auth-secret", &"a".repeat(254), "the name of a Secret"),
        ("auth-secret", "../x", "the name of a Secret in the same namespace, for example users"),
        ("balance", "fastest", "one of roundrobin, leastconn, random, source"),
        ("cors-allow-headers", "a b", "names separated by commas"),
        ("cors-allow-origin", "shop.example", "origins such as https://shop.example"),
        ("cors-max-age", "1h", "a number of seconds from 0 to 999999999, for example 600"),
        ("max-body-size", "10MB", "a size such as 500k or 10m"),
        ("max-body-size", "0", "larger than 0"),
        ("max-connections", "0", "a number of connections"),
        ("min-tls-version", "1.3", "TLSv1.2 or TLSv1.3"),
        ("redirect-to", "javascript:x", "a URL or path"),
        ("redirect-to", "/a|b", "without blanks and |"),
        ("request-headers", "Connection: x", "without Connection, which HAProxy itself sets"),
        ("response-headers", "X-Haptic-A: x", "without X-Haptic-A"),
        ("retries", "11", "a number from 0 to 10"),
        ("rewrite-path", "v2", "a path that begins with /"),
        ("ssl-redirect", "yes", "true, false or always"),
        ("app-root", "//evil.example", "begins with one /"),
        ("redirect-host", "https://a", "a host in lower case"),
        ("redirect-host", "*.a.example", "a host"),
        ("timeout-queue", "30", "30 what? Write 30s"),
        ("timeout-queue", "25h", "up to 24h"),
        ("timeout-queue", "100us", "longer than 0"),
    ] {
        let said = said(&[(option, text)]);
        assert_eq!(said.len(), 1, "{option}={text}: {said:?}");
        assert!(said[0].starts_with(&format!("annotation haproxy-haptic.org/{option} is ")), "{said:?}");
        assert!(said[0].contains(expected), "{option}={text}: {said:?}");
    }
}

#[test]
fn a_long_value_is_quoted_in_part_and_one_that_is_too_long_not_at_all() {
    let long = said(&[("ssl-redirect", &"ä".repeat(30_000))]);
    assert!(long.len() == 1 && long[0].len() < 400, "{long:?}");
    let longest = "x".repeat(MOST_BYTES + 1);
    assert_eq!(
        said(&[("own", &longest)]),
        ["annotation haproxy-haptic.org/own has 65537 bytes, it may have 65536"]
    );
}

#[test]
fn options_are_wrong_or_nothing_without_those_they_go_with() {
    let together = |option, other| {
        [format!("annotation haproxy-haptic.org/{option}"), format!("must be given together with {other}")]
    };
    for (option, text, other) in [
        ("affinity-cookie-name", "SHOP", "affinity"),
        ("rewrite-regex", "^/a", "rewrite-replacement"),
        ("rewrite-replacement", "/a", "rewrite-regex"),
    ] {
        let said = said(&[(option, text)]);
        assert!(
            said.len() == 1 && together(option, other).iter().all(|part| said[0].contains(part)),
            "{said:?}"
        );
    }
    assert_eq!(said(&[("cors-allow-origin", "*"), ("cors-allow-credentials", "true")]).len(), 1);
    let settings = Settings { own: vec!["team".to_owned()], ..Settings::default() };
    let written = [("rate-limit-period", "hour"), ("timeout-servr", "1s"), ("team", "x")];
    let alone = RouteOptions::read(written, &settings);
    assert_eq!(alone.to_json(), json!({"team": "x"}));
    assert_eq!(
        sentences(&alone),
        [
            "annotation haproxy-haptic.org/rate-limit-period has no effect without haproxy-haptic.org/rate-limit",
            "there is no annotation haproxy-haptic.org/timeout-servr (did you mean \"timeout-server\"?), it is ignored",
        ]
    );
}

fn sentences(options: &RouteOptions) -> Vec<String> {
    options.ineffective.iter().map(|finding| finding.sentence.clone()).collect()
}

#[test]
fn what_others_would_put_something_in_the_place_of_is_told() {
    for (option, text, part) in [
        ("redirect-to", "https://new.example$request_uri", "\"$request_uri\""),
        ("redirect-to", "https://%[req.hdr(host)]/x", "\"%[req.hdr(host)]\""),
        ("rewrite-path", "/$1", "\"$1\""),
        ("app-root", "/a\\1/x", r#""\\1""#),
    ] {
        let said = sentences(&read(&[(option, text)])).join("\n");
        assert!(said.contains(part) && said.contains("stands as it is"), "{option} {text}: {said}");
    }
    let fine = [("redirect-to", "https://a.example/?price=5%25"), ("rewrite-path", "/a.b")];
    assert_eq!(sentences(&read(&fine)), Vec::<String>::new());
    assert_eq!(read(&[("server-ca-secret", "ca")]).ineffective.len(), 1);
    assert_eq!(read(&[("server-ca-secret", "ca"), ("protocol", "https")]).ineffective.len(), 0);
}

#[test]
fn a_path_is_kept_behind_a_url_only() {
    let keep = |to| said(&[("redirect-to", to), ("redirect-keep-path", "true")]);
    assert_eq!(keep("https://a.example/x"), Vec::<String>::new());
    assert!(keep("/x")[0].contains("redirect-keep-path is \"true\", it must be false"));
}

#[test]
fn what_goes_with_a_given_option_has_its_default() {
    let refused = read(&[("auth-secret", "users"), ("auth-realm", "\"")]);
    assert_eq!(refused.to_json(), json!({"auth-realm": "restricted", "auth-secret": "users"}));
    let refused = read(&[("rewrite-regex", "^/a"), ("rewrite-replacement", "a")]);
    assert_eq!((refused.to_json(), refused.refused.len()), (json!({}), 1));
    let options = read(&[("rate-limit", "3"), ("redirect-to", "/x"), ("redirect-code", "301")]).to_json();
    assert_eq!(
        options,
        json!({"rate-limit": 3, "rate-limit-period": "second", "redirect-code": "301", "redirect-to": "/x"})
    );
}

#[test]
fn a_users_own_option_is_short_at_a_service_since_every_ingress_there_has_a_copy() {
    let settings = Settings { own: vec!["mine".to_owned()], ..Settings::default() };
    let read = |level, bytes: usize| Written::read(level, [("mine", &*"x".repeat(bytes))], &settings);
    assert!(read(Level::Service, 4 << 10).refused.is_empty());
    assert!(read(Level::Ingress, 60 << 10).refused.is_empty());
    let refused = read(Level::Service, 5 << 10).refused;
    assert!(
        refused[0].to_string().ends_with("it must have no more than 4096 bytes at a Service, it has 5120")
    );
}

#[test]
fn of_a_secret_and_a_config_map_with_the_ca_the_nearer_counts() {
    let settings = Settings::default();
    let written = |level, option: &'static str| Written::read(level, [(option, "ca")], &settings);
    for [nearer, farther] in INSTEAD_OF {
        let levels = [written(Level::Ingress, nearer), written(Level::Service, farther)];
        let options = RouteOptions::of_levels(levels.iter().map(Some), &settings);
        assert_eq!((options.text(nearer), options.text(farther)), (Some("ca"), None));
        assert!(options.refused.is_empty(), "{:?}", options.refused);
    }
    let both = [("server-ca-config-map", "ca"), ("server-ca-secret", "ca")];
    let refused =
        "annotation haproxy-haptic.org/server-ca-config-map must not be given together with server-ca-secret";
    assert_eq!(said(&both), [refused]);
}
