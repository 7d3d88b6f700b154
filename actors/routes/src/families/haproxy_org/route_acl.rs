//! `route-acl` of a Service: which requests for its paths it gets; others are left to other routes of the host. It is what HAProxy reads
//! between braces (`AddCustomRoute` in `pkg/route/route.go`), of which those conditions are known that headers, cookies, parameters of the
//! query and methods decide.

use crate::families::{annotations::ReadAnnotations, translation::Translation};

const KEY: &str = "route-acl";

/// Of a condition that is not known nobody knows who meets it: as there nobody, the routes of the Service are left out.
pub(super) fn conditions(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let Some(text) = said.text(KEY) else {
        out.level.left_out |= said.names(KEY);
        return;
    };
    let Some(needs) = RouteNeeds::of(text) else {
        return out.leave_out(KEY, "says which requests its Service gets, which is not known here");
    };
    for (option, lines, by) in [
        ("match-headers", needs.headers, "\n"),
        ("match-headers-regex", needs.header_patterns, "\n"),
        ("match-query", needs.query, "\n"),
        ("match-query-regex", needs.query_patterns, "\n"),
        ("match-methods", needs.methods, ","),
    ] {
        if lines.is_empty() {
            continue;
        }
        match out.read(option, &lines.join(by)) {
            Ok(value) => out.set_value(option, value),
            Err(wanted) => {
                let why = format!("says which requests its Service gets, and option {option} {wanted}");
                return out.leave_out(KEY, &why);
            }
        }
    }
}

/// The needs of a request, all of which it must meet.
#[derive(Debug, Default)]
struct RouteNeeds {
    headers: Vec<String>,
    header_patterns: Vec<String>,
    query: Vec<String>,
    query_patterns: Vec<String>,
    methods: Vec<String>,
}

/// How a part of a request is compared.
enum NeededValue {
    /// It has this value.
    Text(String),
    /// The expression finds something in it.
    Pattern(String),
}

impl RouteNeeds {
    /// `FETCH [-i] [-m METHOD] [--] VALUE… } { …`, with or without the outer braces.
    fn of(text: &str) -> Option<Self> {
        let mut needs = Self::default();
        let text = text.trim();
        let has_braces = text.starts_with("{ ") && text.ends_with(" }");
        let braced = if has_braces { text.to_owned() } else { format!("{{ {text} }}") };
        let mut rest = braced.as_str();
        while !rest.is_empty() {
            let (inner, behind) = rest.strip_prefix("{ ")?.split_once(" }")?;
            let words: Vec<&str> = inner.split_whitespace().collect();
            let (fetch, words) = words.split_first()?;
            needs.add(fetch, words)?;
            rest = behind.trim();
        }
        (!text.is_empty() && !text.contains(['"', '\'', '\\', '\n'])).then_some(needs)
    }

    fn add(&mut self, fetch: &str, words: &[&str]) -> Option<()> {
        if fetch == "method" {
            let is_known = self.methods.is_empty() && !words.is_empty();
            let are_words = words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_uppercase()));
            self.methods.extend(words.iter().map(|word| (*word).to_owned()));
            return (is_known && are_words).then_some(());
        }
        let (kind, name) = fetch.strip_suffix(')')?.split_once('(')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let kind = kind.strip_prefix("req.").unwrap_or(kind);
        let (kind, how) = kind.split_once('_').unwrap_or((kind, "str"));
        match kind {
            "hdr" | "fhdr" => match value(how, words)? {
                NeededValue::Text(text) => self.headers.push(format!("{name}: {text}")),
                NeededValue::Pattern(pattern) => self.header_patterns.push(format!("{name}: {pattern}")),
            },
            "url" if how.starts_with("param") => {
                let how = how.split_once('_').map_or("str", |(_, how)| how);
                self.of_query(name, value(how, words)?);
            }
            "urlp" => self.of_query(name, value(how, words)?),
            // One of many in a header.
            "cook" | "cookie" => {
                let value = match (words, how) {
                    (["-m", "found"], _) => String::new(),
                    ([text] | ["-m", "str", text], "str") => format!("{}(?:;|$)", regex_syntax::escape(text)),
                    _ => return None,
                };
                self.header_patterns.push(format!("cookie: (?:^|; ?){}={value}", regex_syntax::escape(name)));
            }
            _ => return None,
        }
        Some(())
    }

    fn of_query(&mut self, name: &str, value: NeededValue) {
        match value {
            NeededValue::Text(text) => self.query.push(format!("{name}={text}")),
            NeededValue::Pattern(pattern) => self.query_patterns.push(format!("{name}={pattern}")),
        }
    }
}

