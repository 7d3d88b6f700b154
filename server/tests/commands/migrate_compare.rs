//! `haptic migrate compare`: two HAProxys that serve the same Ingresses answer the same, and what one of them serves otherwise is
//! found. Who answers badly is no HAProxy.

use crate::{
    local::Running,
    place::{Done, Place},
};
use serde_json::Value;
use std::{
    fmt::Write as _,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::net::TcpSocket;

const CONFIG: &str = "
apiVersion: haproxy-haptic.org/v1alpha1
kind: HAProxyTemplateConfig
metadata: {name: compared}
spec:
  libraries: [base, ssl, ingress, annotations-haproxy-org]
  credentialsSecretRef: {name: haproxy-credentials}
  podSelector: {matchLabels: {app: haproxy}}
  templatingSettings:
    extraContext:
      ingressClass: {withoutClass: true}
      annotationFamilies: {haproxy-org: {}}
      httpsPublicPort: 7443
";

fn ingress(name: &str, annotations: &str, path: &str) -> String {
    format!(
        "---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: {name}, namespace: shop, annotations: {{{annotations}}}}}
spec:
  rules:
    - host: {name}.example
      http: {{paths: [{{path: {path}, pathType: Prefix, backend: {{service: {{name: web, port: {{number: 80}}}}}}}}]}}
"
    )
}

/// A HAProxy that serves these manifests.
fn serving(manifests: &str) -> (Place, Running) {
    let place = Place::new();
    place.write("config.yaml", CONFIG);
    place.write("manifests/all.yaml", manifests);
    let running = Running::start(place.path());
    (place, running)
}

/// Where a HAProxy answers HTTP and HTTPS.
fn urls(running: &Running) -> [String; 2] {
    let addresses = running.addresses("HAProxy listens at");
    [format!("http://{}", addresses[1]), format!("https://{}", addresses[2])]
}

fn compare(place: &Place, more: &[&str]) -> Done {
    place.haptic(&[&["migrate", "compare", "--from", "haproxy-org", "--rate", "1000"], more].concat())
}

const LEADS_AWAY: &str = "haproxy.org/request-redirect: https://new.example";
const ELSEWHERE: &str = "haproxy.org/request-redirect: https://other.example";
const NOT_FROM_HERE: &str = "haproxy.org/allow-list: 192.0.2.0/24";

#[test]
fn what_one_of_two_serves_otherwise_is_found_also_when_the_other_one_is_gone() {
    let manifests = |a: &str, path: &str| {
        ingress("a", a, "/") + &ingress("b", NOT_FROM_HERE, path) + &ingress("c", "", "/shop")
    };
    let (place, old) = serving(&manifests(LEADS_AWAY, "/app"));
    let (_same, same) = serving(&manifests(LEADS_AWAY, "/app"));
    let (_other, other) = serving(&manifests(ELSEWHERE, "/other"));
    let ([http, https], [http_same, https_same], [http_other, https_other]) =
        (urls(&old), urls(&same), urls(&other));
    let from = ["-f", "manifests", "--reference", &http, "--reference", &https];

    let done = compare(&place, &[&from[..], &["--ours", &http_same, "--ours", &https_same]].concat());
    done.must(
        0,
        &["3 Ingresses: 3 answered the same, 0 otherwise;", " 0 answered otherwise, 0 without an answer"],
    );

    let done = compare(&place, &[&from[..], &["--ours", &http_other, "--ours", &https_other]].concat());
    let words = [
        "differs Ingress shop/a",
        "GET http://a.example/ (the path itself)",
        "location: https://new.example/, here https://other.example/",
        "differs Ingress shop/b",
        "status: 403, here 404",
        "3 Ingresses: 1 answered the same, 2 otherwise;",
    ];
    done.must(3, &words);
    assert!(!done.out.contains("shop/c"), "{}", done.out);

    // One scheme is enough, and what is printed is for programs, too.
    let one = ["-f", "manifests", "--reference", &http, "--ours", &http_other];
    let done = compare(&place, &[&one[..], &["--output", "json"]].concat());
    done.must(3, &[]);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (&report["totals"]["ingresses"], &report["totals"]["differs"]),
        (&3.into(), &2.into()),
        "{report}"
    );
    assert_eq!(report["ingresses"][0]["name"], "a", "{report}");
    assert!(report["ingresses"].as_array().unwrap().iter().all(|one| one["name"] != "c"), "{report}");
    compare(&place, &[&one[..], &["--output", "markdown"]].concat())
        .must(3, &["| shop/a | GET http://a.example/"]);
    compare(&place, &["-f", "manifests", "--reference", &http, "--ours", &https_other])
        .must(2, &["of the same scheme"]);

    // The old one answers for later, and goes.
    let done = compare(&place, &[&from[..], &["--record", "old.jsonl"]].concat());
    done.must(0, &["requests of 3 Ingresses are recorded"]);
    drop(old);
    let recorded = ["--reference", "old.jsonl"];
    let done = compare(&place, &[&recorded[..], &["--ours", &http_same, "--ours", &https_same]].concat());
    done.must(0, &["3 Ingresses: 3 answered the same"]);
    let done = compare(&place, &[&recorded[..], &["--ours", &http_other, "--ours", &https_other]].concat());
    done.must(3, &["here https://other.example/", "1 answered the same, 2 otherwise"]);

    // Manifests choose of a recording, and what it does not have is said.
    place.write("fewer.yaml", &(ingress("c", "", "/shop") + &ingress("d", "", "/")));
    let fewer = ["-f", "fewer.yaml", "--ours", &http_other, "--ours", &https_other];
    let done = compare(&place, &[&recorded[..], &fewer].concat());
    done.must(1, &["Ingress shop/d is not in the recording", "1 Ingresses: 1 answered the same"]);
    let done = compare(&place, &["--reference", "old.jsonl", "--ours", &http_same]);
    done.must(1, &["it is asked over https: give an address with https:// as well"]);

    let nginx =
        ["migrate", "compare", "--from", "ingress-nginx", "--reference", "old.jsonl", "--ours", &http_same];
    place.haptic(&nginx).must(1, &["old.jsonl: it is a recording of haproxy-org"]);
    let text = std::fs::read_to_string(place.path().join("old.jsonl")).unwrap();
    place.write("newer.jsonl", &text.replacen("\"version\":1", "\"version\":2", 1));
    compare(&place, &["--reference", "newer.jsonl", "--ours", &http_same])
        .must(1, &["version 2", "record again"]);
    place.write("half.jsonl", &text.lines().take(3).fold(String::new(), |all, line| all + line + "\n"));
    compare(&place, &["--reference", "half.jsonl", "--ours", &http_same, "--ours", &https_same])
        .must(1, &["half.jsonl: it ends after 2 requests"]);
}

