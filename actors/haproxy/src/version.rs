//! The version of an HAProxy, as far as its configuration language depends on it: major and minor.

use std::fmt;
use std::str::FromStr;

/// A HAProxy branch such as 3.4. Patch levels never change the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// `3` of 3.4.7.
    pub major: u16,
    /// `4` of 3.4.7.
    pub minor: u16,
}

/// The text does not start with a version such as `3.4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionError {
    text: String,
}

impl Version {
    /// The branch `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

/// Reads `3.4`, `3.4.7-1`, `3.0.11-1+deb13u3` and the like; everything after the minor number is ignored.
impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let refuse = || VersionError { text: text.to_owned() };
        let (major, rest) = text.trim().split_once('.').ok_or_else(refuse)?;
        let minor = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        Ok(Self { major: major.parse().map_err(|_| refuse())?, minor: minor.parse().map_err(|_| refuse())? })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not a HAProxy version: write it like 3.4 or 3.4.7", self.text)
    }
}

impl std::error::Error for VersionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_haproxy_prints_them() {
        for (text, expected) in [
            ("3.4.7-1", Some("3.4")),
            ("3.0.11-1+deb13u3", Some("3.0")),
            ("3.4-dev2", Some("3.4")),
            ("3.2", Some("3.2")),
            (" 3.12.1\n", Some("3.12")),
            ("3", None),
            ("3.x", None),
            ("", None),
            ("v3.4", None),
        ] {
            assert_eq!(text.parse::<Version>().ok().map(|v| v.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_higher_minor_is_newer_even_with_two_digits() {
        assert!(Version::new(3, 12) > Version::new(3, 4));
        assert!(Version::new(4, 0) > Version::new(3, 12));
    }
}
