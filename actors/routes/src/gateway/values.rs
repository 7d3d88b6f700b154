//! Values of filters as HAProxy gets them: parts of an entry of a map, which delimits its fields by `|`.
//!
//! A value that a header or a path cannot hold is refused here: it would be structure of the request that HAProxy sends.

use crate::{matching::lists::encoded, options::header::is_haproxys_own};
use haptic_model::map_entry;

/// Room for the name of a rule: names of a namespace, a route and, where servers are shown a certificate, a Gateway, with digests.
const RULE_NAME: usize = 1_391;
/// The longest settings of a rule: HAProxy takes the entry that they are in at run time.
pub(super) const LONGEST: usize = map_entry::LONGEST - RULE_NAME;

/// A change of a header, for Lua.
pub(super) fn header(what: &str, name: &str, value: &str) -> Result<String, String> {
    header_name(name)?;
    if is_haproxys_own(name) {
        return Err(format!("header {name} is one that HAProxy itself sets"));
    }
    let is_value = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7F);
    if !value.bytes().all(is_value) {
        return Err(format!("the value of header {name} has control characters"));
    }
    Ok(format!("{what},{},{};", encoded(name), encoded(value)))
}

/// Refuses what is no name of a header.
fn header_name(name: &str) -> Result<(), String> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name) {
        return Err(format!("{name:?} is no name of a header"));
    }
    Ok(())
}

/// Names of headers, in lower case, with commas between them.
pub(super) fn header_names(names: &[String]) -> Result<String, String> {
    for name in names {
        header_name(name)?;
        if name.contains('|') {
            return Err(format!("header {name:?} has a |, which is not supported"));
        }
    }
    Ok(names.join(",").to_ascii_lowercase())
}

/// A path as a request has it: what it cannot hold is percent-encoded.
pub(super) fn url_path(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut all = String::with_capacity(path.len());
    for (at, byte) in bytes.iter().enumerate() {
        let is_escape = || {
            let digits = bytes.get(at + 1..at + 3).unwrap_or_default();
            digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit)
        };
        match byte {
            b'%' if is_escape() => all.push('%'),
            byte if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(byte) => {
                all.push(char::from(*byte));
            }
            byte => all += &format!("%{byte:02X}"),
        }
    }
    all
}

/// Milliseconds of a duration such as `1h2m3s4ms`; `None` where it is none.
///
/// https://gateway-api.sigs.k8s.io/geps/gep-2257/
pub(super) fn milliseconds(text: &str) -> Option<u64> {
    let (mut rest, mut sum) = (text, 0_u64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|digits| (1..=5).contains(digits))?;
        let (number, behind) = rest.split_at(digits);
        let units = [("ms", 1), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
        let (left, unit) = units.iter().find_map(|(name, unit)| Some((behind.strip_prefix(name)?, unit)))?;
        sum += number.parse::<u64>().ok()? * unit;
        rest = left;
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_the_api() {
        for (text, known) in [
            ("500ms", Some(500)),
            ("1h2m3s4ms", Some(3_723_004)),
            ("0s", Some(0)),
            ("", None),
            ("1", None),
            ("1.5s", None),
            ("100000s", None),
        ] {
            assert_eq!(milliseconds(text), known, "{text}");
        }
    }

    #[test]
    fn paths_hold_nothing_but_a_path() {
        assert_eq!(url_path("/a b?c#d|e\r\n%20%"), "/a%20b%3Fc%23d%7Ce%0D%0A%20%25");
    }

    #[test]
    fn headers_hold_no_ends_of_lines() {
        assert_eq!(header("set", "X-A", "a|b; c").unwrap(), "set,X-A,a%7Cb%3B%20c;");
        assert!(header("set", "X-A", "a\r\nX-B: c").is_err() && header("set", "X A", "").is_err());
    }

    #[test]
    fn headers_that_haproxy_sets_are_nobody_elses() {
        for name in ["X-Haptic-Passes", "x-haptic-", "Transfer-Encoding", "connection", "TE"] {
            assert!(header("del", name, "").unwrap_err().contains(name), "{name}");
        }
        assert!(header("set", "Host", "a.example").is_ok());
    }
}
