//! What holds for all families: their tables, and what a translation of each key becomes.

use super::{About, Family, FamilyKey, ForeignOptions, KeyTarget, translate};
use crate::options::{Settings, groups::Annotations, table::row, value::OptionValues};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};

fn settings(families: serde_json::Value) -> Settings {
    Settings::of(json!({"annotationFamilies": families}).as_object().unwrap())
}

fn foreign(annotations: &[(&str, &str)]) -> ForeignOptions {
    let settings = settings(json!({"ingress-nginx": {"config": {"proxy-connect-timeout": 7}}}));
    let annotations = annotations.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    ForeignOptions::of(settings.families.iter(), &annotations, &[], About::default(), &settings)
}

#[test]
fn tables_are_sorted_and_name_options_of_ours() {
    for family in Family::ALL {
        let table = family.table();
        assert!(table.is_sorted_by(|a, b| a.name < b.name), "{family:?}");
        for key in table {
            let options: &[&str] = match key.to {
                KeyTarget::Option(option) => &[option],
                KeyTarget::Group(options) => options,
                KeyTarget::Alias(other) => {
                    assert!(family.key(other).is_some(), "{other}");
                    &[]
                }
                KeyTarget::Nothing => &[],
            };
            for option in options {
                assert!(row(option).is_some(), "{family:?} {}: {option}", key.name);
            }
        }
    }
}

/// What is written in the sources of a folder, but for tables and tests.
fn sources(folder: &std::path::Path) -> String {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_code = |file: &std::path::PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy();
        name.ends_with(".rs") && !["table.rs", "tests.rs"].contains(&&*name)
    };
    files.filter(is_code).map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

#[test]
fn what_code_reads_together_with_others_is_named_there() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/families");
    for family in Family::ALL {
        let code = sources(&folder) + &sources(&folder.join(family.name().replace('-', "_")));
        // Keys of a ConfigMap for all are read as those of one, with another beginning.
        let is_there = |name: &str| code.contains(&format!("\"{name}\""));
        let is_read =
            |key: &&FamilyKey| is_there(key.name) || key.name.strip_prefix("global-").is_some_and(is_there);
        let read_by_code = family.table().iter().filter(|key| matches!(key.to, KeyTarget::Group(_)));
        let unread: Vec<&str> = read_by_code.filter(|key| !is_read(key)).map(|key| key.name).collect();
        assert!(unread.is_empty(), "{family:?}: {unread:?}");
    }
}

#[test]
fn of_thousands_of_lines_that_are_wrong_the_first_few_are_told() {
    for (family, key, line) in [
        ("haproxy-org", "request-set-header", "X-A %[rand]"),
        ("haproxy-org", "path-rewrite", "(a+)+b /x"),
        ("haproxy-ingress", "request-set-headers", "X-A: %[rand]"),
    ] {
        let settings = settings(json!({family: {}}));
        let prefix = settings.families[0].family.prefixes()[0];
        let ingress = BTreeMap::from([(format!("{prefix}{key}"), format!("{line}\n").repeat(2_000))]);
        let about = About { namespace: "shop", ..About::default() };
        let found = translate(&settings.families[0], &ingress, None, about, &settings).ingress.findings;
        assert!((1..=10).contains(&found.len()), "{key}: {}", found.len());
    }
}

