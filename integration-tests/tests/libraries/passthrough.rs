//! TLS that is passed through to servers: by the name that clients ask for, for whoever has the host, and beside all other TLS.

use crate::{
    around::Around,
    client::{Answer, Way, ask, converse},
    on_each_haproxy_with,
    options::annotations,
    site::{Scheme, Site, rendered_for_with, sentences},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{
    certificate::{self, Authority},
    http::client_config,
    program::HaproxySeries,
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
    time::{Duration, Instant},
};

const PASSED: &str = "passed.example";
const HERE: &str = "here.example";

/// An Ingress for `/` of a host, created on that day.
struct Ingress<'i> {
    namespace: &'i str,
    name: &'i str,
    day: u8,
    host: &'i str,
    path: &'i str,
    service: &'i str,
    options: &'i [(&'i str, &'i str)],
}

/// One of namespace shop whose TLS is passed through to servers that speak it.
const PASSING: Ingress<'_> = Ingress {
    namespace: "shop",
    name: "passing",
    day: 1,
    host: PASSED,
    path: "/",
    service: "h1-tls",
    options: &[("ssl-passthrough", "true")],
};

/// One whose TLS ends here.
const ENDING: Ingress<'_> = Ingress { name: "ending", host: HERE, service: "s2", options: &[], ..PASSING };

impl Ingress<'_> {
    fn manifest(&self) -> Value {
        let Self { namespace, name, day, host, path, service, options } = self;
        json!({"kind": "Ingress", "metadata": {"namespace": namespace, "name": name, "annotations": annotations(options),
                "creationTimestamp": format!("2026-01-{day:02}T00:00:00Z")},
            "spec": {"rules": [{"host": host, "http": {"paths": [{"path": path, "pathType": "Prefix",
                "backend": {"service": {"name": service, "port": {"number": 80}}}}]}}]}})
    }
}

/// The operator lets TLS be passed through.
fn switched_on(spec: &mut Value) {
    let context = &mut spec["templatingSettings"]["extraContext"];
    context["passthrough"] = json!(true);
    context["sslRedirect"] = json!(true);
}

fn servers() -> (Around, Vec<Value>) {
    let around = Around::servers(&Authority::new("servers").unwrap(), PASSED);
    let services = around.services();
    (around, services)
}

/// A request for one host over TLS for another name.
fn fronted(site: &Site, sni: &str, host: &str) -> std::io::Result<Answer> {
    ask(&site.way(Scheme::Https, sni), &format!("GET /x HTTP/1.1\r\nHost: {host}\r\n"), "")
}

/// Whether the server that speaks TLS itself answered, asked for `name`.
fn is_passed(answer: &Answer, name: &str) -> bool {
    answer.body.to_ascii_lowercase().starts_with(&format!("h1-tls http/1.1 {name} /x"))
}

#[test]
fn tls_goes_by_its_name_to_servers_that_open_it_and_all_other_ends_here() {
    let (_servers, mut manifests) = servers();
    manifests.extend([PASSING.manifest(), ENDING.manifest()]);
    on_each_haproxy_with(&manifests, switched_on, |site| {
        assert!(is_passed(&fronted(site, PASSED, PASSED).unwrap(), PASSED));
        // The name counts, whatever the request says inside.
        assert!(is_passed(&fronted(site, PASSED, HERE).unwrap(), PASSED));
        let upper = PASSED.to_ascii_uppercase();
        assert!(is_passed(&fronted(site, &upper, PASSED).unwrap(), PASSED));
        let here = fronted(site, HERE, HERE).unwrap();
        assert_eq!(here.service(), Some(2));
        assert_eq!(
            (here.sent("x-forwarded-proto"), here.sent("x-real-ip")),
            (Some("https"), Some("127.0.0.1"))
        );
        // Nobody gets by another name what servers open themselves.
        assert_eq!(fronted(site, HERE, PASSED).unwrap().status, 421);
        assert_eq!(fronted(site, "127.0.0.1", PASSED).unwrap().status, 421);
        // No such name, and none at all.
        assert_eq!(fronted(site, "nonesuch.example", "nonesuch.example").unwrap().status, 404);
        assert_eq!(fronted(site, "127.0.0.1", HERE).unwrap().service(), Some(2));
        let redirected = site.get(Scheme::Http, PASSED, "/x");
        assert_eq!(
            (redirected.status, redirected.header("location")),
            (308, Some("https://passed.example/x"))
        );
        assert_eq!(site.get(Scheme::Http, HERE, "/x").service(), Some(2));
    });
}

