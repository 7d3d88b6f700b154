//! Lines of `NAME: VALUE` that people write for headers of requests and answers.

/// The longest line: what HAProxy keeps free for all of them together is 1,024 bytes.
const LONGEST_LINE: usize = 1000;

/// The headers by which a proxy tells its neighbour alone (RFC 9110, 7.6.1), or that frame the message; and our own.
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

/// The variables for something of a request in the value of a header that servers or clients get: `${host}`. The library ingress has the
/// expression of each.
const OF_ALL: [&str; 9] = [
    "client-address",
    "client-port",
    "host",
    "path",
    "request-id",
    "service",
    "tls-cipher",
    "tls-name",
    "tls-version",
];
/// The same of what is known only as long as the request is there.
const OF_REQUESTS: [&str; 3] = ["method", "query", "scheme"];

/// One header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name, as it was written.
    pub name: String,
    /// Its value, without blanks around it.
    pub value: String,
}

/// The side whose headers they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadersOf {
    /// Of what servers get.
    Requests,
    /// Of what clients get.
    Answers,
}

/// A part of a header's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'v> {
    /// A text.
    Text(&'v str),
    /// A variable for something of a request, by its name.
    Variable(&'v str),
}

impl HeadersOf {
    /// The names of variables.
    pub fn variables(self) -> impl Iterator<Item = &'static str> {
        let more: &[&str] = if self == Self::Requests { &OF_REQUESTS } else { &[] };
        OF_ALL.iter().chain(more).copied()
    }
}

impl Header {
    /// The parts of the value, none of which is empty.
    #[must_use]
    pub fn parts(&self) -> Vec<Part<'_>> {
        let (mut parts, mut rest) = (Vec::new(), self.value.as_str());
        while let Some((before, (name, after))) =
            rest.split_once("${").and_then(|(before, more)| Some((before, more.split_once('}')?)))
        {
            parts.push(Part::Text(before));
            parts.push(Part::Variable(name));
            rest = after;
        }
        parts.push(Part::Text(rest));
        parts.retain(|part| *part != Part::Text(""));
        parts
    }
}

/// The headers in lines of `text`; what is no such line is left out.
pub fn lines(text: &str) -> impl Iterator<Item = Header> {
    trimmed(text).filter_map(split)
}

/// The headers of `text` with variables in their values.
///
/// # Errors
/// As [`headers`], or which variables there are.
pub fn headers_with_variables(text: &str, most: usize, of: HeadersOf) -> Result<Vec<Header>, String> {
    let read = headers(text, most)?;
    let is_unknown = |part: &Part<'_>| match part {
        Part::Text(text) => text.contains("${"),
        Part::Variable(name) => of.variables().all(|known| known != *name),
    };
    match read.iter().any(|header| header.parts().iter().any(is_unknown)) {
        true => {
            let known: Vec<String> = of.variables().map(|name| format!("${{{name}}}")).collect();
            Err(format!("lines of NAME: VALUE with no other variables than {}", known.join(", ")))
        }
        false => Ok(read),
    }
}

/// The headers of `text`.
///
/// # Errors
/// The form that the first wrong line must have, or that there are more than `most`.
pub fn headers(text: &str, most: usize) -> Result<Vec<Header>, String> {
    let count = trimmed(text).count();
    if count > most {
        return Err(format!("no more than {most} lines, there are {count}"));
    }
    trimmed(text).map(header).collect()
}

fn header(line: &str) -> Result<Header, String> {
    let quoted: String = line.chars().take(50).collect();
    let header = split(line).ok_or_else(|| format!("lines of NAME: VALUE, {quoted:?} is none"))?;
    if line.len() > LONGEST_LINE || header.value.contains(char::is_control) {
        return Err(format!(
            "lines of up to {LONGEST_LINE} bytes without control characters, {quoted:?} is none"
        ));
    }
    if is_haproxys_own(&header.name) {
        return Err(format!("without {}, which HAProxy itself sets", header.name));
    }
    Ok(header)
}

/// A name as most servers read it: many take _ for -, and names have no case.
#[must_use]
pub fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// Whether only HAProxy itself may say something by that header, to whomever.
#[must_use]
pub fn is_haproxys_own(name: &str) -> bool {
    let lower = plain(name);
    REFUSED.contains(&&*lower) || lower.starts_with(INTERNAL)
}

/// The names in `text`, in lower case: of headers that somebody else than the two ends may set.
#[must_use]
pub fn names(text: &str) -> Option<Vec<String>> {
    each(text, name_of)
}

/// The same, and what names begin with, such as `x-auth-*`; `*` is all names.
#[must_use]
pub fn names_or_starts(text: &str) -> Option<Vec<String>> {
    each(text, |name| match name.trim().strip_suffix('*') {
        Some("") => Some("*".to_owned()),
        Some(start) => name_of(start).map(|start| start + "*"),
        None => name_of(name),
    })
}

fn each(text: &str, read: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    (text.len() <= LONGEST_LINE).then(|| text.split(',').map(read).collect()).flatten()
}

fn name_of(text: &str) -> Option<String> {
    let name = text.trim().to_ascii_lowercase();
    (is_name(&name) && name != "host" && !is_haproxys_own(&name)).then_some(name)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether a header of one's own may be called so.
fn is_own_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && name.bytes().all(is_inner)
}

fn trimmed(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(str::trim).filter(|line| !line.is_empty())
}

fn split(line: &str) -> Option<Header> {
    let (name, value) = line.split_once(':')?;
    let value = value.trim();
    (is_own_name(name) && !value.is_empty())
        .then(|| Header { name: name.to_owned(), value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_texts_and_known_variables() {
        let read = |value: &str, of| headers_with_variables(&format!("X-A: {value}"), 1, of);
        let good = read("for ${client-address}${host}, $1 {x}", HeadersOf::Answers).unwrap();
        let parts = [
            Part::Text("for "),
            Part::Variable("client-address"),
            Part::Variable("host"),
            Part::Text(", $1 {x}"),
        ];
        assert_eq!(good.first().map(Header::parts), Some(parts.to_vec()));
        assert!(read("${method}", HeadersOf::Requests).is_ok());
        for (wrong, of) in [
            ("${method}", HeadersOf::Answers),
            ("${env(PATH)}", HeadersOf::Requests),
            ("${host", HeadersOf::Requests),
            ("${}", HeadersOf::Requests),
            ("${${host}}", HeadersOf::Requests),
        ] {
            let said = read(wrong, of).unwrap_err();
            assert!(said.contains("${client-address}, ${client-port}"), "{wrong}: {said}");
        }
    }

    #[test]
    fn what_haproxy_sets_itself_is_so_in_any_spelling() {
        for name in ["Connection", "transfer_encoding", "X_Haptic_Route"] {
            assert!(is_haproxys_own(name), "{name}");
        }
        assert!(!is_haproxys_own("X_Forwarded.Prefix"));
    }

    #[test]
    fn a_line_has_a_name_and_a_value() {
        for (line, is) in [
            ("X-A:1", Some(("X-A", "1"))),
            ("X-A: a: b ", Some(("X-A", "a: b"))),
            ("X A: 1", None),
            ("X-A", None),
            ("X-A: ", None),
            (": 1", None),
            ("X_A.b: 1", Some(("X_A.b", "1"))),
            ("X\"A: 1", None),
            ("X%A: 1", None),
        ] {
            let header = split(line);
            assert_eq!(header.as_ref().map(|h| (&*h.name, &*h.value)), is, "{line}");
        }
    }
}
