//! Set-ups that many have, as they stand in manifests for other controllers: gRPC, WebSockets that stay with a server, large uploads,
//! certificates of clients, oauth2-proxy. Those that one request shows are cases in fixtures/families/*/setups.yaml.

use crate::{
    SERIES,
    around::{Around, service},
    auth_server,
    client::{Way, ask},
    options::certificate,
    site::{Scheme, Site},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use haptic_routes::families::Family;
use integration_tests::{certificate::Authority, http::client_config_of, program::HaproxySeries};
use serde_json::{Map, Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

pub(super) const HOST: &str = "a.example";
const GIGABYTE: usize = 1 << 30;

/// An Ingress of `HOST` with the family's annotations.
pub(super) fn ingress(family: Family, path: &str, service: &str, annotations: &[(&str, &str)]) -> Value {
    let prefix = family.prefixes().first().unwrap();
    let annotations: Map<String, Value> =
        annotations.iter().map(|(key, text)| (format!("{prefix}{key}"), json!(text))).collect();
    json!({
        "kind": "Ingress",
        "metadata": {"namespace": "shop", "name": format!("to-{service}"), "annotations": annotations},
        "spec": {"rules": [{"host": HOST, "http": {"paths": [{
            "path": path, "pathType": "Prefix", "backend": {"service": {"name": service, "port": {"number": 80}}},
        }]}}]},
    })
}

/// A site that reads the family's annotations.
pub(super) fn site(series: HaproxySeries, family: Family, manifests: &[Value]) -> Site {
    Site::start_with(series, manifests, |spec| {
        let libraries = spec["libraries"].as_array_mut().unwrap();
        libraries.push(json!(format!("annotations-{}", family.name())));
        spec["templatingSettings"]["extraContext"]["annotationFamilies"] = json!({ family.name(): {} });
    })
}

#[test]
fn servers_of_grpc_are_spoken_to_by_http2() {
    let authority = Authority::new("servers").unwrap();
    let servers = Around::servers(&authority, HOST);
    for (family, annotation) in [
        (Family::IngressNginx, ("backend-protocol", "GRPC")),
        (Family::HaproxyOrg, ("server-proto", "h2")),
        (Family::HaproxyIngress, ("backend-protocol", "grpc")),
    ] {
        let mut manifests = vec![ingress(family, "/", "h2", &[annotation])];
        manifests.extend(servers.services());
        for series in SERIES {
            let site = site(series, family, &manifests);
            let answer = site.get(Scheme::Http, HOST, "/on.Echo/Call");
            assert!(answer.status == 200 && answer.body.starts_with("h2 HTTP/2.0"), "{family:?}: {answer:?}");
        }
    }
}

/// What a client of WebSockets sends, and what a server makes of it (RFC 6455, 1.3).
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// Answers one request, with the address that it came to, and ends what it upgrades.
fn welcome(stream: &TcpStream) -> Option<()> {
    let (mut reader, mut head) = (BufReader::new(stream), String::new());
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let here = stream.local_addr().ok()?.ip();
    let first = match head.to_lowercase().contains("\nupgrade: websocket\r") {
        true => format!(
            "101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {ACCEPT}"
        ),
        false => "200 OK\r\nContent-Length: 0\r\nConnection: close".to_owned(),
    };
    let mut stream = stream;
    stream.write_all(format!("HTTP/1.1 {first}\r\nX-Here: {here}\r\n\r\n").as_bytes()).ok()
}

#[test]
fn a_websocket_goes_where_the_cookie_of_its_client_leads() {
    let port = serving(welcome);
    let cookie = [("affinity", "cookie")];
    for (family, of_ingress, of_service) in [
        (Family::IngressNginx, &cookie[..], json!({})),
        (Family::HaproxyOrg, &[], json!({"haproxy.org/cookie-persistence": "stick"})),
        (Family::HaproxyIngress, &cookie[..], json!({})),
    ] {
        let mut servers = service("ws", "IPv4", port, &["127.0.3.1", "127.0.3.2"]);
        servers[0]["metadata"]["annotations"] = of_service;
        let mut manifests = vec![ingress(family, "/", "ws", of_ingress)];
        manifests.extend(servers);
        for series in SERIES {
            let site = site(series, family, &manifests);
            let first = site.get(Scheme::Http, HOST, "/socket");
            let cookie = first.header("set-cookie").and_then(|all| all.split(';').next()).unwrap_or_default();
            let upgrade = format!(
                "Cookie: {cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n"
            );
            for _ in 0..4 {
                let socket = site.ask(Scheme::Http, "GET", HOST, "/socket", &upgrade, "");
                let (status, here) = (socket.status, socket.header("x-here"));
                assert_eq!((status, here), (101, first.header("x-here")), "{family:?} {cookie}: {socket:?}");
            }
        }
    }
}

/// Starts a server at all IPv4 addresses; its port. It ends with the process.
fn serving(answer: fn(&TcpStream) -> Option<()>) -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(&stream));
        }
    });
    port
}

