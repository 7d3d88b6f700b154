//! Each recipe of docs/cookbook.md as it is written there, asked of each HAProxy.

use crate::{
    SERIES,
    around::Around,
    auth_server,
    client::{Answer, Way, ask, converse},
    echo,
    patience::within_patience,
    site::{Scheme, Site},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{
    certificate::{Authority, Certificate, for_host},
    chart::merged,
    cookbook,
    http::{client_config_of, client_config_with},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

const HOST: &str = "shop.example.com";

/// What is to be seen of a recipe.
type See = fn(&Site);

/// The recipes by their titles.
const RECIPES: &[(&str, See)] = &[
    ("Ask for a password", |site| {
        let with = |credentials: &str| {
            get_with(site, "/", &format!("Authorization: Basic {}\r\n", BASE64.encode(credentials)))
        };
        assert_eq!(get(site, "/").header("www-authenticate"), Some("Basic realm=\"shop\""));
        assert_eq!(
            [with("anna:secret").status, with("anna:wrong").status, with("bob:secret").status],
            [200, 401, 401]
        );
    }),
    ("Users in entries of their own", |site| {
        let with = |credentials: &str| {
            get_with(site, "/", &format!("Authorization: Basic {}\r\n", BASE64.encode(credentials))).status
        };
        assert_eq!(["anna:secret", "bob:secret", "bob:wrong", "eve:secret"].map(with), [200, 200, 401, 401]);
    }),
    ("Ask oauth2-proxy who it is", |site| {
        let stranger = get(site, "/cart?x");
        let start = "https://shop.example.com/oauth2/start?rd=%2Fcart%3Fx";
        assert_eq!((stranger.status, stranger.header("location")), (302, Some(start)));
        let known = get_with(site, "/cart", "Cookie: _oauth2_proxy=good\r\nX-Auth-Request-User: root\r\n");
        assert_eq!((known.status, known.sent("x-auth-request-user")), (200, Some("anna")));
    }),
    ("Keep what an authentication service says", |site| {
        let known = get_with(site, "/cart", "Cookie: session=good\r\nRemote_User: root\r\n");
        assert_eq!((known.status, known.sent("remote-user")), (200, Some("anna")));
        assert!(!known.body.contains("root"), "{known:?}");
        assert_eq!(get(site, "/cart").status, 401);
    }),
    ("Ask an authentication service of another namespace", |site| {
        let known = get_with(site, "/cart", "Cookie: session=good\r\nRemote-User: root\r\n");
        assert_eq!((known.status, known.sent("remote-user")), (200, Some("anna")));
        assert_eq!(get(site, "/cart").status, 401);
    }),
    ("Let in clients by their certificate", |site| {
        let with = |name: &str, names: &[&str], path: &str| {
            let own = authority().sign_client(name, names).unwrap();
            let config = client_config_of(&own).unwrap();
            let way = Way { tls: Some((HOST, Arc::new(config))), ..site.way(Scheme::Https, HOST) };
            ask(&way, &format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\nX-Client_DN: root\r\n"), "").unwrap()
        };
        let anna = with("anna", &[], "/");
        assert_eq!((anna.service(), anna.sent("x-client-dn")), (Some(1), Some("O=Shop\\, Inc.,CN=anna")));
        assert_eq!((anna.sent("x-client-verify"), anna.sent("x-client_dn")), (Some("SUCCESS"), None));
        assert_eq!(with("bob", &["bob@staff.example.com"], "/").service(), Some(1));
        assert_eq!((with("eve", &[], "/").status, with("eve", &[], "/welcome").service()), (403, Some(2)));
        let stranger = site.get(Scheme::Https, HOST, "/");
        assert_eq!((stranger.status, stranger.header("location")), (303, Some("/welcome")));
        assert_eq!(site.get(Scheme::Https, HOST, "/welcome").service(), Some(2));
    }),
    ("Know clients by their certificate, without requiring one", |site| {
        let own = authority().sign_client("anna", &[]).unwrap();
        let config = Arc::new(client_config_of(&own).unwrap());
        let way = Way { tls: Some((HOST, config)), ..site.way(Scheme::Https, HOST) };
        let anna = ask(&way, &format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n"), "").unwrap();
        assert_eq!(anna.sent("x-client-dn"), Some("O=Shop\\, Inc.,CN=anna"));
        assert_eq!((anna.status, anna.sent("x-client-verify")), (200, Some("SUCCESS")));
        let stranger = site.get(Scheme::Https, HOST, "/");
        assert_eq!((stranger.status, stranger.sent("x-client-verify")), (200, Some("NONE")));
    }),
    ("Let in only some networks", |site| {
        let from = |address: &str| get_with(site, "/", &format!("X-Forwarded-For: {address}\r\n")).status;
        assert_eq!(["10.1.2.3", "192.168.7.7", "fd00::1"].map(from), [200; 3]);
        assert_eq!(["203.0.113.9", "2001:db8::1"].map(from), [403; 2]);
        assert_eq!(get(site, "/").status, 403);
    }),
    ("Limit requests", |site| {
        let statuses: Vec<u16> = (0..7).map(|_| get(site, "/").status).collect();
        assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
    }),
    ("Limit requests of a key, and let bursts in", |site| {
        for key in ["1", "2"] {
            let statuses = [0; 6].map(|_| get_with(site, "/", &format!("X-Api-Key: {key}\r\n")).status);
            assert_eq!(statuses, [200, 200, 200, 200, 429, 429]);
        }
    }),
    ("Limit requests at a time, and bytes a second", |site| {
        let begun = Instant::now();
        assert_eq!(get(site, "/").body.len(), LARGE);
        assert!(begun.elapsed() > Duration::from_secs(1), "{:?}", begun.elapsed());
        let held = never_answered(site, 10);
        // A request that came before some of them would take the place of one.
        within_patience(|| UNANSWERED.load(Ordering::Relaxed) == 10);
        within_patience(|| get(site, "/").status == 429);
        drop(held);
    }),
    ("Limit the size of bodies", |site| {
        let post = |bytes: usize| site.ask(Scheme::Http, "POST", HOST, "/", "", &"x".repeat(bytes)).status;
        assert_eq!([post(10 * 1024), post(10 * 1024 + 1)], [200, 413]);
    }),
    ("Redirect to HTTPS", |site| {
        let answer = get(site, "/cart?x=1");
        assert_eq!(
            (answer.status, answer.header("location")),
            (301, Some("https://shop.example.com/cart?x=1"))
        );
        assert_eq!(site.get(Scheme::Https, HOST, "/cart").status, 200);
    }),
    ("Redirect to HTTPS without a certificate here", |site| {
        let answer = get(site, "/cart?x=1");
        let expected = (307, Some("https://shop.example.com:8443/cart?x=1"));
        assert_eq!((answer.status, answer.header("location")), expected);
    }),
    ("HSTS, and preload", |site| {
        let told = |scheme| {
            let answer = site.get(scheme, HOST, "/");
            answer.header("strict-transport-security").map(str::to_owned)
        };
        let year = "max-age=31536000; includeSubDomains; preload".to_owned();
        assert_eq!((told(Scheme::Https), told(Scheme::Http)), (Some(year), None));
    }),
    ("Redirect www", |site| {
        let answer = site.get(Scheme::Http, "www.shop.example.com", "/cart?x=1");
        assert_eq!(
            (answer.status, answer.header("location")),
            (301, Some("http://shop.example.com/cart?x=1"))
        );
        assert_eq!(get(site, "/cart").status, 200);
    }),
    ("Redirect to another host", |site| {
        let answer = get(site, "/cart?x=1");
        assert_eq!(
            (answer.status, answer.header("location")),
            (308, Some("http://new.example.com/cart?x=1"))
        );
    }),
    ("Redirect the root of a host", |site| {
        assert_eq!(get(site, "/").header("location"), Some("/start"));
        assert_eq!(get(site, "/start").status, 200);
    }),
    ("A slash at the end of a path", |site| {
        let answer = get(site, "/cart/?x=1");
        let expected = (308, Some("http://shop.example.com/cart?x=1"));
        assert_eq!((answer.status, answer.header("location")), expected);
        assert_eq!(get(site, "/cart?x=1").service(), Some(1));
    }),
    ("Options of a path", |site| {
        assert_eq!(["/", "/upload", "/admin"].map(|path| get(site, path).status), [200, 200, 403]);
    }),
    ("Options of all Ingresses", |site| {
        let post = |bytes: usize| site.ask(Scheme::Http, "POST", HOST, "/", "", &"x".repeat(bytes)).status;
        assert_eq!([post(10 * 1024), post(10 * 1024 + 1)], [200, 413]);
        assert_eq!(get(site, "/").header("x-content-type-options"), Some("nosniff"));
        let answer = site.get(Scheme::Https, HOST, "/");
        assert_eq!(answer.header("strict-transport-security"), Some("max-age=31536000"));
    }),
    ("Options of one class", |site| {
        let post = |bytes: usize| site.ask(Scheme::Http, "POST", HOST, "/", "", &"x".repeat(bytes)).status;
        assert_eq!([post(10 * 1024), post(10 * 1024 + 1)], [200, 413]);
        let answer = site.get(Scheme::Https, HOST, "/");
        assert_eq!(answer.header("strict-transport-security"), Some("max-age=31536000"));
    }),
    ("Pages, a Service and a certificate of the operator", |site| {
        let closed = get(site, "/closed");
        assert_eq!((closed.status, closed.body.trim_end()), (503, "<h1>Back at noon</h1>"));
        assert_eq!(["/shop", "/else"].map(|path| get(site, path).service()), [Some(1), Some(2)]);
        assert_eq!(shown_for(site, HOST), Some(SHOWN.der.clone()));
    }),
    ("Answer requests of other origins (CORS)", |site| {
        let preflight = |origin: &str| {
            let headers = format!("Origin: {origin}\r\nAccess-Control-Request-Method: POST\r\n");
            site.ask(Scheme::Http, "OPTIONS", HOST, "/", &headers, "")
        };
        let answer = preflight("https://app.example.com");
        assert_eq!((answer.status, answer.header("access-control-allow-methods")), (204, Some("GET, POST")));
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example.com"));
        assert_eq!(preflight("https://evil.example").header("access-control-allow-origin"), None);
    }),
    ("Origins by a pattern, and private networks (CORS)", |site| {
        let preflight = |origin: &str| {
            let wanted =
                "Access-Control-Request-Method: GET\r\nAccess-Control-Request-Private-Network: true\r\n";
            site.ask(Scheme::Http, "OPTIONS", HOST, "/", &format!("Origin: {origin}\r\n{wanted}"), "")
        };
        for origin in ["https://a.example.com", "https://shop-7.example.net"] {
            let answer = preflight(origin);
            let told = ["origin", "private-network", "credentials"];
            let told = told.map(|what| answer.header(&format!("access-control-allow-{what}")));
            assert_eq!(told, [Some(origin), Some("true"), Some("true")], "{answer:?}");
            assert_eq!(answer.header("access-control-max-age"), Some("600"));
        }
        for origin in ["https://a.b.example.com", "https://shop-x.example.net", "http://a.example.com"] {
            assert_eq!(preflight(origin).header("access-control-allow-origin"), None, "{origin}");
        }
    }),
    ("Speak TLS to servers", |site| {
        // Who asks is known by the certificate that is shown.
        assert_eq!(get(site, "/").body, "mtls haproxy 127.0.0.1 shop.default.svc");
    }),
    ("Servers that say what they speak", |site| {
        let answer = get(site, "/");
        assert!(answer.body.starts_with("h2 HTTP/2.0 "), "{answer:?}");
    }),
    ("Tell servers the client's address", |site| {
        // What the answering server gets first is no request.
        let answer = get(site, "/");
        assert!(!answer.request_line().starts_with("GET "), "{answer:?}");
    }),
    ("Another host and other headers for servers", |site| {
        let answer = get_with(site, "/", "X-Debug: 1\r\n");
        assert_eq!((answer.sent("host"), answer.sent("x-gateway")), (Some("shop.internal"), Some("haptic")));
        assert_eq!(answer.sent("x-debug"), None);
    }),
    ("Tell servers more of a request", |site| {
        let answer = get_with(site, "/", "X-Request-Id: 7\r\nForwarded: for=1.2.3.4\r\n");
        let told = ["x-client", "x-trace", "forwarded"].map(|name| answer.sent(name));
        assert_eq!(told, [Some("127.0.0.1,"), Some("7"), None]);
        assert_eq!(answer.header("x-served-for"), Some(HOST));
        let answer = site.get(Scheme::Https, HOST, "/");
        assert_eq!(answer.sent("x-client"), Some("127.0.0.1, TLSv1.3"));
    }),
    ("Keep a client at one server", |site| {
        let answer = get(site, "/");
        let cookie =
            answer.header("set-cookie").and_then(|cookie| cookie.split(';').next()).unwrap().to_owned();
        let again = get_with(site, "/", &format!("Cookie: {cookie}\r\n"));
        assert_eq!((again.status, again.header("set-cookie")), (200, None), "it is known");
    }),
    ("Choose the server by a header", |site| {
        let servers: BTreeSet<Option<u8>> = (0..60)
            .map(|user| {
                let asked = [0; 3].map(|_| get_with(site, "/", &format!("X-User: {user}\r\n")).service());
                assert!(asked.iter().all(|server| *server == asked[0]), "{user}: {asked:?}");
                asked[0]
            })
            .collect();
        assert_eq!(servers, BTreeSet::from([Some(1), Some(4)]), "both have users");
    }),
    ("Ask servers whether they work", |site| {
        // One of two servers answers with errors alone: it gets no requests once it was asked.
        within_patience(|| (0..20).all(|_| get(site, "/").service() == Some(1)));
    }),
    ("Connect to the address of a Service", |site| {
        assert_eq!(get(site, "/").service(), Some(7));
    }),
    ("Requests that wait for a server", |site| {
        assert_eq!(get(site, "/").service(), Some(1));
        let held = never_answered(site, 2);
        within_patience(|| get(site, "/").status == 503);
        drop(held);
    }),
    ("Wait for bodies before servers get them", |site| {
        assert_eq!(site.ask(Scheme::Http, "POST", HOST, "/", "", "abc").service(), Some(1));
        let mut slow = TcpStream::connect(site.address(Scheme::Http)).unwrap();
        write!(slow, "POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 3\r\n\r\na").unwrap();
        let mut answer = [0; 13];
        slow.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 408 ");
    }),
    ("Rewrite the path", |site| {
        assert_eq!(get(site, "/api/users?x=1").request_line(), "GET /v2/users?x=1 HTTP/1.1");
    }),
    ("Paths that are regular expressions", |site| {
        let asked =
            ["/shop/cart?x=1", "/shop", "/v2/items/7"].map(|path| get(site, path).request_line().to_owned());
        assert_eq!(asked, ["GET /cart?x=1 HTTP/1.1", "GET / HTTP/1.1", "GET /items/v2/7 HTTP/1.1"]);
        assert_eq!(["/shopping", "/v2/items/x"].map(|path| get(site, path).status), [404, 404]);
    }),
    ("Paths whatever their case", |site| {
        assert_eq!(get(site, "/SHOP/Cart").request_line(), "GET /SHOP/Cart HTTP/1.1");
        assert_eq!(get(site, "/shop/7").status, 404);
    }),
    ("A canary", |site| {
        let said =
            ["X-Canary: always\r\n", "X-Canary: never\r\n"].map(|said| get_with(site, "/", said).service());
        assert_eq!(said, [Some(2), Some(1)]);
        let first = get(site, "/");
        let cookie =
            first.header("set-cookie").and_then(|cookie| cookie.split(';').next()).unwrap().to_owned();
        let again = get_with(site, "/", &format!("Cookie: {cookie}\r\n"));
        assert_eq!((again.service(), again.header("set-cookie")), (first.service(), None));
    }),
    ("A canary for some, by a header or a cookie", |site| {
        let said = ["X-Group: beta-7\r\n", "X-Group: stable\r\n", "Cookie: try=always\r\n", ""];
        let said = said.map(|said| get_with(site, "/", said).service());
        assert_eq!(said, [Some(2), Some(1), Some(2), Some(1)]);
    }),
    ("Weights of several Services", |site| {
        let services = (0..300).filter_map(|_| get(site, "/").service());
        let shares = services.fold([0; 4], |mut shares, service| {
            shares[usize::from(service)] += 1;
            shares
        });
        assert!(shares[1] > 150 && shares[2] > 20 && shares[3] > 0, "{shares:?}");
    }),
    ("Copies of requests for a new version", |site| {
        let copies = || COPIED.1.with("get /cart ").len();
        let before = copies();
        for _ in 0..300 {
            assert_eq!(get(site, "/cart").service(), Some(1));
        }
        within_patience(|| copies() > before);
        assert!(copies() - before < 150, "{} of 300", copies() - before);
    }),
    ("Route by method, header or query", |site| {
        let ask = |method: &str, path: &str, header: &str| {
            site.ask(Scheme::Http, method, HOST, path, header, "").service()
        };
        assert_eq!(ask("GET", "/x?beta=yes", "X-Version: 2\r\n"), Some(2));
        for (method, path, header) in [
            ("GET", "/x?beta=yes", ""),
            ("POST", "/x?beta=yes", "X-Version: 2\r\n"),
            ("GET", "/x?beta=no", "X-Version: 2\r\n"),
        ] {
            assert_eq!(ask(method, path, header), Some(1), "{method} {path} {header}");
        }
    }),
    ("TLS of one host", |site| {
        assert_eq!(site.get(Scheme::Https, HOST, "/").service(), Some(1));
        let old = vec![rustls::crypto::ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256];
        let config = Arc::new(client_config_with(old).unwrap());
        let way = Way { tls: Some((HOST, config)), ..site.way(Scheme::Https, HOST) };
        assert!(ask(&way, &format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n"), "").is_err());
    }),
    ("A certificate in a Secret of any type", |site| {
        assert_eq!(shown_for(site, HOST), Some(SHOWN.der.clone()));
    }),
    ("A certificate for hosts without one", |site| {
        assert_eq!(shown_for(site, "unknown.example"), Some(SHOWN.der.clone()));
    }),
    ("No TLS for unknown names", |site| {
        assert_eq!(site.get(Scheme::Https, HOST, "/").status, 200);
        let head = "GET / HTTP/1.1\r\nHost: unknown.example\r\n";
        assert!(ask(&site.way(Scheme::Https, "unknown.example"), head, "").is_err());
    }),
    ("Pass TLS through", |site| {
        // The echo behind it speaks no TLS: what it is sent is the greeting itself.
        assert!(
            ask(&site.way(Scheme::Https, HOST), &format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n"), "").is_err()
        );
        assert_eq!(site.get(Scheme::Https, "other.example.com", "/").status, 404);
        assert_eq!(get(site, "/").service(), Some(1));
    }),
    ("TCP services", |_| {
        let way = Way::to(([127, 0, 0, 1], 5432).into(), None);
        let answer = ask(&way, "GET / HTTP/1.1\r\nHost: any.example\r\n", "").unwrap();
        assert_eq!(answer.service(), Some(1));
    }),
    ("Compress answers", |site| {
        assert_eq!(get_with(site, "/", "Accept-Encoding: gzip\r\n").header("content-encoding"), Some("gzip"));
        assert_eq!(get(site, "/").header("content-encoding"), None);
    }),
    ("Pages for errors, and maintenance", |site| {
        let answer = get(site, "/");
        assert_eq!((answer.status, answer.body.trim_end()), (503, "<h1>Back at noon</h1>"));
        assert_eq!(answer.header("content-type"), Some("text/html"));
    }),
    ("Another Service while none is ready", |site| {
        assert_eq!(get(site, "/").service(), Some(2));
    }),
    ("Answers of another Service for errors", |site| {
        // The server answers each path so once, of all sites.
        let here = site.address(Scheme::Http).port();
        let answer = get(site, &format!("/first-500/{here}"));
        assert_eq!((answer.service(), answer.sent("x-code")), (Some(2), Some("500")));
        assert_eq!(get(site, &format!("/first-404/{here}")).status, 404);
        assert_eq!(get(site, "/").service(), Some(1));
    }),
    ("A maintenance page", |site| {
        let answer = get(site, "/");
        assert_eq!((answer.status, &*answer.body), (503, "<h1>Back at noon</h1>"));
        assert_eq!(
            (answer.header("retry-after"), answer.header("content-type")),
            (Some("600"), Some("text/html"))
        );
        assert_eq!(site.get(Scheme::Http, "other.example.com", "/").status, 404);
    }),
    ("A page for 404", |site| {
        let answer = site.get(Scheme::Http, "other.example.com", "/");
        assert_eq!((answer.status, answer.header("content-type")), (404, Some("text/html")));
        assert!(answer.body.contains("<h1>Nothing here</h1>"), "{answer:?}");
    }),
    ("A log of JSON, without some requests", |site| {
        assert_eq!(get_with(site, "/healthz", "X-Request-Id: untold\r\n").status, 200);
        assert_eq!(get_with(site, "/cart", "X-Request-Id: told\r\n").status, 200);
        let lines = site.logs("\"id\":\"told\"");
        let line = lines.lines().find(|line| line.contains("\"id\":\"told\"")).unwrap();
        let told: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&told["path"], &told["status"]), (&json!("/cart"), &json!(200)));
        assert!(!lines.contains("untold"), "{lines}");
    }),
    ("Another log format", |site| {
        get(site, "/logged?x=1");
        site.logs("127.0.0.1 shop.example.com GET /logged 200 ");
    }),
    ("HTTP/3", |site| {
        let client = Around::over_http3(authority(), site.address(Scheme::Https), HOST);
        let way = Way::to(client.over_h2(), None);
        let answer = ask(&way, &format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n"), "").unwrap();
        assert_eq!((answer.service(), answer.header("alt-svc")), (Some(1), Some("h3=\":443\"; ma=3600")));
    }),
    ("Behind a load balancer", |site| {
        let answer = get_with(site, "/", "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n");
        let told = ["x-real-ip", "x-forwarded-proto"].map(|name| answer.sent(name));
        assert_eq!(told, [Some("203.0.113.9"), Some("https")]);
    }),
    ("An annotation of your own", |site| {
        assert_eq!(get(site, "/").header("x-robots-tag"), Some("noindex, nofollow"));
    }),
];

fn get(site: &Site, path: &str) -> Answer {
    get_with(site, path, "")
}

fn get_with(site: &Site, path: &str, headers: &str) -> Answer {
    site.ask(Scheme::Http, "GET", HOST, path, headers, "")
}

/// Requests that are never answered, as long as the connections are there.
fn never_answered(site: &Site, number: usize) -> Vec<TcpStream> {
    let one = || {
        let mut stream = TcpStream::connect(site.address(Scheme::Http)).unwrap();
        write!(stream, "GET /never HTTP/1.1\r\nHost: {HOST}\r\n\r\n").unwrap();
        stream
    };
    (0..number).map(|_| one()).collect()
}

/// The certificate that is shown for a host, in DER.
fn shown_for(site: &Site, host: &str) -> Option<Vec<u8>> {
    let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n");
    converse(&site.way(Scheme::Https, host), &head, "").unwrap().1
}

/// Who gets copies of requests.
static COPIED: LazyLock<(u16, auth_server::Questions)> = LazyLock::new(auth_server::start);

/// A certificate that a recipe has shown.
static SHOWN: LazyLock<Certificate> = LazyLock::new(|| for_host(HOST).unwrap());

/// A server that answers everything with an error; its port. It ends with the process.
fn sick_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let answer = b"HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            drop(connection.read(&mut [0; 4096]).and_then(|_| connection.write_all(answer)));
        }
    });
    port
}

/// Bytes of a large answer.
const LARGE: usize = 1_500_000;

/// Requests that wait for an answer of the server below.
static UNANSWERED: AtomicUsize = AtomicUsize::new(0);

/// A server of large answers, and of none to `/never`; its port. It ends with the process.
fn server_of_large_answers() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = |mut connection: TcpStream| -> std::io::Result<()> {
        let mut head = [0; 4096];
        let length = connection.read(&mut head)?;
        if String::from_utf8_lossy(&head[..length]).contains("/never") {
            UNANSWERED.fetch_add(1, Ordering::Relaxed);
            let ended = std::io::copy(&mut connection, &mut std::io::sink());
            UNANSWERED.fetch_sub(1, Ordering::Relaxed);
            return ended.map(drop);
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\nConnection: close\r\n\r\n");
        connection.write_all(head.as_bytes())?;
        connection.write_all(&vec![b'a'; LARGE])
    };
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || answer(connection));
        }
    });
    port
}

