//! Copies of requests: who gets them, what of, and that nobody else notices.

use crate::{
    SERIES,
    around::service,
    gateway, on_each_haproxy_with,
    options::{annotations, users},
    site::{SCHEMES, Scheme, Site, rendered_alone, sentences},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::{Duration, Instant},
};

const HOST: &str = "a.example";
const PATIENCE: Duration = Duration::from_secs(20);

/// A request as the Service of copies got it, in lower case but for its body.
#[derive(Debug)]
struct Copy {
    head: String,
    body: String,
}

/// A Service that gets copies.
struct Mirror {
    port: u16,
    copies: Receiver<Copy>,
}

impl Mirror {
    fn start() -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let (port, (sender, copies)) = (listener.local_addr().unwrap().port(), mpsc::channel());
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let sender = sender.clone();
                thread::spawn(move || while converse(&connection, &sender).is_some() {});
            }
        });
        Self { port, copies }
    }

    fn next(&self) -> Copy {
        self.copies.recv_timeout(PATIENCE).expect("there is a copy")
    }

    /// The paths of copies until one of this path has come.
    fn until(&self, path: &str) -> Vec<String> {
        let mut paths = Vec::new();
        loop {
            let next = self.next();
            let asked = next.head.split(' ').nth(1).unwrap().to_owned();
            if asked == path {
                return paths;
            }
            paths.push(asked);
        }
    }
}

/// One copy; its path says how it is answered.
fn converse(connection: &TcpStream, sender: &Sender<Copy>) -> Option<()> {
    let mut reader = BufReader::new(connection);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let path = head.split(' ').nth(1)?.to_owned();
    let is_whole = head.contains("\ntransfer-encoding: chunked") && !path.contains("/slow");
    let body = if is_whole { chunks(&mut reader)? } else { String::new() };
    sender.send(Copy { head, body }).ok()?;
    let mut stream = connection;
    let answer = if path.contains("/hang") {
        std::io::copy(&mut reader, &mut std::io::sink()).ok()?;
        return None;
    } else if path.contains("/nonsense") {
        "no HTTP\r\n\r\n".to_owned()
    } else if path.contains("/large") {
        format!("HTTP/1.1 500 No\r\nContent-Length: 1000000\r\n\r\n{}", "a".repeat(1_000_000))
    } else {
        "HTTP/1.1 204 Thanks\r\nSet-Cookie: mirror=1\r\n\r\n".to_owned()
    };
    stream.write_all(answer.as_bytes()).ok()
}

fn chunks(reader: &mut impl BufRead) -> Option<String> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length = u64::from_str_radix(line.trim_end(), 16).ok()?;
        let mut chunk = Vec::new();
        reader.take(length + 2).read_to_end(&mut chunk).ok()?;
        if length == 0 {
            return String::from_utf8(body).ok();
        }
        body.extend_from_slice(chunk.get(..usize::try_from(length).ok()?)?);
    }
}

/// An Ingress of `HOST/NAME`, of service 1.
fn route(namespace: &str, name: &str, options: &[(&str, &str)]) -> Value {
    json!({"kind": "Ingress", "metadata": {"namespace": namespace, "name": name, "annotations": annotations(options)},
        "spec": {"rules": [{"host": HOST, "http": {"paths": [{"path": format!("/{name}"), "pathType": "Prefix",
            "backend": {"service": {"name": "s1", "port": {"number": 80}}}}]}}]}})
}

const COPIED: (&str, &str) = ("mirror-service", "next:80");

/// Runs Ingresses beside a Service that gets copies: `next`.
fn with(routes: &[Value], change: impl Fn(&mut Value), see: impl Fn(&Site, &Mirror)) {
    let mirror = Mirror::start();
    let mut all = routes.to_vec();
    all.extend(service("next", "IPv4", mirror.port, &["127.0.2.1"]));
    on_each_haproxy_with(&all, change, |site| see(site, &mirror));
}

fn ask(site: &Site, method: &str, path: &str, headers: &str, body: &str) -> Option<u8> {
    site.ask(Scheme::Http, method, HOST, path, headers, body).service()
}