#[test]
fn servers_are_told_clients_by_the_proxy_protocol_and_so_is_the_frontend_that_opens_tls() {
    let around = Around::asking(&Authority::new("servers").unwrap(), PASSED);
    let mut manifests = around.services();
    let options = [("ssl-passthrough", "true"), ("proxy-protocol", "v2")];
    let passing = Ingress { service: "proxied-tls", options: &options, ..PASSING };
    manifests.extend([passing.manifest(), ENDING.manifest()]);
    let behind_a_proxy = |spec: &mut Value| {
        switched_on(spec);
        spec["templatingSettings"]["extraContext"]["proxyProtocol"] = json!(true);
    };
    on_each_haproxy_with(&manifests, behind_a_proxy, |site| {
        let asked = |host: &str| {
            let way =
                Way { first: "PROXY TCP4 192.0.2.7 192.0.2.1 4711 443\r\n", ..site.way(Scheme::Https, host) };
            ask(&way, &format!("GET /x HTTP/1.1\r\nHost: {host}\r\n"), "").unwrap()
        };
        let body = asked(PASSED).body;
        assert!(body.contains("192.0.2.7") && body.contains(PASSED), "{body}");
        assert_eq!(asked(HERE).sent("x-real-ip"), Some("192.0.2.7"));
    });
}

#[test]
fn requests_over_http_have_a_port_of_their_own_where_that_is_said() {
    let (_servers, mut manifests) = servers();
    let options = [("ssl-passthrough", "true"), ("ssl-passthrough-http-port", "81")];
    let mut passing = Ingress { options: &options, ..PASSING }.manifest();
    let mut slices = manifests.iter().filter(|one| one["kind"] == "EndpointSlice");
    let h1 = slices.find(|one| one["metadata"]["name"] == "h1-tls-IPv4").cloned().unwrap();
    let plain =
        manifests.iter().find(|one| one["metadata"]["name"] == "h2-IPv4").unwrap()["ports"][0]["port"]
            .clone();
    passing["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"] = json!({"name": "tls"});
    let ports =
        |tls: Value, plain: Value| json!([{"name": "tls", "port": tls}, {"name": "plain", "port": plain}]);
    manifests.push(json!({"kind": "Service", "metadata": {"namespace": "shop", "name": "h1-tls"},
        "spec": {"ports": ports(json!(80), json!(81))}}));
    let mut both = h1.clone();
    both["ports"] = ports(h1["ports"][0]["port"].clone(), plain);
    manifests.extend([both, passing]);
    on_each_haproxy_with(&manifests, switched_on, |site| {
        assert!(is_passed(&fronted(site, PASSED, PASSED).unwrap(), PASSED));
        // That server wants HTTP/2 and refuses: it is not redirected.
        assert_ne!(site.get(Scheme::Http, PASSED, "/x").status, 308);
    });
}

#[test]
fn a_wildcard_takes_no_tls_of_hosts_that_have_routes_or_belong_to_others() {
    let (_servers, mut manifests) = servers();
    let below = |name| Ingress { host: name, path: "/api", namespace: "other", name: "below", ..ENDING };
    manifests
        .extend([Ingress { host: "*.w.example", ..PASSING }.manifest(), below("held.w.example").manifest()]);
    let owned = |spec: &mut Value| {
        switched_on(spec);
        spec["hosts"] = json!([{"hosts": ["listed.w.example", "*.listed.example"], "namespaces": ["bank"]}]);
    };
    on_each_haproxy_with(&manifests, owned, |site| {
        let any = "any.w.example";
        assert!(is_passed(&fronted(site, any, any).unwrap(), any));
        for host in ["held.w.example", "listed.w.example", "a.any.w.example", "w.example"] {
            let answer = fronted(site, host, host).unwrap();
            assert_eq!(answer.status, 404, "{host}: {answer:?}");
        }
        assert_eq!(fronted(site, HERE, any).unwrap().status, 421);
    });
}

#[test]
fn only_the_namespace_that_has_a_host_has_its_tls_passed_through() {
    let (_servers, services) = servers();
    let theirs = Ingress { namespace: "victim", name: "older", path: "/api", host: PASSED, ..ENDING };
    for (day, is_theirs) in [(1, true), (9, false)] {
        let mut manifests = services.clone();
        let victim = Ingress { day, ..theirs };
        let attacker = Ingress { day: 5, ..PASSING };
        manifests.extend([victim.manifest(), attacker.manifest()]);
        on_each_haproxy_with(&manifests, switched_on, |site| {
            let answer = fronted(site, PASSED, PASSED);
            let passed = answer.as_ref().is_ok_and(|answer| is_passed(answer, PASSED));
            assert_eq!(passed, !is_theirs, "{answer:?}");
        });
    }
}

