//! A path has one meaning, however it is spelt: of requests and of Ingresses, for what protects it and for what rewrites it.

use crate::{
    SERIES,
    around::Around,
    client::{Way, ask},
    on_each_haproxy, on_each_haproxy_with,
    options::{both, certificate},
    random::Dice,
    site::{SCHEMES, Scheme, Site},
};
use haptic_routes::path::{Doubt, NormalPath, Unreadable, normal};
use integration_tests::certificate::Authority;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
};

const HOST: &str = "a.example";

/// Spellings that are compared, of all HAProxys together.
const SPELLINGS: u64 = 100_000;

/// What spellings are made of.
const PIECES: [&str; 48] = [
    "/",
    "/",
    "/",
    "//",
    "/./",
    "/../",
    "/..",
    "/.",
    ".",
    "..",
    "a",
    "b",
    "admin",
    "A",
    "%61",
    "%41",
    "%2e",
    "%2E",
    "%2e%2e/",
    ".%2e",
    "%2f",
    "%2F",
    "%5c",
    "%5C",
    "\\",
    ";",
    ";v=1",
    "%3b",
    "%3B",
    "%",
    "%2",
    "%zz",
    "%25",
    "%252e",
    "%3f",
    "%3F",
    "%23",
    "%0a",
    "%0D",
    "%20",
    "%c3%a9",
    "%C3%A9",
    "%FF",
    "@%40",
    "+%2b",
    "!$&'()*,=:~-_",
    "\"<>^`{|}[]",
    "%00",
];

fn spelling(dice: &mut Dice) -> String {
    let count = 1 + dice.below(10) * dice.below(4);
    // The last piece ends all comparing, so it is rare.
    let pieces = (0..count).map(|_| {
        let rare = dice.below(20) == 0;
        PIECES[dice.below(if rare { 48 } else { 47 })]
    });
    let path = format!("/{}", pieces.collect::<String>());
    match dice.below(400) {
        0 => path.repeat(5_000 / path.len() + 1),
        1 => path + &"/a".repeat(9) + &"/..".repeat(8 + dice.below(2)) + "/x",
        _ => path,
    }
}

/// A connection to a site that says what it makes of a path.
struct Shown {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Shown {
    fn at(address: SocketAddr) -> Self {
        Self { address, stream: BufReader::new(TcpStream::connect(address).unwrap()) }
    }

    /// What HAProxy says of `path` in the words of the model: `None` if it refuses it.
    fn of(&mut self, path: &str) -> Option<NormalPath> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut lines, mut line) = (Vec::new(), String::new());
        while {
            line.clear();
            self.stream.read_line(&mut line).unwrap() > 2
        } {
            lines.push(line.trim_end().to_owned());
        }
        let status = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or("nothing");
        if status == "400" {
            *self = Self::at(self.address);
            return None;
        }
        assert_eq!(status, "200", "{path}: {lines:?}");
        let value = |name: &str| {
            let line = lines.iter().find_map(|line| {
                line.to_ascii_lowercase().starts_with(name).then(|| line[name.len()..].trim())
            });
            line.unwrap_or_default().to_owned()
        };
        let (unresolved, ambiguous) = (value("x-unresolved:"), value("x-ambiguous:"));
        let doubt = if ambiguous == "1" {
            Doubt::Ambiguous
        } else if unresolved.is_empty() {
            Doubt::None
        } else {
            Doubt::Unresolved(unresolved)
        };
        Some(NormalPath { text: value("x-path:"), doubt })
    }
}

/// A part that answers with what is known of the path.
fn showing(spec: &mut Value) {
    spec["templateSnippets"] = json!({"frontend-26-show": {"template":
        "http-request return status 200 hdr X-Path %[var(txn.path)] hdr X-Unresolved %[var(txn.unresolved)] hdr X-Ambiguous %[var(txn.ambiguous)]\n"}});
}

#[test]
fn haproxy_reads_any_spelling_as_the_model_does() {
    for (number, series) in (0..).zip(SERIES) {
        let site = Site::start_with(series, &[], showing);
        let (mut shown, mut dice) = (Shown::at(site.address(Scheme::Http)), Dice(number));
        let (mut refused, mut climbing) = (0, 0);
        for _ in 0..SPELLINGS / 3 + 1 {
            let path = spelling(&mut dice);
            let expected = normal(&path);
            let got = shown.of(&path);
            assert_eq!(got.as_ref(), expected.as_ref().ok(), "{series:?} {path}: {expected:?}");
            refused += u64::from(expected.is_err());
            climbing += u64::from(expected.is_ok_and(|normal| normal.doubt != Doubt::None));
        }
        assert!(refused > 100 && climbing > 1_000, "{refused} refused, {climbing} in doubt: too few");
    }
}

