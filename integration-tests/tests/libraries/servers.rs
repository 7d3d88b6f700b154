//! What servers are told and shown, and what clients may ask of them: names, certificates, addresses, other hosts and headers; rates, bytes a second.

use crate::{
    SERIES,
    around::{Around, service},
    auth_server::{self, Questions},
    on_each_haproxy, on_each_haproxy_with,
    options::{both, certificate},
    pages::pages,
    patience::within_patience,
    protocols::leading_to,
    site::{SCHEMES, Scheme, Site, rendered_alone, rendered_for, sentences},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{certificate::Authority, program::HaproxySeries};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

const HOST: &str = "a.example";

/// A labelled Secret, or one of type `kubernetes.io/tls`.
fn secret(name: &str, kind: &str, entries: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<String, Value> =
        entries.iter().map(|(entry, text)| ((*entry).to_owned(), json!(BASE64.encode(text)))).collect();
    let mut metadata = json!({ "namespace": "shop", "name": name });
    if kind == "Opaque" {
        metadata["labels"] = json!({ "haproxy-haptic.org/use": "yes" });
    }
    json!({ "kind": "Secret", "type": kind, "data": data, "metadata": metadata })
}

/// Leads to a server of `servers` and sees how it answers.
fn answered(servers: &Around, service: &str, options: &[(&str, &str)], more: &[Value], answer: Option<&str>) {
    let mut manifests = leading_to(service, 80, options);
    manifests.extend(servers.services());
    manifests.extend_from_slice(more);
    on_each_haproxy(&manifests, |site| {
        for scheme in SCHEMES {
            let got = site.get(scheme, HOST, "/on");
            match answer {
                Some(answer) => assert_eq!(got.body, answer, "{options:?} {got:?}"),
                None => assert!(matches!(got.status, 502 | 503), "{options:?} {got:?}"),
            }
            assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2));
        }
    });
}

#[test]
fn servers_over_tls_are_asked_for_and_verified_by_the_name_that_is_given() {
    let authority = Authority::new("servers").unwrap();
    let servers = Around::servers(&authority, "b.example");
    let ca = [secret("servers", "Opaque", &[("ca.crt", &authority.pem)])];
    let tls = [("protocol", "https"), ("server-ca-secret", "servers")];
    let named = |name: &'static str| [tls[0], tls[1], ("server-tls-name", name)];
    answered(&servers, "h1-tls", &named("b.example"), &ca, Some("h1-tls HTTP/1.1 b.example /on"));
    answered(&servers, "h1-tls", &named("c.example"), &ca, None);
    answered(&servers, "h1-tls", &named("$host"), &ca, None);
    answered(&servers, "h1-tls", &tls, &ca, None);
    answered(&servers, "h1-tls", &named("$none"), &ca, Some("h1-tls HTTP/1.1  /on"));
    answered(&servers, "h1-tls", &named("$none"), &[], None);
    let unverified = [tls[0], ("server-tls-name", "$host")];
    answered(&servers, "h1-tls", &unverified, &[], Some("h1-tls HTTP/1.1 a.example /on"));
}

#[test]
fn servers_are_verified_by_the_authority_of_a_config_map_or_there_are_none() {
    let authority = Authority::new("servers").unwrap();
    let servers = Around::servers(&authority, "h1-tls.shop.svc");
    let config_map = |label: &str, text: &str| {
        json!({"kind": "ConfigMap", "data": { "ca.crt": text },
            "metadata": { "namespace": "shop", "name": "servers", "labels": { label: "yes" } }})
    };
    let label = "haproxy-haptic.org/use";
    let tls = [("protocol", "https"), ("server-ca-config-map", "servers")];
    let ca = config_map(label, &authority.pem);
    answered(&servers, "h1-tls", &tls, &[ca], Some("h1-tls HTTP/1.1 h1-tls.shop.svc /on"));
    let stranger = Authority::new("stranger").unwrap();
    for unusable in [
        vec![],
        vec![config_map("example.com/use", &authority.pem)],
        vec![config_map(label, &stranger.pem)],
        vec![config_map(label, "none of PEM")],
        vec![secret("servers", "Opaque", &[("ca.crt", &authority.pem)])],
    ] {
        answered(&servers, "h1-tls", &tls, &unusable, None);
    }
    let both_at_one_level = [tls[0], tls[1], ("server-ca-secret", "servers")];
    let said = sentences(&rendered_alone(&both(&both_at_one_level)).expect_err("one CA"));
    assert!(said.contains("must not be given together with server-ca-secret"), "{said}");
}

