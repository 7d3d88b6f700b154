//! Networks, and what the addresses in them begin with.

use ipnet::IpNet;
use std::net::IpAddr;

/// An address or network, as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    text: String,
    net: IpNet,
}

impl Network {
    /// Of `10.0.0.0/8`, `fd00::/8`, or an address alone.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let length = match length {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
            Some(_) => return None,
            None => IpNet::from(address).max_prefix_len(),
        };
        Some(Self { text: text.to_owned(), net: IpNet::new(address, length).ok()? })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The network that is in both: one of them, or none.
    #[must_use]
    pub fn within<'n>(&'n self, other: &'n Self) -> Option<&'n Self> {
        if other.net.contains(&self.net) {
            Some(self)
        } else {
            self.net.contains(&other.net).then_some(other)
        }
    }

    /// The networks that are left of it without the other one.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Vec<Self> {
        if other.net.contains(&self.net) {
            return Vec::new();
        }
        let (mut left, mut rest) = (Vec::new(), self.net);
        while rest.contains(&other.net) && rest != other.net {
            let Ok(mut halves) = rest.subnets(rest.prefix_len() + 1) else { break };
            let (Some(one), Some(two)) = (halves.next(), halves.next()) else { break };
            let (with, without) = if one.contains(&other.net) { (one, two) } else { (two, one) };
            left.push(Self { text: without.to_string(), net: without });
            rest = with;
        }
        if left.is_empty() { vec![self.clone()] } else { left }
    }

    /// The beginnings of the addresses in it: 4 or 6, then hexadecimal digits. With them a map finds by `map_beg` which network an
    /// address is in.
    #[must_use]
    pub fn prefixes(&self) -> Vec<String> {
        let (family, bytes) = match self.net.addr() {
            IpAddr::V4(v4) => ('4', v4.octets().to_vec()),
            IpAddr::V6(v6) => ('6', v6.octets().to_vec()),
        };
        let length = usize::from(self.net.prefix_len());
        let digits: Vec<u8> = bytes.iter().flat_map(|b| [b >> 4, b & 15]).collect();
        let mut prefix = String::from(family);
        prefix.extend(digits.iter().take(length / 4).map(|d| digit(*d)));
        let bits = length % 4;
        let Some(last) = digits.get(length / 4).filter(|_| bits > 0) else { return vec![prefix] };
        let free = 1_u8 << (4 - bits);
        let first = last & !(free - 1);
        (first..first + free).map(|d| format!("{prefix}{}", digit(d))).collect()
    }
}

/// The form that networks of `text`, separated by commas, must have.
///
/// # Errors
/// Of the first wrong one, or when there are more than `most`.
pub fn networks(text: &str, most: usize) -> Result<Vec<Network>, String> {
    let count = text.split(',').count();
    if count > most {
        return Err(format!("no more than {most} networks, there are {count}"));
    }
    let read = |one: &str| {
        Network::of(one).ok_or_else(|| {
            let quoted: String = one.chars().take(50).collect();
            format!("networks such as 10.0.0.0/8 or fd00::/8, separated by commas: {quoted:?} is none")
        })
    };
    text.split(',').map(str::trim).map(read).collect()
}

fn digit(value: u8) -> char {
    char::from_digit(value.into(), 16).unwrap_or('0').to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_all_beginnings_of_its_addresses() {
        let prefixes = |text: &str| Network::of(text).map(|n| n.prefixes().join(" ")).unwrap_or_default();
        for (network, expected) in [
            ("10.1.2.3", "40A010203"),
            ("10.1.2.3/24", "40A0102"),
            ("192.168.0.0/14", "4C0A8 4C0A9 4C0AA 4C0AB"),
            ("0.0.0.0/0", "4"),
            ("::/0", "6"),
        ] {
            assert_eq!(prefixes(network), expected);
        }
        for wrong in ["10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/+8", "x", "", "10.0.0.0/8/8"] {
            assert_eq!(Network::of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn of_a_network_the_rest_is_left() {
        let left = |a: &str, b: &str| {
            let (a, b) = (Network::of(a).unwrap(), Network::of(b).unwrap());
            a.minus(&b).iter().map(|n| n.text().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(left("10.0.0.0/8", "10.192.0.0/10"), "10.0.0.0/9 10.128.0.0/10");
        assert_eq!(left("10.0.0.0/8", "11.0.0.0/8"), "10.0.0.0/8");
        assert_eq!(left("10.1.0.0/16", "10.0.0.0/8"), "");
        assert_eq!(left("10.1.1.1", "10.1.1.1"), "");
        assert_eq!(left("10.0.0.0/31", "10.0.0.1"), "10.0.0.0/32");
        assert_eq!(left("::/0", "10.0.0.0/8"), "::/0");
    }

    #[test]
    fn of_two_networks_the_smaller_one_is_in_both() {
        let both = |a: &str, b: &str| {
            let (a, b) = (Network::of(a)?, Network::of(b)?);
            a.within(&b).map(|n| n.text().to_owned())
        };
        for (a, b, expected) in [
            ("10.0.0.0/8", "10.1.0.0/16", Some("10.1.0.0/16")),
            ("10.1.0.0/16", "10.0.0.0/8", Some("10.1.0.0/16")),
            ("10.0.0.1", "10.0.0.1/32", Some("10.0.0.1")),
            ("10.0.0.0/8", "11.0.0.0/8", None),
            ("0.0.0.0/0", "::/0", None),
        ] {
            assert_eq!(both(a, b).as_deref(), expected, "{a} {b}");
        }
    }
}
