//! Which of a Service's servers a request goes to: by a hash, by the cookie, by what is known of their health, by the Service's own address.

use crate::{
    around::{Around, service},
    auth_server,
    client::{Answer, ask},
    echo, on_each_haproxy,
    options::certificate,
    patience::within_patience,
    protocols::leading_to,
    site::{SCHEMES, Scheme, Site, rendered_alone, sentences},
};
use integration_tests::certificate::Authority;
use serde_json::{Value, json};
use std::{cell::RefCell, collections::BTreeSet};

const HOST: &str = "a.example";

/// An Ingress `on` that leads to six servers with these options.
fn leading_to_six(options: &[(&str, &str)]) -> Vec<Value> {
    let mut manifests = leading_to("six", 80, options);
    let addresses: Vec<String> = (1..=6).map(|n| format!("127.0.1.{n}")).collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    manifests.extend(service("six", "IPv4", echo::start(), &addresses));
    manifests
}

/// The server of a request.
fn server_of(site: &Site, path: &str, headers: &str) -> u8 {
    let answer = site.ask(Scheme::Http, "GET", HOST, path, headers, "");
    answer.service().unwrap_or_else(|| panic!("{answer:?}"))
}

#[test]
fn requests_with_the_same_key_go_to_the_same_server_from_every_haproxy() {
    let header = |n: usize| ("/on".to_owned(), format!("X-User: u{n}\r\n"));
    let cookie = |n: usize| ("/on".to_owned(), format!("Cookie: a=b; user=u{n}\r\n"));
    let query = |n: usize| (format!("/on?x=1&user=u{n}"), String::new());
    let path = |n: usize| (format!("/on/{n}?x={n}"), String::new());
    let uri = |n: usize| (format!("/on?{n}"), String::new());
    type Request = fn(usize) -> (String, String);
    let kinds: [(&str, Request); 5] = [
        ("header:X-User", header),
        ("cookie:user", cookie),
        ("query:user", query),
        ("path", path),
        ("uri", uri),
    ];
    for (key, request) in kinds {
        let first: RefCell<Option<Vec<u8>>> = RefCell::default();
        on_each_haproxy(&leading_to_six(&[("balance-hash", key)]), |site| {
            let servers = || -> Vec<u8> {
                (0..30).map(request).map(|(path, headers)| server_of(site, &path, &headers)).collect()
            };
            let once = servers();
            assert_eq!(once, servers(), "{key}");
            assert!(once.iter().collect::<BTreeSet<_>>().len() > 3, "{key}: {once:?}");
            // The echo's port is part of what is hashed, and the same for all three.
            assert_eq!(*first.borrow_mut().get_or_insert_with(|| once.clone()), once, "{key}");
            assert_eq!(site.get(Scheme::Https, HOST, "/off").service(), Some(2));
        });
    }
    for (key, several) in [("client", false), ("host", false), ("header:X-User", true)] {
        on_each_haproxy(&leading_to_six(&[("balance-hash", key)]), |site| {
            let servers: BTreeSet<u8> = (0..12).map(|n| server_of(site, &format!("/on/{n}"), "")).collect();
            assert_eq!(servers.len() > 1, several, "{key}");
        });
    }
    for wrong in ["header", "header:", "header:X)", "cookie:a b", "ip", "query:-x"] {
        let said = sentences(&rendered_alone(&leading_to_six(&[("balance-hash", wrong)])).expect_err(wrong));
        assert!(said.contains("must be client, host, path, uri, or header:NAME"), "{said}");
    }
}

/// A Service with a server that answers and one at a port where nobody listens.
fn one_of_two_is_dead(options: &[(&str, &str)]) -> Vec<Value> {
    let mut manifests = leading_to("two", 80, options);
    manifests.extend(service("two", "IPv4", echo::start(), &["127.0.1.1"]));
    let mut dead = service("two", "dead", crate::ports::free_port(), &["127.0.1.3"])[1].clone();
    dead["addressType"] = json!("IPv4");
    manifests.push(dead);
    manifests
}

#[test]
fn a_server_that_fails_its_checks_gets_no_requests() {
    let unchecked = [("retries", "0")];
    on_each_haproxy(&one_of_two_is_dead(&unchecked), |site| {
        let failed = (0..10).filter(|_| site.get(Scheme::Http, HOST, "/on").status == 503).count();
        assert!(failed > 0, "the dead server gets requests as long as nobody asks it");
    });
    for kind in ["tcp", "http"] {
        let checked = [
            unchecked[0],
            ("health-check", kind),
            ("health-check-interval", "500ms"),
            ("health-check-fall", "1"),
        ];
        on_each_haproxy(&one_of_two_is_dead(&checked), |site| {
            within_patience(|| (0..10).all(|_| site.get(Scheme::Http, HOST, "/on").service() == Some(1)));
            assert_eq!(site.get(Scheme::Https, HOST, "/off").service(), Some(2));
        });
    }
}

