//! A network of the tests' own: every address of 10.99.0.0/16 is local, ports never clash, nothing leaves.
//!
//! A real API server refuses loopback addresses in EndpointSlices, so pods, HAProxys and backends need others. The test
//! program starts itself anew inside a network and process namespace; when it ends, however it ends, the kernel ends
//! every process it started. Needs no root where the kernel lets users have namespaces.

use crate::{
    eventually,
    failure::{Failure, Outcome, ensure},
    process::Process,
};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::{net::Ipv4Addr, os::unix::process::CommandExt, path::Path, process::Command};

const INSIDE: &str = "HAPTIC_JOURNEYS_INSIDE";
/// Set for the program that keeps a network of its own there for one journey.
const APART: &str = "HAPTIC_JOURNEYS_APART";

/// Comes back only inside the namespace, with the addresses in place.
///
/// # Errors
/// When the kernel or a container refuses namespaces: says what to do.
pub fn enter() -> Outcome {
    if std::env::var_os(INSIDE).is_none() {
        return Err(start_inside());
    }
    if std::env::var_os(APART).is_some() {
        local_addresses()?;
        return Err(Command::new("sleep").arg("infinity").exec().into());
    }
    local_addresses()
        .map_err(|e| Failure::new(format!("cannot set up addresses inside the network namespace: {e}")))
}

/// A network beside that of all journeys, for programs that listen on all addresses.
pub struct Apart(Process);

impl Apart {
    /// Makes one, with its log in `dir`.
    pub async fn make(dir: &Path) -> Outcome<Self> {
        let mut keeper = tokio::process::Command::new("unshare");
        keeper.arg("--net").arg(std::env::current_exe()?).env(APART, "1");
        let apart = Self(Process::start(keeper, &dir.join("network.log"))?);
        eventually("a network of its own", async || {
            let network = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net"));
            // Until the program has left it, it shows the addresses of everybody's.
            let has_left = network(&apart.0.id().to_string())? != network("self")?;
            ensure(has_left, "it is in everybody's network")?;
            let addresses = std::fs::read_to_string(format!("/proc/{}/net/fib_trie", apart.0.id()))?;
            ensure(addresses.contains("10.99.0.0"), "it has no addresses yet")
        })
        .await?;
        Ok(apart)
    }

    /// What starts a program in it: give it program and arguments.
    #[must_use]
    pub fn command(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.0.id()));
        command
    }
}

/// Replaces this process by itself inside new namespaces; comes back only when that fails.
fn start_inside() -> Failure {
    let mut flags = vec!["--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
    if !rustix::process::geteuid().is_root() {
        flags.push("--map-root-user");
    }
    let refused = match Command::new("unshare").args(&flags).arg("true").output() {
        Ok(tried) if tried.status.success() => return start(&flags),
        Ok(tried) => String::from_utf8_lossy(&tried.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Failure::new(format!(
        "journeys run in a network namespace of their own, and this machine refuses one: {refused}. Run as root, or allow \
         user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0; in a container: --privileged)"
    ))
}

fn start(flags: &[&str]) -> Failure {
    match std::env::current_exe() {
        Ok(program) => Command::new("unshare")
            .args(flags)
            .arg(program)
            .args(std::env::args_os().skip(1))
            .env(INSIDE, "1")
            .exec()
            .into(),
        Err(error) => error.into(),
    }
}

/// Where clouds have their metadata: here whoever listens on it.
pub const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// `ip link set lo up; ip route add local 10.99.0.0/16 dev lo` and the same for [`METADATA`], in the kernel's own words: a
/// machine may have no `ip`.
fn local_addresses() -> rustix::io::Result<()> {
    const NEW_LINK: u16 = 16;
    const NEW_ROUTE: u16 = 24;
    const LOOPBACK: u32 = 1;
    const UP: u32 = 1;
    // struct ifinfomsg: family, padding, type, index, flags, changed flags
    let mut link = vec![0; 4];
    for word in [LOOPBACK, UP, UP] {
        link.extend(word.to_ne_bytes());
    }
    ask_kernel(NEW_LINK, &link)?;
    for (network, bits) in [([10, 99, 0, 0], 16), (METADATA.octets(), 32)] {
        // struct rtmsg: family, destination bits, source bits, service, table (local), protocol (boot), scope (host),
        // type (local), flags; then the attributes destination and outgoing interface.
        let mut route = vec![2, bits, 0, 0, 255, 3, 254, 2, 0, 0, 0, 0];
        for (attribute, value) in [(1_u16, network), (4, LOOPBACK.to_ne_bytes())] {
            route.extend(8_u16.to_ne_bytes());
            route.extend(attribute.to_ne_bytes());
            route.extend(value);
        }
        ask_kernel(NEW_ROUTE, &route)?;
    }
    Ok(())
}

/// One rtnetlink request, create flag set, and its acknowledgement.
fn ask_kernel(kind: u16, body: &[u8]) -> rustix::io::Result<()> {
    const REQUEST_ACK_CREATE: u16 = 0x1 | 0x4 | 0x400;
    const HEADER: usize = 16;
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut request = length.to_ne_bytes().to_vec();
    request.extend(kind.to_ne_bytes());
    request.extend(REQUEST_ACK_CREATE.to_ne_bytes());
    request.extend([0; 8]);
    request.extend(body);
    rustix::net::send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0_u8; 1024];
    rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    // struct nlmsgerr after the header: 0, or the error number negated.
    let error =
        answer.get(HEADER..HEADER + 4).and_then(|word| word.try_into().ok()).map_or(0, i32::from_ne_bytes);
    if error == 0 { Ok(()) } else { Err(rustix::io::Errno::from_raw_os_error(-error)) }
}

/// The 256 addresses of one journey: 10.99.N.0/24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block(pub u8);

impl Block {
    /// Where a cluster of this journey's own listens.
    #[must_use]
    pub fn api_server(self) -> Ipv4Addr {
        self.address(1)
    }

    /// Where its `number`th controller listens, from 0.
    #[must_use]
    pub fn controller(self, number: u8) -> Ipv4Addr {
        self.address(2 + number)
    }

    /// The address of its `number`th HAProxy pod, from 0.
    #[must_use]
    pub fn pod(self, number: u8) -> Ipv4Addr {
        self.address(20 + number)
    }

    /// The address of its `number`th backend, from 0.
    #[must_use]
    pub fn backend(self, number: u8) -> Ipv4Addr {
        self.address(100 + number)
    }

    fn address(self, last: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 99, self.0, last)
    }
}