/// Answers one request with the number of bytes that its body has.
fn count(stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::with_capacity(1 << 16, stream);
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let got = std::io::copy(&mut reader.take(length), &mut std::io::sink()).ok()?.to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", got.len());
    let mut stream = stream;
    stream.write_all((head + &got).as_bytes()).ok()
}

/// The whole answer to an upload that no memory ever has as a whole.
fn upload(site: &Site) -> String {
    let mut stream = TcpStream::connect(site.address(Scheme::Http)).unwrap();
    let head = format!(
        "PUT /up HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {GIGABYTE}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let piece = vec![b'x'; 1 << 16];
    for _ in 0..GIGABYTE / piece.len() {
        if stream.write_all(&piece).is_err() {
            break;
        }
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_gigabyte_comes_through_where_the_limit_of_bodies_lets_it() {
    let port = serving(count);
    let limit = [("proxy-body-size", "2g")];
    for (family, annotations) in
        [(Family::IngressNginx, &limit[..]), (Family::HaproxyOrg, &[]), (Family::HaproxyIngress, &limit[..])]
    {
        let mut manifests = vec![ingress(family, "/", "up", annotations)];
        manifests.extend(service("up", "IPv4", port, &["127.0.3.3"]));
        let answer = upload(&site(HaproxySeries::V3_4, family, &manifests));
        assert!(answer.starts_with("HTTP/1.1 200"), "{family:?}: {answer}");
        assert!(answer.ends_with(&format!("\r\n{GIGABYTE}")), "{family:?}: {answer}");
    }
}

#[test]
fn clients_with_a_good_certificate_come_in() {
    let authority = Authority::new("clients").unwrap();
    let known = Arc::new(client_config_of(&authority.sign_client("anna", &[]).unwrap()).unwrap());
    let secret = json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "clients"},
        "data": {"ca.crt": BASE64.encode(&authority.pem)}});
    let tls = [json!([{"hosts": [HOST], "secretName": "a-tls"}]), json!([{"hosts": [HOST]}]), json!([])];
    let families = [Family::IngressNginx, Family::HaproxyIngress];
    for (family, tls) in families.into_iter().flat_map(|family| tls.iter().map(move |tls| (family, tls))) {
        let mut guarded = ingress(family, "/", "s1", &[("auth-tls-secret", "shop/clients")]);
        guarded["spec"]["tls"] = tls.clone();
        let manifests = [guarded, secret.clone(), certificate()];
        for series in SERIES {
            let site = site(series, family, &manifests);
            let stranger = site.get(Scheme::Https, HOST, "/");
            assert!(stranger.status >= 400, "{family:?}: {stranger:?}");
            let way =
                Way { tls: Some((HOST, known.clone())), ..Way::to(site.address(Scheme::Https), Some(HOST)) };
            let answer = ask(&way, &format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n"), "").unwrap();
            assert_eq!(answer.service(), Some(1), "{family:?}: {answer:?}");
        }
    }
}

/// <https://kubernetes.github.io/ingress-nginx/examples/auth/oauth-external-auth/>
#[test]
fn oauth2_proxy_stands_before_an_app() {
    let (port, _) = auth_server::start();
    let family = Family::IngressNginx;
    let asked = [
        ("auth-url", "https://$host/oauth2/auth"),
        ("auth-signin", "https://$host/oauth2/start?rd=$escaped_request_uri"),
        ("auth-response-headers", "X-Auth-Request-User, X-Auth-Request-Email"),
    ];
    let mut manifests = vec![ingress(family, "/", "s1", &asked), ingress(family, "/oauth2", "sso", &[])];
    manifests.extend(service("sso", "IPv4", port, &["127.0.2.1"]));
    for series in SERIES {
        let site = site(series, family, &manifests);
        let stranger = site.get(Scheme::Http, HOST, "/x?y");
        let start = "https://a.example/oauth2/start?rd=%2Fx%3Fy";
        assert_eq!((stranger.status, stranger.header("location")), (302, Some(start)), "{stranger:?}");
        let known = site.ask(Scheme::Http, "GET", HOST, "/x", "Cookie: _oauth2_proxy=good\r\n", "");
        let user = known.sent("x-auth-request-user");
        assert_eq!((known.service(), user), (Some(1), Some("anna")), "{known:?}");
        assert_eq!(site.get(Scheme::Http, HOST, "/oauth2/start").status, 404, "its pages need no sign-in");
    }
}