#[test]
fn what_guards_access_counts_for_connections_or_tls_ends_here() {
    let (_servers, services) = servers();
    let with = |options: &[(&str, &str)]| {
        let options: Vec<(&str, &str)> =
            options.iter().copied().chain([("ssl-passthrough", "true")]).collect();
        let mut manifests = services.clone();
        manifests.extend([
            Ingress { options: &options, ..PASSING }.manifest(),
            ENDING.manifest(),
            crate::options::users(),
        ]);
        manifests
    };
    for (option, value, is_let_in) in [
        ("allow-from", "10.0.0.0/8", false),
        ("allow-from", "127.0.0.0/8", true),
        ("deny-from", "127.0.0.1", false),
        ("deny-from", "10.0.0.0/8", true),
        ("maintenance", "true", false),
    ] {
        on_each_haproxy_with(&with(&[(option, value)]), switched_on, |site| {
            let answer = fronted(site, PASSED, PASSED);
            assert_eq!(answer.is_ok_and(|answer| is_passed(&answer, PASSED)), is_let_in, "{option} {value}");
            assert_eq!(fronted(site, HERE, HERE).unwrap().service(), Some(2));
        });
    }
    for (option, value, status) in [("auth-secret", "users", 401), ("client-ca-secret", "ca", 403)] {
        on_each_haproxy_with(&with(&[(option, value)]), switched_on, |site| {
            assert_eq!(fronted(site, PASSED, PASSED).unwrap().status, status, "{option}");
        });
    }
    // Switched off it ends here, too.
    on_each_haproxy_with(
        &with(&[]),
        |_| {},
        |site| {
            assert!(!fronted(site, PASSED, PASSED).is_ok_and(|answer| is_passed(&answer, PASSED)));
            assert_eq!(fronted(site, HERE, HERE).unwrap().service(), Some(2));
        },
    );
}

#[test]
fn annotations_of_other_controllers_pass_tls_through() {
    let (_servers, services) = servers();
    // What a request over HTTP gets, and one over TLS where the operator lets none be passed through.
    for (family, prefix, over_http, switched_off) in [
        ("ingress-nginx", "nginx.ingress.kubernetes.io", 308, 502),
        ("haproxy-org", "haproxy.org", 502, 503),
        ("haproxy-ingress", "haproxy-ingress.github.io", 302, 503),
    ] {
        let mut passing = Ingress { options: &[], ..PASSING }.manifest();
        passing["metadata"]["annotations"] = json!({format!("{prefix}/ssl-passthrough"): "true"});
        let mut manifests = services.clone();
        manifests.extend([passing, ENDING.manifest()]);
        let read = |spec: &mut Value| {
            let libraries = spec["libraries"].as_array_mut().unwrap();
            libraries.push(json!(format!("annotations-{family}")));
        };
        let both = |spec: &mut Value| {
            switched_on(spec);
            read(spec);
        };
        on_each_haproxy_with(&manifests, both, |site| {
            assert!(is_passed(&fronted(site, PASSED, PASSED).unwrap(), PASSED), "{family}");
            assert_eq!(fronted(site, HERE, HERE).unwrap().service(), Some(2));
            assert_eq!(site.get(Scheme::Http, PASSED, "/x").status, over_http, "{family}");
        });
        on_each_haproxy_with(&manifests, read, |site| {
            assert_eq!(fronted(site, PASSED, PASSED).unwrap().status, switched_off, "{family}");
        });
    }
}

/// The first bytes of a connection that asks for `name`.
fn greeting(name: &str) -> Vec<u8> {
    let name = rustls::pki_types::ServerName::try_from(name.to_owned()).unwrap();
    let mut tls = rustls::ClientConnection::new(Arc::new(client_config().unwrap()), name).unwrap();
    let mut bytes = Vec::new();
    tls.write_tls(&mut bytes).unwrap();
    bytes
}

