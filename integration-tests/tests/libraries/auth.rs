//! External authentication: who is asked, what is told to whom, and that whatever goes wrong lets nobody through.

use crate::{
    SERIES,
    around::service,
    auth_server::{self, Questions},
    client::Answer,
    on_each_haproxy_with,
    options::{annotations, users},
    site::{SCHEMES, Scheme, Site, rendered_for, version_of},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const HOST: &str = "a.example";

/// An Ingress of `HOST/NAME` with these options, of service 1.
fn route(name: &str, options: &[(&str, &str)]) -> Value {
    leading(name, "s1", options)
}

fn leading(name: &str, service: &str, options: &[(&str, &str)]) -> Value {
    json!({"kind": "Ingress", "metadata": {"namespace": "shop", "name": name, "annotations": annotations(options)},
        "spec": {"rules": [{"host": HOST, "http": {"paths": [{"path": format!("/{name}"), "pathType": "Prefix",
            "backend": {"service": {"name": service, "port": {"number": 80}}}}]}}]}})
}

/// Runs `routes` beside somebody who is asked: the Service sso.
fn asking(routes: &[Value], ask: impl Fn(&Site, &Questions)) {
    let (port, questions) = auth_server::start();
    let mut all = routes.to_vec();
    all.push(leading("off", "s2", &[]));
    all.extend(service("sso", "IPv4", port, &["127.0.2.1"]));
    on_each_haproxy_with(
        &all,
        |_| {},
        |site| {
            ask(site, &questions);
            assert_eq!(site.get(Scheme::Http, HOST, "/off/x").service(), Some(2), "others notice nothing");
        },
    );
}

fn get(site: &Site, path: &str, headers: &str) -> Answer {
    site.ask(Scheme::Http, "GET", HOST, path, headers, "")
}

#[test]
fn whoever_is_asked_lets_a_request_pass_or_not() {
    let asked =
        [("auth-url", "http://sso/by-cookie?x=1"), ("auth-response-headers", "X-Auth-User, X-Auth-Groups")];
    asking(&[route("on", &asked)], |site, questions| {
        for scheme in SCHEMES {
            let stranger = site.ask(scheme, "POST", HOST, "/on/a?b=c", "", "body");
            assert_eq!((stranger.status, &*stranger.body), (401, "sign in"));
            assert_eq!(stranger.header("www-authenticate"), Some("Session"));
            let known = site.ask(scheme, "POST", HOST, "/on/a?b=c", "Cookie: session=good\r\n", "body");
            assert_eq!(known.service(), Some(1), "{known:?}");
            assert_eq!(known.request_line(), "POST /on/a?b=c HTTP/1.1");
            assert_eq!(known.sent("x-auth-user"), Some("anna"));
            assert!(
                known.body.contains("x-auth-groups: staff") && known.body.contains("x-auth-groups: admins")
            );
            assert_eq!((known.sent("x-seen"), known.header("x-auth-user")), (None, None), "{known:?}");
            let scheme = if scheme == Scheme::Http { "http" } else { "https" };
            let question = questions.with(&format!("x-forwarded-proto: {scheme}\r")).pop().unwrap();
            for line in [
                "get /by-cookie?x=1 http/1.1\r\n".to_owned(),
                "\nhost: sso\r\n".to_owned(),
                "\nx-original-method: post\r\n".to_owned(),
                "\nx-original-uri: /on/a?b=c\r\n".to_owned(),
                format!("\nx-original-url: {scheme}://a.example/on/a?b=c\r\n"),
                "\nx-forwarded-for: 127.0.0.1\r\n".to_owned(),
                "\nx-forwarded-host: a.example\r\n".to_owned(),
                "\ncookie: session=good\r\n".to_owned(),
            ] {
                assert!(question.contains(&line), "{line} {question}");
            }
            for absent in ["content-length", "x-haptic-service", "x-haptic-namespace", "x-haptic-timeout"] {
                assert!(!question.contains(absent), "{absent} {question}");
            }
        }
    });
}

/// What lets nobody through, and the status that the client gets.
const FAULTS: [(&str, u16); 32] = [
    ("status/300", 300),
    ("status/302", 302),
    ("status/304", 503),
    ("status/400", 400),
    ("status/403", 403),
    ("status/404", 404),
    ("status/407", 503),
    ("status/429", 429),
    ("status/500", 503),
    ("status/502", 503),
    ("status/599", 503),
    ("status/600", 503),
    ("status/999", 503),
    ("marked", 503),
    ("switch", 503),
    ("informed", 503),
    ("never", 503),
    ("close", 503),
    ("nonsense", 503),
    ("ftp", 503),
    ("half", 503),
    ("no-status", 503),
    ("big-status", 503),
    ("truncated", 503),
    ("cut-chunk", 503),
    ("bad-chunk", 503),
    ("two-lengths", 503),
    ("bad-length", 503),
    ("large-head", 503),
    ("large-body", 503),
    ("endless", 503),
    ("many-heads", 503),
];

fn name_of(fault: &str) -> String {
    fault.replace('/', "-")
}

/// A route for each of these answers, and `/fine`.
fn routes_of<'f>(answers: impl IntoIterator<Item = &'f str>) -> Vec<Value> {
    let one = |answer: &str| {
        let url = format!("http://sso/{answer}");
        let options =
            [("auth-url", &*url), ("auth-timeout", "500ms"), ("auth-response-headers", "X-Auth-User")];
        route(&name_of(answer), &options)
    };
    answers.into_iter().map(one).chain([route("fine", &[("auth-url", "http://sso/ok")])]).collect()
}

