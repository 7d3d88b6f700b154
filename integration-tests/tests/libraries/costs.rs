//! What a value costs HAProxy: bounds of annotations and Secrets, by what is refused, by requests, and by HAProxy's own word
//! about what is let pass.

use crate::{
    SERIES, on_each_haproxy,
    options::{both, certificate},
    patterns,
    site::{Scheme, Site, rendered_alone, sentences},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use haptic_routes::regex_cost;
use integration_tests::program::{self, HaproxySeries};
use serde_json::{Value, json};
use std::{
    process::Command,
    time::{Duration, Instant},
};

/// The password "secret".
const HASH: &str = "$5$salt$kpa26zwgX83BPSR8d7w93OIXbFt/d3UOTZaAu5vsTM6";

fn labelled(name: &str, entry: &str, text: &str) -> Value {
    json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": name, "labels": {"haproxy-haptic.org/use": "yes"}},
        "data": {entry: BASE64.encode(text)}})
}

fn configuration_of(manifests: &[Value]) -> (String, String) {
    let (bundle, warnings) = rendered_alone(manifests).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    (bundle.config.text.to_string(), sentences(&warnings))
}

#[test]
fn a_wrong_value_is_one_error_however_long_it_is() {
    for (option, element) in [
        ("request-headers", "v\n"),
        ("response-headers", "v\n"),
        ("allow-from", "v,"),
        ("deny-from", "v,"),
        ("cors-allow-origin", "v,"),
        ("cors-allow-headers", "\u{e4},"),
        ("rewrite-regex", "(a+)+"),
        ("redirect-to", "\u{1F600} "),
        ("max-body-size", "v"),
    ] {
        let value = element.repeat(60_000 / element.len());
        let mut options = vec![(option, &*value)];
        match option {
            "cors-allow-headers" => options.push(("cors-allow-origin", "*")),
            "rewrite-regex" => options.push(("rewrite-replacement", "/x")),
            _ => {}
        }
        let problems = rendered_alone(&both(&options)).expect_err(option);
        assert!(problems.len() <= 2, "{option}: {} errors", problems.len());
        assert!(sentences(&problems).len() < 2000, "{option}: {}", sentences(&problems));
    }
}

#[test]
fn an_annotation_that_is_too_long_refuses_its_ingress_whatever_it_says() {
    for (option, element) in [
        ("allow-from", "10.0.0.0/8, "),
        (
            "request-headers",
            "X-A: 1
",
        ),
        ("ssl-redirect", "true "),
        ("own", "x"),
    ] {
        let value = |bytes: usize| element.repeat(bytes / element.len() + 1);
        let problems = sentences(&rendered_alone(&both(&[(option, &value(65_536))])).expect_err(option));
        let bytes = value(65_536).len();
        let said = format!("annotation haproxy-haptic.org/{option} has {bytes} bytes, it may have 65536");
        assert!(problems.contains(&said), "{problems}");
        let longest = &value(65_536)[..65_536];
        let shorter = rendered_alone(&both(&[(option, longest)]));
        let problems = shorter.err().map(|problems| sentences(&problems)).unwrap_or_default();
        assert!(!problems.contains("bytes, it may have"), "{problems}");
    }
}

#[test]
fn lists_are_as_long_as_the_settings_say() {
    let many = |element: &str, count: usize, between: &str| vec![element; count].join(between);
    for (option, element, between, most) in [
        ("allow-from", "10.0.0.0/7", ",", 500),
        ("deny-from", "fd00::/8", ",", 500),
        ("cors-allow-origin", "https://shop.example:8443", ", ", 100),
        ("request-headers", "X-A: 1", "\n", 32),
        ("response-headers", "X-A: 1", "\n", 32),
    ] {
        rendered_alone(&both(&[(option, &many(element, most, between))])).expect(option);
        let problems =
            rendered_alone(&both(&[(option, &many(element, most + 1, between))])).expect_err(option);
        assert!(sentences(&problems).contains(&format!("no more than {most} ")), "{}", sentences(&problems));
    }
}

