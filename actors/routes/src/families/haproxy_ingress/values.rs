//! How jcmoraisjr/haproxy-ingress reads values (`pkg/converters/ingress/annotations`).

use crate::{
    families::values::{ForeignValue, ValueReader},
    options::{
        network::Network,
        quantity::{byte_count, milliseconds},
    },
};

/// A time with its unit; as a time of ours.
pub const TIME: ValueReader =
    ValueReader { expected: "a time with its unit, such as 500ms, 30s or 5m", read: time };

/// A size with k, m or g, or `unlimited`.
pub const SIZE: ValueReader =
    ValueReader { expected: "a size such as 500k or 10m, or unlimited", read: size };

fn time(text: &str) -> Option<ForeignValue> {
    milliseconds(text).map(|time| ForeignValue::Text(format!("{time}ms")))
}

fn size(text: &str) -> Option<ForeignValue> {
    let is_size = text == "unlimited" || byte_count(text).is_some();
    is_size.then(|| ForeignValue::Text(text.to_owned()))
}

/// `NAME: VALUE` or `NAME VALUE`.
#[must_use]
pub fn header(line: &str) -> Option<(&str, &str)> {
    let end = line.find([':', ' '])?;
    let (name, value) = (line.get(..end)?, line.get(end + 1..)?.trim());
    (!name.is_empty() && !value.is_empty()).then_some((name, value))
}

/// A list of networks, of which some are exceptions.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SourceRanges<'t> {
    /// Those that are meant.
    pub networks: Vec<&'t str>,
    /// Those behind a `!`.
    pub exceptions: Vec<&'t str>,
    /// The words that are no networks.
    pub wrong: Vec<&'t str>,
}

/// Reads `10.0.0.0/8, !10.1.0.0/16`.
#[must_use]
pub fn sources(text: &str) -> SourceRanges<'_> {
    let mut read = SourceRanges::default();
    for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let (list, network) = match one.strip_prefix('!') {
            Some(network) => (&mut read.exceptions, network.trim()),
            None => (&mut read.networks, one),
        };
        if Network::of(network).is_some() {
            list.push(network);
        } else {
            read.wrong.push(one);
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_networks_exceptions_and_what_is_wrong() {
        let read = sources("10.0.0.0/8, !10.1.0.0/16,, x, !y");
        let expected = SourceRanges {
            networks: vec!["10.0.0.0/8"],
            exceptions: vec!["10.1.0.0/16"],
            wrong: vec!["x", "!y"],
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_header_has_a_colon_or_a_blank_behind_its_name() {
        assert_eq!(header("X-A: b c"), Some(("X-A", "b c")));
        assert_eq!(header("X-A b: c"), Some(("X-A", "b: c")));
        assert_eq!([header("X-A"), header("X-A:"), header(": b")], [None; 3]);
    }
}
