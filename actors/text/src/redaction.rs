//! Text as it may be shown: without passwords and keys that people wrote into templates and objects.
//!
//! What comes from a Secret is known by its origin ([`crate::Fragment::shown`]) and gone before anything here looks.

use crate::text::REDACTED;

/// One line of haproxy.cfg, or of a template of it, without passwords.
#[must_use]
pub fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let (mut before, mut last) = ("", "");
    for part in text.split_inclusive([' ', '\t']) {
        let word = part.trim_end_matches([' ', '\t', '\n', '\r']);
        let secret =
            matches!(last, "password" | "insecure-password") || (last == "auth" && before == "stats");
        // What a template prints there is no secret, and without it the template would be none.
        let written = word.split("{{").next().unwrap_or_default();
        match secret && !written.is_empty() && word != REDACTED {
            true => {
                shown.push_str(REDACTED);
                shown.push_str(part.get(written.len()..).unwrap_or_default());
            }
            false => shown.push_str(part),
        }
        if !word.is_empty() {
            (before, last) = (last, word);
        }
    }
    shown
}

/// haproxy.cfg, or a template of it, without passwords and private keys. Lines keep their numbers.
#[must_use]
pub fn text(text: &str) -> String {
    lines(text, line)
}

/// Any text without private keys. Lines keep their numbers.
#[must_use]
pub fn keys(text: &str) -> String {
    lines(text, str::to_owned)
}

fn lines(text: &str, line: impl Fn(&str) -> String) -> String {
    let mut in_key = false;
    let mut shown = String::with_capacity(text.len());
    for part in text.split_inclusive('\n') {
        let begins = part.contains("-----BEGIN") && part.contains("PRIVATE KEY-----");
        if in_key || begins {
            shown.push_str(REDACTED);
            shown.push_str(if part.ends_with('\n') { "\n" } else { "" });
        } else {
            shown.push_str(&line(part));
        }
        in_key = (in_key || begins) && !(part.contains("-----END") && part.contains("PRIVATE KEY-----"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_that_somebody_wrote_into_a_template_are_not_shown() {
        for (written, shown) in [
            ("  user a password $5$abc groups g\n", "  user a password [redacted] groups g\n"),
            ("  user a insecure-password  x", "  user a insecure-password  [redacted]"),
            ("  stats auth admin:x", "  stats auth [redacted]"),
            ("  user a password {{hash}}", "  user a password {{hash}}"),
            ("  stats auth admin:{{get s \"x\"}}\n", "  stats auth [redacted]{{get s \"x\"}}\n"),
            ("  http-request auth realm x", "  http-request auth realm x"),
            ("  # no password", "  # no password"),
        ] {
            assert_eq!(line(written), shown);
        }
    }

    #[test]
    fn private_keys_are_not_shown_and_lines_keep_their_numbers() {
        let pem = "a\n-----BEGIN EC PRIVATE KEY-----\nMII\n-----END EC PRIVATE KEY-----\nb\n";
        assert_eq!(text(pem), "a\n[redacted]\n[redacted]\n[redacted]\nb\n");
    }
}