#[test]
fn long_paths_are_read_whole_or_refused() {
    let repeated = |piece: &str, length: usize| format!("/{}", piece.repeat(length / piece.len()));
    let pieces = ["a", "%", "%41", "%C3", "%c3", ";a", "/", "%2e/", "/..", "a/../", "%2541", "\\", "{"];
    let tail = "/admin";
    for series in SERIES {
        let site = Site::start_with(series, &[], showing);
        let mut shown = Shown::at(site.address(Scheme::Http));
        for (piece, length) in
            pieces.iter().flat_map(|piece| [1_000, 4_980, 5_020, 9_000, 14_000].map(|l| (piece, l)))
        {
            let path = repeated(piece, length) + tail;
            assert_eq!(
                shown.of(&path).as_ref(),
                normal(&path).as_ref().ok(),
                "{series:?}: {length} bytes of {piece}"
            );
        }
        assert_eq!(normal(&repeated("%41", 6_000)), Err(Unreadable::TooLong));
    }
}

fn ingress(name: &str, path: &str, service: u8, annotations: Value) -> Value {
    json!({"kind": "Ingress", "metadata": {"namespace": "shop", "name": name, "annotations": annotations},
        "spec": {"tls": [{"hosts": [HOST], "secretName": "a-tls"}], "rules": [{"host": HOST, "http": {"paths": [
            {"path": path, "pathType": "ImplementationSpecific",
                "backend": {"service": {"name": format!("s{service}"), "port": {"number": 80}}}}]}}]}})
}

/// `/admin` for clients from elsewhere only, and all else for everybody.
fn protected() -> Vec<Value> {
    let nobody = json!({"haproxy-haptic.org/allow-from": "192.0.2.0/24"});
    vec![ingress("admin", "/admin", 1, nobody), ingress("all", "/", 2, json!({})), certificate()]
}

/// Spellings of what is below `/admin` for a server that decodes, merges slashes, resolves dots or drops parameters.
const DISGUISED: [&str; 26] = [
    "/admin",
    "//admin",
    "///admin//",
    "/%61dmin",
    "/%61%64%6d%69%6e",
    "/./admin",
    "/x/../admin",
    "/x/y/../../admin",
    "/../admin",
    "/admin;x",
    "/admin;x=1/y",
    "/;/admin",
    "/.;/admin",
    "/admin/",
    "/admin%2F",
    "/admin%2fx",
    "/%2Fadmin",
    "/\\admin",
    "/admin\\x",
    "/%5Cadmin",
    "/%2e/admin",
    "/x/%2e%2e/admin",
    "/x/..%2Fadmin",
    "/x%2F..%2Fadmin",
    "/x/..;/admin",
    "/public%3F/../admin",
];

/// What only a server reads below `/admin` that does not resolve these dots.
const AMBIGUOUS: [&str; 6] = [
    "/admin/../public",
    "/admin/x%2F..%2F..%2Fpublic",
    "/admin/%2e%2e/public",
    "/admin/..;/public",
    "/public/../admin/..%2F../public",
    "/public/../admin//../public",
];

