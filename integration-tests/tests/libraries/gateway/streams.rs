//! Connections at listeners of protocol TLS and TCP: by name or port to whoever has them, and to nobody else.

use super::{GatewaySite, aged, around, gateway, object, on_each, secret, to};
use crate::{
    SERIES,
    around::{Around, service},
    client::{self, Answer, Way},
    echo,
    ports::free_port,
    site::{Site, rendered_for_with},
    tcp::greeting,
};
use integration_tests::{certificate::Authority, http::client_config, program::HaproxySeries};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

fn listener(name: &str, port: u16, protocol: &str, hostname: Option<&str>) -> Value {
    let mut listener = super::listener(name, hostname);
    (listener["port"], listener["protocol"]) = (port.into(), protocol.into());
    listener
}

fn passed(name: &str, port: u16, hostname: Option<&str>) -> Value {
    let mut listener = listener(name, port, "TLS", hostname);
    listener["tls"] = json!({"mode": "Passthrough"});
    listener
}

/// One whose certificate is that of Secret `cert`.
fn ended(name: &str, port: u16, protocol: &str, hostname: Option<&str>) -> Value {
    let mut listener = listener(name, port, protocol, hostname);
    listener["tls"] = json!({"certificateRefs": [{"name": "cert"}]});
    listener
}

/// A route of namespace shop at a listener of Gateway `gw`, or at all of them.
fn stream(kind: &str, name: &str, section: Option<&str>, hostnames: &[&str], backends: Value) -> Value {
    let mut parent = json!({"name": "gw", "namespace": "edge"});
    if let Some(section) = section {
        parent["sectionName"] = section.into();
    }
    let mut spec = json!({"parentRefs": [parent], "rules": [{"backendRefs": backends}]});
    if !hostnames.is_empty() {
        spec["hostnames"] = json!(hostnames);
    }
    object(kind, "shop", name, spec)
}

fn backend(service: &str) -> Value {
    json!([{"name": service, "port": 80}])
}

/// What is said by whoever answers over TLS for a name at a port; none where the connection ends.
fn secured(site: &GatewaySite, port: u16, sni: &str, host: &str) -> Option<Answer> {
    let head = format!("GET /x HTTP/1.1\r\nHost: {host}\r\n");
    client::ask(&Way::to(site.address(port), Some(sni)), &head, "").ok()
}

/// The first words of who answers for a name at a port: the server that opens TLS itself, or the address behind TLS that was opened.
fn answerer(site: &GatewaySite, port: u16, sni: &str) -> Option<String> {
    let body = secured(site, port, sni, sni)?.body;
    body.split_whitespace().next().map(str::to_owned)
}

/// The service that answers in clear at a port.
fn plain(site: &GatewaySite, port: u16) -> Option<u8> {
    let head = "GET /x HTTP/1.1\r\nHost: a.example\r\n";
    client::ask(&Way::to(site.address(port), None), head, "").ok()?.service()
}

/// Whether a connection in which these bytes are said ends without an answer.
fn ends(address: SocketAddr, bytes: &[u8]) -> bool {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(bytes).is_err() || !matches!(stream.read(&mut [0; 1]), Ok(1))
}

/// Asks a site of each HAProxy with these ports of listeners, and settings that `change` changes.
fn on_each_with<const N: usize>(
    manifests: &[Value],
    listeners: [u16; N],
    change: impl Fn(&mut Value),
    ask: impl Fn(&GatewaySite),
) {
    for series in SERIES {
        let ports: BTreeMap<u16, u16> = listeners.iter().map(|port| (*port, free_port())).collect();
        let targets: BTreeMap<String, u16> =
            ports.iter().map(|(port, target)| (port.to_string(), *target)).collect();
        let site = Site::start_with(series, manifests, |spec| {
            spec["libraries"] = json!(["base", "ssl", "gateway"]);
            let context = &mut spec["templatingSettings"]["extraContext"];
            context["gateway"] = json!({"portMode": "same", "portTargets": targets});
            change(context);
        });
        ask(&GatewaySite::of(site, ports));
    }
}

