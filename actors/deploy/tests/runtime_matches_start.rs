//! For random backends A and B: what the planned operations make of a HAProxy that runs A is what a HAProxy that
//! starts with B has, server by server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use haptic_deploy::{RunningView, Verdict, plan};
use haptic_model::{
    Bundle, BundleFile, Capabilities, FileKey, HaproxyVersion, Operation, Text, operation::ServerState,
};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const PAIRS: usize = 60;
/// Columns of `show servers state` (Management Guide 9.3) that a configuration decides.
const ADDRESS: usize = 4;
const ADMIN_STATE: usize = 6;
const USER_WEIGHT: usize = 7;
const PORT: usize = 18;
/// `SRV_ADMF_FMAINT`: in maintenance. The other bits say how it got there.
const IN_MAINTENANCE: u32 = 1;

#[test]
fn haproxy_3_0_ends_as_if_started_anew() {
    check("HAPTIC_HAPROXY_3_0", HaproxyVersion::new(3, 0));
}

#[test]
fn haproxy_3_2_ends_as_if_started_anew() {
    check("HAPTIC_HAPROXY_3_2", HaproxyVersion::new(3, 2));
}

#[test]
fn haproxy_3_4_ends_as_if_started_anew() {
    check("HAPTIC_HAPROXY_3_4", HaproxyVersion::new(3, 4));
}

fn check(variable: &str, version: HaproxyVersion) {
    let Ok(binary) = std::env::var(variable) else {
        panic!("{variable} must be the path of a HAProxy {version}: run this test through `make test`");
    };
    let mut runner = TestRunner::new_with_rng(Config::default(), rng());
    let mut at_run_time = 0;
    for _ in 0..PAIRS {
        let (old, new) = (draw(&mut runner), draw(&mut runner));
        let plan = plan(&RunningView::of(bundle(&old)), &bundle(&new), Capabilities::of(version));
        match &plan.verdict {
            Verdict::Nothing => {
                assert_eq!(Haproxy::start(&binary, &old).servers(), Haproxy::start(&binary, &new).servers());
            }
            Verdict::Runtime { operations } => {
                at_run_time += 1;
                let running = Haproxy::start(&binary, &old);
                operations.iter().for_each(|operation| running.carry_out(operation));
                let fresh = Haproxy::start(&binary, &new).servers();
                let after = running.servers_once(&fresh);
                assert_eq!(after, fresh, "from\n{old}\nto\n{new}\nby {operations:#?}");
            }
            Verdict::Reload { .. } => {}
        }
    }
    assert!(at_run_time >= PAIRS / 2, "only {at_run_time} of {PAIRS} pairs were changed at run time");
}

/// The same pairs on each run: a failure can be repeated.
fn rng() -> proptest::test_runner::TestRng {
    proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha)
}

fn draw(runner: &mut TestRunner) -> String {
    configuration().new_tree(runner).unwrap().current()
}

fn configuration() -> impl Strategy<Value = String> {
    let servers = proptest::collection::btree_map(0..6_u8, server(), 0..5);
    servers.prop_map(|servers| {
        let lines: String = servers.iter().map(|(name, rest)| format!("  server s{name} {rest}\n")).collect();
        format!(
            "defaults\n  mode http\n  timeout client 1s\n  timeout connect 1s\n  timeout server 1s\n\
             backend b\n  balance roundrobin\n  default-server maxconn 9 inter 60s\n{lines}"
        )
    })
}

fn server() -> impl Strategy<Value = String> {
    let port = prop_oneof![Just(8080_u16), 1..=65535_u16];
    let weight =
        prop_oneof![Just(String::new()), (0..=256_u16).prop_map(|weight| format!(" weight {weight}"))];
    let maxconn = prop_oneof![Just(""), Just(" maxconn 5")];
    // Parameters that the socket cannot change are the same most of the time, or nothing would be left to test.
    let fixed = prop_oneof![12 => Just(""), 1 => Just(" check"), 1 => Just(" send-proxy")];
    let state = prop_oneof![3 => Just(""), 1 => Just(" disabled")];
    (1..4_u8, port, weight, maxconn, fixed, state).prop_map(|(host, port, weight, maxconn, fixed, state)| {
        format!("127.0.0.{host}:{port}{weight}{maxconn}{fixed}{state}")
    })
}