#[test]
fn whatever_goes_wrong_lets_nobody_through() {
    asking(&routes_of(FAULTS.map(|(fault, _)| fault)), |site, questions| {
        for (fault, status) in FAULTS {
            let before = questions.with(&format!(" /{fault} ")).len();
            let answer = get(site, &format!("/{}", name_of(fault)), "");
            assert_eq!((answer.status, answer.service()), (status, None), "{fault}: {answer:?}");
            assert_eq!(answer.header("x-inside"), None, "{fault}");
            assert!(questions.with(&format!(" /{fault} ")).len() > before, "{fault}: it was asked");
            assert_eq!(get(site, "/fine", "").service(), Some(1), "after {fault}");
        }
    });
}

#[test]
fn what_goes_wrong_is_an_error_of_the_server_where_that_is_asked_for() {
    let asked = |name: &str, url: &str| route(name, &[("auth-url", url), ("auth-error-status", "500")]);
    let answers = [("status/404", 500), ("status/403", 403), ("status/401", 401), ("close", 500)];
    let mut routes: Vec<Value> =
        answers.iter().map(|(answer, _)| asked(&name_of(answer), &format!("http://sso/{answer}"))).collect();
    routes.push(asked("nobody", "http://nonesuch/"));
    asking(&routes, |site, _| {
        for (answer, status) in answers.iter().copied().chain([("nobody", 500)]) {
            let got = get(site, &format!("/{}", name_of(answer)), "");
            assert_eq!((got.status, got.service()), (status, None), "{answer}: {got:?}");
        }
    });
}

#[test]
fn whoever_is_asked_is_not_where_a_list_is_enough() {
    let either = |name: &str, networks: &str| {
        let options = [("auth-url", "http://sso/status/401"), ("satisfy", "any"), ("allow-from", networks)];
        route(name, &options)
    };
    asking(&[either("known", "127.0.0.0/8"), either("other", "10.0.0.0/8")], |site, _| {
        assert_eq!(get(site, "/known", "").service(), Some(1));
        assert_eq!(get(site, "/other", "").status, 401);
    });
}

#[test]
fn an_answer_has_its_time_however_slowly_it_comes() {
    let slow = ["never", "drip-head", "drip-body", "drip-length"];
    asking(&routes_of(slow), |site, _| {
        for answer in slow {
            let start = Instant::now();
            assert_eq!(get(site, &format!("/{answer}"), "").status, 503, "{answer}");
            // A drop a fifth of a second: the whole would take 20 seconds.
            assert!(start.elapsed() < Duration::from_secs(15), "{answer}: {:?}", start.elapsed());
        }
    });
}

