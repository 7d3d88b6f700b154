//! Names for HAProxy and for the file system, made of what others are called: the one place where that is done.
//!
//! Whatever the parts are, the name has characters and a length that HAProxy and a file system take, other parts give
//! another name, and the same parts always give the same one. What is short and ordinary stays as it is.

use haptic_text::Digest;

/// The longest name that stays readable as a whole. HAProxy itself sets no limit below its line length.
const LONGEST: usize = 200;
/// The digits of a digest behind a name that is not readable as a whole.
const DIGITS: usize = 16;
const LONGEST_ENDING: usize = 12;
/// The longest name of a file. File systems take 255 bytes, of which HAProxy (`.ecdsa.issuer`) and whoever replaces files
/// (`.NAME1234567890`) need some.
pub const LONGEST_OF_FILES: usize = 230;

/// A name made of `parts`, with `ending` behind it: the parts with `_` between them. Parts that could be confused with
/// others, or hold what a name cannot, get a digest. A part that is alone may have a `_`: whoever makes names of one part
/// makes none of several.
///
/// # Errors
/// When there is nothing to make a name of, or `ending` is none.
pub fn name_of(parts: &[impl AsRef<str>], ending: &str) -> Result<String, String> {
    if ending.len() > LONGEST_ENDING || !ending.chars().all(is_allowed) {
        return Err(format!(
            "a name must end in letters, digits and points, in {LONGEST_ENDING} of them at most"
        ));
    }
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    let name = parts.join("_");
    if name.is_empty() {
        return Err("a name needs at least one character".into());
    }
    let is_confusable = parts.len() > 1 && parts.iter().any(|part| part.contains('_') || part.is_empty());
    if is_readable(&name) && !is_confusable && !has_digest(&name) {
        return Ok(name + ending);
    }
    let digest =
        Digest::of(parts.iter().map(|part| format!("{}:{part}", part.len())).collect::<String>().as_bytes());
    let is_kept: fn(char) -> bool = if has_path(&name) { char::is_alphanumeric } else { |_| true };
    let safe = |c: char| if is_allowed(c) && is_kept(c) { c } else { '-' };
    let readable: String = name.chars().map(safe).take(LONGEST).collect();
    Ok(format!("{readable}-{}{ending}", digest.to_string().get(..DIGITS).unwrap_or_default()))
}

/// Configuration manual, 4 "Proxies": letters, digits, '-', '_', '.' and ':'.
fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':')
}

fn is_readable(name: &str) -> bool {
    name.len() <= LONGEST && name.chars().all(is_allowed) && !has_path(name)
}

/// Whether a file system would take it for more than a name, or hide it, with an ending behind it, too.
fn has_path(name: &str) -> bool {
    name.starts_with('.') || name.contains("..") || name.ends_with('.')
}

/// Whether it looks as if a digest had been given to it.
fn has_digest(name: &str) -> bool {
    let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    name.rsplit_once('-').is_some_and(|(_, end)| end.len() == DIGITS && end.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// What is called so by somebody who wants to be taken for another one.
    fn hostile_part() -> impl Strategy<Value = String> {
        let pieces = prop_oneof![
            Just("a".to_owned()),
            Just("b".to_owned()),
            Just("_".to_owned()),
            Just("-".to_owned()),
            Just(".".to_owned()),
            Just("/".to_owned()),
            Just("\0".to_owned()),
            Just("1:a".to_owned()),
            Just("ä".to_owned()),
            Just("x".repeat(253)),
            Just("0123456789abcdef".to_owned()),
            ".{0,3}",
        ];
        proptest::collection::vec(pieces, 0..5).prop_map(|pieces| pieces.concat())
    }

    fn hostile() -> impl Strategy<Value = Vec<String>> {
        proptest::collection::vec(hostile_part(), 1..4)
            .prop_filter("a name of something", |parts| parts.len() > 1 || !parts[0].is_empty())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        #[test]
        fn whatever_the_parts_the_name_is_accepted_and_nobody_elses(
            all in proptest::collection::vec(hostile(), 1..40),
        ) {
            let mut taken: HashMap<(bool, String), Vec<String>> = HashMap::new();
            // Who knows the rule calls himself as others are called by it.
            let made = all.iter().map(|parts| vec![name_of(parts, "").unwrap()]).collect::<Vec<_>>();
            let split = made.iter().map(|made| made[0].split('_').map(str::to_owned).collect()).collect::<Vec<_>>();
            for parts in all.iter().chain(&made).chain(&split) {
                if parts.concat().is_empty() && parts.len() == 1 {
                    continue;
                }
                let name = name_of(parts, ".pem").unwrap();
                prop_assert!(name.chars().all(is_allowed) && name.len() <= LONGEST_OF_FILES, "{name}");
                prop_assert!(!name.starts_with('.') && !name.contains(".."), "{name}");
                prop_assert_eq!(&name, &name_of(parts, ".pem").unwrap());
                if let Some(other) = taken.insert((parts.len() == 1, name.clone()), parts.clone()) {
                    prop_assert_eq!(&other, parts, "both are {}", name);
                }
            }
        }
    }

    #[test]
    fn what_is_ordinary_stays_as_it_is() {
        assert_eq!(name_of(&["shop", "tls.example.com"], ".pem").unwrap(), "shop_tls.example.com.pem");
        assert_eq!(name_of(&["fd00::1", "8080"], "").unwrap(), "fd00::1_8080");
        let longest = "x".repeat(LONGEST);
        assert_eq!(name_of(&[&longest], "").unwrap(), longest);
        assert!(name_of(&["x".repeat(LONGEST + 1)], "").unwrap().starts_with(&longest));
    }

    #[test]
    fn names_are_the_same_in_every_version() {
        assert_eq!(name_of(&["a_b", "c"], "").unwrap(), "a_b_c-e587ecc667b6ac30");
    }

    #[test]
    fn nothing_and_endings_that_are_none_are_refused() {
        assert!(name_of(&[""], ".pem").is_err());
        for ending in ["/x", ".a b", "0123456789abc"] {
            assert!(name_of(&["a"], ending).is_err(), "{ending}");
        }
    }
}
