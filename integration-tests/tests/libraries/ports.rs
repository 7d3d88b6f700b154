//! Ports for what tests start.

use std::{
    cell::RefCell,
    net::TcpListener,
    ops::Range,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    sync::atomic::{AtomicU16, Ordering},
};

/// Below those that Linux gives to clients (`net.ipv4.ip_local_port_range`): no connection takes one meanwhile.
const PORTS: Range<u16> = 10_000..32_768;

thread_local! {
    /// What this test has. A test is a thread, and gives all back as it ends: hundreds of tests with many sites each
    /// need more ports than there are.
    static CLAIMS: RefCell<Vec<UnixListener>> = const { RefCell::new(Vec::new()) };
}

/// A port that no other test has, of another process either: two HAProxys would share it without a word.
/// The next one in the same test is most often the port after it.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let tries = PORTS.len();
    for _ in 0..tries {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = PORTS.start + next % (PORTS.end - PORTS.start);
        let Some(claim) = claim(port) else { continue };
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            CLAIMS.with_borrow_mut(|claims| claims.push(claim));
            return port;
        }
    }
    panic!("none of {tries} ports is free")
}

fn claim(port: u16) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("haptic-test-port-{port}")).unwrap();
    UnixListener::bind_addr(&name).ok()
}
