//! How many servers a line makes, told from its text alone: for whoever counts lines as they are written.

/// Servers that `line` of a backend makes: one of `server`, and of `server-template` as many as it says. Of a number that cannot be
/// read, one: HAProxy refuses the line.
#[must_use]
pub fn server_count(line: &str) -> usize {
    let mut words = line.split_ascii_whitespace();
    match words.next() {
        Some("server") => 1,
        Some("server-template") => words.nth(1).and_then(template_count).unwrap_or(1),
        _ => 0,
    }
}

/// `<num | range>` of `server-template`: `3` or `2-5`.
fn template_count(words: &str) -> Option<usize> {
    let Some((low, high)) = words.split_once('-') else { return words.parse().ok() };
    let (low, high): (usize, usize) = (low.parse().ok()?, high.parse().ok()?);
    high.checked_sub(low)?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_makes_as_many_as_it_says() {
        for (line, servers) in [
            ("  server a 10.0.0.1:80 check", 1),
            ("\tserver-template s 3 web.example:80", 3),
            ("server-template s 2-5 web.example:80", 4),
            ("server-template s 5-2 web.example:80", 1),
            ("server-template s 0-18446744073709551615 web.example:80", 1),
            ("default-server check", 0),
            ("# server a 10.0.0.1:80", 0),
            ("", 0),
        ] {
            assert_eq!(server_count(line), servers, "{line}");
        }
    }
}
