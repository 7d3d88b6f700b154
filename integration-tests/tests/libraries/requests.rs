//! What reaches servers of what clients say of themselves, which requests are none, and whom the inside answers.

use crate::{
    around::service,
    client::{Answer, Way, ask},
    on_each_haproxy_with,
    options::{both, certificate},
    site::{Scheme, Site},
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
};

const HOST: &str = "a.example";

fn manifests(options: &[(&str, &str)]) -> Vec<Value> {
    let mut manifests = both(options);
    manifests.push(certificate());
    manifests
}

/// A configuration with these settings.
fn with(settings: Value) -> impl Fn(&mut Value) {
    move |spec| {
        let context = spec["templatingSettings"]["extraContext"].as_object_mut().unwrap();
        context.extend(settings.as_object().unwrap().clone());
    }
}

fn get(site: &Site, headers: &str) -> Answer {
    site.ask(Scheme::Http, "GET", HOST, "/on/x", headers, "")
}

/// The values of a header as the server got it.
fn values(answer: &Answer, name: &str) -> Vec<String> {
    let headers = answer.body.lines().filter_map(|line| line.split_once(": "));
    headers.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).collect()
}

const CLAIMS: [&str; 17] = [
    "Forwarded",
    "X-Forwarded-Port",
    "X-Forwarded-Prefix",
    "X-Forwarded-Server",
    "X-Forwarded-Ssl",
    "X-Original-URL",
    "X-Original-Host",
    "X-Rewrite-URL",
    "X-Client-IP",
    "X-Scheme",
    "Front-End-Https",
    "X_Forwarded_For",
    "X-Forwarded_Host",
    "X_REAL_IP",
    "X_Original_URL",
    "x_forwarded_proto",
    "X_Forwarded-Prefix",
];

#[test]
fn what_strangers_claim_of_themselves_does_not_reach_servers() {
    on_each_haproxy_with(
        &manifests(&[]),
        |_| {},
        |site| {
            let claims: String = CLAIMS.iter().map(|name| format!("{name}: claimed\r\n")).collect();
            let standard = "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b\r\nX-Real-IP: 1.1.1.1\r\n";
            let answer = get(site, &format!("{claims}{standard}Not-Forwarded: kept\r\nApi_Key: kept\r\n"));
            for name in CLAIMS {
                assert!(values(&answer, name).is_empty(), "{name}: {answer:?}");
            }
            assert_eq!(values(&answer, "x-forwarded-for"), ["127.0.0.1"]);
            assert_eq!(values(&answer, "x-forwarded-proto"), ["http"]);
            assert_eq!(values(&answer, "x-forwarded-host"), [HOST]);
            assert_eq!(values(&answer, "x-real-ip"), ["127.0.0.1"]);
            assert_eq!((answer.sent("not-forwarded"), answer.sent("api_key")), (Some("kept"), Some("kept")));
        },
    );
}

#[test]
fn a_trusted_proxy_is_believed_and_who_only_claims_an_address_is_not() {
    let trusted = with(json!({"trustedProxies": ["127.0.0.0/8", "10.0.0.0/8"], "sslRedirect": true}));
    on_each_haproxy_with(&manifests(&[]), trusted, |site| {
        let chain = "X-Forwarded-For: 203.0.113.9, 198.51.100.7\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 443\r\nX_Forwarded_For: 1.1.1.1\r\n";
        let answer = get(site, chain);
        assert_eq!(answer.status, 200, "no redirect: {answer:?}");
        assert_eq!(values(&answer, "x-forwarded-for"), ["203.0.113.9, 198.51.100.7"]);
        assert_eq!(values(&answer, "x-real-ip"), ["198.51.100.7"]);
        assert_eq!(values(&answer, "x-forwarded-proto"), ["https"]);
        assert_eq!(values(&answer, "x-forwarded-port"), ["443"]);
        assert!(values(&answer, "x_forwarded_for").is_empty());
        assert_eq!(get(site, "X-Forwarded-For: 203.0.113.9\r\n").status, 308);
        assert_eq!(
            get(site, "X-Forwarded-Proto: https\r\nX-Forwarded-Proto: http\r\n").status,
            308,
            "the last one counts"
        );
    });
    // The connection's own address is not a proxy's, whatever is claimed.
    let other = with(json!({"trustedProxies": ["10.0.0.0/8"]}));
    on_each_haproxy_with(&manifests(&[]), other, |site| {
        let answer =
            get(site, "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: https\r\nForwarded: for=10.0.0.1\r\n");
        assert_eq!(values(&answer, "x-forwarded-for"), ["127.0.0.1"]);
        assert_eq!(values(&answer, "x-forwarded-proto"), ["http"]);
        assert!(values(&answer, "forwarded").is_empty());
    });
}

