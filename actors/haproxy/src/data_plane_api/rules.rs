//! Lines whose options the API writes in another order or by another name: what such a line means, whatever its wording.
//!
//! A line that is not in the tables is compared word by word.

use crate::document::{Line, Word};

/// Options that take no value, one, or two, by how many words follow them.
type OptionArity = &'static [(&'static str, usize)];

/// An answer that HAProxy gives by itself.
const ANSWER: OptionArity = &[
    ("status", 1),
    ("deny_status", 1),
    ("content-type", 1),
    ("string", 1),
    ("lf-string", 1),
    ("file", 1),
    ("lf-file", 1),
    ("errorfile", 1),
    ("errorfiles", 1),
    ("default-errorfiles", 0),
    ("hdr", 2),
];
const REDIRECT: OptionArity = &[
    ("location", 1),
    ("prefix", 1),
    ("scheme", 1),
    ("code", 1),
    ("set-cookie", 1),
    ("set-cookie-fmt", 1),
    ("clear-cookie", 1),
    ("drop-query", 0),
    ("append-slash", 0),
    ("ignore-empty", 0),
    ("keep-query", 0),
];
const BANDWIDTH: OptionArity = &[("limit", 1), ("period", 1)];
const BANDWIDTH_FILTER: OptionArity =
    &[("default-limit", 1), ("default-period", 1), ("limit", 1), ("key", 1), ("table", 1), ("min-size", 1)];
const COOKIE: OptionArity = &[
    ("rewrite", 0),
    ("insert", 0),
    ("prefix", 0),
    ("indirect", 0),
    ("nocache", 0),
    ("postonly", 0),
    ("preserve", 0),
    ("httponly", 0),
    ("secure", 0),
    ("dynamic", 0),
    ("domain", 1),
    ("maxidle", 1),
    ("maxlife", 1),
    ("attr", 1),
];
const STICK_TABLE: OptionArity = &[
    ("type", 1),
    ("len", 1),
    ("size", 1),
    ("expire", 1),
    ("nopurge", 0),
    ("peers", 1),
    ("srvkey", 1),
    ("write-to", 1),
    ("store", 1),
];
/// Error pages exist for these status codes; with any other one the API drops the status.
const PAGES: [&str; 17] = [
    "200", "400", "401", "403", "404", "405", "407", "408", "410", "413", "425", "429", "500", "501", "502",
    "503", "504",
];

/// A rule as HAProxy understands it: two lines with equal meanings do the same.
#[derive(Debug, PartialEq, Eq)]
struct RuleMeaning<'l> {
    /// Keyword and action.
    action: Vec<&'l str>,
    /// Each option with its values, by name; those of one name in their order.
    options: Vec<Vec<&'l str>>,
    /// From `if` or `unless` on.
    condition: Vec<&'l str>,
}

/// Whether two lines mean the same, in the API's wording or HAProxy's own.
pub(super) fn same(one: &Line<'_>, other: &Line<'_>) -> bool {
    values(one).eq(values(other))
        || RuleMeaning::of(one).is_some_and(|one| Some(one) == RuleMeaning::of(other))
}

/// What the API would change of this line; `is_last` when no other line of its keyword comes after it.
pub(super) fn damage(line: &Line<'_>, is_last: bool) -> Option<String> {
    match line.keyword() {
        "filter" if line.value(1).starts_with("lua.") => (!is_last)
            .then(|| "The Data Plane API writes a filter of Lua behind all other filters.".to_owned()),
        "filter" => None,
        "stick-table" => {
            let stores = values(line).filter(|word| *word == "store").count();
            (stores > 1).then(|| {
                "Of several store of a stick-table the Data Plane API keeps the last one.".to_owned()
            })
        }
        keyword @ "lua-load-per-thread" => {
            (!is_last).then(|| format!("Of several {keyword} the Data Plane API keeps the last one."))
        }
        _ => damage_of_rule(line, is_last),
    }
}

