//! Filter ExternalAuth: what is asked, what clients and servers get of an answer, and that nobody gets in where anything is wrong.

use super::{GatewaySite, around_gateway, on_each, route, to};
use crate::{
    around::service,
    auth_server::{self, Questions},
    client::Answer,
};
use serde_json::{Value, json};

/// A rule at `/NAME` whose requests sso is asked about, over HTTP as `http` says.
fn guarded(name: &str, http: Value) -> Value {
    with(name, json!([asks(json!({"http": http}))]))
}

fn with(name: &str, filters: Value) -> Value {
    json!({"matches": [{"path": {"type": "PathPrefix", "value": format!("/{name}")}}], "filters": filters, "backendRefs": to(1)})
}

fn asks(more: Value) -> Value {
    let mut auth = json!({"protocol": "HTTP", "backendRef": {"name": "sso", "port": 80}});
    for (field, value) in more.as_object().unwrap() {
        auth[field] = value.clone();
    }
    json!({"type": "ExternalAuth", "externalAuth": auth})
}

/// Sites of each HAProxy with these rules and one that asks nobody.
fn asking(rules: &[Value], see: impl Fn(&GatewaySite, &Questions)) {
    let (port, questions) = auth_server::start();
    let mut all = around_gateway();
    let mut rules = rules.to_vec();
    rules.push(json!({"matches": [{"path": {"type": "PathPrefix", "value": "/off"}}], "backendRefs": to(2)}));
    all.push(route("r", &[], json!(rules)));
    all.extend(service("sso", "IPv4", port, &["127.0.2.1"]));
    on_each(&all, |site| {
        see(site, &questions);
        assert_eq!(site.get("a.example", "/off").service(), Some(2), "others notice nothing");
    });
}

fn ask(site: &GatewaySite, method: &str, path: &str, headers: &str) -> Answer {
    site.ask(80, None, method, "a.example", path, headers)
}

#[test]
fn whoever_is_asked_lets_a_request_pass_or_answers_it() {
    let http = json!({
        "path": "/by-cookie", "allowedHeaders": ["Cookie", "X-Haptic-Service"], "allowedResponseHeaders": ["X-Auth-User", "X-Auth-Groups"],
    });
    asking(&[guarded("on", http)], |site, questions| {
        let refused = ask(site, "GET", "/on", "X-Haptic-Service: gateway:shop_s1_80_h1\r\n");
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Session")));
        assert_eq!(refused.body, "sign in");

        let sent = "Cookie: session=good\r\nAuthorization: Bearer t\r\nX-Auth-User: root\r\nX_Auth_User: root\r\nX-Seen: mine\r\nX-Other: 1\r\n";
        let passed = ask(site, "PATCH", "/on/x?q=1", sent);
        assert_eq!(passed.service(), Some(1));
        assert_eq!(passed.request_line(), "PATCH /on/x?q=1 HTTP/1.1");
        assert_eq!((passed.sent("x-auth-user"), passed.sent("x_auth_user")), (Some("anna"), None));
        assert_eq!(passed.sent("x-auth-groups"), Some("staff"));
        assert_eq!(passed.sent("x-seen"), Some("mine"), "of the answer it was none to be told");
        assert_eq!(passed.header("x-auth-user"), None);

        let question = questions.with("bearer t").pop().unwrap();
        assert!(question.starts_with("patch /by-cookie/on/x?q=1 http/1.1\r\n"), "{question}");
        for (there, line) in [
            (true, "\r\nhost: a.example\r\n"),
            (true, "\r\ncookie: session=good\r\n"),
            (true, "\r\nx-haptic-check: 1\r\n"),
            (false, "\r\nx-other:"),
            (false, "\r\nx-auth-user:"),
            (false, "\r\nx-original-uri:"),
            (false, "\r\nx-haptic-as:"),
        ] {
            assert_eq!(question.contains(line), there, "{line:?} in {question}");
        }
        ask(site, "GET", "/on", "Authorization: one\r\nAuthorization: two\r\nAuthorization: three\r\n");
        let question = questions.with("authorization: three").pop().unwrap();
        let order =
            ["one", "two", "three"].map(|value| question.find(&format!("authorization: {value}")).unwrap());
        assert!(order.is_sorted(), "the first one is that of the server, too: {question}");
        for method in ["HEAD", "OPTIONS", "DELETE"] {
            let status = ask(site, method, &format!("/on/{method}"), "Cookie: session=good\r\n").status;
            assert_eq!(status, 200, "{method}");
            let asked = format!("{method} /by-cookie/on/{method} ").to_lowercase();
            assert!(!questions.with(&asked).is_empty(), "{method}");
        }
    });
}