/// Answers each request by its head, and keeps what it was asked.
struct Answering {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Answering {
    fn start(answer: impl Fn(&str, &mut TcpStream) + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, heads) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let asked = heads.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (answer, asked) = (answer.clone(), asked.clone());
                std::thread::spawn(move || {
                    let (mut head, mut byte) = (Vec::new(), [0]);
                    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read > 0) {
                        head.push(byte[0]);
                    }
                    if head.is_empty() {
                        return;
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    asked.lock().unwrap().push(head.clone());
                    answer(&head, &mut stream);
                });
            }
        });
        Self { address, heads }
    }

    /// One that always says the same.
    fn saying(text: &'static str) -> Self {
        Self::start(move |_, stream| drop(stream.write_all(text.as_bytes())))
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Server: one\r\n\r\n";
const OTHER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Server: two\r\n\r\n";

#[test]
fn hosts_are_asked_for_by_their_names_with_nothing_that_changes_something() {
    let place = Place::new();
    let all = ingress("a", "", "/") + &ingress("b", "", "/app").replace("host: b.example", "host: ''");
    place.write("all.yaml", &all);
    let (old, new) = (Answering::saying(OK), Answering::saying(OTHER));
    let (reference, ours) = (old.url(), new.url());
    let sides = ["-f", "all.yaml", "--reference", &reference, "--ours", &ours];
    compare(&place, &sides).must(0, &["2 Ingresses: 2 answered the same"]);
    let heads = old.heads();
    assert_eq!(heads.len(), new.heads().len());
    for head in &heads {
        let safe = ["GET ", "HEAD ", "OPTIONS "].iter().any(|method| head.starts_with(method));
        assert!(safe && !head.to_lowercase().contains("authorization"), "{head}");
    }
    let has = |words: &str| heads.iter().any(|head| head.to_lowercase().contains(words));
    assert!(has("host: a.example\r\n") && has("host: 127.0.0.1"), "{heads:#?}");

    // Who answers counts where there is a header that tells, also in a recording.
    let echo = ["--echo-header", "X-Server"];
    compare(&place, &[&sides[..], &echo].concat()).must(3, &["x-server: one, here two", "2 otherwise"]);
    let record =
        ["-f", "all.yaml", "--reference", &reference, "--record", "old.jsonl", "--echo-header", "X-Server"];
    compare(&place, &record).must(0, &["recorded"]);
    compare(&place, &["--reference", "old.jsonl", "--ours", &ours]).must(3, &["x-server: one, here two"]);

    compare(&place, &[&sides[..], &["--method", "post"]].concat()).must(0, &[]);
    assert!(old.heads().iter().any(|head| head.starts_with("POST / ")), "{:#?}", old.heads());
    compare(&place, &[&sides[..], &["--method", "CONNECT"]].concat()).must(2, &["must be a method"]);
}

#[test]
fn passwords_go_to_their_host_alone_and_into_no_file() {
    let place = Place::new();
    let guarded = "haproxy.org/auth-type: basic-auth, haproxy.org/auth-secret: users";
    place.write("all.yaml", &(ingress("a", guarded, "/") + &ingress("b", guarded, "/")));
    place.write("passwords", "# of the shop\na.example anna:hunter2\n");
    // A session that nobody else may have.
    let old = Answering::saying(
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: session=hunter3; Path=/\r\n\r\n",
    );
    let reference = old.url();
    let record =
        ["-f", "all.yaml", "--reference", &reference, "--record", "old.jsonl", "--credentials", "passwords"];
    compare(&place, &record).must(0, &["recorded", "passwords are sent in clear"]);
    let with: Vec<String> =
        old.heads().into_iter().filter(|head| head.to_lowercase().contains("authorization:")).collect();
    // anna:hunter2
    assert!(
        with.len() == 1 && with[0].contains("Basic YW5uYTpodW50ZXIy") && with[0].contains("a.example"),
        "{with:#?}"
    );
    let recording = std::fs::read_to_string(place.path().join("old.jsonl")).unwrap();
    assert!(!recording.contains("hunter") && !recording.contains("YW5uYTpodW50ZXIy"), "{recording}");
    assert!(recording.contains("session=…; path=/"), "{recording}");
    let again = ["--reference", "old.jsonl", "--ours", &reference];
    compare(&place, &again).must(1, &["--credentials has no line for a.example"]);
    compare(&place, &[&again[..], &["--credentials", "passwords"]].concat()).must(0, &[]);
    let over_tls = ["-f", "all.yaml", "--reference", "https://127.0.0.1:1", "--ours", "https://127.0.0.1:1"];
    compare(&place, &[&over_tls[..], &["--credentials", "passwords"]].concat())
        .must(2, &["--ca FILE, or --insecure"]);
    place.write("wrong", "a.example anna\n");
    compare(&place, &[&record[..6], &["--credentials", "wrong"]].concat())
        .must(1, &["wrong, line 1: it must be HOST"]);
}

#[test]
fn who_answers_badly_costs_bounded_time_and_memory() {
    let place = Place::new();
    place.write("all.yaml", &ingress("a", "", "/"));
    let good = Answering::saying(OK);
    let ours = good.url();
    let compared = |bad: &Answering| {
        let begin = Instant::now();
        let done = compare(
            &place,
            &["-f", "all.yaml", "--timeout", "2", "--reference", &bad.url(), "--ours", &ours],
        );
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
        done
    };
    let endless = Answering::start(|_, stream| {
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
        while stream.write_all(b"3e8\r\n").is_ok()
            && stream.write_all(&[b'x'; 1000]).is_ok()
            && stream.write_all(b"\r\n").is_ok()
        {}
    });
    compared(&endless).must(0, &["1 answered the same"]);
    let silent_body = Answering::start(|_, stream| {
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx"));
        drop(stream.read(&mut [0; 1]));
    });
    compared(&silent_body).must(0, &["1 answered the same"]);
    let large = Answering::start(|_, stream| {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Large: {}\r\n\r\n", "x".repeat(1 << 20));
        drop(stream.write_all(head.as_bytes()));
    });
    compared(&large).must(1, &["not asked Ingress shop/a", "no answer: http://127.0.0.1"]);
    compared(&Answering::saying("\0\u{1b}[31m garbage\r\n\r\n")).must(1, &["no answer: "]);
    compared(&Answering::saying("")).must(1, &["no answer: "]);
    let silent = Answering::start(|_, stream| drop(stream.read(&mut [0; 1])));
    compared(&silent).must(1, &["no answer within 2 s"]);
    // What nobody else may print on a terminal is printed nowhere.
    let coloured =
        Answering::saying("HTTP/1.1 302 OK\r\nContent-Length: 0\r\nLocation: /\u{9b}31m|<b>\r\n\r\n");
    let done = compared(&coloured);
    done.must(3, &["status: 302, here 200"]);
}

#[test]
fn bad_input_is_told_before_anything_is_sent() {
    let place = Place::new();
    place.write("all.yaml", &ingress("a", "", "/"));
    place.write("empty.yaml", "");
    let good = Answering::saying(OK);
    let url = good.url();
    // Bound without listening: the port is nobody else's meanwhile.
    let not_listening = TcpSocket::new_v4().unwrap();
    not_listening.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let closed = format!("http://{}", not_listening.local_addr().unwrap());
    let of = |more: &[&str], code: i32, words: &[&str]| compare(&place, more).must(code, words);
    of(
        &["-f", "all.yaml", "--reference", &closed, "--ours", &url],
        1,
        &["nothing answers at http://127.0.0.1"],
    );
    of(
        &["-f", "all.yaml", "--reference", &url, "--ours", &closed],
        1,
        &["nothing answers at http://127.0.0.1"],
    );
    of(&["-f", "empty.yaml", "--reference", &url, "--ours", &url], 1, &["there is no Ingress"]);
    of(&["-f", "none.yaml", "--reference", &url, "--ours", &url], 1, &["cannot read none.yaml"]);
    of(&["--reference", &url, "--ours", &url], 2, &["give manifests with --file"]);
    of(&["-f", "all.yaml", "--reference", &url], 2, &["--ours"]);
    of(&["-f", "all.yaml", "--reference", "none.jsonl", "--ours", &url], 1, &["cannot read none.jsonl"]);
    of(&["-f", "all.yaml", "--reference", "all.yaml", "--ours", &url], 1, &["is no recording"]);
    of(&["-f", "all.yaml", "--reference", "ftp://a", "--ours", &url], 2, &["must be http://ADDRESS"]);
    of(
        &["-f", "all.yaml", "--reference", "http://a:b@c", "--ours", &url],
        2,
        &["--credentials names a file"],
    );
    of(&["-f", "all.yaml", "--reference", &url, "--ours", "http://c/d"], 2, &["without a path"]);
    of(&["-f", "all.yaml", "--reference", &url, "--ours", &url, "--rate", "0"], 2, &["--rate"]);
    of(
        &["-f", "all.yaml", "--reference", &url, "--ours", &url, "--ca", "all.yaml"],
        1,
        &["no PEM certificate"],
    );
    of(
        &["-f", "all.yaml", "--reference", &url, "--record", "nowhere/old.jsonl"],
        1,
        &["cannot write nowhere"],
    );
    assert!(good.heads().is_empty(), "{:#?}", good.heads());
}

#[test]
fn one_side_that_ends_ends_the_comparison_and_the_rate_is_bounded() {
    let place = Place::new();
    let many = (0..10).fold(String::new(), |mut all, number| {
        _ = write!(all, "{}", ingress(&format!("i{number}"), "", "/app"));
        all
    });
    place.write("many.yaml", &many);
    let (good, ending) = (Answering::saying(OK), Answering::saying(""));
    let (url, bad) = (good.url(), ending.url());
    let done =
        compare(&place, &["-f", "many.yaml", "--reference", &bad, "--ours", &url, "--record", "old.jsonl"]);
    done.must(1, &["20 requests in a row got no answer", "Nothing was compared or recorded"]);
    assert!(!place.path().join("old.jsonl").exists());
    assert!(good.heads().len() < 60, "{}", good.heads().len());

    place.write("one.yaml", &ingress("a", "", "/app"));
    let begin = Instant::now();
    let slowly = ["migrate", "compare", "--from", "haproxy-org", "-f", "one.yaml", "--rate", "5"];
    let before = good.heads().len();
    place.haptic(&[&slowly[..], &["--reference", &url, "--ours", &url]].concat()).must(0, &[]);
    let asked = good.heads().len() - before;
    let least = Duration::from_millis(200) * u32::try_from(asked / 2 - 1).unwrap();
    assert!(begin.elapsed() >= least && asked >= 20, "{asked} requests in {:?}", begin.elapsed());
}
