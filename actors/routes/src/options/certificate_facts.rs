//! Clients' certificates: the names that they may have, and headers that tell servers of them.

use super::header::{self, Header};

/// The facts of a certificate that a header may tell.
const FACTS: [&str; 8] = ["subject", "cn", "issuer", "sha1", "sha256", "pem", "der", "verify"];
/// The longest list of names.
const LONGEST_NAMES: usize = 1000;

/// The form of [`names`], behind "it must be".
pub const EXPECTED_NAMES: &str =
    "names separated by commas, up to 1000 characters without |, each whole or beginning with *. or *@";

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
/// The form that the first wrong line must have.
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
