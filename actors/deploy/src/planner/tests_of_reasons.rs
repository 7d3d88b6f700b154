//! Every reason to reload, as a person reads it: what changes, on which HAProxy, and the sentence.

use super::*;
use haptic_model::{BundleFile, FileKey, FileKind, HaproxyVersion};
use haptic_text::{Blame, Fragment, Text};
use std::collections::BTreeMap;

const CONFIG: &str = "global
 maxconn 100
defaults web
 mode http
 balance roundrobin
defaults modeless
 timeout client 5s
frontend http from web
 bind :80
 bind :443 ssl strict-sni crt-list ssl/list.txt ca-file ssl/ca.pem
 bind :444 ssl crt-list ssl/lax.txt
 http-request set-map(maps/learned.map) %[src] 1 if { src -f maps/lan.lst }
 http-request set-var(txn.b) path,map_beg(maps/path.map)
 use_backend named if { path /named }
 use_backend %[var(txn.b)] if { var(txn.b) -m found }
 errorfile 503 general/503.http
backend shop from web
 server a 10.0.0.1:80
 server c 10.0.0.3:80 check inter 2s
backend first from web
 balance first
 server a 10.0.0.1:80
 server c 10.0.0.3:80
backend hashed from web
 balance source
 server a 10.0.0.1:80
backend ring from web
 balance source
 hash-type consistent
 server a 10.0.0.1:80
backend spare from web
 server a 10.0.0.1:80 backup
 server c 10.0.0.3:80 backup
backend tls from web
 server a 10.0.0.1:443 ssl verify required ca-file ssl/servers.pem
backend ordered from web
 server a 10.0.0.1:443 ssl verify none force-tlsv12 no-tls-tickets cookie \"$X\"
backend named from web
";

/// What changes: text of haproxy.cfg, or a file from one content to another.
enum Change {
    Config(&'static str, &'static str),
    File(&'static str, &'static str, &'static str),
}

use Change::{Config, File};

fn bundle(config: &str, changed: Option<(&str, &str)>) -> Bundle {
    let pem = |name: &str| {
        format!(
            "-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n"
        )
    };
    let mut files: BTreeMap<&str, String> = BTreeMap::from([
        ("maps/lan.lst", String::new()),
        ("maps/path.map", String::new()),
        ("maps/learned.map", String::new()),
        ("general/503.http", String::new()),
        ("ssl/list.txt", "ssl/a.pem a.example\n".to_owned()),
        ("ssl/lax.txt", "ssl/a.pem a.example\n".to_owned()),
        ("ssl/a.pem", pem("a")),
        ("ssl/b.pem", pem("b")),
        ("ssl/ca.pem", pem("ca")),
        ("ssl/servers.pem", pem("servers")),
    ]);
    files.extend(changed.map(|(path, text)| (path, text.to_owned())));
    let file = |(path, text): (&str, String)| {
        let kind = match path.split_once('/') {
            Some(("maps", _)) => FileKind::Map,
            Some(("ssl", name)) if name.ends_with(".txt") => FileKind::CrtList,
            Some(("ssl", _)) => FileKind::Certificate,
            _ => FileKind::General,
        };
        BundleFile::new(FileKey::new(kind, path), path, Text::plain(&text))
    };
    let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(config));
    Bundle::new(config, files.into_iter().map(file))
}

/// The verdict of a change on HAProxy `version`.
fn verdict(version: HaproxyVersion, change: &Change) -> String {
    let (old, new) = match change {
        Config(from, to) => {
            assert!(CONFIG.contains(from), "{from}");
            (bundle(CONFIG, None), bundle(&CONFIG.replacen(from, to, 1), None))
        }
        File(path, from, to) => (bundle(CONFIG, Some((path, from))), bundle(CONFIG, Some((path, to)))),
    };
    let verdict = plan(&RunningView::of(old), &new, Capabilities::of(version)).verdict;
    verdict.reload_reason().unwrap_or_else(|| format!("no reload: {:?}", verdict.operations()))
}