#[test]
fn without_a_list_servers_are_told_all_that_is_answered() {
    asking(&[guarded("ok", json!({})), guarded("cookie", json!({}))], |site, _| {
        let passed = ask(site, "GET", "/ok", "X-Seen: no\r\nX-Auth-Groups: root\r\n");
        assert_eq!(passed.service(), Some(1));
        assert_eq!((passed.sent("x-seen"), passed.sent("x-auth-user")), (Some("yes"), Some("anna")));
        assert_eq!(passed.sent("x-auth-groups"), Some("staff"));
        assert_eq!(passed.sent("host"), Some("a.example"));
        assert_eq!(ask(site, "GET", "/ok", "Connection: close, X-Seen\r\n").status, 400);

        let passed = ask(site, "GET", "/cookie", "");
        assert_eq!((passed.service(), passed.sent("set-cookie")), (Some(1), None));
        assert_eq!(passed.header("set-cookie"), Some("a=1; Path=/"));
    });
}

#[test]
fn nobody_gets_in_where_the_answer_is_none() {
    let faults = [
        "close",
        "nonsense",
        "ftp",
        "half",
        "no-status",
        "big-status",
        "truncated",
        "cut-chunk",
        "bad-chunk",
        "two-lengths",
        "bad-length",
        "large-head",
        "large-body",
        "marked",
        "switch",
        "informed",
        "unknown",
    ];
    let rules: Vec<Value> = faults.iter().map(|fault| guarded(fault, json!({}))).collect();
    asking(&rules, |site, _| {
        for fault in faults {
            let answer = ask(site, "GET", &format!("/{fault}"), "");
            let expected = if fault == "unknown" { 404 } else { 503 };
            assert_eq!(answer.status, expected, "{fault}");
        }
        for status in [302, 401, 403, 429] {
            let rule = ask(site, "GET", &format!("/status/{status}"), "").status;
            assert_eq!(rule, 404, "no rule asks about it");
        }
    });
}

#[test]
fn a_rule_that_cannot_ask_lets_nobody_through() {
    let redirect = json!({"type": "RequestRedirect", "requestRedirect": {"hostname": "b.example"}});
    let missing = asks(json!({"backendRef": {"name": "gone", "port": 80}}));
    let mut redirected = with("redirected", json!([missing, redirect]));
    redirected.as_object_mut().unwrap().remove("backendRefs");
    let mut beside = with("beside", json!([missing]));
    beside["backendRefs"][0]["filters"] = json!([redirect]);
    let rules = [
        with("missing", json!([missing])),
        redirected,
        beside,
        with("abroad", json!([asks(json!({"backendRef": {"name": "s1", "namespace": "blog", "port": 80}}))])),
        with("grpc", json!([asks(json!({"protocol": "GRPC"}))])),
        with("body", json!([asks(json!({"forwardBody": {"maxSize": 100}}))])),
        with("twice", json!([asks(json!({})), asks(json!({}))])),
        with("name", json!([asks(json!({"http": {"allowedHeaders": ["a|b"]}}))])),
        with("nothing", json!([{"type": "ExternalAuth"}])),
        with("length", json!([asks(json!({"http": {"allowedResponseHeaders": ["Content-Length"]}}))])),
        // A copy to who is asked would be a question.
        with(
            "copied",
            json!([missing, {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "sso", "port": 80}}}]),
        ),
    ];
    asking(&rules, |site, questions| {
        for path in [
            "/missing",
            "/redirected",
            "/beside",
            "/abroad",
            "/grpc",
            "/body",
            "/twice",
            "/name",
            "/nothing",
            "/length",
            "/copied",
        ] {
            assert_eq!(ask(site, "GET", path, "").status, 500, "{path}");
        }
        assert!(questions.with("").is_empty());
    });
}

#[test]
fn redirects_ask_first_and_one_backend_of_several_may_be_guarded() {
    let mut redirected = with(
        "by-cookie",
        json!([asks(json!({"http": {"allowedHeaders": ["cookie"]}})), {"type": "RequestRedirect", "requestRedirect": {"hostname": "b.example"}}]),
    );
    redirected.as_object_mut().unwrap().remove("backendRefs");
    let mut shared = with("status", json!([]));
    shared["backendRefs"] = json!([
        {"name": "s1", "port": 80, "weight": 1, "filters": [asks(json!({"http": {"path": "/nobody"}}))]},
        {"name": "s2", "port": 80, "weight": 1},
    ]);
    asking(&[redirected, shared], |site, _| {
        assert_eq!(ask(site, "GET", "/by-cookie", "").status, 401);
        let passed = ask(site, "GET", "/by-cookie", "Cookie: session=good\r\n");
        assert_eq!((passed.status, passed.header("location")), (302, Some("http://b.example/by-cookie")));
        let answers: Vec<Answer> = (0..40).map(|_| ask(site, "GET", "/status", "")).collect();
        let open = answers.iter().filter(|answer| answer.service() == Some(2)).count();
        let refused = answers.iter().filter(|answer| answer.status == 404).count();
        assert!(open > 5 && refused > 5 && open + refused == 40, "{open} {refused}");
    });
}
