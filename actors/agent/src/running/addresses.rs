//! Addresses that a configuration listens at and the one that runs does not. Whether somebody else has one is found out before HAProxy is
//! reloaded: where an address is taken, HAProxy gives up its own sockets of files for a second try, and does not take them up again.

use std::{
    collections::BTreeSet,
    io::ErrorKind,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};
use tokio::net::TcpSocket;

/// A line of haproxy.cfg, from 1, and an address that it says.
pub(super) type BoundAddress = (usize, SocketAddr);

/// What `after` listens at and `before` does not. Names, variables and sockets of files are HAProxy's to judge.
pub(super) fn new_addresses(before: &str, after: &str) -> Vec<BoundAddress> {
    let known: BTreeSet<SocketAddr> = addresses(before).map(|(_, address)| address).collect();
    addresses(after).filter(|(_, address)| !known.contains(address)).collect()
}

/// The first that somebody else listens at, asked as HAProxy does.
pub(super) fn taken(all: &[BoundAddress]) -> Option<BoundAddress> {
    all.iter().find(|(_, address)| is_taken(*address)).copied()
}

fn is_taken(address: SocketAddr) -> bool {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let bound = socket.and_then(|socket| {
        socket.set_reuseaddr(true)?;
        socket.set_reuseport(true)?;
        socket.bind(address)
    });
    bound.is_err_and(|problem| problem.kind() == ErrorKind::AddrInUse)
}

fn addresses(config: &str) -> impl Iterator<Item = BoundAddress> {
    config.lines().enumerate().flat_map(|(number, line)| {
        let mut words = line.split_whitespace();
        let list = words.next().filter(|word| *word == "bind").and_then(|_| words.next());
        let said = list.into_iter().flat_map(|list| list.split(','));
        said.flat_map(in_numbers).map(move |address| (number + 1, address))
    })
}

/// The addresses of `127.0.0.1:80`, `:80`, `*:80-90` or `[::1]:80`. Whether all of IPv6 is IPv4, too, says another word of the line: it is left out.
fn in_numbers(text: &str) -> Vec<SocketAddr> {
    let read = || {
        let text = text.strip_prefix("ipv4@").or_else(|| text.strip_prefix("ipv6@")).unwrap_or(text);
        let (host, ports) = text.rsplit_once(':')?;
        let address = match host {
            "" | "*" => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            host => host.trim_matches(['[', ']']).parse().ok()?,
        };
        let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
        let ports = first.parse::<u16>().ok()?..=last.parse::<u16>().ok()?;
        let is_of_both = address.is_ipv6() && address.is_unspecified();
        (!is_of_both).then(|| ports.map(|port| SocketAddr::new(address, port)).collect())
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_configuration_listens_at_anew_is_known_by_line_and_address() {
        let before = "frontend a\n  bind :80\n  bind 127.0.0.1:81,*:82 name x\n";
        let after = "frontend a\n  bind *:80\n  bind 127.0.0.1:81\n  bind 127.0.0.2:90-91 ssl\n  bind ipv4@10.0.0.1:1,[::1]:2\n\
            \x20 bind :::3\n  bind unix@a.sock\n  bind /b.sock\n  bind \"${POD_IP}:4\"\n  bind localhost:5\n  bind quic4@:6\n  bindings :7\n";
        let all: Vec<String> =
            new_addresses(before, after).iter().map(|(line, address)| format!("{line} {address}")).collect();
        assert_eq!(all, ["4 127.0.0.2:90", "4 127.0.0.2:91", "5 10.0.0.1:1", "5 [::1]:2"]);
    }

    #[tokio::test]
    async fn an_address_is_taken_where_somebody_listens() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let elsewhere = SocketAddr::from(([192, 0, 2, 1], 80));
        assert_eq!(taken(&[(1, elsewhere), (2, address)]), Some((2, address)), "not there is not taken");
        drop(listener);
        assert_eq!(taken(&[(2, address)]), None);
    }
}