#[test]
fn nobody_passes_where_there_is_nobody_to_be_asked() {
    let url = |name: &str, url: &str| route(name, &[("auth-url", url)]);
    let routes = [
        url("absent", "http://nonesuch/"),
        url("no-port", "http://sso:81/"),
        url("no-route", "https://$host/nonesuch"),
        url("abroad", "http://sso.other.svc/ok"),
        url("outside", "http://auth.example/ok"),
        url("address", "http://127.0.0.1:1/ok"),
        url("down", "http://down/ok"),
        url("itself", "http://$host/itself/x"),
    ];
    let mut all = routes.to_vec();
    all.extend(service("down", "IPv4", 1, &["127.0.2.2"]));
    asking(&all, |site, _| {
        for route in &routes {
            let name = route["metadata"]["name"].as_str().unwrap();
            let answer = get(site, &format!("/{name}"), "");
            assert_eq!((answer.status, answer.service()), (503, None), "{name}: {answer:?}");
        }
    });
}

#[test]
fn a_question_passes_what_guards_the_route_that_it_leads_to() {
    let asking_behind = |name: &str, answering: &str| {
        let url = format!("https://$host/{answering}/x");
        route(name, &[("auth-url", &url)])
    };
    let guarded = |name: &str, option: (&str, &str)| leading(name, "s3", &[option]);
    let cases = [
        ("to-asked", guarded("asked", ("auth-url", "http://sso/ok")), 503),
        ("to-closed", guarded("shut", ("closed", "true")), 503),
        ("to-password", guarded("password", ("auth-secret", "users")), 401),
        ("to-kept-out", guarded("kept-out", ("deny-from", "127.0.0.0/8")), 503),
        ("to-others", guarded("others", ("allow-from", "10.0.0.0/8")), 503),
        ("to-listed", guarded("listed", ("allow-from", "10.0.0.0/8, 127.0.0.0/8")), 200),
        ("to-open", guarded("open", ("retries", "1")), 200),
    ];
    let answering = cases.iter().map(|(_, answering, _)| answering.clone());
    let questions = cases
        .iter()
        .map(|(name, answering, _)| asking_behind(name, answering["metadata"]["name"].as_str().unwrap()));
    let all: Vec<Value> = answering.chain(questions).chain([users()]).collect();
    asking(&all, |site, _| {
        for (name, _, status) in &cases {
            let answer = get(site, &format!("/{name}/x"), "");
            let served = (*status == 200).then_some(1);
            assert_eq!((answer.status, answer.service()), (*status, served), "{name}: {answer:?}");
        }
    });
}

#[test]
fn what_servers_are_told_of_a_client_is_never_its_own_word() {
    let asked = [("auth-url", "http://sso/ok"), ("auth-response-headers", "X-Auth-User, X-Auth-Groups")];
    let none = [("auth-url", "http://sso/plain"), ("auth-response-headers", "X-Auth-User, X-Auth-Groups")];
    asking(&[route("told", &asked), route("untold", &none)], |site, questions| {
        for name in [
            "X-Auth-User",
            "x-auth-user",
            "X_Auth_User",
            "X-Auth_User",
            "x_auth-user",
            "X.Auth.User",
            "X-Auth!User",
        ] {
            let headers = format!("{name}: root\r\nX_Auth_Groups: wheel\r\nX-Auth-Users: kept\r\n");
            for (path, user) in [("/told", Some("anna")), ("/untold", None)] {
                let answer = get(site, path, &headers);
                assert_eq!((answer.service(), answer.sent("x-auth-user")), (Some(1), user), "{name} {path}");
                assert!(
                    !answer.body.contains("root") && !answer.body.contains("wheel"),
                    "{name} {path}: {answer:?}"
                );
                assert_eq!(answer.sent("x-auth-users"), Some("kept"), "{name}");
            }
        }
        let away = "X-Auth-User: root\r\nConnection: close, X-Auth-User\r\n";
        assert_eq!(get(site, "/told", away).status, 400);
        // What a check is made of is not the client's word either.
        for header in [
            "X-Haptic-Service: shop_off_s2_80",
            "X-Haptic-Namespace: other",
            "X-Haptic-Lookup: 1",
            "X_Haptic_Service: x",
            "X-Original-URL: http://a.example/spoofed",
            "X_Original_URI: /spoofed",
            "X-Forwarded-Uri: /spoofed",
            "X-Forwarded-Method: SPOOFED",
            "X-Auth-Request-Redirect: /spoofed",
            "If-None-Match: spoofed",
            "Range: bytes=0-1",
            "Transfer-Encoding: gzip, chunked",
        ] {
            let before = questions.with(" /ok ").len();
            let status = get(site, "/told", &format!("{header}\r\nX-Mine: 1\r\n")).status;
            for question in &questions.with(" /ok ")[before..] {
                let name = header.split(':').next().unwrap().to_lowercase();
                let said = question.lines().find(|line| line.starts_with(&name));
                assert!(
                    !question.contains("spoofed") && question.contains("x-mine: 1"),
                    "{header}: {question}"
                );
                assert!(
                    !said.is_some_and(|line| line.contains("bytes") || line.contains("chunked")),
                    "{question}"
                );
                assert!(!name.contains("haptic") || said.is_none(), "{header}: {question}");
            }
            assert!(matches!(status, 200 | 400 | 422), "{header} {status}");
        }
        let check = get(site, "/told", "X-Haptic-Check: 1\r\nX_Haptic_Check: 1\r\n");
        assert_eq!((check.service(), check.sent("x-auth-user")), (Some(1), Some("anna")), "{check:?}");
        assert!(!check.body.contains("haptic-check") && !check.body.contains("haptic_check"), "{check:?}");
    });
}