/// More servers of the Service of most recipes.
fn more_servers(port: u16, address: &str) -> Value {
    let labels = json!({"kubernetes.io/service-name": "shop"});
    json!({"kind": "EndpointSlice", "metadata": {"namespace": "default", "name": "shop-2", "labels": labels},
        "addressType": "IPv4", "ports": [{"port": port}], "endpoints": [{"addresses": [address]}]})
}

fn pair(own: &Certificate, [namespace, name]: [&str; 2], labels: &Value) -> Value {
    json!({"kind": "Secret", "metadata": {"namespace": namespace, "name": name, "labels": labels},
        "data": {"tls.crt": BASE64.encode(&own.pem), "tls.key": BASE64.encode(&own.key)}})
}

/// What a recipe takes for granted.
fn objects_beside(title: &str, echo: u16) -> Vec<Value> {
    match title {
        "Speak TLS to servers" => {
            let own = authority().sign_client("haproxy", &[]).unwrap();
            vec![pair(&own, ["default", "haproxy-tls"], &json!({}))]
        }
        "A certificate in a Secret of any type" => {
            let labels = json!({"haproxy-haptic.org/use": "certificate"});
            vec![pair(&SHOWN, ["default", "shop-pair"], &labels)]
        }
        "A certificate for hosts without one" | "Pages, a Service and a certificate of the operator" => {
            vec![pair(&SHOWN, ["edge", "wildcard-tls"], &json!({}))]
        }
        "Choose the server by a header" => vec![more_servers(echo, "127.0.1.4")],
        "Ask servers whether they work" => vec![more_servers(sick_server(), "127.0.0.1")],
        "Connect to the address of a Service" => {
            let [mut own, _] = service("shop", 80, (7, echo));
            own["spec"] = json!({"clusterIP": "127.0.1.7", "ports": [{"name": "http", "port": echo}]});
            vec![own]
        }
        _ => Vec::new(),
    }
}

