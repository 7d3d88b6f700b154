//! Each recipe of docs/cookbook.md as it is written there, asked of each HAProxy.

use crate::{
    SERIES,
    around::Around,
    auth_server,
    client::{Answer, Way, ask},
    echo,
    site::{Scheme, Site},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{
    certificate::{Authority, for_host},
    chart::merged,
    cookbook,
    http::{client_config_of, client_config_with},
};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

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
    ("Let in only some networks", |site| assert_eq!(get(site, "/").status, 403)),
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
        assert_eq!(get(site, "/").service(), Some(1));
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
    ("Speak TLS to servers", |site| {
        // Its Secrets are not shown: nobody is asked.
        assert_eq!(get(site, "/").status, 503);
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
        assert_eq!(get_with(site, "/", "X-User: anna\r\n").service(), Some(1));
    }),
    ("Ask servers whether they work", |site| {
        assert_eq!(get(site, "/").service(), Some(1));
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
        // Who gets copies, and how many, is what the tests of mirrors see.
        for _ in 0..20 {
            assert_eq!(get(site, "/cart").service(), Some(1));
        }
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
        for (name, port, server) in [
            ("shop", 80, (1, echo)),
            ("shop-v2", 80, (2, echo)),
            ("shop-v3", 80, (3, echo)),
            ("oauth2-proxy", 4180, (1, asked)),
            ("authelia", 9091, (1, asked)),
        ] {
            let own = |one: &&Value| one["kind"] == "Service" && one["metadata"]["name"] == name;
            let [usual, mut slice] = service(name, port, server);
            match manifests.iter().find(own) {
                // That of the recipe itself says more, and its port may have a name.
                Some(of_recipe) => slice["ports"][0]["name"] = of_recipe["spec"]["ports"][0]["name"].clone(),
                None => manifests.push(usual),
            }
            manifests.push(slice);
        }
        for series in SERIES {
            eprintln!("{title}: {series:?}");
            let change = |spec: &mut Value| *spec = merged(spec.take(), &recipe.spec);
            see(&Site::start_with(series, &manifests, change));
        }
    }
}