#[test]
fn a_question_that_comes_back_to_haproxy_ends_after_a_few_rounds() {
    // As the address of HAProxy's own Service: no port that a setting names.
    let again = crate::ports::free_port();
    let change = |spec: &mut Value| {
        spec["templateSnippets"]["bind-20-again"] = json!({"template": format!("bind 127.0.0.1:{again}\n")});
    };
    let mut back = route("on", &[("auth-url", "http://hand/on")]);
    back["spec"]["rules"].as_array_mut().unwrap().push(json!({"host": "hand", "http": {"paths": [
        {"path": "/on", "pathType": "Prefix", "backend": {"service": {"name": "s1", "port": {"number": 80}}}}]}}));
    let mut all = vec![back];
    all.extend(service("hand", "IPv4", again, &["127.0.0.1"]));
    on_each_haproxy_with(&all, change, |site| {
        let begun = Instant::now();
        let answer = get(site, "/on", "");
        assert_eq!((answer.status, answer.service()), (503, None), "{answer:?}");
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    });
}

#[test]
fn a_server_is_told_all_that_it_is_to_be_told_or_gets_nothing() {
    let asked = [
        ("auth-url", "http://sso/groups"),
        ("auth-request-headers", "Cookie"),
        ("auth-response-headers", "X-Auth-User, X-Auth-Groups"),
    ];
    asking(&[route("on", &asked)], |site, _| {
        let mut statuses = Vec::new();
        for length in (11_000..=15_500).step_by(250) {
            let answer = get(site, "/on", &format!("X-Long: {}\r\n", "l".repeat(length)));
            let told = ["x-auth-user", "x-auth-groups"].map(|name| answer.sent(name).is_some());
            assert!(answer.status != 200 || told == [true, true], "{length}: {told:?}");
            statuses.push(answer.status);
        }
        assert!(statuses.contains(&200) && statuses.contains(&503), "{statuses:?}");
    });
}

#[test]
fn the_path_that_is_checked_is_the_one_that_is_served() {
    asking(&[route("on", &[("auth-url", "http://sso/ok")])], |site, questions| {
        for path in ["/on/a%2Fb;x=1//c?d=%0d%0aX:y", "/on/%61", "//on/x", "/%6fn/x"] {
            let answer = get(site, path, "");
            if answer.status == 200 {
                let served = answer.request_line().split(' ').nth(1).unwrap().to_lowercase();
                assert!(
                    !questions.with(&format!("\nx-original-uri: {served}\r")).is_empty(),
                    "{path} {served}"
                );
            } else {
                assert_eq!(answer.status, 400, "{path}");
            }
        }
        for path in ["/on/../on/x", "/on/%2e%2e/on/x", "/off/../on/x", "/x/%2e%2e/on"] {
            let answer = get(site, path, "");
            assert_eq!((answer.status, answer.service()), (400, None), "{path}");
        }
        // One request behind another is one of its own.
        let two = "GET /status/500 HTTP/1.1\r\nHost: a.example\r\n\r\n";
        let before = questions.with("").len();
        let answer = site.ask(Scheme::Http, "POST", HOST, "/on", "", two);
        assert_eq!((answer.service(), questions.with("").len()), (Some(1), before + 1));
    });
}

