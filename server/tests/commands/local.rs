//! `haptic local`, as somebody meets it: what it says when it is ready is true, on a machine where others run it, too.

use crate::place::{Place, haproxy};
use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const CONFIG: &str = include_str!("../../../fixtures/hello/config.yaml");

/// One that is ready, and what it said until then. Ends with it.
pub struct Running {
    haptic: Child,
    pub said: Vec<String>,
}

impl Running {
    /// Waits for the line `ready`, as a script would.
    pub fn start(place: &Path) -> Self {
        let mut haptic = Command::new(env!("CARGO_BIN_EXE_haptic"))
            .args(["local", "-f", "config.yaml", "--resources", "manifests", "--state-dir", "state"])
            .current_dir(place)
            .env("HAPTIC_HAPROXY_3_4", haproxy())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(haptic.stdout.take().unwrap()).lines();
        let mut said = Vec::new();
        while said.last().is_none_or(|line| line != "ready") {
            said.push(lines.next().expect("it ended before it was ready").unwrap());
        }
        Self { haptic, said }
    }

    /// The addresses that stand in the line with these words.
    pub fn addresses(&self, words: &str) -> Vec<SocketAddr> {
        let line = self.said.iter().find(|line| line.contains(words)).unwrap();
        let urls = line.split([' ', ',']).filter_map(|word| word.split_once("://"));
        urls.map(|(_, place)| place.trim_end_matches("/debug").parse().unwrap()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.haptic.try_wait(), Ok(None)) {
            return;
        }
        // As Ctrl-C: its HAProxy ends with it.
        drop(Command::new("kill").arg(self.haptic.id().to_string()).status());
        drop(self.haptic.wait());
    }
}

pub fn answer(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: hello.localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The controller's own servers, as the configuration in force has their ports.
fn servers(page: SocketAddr) -> [SocketAddr; 2] {
    let shown = answer(page, "/debug/config");
    let (_, body) = shown.split_once("\r\n\r\n").unwrap();
    let config: serde_json::Value = serde_json::from_str(body).unwrap();
    ["healthzPort", "metricsPort"].map(|name| {
        let port = config["active"]["spec"]["controller"][name].as_u64().unwrap();
        SocketAddr::new(page.ip(), u16::try_from(port).unwrap())
    })
}

#[test]
fn who_asks_a_server_for_nothing_is_told_what_it_has() {
    let place = Place::new();
    place.write("config.yaml", CONFIG);
    place.write("manifests/nothing.yaml", "");
    let running = Running::start(place.path());
    let page = running.addresses("what happens is at")[0];
    let [health, metrics] = servers(page);
    assert!(answer(health, "/").contains("Here are /livez, /readyz and /healthz."));
    assert!(answer(metrics, "/").contains("Here is /metrics."));
    let moved = answer(page, "/").to_lowercase();
    assert!(moved.contains(" 302 ") && moved.contains("location: /debug\r\n"), "{moved}");
    let explain = answer(page, "/debug/explain");
    assert!(
        explain.contains(" 400 ") && explain.contains("say which request: /debug/explain?url="),
        "{explain}"
    );
}

#[test]
fn several_say_where_they_listen_what_to_edit_and_where_to_look_and_are_alone_there() {
    let place = Place::new();
    place.write("config.yaml", CONFIG);
    place.write("manifests/nothing.yaml", "");
    // In the same moment, and in one folder of what is kept.
    let all: Vec<Running> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..3).map(|_| scope.spawn(|| Running::start(place.path()))).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let mut places = BTreeSet::new();
    for running in &all {
        let (haproxy, page) =
            (running.addresses("HAProxy listens at"), running.addresses("what happens is at"));
        assert_eq!((haproxy.len(), page.len()), (3, 1), "{:?}", running.said);
        let of_health = answer(haproxy[0], "/healthz");
        assert!(of_health.contains(" 200 "), "{of_health} {:?}", running.said);
        let of_web = answer(haproxy[1], "/");
        assert!(of_web.contains("There is no route"), "{of_web} {:?}", running.said);
        assert!(answer(page[0], "/debug/config").contains("\"valid\""), "{:?}", running.said);
        for address in &haproxy {
            let elsewhere = SocketAddr::new("127.0.0.2".parse().unwrap(), address.port());
            assert!(TcpStream::connect(elsewhere).is_err(), "{address} is on all addresses");
        }
        let manifests = place.path().canonicalize().unwrap().join("manifests").display().to_string();
        assert!(running.said.iter().any(|line| line.contains(&manifests)), "{:?}", running.said);
        places.extend(haproxy.into_iter().chain(page));
    }
    assert_eq!(places.len(), 12, "{places:?}");
    let moved =
        all.iter().filter(|running| running.said.iter().any(|line| line.contains("is taken"))).count();
    assert!(moved >= 2, "{moved}");
}

#[test]
fn a_haproxy_ends_with_one_that_is_killed() {
    let place = Place::new();
    place.write("config.yaml", CONFIG);
    place.write("manifests/nothing.yaml", "");
    let mut running = Running::start(place.path());
    let haproxy = running.addresses("HAProxy listens at")[0];
    assert!(TcpStream::connect(haproxy).is_ok());
    running.haptic.kill().unwrap();
    running.haptic.wait().unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(haproxy).is_ok() && Instant::now() < patience {
        std::thread::park_timeout(Duration::from_millis(50));
    }
    assert!(TcpStream::connect(haproxy).is_err(), "HAProxy listens on");
}