#[test]
fn users_whose_passwords_cost_too_much_or_cannot_work_do_not_get_in_and_others_do() {
    let users =
        format!("anna:{HASH}\nbob:$6$rounds=20000000$salt${}\nann:$apr1$x$y\ncarl:secret\n", "a".repeat(86));
    let mut manifests = both(&[("auth-secret", "users")]);
    manifests.extend([certificate(), labelled("users", "auth", &users)]);
    let (config, warnings) = configuration_of(&manifests);
    for said in [
        "Secret shop/users: user bob (line 2) does not get in",
        "$6$ with 20000000 rounds",
        "a broken hash of the kind $apr1$",
        "user carl (line 4) does not get in, its password is plain text",
    ] {
        assert!(warnings.contains(said), "{said}: {warnings}");
    }
    assert!(!warnings.contains("aaaa") && !config.contains("bob") && !config.contains("carl"), "{warnings}");
    on_each_haproxy(&manifests, |site| {
        let status = |credentials: &str| {
            let header = format!("Authorization: Basic {}\r\n", BASE64.encode(credentials));
            site.ask(Scheme::Https, "GET", "a.example", "/on", &header, "").status
        };
        assert_eq!(status("anna:secret"), 200);
        // The hash of a long password takes as long as it is: it is not tried.
        let tried = ["anna:wrong", "bob:x", "ann:y", "carl:secret", &format!("anna:{}", "x".repeat(141))];
        assert_eq!(tried.map(status), [401; 5]);
        assert_eq!(site.get(Scheme::Https, "a.example", "/off").service(), Some(2));
    });
}

#[test]
fn only_secrets_that_a_route_names_are_printed_once_and_within_bounds() {
    let users = |count: usize, hash: &str| (0..count).map(|n| format!("u{n}:{hash}\n")).collect::<String>();
    let mut manifests = both(&[("auth-secret", "named")]);
    let mut again = manifests[0].clone();
    again["metadata"]["name"] = json!("again");
    again["spec"]["rules"][0]["host"] = json!("again.example");
    manifests.extend([
        again,
        labelled("named", "auth", &users(3, HASH)),
        labelled("unnamed", "auth", &users(3, HASH)),
    ]);
    let (config, _) = configuration_of(&manifests);
    assert_eq!(config.matches("userlist ").count(), 1, "{config}");
    assert_eq!(config.matches("http_auth(users_shop_named)").count(), 2);

    manifests.push(labelled("named", "auth", &users(501, HASH)));
    let (config, warnings) = configuration_of(&manifests);
    assert_eq!(config.matches("userlist ").count(), 0);
    assert_eq!(config.matches("http-request deny deny_status 503 if { always_true }\n").count(), 2);
    assert!(warnings.contains("Secret shop/named cannot be used: it has more than 500 users"), "{warnings}");
}

#[test]
fn who_cannot_be_let_in_costs_haproxys_log_nothing() {
    let headers = "X-A: 1\nX-B: 2";
    let refusals = [None, Some((0..501).map(|n| format!("u{n}:{HASH}\n")).collect::<String>())];
    for secret in refusals {
        let mut manifests =
            both(&[("auth-secret", "users"), ("request-headers", headers), ("rewrite-path", "/x")]);
        manifests.push(certificate());
        manifests.extend(secret.map(|users| labelled("users", "auth", &users)));
        on_each_haproxy(&manifests, |site| {
            let basic = format!("Authorization: Basic {}\r\n", BASE64.encode("u:secret"));
            for credentials in ["", &basic] {
                let answer = site.ask(Scheme::Https, "GET", "a.example", "/on", credentials, "");
                assert_eq!(answer.status, 503);
            }
            assert_eq!(site.get(Scheme::Https, "a.example", "/off").service(), Some(2));
            let said = site.said();
            // Of itself it says more: that tests run it as root.
            let is_of_configuration = |line: &str| line.contains("WARNING") && line.contains("haproxy.cfg:");
            assert!(!said.lines().any(is_of_configuration), "{said}");
        });
    }
}

#[test]
fn all_users_together_cost_each_start_no_more_than_the_setting() {
    let hash = format!("$2y$07$salt{}", "a".repeat(49));
    let text: String = (0..450).map(|n| format!("u{n}:{hash}\n")).collect();
    let mut manifests = vec![certificate()];
    for number in 0..20 {
        let mut own = both(&[("auth-secret", "users")]).remove(0);
        own["metadata"]["namespace"] = json!(format!("greedy-{number}"));
        own["spec"]["rules"][0]["host"] = json!(format!("{number}.example"));
        let mut secret = labelled("users", "auth", &text);
        secret["metadata"]["namespace"] = json!(format!("greedy-{number}"));
        manifests.extend([own, secret]);
    }
    manifests.extend(both(&[("auth-secret", "users")]));
    manifests.push(labelled("users", "auth", &format!("anna:{HASH}\n")));
    let (config, warnings) = configuration_of(&manifests);
    let users = config.lines().filter(|line| line.trim_start().starts_with("user ")).count();
    assert!(users <= 1_000_000 / 6400 && config.contains("user anna "), "{users}");
    assert!(warnings.contains("passwordLimits.milliseconds"), "{warnings}");
}