/// Two families of servers that open TLS themselves.
fn tls_servers() -> ([Around; 2], Vec<Value>) {
    let authority = Authority::new("servers").unwrap();
    let (one, other) = (Around::servers(&authority, "a.example"), Around::asking(&authority, "a.example"));
    let services = [one.services(), other.services()].concat();
    ([one, other], services)
}

#[test]
fn tls_goes_by_its_name_to_servers_that_open_it() {
    let (_servers, services) = tls_servers();
    let mut all = around();
    all.extend(services);
    all.push(gateway(
        "gw",
        json!([
            passed("wild", 443, Some("*.a.example")),
            passed("any", 443, None),
            passed("one", 8443, Some("one.example")),
        ]),
    ));
    all.extend([
        aged(stream("TLSRoute", "exact", None, &["x.a.example", "one.example"], backend("h1-tls")), 9),
        aged(stream("TLSRoute", "wide", Some("wild"), &["*.a.example"], backend("nothing")), 1),
        aged(
            stream("TLSRoute", "wider", Some("any"), &["*.example", "deep.y.a.example"], backend("h1-tls")),
            1,
        ),
        aged(stream("TLSRoute", "late", None, &["x.a.example"], backend("nothing")), 10),
    ]);
    on_each(&all, |site| {
        for (port, name, who) in [
            (443, "x.a.example", Some("h1-tls")),
            (443, "X.A.example", Some("h1-tls")),
            (443, "other.a.example", None),
            (443, "z.x.a.example", None),
            // A route of a wider listener has nothing of a narrower one.
            (443, "deep.y.a.example", None),
            (443, "a.example", Some("h1-tls")),
            (443, "b.c.example", Some("h1-tls")),
            (443, "nobody.org", None),
            (443, "127.0.0.1", None),
            (443, "one.example", Some("h1-tls")),
            (8443, "one.example", Some("h1-tls")),
            (8443, "x.a.example", None),
        ] {
            assert_eq!(answerer(site, port, name).as_deref(), who, "{port} {name}");
        }
        let body = secured(site, 443, "x.a.example", "whatever.example").unwrap().body;
        assert!(body.starts_with("h1-tls HTTP/1.1 x.a.example /x"), "the server opened it: {body}");
        for bytes in [
            b"GET / HTTP/1.1\r\nHost: x.a.example\r\n\r\n".to_vec(),
            vec![0; 100_000],
            vec![22, 3, 1, 0, 5, 1, 0, 0, 1, 0],
        ] {
            assert!(ends(site.address(443), &bytes), "what is no TLS");
        }
    });
}

#[test]
fn a_port_has_what_is_passed_what_ends_here_and_requests_by_name() {
    let (_servers, services) = tls_servers();
    let mut all = around();
    all.extend(services);
    all.push(secret("edge", "cert", "a.example"));
    all.push(gateway(
        "gw",
        json!([
            passed("passed", 443, Some("p.example")),
            ended("ended", 443, "TLS", Some("*.e.example")),
            ended("web", 443, "HTTPS", Some("w.example")),
            ended("alone", 8443, "HTTPS", Some("w.example")),
        ]),
    ));
    let mut web = super::route("web", &[], json!([{"backendRefs": to(3)}]));
    web["spec"]["parentRefs"] = json!([{"name": "gw", "namespace": "edge"}]);
    all.extend([
        stream("TLSRoute", "passed", Some("passed"), &["p.example"], backend("h1-tls")),
        stream("TLSRoute", "ended", None, &["a.e.example"], to(2)),
        stream("TLSRoute", "everywhere", None, &["*.example"], backend("nothing")),
        web,
    ]);
    on_each(&all, |site| {
        for (name, who) in [
            ("p.example", Some("h1-tls")),
            ("a.e.example", Some("127.0.1.2")),
            ("b.e.example", None),
            ("w.example", Some("127.0.1.3")),
            ("e.example", None),
            ("127.0.0.1", None),
        ] {
            assert_eq!(answerer(site, 443, name).as_deref(), who, "{name}");
        }
        assert_eq!(answerer(site, 8443, "w.example").as_deref(), Some("127.0.1.3"));
        // What is said inside does not open what has another listener.
        for host in ["p.example", "a.e.example"] {
            assert_eq!(secured(site, 443, "w.example", host).unwrap().status, 421, "{host}");
        }
        let seen = secured(site, 443, "w.example", "w.example").unwrap();
        assert_eq!(
            (seen.sent("x-real-ip"), seen.sent("x-forwarded-proto")),
            (Some("127.0.0.1"), Some("https"))
        );
        let inside = secured(site, 443, "a.e.example", "anything.example").unwrap();
        assert_eq!(inside.service(), Some(2));
        assert_eq!(inside.sent("x-forwarded-proto"), None, "nobody reads what is inside");
    });
}

