//! The part of a request that tells it from others: by it servers are chosen, and clients are counted.

use serde_json::{Value as Json, json};

/// The longest name of a header, cookie or parameter.
const LONGEST_NAME: usize = 64;
/// The parts that need no name.
const WHOLE: [&str; 4] = ["client", "host", "path", "uri"];
/// The parts that are one of several.
const NAMED: [&str; 3] = ["header", "cookie", "query"];

/// The form of [`RequestKey::of`], behind "it must be".
pub const EXPECTED: &str = "client, host, path, uri, or header:NAME, cookie:NAME or query:NAME with a name of up to 64 letters, digits, - and _";

/// A part of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// The kind of part.
    pub of: &'static str,
    /// The name of it, of a header, cookie or parameter.
    pub name: Option<String>,
}

impl RequestKey {
    /// Of `client`, `header:X-User` and so on.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let known = |all: &[&'static str], word: &str| all.iter().find(|one| **one == word).copied();
        match text.split_once(':') {
            None => known(&WHOLE, text).map(|of| Self { of, name: None }),
            Some((of, name)) => {
                let of = known(&NAMED, of)?;
                is_name(name).then(|| Self { of, name: Some(name.to_owned()) })
            }
        }
    }

    /// As templates read it: `of`, and maybe `name`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match &self.name {
            Some(name) => json!({ "of": self.of, "name": name }),
            None => json!({ "of": self.of }),
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    (1..=LONGEST_NAME).contains(&name.len()) && !name.starts_with('-') && name.chars().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_part_of_requests_and_some_have_names() {
        let read = |text: &str| RequestKey::of(text).map(|key| key.to_json().to_string());
        assert_eq!(read("client").as_deref(), Some(r#"{"of":"client"}"#));
        assert_eq!(read("header:X-User").as_deref(), Some(r#"{"name":"X-User","of":"header"}"#));
        for wrong in ["", "header", "header:", "header:a b", "header:a),", "body:x", "client:x", "cookie:-x"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read(&format!("query:{}", "a".repeat(65))), None);
    }
}
