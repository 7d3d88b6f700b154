//! Routes and certificates that come, change and go: which operations, in which order, and what is a reload.

use super::*;
use haptic_model::{BundleFile, FileKey, FileKind, HaproxyVersion};
use haptic_text::Text;

const HEAD: &str = "global\n maxconn 100\ndefaults web\n mode http\n balance roundrobin\n default-server maxconn 9\n\
    defaults bare\n\
    frontend http from web\n bind :80\n bind :443 ssl strict-sni crt-list ssl/list.txt\n\
    bind :444 ssl crt-list ssl/lax.txt\n bind :445 ssl crt ssl/bind.pem\n\
    http-request deny if { src -f maps/lan.lst }\n\
    http-request set-var(txn.host) req.hdr(host),map(maps/host.map)\n\
    http-request set-var(txn.b) path,map_beg(maps/path.map)\n\
    http-request set-var(txn.c) path,map_reg(maps/regex.map)\n\
    use_backend %[var(txn.b)] if { var(txn.b) -m found }\n default_backend none\n\
    errorfile 503 general/503.http\n\
    backend none from web\n";

/// A configuration's backends and files, as one change sees them.
#[derive(Clone, Default)]
struct Given {
    backends: &'static str,
    files: Vec<(&'static str, String)>,
}

fn given(backends: &'static str, files: &[(&'static str, &str)]) -> Given {
    let files = files.iter().map(|(path, text)| (*path, text.replace("; ", "\n"))).collect();
    Given { backends, files }
}

fn pem(name: &str) -> String {
    format!(
        "-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n"
    )
}

fn bundle(given: &Given) -> Bundle {
    let text = format!("{HEAD}{}", given.backends);
    let mut files: std::collections::BTreeMap<&str, String> = [
        "maps/lan.lst",
        "maps/host.map",
        "maps/path.map",
        "maps/regex.map",
        "ssl/list.txt",
        "general/503.http",
    ]
    .into_iter()
    .map(|path| (path, String::new()))
    .collect();
    files.insert("ssl/lax.txt", "ssl/default.pem\n".to_owned());
    files.insert("ssl/default.pem", pem("default"));
    files.insert("ssl/bind.pem", pem("bind"));
    files.extend(given.files.clone());
    let file = |(path, text): (&str, String)| {
        let kind = match path {
            _ if path.starts_with("maps") => FileKind::Map,
            _ if path.ends_with(".txt") => FileKind::CrtList,
            _ if path.starts_with("ssl") => FileKind::Certificate,
            _ => FileKind::General,
        };
        BundleFile::new(FileKey::new(kind, path), path, Text::plain(&text))
    };
    Bundle::new(
        BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&text)),
        files.into_iter().map(file),
    )
}

fn between(old: &Given, new: &Given, version: HaproxyVersion) -> String {
    let plan = plan(&RunningView::of(bundle(old)), &bundle(new), Capabilities::of(version));
    match &plan.verdict {
        Verdict::Nothing => "nothing".to_owned(),
        Verdict::Runtime { operations } => {
            operations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        }
        Verdict::Reload { .. } => format!("reload: {}", plan.verdict.reload_reason().unwrap()),
    }
}

fn on_3_4(old: &Given, new: &Given) -> String {
    between(old, new, HaproxyVersion::new(3, 4))
}

#[test]
fn a_route_is_made_from_its_end_and_unmade_from_its_beginning() {
    let without = given("", &[]);
    let with = Given {
        backends: "backend shop from web\n server a 10.0.0.1:80\n",
        files: [
            ("maps/host.map", "shop.example shop.example\n".to_owned()),
            ("maps/path.map", "shop.example/ shop\n".to_owned()),
            ("ssl/list.txt", "ssl/shop.pem shop.example\n".to_owned()),
            ("ssl/shop.pem", pem("shop")),
        ]
        .into(),
    };
    assert_eq!(
        on_3_4(&without, &with),
        "new ssl cert ssl/shop.pem; add ssl crt-list ssl/list.txt ssl/shop.pem shop.example; \
         add backend shop from web; add server shop/a 10.0.0.1:80; publish backend shop; \
         add map maps/path.map shop.example/ shop; add map maps/host.map shop.example shop.example"
    );
    assert_eq!(
        on_3_4(&with, &without),
        "del map maps/host.map shop.example; del map maps/path.map shop.example/; unpublish backend shop; \
         del server shop/a; del backend shop; del ssl crt-list ssl/list.txt ssl/shop.pem shop.example; \
         del ssl cert ssl/shop.pem"
    );
    assert_eq!(
        between(&without, &with, HaproxyVersion::new(3, 0)),
        "reload: backend shop: HAProxy 3.0 cannot add a backend at run time"
    );
    assert_eq!(
        between(&with, &without, HaproxyVersion::new(3, 2)),
        "reload: backend shop: HAProxy 3.2 cannot remove a backend at run time"
    );
}

