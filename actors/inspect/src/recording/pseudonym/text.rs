//! Texts, numbers, lines of users and bytes in place of secret ones: as long, and good for the same places.

use haptic_text::Digest;

/// Where the letters of a pseudonym come from: never from what it stands for.
#[derive(Clone, Copy, Debug)]
pub struct Seed(Digest);

impl Seed {
    /// The same for the same names.
    #[must_use]
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(Digest::of_pieces(names.into_iter().flat_map(|name| [name.as_bytes(), b"\0".as_slice()])))
    }

    /// Another one for each number.
    #[must_use]
    pub fn nth(self, number: usize) -> Self {
        Self(Digest::of_pieces([self.0.as_bytes().as_slice(), number.to_string().as_bytes()]))
    }

    /// Bytes that depend on nothing else.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Lower-case letters without end. They repeat soon: a large pseudonym is a small file.
    pub fn letters(&self) -> impl Iterator<Item = char> {
        let halves = self.0.as_bytes().iter().flat_map(|byte| [byte >> 4, byte & 15]);
        halves.map(|half| char::from(b'a' + half)).cycle()
    }
}

/// In place of `text`: lines stay lines, `name:value` stays that, a hash stays a hash of its scheme, and a number a number.
#[must_use]
pub fn text(text: &str, seed: Seed) -> String {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text.len(), seed);
    }
    text.split_inclusive('\n').enumerate().map(|(number, part)| line(part, seed.nth(number))).collect()
}

/// In place of bytes that are no text.
#[must_use]
pub fn bytes(length: usize, seed: Seed) -> Vec<u8> {
    // Whatever follows, this begins no text.
    let begin = std::iter::once(0xff);
    begin.chain(seed.letters().map(|letter| letter as u8)).take(length).collect()
}

/// Letters for everything but what decides where a value may stand: blanks and control characters.
#[must_use]
pub fn masked(text: &str, seed: Seed) -> String {
    let mut letters = seed.letters();
    let mut masked = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_whitespace() || c.is_control() {
            true => masked.push(c),
            false => masked.extend(letters.by_ref().take(c.len_utf8())),
        }
    }
    masked
}

fn number(digits: usize, seed: Seed) -> String {
    let digit = |letter: char| char::from(b'1' + (letter as u8 - b'a') % 9);
    seed.letters().map(digit).take(digits).collect()
}

fn line(line: &str, seed: Seed) -> String {
    match line.split_once(':') {
        Some((name, value)) if !name.is_empty() && !name.contains(char::is_whitespace) => {
            format!("{}:{}", masked(name, seed.nth(0)), value_of_user(value, seed.nth(1)))
        }
        _ => masked(line, seed),
    }
}

/// A password, or the hash of one as crypt(3) or a password file has it.
fn value_of_user(value: &str, seed: Seed) -> String {
    match value.strip_prefix('$') {
        Some(hash) => format!("${}", hash_of_crypt(hash, seed)),
        None if value.starts_with("{SHA}") => format!("{{SHA}}{}", masked(&value.replace("{SHA}", ""), seed)),
        None => masked(value, seed),
    }
}

/// Scheme and cost stay; salt and hash do not.
fn hash_of_crypt(hash: &str, seed: Seed) -> String {
    let mut segments = hash.split('$');
    let scheme = segments.next().unwrap_or_default();
    if !["1", "2a", "2b", "2y", "5", "6", "7", "apr1", "y", "gy"].contains(&scheme) {
        return masked(hash, seed);
    }
    let mut stands = scheme.to_owned();
    for (number, segment) in segments.enumerate() {
        stands.push('$');
        match number == 0 && is_cost(scheme, segment) {
            true => stands.push_str(segment),
            false => stands.push_str(&masked(segment, seed.nth(number))),
        }
    }
    stands
}

fn is_cost(scheme: &str, segment: &str) -> bool {
    let digits = |text: &str| text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    match scheme {
        "2a" | "2b" | "2y" => segment.len() == 2 && digits(segment),
        "5" | "6" => segment.strip_prefix("rounds=").is_some_and(digits),
        "y" | "gy" | "7" => segment.len() <= 5,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seed() -> Seed {
        Seed::of(["n", "s", "k"])
    }

    #[test]
    fn hashes_stay_hashes_of_their_scheme_and_nothing_else_of_them_stays() {
        for (secret, kept) in [
            ("admin:$6$rounds=5000$saltsalt$hashhash\n", "$6$rounds=5000$"),
            ("admin:$6$saltsalt$hashhash\n", "$6$"),
            ("admin:$2y$10$0123456789abcdefghijkl\n", "$2y$10$"),
            ("admin:$apr1$saltsalt$hash", "$apr1$"),
            ("admin:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "{SHA}"),
        ] {
            let stands = text(secret, seed());
            let (user, value) = stands.split_once(':').unwrap();
            assert!(value.starts_with(kept), "{stands}");
            assert_eq!((stands.len(), user.len()), (secret.len(), 5));
            for part in ["admin", "salt", "hash", "0123456789", "W6ph"] {
                assert!(!stands.contains(part), "{part} of {secret} is in {stands}");
            }
        }
        let planted = text("a:$6$planted\nb:$planted$planted\nplanted:\u{7f}planted", seed());
        assert!(!planted.contains("planted") && planted.contains('\u{7f}'), "{planted}");
    }

    #[test]
    fn numbers_stay_numbers_and_bytes_that_are_no_text_stay_that() {
        assert!(text("8080", seed()).parse::<u16>().is_ok());
        assert!(std::str::from_utf8(&bytes(9, seed())).is_err());
        assert_eq!(bytes(9, seed()).len(), 9);
    }

    proptest! {
        #[test]
        fn nothing_of_a_text_stays_but_its_length_lines_and_blanks(secret in "[ -~\n\t\u{e4}\u{7f}]{0,60}") {
            let stands = text(&secret, seed());
            prop_assert_eq!(stands.len(), secret.len());
            prop_assert_eq!(stands.lines().count(), secret.lines().count());
            prop_assert_eq!(&stands, &text(&secret, seed()));
            for word in secret.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 6) {
                prop_assert!(!stands.contains(word), "{} of {:?} is in {:?}", word, secret, stands);
            }
        }
    }
}