#[test]
fn an_address_of_the_proxy_protocol_is_trusted_as_one_of_a_connection() {
    let settings = with(json!({"trustedProxies": ["10.0.0.0/8"], "proxyProtocol": true}));
    on_each_haproxy_with(&manifests(&[]), settings, |site| {
        let from = |address: &str, headers: &str| {
            let first = format!("PROXY TCP4 {address} 127.0.0.1 1000 80\r\n");
            let way = Way { first: &first, ..site.way(Scheme::Http, HOST) };
            ask(&way, &format!("GET /on HTTP/1.1\r\nHost: {HOST}\r\n{headers}"), "").unwrap()
        };
        let claims = "X-Forwarded-For: 203.0.113.9, 10.0.0.9\r\nX-Forwarded-Proto: https\r\n";
        let believed = from("10.0.0.1", claims);
        assert_eq!(values(&believed, "x-forwarded-for"), ["203.0.113.9, 10.0.0.9"]);
        assert_eq!(values(&believed, "x-forwarded-proto"), ["https"]);
        let stranger = from("192.0.2.1", claims);
        assert_eq!(values(&stranger, "x-forwarded-for"), ["192.0.2.1"]);
        assert_eq!(values(&stranger, "x-forwarded-proto"), ["http"]);
    });
}

#[test]
fn each_request_of_a_trusted_connection_has_a_client_of_its_own() {
    let trusted = with(json!({"trustedProxies": ["127.0.0.1"]}));
    on_each_haproxy_with(&manifests(&[("allow-from", "203.0.113.0/24")]), trusted, |site| {
        let mut stream = TcpStream::connect(site.address(Scheme::Http)).unwrap();
        let statuses = ["203.0.113.9", "198.51.100.7", "203.0.113.7"].map(|client| {
            let request = format!("GET /on HTTP/1.1\r\nHost: {HOST}\r\nX-Forwarded-For: {client}\r\n\r\n");
            if stream.write_all(request.as_bytes()).is_err() {
                return "closed".to_owned();
            }
            let mut text = String::new();
            let mut piece = [0; 4096];
            while !text.contains("\r\n\r\n") {
                match stream.read(&mut piece).unwrap() {
                    0 => break,
                    size => text.push_str(&String::from_utf8_lossy(&piece[..size])),
                }
            }
            if text.contains("connection: close") {
                stream = TcpStream::connect(site.address(Scheme::Http)).unwrap();
            }
            text.split(' ').nth(1).unwrap_or_default().to_owned()
        });
        assert_eq!(statuses, ["200", "403", "200"]);
    });
}

#[test]
fn a_request_number_is_random_and_says_nothing_of_the_pod() {
    on_each_haproxy_with(
        &manifests(&[]),
        |_| {},
        |site| {
            let numbers = [get(site, ""), get(site, "")].map(|answer| {
                let number = answer.header("x-request-id").unwrap().to_owned();
                assert_eq!(answer.sent("x-request-id"), Some(&*number));
                assert_eq!((number.len(), number.matches('-').count()), (36, 4), "a UUID: {number}");
                assert!(!number.to_lowercase().contains("7f000001"));
                number
            });
            assert_ne!(numbers[0], numbers[1]);
            assert_eq!(get(site, "X-Request-Id: mine\r\n").header("x-request-id"), Some("mine"));
        },
    );
}

