//! For random bundles A and B of hosts, maps, backends and certificates: what the planned operations make of a HAProxy
//! that runs A is what a HAProxy that starts with B has, in memory and in its answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod running;
mod tls;

use haptic_deploy::{RunningView, Verdict, plan};
use haptic_model::{Bundle, BundleFile, Capabilities, FileKey, FileKind, HaproxyVersion, Operation, Text};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use running::Haproxy;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    os::unix::net::UnixStream,
    sync::LazyLock,
    time::{Duration, Instant},
};

const PAIRS: usize = 40;
const HOSTS: usize = 5;

#[test]
fn haproxy_3_0_answers_as_if_started_anew() {
    check("HAPTIC_HAPROXY_3_0", HaproxyVersion::new(3, 0));
}

#[test]
fn haproxy_3_2_answers_as_if_started_anew() {
    check("HAPTIC_HAPROXY_3_2", HaproxyVersion::new(3, 2));
}

#[test]
fn haproxy_3_4_answers_as_if_started_anew() {
    check("HAPTIC_HAPROXY_3_4", HaproxyVersion::new(3, 4));
}

/// One host of a configuration.
#[derive(Clone, Debug)]
struct Host {
    /// Its servers; without any list there is no backend, and no route.
    servers: Option<BTreeSet<usize>>,
    routed: bool,
    /// Which of two certificates, with how many lines.
    certificate: Option<(usize, u8)>,
    /// Whether the first segment of its paths is looked up by a regular expression.
    regex: bool,
    blocked: bool,
}

fn host() -> impl Strategy<Value = Host> {
    let servers = proptest::option::weighted(0.8, proptest::collection::btree_set(0..3_usize, 0..3));
    let certificate = proptest::option::weighted(0.7, (0..2_usize, 1..3_u8));
    (servers, prop::bool::weighted(0.8), certificate, any::<bool>(), prop::bool::weighted(0.2)).prop_map(
        |(servers, routed, certificate, regex, blocked)| Host {
            servers,
            routed,
            certificate,
            regex,
            blocked,
        },
    )
}

fn check(variable: &str, version: HaproxyVersion) {
    let Ok(binary) = std::env::var(variable) else {
        panic!("{variable} must be the path of a HAProxy {version}: run this test through `make test`");
    };
    let capabilities = Capabilities::of(version);
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut at_run_time = 0;
    for _ in 0..PAIRS {
        let old = draw(&mut runner, None);
        let mut new = draw(&mut runner, Some(&old));
        if !capabilities.dynamic_backends {
            // Backends that come and go are a reload there: nothing would be left to test.
            for (new, old) in new.iter_mut().zip(&old) {
                new.servers = old.servers.as_ref().map(|_| new.servers.clone().unwrap_or_default());
            }
        }
        let (old, new) = (bundle(&old), bundle(&new));
        let plan = plan(&RunningView::of(old.clone()), &new, capabilities);
        let operations = match &plan.verdict {
            Verdict::Nothing => continue,
            Verdict::Reload { reasons } => panic!("{reasons:?}"),
            Verdict::Runtime { operations } => operations,
        };
        at_run_time += 1;
        let running = Haproxy::start(&binary, &old);
        operations.iter().for_each(|operation| running.carry_out(operation, &new));
        let fresh = Seen::of(&Haproxy::start(&binary, &new), version);
        let after = seen_once(&running, version, &fresh);
        assert_eq!(after, fresh, "from\n{}\nto\n{}\nby {}", show(&old), show(&new), list(operations));
    }
    assert!(at_run_time >= PAIRS / 2, "only {at_run_time} of {PAIRS} pairs were changed at run time");
}

/// Hosts of their own, or some of them as they were.
fn draw(runner: &mut TestRunner, old: Option<&Vec<Host>>) -> Vec<Host> {
    let drawn = proptest::collection::vec((host(), any::<bool>()), HOSTS).new_tree(runner).unwrap().current();
    let each = drawn.into_iter().enumerate();
    each.map(|(at, (host, keep))| old.filter(|_| keep).map_or(host, |old| old[at].clone())).collect()
}

/// Two certificates for each host, as files.
static CERTIFICATES: LazyLock<Vec<[String; 2]>> = LazyLock::new(|| {
    let certificate = |at: usize| {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new([format!("h{at}.example")]).unwrap();
        format!("{}{}", params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    };
    (0..HOSTS).map(|at| [certificate(at), certificate(at)]).collect()
});

/// Where servers listen. Each answers its own number.
static SERVERS: LazyLock<Vec<SocketAddr>> = LazyLock::new(|| (0..3).map(serve).collect());

fn serve(number: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            std::thread::spawn(move || {
                let _read = stream.read(&mut [0; 4096]);
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n";
                let _sent = stream.write_all(format!("{answer}{number}").as_bytes());
            });
        }
    });
    address
}

