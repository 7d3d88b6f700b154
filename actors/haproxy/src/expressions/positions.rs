//! Where on a line expressions certainly stand. A place that is not listed here may hold one all the same.

use crate::document::{Line, Section, SectionKind, Word};

/// How HAProxy reads a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordFormat {
    /// The keyword of an ACL, or an expression.
    Acl,
    /// An expression.
    Sample,
    /// A number, or an expression.
    SampleOrNumber,
    /// A log-format, in which `%[…]` is an expression.
    Format,
}

/// Calls `found` with each word of a line that HAProxy reads as an expression or format when it comes to the line.
pub(crate) fn places(section: &SectionKind, line: &Line<'_>, found: &mut impl FnMut(usize, WordFormat)) {
    match line.keyword() {
        "" | "server" | "bind" => return,
        "set-var" if *section == SectionKind::Global => found(2, WordFormat::Sample),
        "set-var-fmt" if *section == SectionKind::Global => found(2, WordFormat::Format),
        "acl" => found(2, WordFormat::Acl),
        "http-request" | "http-response" | "http-after-response" => action(line, 1, found),
        "tcp-request" | "tcp-response" => action(line, 2, found),
        "use_backend" if section.has_frontend() => found(1, WordFormat::Format),
        "stick" if section.has_backend() => found(2, WordFormat::Sample),
        "http-error" => answer(line, 1, found),
        "http-check" | "tcp-check" if !section.has_frontend() || section.has_backend() => check(line, found),
        "filter" if matches!(line.value(1), "bwlim-in" | "bwlim-out") => {
            // `filter bwlim-in <name> … key <expression>`
            if let Some(key) = line.from(3).iter().position(|word| word.value == "key") {
                found(key + 4, WordFormat::Sample);
            }
        }
        _ => {}
    }
    if takes_condition(section, line) {
        conditions(line, found);
    }
}

/// The words that HAProxy reads as formats or expressions only when it has read everything: of several lines the last one.
pub(crate) fn formats_read_later<'s, 'd>(
    section: &'s Section<'d>,
) -> impl Iterator<Item = (&'s Line<'d>, usize, WordFormat)> {
    let (front, back) = (section.kind.has_frontend(), section.kind.has_backend());
    let sets_log_format = |line: &Line<'_>| match line.keyword() {
        "log-format" => true,
        "option" => matches!(line.value(1), "httplog" | "tcplog" | "httpslog"),
        _ => false,
    };
    let last = |is_it: &dyn Fn(&Line<'_>) -> bool| section.lines.iter().rfind(|line| is_it(line));
    let log_format = last(&sets_log_format).filter(|line| front && line.keyword() == "log-format");
    let error_format = last(&|line| line.keyword() == "error-log-format").filter(|_| front || back);
    let unique_id = last(&|line| line.keyword() == "unique-id-format").filter(|_| front || back);
    let structured = last(&|line| line.keyword() == "log-format-sd").filter(|_| front);
    let balance = last(&|line| line.keyword() == "balance").filter(|line| back && line.value(1) == "hash");
    let formats = [log_format, error_format, unique_id, structured].into_iter().flatten();
    formats
        .map(|line| (line, 1, WordFormat::Format))
        .chain(balance.map(|line| (line, 2, WordFormat::Sample)))
        .filter(|(line, ..)| !line.conditional)
}

/// The values of the rule whose action is the word `at`.
fn action(line: &Line<'_>, at: usize, found: &mut impl FnMut(usize, WordFormat)) {
    use WordFormat::{Format, Sample, SampleOrNumber};
    let action = line.value(at).split('(').next().unwrap_or_default();
    let first = at + 1;
    match action {
        "set-var"
        | "capture"
        | "do-resolve"
        | "set-src"
        | "set-src-port"
        | "set-dst"
        | "set-dst-port"
        | "set-priority-class"
        | "set-priority-offset"
        | "set-headers-bin"
        | "add-headers-bin" => {
            found(first, Sample);
        }
        _ if action.starts_with("track-sc") => found(first, Sample),
        "set-mark" | "set-tos" | "set-fc-mark" | "set-fc-tos" | "set-bc-mark" | "set-bc-tos"
        | "sc-set-gpt" | "sc-set-gpt0" | "sc-add-gpc" | "set-retries" => found(first, SampleOrNumber),
        "set-path" | "set-pathq" | "set-query" | "set-uri" | "set-method" | "set-var-fmt" | "del-map"
        | "add-acl" | "del-acl" => found(first, Format),
        "set-header" | "add-header" | "early-hint" | "replace-path" | "replace-pathq" | "replace-uri" => {
            found(first + 1, Format);
        }
        "replace-header" | "replace-value" => found(first + 2, Format),
        "set-map" => {
            found(first, Format);
            found(first + 1, Format);
        }
        "redirect" => redirect(line, first, found),
        "return" | "deny" | "tarpit" => answer(line, first, found),
        _ => {}
    }
}