#[test]
fn what_has_no_value_says_nothing_and_hides_what_is_farther() {
    let of = |family: &str, config: serde_json::Value, ingress: &[(&str, &str)], service: &[(&str, &str)]| {
        let settings = settings(json!({family: {"config": config}}));
        let prefix = settings.families[0].family.prefixes()[0];
        let texts = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(key, text)| (format!("{prefix}{key}"), (*text).to_owned())).collect()
        };
        let (ingress, service) = (texts(ingress), texts(service));
        let about = About { namespace: "shop", ..About::default() };
        let done = translate(&settings.families[0], &ingress, Some(&service), about, &settings);
        let value = |option: &str| done.value(option).map(|value| value.to_json().to_string());
        (
            done.level.closed,
            done.ingress.findings.len(),
            value("allow-from").unwrap_or_default(),
            value("timeout-server"),
        )
    };
    let inner = json!({"allow-list": "10.0.0.0/8", "timeout-server": "5s"});
    let (org, jcm) = ("haproxy-org", "haproxy-ingress");
    let nothing = (false, 0, String::new(), None);
    assert_eq!(of(org, inner.clone(), &[("allow-list", ""), ("timeout-server", " ")], &[]), nothing);
    let (_, _, allowed, _) = of(org, inner, &[("allow-list", ""), ("whitelist", "192.0.2.1")], &[]);
    assert!(allowed.contains("192.0.2.1"), "{allowed}");
    let empty = [("auth-secret", ""), ("auth-tls-secret", ""), ("oauth", ""), ("denylist-source-range", "")];
    let (is_closed, findings, ..) = of(jcm, json!({"auth-secret": "users"}), &empty, &[]);
    assert_eq!((is_closed, findings), (false, 0));
    assert!(of(jcm, json!({}), &[("allowlist-source-range", "")], &[]).0);
    assert!(of(jcm, json!({}), &[("whitelist-source-range", "")], &[]).0);
}

#[test]
fn another_name_of_a_list_counts_where_the_list_is_said_nowhere() {
    let allowed = |config: serde_json::Value, ingress: &[(&str, &str)], service: &[(&str, &str)]| {
        let settings = settings(json!({"haproxy-ingress": {"config": config}}));
        let texts = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            let key = |key: &str| format!("ingress.kubernetes.io/{key}");
            all.iter().map(|(name, text)| (key(name), (*text).to_owned())).collect()
        };
        let (ingress, service) = (texts(ingress), texts(service));
        let done = translate(&settings.families[0], &ingress, Some(&service), About::default(), &settings);
        assert!(!done.level.closed, "{:?}", done.ingress.findings);
        done.value("allow-from").map(|value| value.to_json()[0]["network"].clone()).unwrap_or_default()
    };
    let (main, old) = (("allowlist-source-range", "10.0.0.0/8"), ("whitelist-source-range", "192.0.2.0/24"));
    let of = |(key, text): (&str, &str)| json!({ key: text });
    assert_eq!(allowed(of(main), &[old], &[]), json!("10.0.0.0/8"));
    assert_eq!(allowed(json!({}), &[main], &[old]), json!("10.0.0.0/8"));
    assert_eq!(allowed(json!({}), &[main], &[("whitelist-source-range", "nonsense")]), json!("10.0.0.0/8"));
    assert_eq!(allowed(of(old), &[("whitelist-source-range", "198.51.100.1")], &[]), json!("198.51.100.1"));
    assert_eq!(allowed(of(old), &[], &[]), json!("192.0.2.0/24"));
}

#[test]
fn findings_name_annotations_as_they_are_written() {
    let settings = settings(json!({"haproxy-org": {}}));
    let found = |annotation: &str| {
        let annotations = BTreeMap::from([(annotation.to_owned(), "nonsense".to_owned())]);
        let all =
            ForeignOptions::of(settings.families.iter(), &annotations, &[], About::default(), &settings);
        all.ingress.findings[0].place.annotation.clone().unwrap_or_default()
    };
    let names = [
        "haproxy.com/deny-list",
        "ingress.kubernetes.io/whitelist",
        "rate-limit-requests",
        "haproxy.org/nonesuch",
    ];
    for annotation in names {
        assert_eq!(&*found(annotation), annotation);
    }
}

#[test]
fn values_are_read_as_their_controller_reads_them_and_wrong_ones_do_what_the_row_says() {
    let nginx = |key: &str| format!("nginx.ingress.kubernetes.io/{key}");
    let of = |key: &str, text: &str| foreign(&[(&nginx(key), text)]);
    let value = |of: &ForeignOptions, option: &str| of.own.written.values.get(option).map(|v| v.to_json());
    let good = of("proxy-body-size", "8M");
    assert_eq!(value(&good, "max-body-size"), Some(json!(8 << 20)));
    assert_eq!(value(&good, "timeout-connect"), Some(json!(7000)));
    let wrong = of("proxy-connect-timeout", "5s");
    assert!(
        wrong.ingress.findings[0].sentence.contains("it must be a number of seconds"),
        "{:?}",
        wrong.ingress.findings
    );
    assert_eq!((wrong.own.closed, wrong.ingress.dropped), (false, false));
    assert!(of("whitelist-source-range", "everybody").own.closed);
    let unknown = of("proxy-body-sise", "1m");
    assert!(
        unknown.ingress.findings[0].sentence.contains("proxy-body-size"),
        "{:?}",
        unknown.ingress.findings
    );
}