#[test]
fn a_name_of_spec_hosts_is_served_by_routes_of_its_namespaces_only() {
    let (_servers, services) = tls_servers();
    let foreign = |name: &str, section: &str, hostnames: &[&str], service: &str| {
        let mut route = stream("TLSRoute", name, Some(section), hostnames, backend(service));
        route["metadata"]["namespace"] = "blog".into();
        route["spec"]["rules"][0]["backendRefs"][0]["namespace"] = "shop".into();
        aged(route, 1)
    };
    let mut all = around();
    all.extend(services);
    all.push(secret("edge", "cert", "pay.example"));
    all.push(gateway("gw", json!([passed("passed", 443, None), ended("ended", 8443, "TLS", None)])));
    all.push(object(
        "ReferenceGrant",
        "shop",
        "blog",
        json!({"from": [{"group": "gateway.networking.k8s.io", "kind": "TLSRoute", "namespace": "blog"}],
            "to": [{"group": "", "kind": "Service"}]}),
    ));
    all.extend([
        stream("TLSRoute", "own-passed", Some("passed"), &["pay.example"], backend("h1-tls")),
        stream("TLSRoute", "own-ended", Some("ended"), &["pay.example"], to(1)),
        foreign("same-passed", "passed", &["pay.example", "x.pay.example"], "nothing"),
        foreign("same-ended", "ended", &["pay.example", "x.pay.example"], "s2"),
        foreign("wide-passed", "passed", &["*.example"], "h1-tls"),
        foreign("wide-ended", "ended", &[], "s3"),
    ]);
    let hosts = json!([{"hosts": ["pay.example", "*.pay.example"], "namespaces": ["shop"]}]);
    for series in SERIES {
        let site = GatewaySite::start_with(series, &all, |spec| spec["hosts"] = hosts.clone());
        for (port, name, who) in [
            (443, "pay.example", Some("h1-tls")),
            (443, "x.pay.example", None),
            (443, "y.pay.example", None),
            (443, "free.example", Some("h1-tls")),
            (8443, "pay.example", Some("127.0.1.1")),
            (8443, "x.pay.example", None),
            (8443, "y.pay.example", None),
            (8443, "free.example", Some("127.0.1.3")),
        ] {
            assert_eq!(answerer(&site, port, name).as_deref(), who, "{name} at {port}");
        }
    }
}