#[test]
fn clients_are_led_to_where_they_sign_in_and_back() {
    let url = ("auth-url", "http://sso/by-cookie");
    let routes = [
        route("full", &[url, ("auth-signin", "https://$host/oauth2/start?rd=$escaped_request_uri")]),
        route("added", &[url, ("auth-signin", "https://login.example/start?x=1")]),
        route("named", &[url, ("auth-signin", "/login"), ("auth-signin-redirect-param", "back")]),
        route("other", &[("auth-url", "http://sso/status/403"), ("auth-signin", "/login")]),
        route("cookies", &[("auth-url", "http://sso/status/401"), ("auth-signin", "/login")]),
        route(
            "always",
            &[
                ("auth-url", "http://sso/status/403"),
                ("auth-signin", "https://login.example/in?at=$path"),
                ("auth-signin-always", "true"),
            ],
        ),
    ];
    asking(&routes, |site, _| {
        let location = |path: &str| {
            let answer = get(site, path, "");
            (answer.status, answer.header("location").unwrap_or_default().to_owned())
        };
        let to = |location: &str| (302, location.to_owned());
        let start = "https://a.example/oauth2/start?rd=%2Ffull%2Fa%3Fb%3Dc%26d%3D%25";
        assert_eq!(location("/full/a?b=c&d=%"), to(start));
        let back = "http%3A%2F%2Fa.example%2Fadded%3Fy";
        assert_eq!(location("/added?y"), to(&format!("https://login.example/start?x=1&rd={back}")));
        assert_eq!(location("/named"), to("/login?back=http%3A%2F%2Fa.example%2Fnamed"));
        assert_eq!(get(site, "/other", "").status, 403);
        assert_eq!(location("/always/x?y"), to("https://login.example/in?at=/always/x"));
        assert_eq!(get(site, "/cookies", "").header("set-cookie"), Some("c=3"));
        assert_eq!(get(site, "/full", "Cookie: session=good\r\n").service(), Some(1));
    });
}

#[test]
fn cookies_and_named_headers_of_the_answer_reach_the_client() {
    let routes = [
        route("cookie", &[("auth-url", "http://sso/cookie")]),
        route("named", &[("auth-url", "http://sso/ok"), ("auth-client-headers", "X-Seen, X-Auth-Groups")]),
        route("head", &[("auth-url", "http://sso/ok"), ("auth-method", "HEAD")]),
        route("post", &[("auth-url", "http://sso/ok"), ("auth-method", "POST")]),
        route("few", &[("auth-url", "http://sso/ok?few"), ("auth-request-headers", "X-A")]),
        route("less", &[("auth-url", "http://sso/ok?less"), ("auth-withheld-headers", "X-A, X-C-D")]),
    ];
    asking(&routes, |site, questions| {
        let all = |answer: &Answer, name: &str| -> Vec<String> {
            answer.headers.iter().filter(|(n, _)| n == name).map(|(_, value)| value.clone()).collect()
        };
        let answer = get(site, "/cookie", "");
        assert_eq!(
            (answer.service(), all(&answer, "set-cookie")),
            (Some(1), vec!["a=1; Path=/".into(), "b=2".into()])
        );
        let answer = get(site, "/named", "");
        assert_eq!(all(&answer, "x-auth-groups"), ["staff", "admins"]);
        assert_eq!((answer.header("x-seen"), answer.header("x-auth-user")), (Some("yes"), None));
        assert_eq!(get(site, "/head", "").service(), Some(1));
        assert_eq!(site.ask(Scheme::Http, "PUT", HOST, "/post", "", "body").service(), Some(1));
        assert!(!questions.with("head /ok").is_empty() && !questions.with("post /ok").is_empty());
        get(site, "/few", "X-A: 1\r\nX-B: 2\r\n");
        let few = questions.with("?few").pop().unwrap();
        assert!(few.contains("x-a: 1") && !few.contains("x-b"), "{few}");
        let server = get(site, "/less", "X-A: 1\r\nX-B: 2\r\nX_C-D: 3\r\n");
        let less = questions.with("?less").pop().unwrap();
        assert!(less.contains("x-b: 2") && !less.contains("x-a:") && !less.contains("c-d"), "{less}");
        assert_eq!(server.sent("x-a"), Some("1"));
    });
}