#[test]
fn a_server_that_fails_its_checks_at_another_port_gets_no_requests() {
    let healthy = std::net::TcpListener::bind("127.0.1.1:0").unwrap();
    let port = healthy.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || healthy.incoming().flatten().for_each(drop));
    let options = [
        ("health-check", "tcp"),
        ("health-check-port", &*port),
        ("health-check-interval", "500ms"),
        ("health-check-fall", "1"),
    ];
    let mut manifests = leading_to("two", 80, &options);
    manifests.extend(service("two", "IPv4", echo::start(), &["127.0.1.1", "127.0.1.2"]));
    on_each_haproxy(&manifests, |site| {
        within_patience(|| (0..10).all(|_| site.get(Scheme::Http, HOST, "/on").service() == Some(1)));
        assert_eq!(site.get(Scheme::Https, HOST, "/off").service(), Some(2));
    });
}

#[test]
fn a_server_whose_agent_says_so_gets_no_requests() {
    let agent = std::net::TcpListener::bind("127.0.1.2:0").unwrap();
    let port = agent.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for mut asked in agent.incoming().flatten() {
            drop(std::io::Write::write_all(&mut asked, b"down\n"));
        }
    });
    // Nobody answers for the other server, and nothing becomes of that.
    let options = [("agent-check-port", &*port), ("agent-check-interval", "500ms")];
    let mut manifests = leading_to("two", 80, &options);
    manifests.extend(service("two", "IPv4", echo::start(), &["127.0.1.1", "127.0.1.2"]));
    on_each_haproxy(&manifests, |site| {
        within_patience(|| (0..10).all(|_| site.get(Scheme::Http, HOST, "/on").service() == Some(1)));
        assert_eq!(site.get(Scheme::Https, HOST, "/off").service(), Some(2));
    });
}

/// A process that begins, after a reload too, knows of no server that is down.
#[test]
fn servers_that_are_seldom_asked_are_asked_at_once() {
    let healthy = std::net::TcpListener::bind("127.0.1.1:0").unwrap();
    let port = healthy.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || healthy.incoming().flatten().for_each(drop));
    let options = [("health-check", "tcp"), ("health-check-port", &*port), ("health-check-interval", "10m")];
    let mut manifests = leading_to("two", 80, &options);
    manifests.extend(service("two", "IPv4", echo::start(), &["127.0.1.1", "127.0.1.2"]));
    on_each_haproxy(&manifests, |site| {
        within_patience(|| (0..10).all(|_| site.get(Scheme::Http, HOST, "/on").service() == Some(1)));
    });
}

#[test]
fn a_server_has_the_share_of_its_weight_that_its_agent_says() {
    let agent = std::net::TcpListener::bind("127.0.1.2:0").unwrap();
    let port = agent.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for mut asked in agent.incoming().flatten() {
            drop(std::io::Write::write_all(&mut asked, b"20%\n"));
        }
    });
    let options =
        [("agent-check-port", &*port), ("agent-check-interval", "500ms"), ("balance", "roundrobin")];
    let mut manifests = leading_to("two", 80, &options);
    manifests.extend(service("two", "IPv4", echo::start(), &["127.0.1.1", "127.0.1.2"]));
    on_each_haproxy(&manifests, |site| {
        let of_second = || {
            let asked = (0..60).filter(|_| site.get(Scheme::Http, HOST, "/on").service() == Some(2));
            asked.count()
        };
        within_patience(|| (5..=20).contains(&of_second()));
    });
}