fn redirect(line: &Line<'_>, from: usize, found: &mut impl FnMut(usize, WordFormat)) {
    let mut at = from;
    loop {
        at += match line.value(at) {
            "location" | "prefix" | "scheme" => {
                found(at + 1, WordFormat::Format);
                2
            }
            "code" | "set-cookie" | "clear-cookie" => 2,
            "drop-query" | "append-slash" | "ignore-empty" | "keep-query" => 1,
            _ => return,
        };
    }
}

/// The values of an answer that are formats.
fn answer(line: &Line<'_>, from: usize, found: &mut impl FnMut(usize, WordFormat)) {
    answers(line, from, |at| match line.value(at) {
        "hdr" => found(at + 2, WordFormat::Format),
        "lf-string" => found(at + 1, WordFormat::Format),
        _ => {}
    });
}

/// Calls `found` with each keyword of the answer that starts at `from`: `status`, `hdr`, `file` and the like.
pub(crate) fn answers(line: &Line<'_>, from: usize, mut found: impl FnMut(usize)) {
    let mut at = from;
    loop {
        let length = match line.value(at) {
            "hdr" => 3,
            "status" | "deny_status" | "content-type" | "string" | "lf-string" | "file" | "lf-file"
            | "errorfile" | "errorfiles" => 2,
            "default-errorfiles" => 1,
            _ => return,
        };
        found(at);
        at += length;
    }
}

/// The values of a health check's rule.
fn check(line: &Line<'_>, found: &mut impl FnMut(usize, WordFormat)) {
    match line.value(1).split('(').next().unwrap_or_default() {
        "set-var" => found(2, WordFormat::Sample),
        "set-var-fmt" | "send-lf" | "send-binary-lf" => found(2, WordFormat::Format),
        "send" if line.keyword() == "http-check" => {
            let mut at = 2;
            loop {
                at += match line.value(at) {
                    "hdr" => {
                        found(at + 2, WordFormat::Format);
                        3
                    }
                    "uri-lf" | "body-lf" => {
                        found(at + 1, WordFormat::Format);
                        2
                    }
                    "meth" | "uri" | "ver" | "body" | "comment" => 2,
                    _ => return,
                };
            }
        }
        _ => {}
    }
}

/// The expressions in the braces of a condition.
fn conditions(line: &Line<'_>, found: &mut impl FnMut(usize, WordFormat)) {
    let Some(start) = condition(line) else { return };
    let mut inside = false;
    for (at, word) in line.words.iter().enumerate().skip(start) {
        match word.value.trim_start_matches('!') {
            "{" if !inside => {
                inside = true;
                found(at + 1, WordFormat::Acl);
            }
            "}" => inside = false,
            _ => {}
        }
    }
}

/// Whether the rule on this line may end with `if` or `unless`.
pub(crate) fn takes_condition(section: &SectionKind, line: &Line<'_>) -> bool {
    match line.keyword() {
        // A frontend ignores the whole line.
        "stick" => section.has_backend(),
        "http-request"
        | "http-response"
        | "http-after-response"
        | "tcp-request"
        | "tcp-response"
        | "quic-initial"
        | "use_backend"
        | "use-server"
        | "redirect"
        | "force-persist"
        | "ignore-persist"
        | "force-be-switch"
        | "monitor"
        | "stats"
        | "set-param"
        | "pass-header" => true,
        _ => false,
    }
}

/// The position after `if` or `unless`. `if` may also be a value or a pattern, so the last one whose rest reads as a
/// condition is taken.
pub(crate) fn condition(line: &Line<'_>) -> Option<usize> {
    let is_start = |word: &Word<'_>| matches!(word.raw, "if" | "unless");
    let starts = line.words.iter().enumerate().skip(1).filter(|(_, word)| is_start(word));
    let readable = |start: &usize| {
        let mut rest = line.from(*start).iter();
        let mut empty = true;
        while let Some(word) = rest.next() {
            empty = false;
            match word.value.trim_start_matches('!') {
                "{" if !rest.any(|word| word.value == "}") => return false,
                "}" | "if" | "unless" => return false,
                _ => {}
            }
        }
        !empty
    };
    starts.map(|(at, _)| at + 1).rfind(readable)
}