#[test]
fn servers_are_shown_the_certificate_that_is_given_or_nothing_is_sent() {
    let authority = Authority::new("servers").unwrap();
    let servers = Around::asking(&authority, "mtls.shop.svc");
    let own = authority.sign_client("haproxy", &[]).unwrap();
    let pair = secret("own", "kubernetes.io/tls", &[("tls.crt", &own.pem), ("tls.key", &own.key)]);
    let stranger = Authority::new("stranger").unwrap().sign_client("haproxy", &[]).unwrap();
    let strange =
        secret("own", "kubernetes.io/tls", &[("tls.crt", &stranger.pem), ("tls.key", &stranger.key)]);
    let shown = [("protocol", "https"), ("server-certificate-secret", "own")];
    let labelled = secret("own", "Opaque", &[("tls.crt", &own.pem), ("tls.key", &own.key)]);
    for pair in [pair.clone(), labelled] {
        answered(&servers, "mtls", &shown, &[pair], Some("mtls haproxy 127.0.0.1 mtls.shop.svc"));
    }
    answered(&servers, "mtls", &[("protocol", "https")], &[], None);
    // Where it may be missing the server is asked without it, and refuses that here; one that is there is shown.
    let optional = [shown[0], shown[1], ("server-certificate", "optional")];
    let plain = Around::servers(&authority, "b.example");
    answered(&plain, "h1-tls", &optional, &[], Some("h1-tls HTTP/1.1 h1-tls.shop.svc /on"));
    answered(&servers, "mtls", &optional, &[], None);
    answered(&servers, "mtls", &optional, std::slice::from_ref(&strange), None);
    let pair = [pair];
    answered(&servers, "mtls", &optional, &pair, Some("mtls haproxy 127.0.0.1 mtls.shop.svc"));
    // The Secret of a CA alone is there, and has none.
    let if_any = [shown[0], shown[1], ("server-certificate", "if-any")];
    let alone = [secret("own", "Opaque", &[("ca.crt", &authority.pem)])];
    for options in [&if_any, &optional] {
        answered(&plain, "h1-tls", options, &alone, Some("h1-tls HTTP/1.1 h1-tls.shop.svc /on"));
    }
    answered(&plain, "h1-tls", &shown, &alone, None);
    answered(&plain, "h1-tls", &if_any, &[], None);
    answered(&servers, "mtls", &if_any, &pair, Some("mtls haproxy 127.0.0.1 mtls.shop.svc"));
    for unusable in [
        vec![],
        vec![strange],
        vec![secret("own", "kubernetes.io/tls", &[("tls.crt", "none"), ("tls.key", "none")])],
    ] {
        answered(&servers, "mtls", &shown, &unusable, None);
    }
}

#[test]
fn servers_are_told_the_client_by_the_proxy_protocol() {
    let authority = Authority::new("servers").unwrap();
    let servers = Around::asking(&authority, "proxied-tls.shop.svc");
    for version in ["v1", "v2", "v2-ssl", "v2-ssl-cn"] {
        let told = ("proxy-protocol", version);
        answered(&servers, "proxied", &[told], &[], Some("proxied  127.0.0.1 "));
        let over_tls = Some("proxied-tls  127.0.0.1 proxied-tls.shop.svc");
        answered(&servers, "proxied-tls", &[told, ("protocol", "h2s")], &[], over_tls);
    }
    answered(&servers, "proxied", &[], &[], None);
}

/// Of both Ingresses one has these options.
fn with(options: &[(&str, &str)], see: impl Fn(&crate::site::Site, Scheme)) {
    let mut manifests = both(options);
    manifests.push(certificate());
    on_each_haproxy(&manifests, |site| {
        for scheme in SCHEMES {
            see(site, scheme);
            assert_eq!(site.get(scheme, HOST, "/off").sent("host"), Some(HOST));
        }
    });
}

#[test]
fn servers_get_another_host() {
    with(&[("host-rewrite", "shop.internal:8080")], |site, scheme| {
        let on = site.get(scheme, HOST, "/on");
        assert_eq!((on.sent("host"), on.sent("x-forwarded-host")), (Some("shop.internal:8080"), Some(HOST)));
    });
    let said = sentences(&rendered_alone(&both(&[("host-rewrite", "a b")])).expect_err("a blank"));
    assert!(said.contains("it must be a host in lower case, and maybe a port"), "{said}");
}