#[test]
fn an_answer_is_kept_only_where_that_is_asked_for() {
    let kept = ("auth-cache", "10m");
    let routes = [
        route("always", &[("auth-url", "http://sso/by-cookie?always")]),
        route(
            "kept",
            &[("auth-url", "http://sso/by-cookie?kept"), kept, ("auth-response-headers", "X-Auth-User")],
        ),
        route("cookie", &[("auth-url", "http://sso/cookie?cookie"), kept]),
        route("fewer", &[("auth-url", "http://sso/by-cookie?fewer"), kept, ("auth-cache-key", "headers")]),
        route("short", &[("auth-url", "http://sso/by-cookie?short"), ("auth-cache", "1ms")]),
    ];
    asking(&routes, |site, questions| {
        let good = "Cookie: session=good\r\n";
        let asked = |path: &str, headers: &str| {
            let name = path.trim_start_matches('/').split(['/', '?']).next().unwrap();
            let before = questions.with(&format!("?{name} ")).len();
            let answer = get(site, path, headers);
            assert_eq!(
                answer.status,
                if headers.contains("good") || name == "cookie" { 200 } else { 401 },
                "{path}"
            );
            assert!(name != "kept" || answer.status == 401 || answer.sent("x-auth-user") == Some("anna"));
            questions.with(&format!("?{name} ")).len() - before
        };
        for path in ["/always", "/cookie"] {
            assert_eq!([asked(path, good), asked(path, good), asked(path, good)], [1, 1, 1], "{path}");
        }
        // Each thread keeps its own.
        let until_kept = |path: &str| while asked(path, good) > 0 {};
        until_kept("/kept");
        for (path, headers) in [
            ("/kept", ""),
            ("/kept", "Cookie: session=bad\r\n"),
            ("/kept/other", good),
            ("/kept?query", good),
            ("/kept", "Cookie: session=good\r\nAuthorization: other\r\n"),
        ] {
            assert_eq!(asked(path, headers), 1, "{path} {headers}");
        }
        let mut heads = questions.with("?kept ");
        assert!(heads.pop().unwrap().contains("authorization: other"));
        get(site, "/kept/x", &format!("{good}X-Other: 1\r\n"));
        assert!(
            !questions.with("?kept ").pop().unwrap().contains("x-other"),
            "only what is compared is passed"
        );
        until_kept("/fewer/a");
        until_kept("/fewer/b?c");
        assert_eq!(asked("/fewer", "Cookie: session=bad\r\n"), 1);
        asked("/short", good);
        std::thread::park_timeout(Duration::from_millis(20));
        assert_eq!(asked("/short", good), 1);
    });
}

#[test]
fn a_route_of_the_same_host_and_namespace_is_asked_directly() {
    let own = [("auth-url", "https://$host/by-cookie"), ("auth-response-headers", "X-Auth-User")];
    let named = [("auth-url", "http://a.example/by-cookie"), ("auth-response-headers", "X-Auth-User")];
    let mut sso = leading("by-cookie", "sso", &[]);
    let routes = |sso: &Value| vec![route("on", &own), route("named", &named), sso.clone()];
    asking(&routes(&sso), |site, _| {
        for path in ["/on", "/named"] {
            assert_eq!(get(site, path, "").status, 401, "{path}");
            let known = get(site, path, "Cookie: session=good\r\n");
            assert_eq!((known.service(), known.sent("x-auth-user")), (Some(1), Some("anna")), "{path}");
        }
    });
    // The Service of a route in another namespace is not asked.
    sso["metadata"]["namespace"] = json!("other");
    asking(&routes(&sso), |site, questions| {
        let before = questions.with("").len();
        for path in ["/on", "/named"] {
            assert_eq!(get(site, path, "Cookie: session=good\r\n").status, 503, "{path}");
        }
        assert_eq!(questions.with("").len(), before);
    });
}

/// While two clients of `/slow` wait for an answer of `auth`, nobody is asked about a third one.
fn two_questions_at_a_time(slow: Value, auth: &[Value], questions: &Questions, limits: &Value) {
    let mut all = vec![slow, route("on", &[("auth-url", "http://sso/ok")]), leading("off", "s2", &[])];
    all.extend_from_slice(auth);
    let few = |spec: &mut Value| {
        let settings = &mut spec["templatingSettings"]["extraContext"];
        settings["authConcurrency"] = limits.clone();
        settings["maxConnections"] = json!(6);
    };
    on_each_haproxy_with(&all, few, |site| {
        let asked = || questions.with(" /never ").len();
        let before = asked();
        std::thread::scope(|scope| {
            let slow: Vec<_> = (0..2).map(|_| scope.spawn(|| get(site, "/slow", "").status)).collect();
            while asked() < before + 2 {
                std::thread::yield_now();
            }
            assert_eq!(get(site, "/on", "").status, 503, "{limits}");
            assert_eq!(get(site, "/off", "").service(), Some(2));
            assert!(slow.into_iter().all(|asked| asked.join().unwrap() == 503));
        });
        assert_eq!(get(site, "/on", "").service(), Some(1));
    });
}

