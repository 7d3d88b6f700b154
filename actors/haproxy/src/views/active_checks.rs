//! The words by which HAProxy asks a server whether it is well, told from the text of its line. Each takes a connection of its own, for as
//! long as the server does not answer.

use super::{parameters, server_count};
use crate::document::Document;

const CHECKS: [&str; 2] = ["check", "agent-check"];

/// More than that nobody asks for: sums of it stay numbers.
const MOST: usize = 1 << 30;

/// How many checks `line` of a backend asks for: those of its server, or of each of them.
#[must_use]
pub fn check_count(line: &str) -> usize {
    let checks = || line.split_ascii_whitespace().skip(3).filter(|word| CHECKS.contains(word)).count();
    match server_count(line) {
        0 => 0,
        servers => servers.saturating_mul(checks()).min(MOST),
    }
}

/// `line` of a server that is not checked. Everything else stands where it stood: spaces take the words' place.
#[must_use]
pub fn without_checks(line: &str) -> String {
    let mut unchecked = line.to_owned();
    let document = Document::parse(line);
    for read in document.lines() {
        let of_address = if read.keyword() == "server-template" { 4 } else { 3 };
        let words = parameters(read.from(of_address), "server").into_iter().filter_map(<[_]>::first);
        for word in words.filter(|word| CHECKS.contains(&&*word.value)) {
            let at = word.column.saturating_sub(1);
            let place = at..at + word.raw.len();
            if unchecked.get(place.clone()).is_some() {
                unchecked.replace_range(place, &" ".repeat(word.raw.len()));
            }
        }
    }
    unchecked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_and_each_kind_of_check_counts() {
        for (line, checks) in [
            ("  server a 10.0.0.1:80 check inter 2s", 1),
            ("server a 10.0.0.1:80 check agent-check agent-port 9", 2),
            ("server a 10.0.0.1:80 check-sni a weight 1", 0),
            ("server check check", 0),
            ("server-template s 3 web.example:80 check", 3),
            ("server-template s 18446744073709551615 web.example:80 check agent-check", MOST),
            ("http-check expect status 200 check", 0),
        ] {
            assert_eq!(check_count(line), checks, "{line}");
        }
    }

    #[test]
    fn what_is_left_stands_where_it_stood() {
        for (line, unchecked) in [
            ("  server a 10.0.0.1:80 check inter 2s\n", "  server a 10.0.0.1:80       inter 2s\n"),
            (
                "server check 10.0.0.1:80 cookie check agent-check agent-port 9",
                "server check 10.0.0.1:80 cookie check             agent-port 9",
            ),
            ("server-template s 3 web:80 check weight 1", "server-template s 3 web:80       weight 1"),
        ] {
            assert_eq!(without_checks(line), unchecked);
        }
    }
}