#[test]
fn servers_are_asked_what_is_said_and_only_some_statuses_are_good() {
    let (port, questions) = auth_server::start();
    let options = |status: &'static str| {
        [
            ("health-check", "http"),
            ("health-check-interval", "500ms"),
            ("health-check-fall", "1"),
            ("health-check-path", "/plain?x=%41&(y)"),
            ("health-check-method", "HEAD"),
            ("health-check-host", "shop.internal"),
            ("health-check-status", status),
            ("health-check-timeout", "1s"),
        ]
    };
    let served = |status| {
        let mut manifests = leading_to("asked", 80, &options(status));
        manifests[0]["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/");
        manifests.extend(service("asked", "IPv4", port, &["127.0.0.1"]));
        manifests
    };
    on_each_haproxy(&served("200, 204-205"), |site| {
        within_patience(|| !questions.with("/plain?x=%41&(y)").is_empty());
        assert_eq!(site.get(Scheme::Http, HOST, "/plain").status, 204);
    });
    let asked = questions.with("/plain?x=%41&(y)");
    assert!(
        asked.iter().all(|head| head.starts_with("head ") && head.contains("\r\nhost: shop.internal\r\n")),
        "{asked:?}"
    );
    on_each_haproxy(&served("200-203"), |site| {
        within_patience(|| site.get(Scheme::Http, HOST, "/plain").status == 503);
        assert_eq!(site.get(Scheme::Http, HOST, "/off").service(), Some(2));
    });
    for wrong in ["99", "200-", "300-200", "2xx", "200,", "200 or 204"] {
        let said = sentences(
            &rendered_alone(&leading_to_six(&[("health-check", "http"), ("health-check-status", wrong)]))
                .expect_err(wrong),
        );
        assert!(said.contains("must be statuses from 100 to 599"), "{said}");
    }
}

#[test]
fn servers_over_tls_and_behind_the_proxy_protocol_are_checked_as_they_are_used() {
    let authority = Authority::new("servers").unwrap();
    let servers = Around::servers(&authority, "h2-tls.shop.svc");
    let tls = [("health-check", "http"), ("health-check-interval", "500ms"), ("health-check-fall", "1")];
    let seen = |service: &str, more: &[(&str, &str)], servers: &Around, status: u16| {
        let options: Vec<(&str, &str)> = tls.iter().chain(more).copied().collect();
        let mut manifests = leading_to(service, 80, &options);
        manifests.extend(servers.services());
        on_each_haproxy(&manifests, |site| {
            // Long enough for a check that fails to have its effect.
            let start = std::time::Instant::now();
            within_patience(|| {
                assert_eq!(site.get(Scheme::Http, HOST, "/on").status, status, "{service} {more:?}");
                start.elapsed() > std::time::Duration::from_millis(1500)
            });
        });
    };
    seen("h2-tls", &[("protocol", "h2s")], &servers, 200);
    seen("h1-tls", &[("protocol", "https")], &servers, 200);
    let slices = servers.services();
    let slice =
        slices.iter().find(|one| one["kind"] == "EndpointSlice" && one["metadata"]["name"] == "h1-tls-IPv4");
    let port = slice.unwrap()["ports"][0]["port"].to_string();
    seen("h1-tls", &[("protocol", "https"), ("health-check-port", &port)], &servers, 200);
    let apart = echo::start().to_string();
    seen("h1-tls", &[("protocol", "https"), ("health-check-port", &apart)], &servers, 200);
    seen("h2", &[("protocol", "h2")], &servers, 200);
    let asking = Around::asking(&authority, "proxied-tls.shop.svc");
    seen("proxied", &[("proxy-protocol", "v2")], &asking, 200);
    seen("proxied-tls", &[("proxy-protocol", "v1"), ("protocol", "h2s")], &asking, 200);
}

#[test]
fn a_server_that_fails_real_requests_is_left_out_until_checks_succeed() {
    let options = [
        ("health-check", "tcp"),
        ("health-check-interval", "3s"),
        ("health-check-rise", "1"),
        ("passive-check", "answers"),
        ("slow-start", "1s"),
    ];
    let mut manifests = leading_to("one", 80, &options);
    manifests.extend(service("one", "IPv4", echo::start(), &["127.0.1.1"]));
    on_each_haproxy(&manifests, |site| {
        let mut number = 0;
        within_patience(|| {
            number += 1;
            // Where the server's connection had been used before, HAProxy ends the client's without an answer.
            let head = format!("GET /on/flaky/{number} HTTP/1.1\r\nHost: {HOST}\r\n");
            ask(&site.way(Scheme::Http, HOST), &head, "").is_ok_and(|answer| answer.status == 503)
        });
        assert!((10..40).contains(&number), "after {number} requests");
        within_patience(|| site.get(Scheme::Http, HOST, "/on").status == 200);
    });
    let said =
        sentences(&rendered_alone(&leading_to_six(&[("passive-check", "answers")])).expect_err("alone"));
    assert!(said.contains("must be given together with health-check"), "{said}");
}