/// Servers of its own that the Service of a recipe has, and which of them.
fn servers_of(title: &str) -> Option<(Around, usize)> {
    match title {
        "Speak TLS to servers" => Some((Around::asking(authority(), "shop.default.svc"), 0)),
        "Servers that say what they speak" => Some((Around::servers(authority(), HOST), 2)),
        _ => None,
    }
}

/// Where the Service of a recipe has its servers.
fn lead(title: &str, own: Option<&(Around, usize)>, slice: &mut Value) {
    if let Some((servers, number)) = own {
        // Each is a Service and an EndpointSlice.
        slice["ports"][0]["port"] = servers.services()[number * 2 + 1]["ports"][0]["port"].clone();
        slice["endpoints"] = json!([{"addresses": ["127.0.0.1"]}]);
    }
    if title == "Limit requests at a time, and bytes a second" {
        slice["ports"][0]["port"] = json!(server_of_large_answers());
        slice["endpoints"] = json!([{"addresses": ["127.0.0.1"]}]);
    }
    if title == "Another Service while none is ready" {
        slice["endpoints"] = json!([]);
    }
}

/// The configuration with what a recipe adds, and where the tests have their servers.
fn change(title: &str, of_recipe: &Value, spec: &mut Value) {
    let here = spec["allow"]["destinations"].as_array().cloned().unwrap_or_default();
    *spec = merged(spec.take(), of_recipe);
    let allowed = spec["allow"]["destinations"].as_array_mut().unwrap();
    allowed.extend(here);
    let mut known = BTreeSet::new();
    allowed.retain(|network| known.insert(network.to_string()));
    if title == "Let in only some networks" {
        spec["templatingSettings"]["extraContext"]["trustedProxies"] = json!(["127.0.0.0/8"]);
    }
}

