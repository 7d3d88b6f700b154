//! Where servers may be: not where HAProxy reaches more than whoever writes Services and EndpointSlices does.
//!
//! The API server takes care of some of it for some objects (no loopback in an EndpointSlice, but any name in an
//! ExternalName), manifests of a folder know no such care, and a name leads elsewhere a second later: so each address is
//! judged where it is about to be a server, however it came there, each time.

use haptic_model::{Fleet, HAProxyTemplateConfigSpec, HaproxyPod};
use haptic_routes::{gateway, tcp};
use serde_json::Value;
use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// Settings of the libraries with a port that HAProxy binds in its pods.
const BOUND_PORTS: [&str; 3] = ["healthPort", "httpPort", "httpsPort"];

/// Addresses where clouds tell a machine who it is, beside the link-local ones: Alibaba, Azure, Oracle.
const METADATA_V4: [Ipv4Addr; 3] =
    [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(192, 0, 0, 192)];

/// The same of IPv6, as the first 64 bits: AWS (fd00:ec2::/64), Google (fd20:ce::/64), Scaleway (fd00:42::/64).
const METADATA_V6: [u64; 3] = [0xfd00_0ec2_0000_0000, 0xfd20_00ce_0000_0000, 0xfd00_0042_0000_0000];

/// Why an address is no place for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// HAProxy's own pod, or `0.0.0.0`, which leads there.
    Loopback,
    /// Its node and neighbours, the cloud's metadata among them.
    LinkLocal,
    /// The cloud's metadata elsewhere.
    Metadata,
    /// Many machines at once.
    Multicast,
    /// No machine's address.
    Reserved,
    /// A port that HAProxy or its agent listens at in a pod, or a port of the node that leads there.
    OwnPort,
    /// The same through a Service.
    FleetService,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "a loopback address",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "an address of a cloud's metadata",
            Self::Multicast => "a multicast address",
            Self::Reserved => "a reserved address",
            Self::OwnPort => "a port of HAProxy's own pod",
            Self::FleetService => "a port of a Service that leads back to HAProxy",
        })
    }
}

/// The rules of one render.
#[derive(Clone, Copy, Debug)]
pub struct Destinations<'r> {
    spec: &'r HAProxyTemplateConfigSpec,
    fleet: &'r Fleet,
}

impl<'r> Destinations<'r> {
    /// Those of a configuration and its pods.
    #[must_use]
    pub fn new(spec: &'r HAProxyTemplateConfigSpec, fleet: &'r Fleet) -> Self {
        Self { spec, fleet }
    }

    /// Why there may be no server there, if there may be none.
    #[must_use]
    pub fn refusal(&self, address: IpAddr, port: u64) -> Option<Refusal> {
        let refusal = meanings(address).find_map(by_address).or_else(|| self.own_port(address, port))?;
        (!self.names(address)).then_some(refusal)
    }

    /// Whether the configuration says that servers may be there.
    #[must_use]
    pub fn names(&self, address: IpAddr) -> bool {
        let is_named = |meant| self.spec.allow.destinations.iter().any(|network| network.contains(meant));
        meanings(address).any(is_named)
    }

    /// Few addresses are a pod's own: what its ports are is asked only then.
    pub(super) fn own_port(&self, address: IpAddr, port: u64) -> Option<Refusal> {
        let is_there =
            |pod: &&HaproxyPod| is_one_of(address, std::iter::once(&pod.address).chain(&pod.other_addresses));
        let mut there = self.fleet.pods.iter().filter(is_there).peekable();
        let is_of_pod =
            there.peek().is_some() && (there.any(|pod| u64::from(pod.port) == port) || self.binds(port));
        (is_of_pod || self.is_host_port(address, port)).then_some(Refusal::OwnPort)
    }

    /// Whether a node leads to its HAProxy there.
    fn is_host_port(&self, address: IpAddr, port: u64) -> bool {
        let has = |pod: &&HaproxyPod| pod.host_ports.iter().any(|own| u64::from(*own) == port);
        self.fleet.pods.iter().filter(has).any(|pod| is_one_of(address, &pod.node_addresses))
    }