#[test]
fn servers_behind_tls_that_ends_here_are_asked_over_tls_where_a_policy_says_so() {
    let own = Authority::new("servers").unwrap();
    let servers = Around::servers(&own, "servers.example");
    for (hostname, is_served) in [("servers.example", true), ("other.example", false)] {
        let mut all = around();
        all.extend(servers.services());
        all.push(secret("edge", "cert", "a.example"));
        all.push(gateway("gw", json!([ended("ended", 443, "TLS", None)])));
        all.push(json!({"kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "ca"}, "data": {"ca.crt": own.pem}}));
        let validation = json!({"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}], "hostname": hostname});
        let targets = json!([{"group": "", "kind": "Service", "name": "h1-tls"}]);
        all.push(object(
            "BackendTLSPolicy",
            "shop",
            "p",
            json!({"targetRefs": targets, "validation": validation}),
        ));
        all.push(stream("TLSRoute", "r", None, &["a.example"], backend("h1-tls")));
        on_each(&all, |site| {
            let body = secured(site, 443, "a.example", "a.example").map(|answer| answer.body);
            let is_asked =
                body.as_ref().is_some_and(|body| body.starts_with("h1-tls HTTP/1.1 servers.example"));
            assert_eq!(is_asked, is_served, "{body:?}");
        });
    }
}

#[test]
fn clients_behind_a_proxy_are_known_wherever_tls_ends() {
    let mut all = around();
    all.push(secret("edge", "cert", "a.example"));
    all.push(gateway(
        "gw",
        json!([
            ended("web", 443, "HTTPS", Some("w.example")),
            ended("ended", 443, "TLS", Some("e.example")),
            listener("tcp", 5432, "TCP", None),
        ]),
    ));
    all.extend([
        super::route("web", &[], json!([{"backendRefs": to(3)}])),
        stream("TLSRoute", "ended", None, &["e.example"], to(1)),
        stream("TCPRoute", "tcp", None, &[], to(2)),
    ]);
    let proxied = |context: &mut Value| context["proxyProtocol"] = json!(true);
    on_each_with(&all, [443, 5432], proxied, |site| {
        let asked = |port: u16, sni: Option<&str>| {
            let way = Way {
                first: "PROXY TCP4 192.0.2.7 192.0.2.1 4711 443\r\n",
                ..Way::to(site.address(port), sni)
            };
            client::ask(&way, "GET /x HTTP/1.1\r\nHost: w.example\r\n", "").unwrap()
        };
        let web = asked(443, Some("w.example"));
        assert_eq!((web.service(), web.sent("x-real-ip")), (Some(3), Some("192.0.2.7")));
        assert_eq!(asked(443, Some("e.example")).service(), Some(1));
        assert_eq!(asked(5432, None).service(), Some(2));
    });
}

#[test]
fn a_port_may_have_as_many_listeners_as_a_gateway_has() {
    let (_servers, services) = tls_servers();
    let mut all = around();
    all.extend(services);
    let names: Vec<String> = (0..64).map(|number| format!("h{number}.example")).collect();
    let listeners =
        names.iter().enumerate().map(|(number, name)| passed(&format!("l{number}"), 443, Some(name)));
    all.push(gateway("gw", listeners.collect()));
    all.push(stream("TLSRoute", "all", None, &["*.example"], backend("h1-tls")));
    on_each(&all, |site| {
        for (name, who) in
            [(&*names[0], Some("h1-tls")), (&*names[63], Some("h1-tls")), ("h64.example", None)]
        {
            assert_eq!(answerer(site, 443, name).as_deref(), who, "{name}");
        }
    });
}

#[test]
fn connections_over_tcp_go_to_the_oldest_route_of_their_port() {
    let mut all = around();
    let mail = greeting();
    all.extend(service("mail", "IPv4", mail.port(), &[&mail.ip().to_string()]));
    all.push(gateway(
        "gw",
        json!([
            listener("one", 5432, "TCP", None),
            listener("mail", 25, "TCP", None),
            listener("empty", 7000, "TCP", None),
            listener("web", 80, "HTTP", None),
            listener("gone", 7001, "TCP", None),
        ]),
    ));
    all.push(aged(gateway("other", json!([listener("one", 5433, "TCP", None)])), 9));
    let mut theirs = stream("TCPRoute", "theirs", None, &[], to(4));
    theirs["spec"]["parentRefs"][0]["name"] = "other".into();
    all.extend([
        aged(stream("TCPRoute", "young", Some("one"), &[], to(1)), 9),
        aged(stream("TCPRoute", "old", Some("one"), &[], to(2)), 1),
        aged(stream("TCPRoute", "mail", Some("mail"), &[], backend("mail")), 1),
        aged(stream("TCPRoute", "gone", Some("gone"), &[], backend("nothing")), 1),
        theirs,
    ]);
    on_each(&all, |site| {
        assert_eq!((plain(site, 5432), plain(site, 5433)), (Some(2), Some(4)));
        assert_eq!((plain(site, 7000), plain(site, 7001)), (None, None), "no route, no Service");
        assert_eq!(site.get("a.example", "/").status, 404);
        let begun = Instant::now();
        let mut line = String::new();
        BufReader::new(TcpStream::connect(site.address(25)).unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "220 mail.example\r\n");
        assert!(begun.elapsed() < Duration::from_secs(5), "nobody waits for the client's first word");
    });
}

#[test]
fn weights_share_connections_and_a_share_that_leads_nowhere_ends() {
    let mut all = around();
    all.push(gateway("gw", json!([listener("tcp", 5432, "TCP", None), passed("tls", 443, None)])));
    let weighted = |of: [u32; 3]| {
        json!([{"name": "s1", "port": 80, "weight": of[0]}, {"name": "s2", "port": 80, "weight": of[1]},
        {"name": "nothing", "port": 80, "weight": of[2]}])
    };
    all.push(stream("TCPRoute", "r", None, &[], weighted([6, 2, 2])));
    all.push(stream("TLSRoute", "r", None, &["a.example"], weighted([0, 0, 1])));
    on_each(&all, |site| {
        let mut counts = [0u32; 3];
        for _ in 0..300 {
            match plain(site, 5432) {
                Some(1) => counts[0] += 1,
                Some(2) => counts[1] += 1,
                None => counts[2] += 1,
                other => panic!("{other:?}"),
            }
        }
        // Five standard deviations.
        assert!(
            (138..=222).contains(&counts[0])
                && (26..=94).contains(&counts[1])
                && (26..=94).contains(&counts[2]),
            "{counts:?}"
        );
        assert_eq!(answerer(site, 443, "a.example"), None);
    });
}

#[test]
fn nobody_has_names_of_listeners_that_do_not_take_its_routes_or_services_that_are_not_granted() {
    let (_servers, mut services) = tls_servers();
    let mut all = around();
    services.extend([
        json!({"kind": "Service", "metadata": {"namespace": "blog", "name": "theirs"}, "spec": {"ports": [{"port": 80}]}}),
        json!({"kind": "EndpointSlice", "metadata": {"namespace": "blog", "name": "theirs", "labels": {"kubernetes.io/service-name": "theirs"}},
            "addressType": "IPv4", "ports": [{"port": echo::start()}], "endpoints": [{"addresses": ["127.0.1.9"]}]}),
    ]);
    all.extend(services);
    let mut guarded = passed("guarded", 443, Some("bank.example"));
    guarded["allowedRoutes"] = json!({"namespaces": {"from": "Same"}});
    let deep = format!("{}.example", ["a"; 120].join("."));
    let longest = format!("{0}.{0}.{0}.{1}.example", "l".repeat(63), "l".repeat(53));
    all.push(gateway("gw", json!([guarded, passed("any", 443, None), listener("tcp", 5432, "TCP", None)])));
    all.extend([
        stream("TLSRoute", "thief", None, &["bank.example", "*.example", &deep], backend("h1-tls")),
        stream("TCPRoute", "thief", None, &[], json!([{"name": "theirs", "namespace": "blog", "port": 80}])),
    ]);
    let mut long = stream("TLSRoute", &"r".repeat(253), None, &["long.test", &longest], backend("h1-tls"));
    long["metadata"]["namespace"] = "shop".into();
    all.push(long);
    on_each(&all, |site| {
        assert_eq!(answerer(site, 443, "bank.example"), None);
        assert_eq!(answerer(site, 443, "other.example").as_deref(), Some("h1-tls"));
        for name in ["long.test", &longest] {
            assert_eq!(answerer(site, 443, name).as_deref(), Some("h1-tls"), "{name}");
        }
        assert_eq!(plain(site, 5432), None);
    });
    let grant = json!({"from": [{"group": "gateway.networking.k8s.io", "kind": "TCPRoute", "namespace": "shop"}], "to": [{"group": "", "kind": "Service"}]});
    all.push(object("ReferenceGrant", "blog", "g", grant));
    on_each(&all, |site| assert_eq!(plain(site, 5432), Some(9)));
}

#[test]
fn a_greeting_in_two_records_opens_nothing_that_is_another_listeners() {
    let (_servers, services) = tls_servers();
    let mut all = around();
    all.extend(services);
    all.push(secret("edge", "cert", "a.example"));
    all.push(gateway(
        "gw",
        json!([passed("passed", 443, Some("p.example")), ended("rest", 443, "TLS", None)]),
    ));
    all.push(stream("TLSRoute", "passed", Some("passed"), &["p.example"], backend("h1-tls")));
    all.push(stream("TLSRoute", "rest", Some("rest"), &["*.example"], to(2)));
    let patient = |context: &mut Value| context["timeouts"] = json!({"request": "1s"});
    on_each_with(&all, [443], patient, |site| {
        // The name may be in the first record, which is as much as HAProxy looks at, or in the second one.
        for first in [10, 400] {
            let said = |name: &str| in_two_records(site.address(443), name, first).unwrap_or_default();
            let of_passed = said("p.example");
            assert!(!of_passed.contains("127.0.1."), "its servers alone open that name: {of_passed}");
            assert!(said("q.example").contains("127.0.1.2"), "{first}");
        }
        assert_eq!(answerer(site, 443, "p.example").as_deref(), Some("h1-tls"));
    });
}

/// What is answered over TLS for `name` to a client whose greeting comes in two records, the first of this length.
fn in_two_records(address: SocketAddr, name: &str, length: usize) -> Option<String> {
    let server = rustls::pki_types::ServerName::try_from(name.to_owned()).unwrap();
    let mut tls = rustls::ClientConnection::new(Arc::new(client_config().unwrap()), server).unwrap();
    let mut whole = Vec::new();
    tls.write_tls(&mut whole).unwrap();
    let (head, body) = whole.split_at(5);
    let (first, second) = body.split_at(length.min(body.len() - 1));
    let record =
        |part: &[u8]| [&head[..3], &u16::try_from(part.len()).unwrap().to_be_bytes()[..], part].concat();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(&[record(first), record(second)].concat()).unwrap();
    let mut stream = rustls::StreamOwned::new(tls, stream);
    let request = "GET /x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).ok()?;
    let mut line = String::new();
    let mut lines = BufReader::new(stream);
    while lines.read_line(&mut line).ok()? > 0 {
        if line.ends_with("127.0.1.2\n") {
            return Some(line);
        }
    }
    (!line.is_empty()).then_some(line)
}

#[test]
fn one_more_name_is_an_entry_of_a_map_and_a_backend() {
    let rendered = |routes: &[Value]| {
        let mut all = around();
        all.push(gateway("gw", json!([passed("tls", 443, None), listener("tcp", 5432, "TCP", None)])));
        all.extend_from_slice(routes);
        let bundle = rendered_for_with(HaproxySeries::V3_4, &all, |spec| {
            spec["libraries"] = json!(["base", "ssl", "gateway"])
        });
        bundle.unwrap().0.config.text.to_string()
    };
    let first = stream("TLSRoute", "first", None, &["a.example"], to(1));
    let same = stream("TLSRoute", "same", None, &["b.example"], to(1));
    let more = stream("TLSRoute", "more", None, &["c.example"], to(2));
    let before = rendered(std::slice::from_ref(&first));
    assert_eq!(before, rendered(&[first.clone(), same]));
    let after = rendered(&[first, more]);
    let news: Vec<&str> = after.lines().filter(|line| !before.contains(line)).map(str::trim).collect();
    assert_eq!(news.first(), Some(&"backend gateway:shop_s2_80_tcp from gateway_streams"));
    assert!(news.iter().skip(1).all(|line| line.starts_with("server ")), "{news:?}");
    for line in ["bind 127.0.0.1:20200 name 20200", "bind 127.0.0.1:20300 name 20300"] {
        assert!(before.lines().any(|one| one.trim() == line), "{before}");
    }
}