#[test]
fn a_service_gets_copies_of_what_servers_get() {
    let options = [COPIED, ("rewrite-path", "/new"), ("request-headers", "X-From: shop"), ("protocol", "h1")];
    with(
        &[route("shop", "on", &options), route("shop", "off", &[])],
        |_| {},
        |site, mirror| {
            for scheme in SCHEMES {
                for (method, body) in [
                    ("GET", ""),
                    ("HEAD", ""),
                    ("POST", "{\"a\": 1}"),
                    ("PUT", "b"),
                    ("PATCH", "c"),
                    ("DELETE", ""),
                    ("OPTIONS", ""),
                ] {
                    let headers = "Cookie: a=b\r\nX-Haptic-Method: TRACE\r\nAccept-Encoding: gzip\r\n";
                    let answer = site.ask(scheme, method, HOST, "/on/x?y=z", headers, body);
                    assert_eq!((answer.status, answer.header("set-cookie")), (200, None), "{method}");
                    let copy = mirror.next();
                    let line = format!("{} /new/x?y=z http/1.1\r\n", method.to_lowercase());
                    assert!(copy.head.starts_with(&line), "{copy:?}");
                    assert_eq!(copy.body, body, "{copy:?}");
                    let scheme = if scheme == Scheme::Http { "http" } else { "https" };
                    for line in [
                        "\nhost: a.example\r\n",
                        "\ncookie: a=b\r\n",
                        "\nx-from: shop\r\n",
                        "\naccept-encoding: gzip\r\n",
                        "\nx-forwarded-for: 127.0.0.1\r\n",
                        &format!("\nx-forwarded-proto: {scheme}\r\n"),
                    ] {
                        assert!(copy.head.contains(line), "{line} {copy:?}");
                    }
                    for absent in ["x-haptic-service", "x-haptic-method", "x-haptic-known", "expect"] {
                        assert!(!copy.head.contains(absent), "{absent} {copy:?}");
                    }
                }
            }
            assert_eq!(ask(site, "GET", "/off", "", ""), Some(1));
            ask(site, "GET", "/on/last", "", "");
            assert!(mirror.until("/new/last").is_empty());
        },
    );
}

#[test]
fn what_is_too_long_or_may_never_end_is_not_copied_and_goes_its_way() {
    with(
        &[route("shop", "on", &[COPIED])],
        |_| {},
        |site, mirror| {
            let large = "a".repeat(12_001);
            assert_eq!(ask(site, "POST", "/on/large", "", &large), Some(1));
            in_chunks(site, "/on/many", &[&large]);
            let largest = "b".repeat(12_000);
            assert_eq!(ask(site, "POST", "/on/last", "", &largest), Some(1));
            let first = mirror.next();
            assert!(first.head.starts_with("post /on/last "), "{}", first.head);
            assert_eq!(first.body, largest);
        },
    );
}

