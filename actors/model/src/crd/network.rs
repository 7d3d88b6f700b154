//! A network of addresses, as administrators write it: `10.0.0.0/8`, `fd00::/8`, or one address.

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, net::IpAddr, str::FromStr};

/// All addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct AllowedNetwork(IpNet);

impl AllowedNetwork {
    /// Whether it holds `address`.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

impl FromStr for AllowedNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        network.map(|network| Self(network.trunc())).map_err(|_| {
            let quoted: String = text.chars().take(60).collect();
            format!("{quoted:?} is no network: write it like 10.0.0.0/8, fd00::/8 or 10.1.2.3")
        })
    }
}

impl TryFrom<String> for AllowedNetwork {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<AllowedNetwork> for String {
    fn from(network: AllowedNetwork) -> Self {
        network.to_string()
    }
}

impl fmt::Display for AllowedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_the_addresses_that_begin_like_it() {
        let network = |text: &str| text.parse::<AllowedNetwork>().unwrap();
        let holds = |text: &str, address: &str| network(text).contains(address.parse().unwrap());
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("10.1.2.3", "10.1.2.3") && !holds("10.1.2.3", "10.1.2.4"));
        assert!(holds("fd00::/8", "fdff::1") && !holds("fd00::/8", "10.0.0.1"));
        assert!(holds("0.0.0.0/0", "127.0.0.1") && !holds("0.0.0.0/0", "::1"));
        assert_eq!(network("10.1.2.3/8").to_string(), "10.0.0.0/8");
    }

    #[test]
    fn what_is_no_network_is_refused_with_an_example() {
        for text in ["", "10", "10.0.0.0/33", "::/129", "example.com", "10.0.0.0/8 "] {
            let why = text.parse::<AllowedNetwork>().unwrap_err();
            assert!(why.contains("10.0.0.0/8"), "{why}");
        }
    }
}
