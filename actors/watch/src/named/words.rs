//! What of an object's JSON may be a name: all that stands between characters that no name has.

/// The words of `json`, as often as they stand there.
pub(super) fn words(json: &[u8]) -> Words<'_> {
    Words { rest: json }
}

/// See [`words`].
#[derive(Clone, Debug)]
pub(super) struct Words<'j> {
    rest: &'j [u8],
}

impl<'j> Iterator for Words<'j> {
    type Item = &'j str;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.rest = match self.rest {
                [] => return None,
                // What is escaped is no letter of a name: `\n` is a line's end.
                [b'\\', b'u', escaped @ ..] => escaped.get(4..).unwrap_or_default(),
                [b'\\', _, after @ ..] => after,
                [first, after @ ..] if !is_of_name(*first) => after,
                _ => {
                    let end = self.rest.iter().position(|byte| !is_of_name(*byte));
                    let (word, after) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                    self.rest = after;
                    let word = std::str::from_utf8(word).unwrap_or_default();
                    // A sentence may end behind a name, and a list's item begin with a dash.
                    match word.trim_matches(['.', '-']) {
                        "" => continue,
                        word => return Some(word),
                    }
                }
            }
        }
    }
}

/// Kubernetes' names of Secrets and ConfigMaps: <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names>.
fn is_of_name(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn found(text: &str) -> Vec<String> {
        let json = json!({"a": text}).to_string();
        words(json.as_bytes()).skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn names_are_found_in_whatever_people_write_around_them() {
        for text in [
            "shop-tls",
            "edge/shop-tls",
            "secret://edge/shop-tls",
            "/a: {auth-secret: shop-tls}\n",
            "- x\n- shop-tls\n- y",
            "\tshop-tls\r\n",
            "see shop-tls.",
            "\"shop-tls\"",
            "é\u{1}shop-tls\\",
        ] {
            assert!(found(text).iter().any(|word| word == "shop-tls"), "{text:?}: {:?}", found(text));
        }
        assert_eq!(found("a.example.com"), ["a.example.com"]);
        assert_eq!(found("-- . "), [""; 0]);
    }

    proptest! {
        #[test]
        fn a_name_is_found_behind_and_before_anything_that_no_name_has(
            name in "[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", before in "[^a-z0-9.-]{0,4}", after in "[^a-z0-9.-]{0,4}",
        ) {
            let text = format!("{before}{name}{after}");
            prop_assert!(found(&text).contains(&name), "{text:?}");
        }

        #[test]
        fn any_bytes_have_words_that_are_in_them(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            for word in words(&bytes) {
                prop_assert!(bytes.windows(word.len()).any(|part| part == word.as_bytes()));
            }
        }
    }
}