#[test]
fn servers_of_haproxy_ingress_are_told_of_certificates_as_there() {
    let settings = settings(json!({"haproxy-ingress": {}}));
    let reported = |more: &[(&str, &str)]| {
        let of =
            |(key, text): &(&str, &str)| (format!("haproxy-ingress.github.io/{key}"), (*text).to_owned());
        let annotations = [("auth-tls-secret", "ca")].iter().chain(more).map(of).collect();
        let foreign =
            ForeignOptions::of(settings.families.iter(), &annotations, &[], About::default(), &settings);
        foreign.own.written.values.get("client-certificate-headers").map(|value| value.to_json().to_string())
    };
    for fact in ["cn", "subject", "sha1"] {
        assert!(reported(&[]).unwrap().contains(&format!("\"{fact}\"")), "{:?}", reported(&[]));
    }
    assert!(!reported(&[]).unwrap().contains("\"der\""));
    assert!(reported(&[("auth-tls-cert-header", "true")]).unwrap().contains("\"der\""));
}

#[test]
fn what_is_read_again_for_each_service_is_bounded_and_closed_beyond() {
    let settings = settings(json!({"haproxy-org": {}}));
    let networks: Vec<String> = (0..500).map(|n| format!("10.{}.{}.0/24", n / 250, n % 250)).collect();
    let annotations = BTreeMap::from([("haproxy.org/allow-list".to_owned(), networks.join(","))]);
    let of_service = BTreeMap::from([("haproxy.org/timeout-server".to_owned(), "5s".to_owned())]);
    let services: Vec<(Arc<str>, _)> = (0..2_000).map(|n| (format!("s{n:04}").into(), &of_service)).collect();
    let of = |annotations: &BTreeMap<String, String>, count: usize| {
        ForeignOptions::of(
            settings.families.iter(),
            annotations,
            &services[..count],
            About::default(),
            &settings,
        )
    };
    let is_open = |all: &ForeignOptions, name: &str| !all.level(Some(name)).closed;
    let many = of(&annotations, 2_000);
    let open = many.of_services.values().filter(|level| !level.closed).count();
    assert!(open > 100 && open < 1_000, "{open}");
    assert!(is_open(&many, "s0000") && !is_open(&many, "s1999") && !many.own.closed);
    let reported = format!("{} Services of its routes", 2_000 - open);
    assert!(
        many.ingress.findings.iter().any(|finding| finding.sentence.starts_with(&reported)),
        "{:?}",
        many.ingress.findings
    );
    // What others say in their annotations costs nothing, and little of them may be said of many.
    let others =
        BTreeMap::from([("kubectl.kubernetes.io/last-applied-configuration".to_owned(), networks.join(","))]);
    let few = of(&others, 2_000);
    assert!(is_open(&few, "s1999") && few.ingress.findings.is_empty(), "{:?}", few.ingress.findings);
}

#[test]
fn requests_wait_for_a_server_as_long_as_there() {
    let waits = |config: serde_json::Value| {
        let settings = settings(json!({"haproxy-org": {"config": config}}));
        let annotations = BTreeMap::from([("haproxy.org/pod-maxconn".to_owned(), "10".to_owned())]);
        let all =
            ForeignOptions::of(settings.families.iter(), &annotations, &[], About::default(), &settings);
        all.own.written.values.get("timeout-queue").map(|value| value.to_json())
    };
    assert_eq!(waits(json!({})), Some(json!(5_000)));
    assert_eq!(waits(json!({"timeout-queue": "2s"})), Some(json!(2_000)));
}