fn bundle(text: &str) -> Bundle {
    Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(text)), [])
}

/// Address, port, weight, maintenance and maxconn by name.
type Servers = BTreeMap<String, (String, String, String, bool, String)>;

/// A running HAProxy; it ends with this value.
struct Haproxy {
    process: Child,
    folder: tempfile::TempDir,
}

impl Haproxy {
    fn start(binary: &str, configuration: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let file = folder.path().join("haproxy.cfg");
        let text = format!("global\n  stats socket {} level admin\n{configuration}", socket.display());
        std::fs::write(&file, text).unwrap();
        let process = Command::new(binary)
            .args(["-db", "-f"])
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let haproxy = Self { process, folder };
        haproxy.await_socket();
        haproxy
    }

    /// HAProxy tells nobody when it listens: connecting is the only way to know.
    fn await_socket(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(self.socket()).is_err() {
            assert!(Instant::now() < deadline, "HAProxy did not open its socket within 20 s");
            std::thread::yield_now();
        }
    }

    fn socket(&self) -> std::path::PathBuf {
        Path::new(self.folder.path()).join("s")
    }

    fn command(&self, command: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        writeln!(stream, "{command}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.trim().to_owned()
    }

    /// Sends what an agent sends for `operation`, and insists that HAProxy takes it.
    fn carry_out(&self, operation: &Operation) {
        let accept = |command: String, accepted: &[&str]| {
            let answer = self.command(&command);
            assert!(accepted.iter().any(|start| answer.starts_with(start)), "{command}: {answer}");
        };
        match operation {
            Operation::SetServerAddress { backend, server, address, port } => accept(
                format!("set server {backend}/{server} addr {address} port {port}"),
                &["IP changed", "port changed", "no need"],
            ),
            Operation::SetServerWeight { backend, server, weight } => {
                assert_eq!(self.command(&format!("set server {backend}/{server} weight {weight}")), "");
            }
            Operation::SetServerMaxconn { backend, server, maxconn } => {
                assert_eq!(self.command(&format!("set maxconn server {backend}/{server} {maxconn}")), "");
            }
            Operation::SetServerState { backend, server, state } => {
                let state = match state {
                    ServerState::Ready => "ready",
                    ServerState::Drain => "drain",
                    ServerState::Maint => "maint",
                };
                assert_eq!(self.command(&format!("set server {backend}/{server} state {state}")), "");
            }
            Operation::AddServer { backend, server, address, params, enabled } => {
                let params = params.join(" ");
                accept(
                    format!("add server {backend}/{server} {address} {params}"),
                    &["New server registered"],
                );
                if *enabled {
                    assert_eq!(self.command(&format!("enable server {backend}/{server}")), "");
                }
            }
            Operation::DeleteServer { backend, server } => {
                assert_eq!(self.command(&format!("set server {backend}/{server} state maint")), "");
                accept(format!("del server {backend}/{server}"), &["Server deleted"]);
            }
        }
    }

    /// The servers as soon as they are `expected`, or as they are after a while: `set server … addr` answers before
    /// the address is in force, which a thread of its own brings about.
    fn servers_once(&self, expected: &Servers) -> Servers {
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            let servers = self.servers();
            if servers == *expected || Instant::now() > deadline {
                return servers;
            }
            std::thread::yield_now();
        }
    }

    /// Each server with address, port, weight, whether it is in maintenance, and its maxconn.
    fn servers(&self) -> Servers {
        let state = self.command("show servers state b");
        let stat = self.command("show stat b 4 -1");
        let limits: BTreeMap<_, _> = stat
            .lines()
            .filter_map(|line| {
                let fields: Vec<_> = line.split(',').collect();
                Some((fields.get(1)?.to_string(), fields.get(6)?.to_string()))
            })
            .collect();
        let rows = state.lines().filter(|line| line.split(' ').nth(1) == Some("b"));
        rows.map(|row| {
            let fields: Vec<_> = row.split(' ').collect();
            let maintenance = fields[ADMIN_STATE].parse::<u32>().unwrap() & IN_MAINTENANCE != 0;
            let (name, field) = (fields[3].to_owned(), |at: usize| fields[at].to_owned());
            let limit = limits[&name].clone();
            (name, (field(ADDRESS), field(PORT), field(USER_WEIGHT), maintenance, limit))
        })
        .collect()
    }
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