#[test]
fn each_reason_to_reload_is_a_sentence_that_says_what_and_why() {
    const V3_0: HaproxyVersion = HaproxyVersion::new(3, 0);
    const V3_2: HaproxyVersion = HaproxyVersion::new(3, 2);
    const V3_4: HaproxyVersion = HaproxyVersion::new(3, 4);
    let table = [
        // What stands elsewhere than in backends.
        (V3_4, Config("maxconn 100", "maxconn 200"), "global section: maxconn changed"),
        (V3_4, Config("bind :80", "bind :81"), "frontend http: bind changed"),
        (V3_4, Config("roundrobin\n", "leastconn\n"), "defaults web: balance changed"),
        (
            V3_4,
            Config("frontend http from web", "frontend http"),
            "frontend http: it starts from another defaults section",
        ),
        // Backends that come and go.
        (
            V3_0,
            Config("backend named from", "backend new from web\nbackend named from"),
            "backend new: HAProxy 3.0 cannot add a backend at run time",
        ),
        (
            V3_2,
            Config(
                "backend tls from web\n server a 10.0.0.1:443 ssl verify required ca-file ssl/servers.pem\n",
                "",
            ),
            "backend tls: HAProxy 3.2 cannot remove a backend at run time",
        ),
        (
            V3_4,
            Config("backend named from web\n", ""),
            "backend named is gone, and the running configuration names it elsewhere",
        ),
        (
            V3_4,
            Config("backend named from", "backend new\nbackend named from"),
            "backend new: without a named defaults section (backend new from …) it is made only when HAProxy starts",
        ),
        (
            V3_4,
            Config("backend named from", "backend new from modeless\nbackend named from"),
            "backend new: defaults modeless must say mode http or mode tcp for a backend at run time",
        ),
        (
            V3_4,
            Config("backend named from", "backend new from web\n option httpchk\nbackend named from"),
            "backend new: HAProxy can add one of nothing but servers at run time, and it has option",
        ),
        (
            V3_4,
            Config("backend named from", "backend http from web\nbackend named from"),
            "backend http: a frontend or a defaults section has the same name",
        ),
        (
            V3_4,
            Config("backend shop from web", "backend shop from web\n option httpchk"),
            "backend shop: option httpchk added",
        ),
        // Servers.
        (V3_4, Config("inter 2s", "inter 5s"), "server shop/c: inter 2s became inter 5s"),
        (
            V3_4,
            Config("force-tlsv12 no-tls-tickets", "no-tls-tickets force-tlsv12"),
            "server ordered/a: parameters whose order matters stand in another one",
        ),
        (V3_4, Config("cookie \"$X\"", "cookie '$X'"), "server ordered/a: cookie $X became cookie $X"),
        (
            V3_4,
            Config("10.0.0.3:80 check", "shop.example:80 check"),
            "server shop/c: from 10.0.0.3:80 to shop.example:80 HAProxy must start anew",
        ),
        (
            V3_4,
            Config("shop from web", "shop from web\n server x 10.0.0.2"),
            "server shop/x: only an address with a port can be added at run time",
        ),
        (
            V3_4,
            Config("shop from web", "shop from web\n server x 10.0.0.2:80 sni str(a;b)"),
            "server shop/x: \"str(a;b)\" cannot be given to HAProxy's socket",
        ),
        (
            V3_4,
            Config("shop from web", "shop from web\n server x 10.0.0.2:80 track a"),
            "server shop/x: HAProxy takes track only when it starts",
        ),
        (V3_4, Config("inter 2s", "inter 2s maxconn 5 minconn 2"), "server shop/c: minconn 2 is new"),
        (V3_4, Config("inter 2s", "inter 2s port 0"), "server shop/c: port 0 is new"),
        (
            V3_4,
            Config("first\n server a 10.0.0.1:80\n", "first\n"),
            "backend first: balance first uses servers in the order of their lines",
        ),
        (
            V3_4,
            Config(
                " server a 10.0.0.1:80\n server c 10.0.0.3:80\n",
                " server c 10.0.0.3:80\n server a 10.0.0.1:80\n",
            ),
            "backend first: balance first follows the order of servers, which changed",
        ),
        (
            V3_4,
            Config(
                " server a 10.0.0.1:80 backup\n server c 10.0.0.3:80 backup\n",
                " server c 10.0.0.3:80 backup\n server a 10.0.0.1:80 backup\n",
            ),
            "backend spare: its backup servers are used in the order of their lines, which changed",
        ),
        (
            V3_4,
            Config("source\n server", "source\n server b 10.0.0.2:80\n server"),
            "backend hashed: balance source needs hash-type consistent for server changes at run time",
        ),
        (
            V3_4,
            Config("consistent\n", "consistent\n server b 10.0.0.2:80\n"),
            "backend ring: balance source places server b by its line, unless it has hash-key addr-port",
        ),
        // Files.
        (V3_4, File("general/503.http", "a", "b"), "file general/503.http changed"),
        (
            V3_4,
            File("maps/learned.map", "a 1\n", "a 2\n"),
            "map maps/learned.map changed: rules of haproxy.cfg change it in memory",
        ),
        (
            V3_4,
            File("maps/path.map", "a 1\n", "a\n"),
            "map maps/path.map changed: its entry a has no value, and the socket takes none without",
        ),
        (
            V3_4,
            File("maps/lan.lst", "", " #1\n"),
            "map maps/lan.lst changed: its pattern #1 begins like an address or a version to the socket",
        ),
        (
            V3_4,
            File("ssl/list.txt", "ssl/a.pem a\n", "ssl/b.pem a\nssl/a.pem a\n"),
            "crt-list ssl/list.txt: ssl/b.pem must come before ssl/a.pem, and what is added at run time comes last",
        ),
        (
            V3_4,
            File("ssl/list.txt", "ssl/a.pem a\nssl/a.pem [alpn h2] a\n", "ssl/a.pem a\n"),
            "crt-list ssl/list.txt: two lines of ssl/a.pem name the same hosts",
        ),
        (
            V3_4,
            File("ssl/list.txt", "ssl/a.pem a\nssl/a.pem a\n", "ssl/a.pem a\n"),
            "crt-list ssl/list.txt: two lines of ssl/a.pem name the same hosts",
        ),
        (
            V3_4,
            File("ssl/lax.txt", "ssl/a.pem a\n", "ssl/b.pem b\n"),
            "crt-list ssl/lax.txt: its first line is the default certificate, chosen when HAProxy starts",
        ),
        (
            V3_4,
            File("ssl/a.pem", "x PRIVATE KEY-----", "y"),
            "certificate ssl/a.pem has its key in another file, which is read only when HAProxy starts",
        ),
        (
            V3_4,
            File("ssl/servers.pem", "a", "b"),
            "CA file ssl/servers.pem changed, and servers that are there keep the old one until HAProxy starts",
        ),
        (
            V3_0,
            File("ssl/ca.pem", "a", "b"),
            "CA file ssl/ca.pem changed, and HAProxy 3.0 loses sight of the certificates of its bind lines then",
        ),
        (V3_4, File("ssl/ca.pem", "a", "b"), "CA file ssl/ca.pem has no certificate"),
        (
            V3_4,
            Config("named from web", "named from web\n server a 10.0.0.1:443 ssl ca-file no.pem"),
            "CA file no.pem is named for the first time, and is no file of the bundle",
        ),
    ];
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(version, change, expected)| {
            let told = verdict(*version, change);
            (told != *expected).then(|| format!("expected: {expected}\n    told: {told}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        verdict(V3_4, &Config("backend named from", "backend new from web\nbackend named from"))
            .contains("AddBackend")
    );
}

#[test]
fn a_reason_does_not_tell_what_is_from_a_secret() {
    let bundle = |cookie: &str| {
        let text = format!("backend shop\n server a 10.0.0.1:80 cookie {cookie}\n");
        let at = text.find(cookie).unwrap();
        let blame = Blame { secrets: std::iter::once(at..at + cookie.len()).collect(), ..Blame::default() };
        let text = Text::new(vec![Fragment::new(text, Arc::new(blame))]);
        Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), [])
    };
    let (old, new) = (bundle("old-and-secret"), bundle("new-and-secret"));
    let plan = plan(&RunningView::of(old), &new, Capabilities::of(HaproxyVersion::new(3, 4)));
    let told = plan.verdict.reload_reason().unwrap();
    assert_eq!(told, "server shop/a: cookie [redacted] became cookie [redacted]");
}