#[test]
fn tls_of_a_host_is_that_of_its_ingress() {
    let options = |family: &str, key: &str, text: &str| {
        let settings = settings(json!({ family: {} }));
        let annotations = BTreeMap::from([(key.to_owned(), text.to_owned())]);
        let all =
            ForeignOptions::of(settings.families.iter(), &annotations, &[], About::default(), &settings);
        let tls = all.own.written.values.iter().filter(|(option, _)| option.starts_with("tls-"));
        let tls: Vec<String> = tls.map(|(option, value)| format!("{option}={}", value.to_json())).collect();
        (tls.join(" "), all.ingress.findings.len())
    };
    let (nginx, jcm) = ("nginx.ingress.kubernetes.io/", "haproxy-ingress.github.io/");
    let good = "tls-ciphers=[\"ECDHE-RSA-AES128-GCM-SHA256\"]";
    for (family, prefix, key, text, expected) in [
        ("ingress-nginx", nginx, "ssl-ciphers", "ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA", (good, 1)),
        ("ingress-nginx", nginx, "ssl-ciphers", "HIGH:!aNULL:!MD5", ("", 1)),
        ("haproxy-ingress", jcm, "ssl-ciphers", "ECDHE-RSA-AES128-GCM-SHA256", (good, 0)),
        ("haproxy-ingress", jcm, "tls-alpn", "http/1.1", ("tls-alpn=[\"http/1.1\"]", 0)),
        ("haproxy-ingress", jcm, "tls-alpn", "h2,http/1.1", ("", 0)),
        ("haproxy-ingress", jcm, "ssl-options-host", "force-tlsv13", ("tls-min-version=\"TLSv1.3\"", 0)),
        (
            "haproxy-ingress",
            jcm,
            "ssl-options-host",
            "ssl-min-ver TLSv1.3 no-tls-tickets",
            ("tls-min-version=\"TLSv1.3\"", 0),
        ),
        ("haproxy-ingress", jcm, "ssl-options-host", "no-sslv3 curves-list X", ("", 1)),
    ] {
        let (tls, findings) = options(family, &format!("{prefix}{key}"), text);
        assert_eq!((tls.as_str(), findings), expected, "{key}: {text}");
    }
}

#[test]
fn what_a_config_map_says_counts_behind_the_ingress_and_its_guards_fail_closed() {
    let of = |data: serde_json::Value, annotations: &[(&str, &str)]| {
        let settings = settings(json!({"ingress-nginx": {"config": data}}));
        let annotations = annotations
            .iter()
            .map(|(key, text)| (format!("nginx.ingress.kubernetes.io/{key}"), (*text).to_owned()))
            .collect();
        ForeignOptions::of(settings.families.iter(), &annotations, &[], About::default(), &settings)
    };
    let timeout = |all: &ForeignOptions| all.own.written.values["timeout-connect"].to_json();
    let data = || json!({"proxy-connect-timeout": "7"});
    assert_eq!(timeout(&of(data(), &[])), 7000);
    assert_eq!(timeout(&of(data(), &[("proxy-connect-timeout", "9")])), 9000);
    // Of one that cannot be read the ConfigMap's counts, as there.
    assert_eq!(timeout(&of(data(), &[("proxy-connect-timeout", "9s")])), 7000);
    let guarded = || json!({"whitelist-source-range": "10.0.0.0/8;", "global-auth-url": "http://a;b/"});
    assert!(of(guarded(), &[]).own.closed);
    let own = ("allowlist-source-range", "10.0.0.0/8");
    assert!(of(guarded(), &[own]).own.closed, "who is asked is not known");
    assert!(!of(guarded(), &[own, ("enable-global-auth", "false")]).own.closed);
    assert!(of(json!({"block-cidrs": "x;"}), &[own]).own.closed);
    let dropped =
        of(json!({"annotation-value-word-blocklist": "alias,_by_lua"}), &[("auth-realm", "a alias b")]);
    assert!(dropped.ingress.dropped);
}