#[test]
fn too_many_questions_at_a_time_are_not_asked() {
    let (port, questions) = auth_server::start();
    let sso = service("sso", "IPv4", port, &["127.0.2.1"]);
    let slow = || route("slow", &[("auth-url", "http://sso/never"), ("auth-timeout", "5s")]);
    two_questions_at_a_time(slow(), &sso, &questions, &json!({"namespace": 2, "all": 4}));
    // All of them may be another namespace's.
    let abroad = |mut object: Value| {
        object["metadata"]["namespace"] = json!("other");
        object
    };
    let both: Vec<Value> = sso.clone().into_iter().map(abroad).chain(sso).collect();
    two_questions_at_a_time(abroad(slow()), &both, &questions, &json!({"namespace": 2, "all": 2}));
}

#[test]
fn as_many_clients_as_there_may_be_are_asked_about() {
    let (port, _) = auth_server::start();
    let mut all = vec![route("on", &[("auth-url", "http://sso/ok")])];
    all.extend(service("sso", "IPv4", port, &["127.0.2.1"]));
    let few = |spec: &mut Value| {
        let settings = &mut spec["templatingSettings"]["extraContext"];
        settings["authConcurrency"] = json!({"namespace": 20, "all": 20});
        settings["maxConnections"] = json!(10);
    };
    on_each_haproxy_with(&all, few, |site| {
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..40)
                .map(|_| scope.spawn(|| (0..5).all(|_| get(site, "/on", "").service() == Some(1))))
                .collect();
            assert!(clients.into_iter().all(|client| client.join().unwrap()));
        });
    });
}

#[test]
fn others_are_asked_where_the_configuration_names_their_network() {
    let (port, _) = auth_server::start();
    let outside = format!("http://auth.example:{port}/ok");
    let bare = format!("http://127.0.2.9:{port}/ok");
    let mut all = vec![
        route("abroad", &[("auth-url", "http://sso.other.svc.cluster.local/ok")]),
        route("outside", &[("auth-url", &outside)]),
        route("address", &[("auth-url", &bare)]),
        leading("off", "s2", &[]),
        json!({"kind": "ExternalName", "name": "auth.example", "addresses": ["127.0.2.8"]}),
    ];
    all.extend(service("sso", "IPv4", port, &["127.0.2.1"]).into_iter().map(|mut object| {
        object["metadata"]["namespace"] = json!("other");
        object
    }));
    let ask_each = |allowed: Value, expected: [Option<u8>; 3]| {
        on_each_haproxy_with(
            &all,
            |spec| spec["allow"] = json!({"destinations": allowed}),
            |site| {
                let served = ["/abroad", "/outside", "/address"].map(|path| get(site, path, "").service());
                assert_eq!(served, expected);
            },
        );
    };
    ask_each(json!(["127.0.0.0/8"]), [Some(1); 3]);
    ask_each(json!(["127.0.1.0/24"]), [None; 3]);
    ask_each(json!(["127.0.1.0/24", "127.0.2.8"]), [None, Some(1), None]);
}

#[test]
fn oauth2_proxys_documented_set_up_works() {
    let routes = [
        route(
            "app",
            &[
                ("auth-url", "https://$host/oauth2/auth"),
                ("auth-signin", "https://$host/oauth2/start?rd=$escaped_request_uri"),
                ("auth-response-headers", "X-Auth-Request-User, X-Auth-Request-Email"),
            ],
        ),
        leading("oauth2", "sso", &[]),
    ];
    for scheme in SCHEMES {
        asking(&routes, |site, _| {
            let stranger = site.get(scheme, HOST, "/app/x?y");
            let start = "https://a.example/oauth2/start?rd=%2Fapp%2Fx%3Fy";
            assert_eq!((stranger.status, stranger.header("location")), (302, Some(start)));
            assert!(
                stranger.header("set-cookie").is_some_and(|cookie| cookie.starts_with("_oauth2_proxy_csrf"))
            );
            let known = site.ask(scheme, "GET", HOST, "/app/x", "Cookie: _oauth2_proxy=good\r\n", "");
            assert_eq!((known.service(), known.sent("x-auth-request-user")), (Some(1), Some("anna")));
            assert_eq!(site.get(scheme, HOST, "/oauth2/start").status, 404, "its own pages need no sign-in");
        });
    }
}

