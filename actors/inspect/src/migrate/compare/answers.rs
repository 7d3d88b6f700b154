//! What counts of an answer: its status, and the headers that are named. Bodies do not count: servers change them at any time.

use haptic_text::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The headers that count in any case, in lower case.
pub const HEADERS: [&str; 12] = [
    "access-control-allow-credentials",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "access-control-max-age",
    "allow",
    "location",
    "retry-after",
    "set-cookie",
    "strict-transport-security",
    "www-authenticate",
];

/// So much of a value is kept; of a longer one its length and digest tell whether it is another.
const LONGEST_VALUE: usize = 300;

/// Parameters of a Location that differ with each answer, or are worth stealing.
const SECRET_PARAMETERS: [&str; 17] = [
    "access_token",
    "api_key",
    "code",
    "code_challenge",
    "id_token",
    "jwt",
    "key",
    "nonce",
    "password",
    "secret",
    "session",
    "sid",
    "sig",
    "signature",
    "state",
    "ticket",
    "token",
];

/// What counts of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedAnswer {
    /// Of its first line.
    pub status: u16,
    /// Headers that count, by names in lower case, without what is secret in them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// What two answers have differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerDifference {
    /// `status`, or the name of a header.
    pub what: String,
    /// What the old controller answers; nothing where it has no such header.
    pub reference: Option<String>,
    /// What ours answers.
    pub ours: Option<String>,
}

impl ComparedAnswer {
    /// Of an answer the headers of these names (in lower case), and those that count in any case.
    pub fn of<'h>(status: u16, headers: impl Iterator<Item = (&'h str, &'h [u8])>, names: &[&str]) -> Self {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            if HEADERS.contains(&&*name) || names.contains(&&*name) {
                let value = without_secrets(&name, String::from_utf8_lossy(value).trim());
                values.entry(name).or_default().push(value);
            }
        }
        let one = |(name, mut values): (String, Vec<String>)| {
            // The order of several is nobody's promise.
            values.sort_unstable();
            (name, cut(values.join(", ")))
        };
        Self { status, headers: values.into_iter().map(one).collect() }
    }
}

/// What is different, the status first.
#[must_use]
pub fn differences(reference: &ComparedAnswer, ours: &ComparedAnswer) -> Vec<AnswerDifference> {
    let status = (reference.status != ours.status).then(|| AnswerDifference {
        what: "status".to_owned(),
        reference: Some(reference.status.to_string()),
        ours: Some(ours.status.to_string()),
    });
    let mut names: Vec<&String> = reference.headers.keys().chain(ours.headers.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let headers = names.into_iter().filter_map(|name| {
        let (theirs, ours) = (reference.headers.get(name), ours.headers.get(name));
        let is_different = theirs != ours;
        is_different.then(|| AnswerDifference {
            what: name.clone(),
            reference: theirs.cloned(),
            ours: ours.cloned(),
        })
    });
    status.into_iter().chain(headers).collect()
}

/// The value without what nobody else may see, and what is another one with each answer.
fn without_secrets(name: &str, value: &str) -> String {
    match name {
        "set-cookie" => cookie(value),
        "location" => location(value),
        "www-authenticate" => challenge(value),
        "authorization" | "proxy-authorization" | "cookie" => "…".to_owned(),
        _ => value.to_owned(),
    }
}

/// A cookie's name and attributes.
fn cookie(value: &str) -> String {
    let mut parts = value.split(';').map(str::trim);
    let name = parts.next().and_then(|first| first.split('=').next()).unwrap_or_default();
    let attribute = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let key = key.trim().to_ascii_lowercase();
        match (&*key, value) {
            ("expires", _) => "expires=…".to_owned(),
            (_, "") => key,
            (_, value) => format!("{key}={}", value.trim()),
        }
    };
    let mut attributes: Vec<String> = parts.filter(|part| !part.is_empty()).map(attribute).collect();
    attributes.sort_unstable();
    std::iter::once(format!("{name}=…")).chain(attributes).collect::<Vec<_>>().join("; ")
}

fn location(value: &str) -> String {
    let (value, fragment) = value.split_once('#').map_or((value, None), |(value, end)| (value, Some(end)));
    let (place, query) = value.split_once('?').map_or((value, None), |(place, query)| (place, Some(query)));
    let query = query.map(|query| format!("?{}", parameters(query))).unwrap_or_default();
    let fragment = fragment.map(|fragment| format!("#{}", parameters(fragment))).unwrap_or_default();
    format!("{}{query}{fragment}", without_user(place))
}

