//! Lines of crt-lists: `add ssl crt-list` and `del ssl crt-list`.

use super::{
    argument::file,
    exchange::{Exchange, Preparation, PreparedOperation},
    read_back::{Expectation, ReadBack},
};

/// Shows a crt-list with the numbers of its lines.
const SHOW: &str = "show ssl crt-list -n";

// --- commands --------------------------------------------------------------------------------------

/// HAProxy would take a line twice.
pub(super) fn add_line<'o>(list: &'o str, line: &'o str) -> Preparation<'o> {
    let add = format!("add ssl crt-list {} <<\n{}\n", file(list)?, checked(line)?);
    let is_there = |answer: &str| numbers_of(answer, line).is_some_and(|found| !found.is_empty());
    let add = PreparedOperation::one(add).unless_done(show(list)?, is_there);
    Ok(add.expecting(move |all| *all.crt_list_lines.of(list, without_options(line)) = true))
}

/// The list is shown first, to find the line by its number.
pub(super) fn delete_line<'o>(list: &'o str, line: &'o str) -> Preparation<'o> {
    checked(line)?;
    let exchange = move |show| {
        Exchange::new(show, move |replies, _| {
            let Some(shown) = replies.last() else { return Ok(None) };
            let found = numbers_of(shown.answer, line)
                .ok_or_else(|| format!("crt-list {list}: HAProxy shows several lines that may be {line}"))?;
            // From the last to the first, so that the numbers of those before it stay.
            let delete = found.into_iter().rev().map(|(certificate, number)| {
                Ok(format!("del ssl crt-list {} {}:{number}", file(list)?, file(certificate)?))
            });
            delete.collect::<Result<_, String>>().map(Exchange::then)
        })
    };
    let delete = PreparedOperation::one(show(list)?).sent_as(exchange);
    // One of the same hosts with other options may stay.
    Ok(delete.expecting(move |all| _ = all.crt_list_lines.of(list, without_options(line))))
}

fn show(list: &str) -> Result<String, String> {
    Ok(format!("{SHOW} {}", file(list)?))
}

/// A line that is sent as it is.
fn checked(line: &str) -> Result<&str, String> {
    let certificate = line.split(' ').next().unwrap_or_default();
    file(certificate)?;
    if line.len() > 8000 || line.chars().any(char::is_control) {
        return Err("the line is too long or has a control character".to_owned());
    }
    Ok(line)
}

// --- reading back ----------------------------------------------------------------------------------

pub(super) fn questions<'e>(all: &'e Expectation<'_>) -> impl Iterator<Item = ReadBack<'e>> {
    all.crt_list_lines.questions("crt-list", SHOW, |answer| {
        shown_lines(answer).map(|(line, _)| without_options(&line)).collect()
    })
}

/// The numbers that HAProxy gives a crt-list's `line`, with the line's certificate; none when the line is gone already,
/// `None` when it cannot be told from another one.
fn numbers_of<'l>(answer: &str, line: &'l str) -> Option<Vec<(&'l str, u64)>> {
    let certificate = line.split(' ').next().unwrap_or_default();
    let same = |shown: &str, of: fn(&str) -> String| of(shown) == of(line);
    let mut found: Vec<_> = shown_lines(answer).filter(|(shown, _)| same(shown, in_order)).collect();
    if found.is_empty() {
        // HAProxy may write options in another way than the file.
        found = shown_lines(answer).filter(|(shown, _)| same(shown, without_options)).collect();
        if found.len() > 1 {
            return None;
        }
    }
    Some(found.into_iter().map(|(_, number)| (certificate, number)).collect())
}

/// `ssl/b.pem:3 [alpn http/1.1 ] bb.example` as the line and its number.
fn shown_lines(answer: &str) -> impl Iterator<Item = (String, u64)> {
    answer.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (first, rest) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
        let (certificate, number) = first.rsplit_once(':')?;
        let line = if rest.is_empty() { certificate.to_owned() } else { format!("{certificate} {rest}") };
        Some((line, number.parse().ok()?))
    })
}

/// Options whatever their order, which HAProxy shows in one of its own, with a blank before the closing bracket, and before each protocol of
/// `alpn` its length as one byte.
fn in_order(line: &str) -> String {
    let plain = line.replace(char::is_control, ",").replace(" ,", " ");
    let Some((certificate, rest)) = plain.split_once('[') else { return plain };
    let Some((options, hosts)) = rest.rsplit_once(']') else { return plain };
    let mut words: Vec<&str> = options.split_whitespace().collect();
    words.sort_unstable();
    format!("{certificate}[{}]{hosts}", words.join(" "))
}

fn without_options(line: &str) -> String {
    match (line.split_once(" ["), line.rsplit_once(']')) {
        (Some((certificate, _)), Some((_, hosts))) => format!("{certificate}{hosts}"),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# ssl/full.txt\nssl/a.pem:2 a.example www.a.example\nssl/b.pem:4 b.example\nssl/b.pem:5 [alpn \u{2}h2\u{8}http/1.1 ] bb.example !x.bb.example\nssl/c.pem:6\nssl/b.pem:7 [alpn \u{2}h2 ] bb.example !x.bb.example\nssl/d.pem:8 [alpn \u{8}http/1.1 verify none ] d.example\nssl/d.pem:9 [verify none ] d.example\n";

    #[test]
    fn a_line_is_found_among_several_of_its_certificate() {
        let numbers =
            |line: &str| numbers_of(LIST, line).map(|all| all.iter().map(|(_, n)| *n).collect::<Vec<_>>());
        assert_eq!(numbers("ssl/b.pem b.example"), Some(vec![4]));
        assert_eq!(numbers("ssl/b.pem [alpn h2,http/1.1] bb.example !x.bb.example"), Some(vec![5]));
        assert_eq!(numbers("ssl/b.pem [alpn h2] bb.example !x.bb.example"), Some(vec![7]));
        assert_eq!(numbers("ssl/b.pem [verify none] bb.example !x.bb.example"), None);
        assert_eq!(numbers("ssl/d.pem [verify none alpn http/1.1] d.example"), Some(vec![8]));
        assert_eq!(numbers("ssl/c.pem"), Some(vec![6]));
        assert_eq!(numbers("ssl/b.pem x.example"), Some(vec![]));
    }
}