#[test]
fn what_a_services_port_speaks_counts_unless_an_annotation_says_otherwise() {
    let authority = Authority::new("servers").unwrap();
    let servers = Around::servers(&authority, "h1-tls.shop.svc");
    for (name, said, options, answer) in [
        ("h1-tls", "https", &[][..], Some("h1-tls HTTP/1.1")),
        ("h2", "kubernetes.io/h2c", &[], Some("h2 HTTP/2.0")),
        ("h2", "grpc", &[], Some("h2 HTTP/2.0")),
        ("h2-tls", "https", &[("protocol", "h2s")], Some("h2-tls HTTP/2.0")),
        ("h1-tls", "https", &[("protocol", "h1")], None),
        ("h1-tls", "http", &[], None),
    ] {
        let mut manifests = leading_to(name, 80, options);
        let mut services = servers.services();
        for service in &mut services {
            if service["kind"] == "Service" {
                service["spec"]["ports"][0]["appProtocol"] = json!(said);
            }
        }
        manifests.extend(services);
        on_each_haproxy(&manifests, |site| {
            let got = site.get(Scheme::Http, HOST, "/on");
            match answer {
                Some(answer) => assert!(got.body.starts_with(answer), "{name} {said}: {got:?}"),
                None => assert_ne!(got.status, 200, "{name} {said}: {got:?}"),
            }
            assert_eq!(site.get(Scheme::Http, HOST, "/off").service(), Some(2));
        });
    }
}

#[test]
fn haproxy_connects_to_the_services_own_address_where_that_is_asked_for() {
    for (address, server) in [("127.0.1.7", Some(7)), ("None", None)] {
        let port = echo::start();
        let mut manifests = leading_to("own", port, &[("connect-to", "service")]);
        let [mut own, slice] = service("own", "IPv4", 1, &["127.0.1.3"]);
        own["spec"] = json!({"clusterIP": address, "ports": [{"port": port}]});
        manifests.extend([own, slice]);
        on_each_haproxy(&manifests, |site| {
            assert_eq!(site.get(Scheme::Http, HOST, "/on").service(), server);
            assert_eq!(site.get(Scheme::Http, HOST, "/off").service(), Some(2));
        });
    }
}

/// What the only cookie of an answer has besides its value.
fn attributes(answer: &Answer) -> &str {
    let cookies: Vec<&str> =
        answer.headers.iter().filter(|(name, _)| name == "set-cookie").map(|(_, value)| &**value).collect();
    let [cookie] = &*cookies else { panic!("{answer:?}") };
    cookie.split_once("; ").map_or("", |(_, attributes)| attributes)
}

#[test]
fn the_affinity_cookie_has_the_attributes_that_are_asked_for() {
    let all = [
        ("affinity-cookie-path", "/on"),
        ("affinity-cookie-domain", "a.example"),
        ("affinity-cookie-max-age", "3600"),
        ("affinity-cookie-same-site", "None"),
    ];
    let told = "path=/on; HttpOnly; SameSite=None; Domain=a.example; Max-Age=3600";
    for (more, over_http, over_https) in [
        (&all[..], told.to_owned(), format!("{told}; Secure")),
        (
            &[
                ("affinity-cookie-secure", "true"),
                ("affinity-cookie-name", "SHOP"),
                ("max-connections", "10"),
                ("max-queue", "5"),
            ],
            "path=/; HttpOnly; SameSite=Lax; Secure".to_owned(),
            "path=/; HttpOnly; SameSite=Lax; Secure".to_owned(),
        ),
    ] {
        let options: Vec<(&str, &str)> = [("affinity", "cookie")].iter().chain(more).copied().collect();
        let mut manifests = leading_to_six(&options);
        manifests.push(certificate());
        on_each_haproxy(&manifests, |site| {
            for scheme in SCHEMES {
                let first = site.get(scheme, HOST, "/on");
                let expected = if scheme == Scheme::Https { &over_https } else { &over_http };
                assert_eq!(attributes(&first), expected);
                let cookie = first.header("set-cookie").and_then(|cookie| cookie.split(';').next()).unwrap();
                let again = site.ask(scheme, "GET", HOST, "/on", &format!("Cookie: {cookie}\r\n"), "");
                assert_eq!((again.service(), again.header("set-cookie")), (first.service(), None));
            }
        });
    }
    for (option, wrong) in [
        ("path", "shop"),
        ("path", "/a;b"),
        ("path", "/a\\1"),
        ("domain", "a b"),
        ("same-site", "lax"),
        ("max-age", "-1"),
    ] {
        let option = format!("affinity-cookie-{option}");
        let options = [("affinity", "cookie"), (option.as_str(), wrong)];
        let said = sentences(&rendered_alone(&leading_to_six(&options)).expect_err(wrong));
        assert!(said.contains(&option), "{said}");
    }
}