#[test]
fn a_server_may_be_silent_as_long_as_is_said_of_reading() {
    let settings = settings(json!({"ingress-nginx": {}}));
    let silence = |annotations: &[(&str, &str)]| {
        of_nginx(annotations, &settings).own.written.values["timeout-server"].to_json()
    };
    let (read, send) = (|text| ("proxy-read-timeout", text), |text| ("proxy-send-timeout", text));
    assert_eq!(silence(&[]), 60_000);
    assert_eq!(silence(&[read("30")]), 30_000);
    assert_eq!(silence(&[send("30")]), 60_000);
    assert_eq!(silence(&[send("300")]), 300_000);
    assert_eq!(silence(&[read("30"), send("40")]), 40_000);
}

#[test]
fn what_guards_access_is_closed_where_it_would_not_be_served_for_a_value_that_cannot_be_read() {
    let settings = settings(json!({"ingress-nginx": {}}));
    let read = |annotations: &[(&str, &str)]| {
        let annotated = Annotations::read(&BTreeMap::new(), &settings);
        let mut annotated = annotated.with(of_nginx(annotations, &settings));
        let is_closed = annotated.close_unreadable();
        (is_closed, annotated.foreign().ingress.dropped, annotated.foreign().own.closed)
    };
    let wrong = ("permanent-redirect-code", "abc");
    assert_eq!(read(&[wrong]), (false, true, false));
    assert_eq!(read(&[wrong, ("whitelist-source-range", "10.0.0.0/8")]), (true, false, true));
    assert_eq!(read(&[("whitelist-source-range", "10.0.0.0/8")]), (false, false, false));
}

/// What an Ingress with these annotations of ingress-nginx says.
fn of_nginx(annotations: &[(&str, &str)], settings: &Settings) -> ForeignOptions {
    let annotations = annotations
        .iter()
        .map(|(key, text)| (format!("nginx.ingress.kubernetes.io/{key}"), (*text).to_owned()))
        .collect();
    ForeignOptions::of(settings.families.iter(), &annotations, &[], About::default(), settings)
}

#[test]
fn clients_stay_with_a_canary_of_nginx_whatever_led_them_there() {
    let settings = settings(json!({"ingress-nginx": {}}));
    let asked = [("canary", "true"), ("canary-by-header", "X-Canary")];
    for (more, sticky) in [(None, "all"), (Some(("affinity-canary-behavior", "legacy")), "false")] {
        let annotations: Vec<(&str, &str)> = asked.into_iter().chain(more).collect();
        let canary = of_nginx(&annotations, &settings).ingress.canary.unwrap();
        assert_eq!(canary["canary-sticky"].to_json(), json!(sticky));
    }
}

#[test]
fn who_is_asked_is_told_nothing_by_clients_that_a_snippet_would_have_said() {
    let withheld = |config: serde_json::Value, annotations: &[(&str, &str)]| {
        let settings = settings(json!({"ingress-nginx": {"config": config}}));
        let all = of_nginx(annotations, &settings);
        all.own.written.values.get("auth-withheld-headers").map(|value| value.to_json())
    };
    let (url, text) = ("http://sso.shop.svc/", "proxy_set_header X_Realm inner;\nproxy_set_header Host sso;");
    let asked = [("auth-url", url), ("auth-snippet", text)];
    assert_eq!(withheld(json!({}), &asked), Some(json!(["x-realm"])));
    assert_eq!(withheld(json!({}), &asked[..1]), None);
    assert_eq!(withheld(json!({}), &asked[1..]), None);
    let of_all = json!({"global-auth-url": url, "global-auth-snippet": text});
    assert_eq!(withheld(of_all, &[]), Some(json!(["x-realm"])));
}