/// A Service that recipes lead to, with the server 127.0.1.`number`.
fn service(name: &str, port: u16, (number, server): (u8, u16)) -> [Value; 2] {
    [
        json!({"kind": "Service", "metadata": {"namespace": "default", "name": name},
            "spec": {"ports": [{"port": port}]}}),
        json!({"kind": "EndpointSlice",
            "metadata": {"namespace": "default", "name": format!("{name}-1"), "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4", "ports": [{"port": server}], "endpoints": [{"addresses": [format!("127.0.1.{number}")]}]}),
    ]
}

/// Who signs certificates of clients.
fn authority() -> &'static Authority {
    static OWN: LazyLock<Authority> = LazyLock::new(|| Authority::new("clients").unwrap());
    &OWN
}

/// The certificate of the host.
fn own_certificate() -> Value {
    let own = for_host(HOST).unwrap();
    json!({"kind": "Secret", "metadata": {"namespace": "default", "name": "shop-tls"},
        "data": {"tls.crt": BASE64.encode(own.pem), "tls.key": BASE64.encode(own.key)}})
}

/// As the API server stores it, with a CA of the test's own.
fn stored(mut manifest: Value) -> Value {
    if let Some(Value::Object(texts)) =
        manifest.as_object_mut().and_then(|fields| fields.remove("stringData"))
    {
        let text_of = |key: &str, text: &Value| {
            if key == "ca.crt" { authority().pem.clone() } else { text.as_str().unwrap().to_owned() }
        };
        let data = texts.into_iter().map(|(key, text)| {
            let text = text_of(&key, &text);
            (key, json!(BASE64.encode(text)))
        });
        manifest["data"] = Value::Object(data.collect());
    }
    manifest
}