fn damage_of_rule(line: &Line<'_>, is_last: bool) -> Option<String> {
    let moved = |what: &str| {
        (!is_last)
            .then(|| format!("The Data Plane API writes {what} behind all other {} lines.", line.keyword()))
    };
    match line.value(1) {
        "wait-for-body" if line.value(2) == "at-least" => moved("wait-for-body at-least … time …"),
        action if action.starts_with("lua.") && line.keyword() == "http-after-response" => {
            moved("a rule of Lua")
        }
        action if action.starts_with("set-var") && line.words.get(1).is_some_and(is_quoted) => {
            moved("a set-var whose variable is in quotes")
        }
        "redirect" => redirect(&RuleMeaning::of(line)?, moved),
        "deny" | "tarpit" | "return" => answer(&RuleMeaning::of(line)?),
        _ => None,
    }
}

/// It reads options of redirects two by two: `drop-query` has no value, and takes the word behind it for one.
fn redirect(rule: &RuleMeaning<'_>, moved: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_target = |option: &&Vec<&str>| matches!(option.first(), Some(&("location" | "prefix" | "scheme")));
    let others: Vec<_> = rule.options.iter().filter(|option| !is_target(option)).collect();
    let words: usize = others.iter().map(|option| option.len()).sum();
    let is_unknown = |option: &&&Vec<&str>| matches!(option.first(), Some(&("ignore-empty" | "keep-query")));
    if let Some(option) = others.iter().find(is_unknown) {
        return moved(&format!("a redirect with {}", option.concat()));
    }
    if words % 2 == 1 {
        return moved("a redirect with drop-query or append-slash");
    }
    let pairs = words / 2 - others.iter().filter(|option| option.first() == Some(&"code")).count();
    (pairs > 1).then(|| "Of several options of a redirect the Data Plane API keeps the last one.".to_owned())
}

fn answer(rule: &RuleMeaning<'_>) -> Option<String> {
    let of =
        |names: &[&str]| rule.options.iter().find(|o| o.first().is_some_and(|name| names.contains(name)));
    let status = of(&["deny_status"]).or(of(&["status"])).and_then(|option| option.get(1)).copied();
    let page =
        of(&["errorfile", "errorfiles", "default-errorfiles"]).and_then(|option| option.first()).copied();
    if let (Some(page), Some(_)) = (page, of(&["hdr"])) {
        return Some(format!("The Data Plane API drops hdr beside {page}."));
    }
    let status = status?;
    if let Some(page) = page.filter(|_| !PAGES.contains(&status)) {
        return Some(format!("The Data Plane API drops the status {status} beside {page}."));
    }
    (status == "599").then(|| "The Data Plane API drops the status 599.".to_owned())
}

fn is_quoted(word: &Word<'_>) -> bool {
    word.raw.contains(['"', '\''])
}

fn values<'l>(line: &'l Line<'_>) -> impl Iterator<Item = &'l str> {
    line.words.iter().map(|word| word.value.as_ref())
}

/// The options of a line's action, and where they begin.
fn options_of(line: &Line<'_>) -> Option<(usize, OptionArity)> {
    let is_content = line.value(1) == "content";
    Some(match (line.keyword(), line.value(1), line.value(2)) {
        ("http-request" | "http-response" | "http-after-response", "deny" | "tarpit" | "return", _) => {
            (2, ANSWER)
        }
        ("http-request" | "http-response", "redirect", _) => (2, REDIRECT),
        ("http-request" | "http-response", "set-bandwidth-limit", _) => (3, BANDWIDTH),
        ("tcp-request" | "tcp-response", _, "set-bandwidth-limit") if is_content => (4, BANDWIDTH),
        ("filter", "bwlim-in" | "bwlim-out", _) => (3, BANDWIDTH_FILTER),
        ("cookie", ..) => (2, COOKIE),
        ("stick-table", ..) => (1, STICK_TABLE),
        _ => return None,
    })
}