#[test]
fn who_is_refused_by_a_snippet_gets_in_with_no_password() {
    let settings = settings(json!({"ingress-nginx": {"snippets": "translate"}}));
    let of = |annotations: &[(&str, &str)]| of_nginx(annotations, &settings);
    let refusal = ("configuration-snippet", "return 403;");
    let all = of(&[refusal]);
    assert!(!all.own.closed && all.own.written.values.contains_key("deny-from"));
    let others = [
        ("auth-type", "basic"),
        ("auth-secret", "users"),
        ("whitelist-source-range", "10.0.0.0/8"),
        ("satisfy", "any"),
    ];
    assert!(of(&[&[refusal][..], &others].concat()).own.closed);
    assert!(of(&[("configuration-snippet", "return 410;")]).own.closed);
    let of_host = of(&[("server-snippet", "return 403;")]);
    assert!(of_host.own.closed && of_host.ingress.over_host.contains_key("closed"));
    for text in [
        "access_by_lua_block { if ngx.var.x then ngx.exit(403) end }",
        "if ($cookie_s = \"\") { rewrite ^ /login redirect; }",
        "ssl_verify_client on;",
        &"deny 10.0.0.1;\n".repeat(5_000),
        "deny \u{7}all;",
    ] {
        assert!(of(&[("configuration-snippet", text)]).own.closed, "{}", &text[..20.min(text.len())]);
        assert!(of(&[("server-snippet", text)]).ingress.over_host.contains_key("closed"));
    }
    assert!(!of(&[("configuration-snippet", "gzip_types text/css;")]).own.closed);
    let of_path = of(&[("server-snippet", "location = /x { return 403; }")]);
    assert!(!of_path.own.closed && of_path.ingress.answers[0].options.contains_key("deny-from"));
}

#[test]
fn lists_of_clients_behind_proxies_that_nobody_trusts_let_nobody_in() {
    let of = |config: serde_json::Value, trusted: serde_json::Value, annotations: &[(&str, &str)]| {
        let families = json!({"ingress-nginx": {"snippets": "translate", "config": config}});
        let context = json!({"annotationFamilies": families, "trustedProxies": trusted});
        of_nginx(annotations, &Settings::of(context.as_object().unwrap()))
    };
    let lists = [
        ("whitelist-source-range", "10.0.0.0/8"),
        ("denylist-source-range", "10.0.0.0/8"),
        ("configuration-snippet", "deny 10.0.0.1;"),
    ];
    for key in ["use-forwarded-headers", "enable-real-ip"] {
        for list in lists {
            let found = of(json!({key: "true"}), json!([]), &[list]);
            assert!(found.own.closed, "{key} {list:?}");
            let reported =
                found.ingress.findings.iter().any(|finding| finding.sentence.contains("trustedProxies"));
            assert!(reported, "{:?}", found.ingress.findings);
            assert!(!of(json!({key: "true"}), json!(["192.0.2.0/24"]), &[list]).own.closed);
            assert!(!of(json!({key: "false"}), json!([]), &[list]).own.closed);
            assert!(!of(json!({key: "true", "use-proxy-protocol": "true"}), json!([]), &[list]).own.closed);
            let other = json!({key: "true", "forwarded-for-header": "CF-Connecting-IP"});
            assert!(of(other, json!(["192.0.2.0/24"]), &[list]).own.closed, "{key} {list:?}");
        }
        for other in [("limit-rps", "1"), ("configuration-snippet", "deny all;")] {
            assert!(!of(json!({key: "true"}), json!([]), &[other]).own.closed, "{key} {other:?}");
        }
    }
    let host = ("server-snippet", "allow 10.0.0.0/8; deny all;");
    assert!(
        of(json!({"use-forwarded-headers": "true"}), json!([]), &[host])
            .ingress
            .over_host
            .contains_key("closed")
    );
}

#[test]
fn who_is_kept_out_of_a_host_is_so_besides_who_is_blocked_for_all() {
    let config = json!({"block-cidrs": "192.0.2.0/24"});
    let settings = settings(json!({"ingress-nginx": {"snippets": "translate", "config": config}}));
    let of = |annotations: &[(&str, &str)]| of_nginx(annotations, &settings);
    let guards = of(&[("server-snippet", "allow 10.0.0.0/8; deny all;")]).ingress.over_host;
    let kept_out = |annotations: &[(&str, &str)]| {
        let mut beside = of(annotations);
        beside.keep_out(&guards);
        beside.own.written.values.get("allow-from").map(|value| value.to_json().to_string())
    };
    assert!(kept_out(&[]).unwrap().contains("10.0.0.0/8"));
    // A location with lists of its own has none of its server.
    assert_eq!(kept_out(&[("denylist-source-range", "198.51.100.0/24")]), None);
    assert!(kept_out(&[("whitelist-source-range", "0.0.0.0/0")]).unwrap().contains("0.0.0.0/0"));
}

