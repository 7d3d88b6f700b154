//! Requests while plans are carried out: a route that comes or goes answers as before or as after, one that stays always
//! answers. HAProxy 3.4, on which routes come and go with their backends.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

#[path = "properties/dice.rs"]
#[allow(dead_code, reason = "other tests choose in other ways, too")]
mod dice;
mod running;

use dice::Dice;
use haptic_deploy::{RunningView, Verdict, plan};
use haptic_model::{Bundle, BundleFile, Capabilities, FileKey, FileKind, HaproxyVersion};
use haptic_text::Text;
use running::Haproxy;
use std::{
    io::{Read, Write},
    net::TcpListener,
    os::unix::net::UnixStream,
    path::Path,
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

/// The first route stays, and its servers change.
const ROUTES: usize = 6;
const PLANS: usize = 80;
const HEAD: &str = "global
    nbthread 2
defaults web
    mode http
    balance roundrobin
    timeout client 5s
    timeout connect 2s
    timeout server 5s
    http-reuse never
frontend http from web
    bind unix@FOLDER/http
    http-request set-var(txn.host) req.hdr(host),map(maps/host.map)
    http-request set-var(txn.backend) var(txn.host),map_beg(maps/prefix.map) if { var(txn.host) -m found }
    http-request return status 404 unless { var(txn.backend) -m found }
    http-after-response set-header x-backend %[be_name]
    use_backend %[var(txn.backend)]
";

/// A plain server that answers every request.
static UPSTREAM: LazyLock<u16> = LazyLock::new(|| {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            std::thread::spawn(move || {
                let _read = stream.read(&mut [0; 4096]);
                let _sent =
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            });
        }
    });
    port
});

/// For each route the addresses of its servers; none, and there is no route.
type Routes = [Vec<usize>; ROUTES];

fn bundle(routes: &Routes) -> Bundle {
    let (mut config, mut hosts, mut prefixes) = (HEAD.to_owned(), String::new(), String::new());
    for (route, servers) in routes.iter().enumerate().filter(|(_, servers)| !servers.is_empty()) {
        hosts.push_str(&format!("h{route} g{route}\n"));
        prefixes.push_str(&format!("g{route} route{route}\n"));
        config.push_str(&format!("backend route{route} from web\n"));
        for server in servers {
            config.push_str(&format!("    server s{server} 127.0.0.{server}:{}\n", *UPSTREAM));
        }
    }
    let map =
        |path: &str, text: &str| BundleFile::new(FileKey::new(FileKind::Map, path), path, Text::plain(text));
    Bundle::new(
        BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&config)),
        [map("maps/host.map", &hosts), map("maps/prefix.map", &prefixes)],
    )
}

fn servers(dice: &mut Dice, route: usize) -> Vec<usize> {
    let all: Vec<usize> = (1..4).filter(|_| !dice.one_in(3)).collect();
    if route == 0 && all.is_empty() { vec![1] } else { all }
}

/// What is wrong with the answer to a request for `route`.
fn fault(socket: &Path, route: usize) -> Option<String> {
    let mut stream = UnixStream::connect(socket).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: h{route}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let is_routed =
        answer.starts_with("HTTP/1.1 200") && answer.contains(&format!("x-backend: route{route}\r"));
    let is_none = answer.starts_with("HTTP/1.1 404") && route > 0;
    (!is_routed && !is_none).then(|| format!("h{route}: {answer}"))
}

#[test]
fn no_request_meets_a_half_made_route() {
    let Ok(binary) = std::env::var("HAPTIC_HAPROXY_3_4") else {
        panic!("HAPTIC_HAPROXY_3_4 must be the path of a HAProxy 3.4: run this test through `make test`");
    };
    let mut dice = Dice::new(7);
    let mut old: Routes = std::array::from_fn(|route| servers(&mut dice, route));
    let haproxy = Haproxy::start(&binary, &bundle(&old));
    let (socket, done) = (haproxy.path("http"), AtomicBool::new(false));
    let (faults, requests) = std::thread::scope(|scope| {
        let hammer = |seed| {
            let mut dice = Dice::new(seed);
            let (mut faults, mut requests) = (Vec::new(), 0_usize);
            while !done.load(Ordering::Relaxed) && faults.len() < 3 {
                faults.extend(fault(&socket, dice.below(ROUTES)));
                requests += 1;
            }
            (faults, requests)
        };
        let hammers = [1, 2, 3].map(|seed| scope.spawn(move || hammer(seed)));
        let result = (0..PLANS).try_for_each(|_| {
            let route = dice.below(ROUTES);
            let mut new = old.clone();
            new[route] = servers(&mut dice, route);
            let (from, to) = (bundle(&old), bundle(&new));
            old = new;
            let plan = plan(&RunningView::of(from), &to, Capabilities::of(HaproxyVersion::new(3, 4)));
            match &plan.verdict {
                Verdict::Reload { reasons } => Err(format!("{reasons:?}")),
                verdict => {
                    verdict.operations().iter().try_for_each(|operation| haproxy.carry_out(operation, &to))
                }
            }
        });
        done.store(true, Ordering::Relaxed);
        let (mut faults, mut requests): (Vec<String>, usize) = (result.err().into_iter().collect(), 0);
        for hammer in hammers {
            let (found, asked) = hammer.join().unwrap();
            faults.extend(found);
            requests += asked;
        }
        (faults, requests)
    });
    assert!(faults.is_empty(), "of {requests} requests:\n{}", faults.join("\n"));
    assert!(requests > PLANS, "only {requests} requests were made during {PLANS} plans");
}