#[test]
fn a_backend_that_haproxy_would_refuse_is_a_reload_with_the_reason() {
    let none = given("", &[]);
    for (backends, reason) in [
        (
            "backend x from web\n option httpchk\n",
            "backend x: HAProxy can add one of nothing but servers at run time, and it has option",
        ),
        (
            "backend x\n server a 10.0.0.1:80\n",
            "backend x: without a named defaults section (backend x from …) it is made only when HAProxy starts",
        ),
        (
            "backend x from bare\n",
            "backend x: defaults bare must say mode http or mode tcp for a backend at run time",
        ),
        (
            "backend x from web\n server a shop.example:80\n",
            "server x/a: only an IP address can be added at run time, and shop.example:80 is none",
        ),
        ("defaults new\n mode http\nbackend x from new\n", "defaults new added"),
    ] {
        let shown = on_3_4(&none, &given(backends, &[]));
        assert_eq!(shown, format!("reload: {reason}"));
    }
    let named = "backend x from web\nbackend y from web\n http-request set-var(txn.n) nbsrv(x)\n";
    let left = "backend y from web\n http-request set-var(txn.n) nbsrv(x)\n";
    assert_eq!(
        on_3_4(&given(named, &[]), &given(left, &[])),
        "reload: backend x is gone, and the running configuration names it elsewhere"
    );
    assert_eq!(
        on_3_4(&given("# hello\nbackend x from web\n # only servers\n", &[]), &none),
        "unpublish backend x; del backend x"
    );
}

#[test]
fn certificates_with_keys_of_other_kinds_come_in_any_order() {
    let pair = |file: &str| {
        let certificate = std::fs::read_to_string(format!("../render/tests/pem/{file}")).unwrap();
        format!("{certificate}{}", pem("key"))
    };
    let (rsa, ec) = (pair("rsa.pem"), pair("ec-sec1.pem"));
    let list = |text: &str, other: &str| {
        given("", &[("ssl/list.txt", text), ("ssl/a.pem", &rsa), ("ssl/b.pem", other)])
    };
    assert_eq!(
        on_3_4(&list("ssl/b.pem a", &ec), &list("ssl/a.pem a; ssl/b.pem a", &ec)),
        "new ssl cert ssl/a.pem; add ssl crt-list ssl/list.txt ssl/a.pem a"
    );
    assert!(
        on_3_4(&list("ssl/b.pem a", &rsa), &list("ssl/a.pem a; ssl/b.pem a", &rsa)).starts_with("reload")
    );
}