#[test]
fn headers_are_removed_from_requests_and_answers() {
    let options = [
        ("remove-request-headers", "X-Debug, x-a-b"),
        ("request-headers", "X-A-B: ours"),
        ("remove-response-headers", "X-Served, X-Nothing"),
    ];
    with(&options, |site, scheme| {
        let headers = "X-Debug: 1\r\nx_debug: 2\r\nX-A_B: theirs\r\nX-Debugger: 3\r\n";
        let on = site.ask(scheme, "GET", HOST, "/on", headers, "");
        assert_eq!((on.sent("x-a-b"), on.sent("x-debugger")), (Some("ours"), Some("3")), "{on:?}");
        for gone in ["x-debug", "x_debug", "x-a_b"] {
            assert_eq!(on.sent(gone), None, "{on:?}");
        }
        assert_eq!(on.header("x-served"), None);
        let off = site.ask(scheme, "GET", HOST, "/off", headers, "");
        assert_eq!((off.sent("x_debug"), off.header("x-served")), (Some("2"), Some("yes")));
    });
    for framing in ["Host", "Content-Length", "X-Haptic-Check"] {
        let problems = rendered_alone(&both(&[("remove-request-headers", framing)]));
        let said = sentences(&problems.expect_err(framing));
        assert!(said.contains("without those that HAProxy itself sets"), "{said}");
    }
}

#[test]
fn what_is_set_on_requests_is_nobodys_in_another_spelling() {
    let options = [("request-headers", "X-Internal-User: guest\nX_Own.Name: ours")];
    with(&options, |site, scheme| {
        let names =
            ["X-Internal-User", "X_Internal_User", "x-internal_user", "x.internal-user", "X-Own-Name"];
        let headers: String = names.iter().map(|name| format!("{name}: theirs\r\n")).collect();
        let headers = headers + "X_Internal_Users: kept\r\n";
        let on = site.ask(scheme, "GET", HOST, "/on", &headers, "");
        assert_eq!((on.sent("x-internal-user"), on.sent("x_own.name")), (Some("guest"), Some("ours")));
        assert!(!on.body.contains("theirs"), "{on:?}");
        assert_eq!(on.sent("x_internal_users"), Some("kept"));
        let off = site.ask(scheme, "GET", HOST, "/off", &headers, "");
        assert_eq!(off.sent("x_internal_user"), Some("theirs"));
    });
}

#[test]
fn headers_say_what_a_request_is_known_by() {
    let options = [
        (
            "request-headers",
            "X-A: for ${client-address}; ${method} ${scheme}://${host}${path}?${query} 100%\nX-B: ${request-id}",
        ),
        ("add-request-headers", "X-Many: ${host}"),
        ("response-headers", "X-From: ${client-address} ${path} ${tls-version}"),
        ("add-response-headers", "X-Served: ${host}"),
        ("forwarded-prefix", "/on"),
    ];
    with(&options, |site, scheme| {
        let headers = "X-Many: theirs\r\nX-Request-Id: 17\r\nX-Forwarded-Prefix: /evil\r\n";
        let on = site.ask(scheme, "GET", HOST, "/on/x?a=%41", headers, "");
        let (name, version) = if scheme == Scheme::Https { ("https", "TLSv1.3") } else { ("http", "") };
        let expected = format!("for 127.0.0.1; GET {name}://{HOST}/on/x?a=%41 100%");
        assert_eq!((on.sent("x-a"), on.sent("x-b")), (Some(&*expected), Some("17")), "{on:?}");
        assert_eq!(on.sent("x-forwarded-prefix"), Some("/on"));
        let all = |name: &str| on.body.lines().filter(|line| line.to_lowercase().starts_with(name)).count();
        assert_eq!((all("x-many: "), all("x-forwarded-prefix: ")), (2, 1), "{on:?}");
        let from = format!("127.0.0.1 /on/x {version}");
        assert_eq!(on.header("x-from"), Some(from.trim_end()));
        let served = on.headers.iter().filter(|(name, _)| name == "x-served").map(|(_, value)| &**value);
        assert_eq!(served.collect::<Vec<_>>(), ["yes", HOST]);
    });
    for (option, wrong) in [
        ("request-headers", "X-A: ${env(PATH)}"),
        ("add-response-headers", "X-A: ${method}"),
        ("response-headers", "X-A: ${"),
    ] {
        let said = sentences(&rendered_alone(&both(&[(option, wrong)])).expect_err(wrong));
        assert!(said.contains("no other variables than ${client-address}"), "{said}");
    }
}