/// A request whose body comes in these chunks, each in packets of its own.
fn in_chunks(site: &Site, path: &str, chunks: &[&str]) {
    let mut client = TcpStream::connect(site.address(Scheme::Http)).unwrap();
    client.set_nodelay(true).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    client.write_all(head.as_bytes()).unwrap();
    for chunk in chunks {
        client.write_all(format!("{:x}\r\n{chunk}\r\n", chunk.len()).as_bytes()).unwrap();
    }
    client.write_all(b"0\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn a_body_of_a_length_that_is_not_said_is_copied_as_a_whole() {
    with(
        &[route("shop", "on", &[COPIED])],
        |_| {},
        |site, mirror| {
            let largest = "b".repeat(11_999);
            for (chunks, body) in [
                (vec![], String::new()),
                (vec!["a", "bcd"], "abcd".to_owned()),
                (vec!["a", &largest], format!("a{largest}")),
            ] {
                in_chunks(site, "/on/chunks", &chunks);
                let copy = mirror.next();
                assert!(copy.head.starts_with("post /on/chunks "), "{}", copy.head);
                assert_eq!(copy.body, body);
            }
        },
    );
}

#[test]
fn no_client_has_its_request_taken_for_a_copy() {
    with(
        &[route("shop", "on", &[COPIED])],
        |_| {},
        |site, mirror| {
            for own in ["X-Haptic-Check: 1\r\n", "X_Haptic_Check: 1\r\nX-Haptic-Passes: 1\r\n"] {
                let answer = site.ask(Scheme::Http, "GET", HOST, "/on/own", own, "");
                assert_eq!(answer.service(), Some(1), "{own}");
                assert!(!answer.body.to_lowercase().replace('_', "-").contains("haptic-check"), "{answer:?}");
                assert!(mirror.until("/on/own").is_empty(), "{own}");
            }
            let answer = site.ask(Scheme::Http, "GET", HOST, "/on", "X-Haptic-Passes: 1, 1\r\n", "");
            assert_eq!((answer.status, answer.service()), (508, None), "nobody has what is not copied");
        },
    );
}

#[test]
fn a_copy_that_comes_back_to_haproxy_ends() {
    // As the address of HAProxy's own Service: no port that a setting names.
    let again = crate::ports::free_port();
    let change = |spec: &mut Value| {
        spec["templateSnippets"]["bind-20-again"] = json!({"template": format!("bind 127.0.0.1:{again}\n")});
    };
    let to_server = |name: &str, options: &[(&str, &str)]| {
        let mut route = route("shop", name, options);
        route["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = json!("next");
        route
    };
    let mut routes = vec![to_server("on", &[("mirror-service", "hand:80")]), to_server("last", &[])];
    routes.extend(service("hand", "IPv4", again, &["127.0.0.1"]));
    with(&routes, change, |site, server| {
        for _ in 0..5 {
            assert_eq!(site.get(Scheme::Http, HOST, "/on").status, 204);
        }
        assert_eq!(site.get(Scheme::Http, HOST, "/last").status, 204);
        assert_eq!(server.until("/last"), ["/on"; 5]);
    });
}

#[test]
fn a_body_that_does_not_come_holds_no_request_for_ever() {
    let mut slow = route("shop", "slow", &[("mirror-service", "s2:80")]);
    slow["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = json!("next");
    with(
        &[slow],
        |_| {},
        |site, server| {
            for (length, body) in [("Content-Length: 6", "abc"), ("Transfer-Encoding: chunked", "1\r\na\r\n")]
            {
                let mut client = TcpStream::connect(site.address(Scheme::Http)).unwrap();
                let head = format!("POST /slow HTTP/1.1\r\nHost: {HOST}\r\n{length}\r\n\r\n{body}");
                client.write_all(head.as_bytes()).unwrap();
                let asked = server.next().head;
                assert!(
                    asked.starts_with("post /slow "),
                    "the server has it without the rest: {length} {asked}"
                );
            }
        },
    );
}

#[test]
fn so_many_of_a_hundred_are_copied() {
    let some = [COPIED, ("mirror-percent", "25")];
    with(
        &[route("shop", "some", &some), route("shop", "all", &[COPIED])],
        |_| {},
        |site, mirror| {
            for _ in 0..400 {
                assert_eq!(ask(site, "GET", "/some", "", ""), Some(1));
            }
            ask(site, "GET", "/all", "", "");
            // Five standard deviations of 400 requests.
            let copies = mirror.until("/all").len();
            assert!((57..=143).contains(&copies), "{copies}");
        },
    );
}

#[test]
fn nobody_notices_a_service_of_copies_that_hangs_or_is_broken() {
    let few = |settings: &mut Value| {
        settings["templatingSettings"]["extraContext"]["mirrorConcurrency"] =
            json!({"namespace": 2, "all": 8});
    };
    let mut ours = vec![route("shop", "on", &[COPIED]), route("other", "fine", &[COPIED])];
    ours.extend(service("gone", "IPv4", 1, &["127.0.2.1"]));
    ours.push(route("shop", "gone", &[("mirror-service", "gone:80")]));
    let mirror = Mirror::start();
    ours.extend(service("next", "IPv4", mirror.port, &["127.0.2.1"]));
    for mut object in service("next", "IPv4", mirror.port, &["127.0.2.2"]) {
        object["metadata"]["namespace"] = json!("other");
        ours.push(object);
    }
    on_each_haproxy_with(&ours, few, |site| {
        for path in ["/on/hang", "/on/nonsense", "/on/large", "/gone/x"] {
            for _ in 0..20 {
                let begun = Instant::now();
                assert_eq!(ask(site, "POST", path, "", "abc"), Some(1), "{path}");
                assert!(begun.elapsed() < Duration::from_millis(1500), "{path} {:?}", begun.elapsed());
            }
        }
        // While those of one namespace hang, another one's are copied.
        let begun = Instant::now();
        ask(site, "GET", "/fine/x", "", "");
        let before = mirror.until("/fine/x");
        assert!(begun.elapsed() < PATIENCE);
        let hanging = before.iter().filter(|path| path.contains("/hang")).count();
        assert!((1..20).contains(&hanging), "{hanging}");
    });
}

#[test]
fn what_a_password_keeps_out_is_kept_from_copies_too() {
    let apr1 = json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "apr1", "labels": {"haproxy-haptic.org/use": "yes"}},
        "data": {"auth": BASE64.encode("anna:$apr1$salt$VEpBc9VHGUKwI9.yg13Iu0\n")}});
    let routes = [
        route("shop", "one", &[COPIED, ("auth-secret", "users")]),
        route("shop", "two", &[COPIED, ("auth-secret", "apr1")]),
        route("shop", "all", &[COPIED]),
        users(),
        apr1,
    ];
    with(
        &routes,
        |_| {},
        |site, mirror| {
            for path in ["/one", "/two"] {
                let with = |credentials: &str| {
                    let header = format!("Authorization: Basic {}\r\n", BASE64.encode(credentials));
                    site.ask(Scheme::Http, "GET", HOST, path, &header, "").status
                };
                assert_eq!([with("anna:wrong"), with("anna:secret")], [401, 200], "{path}");
                assert!(mirror.until(path).is_empty());
            }
            ask(site, "GET", "/all", "", "");
            assert!(mirror.until("/all").is_empty());
        },
    );
}