fn parameters(text: &str) -> String {
    let one = |parameter: &str| {
        let key = parameter.split('=').next().unwrap_or_default();
        let is_secret = SECRET_PARAMETERS.contains(&&*key.to_ascii_lowercase());
        if is_secret { format!("{key}=…") } else { parameter.to_owned() }
    };
    text.split('&').map(one).collect::<Vec<_>>().join("&")
}

/// A challenge without what is another one each time (RFC 7616, 3.3).
fn challenge(value: &str) -> String {
    let one = |part: &str| {
        let key = part.split('=').next().unwrap_or_default();
        let name = key.rsplit(' ').next().unwrap_or_default();
        let is_new = ["nonce", "opaque"].iter().any(|new| name.eq_ignore_ascii_case(new));
        if is_new { format!("{key}=…") } else { part.to_owned() }
    };
    value.split(',').map(str::trim).map(one).collect::<Vec<_>>().join(", ")
}

/// An address without a name and password in front of its host.
fn without_user(place: &str) -> String {
    let Some((scheme, rest)) = place.split_once("://") else { return place.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

fn cut(value: String) -> String {
    if value.len() <= LONGEST_VALUE {
        return value;
    }
    let digest = Digest::of(value.as_bytes()).to_string();
    let beginning: String = value.chars().take(LONGEST_VALUE / 2).collect();
    let digest: String = digest.chars().take(16).collect();
    format!("{beginning}… ({} bytes, digest {digest})", value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)]) -> ComparedAnswer {
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        ComparedAnswer::of(status, headers, &["x-echo"])
    }

    #[test]
    fn status_and_named_headers_count_and_nothing_else() {
        let one = answer(200, &[("Date", "today"), ("X-Echo", "a"), ("Server", "nginx")]);
        assert!(differences(&one, &answer(200, &[("x-echo", "a"), ("date", "tomorrow")])).is_empty());
        let found = differences(&one, &answer(404, &[("Location", "/b")]));
        let what: Vec<_> =
            found.iter().map(|d| (&*d.what, d.reference.as_deref(), d.ours.as_deref())).collect();
        let wanted = [
            ("status", Some("200"), Some("404")),
            ("location", None, Some("/b")),
            ("x-echo", Some("a"), None),
        ];
        assert_eq!(what, wanted);
    }

    #[test]
    fn the_order_of_cookies_and_what_is_in_them_does_not_count_but_their_attributes_do() {
        let one = answer(200, &[("set-cookie", "a=1; Path=/; Secure"), ("set-cookie", "b=2")]);
        let other = answer(200, &[("set-cookie", "b=3"), ("set-cookie", "a=4; secure; path=/")]);
        assert!(differences(&one, &other).is_empty());
        assert!(!one.headers["set-cookie"].contains('1'), "{one:?}");
        let wider = answer(200, &[("set-cookie", "a=1; Path=/"), ("set-cookie", "b=2")]);
        assert_eq!(differences(&one, &wider).len(), 1);
    }

    #[test]
    fn what_is_secret_in_a_location_is_left_out() {
        let of = |value: &str| answer(302, &[("location", value)]).headers["location"].clone();
        assert_eq!(
            of("https://a:pw@b.example/c?state=x&rd=/d&token=y"),
            "https://b.example/c?state=…&rd=/d&token=…"
        );
        assert_eq!(of("/c@d?e"), "/c@d?e");
        assert_eq!(of("/c#access_token=x&a=b"), "/c#access_token=…&a=b");
        assert_eq!(of("https://b.example/c@d"), "https://b.example/c@d");
    }

    #[test]
    fn what_is_new_in_each_challenge_does_not_count_but_its_realm_does() {
        let of = |value: &str| answer(401, &[("www-authenticate", value)]);
        let one = of("Digest realm=\"a\", nonce=\"1\", opaque=\"2\"");
        assert!(differences(&one, &of("Digest realm=\"a\", nonce=\"3\", opaque=\"4\"")).is_empty());
        assert_eq!(differences(&one, &of("Digest realm=\"b\", nonce=\"1\", opaque=\"2\"")).len(), 1);
    }

    #[test]
    fn a_long_value_is_cut_and_still_told_from_another() {
        let long = |end: &str| answer(200, &[("x-echo", &("é".repeat(500_000) + end))]);
        assert!(long("a").headers["x-echo"].len() < 500);
        assert_eq!(differences(&long("a"), &long("b")).len(), 1);
        assert!(differences(&long("a"), &long("a")).is_empty());
    }
}