/// What HAProxy says of lines in a frontend and behind it, beside a folder `files` with these.
fn refused_by_haproxy(series: HaproxySeries, lines: &str, files: &[String]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("files")).unwrap();
    for (number, file) in files.iter().enumerate() {
        std::fs::write(folder.path().join(format!("files/{number}.pem")), file).unwrap();
    }
    let config = format!(
        "global\n  default-path config\ndefaults\n  mode http\n  timeout client 1s\n  timeout server 1s\n  timeout connect 1s\n\
         frontend f\n  bind 127.0.0.1:1\n  {lines}\n"
    );
    std::fs::write(folder.path().join("haproxy.cfg"), config).unwrap();
    let output = Command::new(program::haproxy(series).unwrap_or_else(|e| panic!("{e}")))
        .args(["-c", "-dr", "-f"])
        .arg(folder.path().join("haproxy.cfg"))
        .output()
        .unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Bytes of a certificate changed one by one.
fn mutants(pem: &str) -> Vec<String> {
    let der = BASE64.decode(pem.lines().filter(|line| !line.starts_with('-')).collect::<String>()).unwrap();
    let mut all = Vec::new();
    for at in (0..der.len()).step_by(2) {
        for value in [0x00, 0x7f, 0xff, der[at] ^ 1] {
            let mut other = der.clone();
            other[at] = value;
            let label = "CERTIFICATE";
            all.push(format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", BASE64.encode(other)));
        }
    }
    all
}

#[test]
fn certificates_that_are_let_pass_are_taken_by_haproxy() {
    let own = integration_tests::certificate::for_host("a.example").unwrap();
    let mutants = mutants(&own.pem);
    let authorities: Vec<String> = mutants
        .iter()
        .filter_map(|pem| haptic_routes::certificate::authorities(pem, "ca.crt").ok())
        .collect();
    let pairs: Vec<String> =
        mutants.iter().filter_map(|pem| haptic_routes::certificate::pair(pem, &own.key).ok()).collect();
    assert!(authorities.len() > 50 && pairs.len() > 20, "{} {}", authorities.len(), pairs.len());
    let bind = "bind 127.0.0.1:2 ssl crt files";
    let server =
        "default_backend b\nbackend b\n  server s 127.0.0.1:1 ssl verify required ca-file files/0.pem";
    for series in SERIES {
        // All together; one by one only to say which.
        for (lines, together, all) in
            [(bind, pairs.clone(), &pairs), (server, vec![authorities.concat()], &authorities)]
        {
            let Some(said) = refused_by_haproxy(series, lines, &together) else { continue };
            let one = |file: &String| refused_by_haproxy(series, lines, std::slice::from_ref(file));
            let wrong: Vec<String> = all.iter().filter_map(one).collect();
            panic!("{series:?}: {} of {}: {said} {wrong:#?}", wrong.len(), all.len());
        }
        let broken = mutants[1].clone() + &own.key;
        assert!(refused_by_haproxy(series, bind, &[broken]).is_some(), "HAProxy takes everything");
    }
}

#[test]
fn an_authority_beside_broken_blocks_is_the_authority_alone() {
    let good = integration_tests::certificate::for_host("authority").unwrap();
    let other = |label: &str| format!("-----BEGIN {label}-----\nTUlJQg==\n-----END {label}-----\n");
    let text = format!("{}{}{}{}", other("X509 CRL"), good.pem, good.key, other("TRUSTED CERTIFICATE"));
    let mut manifests =
        both(&[("client-ca-secret", "ca"), ("protocol", "https"), ("server-ca-secret", "ca")]);
    manifests.extend([certificate(), labelled("ca", "ca.crt", &text)]);
    let (bundle, _) = rendered_alone(&manifests).unwrap();
    let file = bundle.all().find(|file| file.path.contains("ca_shop_ca")).unwrap().text.to_string();
    assert_eq!((file.matches("BEGIN").count(), file.contains("PRIVATE")), (1, false));
    on_each_haproxy(&manifests, |site| {
        assert_eq!(site.get(Scheme::Https, "a.example", "/on").status, 403);
        assert_eq!(site.get(Scheme::Https, "a.example", "/off").service(), Some(2));
    });
}

/// Expressions with what keeps them busiest, and whether they are let pass.
const EXPRESSIONS: [(&str, &str, &str, bool); 7] = [
    ("^/on/(.*)/x$", "/on/x", "/x", true),
    ("^/on(/[^/]+)*\\.html$", "/on", "/.html", true),
    ("^/on/(.*)a(.*)b$", "/on/b", "a", true),
    ("/old/(.*)", "/on", "/old", true),
    ("(a+)+b", "/on/", "a", false),
    ("^/on/(.*)(.*)(.*)x$", "/on/x", "a", false),
    ("^/on/([a-z]|[a-f])*x", "/on/", "a", false),
];

#[test]
fn no_request_costs_much_more_for_a_regular_expression() {
    for (pattern, ..) in EXPRESSIONS.iter().filter(|(.., passes)| !passes) {
        rendered_alone(&both(&[("rewrite-regex", pattern), ("rewrite-replacement", "/x")]))
            .expect_err(pattern);
    }
    for (pattern, head, body, _) in EXPRESSIONS.iter().filter(|(.., passes)| *passes) {
        let mut manifests = both(&[("rewrite-regex", pattern), ("rewrite-replacement", "/x")]);
        manifests.push(certificate());
        let site = Site::start(HaproxySeries::V3_4, &manifests);
        let path = |length: usize| format!("{head}{}!b", body.repeat((length - head.len() - 2) / body.len()));
        let least = |on: &str, length: usize| {
            let path = path(length).replacen("/on", on, 1);
            let took = |_| {
                let begin = Instant::now();
                let status = site.get(Scheme::Http, "a.example", &path).status;
                assert!([200, 414].contains(&status), "{pattern}: {status}");
                begin.elapsed()
            };
            (0..15).map(took).min().unwrap()
        };
        for length in [1000, 2000, 4000, 8000, 14_000] {
            // An expression that is not judged takes 30 to 50 ms here, and 0.1 ms without one.
            let (with, without) = (least("/on", length), least("/off", length));
            assert!(
                with < without * 20 + Duration::from_millis(5),
                "{pattern} {length}: {with:?}, else {without:?}"
            );
        }
    }
}

#[test]
fn a_longer_path_than_an_expression_may_see_is_refused() {
    let mut manifests = both(&[("rewrite-regex", "^/on/(.*)a(.*)b$"), ("rewrite-replacement", "/x")]);
    manifests.push(certificate());
    on_each_haproxy(&manifests, |site| {
        let status = |length: usize| {
            site.get(Scheme::Http, "a.example", &format!("/on/{}", "x".repeat(length - 4))).status
        };
        assert_eq!((status(1024), status(1025)), (200, 414));
        assert_eq!(
            site.get(Scheme::Http, "a.example", &format!("/off/{}", "x".repeat(4000))).service(),
            Some(2)
        );
    });
}

/// Groups that may be repeated, each with a round that takes as few bytes as may be.
const GROUPS: [(&str, &str); 12] = [
    ("(/[a-z]+)", "/a"),
    ("(/[a-z]+?)", "/a"),
    ("(?:/[a-z]*)", "/a"),
    ("(/(a|b)c)", "/bc"),
    ("((/a)(bc))", "/abc"),
    ("(/(?:a[a-z]?|b)(c|d))", "/bd"),
    ("((/([a-z]+?))[0-9]?)", "/a"),
    ("(?:(?:/a|/b){2})", "/b/b"),
    ("((?:/[a-y]{1,3}){1,2}z)", "/az"),
    ("(/(?:[a-z]|[0-9]){1,3}_)", "/1_"),
    ("(/a([0-9],)*b)", "/ab"),
    ("(/a([0-9],)*b)", "/a1,1,1,1,1,1,1,1,b"),
];

#[test]
fn what_pcre2_repeats_has_room_on_the_longest_path_that_is_let_pass() {
    let mut all: Vec<(String, String, String)> = Vec::new();
    for (group, round) in GROUPS {
        for (count, end) in
            [("*", ""), ("*", "-$"), ("+?", "-$"), ("{2,}", "-"), ("*?", "-"), ("{1,300}", "")]
        {
            let head = format!("/n{}", all.len());
            let pattern = format!("^{head}(?:{group}{count}{end})");
            let Ok(longest) = regex_cost::longest_path(&pattern) else { continue };
            let rounds = (longest.min(14_000) - head.len() - 1) / round.len();
            all.push((format!("{head}{}-", round.repeat(rounds)), head, pattern));
        }
    }
    assert!(all.len() > 40, "{} are let pass", all.len());
    let option = |(_, head, pattern): &(String, String, String)| {
        format!("{head}: {}\n", json!({"rewrite-regex": pattern, "rewrite-replacement": "/found"}))
    };
    let options: String = all.iter().map(option).collect();
    let paths: Vec<_> = all.iter().map(|(_, head, _)| (&**head, "Prefix", "s1")).collect();
    let manifests = [patterns::ingress(("shop", "all"), "a.example", &[("paths", &options)], &paths)];
    on_each_haproxy(&manifests, |site| {
        for (path, _, pattern) in &all {
            let answer = site.get(Scheme::Http, "a.example", path);
            assert_eq!(answer.request_line(), "GET /found HTTP/1.1", "{pattern} {}", path.len());
        }
    });
}