#[test]
fn what_protects_a_path_protects_each_of_its_spellings() {
    on_each_haproxy(&protected(), |site| {
        let clients = Around::clients(&Authority::new("any").unwrap(), site.address(Scheme::Https), HOST);
        let over_h2 = |path: &str| {
            ask(&Way::to(clients.over_h2(), None), &format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n"), "")
                .unwrap()
        };
        for path in DISGUISED {
            for scheme in SCHEMES {
                assert_eq!(site.get(scheme, HOST, path).status, 403, "{path}");
            }
            assert_eq!(over_h2(path).status, 403, "{path} over HTTP/2");
            let absolute = format!("http://{HOST}{path}");
            assert_eq!(site.get(Scheme::Http, HOST, &absolute).status, 403, "{absolute}");
        }
        for path in AMBIGUOUS {
            assert_eq!(site.get(Scheme::Http, HOST, path).status, 400, "{path}");
            assert_eq!(over_h2(path).status, 400, "{path} over HTTP/2");
        }
        assert_eq!(site.get(Scheme::Http, HOST, "/x%00/admin").status, 400);
        for path in [
            "/public//x%2Fy;z/%61?q=//",
            "/ADMIN",
            "/%2561dmin",
            "/admin%3Fx",
            "/admins",
            "/x/../public",
            "/a/./b",
        ] {
            for answer in [site.get(Scheme::Http, HOST, path), over_h2(path)] {
                assert_eq!(answer.service(), Some(2), "{path}: {answer:?}");
                assert_eq!(
                    answer.request_line(),
                    format!("GET {path} HTTP/1.1"),
                    "servers get what was sent"
                );
            }
        }
    });
}

#[test]
fn no_server_takes_a_part_of_the_path_for_a_host() {
    on_each_haproxy(&protected(), |site| {
        for path in ["//x/admin", "/\\x/admin", "///x/admin", "/\\/x/admin"] {
            let answer = site.get(Scheme::Http, HOST, path);
            assert_eq!(
                (answer.service(), answer.request_line()),
                (Some(2), "GET /x/admin HTTP/1.1"),
                "{path}"
            );
        }
    });
}

#[test]
fn other_spellings_are_refused_or_read_byte_by_byte_where_a_setting_says_so() {
    let with = |setting: &'static str| {
        move |spec: &mut Value| spec["templatingSettings"]["extraContext"]["paths"] = json!(setting)
    };
    on_each_haproxy_with(&protected(), with("refuse"), |site| {
        for path in DISGUISED
            .iter()
            .skip(1)
            .filter(|path| **path != "/admin/")
            .chain(&AMBIGUOUS)
            .chain(&["/%7Ex", "/x%zz", "/x%2"])
        {
            assert_eq!(site.get(Scheme::Http, HOST, path).status, 400, "{path}");
        }
        assert_eq!(site.get(Scheme::Http, HOST, "/admin").status, 403);
        for path in ["/x", "/caf%C3%A9", "/caf%c3%a9", "/a%40b", "/a%20b/", "/.well-known/x..y"] {
            assert_eq!(site.get(Scheme::Http, HOST, path).service(), Some(2), "{path}");
        }
    });
    on_each_haproxy_with(&protected(), with("raw"), |site| {
        assert_eq!(site.get(Scheme::Http, HOST, "/admin/x").status, 403);
        for path in ["//admin", "/%61dmin", "/x/../admin"] {
            assert_eq!(site.get(Scheme::Http, HOST, path).service(), Some(2), "{path}");
        }
    });
}

#[test]
fn what_is_rewritten_is_the_path_that_was_compared() {
    let line = |site: &Site, path: &str| site.get(Scheme::Http, HOST, path).request_line().to_owned();
    let mut manifests = both(&[("rewrite-path", "/new")]);
    manifests.push(certificate());
    on_each_haproxy(&manifests, |site| {
        for path in [
            "/on/x?y=//on",
            "//on/x?y=//on",
            "/%6fn/x?y=//on",
            "/on;v=1/x?y=//on",
            "/on%2Fx?y=//on",
            "/./on/./x?y=//on",
        ] {
            assert_eq!(line(site, path), "GET /new/x?y=//on HTTP/1.1", "{path}");
        }
        assert_eq!(line(site, "/on/a%3fb%23c%7Bd"), "GET /new/a%3Fb%23c%7Bd HTTP/1.1");
    });
    let mut manifests = both(&[("rewrite-regex", "^/on/(.*)"), ("rewrite-replacement", r"/v2/\1")]);
    manifests.push(certificate());
    on_each_haproxy(&manifests, |site| {
        for path in ["/on/x?y", "//on/x?y", "/%6Fn/x?y"] {
            assert_eq!(line(site, path), "GET /v2/x?y HTTP/1.1", "{path}");
        }
    });
}

#[test]
fn the_paths_of_ingresses_are_read_as_those_of_requests() {
    let paths = ["/a%2Fb", "/c//d", "/e/./f;x", "/caf\u{e9}", "/g%20h", "/%69", "/j/../k", "/l%C3%a9"];
    let asked = ["/a/b", "/c/d/x", "/e/f", "/caf%C3%A9", "/g%20h", "/i", "/k", "/l%c3%A9/"];
    let ingresses = paths
        .iter()
        .zip(1..)
        .map(|(path, service)| ingress(&format!("i{service}"), path, service, json!({})));
    let mut manifests: Vec<Value> = ingresses.collect();
    manifests.push(certificate());
    on_each_haproxy(&manifests, |site| {
        for ((path, asked), service) in paths.iter().zip(asked).zip(1..) {
            assert_eq!(site.get(Scheme::Http, HOST, asked).service(), Some(service), "{path} by {asked}");
        }
    });
}