#[test]
fn every_recipe_does_what_it_says() {
    let recipes = cookbook::recipes();
    let titles: Vec<&str> = recipes.iter().map(|recipe| recipe.title.as_str()).collect();
    assert_eq!(titles, RECIPES.iter().map(|(title, _)| *title).collect::<Vec<_>>());
    for (recipe, (title, see)) in recipes.into_iter().zip(RECIPES) {
        let mut manifests: Vec<Value> = recipe.manifests.into_iter().map(stored).collect();
        manifests.push(own_certificate());
        let ((asked, _), echo) = (auth_server::start(), echo::start());
        manifests.extend(objects_beside(title, echo));
        let own_servers = servers_of(title);
        let second = if title.starts_with("Copies of requests") { COPIED.0 } else { echo };
        for (name, port, server) in [
            ("shop", 80, (1, echo)),
            ("shop-v2", 80, (2, second)),
            ("shop-v3", 80, (3, echo)),
            ("oauth2-proxy", 4180, (1, asked)),
            ("authelia", 9091, (1, asked)),
        ] {
            let own = |one: &&Value| one["kind"] == "Service" && one["metadata"]["name"] == name;
            let [usual, mut slice] = service(name, port, server);
            match manifests.iter().find(own) {
                // That of the recipe itself says more, and its port may have a name.
                Some(of_recipe) => {
                    slice["ports"][0]["name"] = of_recipe["spec"]["ports"][0]["name"].clone();
                    slice["metadata"]["namespace"] = of_recipe["metadata"]["namespace"].clone();
                }
                None => manifests.push(usual),
            }
            if name == "shop" {
                lead(title, own_servers.as_ref(), &mut slice);
            }
            manifests.push(slice);
        }
        for series in SERIES {
            eprintln!("{title}: {series:?}");
            let change = |spec: &mut Value| change(title, &recipe.spec, spec);
            see(&Site::start_with(series, &manifests, change));
        }
    }
}