fn bundle(hosts: &[Host]) -> Bundle {
    let (mut hosts_map, mut regex, mut blocked, mut list, mut backends) =
        <(String, String, String, String, String)>::default();
    let mut files = Vec::new();
    regex.push_str("# tried in this order\n");
    for (at, host) in hosts.iter().enumerate() {
        let name = format!("h{at}.example");
        if host.routed {
            hosts_map.push_str(&format!("{name}/ backend_{at}\n"));
        }
        if host.regex {
            regex.push_str(&format!("^h[{at}-9] match {at}\n"));
        }
        if host.blocked {
            blocked.push_str(&format!("{name}\n"));
        }
        if let Some((which, lines)) = host.certificate {
            list.push_str(&format!("ssl/c{at}.pem {name}\n"));
            if lines > 1 {
                list.push_str(&format!("ssl/c{at}.pem [alpn http/1.1] www.{name} *.www.{name}\n"));
            }
            files.push((FileKind::Certificate, format!("ssl/c{at}.pem"), CERTIFICATES[at][which].clone()));
        }
        if let Some(servers) = &host.servers {
            backends.push_str(&format!("backend backend_{at} from web\n"));
            for server in servers {
                backends.push_str(&format!("    server s{server} {}\n", SERVERS[*server]));
            }
        }
    }
    let config = format!("{HEAD}{backends}");
    files.push((FileKind::Map, "maps/host.map".to_owned(), hosts_map));
    files.push((FileKind::Map, "maps/regex.map".to_owned(), regex));
    files.push((FileKind::Map, "maps/blocked.lst".to_owned(), blocked));
    files.push((FileKind::CrtList, "ssl/list.txt".to_owned(), list));
    let file = |(kind, path, text): (FileKind, String, String)| {
        BundleFile::new(FileKey::new(kind, path.rsplit('/').next().unwrap()), &path, Text::plain(&text))
    };
    Bundle::new(
        BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&config)),
        files.into_iter().map(file),
    )
}

const HEAD: &str = "global
    ssl-default-bind-options ssl-min-ver TLSv1.2
defaults web
    mode http
    balance roundrobin
    timeout client 5s
    timeout connect 1s
    timeout server 5s
    http-reuse never
    default-server maxconn 30
frontend http from web
    bind unix@FOLDER/http
    bind unix@FOLDER/https ssl strict-sni crt-list ssl/list.txt
    http-request deny deny_status 410 if { req.hdr(host) -f maps/blocked.lst }
    http-request set-var(txn.host) req.hdr(host)
    http-response set-header x-regex %[var(txn.host),map_reg(maps/regex.map,none)]
    http-request set-var(txn.backend) var(txn.host),concat(/),map_beg(maps/host.map)
    use_backend %[var(txn.backend)] if { var(txn.backend) -m found }
    default_backend none
backend none from web
";

/// What a HAProxy has and answers.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    host_map: BTreeSet<String>,
    regex_map: Vec<String>,
    blocked: BTreeSet<String>,
    backends: BTreeSet<String>,
    servers: BTreeSet<String>,
    certificates: BTreeMap<String, String>,
    list: BTreeSet<String>,
    /// For each host: the answers to a few requests, and the certificate it gets.
    answers: Vec<(BTreeSet<String>, Option<Vec<u8>>)>,
}

impl Seen {
    fn of(haproxy: &Haproxy, version: HaproxyVersion) -> Self {
        let entries = |command: &str| -> Vec<String> {
            let answer = haproxy.command(command);
            answer.lines().filter_map(|line| Some(line.split_once(' ')?.1.to_owned())).collect()
        };
        let names = |command: &str| -> BTreeSet<String> {
            let answer = haproxy.command(command);
            answer.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
        };
        let dynamic = Capabilities::of(version).dynamic_backends;
        let fingerprint = |certificate: String| {
            let shown = haproxy.command(&format!("show ssl cert {certificate}"));
            let line = shown.lines().find(|line| line.starts_with("SHA1")).unwrap_or_default().to_owned();
            let used = shown.lines().find(|line| line.starts_with("Status")).unwrap_or_default().to_owned();
            (certificate, format!("{line} {used}"))
        };
        Self {
            host_map: entries("show map maps/host.map").into_iter().collect(),
            regex_map: entries("show map maps/regex.map"),
            blocked: entries("show acl maps/blocked.lst").into_iter().collect(),
            backends: if dynamic { names("show backend") } else { BTreeSet::new() },
            servers: haproxy.command("show servers state").lines().filter_map(server).collect(),
            certificates: names("show ssl cert").into_iter().map(fingerprint).collect(),
            list: names("show ssl crt-list ssl/list.txt"),
            answers: (0..HOSTS).map(|at| answers(haproxy, &format!("h{at}.example"))).collect(),
        }
    }
}

/// Backend, name, address, state and weight of a row of `show servers state`.
fn server(row: &str) -> Option<String> {
    let fields: Vec<_> = row.split(' ').collect();
    let columns = [1, 3, 4, 6, 7, 18];
    (fields.len() > 20 && !row.starts_with('#')).then(|| columns.map(|at| fields[at]).join(" "))
}

fn answers(haproxy: &Haproxy, host: &str) -> (BTreeSet<String>, Option<Vec<u8>>) {
    let ask = |_| {
        let mut stream = UnixStream::connect(haproxy.path("http")).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let stream = UnixStream::connect(haproxy.path("https")).unwrap();
    ((0..4).map(ask).collect(), tls::certificate(stream, host))
}

/// What is seen as soon as it is `expected`, or what it is after a while.
fn seen_once(haproxy: &Haproxy, version: HaproxyVersion, expected: &Seen) -> Seen {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        let seen = Seen::of(haproxy, version);
        if seen == *expected || Instant::now() > deadline {
            return seen;
        }
    }
}

fn show(bundle: &Bundle) -> String {
    let files = bundle.all().filter(|file| file.key.kind != FileKind::Certificate);
    files.map(|file| format!("--- {}\n{}", file.path, file.text.to_string().replace(HEAD, ""))).collect()
}

fn list(operations: &[Operation]) -> String {
    operations.iter().map(|operation| format!("{operation}\n")).collect()
}