impl<'l> RuleMeaning<'l> {
    fn of(line: &'l Line<'_>) -> Option<Self> {
        let (start, known) = options_of(line)?;
        let words: Vec<&str> = values(line).collect();
        let (action, mut rest) = words.split_at_checked(start)?;
        let mut options = Vec::new();
        while let Some((name, after)) = rest.split_first() {
            if matches!(*name, "if" | "unless") {
                break;
            }
            let (_, count) = known.iter().find(|(known, _)| known == name)?;
            let (taken, left) = after.split_at_checked(*count)?;
            let mut option = vec![*name];
            option.extend(taken);
            options.push(option);
            rest = left;
        }
        if matches!(action.get(1), Some(&("deny" | "tarpit"))) {
            for name in options.iter_mut().filter_map(|option| option.first_mut()) {
                // With `status` HAProxy answers without a body, with `deny_status` by its page: the status is the same.
                if *name == "status" {
                    *name = "deny_status";
                }
            }
        }
        options.sort_by_key(|option| option.first().copied());
        Some(Self { action: action.to_vec(), options, condition: rest.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{loss, refusals};
    use crate::document::Document;

    const RECORDED: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/dataplaneapi/rules.txt"));

    fn recorded() -> impl Iterator<Item = (&'static str, &'static str, Option<&'static str>)> {
        RECORDED.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let (harm, rest) = line.split_once(' ').unwrap();
            match rest.split_once(" => ") {
                Some((sent, written)) => (harm, sent.trim(), Some(written)),
                None => (harm, rest.trim(), None),
            }
        })
    }

    fn frontend(rules: &[&str]) -> String {
        format!("defaults d\n  mode http\nfrontend f from d\n  {}\n", rules.join("\n  "))
    }

    fn is_lost(sent: &[&str], written: &[&str]) -> bool {
        loss(&Document::parse(&frontend(sent)), &Document::parse(&frontend(written))).is_some()
    }

    /// A rule of the same kind.
    fn another(rule: &str) -> &'static str {
        match rule.split(' ').next() {
            Some("filter") => "filter trace",
            Some("http-response") => "http-response set-header X-Other 1",
            Some("http-after-response") => "http-after-response set-header X-Other 1",
            _ => "http-request set-header X-Other 1",
        }
    }

    #[test]
    fn what_was_recorded_is_kept_or_refused() {
        for (harm, rule, written) in recorded() {
            let other = another(rule);
            let refused = |rules: &[&str]| !refusals(&Document::parse(&frontend(rules))).is_empty();
            match harm {
                "none" => {
                    assert!(!refused(&[rule, other]), "{rule}");
                    assert!(!is_lost(&[rule, other], &[written.unwrap(), other]), "{rule}");
                    assert!(is_lost(&[rule, other], &[other, written.unwrap()]), "{rule}: the order matters");
                }
                "alone" => {
                    assert!(!refused(&[rule]), "{rule}");
                    assert!(!is_lost(&[rule], &[written.unwrap()]), "{rule}");
                }
                "dropped" => {
                    assert!(refused(&[rule]), "{rule}");
                    assert!(is_lost(&[rule], &[written.unwrap()]), "{rule}");
                }
                _ => {
                    assert!(refused(&[rule, other]), "{rule}");
                    assert!(!refused(&[other, rule]), "{rule}: the last one stays where it is");
                }
            }
        }
    }

    #[test]
    fn other_values_conditions_and_orders_of_headers_are_no_rewording() {
        for (sent, written) in [
            (
                "http-request deny status 403 if { path /a }",
                "http-request deny deny_status 403 if { path /b }",
            ),
            (
                "http-request deny status 403 if { path /a }",
                "http-request deny deny_status 403 unless { path /a }",
            ),
            ("http-request deny status 403", "http-request deny deny_status 404"),
            (
                "http-request return status 200 hdr A 1 hdr A 2",
                "http-request return status 200 hdr A 2 hdr A 1",
            ),
            ("http-request redirect location /a code 301", "http-request redirect prefix /a code 301"),
            ("http-request set-header A b", "http-request set-header b A"),
            ("server s 10.0.0.1:80 weight 5 init-state fully-up", "server s 10.0.0.1:80 weight 5"),
            ("default-server ssl verify none", "default-server verify none"),
            ("bind :80 tfo", "bind :80"),
            ("cookie A insert indirect", "cookie A insert"),
        ] {
            assert!(is_lost(&[sent], &[written]), "{sent} is not {written}");
        }
    }
}