#[test]
fn a_service_that_is_not_there_is_told_and_gets_nothing() {
    let route = route("shop", "on", &[("mirror-service", "absent:80")]);
    let (_, warnings) =
        rendered_alone(std::slice::from_ref(&route)).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    let said = sentences(&warnings);
    assert!(
        said.contains(
            "mirror-service, default-service or error-service name Service absent, which is not there"
        ),
        "{said}"
    );
    on_each_haproxy_with(&[route], |_| {}, |site| assert_eq!(ask(site, "GET", "/on", "", ""), Some(1)));
    for elsewhere in ["evil/next:80", "next.evil:80", "http://next"] {
        let problems = rendered_alone(&[self::route("shop", "on", &[("mirror-service", elsewhere)])]);
        let said = sentences(&problems.expect_err(elsewhere));
        assert!(said.contains("it must be NAME:PORT of a Service in the same namespace"), "{said}");
    }
}

#[test]
fn a_rule_of_a_route_copies_requests_to_several_services_each_its_share() {
    let (one, other) = (Mirror::start(), Mirror::start());
    let to = |name: &str, share: Value| {
        let mut mirror = json!({"backendRef": {"name": name, "port": 80}});
        if let (Some(mirror), Value::Object(share)) = (mirror.as_object_mut(), share) {
            mirror.extend(share);
        }
        json!({"type": "RequestMirror", "requestMirror": mirror})
    };
    let rule = |path: &str, filters: Value| {
        json!({"matches": [{"path": {"type": "PathPrefix", "value": path}}], "filters": filters,
            "backendRefs": [{"name": "s1", "port": 80}]})
    };
    let rules = json!([
        rule("/both", json!([to("one", Value::Null), to("other", json!({"percent": 100}))])),
        rule("/none", json!([to("one", json!({"percent": 0})), to("missing", Value::Null)])),
        rule("/one", json!([to("one", json!({"fraction": {"numerator": 3, "denominator": 3}}))])),
    ]);
    let mut all = gateway::around();
    all.extend([
        gateway::gateway("gw", json!([gateway::listener("http", None)])),
        gateway::route("r", &[], rules),
    ]);
    all.extend(service("one", "IPv4", one.port, &["127.0.0.1"]));
    all.extend(service("other", "IPv4", other.port, &["127.0.0.1"]));
    for series in SERIES {
        let site = gateway::GatewaySite::start(series, &all);
        for path in ["/both/a", "/none", "/one", "/both/end"] {
            assert_eq!(site.get(HOST, path).service(), Some(1), "{path}");
        }
        // Copies overtake each other.
        let (mut paths, mut others) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            paths.push(one.next().head.split(' ').nth(1).unwrap().to_owned());
        }
        for _ in 0..2 {
            others.push(other.next().head.split(' ').nth(1).unwrap().to_owned());
        }
        paths.sort();
        others.sort();
        assert_eq!(
            (paths, others),
            (
                vec!["/both/a".into(), "/both/end".into(), "/one".into()],
                vec!["/both/a".to_owned(), "/both/end".into()]
            )
        );
    }
}
