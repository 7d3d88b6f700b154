//! What people write for times, sizes and networks, as HAProxy's rules compute with it. What is none gives nothing, so
//! that a template can say whose value it is.

use super::{Call, Function, Group, Kind::*, arg, function};
use crate::value::Value;
use std::net::IpAddr;

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "milliseconds",
        Group::Haproxy,
        &[arg("time", Text)],
        "A time as HAProxy writes it, with its unit (us, ms, s, m, h or d), in milliseconds; missing if it is none.",
        (r#"{{milliseconds "30s"}} {{default (milliseconds "30") "none"}}"#, "30000 none"),
        |call| Ok(milliseconds(&call.text(0)).map_or(Value::Missing, |n| Value::Number(n.into()))),
    ),
    function(
        "byte_count",
        Group::Haproxy,
        &[arg("size", Text)],
        "A size (k, m or g, each 1024 times the one before; bytes without a unit) in bytes; missing if it is none.",
        (r#"{{byte_count "10m"}} {{default (byte_count "much") "none"}}"#, "10485760 none"),
        |call| Ok(byte_count(&call.text(0)).map_or(Value::Missing, |n| Value::Number(n.into()))),
    ),
    function(
        "networks_problem",
        Group::Haproxy,
        &[arg("networks", Text), arg("most", Integer)],
        "What a list of networks, separated by commas, must be instead: of the first wrong one, or when there are too many; missing if nothing is wrong.",
        (
            r#"{{networks_problem "::1,x" 9}} {{default (networks_problem "::1" 9) "none"}}"#,
            r#"networks such as 10.0.0.0/8 or fd00::/8, separated by commas: "x" is none none"#,
        ),
        networks,
    ),
    function(
        "network_prefixes",
        Group::Haproxy,
        &[arg("network", Text)],
        "An IP address or network as a list of what the addresses in it begin with: 4 or 6, then hexadecimal digits. With them a map finds by map_beg which network an address is in. Missing if it is none.",
        (
            r#"{{join (network_prefixes "10.0.0.0/7") " "}} {{join (network_prefixes "fd00::/8") " "}}"#,
            "40A 40B 6FD",
        ),
        |call| {
            Ok(match network_prefixes(&call.text(0)) {
                Some(prefixes) => Value::list(prefixes.into_iter().map(Value::from).collect()),
                None => Value::Missing,
            })
        },
    ),
];

fn networks(call: &Call<'_>) -> Result<Value, String> {
    let (text, most) = (call.text(0), usize::try_from(call.integer(1, 0)).unwrap_or(0));
    let count = text.split(',').count();
    if count > most {
        return Ok(format!("no more than {most} networks, there are {count}").into());
    }
    let wrong = text.split(',').map(str::trim).find(|network| network_prefixes(network).is_none());
    Ok(wrong.map_or(Value::Missing, |wrong| {
        let quoted: String = wrong.chars().take(50).collect();
        format!("networks such as 10.0.0.0/8 or fd00::/8, separated by commas: {quoted:?} is none").into()
    }))
}

/// The longest time HAProxy's timers can hold is below 2^31 ms.
const LONGEST: u64 = i32::MAX as u64;

fn milliseconds(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let milliseconds = match unit {
        "us" => number / 1000,
        "ms" => number,
        "s" => number.checked_mul(1000)?,
        "m" => number.checked_mul(60_000)?,
        "h" => number.checked_mul(3_600_000)?,
        "d" => number.checked_mul(86_400_000)?,
        _ => return None,
    };
    (milliseconds <= LONGEST).then_some(milliseconds)
}

fn byte_count(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = match unit {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor).filter(|n| *n < 1 << 53)
}

/// Digits, then a unit.
fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, unit))
}

fn network_prefixes(text: &str) -> Option<Vec<String>> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let (family, bytes) = match address.parse().ok()? {
        IpAddr::V4(v4) => ('4', v4.octets().to_vec()),
        IpAddr::V6(v6) => ('6', v6.octets().to_vec()),
    };
    let most = bytes.len() * 8;
    let length: usize = match length {
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
        Some(_) => return None,
        None => most,
    };
    if length > most {
        return None;
    }
    let digits: Vec<u8> = bytes.iter().flat_map(|b| [b >> 4, b & 15]).collect();
    let mut prefix = String::from(family);
    prefix.extend(digits.iter().take(length / 4).map(|d| digit(*d)));
    let bits = length % 4;
    let Some(last) = digits.get(length / 4).filter(|_| bits > 0) else { return Some(vec![prefix]) };
    let free = 1_u8 << (4 - bits);
    let first = last & !(free - 1);
    Some((first..first + free).map(|d| format!("{prefix}{}", digit(d))).collect())
}

fn digit(value: u8) -> char {
    char::from_digit(value.into(), 16).unwrap_or('0').to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_all_beginnings_of_its_addresses() {
        let prefixes = |text: &str| network_prefixes(text).map(|p| p.join(" ")).unwrap_or_default();
        assert_eq!(prefixes("10.1.2.3"), "40A010203");
        assert_eq!(prefixes("10.1.2.3/24"), "40A0102");
        assert_eq!(prefixes("192.168.0.0/14"), "4C0A8 4C0A9 4C0AA 4C0AB");
        assert_eq!(prefixes("0.0.0.0/0"), "4");
        assert_eq!(prefixes("::/0"), "6");
        for wrong in ["10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/+8", "x", "", "10.0.0.0/8/8"] {
            assert_eq!(network_prefixes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_and_sizes_are_numbers_with_known_units_and_fit() {
        assert_eq!(["500ms", "1h", "2d"].map(milliseconds), [500, 3_600_000, 172_800_000].map(Some));
        assert_eq!(["", "30", "s", "-1s", "1.5s", "1w", "99999999d"].map(milliseconds), [None; 7]);
        assert_eq!(["7", "1k", "2G"].map(byte_count), [7, 1024, 2 << 30].map(Some));
        assert_eq!(["", "k", "1kb", "99999999999999999999"].map(byte_count), [None; 4]);
    }
}