/// The value that words behind a fetch ask for; `how` without `-m`.
fn value(how: &str, words: &[&str]) -> Option<NeededValue> {
    let (mut how, mut case, mut words) = (how, "", words);
    loop {
        words = match *words {
            ["-i", ref rest @ ..] => {
                case = "(?i)";
                rest
            }
            ["-m", method, ref rest @ ..] => {
                how = method;
                rest
            }
            ["--", ref rest @ ..] => {
                words = rest;
                break;
            }
            _ => break,
        };
    }
    let escaped = || words.iter().map(|word| regex_syntax::escape(word)).collect::<Vec<_>>().join("|");
    let pattern = match (how, words) {
        ("found", []) => ".".to_owned(),
        (_, [] | ["-f" | "-M" | "-n" | "-u", ..]) | ("found", _) => return None,
        ("str", [text]) if case.is_empty() => return Some(NeededValue::Text((*text).to_owned())),
        ("str", _) => format!("^(?:{})$", escaped()),
        ("beg", _) => format!("^(?:{})", escaped()),
        ("end", _) => format!("(?:{})$", escaped()),
        ("sub", _) => escaped(),
        ("reg", [pattern]) => (*pattern).to_owned(),
        _ => return None,
    };
    Some(NeededValue::Pattern(format!("{case}{pattern}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        let RouteNeeds { headers, header_patterns, query, query_patterns, methods } = RouteNeeds::of(text)?;
        Some([headers, header_patterns, query, query_patterns, methods].concat().join(" & "))
    }

    #[test]
    fn conditions_of_headers_cookies_queries_and_methods_are_known() {
        for (text, expected) in [
            ("hdr(x-staging) -m str yes", "x-staging: yes"),
            ("req.hdr(X-A) yes", "X-A: yes"),
            ("hdr(x-a) -m found", "x-a: ."),
            ("hdr(x-a) -i -m str yes", "x-a: (?i)^(?:yes)$"),
            ("hdr(x-a) a.b c", "x-a: ^(?:a\\.b|c)$"),
            ("hdr_beg(host) -i beta.", "host: (?i)^(?:beta\\.)"),
            ("hdr(x-a) -m reg ^v[0-9]+$", "x-a: ^v[0-9]+$"),
            ("cookie(staging) -m found", "cookie: (?:^|; ?)staging="),
            ("req.cook(a) b", "cookie: (?:^|; ?)a=b(?:;|$)"),
            ("url_param(v) 2", "v=2"),
            ("urlp(v) -m found", "v=."),
            ("method POST PUT } { hdr(x) 1", "x: 1 & POST & PUT"),
            ("{ method POST PUT } { hdr(x) 1 }", "x: 1 & POST & PUT"),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn others_are_not() {
        for text in [
            "",
            "{ src 10.0.0.0/8 }",
            "!{ hdr(x) 1 }",
            "{ hdr(x) 1 } or { hdr(y) 1 }",
            "{ hdr(x) 1 } || { hdr(y) 1 }",
            "hdr(x) 1 } or { hdr(y) 1",
            "hdr(x) 1 } !{ hdr(y) 1",
            "hdr(x) 1 }",
            "path_end -i .png",
            "rand(100) lt 25",
            "{ rand(100) lt 25 }",
            "{ hdr(x,1) 1 }",
            "{ hdr(x),lower 1 }",
            "{ hdr(x) -f /etc/passwd }",
            "{ hdr(x) -m int 1 }",
            "{ hdr(x) \"a b\" }",
            "{ hdr(x) }",
            "{ cookie(a) -m reg b }",
            "{ method get }",
            "{ hdr(x) 1 }}",
            "METH_GET",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
