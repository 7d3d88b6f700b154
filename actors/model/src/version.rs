//! HAProxy's version, as far as a configuration depends on it, and what each version can do.

use serde::{Deserialize, Serialize};

/// Major and minor version of a HAProxy: 3.4. Patch levels never change the language.
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

    /// The oldest version with a table of keywords.
    pub const OLDEST: Self = Self::new(3, 0);
    /// The newest version with a table of keywords.
    pub const NEWEST: Self = Self::new(3, 4);

    /// Whether its socket adds whole backends (`add backend`, `publish backend`).
    #[must_use]
    pub fn adds_backends(self) -> bool {
        self >= Self::new(3, 4)
    }

    /// Bytes of a certificate or authority that its socket takes at once: below `tune.bufsize` until 3.2.
    #[must_use]
    pub fn largest_payload(self) -> usize {
        if self >= Self::new(3, 4) { 60_000 } else { 15_000 }
    }

    /// Whether changes of a certificate still reach a bind line after its authorities have changed. Before, `show ssl cert` calls such
    /// a certificate unused, and changes of it reach nobody.
    #[must_use]
    pub fn tracks_certificates_of_changed_authorities(self) -> bool {
        self >= Self::new(3, 2)
    }

    /// Whether it refuses a backend named like an earlier `listen`, in either order.
    #[must_use]
    pub fn wants_one_name_for_backends(self) -> bool {
        self >= Self::new(3, 2)
    }

    /// Whether it refuses a frontend and a backend of the same name.
    #[must_use]
    pub fn wants_one_name_for_proxies(self) -> bool {
        self >= Self::new(3, 3)
    }

    /// Whether it only warns when `from` names a defaults section that is there twice.
    #[must_use]
    pub fn accepts_ambiguous_defaults(self) -> bool {
        self >= Self::new(3, 3)
    }

    /// Whether it looks for the userlists of `defaults` sections even if nothing starts from them.
    #[must_use]
    pub fn resolves_userlists_of_defaults(self) -> bool {
        self >= Self::new(3, 4)
    }

    /// Whether the Data Plane API of this version brings certificates to a running HAProxy.
    #[must_use]
    pub fn api_brings_certificates(self) -> bool {
        self >= Self::new(3, 2)
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
        assert_eq!(" 3.12.1\n".parse(), Ok(HaproxyVersion::new(3, 12)));
        for text in ["3", "3.x", "", "v3.4"] {
            assert!(text.parse::<HaproxyVersion>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_higher_minor_is_newer_even_with_two_digits() {
        assert!(HaproxyVersion::new(3, 12) > HaproxyVersion::new(3, 4));
        assert!(HaproxyVersion::new(4, 0) > HaproxyVersion::new(3, 12));
    }
}