#[test]
fn servers_are_told_more_of_a_requests_way_where_that_is_set() {
    let mut manifests = both(&[]);
    manifests.push(certificate());
    let more = |spec: &mut Value| {
        let context = &mut spec["templatingSettings"]["extraContext"];
        context["forwardedHeaders"] = json!(["port", "scheme", "forwarded"]);
        context["httpPublicPort"] = json!(8080);
    };
    on_each_haproxy_with(&manifests, more, |site| {
        let strangers =
            "Forwarded: for=1.2.3.4\r\nX-Forwarded-Port: 1\r\nX_Forwarded_Scheme: x\r\nX-Scheme: x\r\n";
        for (scheme, port, name) in [(Scheme::Http, "8080", "http"), (Scheme::Https, "443", "https")] {
            let on = site.ask(scheme, "GET", HOST, "/on", strangers, "");
            let told = ["x-forwarded-port", "x-forwarded-scheme", "x_forwarded_scheme"].map(|h| on.sent(h));
            assert_eq!(told, [Some(port), Some(name), None], "{on:?}");
            assert_eq!(on.sent("x-scheme"), Some(name), "{on:?}");
            let forwarded = on.sent("forwarded").unwrap_or_default();
            assert_eq!(forwarded, format!("proto={name};host=\"{HOST}\";for=127.0.0.1"));
        }
    });
}

#[test]
fn browsers_may_list_hosts_for_good() {
    with(
        &[("hsts-max-age", "31536000"), ("hsts-subdomains", "true"), ("hsts-preload", "true")],
        |site, scheme| {
            let told = (scheme == Scheme::Https).then_some("max-age=31536000; includeSubDomains; preload");
            assert_eq!(site.get(scheme, HOST, "/on").header("strict-transport-security"), told);
        },
    );
}

#[test]
fn scripts_of_all_hosts_of_a_domain_may_read_headers() {
    let options = [
        (
            "cors-allow-origin",
            "https://*.shop.example, https://other.example:8443, https://*.shop.example:8443",
        ),
        ("cors-expose-headers", "X-Total, X-Page"),
    ];
    with(&options, |site, scheme| {
        for (origin, is_allowed) in [
            ("https://app.shop.example", true),
            ("https://app.shop.example:8443", true),
            ("https://other.example:8443", true),
            ("http://app.shop.example", false),
            ("https://shop.example", false),
            ("https://a.b.shop.example", false),
            ("https://.shop.example", false),
            ("https://app.shop.example:8444", false),
            ("https://evil.example/.shop.example", false),
            ("https://evil.example:1.shop.example", false),
            ("https://app.shop.example.evil", false),
            ("https://*.shop.example", true),
        ] {
            let headers = format!("Origin: {origin}\r\n");
            let answer = site.ask(scheme, "GET", HOST, "/on", &headers, "");
            let allowed = is_allowed.then_some(origin);
            assert_eq!(answer.header("access-control-allow-origin"), allowed, "{origin}");
            let exposed = is_allowed.then_some("X-Total, X-Page");
            assert_eq!(answer.header("access-control-expose-headers"), exposed, "{origin}");
            assert_eq!(answer.header("vary"), Some("Origin"));
        }
    });
    for wrong in [
        "https://*.example",
        "https://*",
        "https://a.*.example",
        "*.shop.example",
        "https://*.*.shop.example",
    ] {
        let said = sentences(&rendered_alone(&both(&[("cors-allow-origin", wrong)])).expect_err(wrong));
        assert!(said.contains("https://*.shop.example"), "{said}");
    }
}

