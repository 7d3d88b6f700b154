//! Where a client comes in: a `bind` line, which is a UNIX socket here, and the one that a URL means.

use std::{net::IpAddr, ops::RangeInclusive};

/// A `bind` line of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entrance {
    /// The socket in the folder in which HAProxy runs.
    pub socket: String,
    /// Where it would listen.
    pub ports: Vec<RangeInclusive<u16>>,
    /// The first of its addresses, if it is one and not a name or all of them.
    pub address: Option<IpAddr>,
    /// Whether it speaks TLS.
    pub tls: bool,
    /// Whether its proxy leads to backends; one for health or statistics does not.
    pub leads_on: bool,
}

/// Port and address of a `bind` line's addresses. None for QUIC, which is no stream.
pub(super) fn places(addresses: &str) -> Option<(Vec<RangeInclusive<u16>>, Option<IpAddr>)> {
    let mut streams = addresses.split(',').filter_map(stream).peekable();
    streams.peek()?;
    let (mut ports, mut first) = (Vec::new(), None);
    for place in streams {
        let (host, port) = place.rsplit_once(':').unwrap_or((place, ""));
        first = first.or_else(|| host.trim_matches(['[', ']']).parse().ok());
        ports.extend(range(port));
    }
    Some((ports, first.filter(|address: &IpAddr| !address.is_unspecified())))
}

/// An address without the family before it, unless it takes no streams.
fn stream(address: &str) -> Option<&str> {
    match address.split_once('@') {
        None => Some(address),
        Some(("quic4" | "quic6" | "quic" | "udp" | "udp4" | "udp6" | "rhttp", _)) => None,
        Some((_, address)) => Some(address),
    }
}

fn range(port: &str) -> Option<RangeInclusive<u16>> {
    let (from, to) = port.split_once('-').unwrap_or((port, port));
    Some(from.parse().ok()?..=to.parse().ok()?)
}

/// The one that a client of this scheme and port comes to.
///
/// # Errors
/// None is meant by it.
pub(super) fn meant(entrances: &[Entrance], is_https: bool, port: Option<u16>) -> Result<&Entrance, String> {
    let at = |port: u16| {
        let there =
            || entrances.iter().filter(move |entrance| entrance.ports.iter().any(|p| p.contains(&port)));
        there().find(|entrance| entrance.tls == is_https).or_else(|| there().next())
    };
    let found = match port {
        Some(port) => at(port),
        None => at(if is_https { 443 } else { 80 }).or_else(|| first(entrances, is_https)),
    };
    found.ok_or_else(|| {
        let what = match (port, is_https) {
            (Some(port), _) => format!("no bind line has port {port}"),
            (None, true) => "no bind line has TLS".to_owned(),
            (None, false) => "every bind line has TLS".to_owned(),
        };
        format!("{what}; there is: {}", list(entrances))
    })
}

fn first(entrances: &[Entrance], is_https: bool) -> Option<&Entrance> {
    let alike = || entrances.iter().filter(|entrance| entrance.tls == is_https);
    alike().find(|entrance| entrance.leads_on).or_else(|| alike().next())
}

fn list(entrances: &[Entrance]) -> String {
    let ports = |entrance: &Entrance| {
        let ports = entrance.ports.iter().map(|ports| match (ports.start(), ports.end()) {
            (from, to) if from == to => from.to_string(),
            (from, to) => format!("{from}-{to}"),
        });
        let ports: Vec<String> = ports.collect();
        let tls = if entrance.tls { " with TLS" } else { "" };
        format!("{}{tls}", ports.join(","))
    };
    match entrances {
        [] => "none".to_owned(),
        some => some.iter().map(ports).collect::<Vec<_>>().join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_what_is_no_stream_is_left_out() {
        let read = |text| {
            let (ports, address) = places(text)?;
            Some((ports, address.map(|address| address.to_string())))
        };
        assert_eq!(read(":80"), Some((vec![80..=80], None)));
        assert_eq!(read("*:80,[::]:8000-8010"), Some((vec![80..=80, 8000..=8010], None)));
        assert_eq!(read("ipv4@10.0.0.1:443"), Some((vec![443..=443], Some("10.0.0.1".into()))));
        assert_eq!(read("2001:db8::1:443"), Some((vec![443..=443], Some("2001:db8::1".into()))));
        assert_eq!(read("quic4@:443"), None);
        assert_eq!(read("quic4@:443,:444"), Some((vec![444..=444], None)));
        assert_eq!(read("unix@/run/x.sock"), Some((vec![], None)));
        assert_eq!(read("${ADDRESS}"), Some((vec![], None)));
    }

    #[test]
    fn a_url_means_the_port_that_it_names_and_else_the_first_that_leads_on() {
        let entrance = |port: u16, tls, leads_on| Entrance {
            socket: port.to_string(),
            ports: vec![port..=port],
            address: None,
            tls,
            leads_on,
        };
        let all = [
            entrance(7084, false, false),
            entrance(7080, false, true),
            entrance(7443, true, true),
            entrance(9443, false, true),
        ];
        let meant = |https, port| meant(&all, https, port).map(|entrance| entrance.socket.clone());
        assert_eq!(meant(false, None).unwrap(), "7080");
        assert_eq!(meant(true, None).unwrap(), "7443");
        assert_eq!(meant(false, Some(7084)).unwrap(), "7084");
        assert_eq!(meant(true, Some(9443)).unwrap(), "9443", "TLS that is passed through");
        assert_eq!(
            meant(false, Some(80)).unwrap_err(),
            "no bind line has port 80; there is: 7084; 7080; 7443 with TLS; 9443"
        );
        let with_80 = [entrance(7080, false, true), entrance(80, false, false)];
        assert_eq!(super::meant(&with_80, false, None).unwrap().socket, "80");
        assert_eq!(
            super::meant(&with_80, true, None).unwrap_err(),
            "no bind line has TLS; there is: 7080; 80"
        );
    }
}