#[test]
fn certificates_and_lists_change_at_run_time_where_the_socket_can() {
    let (one, two) = (pem("one"), pem("two"));
    let large = format!("{}{}", pem("large"), "x\n".repeat(10_000));
    let huge = format!("{}{}", pem("huge"), "x\n".repeat(40_000));
    let keyless = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let list = |text: &str, content: &str| {
        given("", &[("ssl/list.txt", text), ("ssl/a.pem", content), ("ssl/b.pem", &one)])
    };
    for (old, new, expected) in [
        (list("ssl/a.pem a", &one), list("ssl/a.pem a", &two), "set ssl cert ssl/a.pem"),
        (list("ssl/a.pem a", &one), list("# c; ssl/a.pem  a ", &one), "nothing"),
        (list("", &one), list("", &two), "nothing"),
        (
            list("", &one),
            list("ssl/a.pem a", &one),
            "new ssl cert ssl/a.pem; add ssl crt-list ssl/list.txt ssl/a.pem a",
        ),
        (
            list("ssl/a.pem a; ssl/a.pem [alpn h2] b", &one),
            list("ssl/a.pem a", &one),
            "del ssl crt-list ssl/list.txt ssl/a.pem [alpn h2] b",
        ),
        (
            list("ssl/b.pem a", &one),
            list("ssl/a.pem a; ssl/b.pem a", &one),
            "reload: crt-list ssl/list.txt: ssl/a.pem must come before ssl/b.pem, and what is added at run time comes last",
        ),
        (
            list("ssl/b.pem", &one),
            list("ssl/a.pem a; ssl/b.pem", &one),
            "reload: crt-list ssl/list.txt: ssl/a.pem must come before ssl/b.pem, and what is added at run time comes last",
        ),
        (
            list("ssl/a.pem a; ssl/b.pem a", &one),
            list("ssl/a.pem a; ssl/b.pem a", &two),
            "reload: certificate ssl/a.pem changed, and must stay before another one for the same host",
        ),
        (
            list("ssl/a.pem a", &one),
            list("ssl/a.pem a", &huge),
            "reload: certificate ssl/a.pem has 80115 bytes, and the socket of HAProxy 3.4 takes 60000",
        ),
        (list("ssl/a.pem a", &one), list("ssl/a.pem a", &large), "set ssl cert ssl/a.pem"),
        (
            list("ssl/a.pem a", &one),
            list("ssl/a.pem a", &keyless),
            "reload: certificate ssl/a.pem has its key in another file, which is read only when HAProxy starts",
        ),
        (
            list("", &one),
            list("ssl/none.pem a", &one),
            "reload: certificate ssl/none.pem is new and no file of the bundle",
        ),
        (given("", &[]), given("", &[("ssl/bind.pem", &two)]), "set ssl cert ssl/bind.pem"),
        (
            given("", &[]),
            given("", &[("ssl/lax.txt", "ssl/bind.pem")]),
            "reload: crt-list ssl/lax.txt: its first line is the default certificate, chosen when HAProxy starts",
        ),
        (
            given("", &[]),
            given("", &[("ssl/lax.txt", "ssl/default.pem; ssl/bind.pem b")]),
            "add ssl crt-list ssl/lax.txt ssl/bind.pem b",
        ),
        (given("", &[]), given("", &[("ssl/default.pem", &two)]), "set ssl cert ssl/default.pem"),
        (
            given("", &[("ssl/ca.pem", &one)]),
            given("", &[("ssl/list.txt", "ssl/bind.pem [ca-file ssl/ca.pem] a"), ("ssl/ca.pem", &one)]),
            "reload: crt-list ssl/list.txt: ssl/bind.pem has options that are read only when HAProxy starts",
        ),
        (
            given("backend x from web\n", &[]),
            given("backend x from web\n server a 10.0.0.1:443 ssl crt ssl/x.pem\n", &[("ssl/x.pem", &one)]),
            "new ssl cert ssl/x.pem; add server x/a 10.0.0.1:443",
        ),
        (
            given("backend x from web\n server a 10.0.0.1:443 ssl crt ssl/x.pem\n", &[("ssl/x.pem", &one)]),
            given("backend x from web\n", &[]),
            "del server x/a; del ssl cert ssl/x.pem",
        ),
    ] {
        assert_eq!(on_3_4(&old, &new), expected);
    }
    let (old, new) = (list("ssl/a.pem a", &one), list("ssl/a.pem a", &large));
    assert!(between(&old, &new, HaproxyVersion::new(3, 2)).contains("the socket of HAProxy 3.2 takes 15000"));
}

#[test]
fn maps_and_lists_of_patterns_follow_their_use() {
    for (path, old, new, expected) in [
        ("maps/host.map", "a 1", "a 2", "set map maps/host.map a 2"),
        (
            "maps/lan.lst",
            "10.0.0.1",
            "10.0.0.2",
            "add acl maps/lan.lst 10.0.0.2; del acl maps/lan.lst 10.0.0.1",
        ),
        ("maps/regex.map", "a 1", "a 1; b 2", "replace map maps/regex.map"),
        ("maps/unused.map", "a 1", "a 2", "nothing"),
        ("general/503.http", "HTTP/1.0 503", "HTTP/1.0 503 x", "reload: file general/503.http changed"),
        ("general/unused.http", "a", "b", "nothing"),
    ] {
        assert_eq!(on_3_4(&given("", &[(path, old)]), &given("", &[(path, new)])), expected);
    }
}

/// By the lines of haproxy.cfg, whatever they are called.
#[test]
fn what_rules_ask_first_gets_its_entries_last_and_loses_them_first() {
    let without = given("", &[]);
    let with = given("", &[("maps/lan.lst", "10.0.0.0/8; "), ("maps/host.map", "a.example b; ")]);
    assert_eq!(on_3_4(&without, &with), "add map maps/host.map a.example b; add acl maps/lan.lst 10.0.0.0/8");
    assert_eq!(on_3_4(&with, &without), "del acl maps/lan.lst 10.0.0.0/8; del map maps/host.map a.example");
}

#[test]
fn a_frontends_limit_changes_at_run_time() {
    let with = |text: &str| {
        let text = format!("defaults web\n mode http\nfrontend f from web\n bind :80\n{text}");
        Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&text)), [])
    };
    let plan = |old: &str, new: &str| {
        let capabilities = Capabilities::of(HaproxyVersion::new(3, 0));
        plan(&RunningView::of(with(old)), &with(new), capabilities).verdict
    };
    let set = Operation::SetFrontendMaxconn { frontend: "f".to_owned(), maxconn: 20 };
    assert_eq!(plan(" maxconn 10\n", " maxconn 20\n"), Verdict::Runtime { operations: vec![set] });
    let more = plan(" maxconn 10\n", " maxconn 20\n option httplog\n");
    assert_eq!(more.reload_reason().unwrap(), "frontend f: maxconn changed, option httplog added");
    assert!(plan(" maxconn 10\n", "").reload_reason().is_some());
}