#[test]
fn clients_beyond_a_limit_are_told_when_to_come_again_and_some_have_none() {
    let limited = |status: &'static str, exempt: &'static str| {
        let mut all = vec![("rate-limit", "2"), ("rate-limit-period", "hour"), ("rate-limit-status", status)];
        all.extend((!exempt.is_empty()).then_some(("rate-limit-exempt", exempt)));
        all
    };
    for status in [429, 503] {
        let mut manifests = both(&limited(if status == 429 { "429" } else { "503" }, "192.0.2.0/24"));
        manifests.push(certificate());
        on_each_haproxy(&manifests, |site| {
            let answers: Vec<_> = (0..4).map(|_| site.get(Scheme::Http, HOST, "/on")).collect();
            assert_eq!(
                answers.iter().map(|answer| answer.status).collect::<Vec<_>>(),
                [200, 200, status, status]
            );
            let told = answers.iter().map(|answer| answer.header("retry-after"));
            assert_eq!(told.collect::<Vec<_>>(), [None, None, Some("3600"), Some("3600")]);
            assert_eq!(site.get(Scheme::Http, HOST, "/off").service(), Some(2));
        });
    }
    let mut manifests = both(&limited("429", "127.0.0.0/8"));
    manifests.push(certificate());
    on_each_haproxy(&manifests, |site| {
        for _ in 0..5 {
            assert_eq!(site.get(Scheme::Http, HOST, "/on").service(), Some(1));
        }
    });
}

#[test]
fn a_client_has_so_many_requests_at_a_time() {
    so_many_at_a_time(&[], 429, "");
    so_many_at_a_time(&[("concurrency-limit-status", "503")], 503, "");
    so_many_at_a_time(&[("error-pages", "pages")], 429, "later");
    so_many_at_a_time(&[("error-pages", "pages"), ("concurrency-limit-status", "503")], 503, "full");
}

#[test]
fn a_client_that_is_exempt_has_any_number_of_requests_at_a_time() {
    let (manifests, questions) = slow(&[("concurrency-limit-exempt", "127.0.0.0/8")]);
    on_each_haproxy(&manifests, |site| {
        let held = format!("/never/{}", site.address(Scheme::Http).port());
        let mut open = Vec::new();
        within_patience(|| {
            open.push(asking(site, &held));
            questions.with(&held).len() > 3
        });
    });
}

/// A Service that never answers some requests, at the path `/`, and what it was asked.
fn slow(more: &[(&str, &str)]) -> (Vec<Value>, Questions) {
    let (port, questions) = auth_server::start();
    let options: Vec<_> = [("concurrency-limit", "2")].iter().chain(more).copied().collect();
    let mut manifests = leading_to("slow", 80, &options);
    manifests[0]["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/");
    manifests.extend(service("slow", "IPv4", port, &["127.0.0.1"]));
    manifests.push(pages("shop", "pages", &[("429", "later"), ("503", "full")]));
    (manifests, questions)
}

/// A client that has asked, and waits.
fn asking(site: &Site, path: &str) -> TcpStream {
    let client = TcpStream::connect(site.address(Scheme::Http)).unwrap();
    (&client).write_all(format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n").as_bytes()).unwrap();
    client
}

/// `page` is what the one too many gets; empty for HAProxy's own.
fn so_many_at_a_time(more: &[(&str, &str)], refused: u16, page: &str) {
    let (manifests, questions) = slow(more);
    on_each_haproxy(&manifests, |site| {
        for _ in 0..5 {
            assert_eq!(
                site.get(Scheme::Http, HOST, "/plain").status,
                204,
                "those that are over do not count"
            );
        }
        let held = format!("/never/{}", site.address(Scheme::Http).port());
        let mut open = Vec::new();
        within_patience(|| {
            open.push(asking(site, &held));
            questions.with(&held).len() >= 2
        });
        for scheme in SCHEMES {
            let answer = site.get(scheme, HOST, "/plain");
            assert_eq!(answer.status, refused);
            assert!(
                if page.is_empty() { !answer.body.contains("later") } else { answer.body.trim_end() == page },
                "{}",
                answer.body
            );
            assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2));
        }
        assert_eq!(questions.with(&held).len(), 2, "of {} requests", open.len());
    });
}

/// How often a server on each HAProxy is asked for what it never answers, closes the connection for, or answers with no HTTP.
fn asked(options: &[(&str, &str)]) -> Vec<[usize; 3]> {
    let (port, questions) = auth_server::start();
    let options = [&[("retry", "idempotent"), ("timeout-server", "300ms")][..], options].concat();
    let mut manifests = leading_to("failing", 80, &options);
    manifests[0]["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/");
    manifests.extend(service("failing", "IPv4", port, &["127.0.0.1"]));
    let of = |series: HaproxySeries| {
        let site = Site::start(series, &manifests);
        ["never", "close", "nonsense"].map(|what| {
            let path = format!("/{what}/{series:?}").to_lowercase();
            assert!(matches!(site.get(Scheme::Http, HOST, &path).status, 502 | 504));
            questions.with(&format!(" {path} ")).len()
        })
    };
    SERIES.map(of).into()
}