    /// Whether a setting says that HAProxy listens there.
    fn binds(&self, port: u64) -> bool {
        let settings = &self.spec.templating_settings.extra_context;
        let is_listed = |port| tcp::lists(settings, port) || gateway::may_listen(settings, port);
        if u16::try_from(port).is_ok_and(is_listed) {
            return true;
        }
        let is_port = |setting: &Value| match setting {
            Value::String(text) => text.parse() == Ok(port),
            setting => setting.as_u64() == Some(port),
        };
        BOUND_PORTS.iter().any(|name| settings.get(*name).is_some_and(is_port))
    }
}

/// Whether `address` is one of these, in whatever spelling.
fn is_one_of<'a>(address: IpAddr, own: impl IntoIterator<Item = &'a IpAddr>) -> bool {
    let mut own = own.into_iter().flat_map(|own| meanings(*own));
    own.any(|own| meanings(address).any(|meant| meant == own))
}

/// The address, and the one of IPv4 that it is another spelling of or leads to.
pub(crate) fn meanings(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let other = match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => embedded(address).map(IpAddr::from),
    };
    std::iter::once(address).chain(other)
}

fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let two = |high: u16, low: u16| Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match [a, b, c, d, e, f] {
        // Unspecified and loopback are addresses of IPv6 themselves.
        [0, 0, 0, 0, 0, 0] if (g, h) == (0, 0) || (g, h) == (0, 1) => None,
        // Compatible, mapped, translated (RFC 4291, 2.5.5; RFC 2765, 2.1).
        [0, 0, 0, 0, 0, 0 | 0xffff] | [0, 0, 0, 0, 0xffff, 0] => two(g, h),
        // NAT64, well-known and local (RFC 6052, 2.1; RFC 8215).
        [0x64, 0xff9b, 0, 0, 0, 0] | [0x64, 0xff9b, 1, ..] => two(g, h),
        // 6to4 (RFC 3056, 2).
        [0x2002, high, low, ..] => two(high, low),
        // Teredo, whose client's address is inverted (RFC 4380, 4).
        [0x2001, 0, ..] => two(!g, !h),
        // ISATAP, in whatever network (RFC 5214, 6.1).
        [_, _, _, _, 0 | 0x200, 0x5efe] => two(g, h),
        _ => None,
    }
}

fn by_address(address: IpAddr) -> Option<Refusal> {
    match address {
        IpAddr::V4(address) => by_v4(address),
        IpAddr::V6(address) => by_v6(address),
    }
}

fn by_v4(address: Ipv4Addr) -> Option<Refusal> {
    let [first, ..] = address.octets();
    Some(match first {
        // A connection to 0.0.0.0 is one to this machine.
        127 => Refusal::Loopback,
        0 if address.is_unspecified() => Refusal::Loopback,
        _ if address.is_link_local() => Refusal::LinkLocal,
        _ if METADATA_V4.contains(&address) => Refusal::Metadata,
        224..=239 => Refusal::Multicast,
        0 | 240.. => Refusal::Reserved,
        _ => return None,
    })
}

fn by_v6(address: Ipv6Addr) -> Option<Refusal> {
    let [first, ..] = address.segments();
    let upper = u64::try_from(address.to_bits() >> 64).unwrap_or_default();
    Some(match first {
        _ if address.is_loopback() || address.is_unspecified() => Refusal::Loopback,
        0xfe80..=0xfebf => Refusal::LinkLocal,
        _ if METADATA_V6.contains(&upper) => Refusal::Metadata,
        0xff00.. => Refusal::Multicast,
        // Site-local addresses of old, and the discard-only ones.
        0xfec0..=0xfeff => Refusal::Reserved,
        0x100 if upper == 0x100_0000_0000_0000 => Refusal::Reserved,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