/// What comes back first for these pieces: 22 begins a greeting of TLS, 21 an alarm; nothing where the connection ends.
fn answered(site: &Site, pieces: &[&[u8]]) -> Option<u8> {
    let mut stream = TcpStream::connect(site.address(Scheme::Https)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    for piece in pieces {
        if stream.write_all(piece).is_err() {
            return None;
        }
        std::thread::yield_now();
    }
    let mut first = [0];
    stream.read_exact(&mut first).ok().map(|()| first[0])
}

#[test]
fn greetings_in_pieces_too_large_and_broken_harm_nobody() {
    let (_servers, mut manifests) = servers();
    manifests.extend([PASSING.manifest(), ENDING.manifest()]);
    let patient = |spec: &mut Value| {
        switched_on(spec);
        spec["templatingSettings"]["extraContext"]["timeouts"] = json!({"request": "1s"});
    };
    on_each_haproxy_with(&manifests, patient, |site| {
        let whole = greeting(PASSED);
        let bytes: Vec<&[u8]> = whole.chunks(1).collect();
        assert_eq!(answered(site, &bytes), Some(22), "byte by byte");
        // One greeting in two records: nobody knows its name, so it ends here, when the time is over.
        let (head, body) = whole.split_at(5);
        let half = body.len() / 2;
        let record = |part: &[u8]| {
            let length = u16::try_from(part.len()).unwrap().to_be_bytes();
            [&head[..3], &length[..], part].concat()
        };
        let (first, second) = (record(&body[..half]), record(&body[half..]));
        let begun = Instant::now();
        assert!(answered(site, &[&first, &second]).is_some());
        assert!(begun.elapsed() < Duration::from_secs(10));
        // A name of 250 kB, and what is no TLS at all.
        let mut large = vec![22, 3, 1, 0xff, 0xff, 1, 0, 0xff, 0xff];
        large.extend(std::iter::repeat_n(b'a', 250_000));
        for garbage in
            [large, vec![0; 100_000], b"GET / HTTP/1.1\r\n\r\n".to_vec(), vec![22, 3, 1, 0, 5, 1, 0, 0, 1, 0]]
        {
            assert_ne!(answered(site, &[&garbage]), Some(22));
        }
        // Many that say nothing hold nobody up.
        let silent: Vec<TcpStream> =
            (0..50).map(|_| TcpStream::connect(site.address(Scheme::Https)).unwrap()).collect();
        assert!(is_passed(&fronted(site, PASSED, PASSED).unwrap(), PASSED));
        assert_eq!(fronted(site, HERE, HERE).unwrap().service(), Some(2));
        drop(silent);
    });
}

#[test]
fn a_host_with_a_certificate_of_its_own_keeps_it_behind_the_frontend_that_passes_tls() {
    let (_servers, mut manifests) = servers();
    let own = certificate::for_host(HERE).unwrap();
    let mut ending = ENDING.manifest();
    ending["spec"]["tls"] = json!([{"hosts": [HERE], "secretName": "here"}]);
    manifests.extend([
        PASSING.manifest(),
        ending,
        json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "here"},
            "data": {"tls.crt": BASE64.encode(&own.pem), "tls.key": BASE64.encode(&own.key)}}),
    ]);
    on_each_haproxy_with(&manifests, switched_on, |site| {
        let shown = |host: &str| {
            let head = format!("GET /x HTTP/1.1\r\nHost: {host}\r\n");
            converse(&site.way(Scheme::Https, host), &head, "").unwrap().1.unwrap()
        };
        assert_eq!(shown(HERE), own.der);
        assert_ne!(shown(PASSED), own.der);
        assert_ne!(shown(PASSED), shown("nonesuch.example"));
    });
}

#[test]
fn one_more_host_is_an_entry_of_a_map_and_a_backend_of_nothing_but_servers() {
    let (_servers, mut manifests) = servers();
    manifests.push(PASSING.manifest());
    let rendered = |manifests: &[Value]| {
        let bundle = rendered_for_with(HaproxySeries::V3_4, manifests, switched_on);
        bundle.unwrap_or_else(|e| panic!("{}", sentences(&e))).0.config.text.to_string()
    };
    let before = rendered(&manifests);
    manifests.push(Ingress { name: "more", host: "more.example", ..PASSING }.manifest());
    let after = rendered(&manifests);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (lines(&before), lines(&after));
    let news: Vec<&str> =
        after.iter().filter(|line| !before.contains(line)).map(|line| line.trim()).collect();
    let expected =
        ["backend shop_more_h1-tls_80 from roundrobin", "backend shop_more_h1-tls_80:tls from tcp_proxies"];
    assert_eq!(news, expected);
}
