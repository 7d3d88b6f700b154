//! Lines of `NAME: VALUE` that people write for headers of requests and answers.

use super::{Call, Function, Group, Kind::*, arg, function};
use crate::value::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "header_lines",
        Group::Haproxy,
        &[arg("text", Text)],
        "The headers in lines of `NAME: VALUE`, as dicts with name and value.",
        (
            r#"{{#each (header_lines "X-A: 1\nX-B: 2") as |h|}}{{h.name}}={{h.value}} {{/each}}"#,
            "X-A=1 X-B=2 ",
        ),
        |call| {
            let header = |(name, value): (&str, &str)| {
                Value::dict([("name".into(), Value::text(name)), ("value".into(), Value::text(value))])
            };
            Ok(Value::list(lines(&call.text(0)).filter_map(split).map(header).collect()))
        },
    ),
    function(
        "headers_problem",
        Group::Haproxy,
        &[arg("text", Text), arg("most", Integer)],
        "What lines of `NAME: VALUE` must be instead: of the first wrong one, or when there are too many; missing if nothing is wrong. Headers that say where a message ends, or what a connection does, are none to set.",
        (
            r#"{{headers_problem "Content-Length: 1" 9}} {{default (headers_problem "X-A: 1" 9) "none"}}"#,
            "without Content-Length, which HAProxy itself sets none",
        ),
        |call| Ok(problem(call).map_or(Value::Missing, Value::from)),
    ),
];

/// The longest line: what HAProxy keeps free for all of them together is 1,024 bytes.
const LONGEST_LINE: usize = 1000;

/// What a proxy tells its neighbour alone (RFC 9110, 7.6.1), or frames the message; and our own.
const REFUSED: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const INTERNAL: &str = "x-haptic-";

fn problem(call: &Call<'_>) -> Option<String> {
    let (text, most) = (call.text(0), usize::try_from(call.integer(1, 0)).unwrap_or(0));
    let count = lines(&text).count();
    if count > most {
        return Some(format!("no more than {most} lines, there are {count}"));
    }
    lines(&text).find_map(|line| {
        let quoted: String = line.chars().take(50).collect();
        let Some((name, value)) = split(line) else {
            return Some(format!("lines of NAME: VALUE, {quoted:?} is none"));
        };
        let lower = name.to_ascii_lowercase();
        if line.len() > LONGEST_LINE || value.contains(char::is_control) {
            return Some(format!(
                "lines of up to {LONGEST_LINE} bytes without control characters, {quoted:?} is none"
            ));
        }
        let refused = REFUSED.contains(&&*lower) || lower.starts_with(INTERNAL);
        refused.then(|| format!("without {name}, which HAProxy itself sets"))
    })
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(str::trim).filter(|line| !line.is_empty())
}

/// Name and value of a line.
fn split(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let named = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let value = value.trim();
    (named && !value.is_empty()).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_name_and_a_value() {
        for (line, is) in [
            ("X-A:1", Some(("X-A", "1"))),
            ("X-A: a: b ", Some(("X-A", "a: b"))),
            ("X A: 1", None),
            ("X-A", None),
            ("X-A: ", None),
            (": 1", None),
            ("X_A: 1", None),
        ] {
            assert_eq!(split(line), is, "{line}");
        }
    }
}
