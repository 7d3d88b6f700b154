//! Options of clients' certificates: who needs one, whose it must be, and what servers are told of it.

use super::{
    header::{self, Header},
    kind::{Form, Kind},
    level::Level,
    table::{ROW, Reload, Row, With},
};

/// What a header may tell of a certificate.
const FACTS: [&str; 8] = ["subject", "cn", "issuer", "sha1", "sha256", "pem", "der", "verify"];
/// The longest list of names.
const LONGEST_NAMES: usize = 1000;

/// What [`names`] reads, behind "it must be".
pub const EXPECTED_NAMES: &str =
    "names separated by commas, up to 1000 characters without |, each whole or beginning with *. or *@";

const WITH_CA: Row = Row {
    levels: &[Level::Path, Level::Ingress],
    with: With::Needs("client-ca-secret"),
    guards: true,
    ..ROW
};

/// `client-certificate`.
pub const CERTIFICATE: Row = Row {
    name: "client-certificate",
    kind: Kind::Choice(&["required", "optional"]),
    example: "optional",
    about: "`required` (default): who has no certificate gets 403. `optional`: who has none comes in, too; a certificate that another \
        CA signed or that is out of date ends the connection in any case. Requests in a TLS session of another host get 421.",
    ..WITH_CA
};

/// `client-certificate-error-page`.
pub const ERROR_PAGE: Row = Row {
    name: "client-certificate-error-page",
    kind: Kind::Text { most: 1000, form: Form::Location },
    example: "/no-certificate.html",
    guards: false,
    about: "Clients without a certificate are redirected there (303) instead of 403: a URL, or a path with a route that needs none.",
    ..WITH_CA
};

/// `client-certificate-headers`.
pub const HEADERS: Row = Row {
    name: "client-certificate-headers",
    kind: Kind::CertificateHeaders,
    example: "X-Client-DN: subject",
    reload: Reload::FirstUse,
    about: "Lines of `NAME: FACT`: headers that tell servers `subject` or `issuer` (as in RFC 2253), `cn` (the last common name of the subject), \
        `sha256` (of the certificate, in hexadecimal), `sha1` (the same in capitals), `pem` (the certificate, URL-encoded), `der` (the certificate in base64) or `verify` (`SUCCESS`, or `NONE` of clients without one, of whom nothing else is told). What clients send under \
        these names, in any spelling, is removed. A request that has no room for them gets 503. Without `client-ca-secret` no client has one.",
    with: With::Nothing,
    ..WITH_CA
};

/// `client-certificate-names`.
pub const NAMES: Row = Row {
    name: "client-certificate-names",
    kind: Kind::CertificateNames,
    example: "anna, *.clients.example, *@shop.example",
    reload: Reload::FirstUse,
    about: "Only certificates that have one of these names come in, others get 403: the last common name of the subject, or a host name, e-mail address or \
        URI of the subject alternative names. `*.` and `*@` stand for anything in front. Not together with `client-certificate: optional`.",
    ..WITH_CA
};

/// `client-certificate-names-in`.
pub const NAMES_IN: Row = Row {
    name: "client-certificate-names-in",
    kind: Kind::Choice(&["any", "subject"]),
    example: "subject",
    with: With::Needs("client-certificate-names"),
    reload: Reload::FirstUse,
    about: "`subject`: of the names that a certificate has only the last common name of its subject counts. `any` (default): its subject alternative names \
        do, too.",
    ..WITH_CA
};

/// `client-certificate-status`.
pub const STATUS: Row = Row {
    name: "client-certificate-status",
    kind: Kind::Choice(&["403", "400", "495"]),
    example: "400",
    reload: Reload::FirstUse,
    guards: false,
    about: "What clients get whose certificate is missing or wrong: `403` (without it), `400`, or `495`, and `496` of those without one. With it \
        certificates that are wrong for a host do not end connections, where any Ingress has it.",
    ..WITH_CA
};

/// Names of certificates.
#[must_use]
pub(super) fn names(text: &str) -> Option<Vec<String>> {
    let read = |name: &str| {
        let name = name.trim_matches(' ');
        let rest = match name.strip_prefix('*') {
            Some(end) if end.starts_with(['.', '@']) => end.get(1..)?,
            Some(_) => return None,
            None => name,
        };
        let is_good = !rest.is_empty() && !rest.contains(|c: char| c.is_control() || "*|".contains(c));
        is_good.then(|| name.to_owned())
    };
    (text.chars().count() <= LONGEST_NAMES).then(|| text.split(',').map(read).collect()).flatten()
}

/// Headers, each with what it tells.
///
/// # Errors
/// What the first wrong line must be instead.
pub(super) fn headers(text: &str, most: usize) -> Result<Vec<Header>, String> {
    let mut read: Vec<Header> = Vec::new();
    for Header { name, value } in header::headers(text, most)? {
        let [name] = header::names(&name).unwrap_or_default().try_into().unwrap_or_default();
        if name.is_empty() || !FACTS.contains(&&*value) {
            return Err(format!("lines of NAME: FACT, with one of {}", FACTS.join(", ")));
        }
        if read.iter().any(|other: &Header| other.name == name) {
            return Err(format!("without {name} twice"));
        }
        read.push(Header { name, value });
    }
    if read.is_empty() { Err("lines of NAME: FACT".to_owned()) } else { Ok(read) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_or_begin_with_anything_in_front_of_a_domain() {
        let read = |text: &str| names(text).map(|all| all.join(";"));
        assert_eq!(read("anna, *.a.example ,*@a.example"), Some("anna;*.a.example;*@a.example".to_owned()));
        assert_eq!(read("Änne M., spiffe://a/b"), Some("Änne M.;spiffe://a/b".to_owned()));
        for text in ["", "anna,", "*", "*.", "*@", "*anna", "a*", "*.*.a", "a|b", "a\nb"] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert_eq!(read(&"x".repeat(LONGEST_NAMES + 1)), None);
    }

    #[test]
    fn headers_tell_facts_under_names_that_are_free() {
        let read = |text: &str| {
            headers(text, 32).map(|all| {
                let all = all.into_iter().map(|header| format!("{}={}", header.name, header.value));
                all.collect::<Vec<_>>().join(";")
            })
        };
        assert_eq!(read("X-DN: subject\nX-Cert: pem\n").as_deref(), Ok("x-dn=subject;x-cert=pem"));
        for text in
            ["", "X-DN", "X-DN: dn", "X_DN: subject", "Host: subject", "X-Haptic-A: pem", "A: pem\na: verify"]
        {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