#[test]
fn who_verifies_servers_shows_them_a_certificate_and_names_of_clients_are_common_ones() {
    let of = |annotations: &[(&str, &str)]| {
        let keys =
            annotations.iter().map(|(key, text)| (format!("nginx.ingress.kubernetes.io/{key}"), *text));
        let keys: Vec<(String, &str)> = keys.collect();
        let about = About { namespace: "shop", ..About::default() };
        let settings = settings(json!({"ingress-nginx": {}}));
        let annotations = keys.iter().map(|(key, text)| (key.clone(), (*text).to_owned())).collect();
        ForeignOptions::of(settings.families.iter(), &annotations, &[], about, &settings).own.written.values
    };
    let text = |values: &OptionValues, option: &str| values.get(option).map(|value| value.to_json());
    let tls = [("backend-protocol", "HTTPS"), ("proxy-ssl-secret", "shop/own"), ("proxy-ssl-verify", "on")];
    let verified = of(&tls);
    for (option, wanted) in
        [("server-ca-secret", "own"), ("server-certificate-secret", "own"), ("server-certificate", "if-any")]
    {
        assert_eq!(text(&verified, option), Some(json!(wanted)), "{option}");
    }
    let unverified = of(&tls[..2]);
    assert_eq!(text(&unverified, "server-certificate"), Some(json!("if-any")));
    assert_eq!(text(&unverified, "server-ca-secret"), None);
    let named = of(&[("auth-tls-secret", "shop/ca"), ("auth-tls-match-cn", "CN=bob")]);
    assert_eq!(text(&named, "client-certificate-names-in"), Some(json!("subject")));
}

#[test]
fn cookies_that_are_as_ours_are_told_nothing_of_and_others_are() {
    let found = |key: &str, text: &str| {
        let settings = settings(json!({"haproxy-ingress": {}}));
        let all = [("affinity", "cookie"), (key, text)];
        let annotations =
            all.iter().map(|(key, text)| (format!("haproxy-ingress.github.io/{key}"), (*text).to_owned()));
        let annotations = annotations.collect();
        ForeignOptions::of(settings.families.iter(), &annotations, &[], About::default(), &settings)
            .ingress
            .findings
            .len()
    };
    for (key, ours, other) in [
        ("session-cookie-keywords", "nocache indirect httponly", "indirect"),
        ("session-cookie-strategy", "insert", "prefix"),
        ("session-cookie-preserve", "false", "true"),
        ("session-cookie-shared", "false", "true"),
        ("session-cookie-value-strategy", "server-name", "pod-uid"),
    ] {
        assert_eq!((found(key, ours), found(key, other)), (0, 1), "{key}");
    }
}

#[test]
fn who_is_asked_and_who_answers_is_as_the_annotations_of_nginx_say() {
    let text = |annotations: &[(&str, &str)], option: &str| {
        let annotations: Vec<(String, &str)> = annotations
            .iter()
            .map(|(key, text)| (format!("nginx.ingress.kubernetes.io/{key}"), *text))
            .collect();
        let annotations: Vec<(&str, &str)> = annotations.iter().map(|(key, text)| (&**key, *text)).collect();
        foreign(&annotations).own.written.values.get(option).map(|value| value.to_json())
    };
    let asked = [
        ("auth-url", "http://sso.shop.svc/check"),
        ("auth-cache-key", "$http_authorization"),
        ("auth-cache-duration", "200 1h, 401 1m"),
    ];
    assert_eq!(text(&asked, "auth-cache"), Some(json!(600_000)));
    assert_eq!(text(&asked, "auth-cache-key"), Some(json!(["headers"])));
    assert_eq!(text(&[asked[0], ("auth-cache-key", "all")], "auth-cache"), None);
    let nameless = [("backend-protocol", "HTTPS"), ("proxy-ssl-server-name", "off")];
    assert_eq!(text(&nameless, "server-tls-name"), Some(json!("$none")));
    assert_eq!(text(&nameless[..1], "server-tls-name"), None);
}