#[test]
fn who_is_asked_may_have_a_namespace_of_its_own_where_the_host_is_given_to_both() {
    let (port, _) = auth_server::start();
    let abroad = |mut object: Value| {
        object["metadata"]["namespace"] = json!("login");
        object
    };
    let mut all = vec![
        route("app", &[("auth-url", "https://$host/oauth2/auth")]),
        abroad(leading("oauth2", "sso", &[])),
        // The same with another host than that of the request.
        route("named", &[("auth-url", "https://a.example/oauth2/auth")]),
    ];
    all.extend(service("sso", "IPv4", port, &["127.0.2.1"]).into_iter().map(abroad));
    for (hosts, is_asked) in [
        (json!([{"hosts": [HOST], "namespaces": ["shop", "login"]}]), true),
        (json!([{"hosts": ["*.example"], "namespaces": ["login", "shop"]}]), true),
        (json!([{"hosts": ["*"], "namespaces": ["login", "shop", "other"]}]), true),
        (json!([]), false),
        (json!([{"hosts": ["b.example"], "namespaces": ["shop", "login"]}]), false),
        (json!([{"hosts": [HOST], "namespaces": ["shop"]}]), false),
    ] {
        let listed = |spec: &mut Value| spec["hosts"] = hosts.clone();
        on_each_haproxy_with(&all, listed, |site| {
            for path in ["/app/x", "/named/x"] {
                let known = get(site, path, "Cookie: _oauth2_proxy=good\r\n");
                assert_eq!(known.service(), is_asked.then_some(1), "{hosts} {path} {known:?}");
                let stranger = get(site, path, "");
                assert_eq!(stranger.status, if is_asked { 401 } else { 503 }, "{hosts} {path}");
            }
        });
    }
}

#[test]
fn scripts_of_ours_need_no_permission_and_a_change_no_reload() {
    for series in SERIES {
        let rendered = |options: &[(&str, &str)]| {
            let service = service("sso", "IPv4", 80, &["127.0.2.1"]);
            let first = [("auth-url", "http://sso/x"), ("auth-secret", "users"), ("max-body-size", "1k")];
            let all: Vec<Value> =
                [route("on", options), route("first", &first)].into_iter().chain(service).collect();
            rendered_for(series, &all).unwrap().0
        };
        let with = rendered(&[("auth-url", "http://sso/y"), ("auth-response-headers", "X-A")]);
        let problems = haptic_validate::syntax::problems(&with, &[version_of(series)], &[]);
        assert_eq!(problems, [], "its digest is {}", with.files["general/haptic.lua"].digest);
        let without = rendered(&[]);
        assert_eq!(with.config.text.to_string(), without.config.text.to_string(), "only maps differ");
        let nobody = rendered_for(series, &[leading("off", "s2", &[])]).unwrap().0.config.text.to_string();
        assert!(!nobody.contains("lua") && !nobody.contains("frontend hop"), "others pay nothing");
    }
}

#[test]
fn a_script_that_fails_lets_nobody_through() {
    let action = "core.register_action('haptic-auth', { 'http-req' }, function(txn) BODY end)\n\
        core.register_action('haptic-auth-answer', { 'http-res' }, function() end)\n";
    let endless = "local text = 'x' while true do text = text .. text end";
    for body in ["error('x')", "", endless, "core.msleep(1) error()", "txn:set_var('txn.auth_ok', 'false')"] {
        let failing = |spec: &mut Value| {
            spec["templateSnippets"]["script-20-auth"] = json!({"template": action.replace("BODY", body)});
            spec["templateSnippets"]["global-99-memory"] = json!({"template": "tune.lua.maxmem 64\n"});
        };
        let all = [route("on", &[("auth-url", "http://sso/ok")]), leading("off", "s2", &[])];
        on_each_haproxy_with(&all, failing, |site| {
            assert_eq!(get(site, "/on", "").status, 503, "{body}");
            assert_eq!(get(site, "/off", "").service(), Some(2), "{body}");
        });
    }
}