#[test]
fn a_request_is_sent_again_after_the_failures_that_are_given() {
    for (options, expected) in [
        (&[][..], [4_usize, 4, 4]),
        (&[("retry-on", "conn-failure, empty-response"), ("retries", "2")], [1, 3, 1]),
        (&[("retry-on", "response-timeout, junk-response"), ("retries", "1")], [2, 1, 2]),
        (&[("retry-on", "conn-failure")], [1, 1, 1]),
    ] {
        assert_eq!(asked(options), [expected; 3], "{options:?}");
    }
    let said = sentences(&rendered_alone(&both(&[("retry-on", "503")])).expect_err("a status"));
    assert!(said.contains("it must be some of conn-failure, empty-response"), "{said}");
}

#[test]
fn answers_are_compressed_for_those_who_take_it() {
    let options = [("compression", "gzip"), ("compression-types", "text/plain, application/x-a+b")];
    with(&options, |site, scheme| {
        let encoding = |path: &str, headers: &str| {
            let answer = site.ask(scheme, "GET", HOST, path, headers, "");
            assert_eq!(answer.status, 200);
            answer.header("content-encoding").map(str::to_owned)
        };
        let takes = "Accept-Encoding: gzip\r\n";
        assert_eq!(encoding("/on", takes).as_deref(), Some("gzip"));
        assert_eq!([encoding("/on", ""), encoding("/off", takes)], [None, None]);
    });
    for wrong in ["text", "text/", "text/html;q=1", "a b/c"] {
        let problems = rendered_alone(&both(&[("compression", "gzip"), ("compression-types", wrong)]));
        assert!(sentences(&problems.expect_err(wrong)).contains("media types such as text/html"));
    }
}

#[test]
fn short_answers_are_not_compressed_where_that_is_said() {
    let mut manifests = both(&[("compression", "gzip"), ("compression-min-size", "1k")]);
    manifests.push(certificate());
    for series in SERIES {
        let site = Site::start(series, &manifests);
        let encoding = |padding: usize| {
            let headers = format!("Accept-Encoding: gzip\r\nX-Padding: {}\r\n", "a".repeat(padding));
            let answer = site.ask(Scheme::Http, "GET", HOST, "/on", &headers, "");
            answer.header("content-encoding").map(str::to_owned)
        };
        assert_eq!(encoding(3000).as_deref(), Some("gzip"));
        let is_told = matches!(series, HaproxySeries::V3_0);
        assert_eq!(encoding(1).as_deref(), is_told.then_some("gzip"));
        let (_, warnings) = rendered_for(series, &manifests).unwrap();
        assert_eq!(sentences(&warnings).contains("HAProxy 3.0 compresses"), is_told);
    }
}

#[test]
fn servers_get_no_request_before_its_body_is_there() {
    let (port, questions) = auth_server::start();
    let mut manifests = leading_to("asked", 80, &[("request-buffering", "300ms")]);
    manifests[0]["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/");
    manifests.extend(service("asked", "IPv4", port, &["127.0.0.1"]));
    on_each_haproxy(&manifests, |site| {
        let path = format!("/plain/{}", site.address(Scheme::Http).port());
        assert_eq!(site.ask(Scheme::Https, "POST", HOST, &format!("{path}/whole"), "", "abc").status, 204);
        let mut slow = TcpStream::connect(site.address(Scheme::Http)).unwrap();
        let head = format!("POST {path}/slow HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 3\r\n\r\na");
        slow.write_all(head.as_bytes()).unwrap();
        // HAProxy closes the connection only once it has waited for the rest.
        let mut answer = [0; 13];
        slow.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 408 ");
        let asked = questions.with(&path);
        assert!(asked.len() == 1 && asked[0].contains("/whole"), "{asked:?}");
    });
}

#[test]
fn answers_are_sent_no_faster_than_is_said() {
    with(&[("bandwidth", "1k")], |site, scheme| {
        let padding = format!("X-Padding: {}\r\n", "a".repeat(3000));
        let begun = Instant::now();
        let slow = site.ask(scheme, "GET", HOST, "/on", &padding, "");
        assert_eq!((slow.service(), slow.sent("x-padding").map(str::len)), (Some(1), Some(3000)));
        // Three thousand bytes, of which the first thousand comes at once.
        assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
    });
}
