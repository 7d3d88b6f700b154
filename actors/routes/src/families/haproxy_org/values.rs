//! How haproxytech/kubernetes-ingress reads values (`pkg/utils/utils.go`, `pkg/annotations`).

use crate::families::values::{ForeignValue, ValueReader};

/// The words that Go's `strconv.ParseBool` takes, and older ones.
pub const SWITCH: ValueReader = ValueReader { expected: "true or false", read: switch };

/// A time, in milliseconds without a unit; as a time of ours.
pub const TIME: ValueReader =
    ValueReader { expected: "a time such as 500ms, 30s or 5m, or a number of milliseconds", read: time };

/// A whole number.
pub const NUMBER: ValueReader = ValueReader { expected: "a whole number", read: number };

fn switch(text: &str) -> Option<ForeignValue> {
    match text.trim() {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(ForeignValue::Switch(true)),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(ForeignValue::Switch(false)),
        word => match word.to_ascii_lowercase().as_str() {
            "enabled" | "on" => Some(ForeignValue::Switch(true)),
            "disabled" | "off" => Some(ForeignValue::Switch(false)),
            _ => None,
        },
    }
}

fn time(text: &str) -> Option<ForeignValue> {
    milliseconds(text).map(|time| ForeignValue::Text(format!("{time}ms")))
}

fn number(text: &str) -> Option<ForeignValue> {
    text.trim().parse().ok().map(ForeignValue::Number)
}

/// Digits, and `ms`, `s`, `m`, `h` or `d`.
#[must_use]
pub fn milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    let factor = match unit {
        "" | "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Lines that are not empty.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// `NAME VALUE`, the value as HAProxy reads it: it is given a quotation mark where it has none in front or behind. `None`: the line is
/// another one, or HAProxy would read several words.
#[must_use]
pub fn header(line: &str) -> Option<(&str, String)> {
    let (name, value) = line.split_once(' ')?;
    let value = value.trim();
    let front = if value.starts_with('"') { "" } else { "\"" };
    let behind = if value.ends_with('"') && value.len() > 1 { "" } else { "\"" };
    Some((name, word(&format!("{front}{value}{behind}"))?))
}

/// The one word that HAProxy reads (configuration manual, 2.2).
fn word(text: &str) -> Option<String> {
    let (mut read, mut double, mut single) = (String::new(), false, false);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' if !single => double = !double,
            '\'' if !double => single = !single,
            '\\' if !single => match characters.next()? {
                c @ ('\\' | '"' | '\'' | ' ' | '#' | '$') => read.push(c),
                _ => return None,
            },
            c if !double && !single && (c.is_whitespace() || c == '#') => return None,
            c => read.push(c),
        }
    }
    (!double && !single).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_without_a_unit_are_milliseconds() {
        let read = ["500", "2s", "5m", "1h", "1d", "7ms"].map(milliseconds);
        assert_eq!(read, [500, 2000, 300_000, 3_600_000, 86_400_000, 7].map(Some));
        assert_eq!(["", "1.5s", "10us", "s", "-1s", "99999999999999999999"].map(milliseconds), [None; 6]);
    }

    #[test]
    fn switches_are_those_of_go_and_older_words() {
        assert_eq!(
            ["true", "T", "on", "ON", "Enabled", "1"].map(switch),
            [const { Some(ForeignValue::Switch(true)) }; 6]
        );
        assert_eq!(
            ["false", "F", "OFF", "disabled", "0"].map(switch),
            [const { Some(ForeignValue::Switch(false)) }; 5]
        );
        assert_eq!(["yes", "", "TRue"].map(switch), [const { None }; 3]);
    }

    #[test]
    fn a_header_is_what_haproxy_reads_of_its_line() {
        let read = |line: &'static str| header(line).map(|(name, value)| format!("{name}={value}"));
        for (line, expected) in [
            ("X-HSTS \"max-age=31536000; includeSubDomains\"", "X-HSTS=max-age=31536000; includeSubDomains"),
            ("X-A 1", "X-A=1"),
            ("X-A a b", "X-A=a b"),
            ("X-A \"a b", "X-A=a b"),
            ("X-A a \\\"b\\\" c", "X-A=a \"b\" c"),
            ("X-A it's", "X-A=it's"),
        ] {
            assert_eq!(read(line).as_deref(), Some(expected), "{line}");
        }
        for line in ["X-A", "X-A a \"b c", "X-A \"a\" b \"c\""] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