#[test]
fn what_names_no_resource_of_a_host_reaches_no_server() {
    let mut all = manifests(&[]);
    let default = json!({"service": {"name": "s3", "port": {"number": 80}}});
    all.push(json!({"kind": "Ingress", "metadata": {"namespace": "shop", "name": "rest"}, "spec": {"defaultBackend": default}}));
    on_each_haproxy_with(
        &all,
        |_| {},
        |site| {
            let status = |line: &str| {
                let head = format!("{line} HTTP/1.1\r\nHost: {HOST}\r\n");
                ask(&site.way(Scheme::Http, HOST), &head, "").map_or(0, |answer| answer.status)
            };
            for line in [
                "OPTIONS *",
                "GET *",
                "GET on",
                "GET http://a.example?x",
                "GET a.example/on",
                "CONNECT /on",
                "GET http://b.example/on",
            ] {
                assert_eq!(status(line), 400, "{line}");
            }
            for hosts in ["b.example, a.example", "a.example,b.example"] {
                assert_eq!(site.get(Scheme::Http, hosts, "/on").status, 400, "{hosts}");
            }
            assert_eq!(status("TRACE /on"), 405);
            let connect = "CONNECT a.example:80 HTTP/1.1\r\nHost: a.example:80\r\n";
            assert_eq!(ask(&site.way(Scheme::Http, HOST), connect, "").unwrap().status, 405);
            for line in ["OPTIONS /on", "GET http://a.example/on", "GET /"] {
                assert_eq!(status(line), 200, "{line}");
            }
        },
    );
}

#[test]
fn a_client_names_no_headers_that_a_proxy_behind_would_take_away() {
    on_each_haproxy_with(
        &manifests(&[]),
        |_| {},
        |site| {
            for named in
                ["close, X-Real-IP", "X-Real-IP", "x-forwarded-for, TE", "close\r\nConnection: x-real-ip"]
            {
                let answer = get(site, &format!("Connection: {named}\r\n"));
                assert_eq!(answer.service(), Some(1), "{named}: {answer:?}");
                let connection = values(&answer, "connection").concat().to_lowercase();
                assert!(!connection.contains("x-"), "{named}: {answer:?}");
            }
            for named in ["Upgrade", "upgrade, X-Real-IP", "keep-alive, Upgrade"] {
                let mut stream = TcpStream::connect(site.address(Scheme::Http)).unwrap();
                let head = format!(
                    "GET /on HTTP/1.1\r\nHost: {HOST}\r\nConnection: {named}\r\nUpgrade: test\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).unwrap();
                let mut status = [0; 12];
                stream.read_exact(&mut status).unwrap();
                assert_eq!(&status, b"HTTP/1.1 101", "{named}");
            }
        },
    );
}

#[test]
fn no_service_leads_to_what_the_inside_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let health = listener.local_addr().unwrap().port();
    drop(listener);
    let mut all = manifests(&[]);
    all.extend(service("inside", "IPv4", health, &["127.0.0.1"]));
    all[0]["spec"]["rules"][0]["http"]["paths"][0] = json!({"path": "/", "pathType": "Prefix",
        "backend": {"service": {"name": "inside", "port": {"number": 80}}}});
    on_each_haproxy_with(&all, with(json!({"healthPort": health})), |site| {
        let inside = SocketAddr::from(([127, 0, 0, 1], health));
        for path in ["/stats", "/metrics"] {
            let outside = site.get(Scheme::Http, HOST, path);
            assert!(matches!(outside.status, 403 | 503) && !outside.body.contains("haproxy_"), "{outside:?}");
            let head = format!("GET {path} HTTP/1.1\r\nHost: inside\r\n");
            assert_eq!(ask(&Way::to(inside, None), &head, "").unwrap().status, 200, "{path} from the inside");
            let passed_on = format!("{head}X-Real-IP: 192.0.2.1\r\nX-Forwarded-Host: a\r\n");
            assert_eq!(ask(&Way::to(inside, None), &passed_on, "").unwrap().status, 403, "{path} passed on");
        }
        assert_eq!(
            ask(&Way::to(inside, None), "GET /healthz HTTP/1.1\r\nHost: inside\r\n", "").unwrap().status,
            200
        );
        let other = ask(&Way::to(inside, None), "GET / HTTP/1.1\r\nHost: inside\r\n", "").unwrap();
        assert_eq!((other.status, &*other.body), (404, "Here are /healthz, /metrics and /stats."));
    });
}
