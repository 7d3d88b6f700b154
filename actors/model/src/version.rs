//! HAProxy's version, as far as a configuration depends on it.

use serde::{Deserialize, Serialize};

/// Major and minor version of a HAProxy: 3.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HaproxyVersion {
    /// 3 in 3.4.
    pub major: u16,
    /// 4 in 3.4.
    pub minor: u16,
}

impl HaproxyVersion {
    /// The version `major.minor`.
    #[must_use]
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

impl std::str::FromStr for HaproxyVersion {
    type Err = String;

    /// Takes "3.4", "3.4.7" and what `haproxy -v` prints behind its name: "3.4.7-1~bpo12+1".
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let mut parts = s.trim().split(|c: char| !c.is_ascii_digit()).map(str::parse);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok(Self { major, minor }),
            _ => Err(format!("{s:?} is not a HAProxy version like 3.4")),
        }
    }
}

impl TryFrom<String> for HaproxyVersion {
    type Error = String;

    fn try_from(s: String) -> Result<Self, Self::Error> {
        s.parse()
    }
}

impl From<HaproxyVersion> for String {
    fn from(v: HaproxyVersion) -> Self {
        v.to_string()
    }
}

impl std::fmt::Display for HaproxyVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_what_haproxy_prints() {
        assert_eq!("3.4.7-1~exp1".parse(), Ok(HaproxyVersion::new(3, 4)));
        assert_eq!("3.0".parse(), Ok(HaproxyVersion::new(3, 0)));
        assert!("three".parse::<HaproxyVersion>().is_err());
        assert!("3".parse::<HaproxyVersion>().is_err());
    }
}
