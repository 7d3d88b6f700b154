//! Each recipe of docs/cookbook.md as it is written there, asked of each HAProxy.

use crate::{
    SERIES,
    client::Answer,
    echo,
    site::{Scheme, Site},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{chart::merged, cookbook};
use serde_json::{Value, json};

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
    ("Let in only some networks", |site| assert_eq!(get(site, "/").status, 403)),
    ("Limit requests", |site| {
        let statuses: Vec<u16> = (0..7).map(|_| get(site, "/").status).collect();
        assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
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
    ("Redirect www", |site| {
        let answer = site.get(Scheme::Http, "www.shop.example.com", "/cart?x=1");
        assert_eq!(
            (answer.status, answer.header("location")),
            (301, Some("https://shop.example.com/cart?x=1"))
        );
        assert_eq!(get(site, "/cart").status, 200);
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
    ("Keep a client at one server", |site| {
        let answer = get(site, "/");
        let cookie =
            answer.header("set-cookie").and_then(|cookie| cookie.split(';').next()).unwrap().to_owned();
        let again = get_with(site, "/", &format!("Cookie: {cookie}\r\n"));
        assert_eq!((again.status, again.header("set-cookie")), (200, None), "it is known");
    }),
    ("Rewrite the path", |site| {
        assert_eq!(get(site, "/api/users?x=1").request_line(), "GET /v2/users?x=1 HTTP/1.1");
    }),
    ("Compress answers", |site| {
        assert_eq!(get_with(site, "/", "Accept-Encoding: gzip\r\n").header("content-encoding"), Some("gzip"));
        assert_eq!(get(site, "/").header("content-encoding"), None);
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

/// The Service that all recipes lead to.
fn shop(port: u16) -> [Value; 2] {
    [
        json!({"kind": "Service", "metadata": {"namespace": "default", "name": "shop"},
            "spec": {"ports": [{"port": 80}]}}),
        json!({"kind": "EndpointSlice",
            "metadata": {"namespace": "default", "name": "shop-1", "labels": {"kubernetes.io/service-name": "shop"}},
            "addressType": "IPv4", "ports": [{"port": port}], "endpoints": [{"addresses": ["127.0.1.1"]}]}),
    ]
}

/// As the API server stores it.
fn stored(mut manifest: Value) -> Value {
    if let Some(Value::Object(texts)) =
        manifest.as_object_mut().and_then(|fields| fields.remove("stringData"))
    {
        let data = texts.into_iter().map(|(key, text)| (key, json!(BASE64.encode(text.as_str().unwrap()))));
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
        manifests.extend(shop(echo::start()));
        for series in SERIES {
            eprintln!("{title}: {series:?}");
            let change = |spec: &mut Value| *spec = merged(spec.take(), &recipe.spec);
            see(&Site::start_with(series, &manifests, change));
        }
    }
}
