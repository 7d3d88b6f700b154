//! For random backends A and B: what the planned operations make of a HAProxy that runs A is what a HAProxy that
//! starts with B has, server by server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod running;

use haptic_deploy::{RunningView, Verdict, plan};
use haptic_model::{Bundle, BundleFile, Capabilities, FileKey, HaproxyVersion, Text};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use running::Haproxy;
use std::{
    collections::BTreeMap,
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
                assert_eq!(
                    servers(&Haproxy::start(&binary, &bundle(&old))),
                    servers(&Haproxy::start(&binary, &bundle(&new)))
                );
            }
            Verdict::Runtime { operations } => {
                at_run_time += 1;
                let running = Haproxy::start(&binary, &bundle(&old));
                operations.iter().for_each(|operation| running.carry_out(operation, &bundle(&new)));
                let fresh = servers(&Haproxy::start(&binary, &bundle(&new)));
                let after = servers_once(&running, &fresh);
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

/// The servers as soon as they are `expected`, or as they are after a while: `set server … addr` answers before
/// the address is in force, which a thread of its own brings about.
fn servers_once(haproxy: &Haproxy, expected: &Servers) -> Servers {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let servers = servers(haproxy);
        if servers == *expected || Instant::now() > deadline {
            return servers;
        }
        std::thread::yield_now();
    }
}

/// Each server with address, port, weight, whether it is in maintenance, and its maxconn.
fn servers(haproxy: &Haproxy) -> Servers {
    let state = haproxy.command("show servers state b");
    let stat = haproxy.command("show stat b 4 -1");
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
