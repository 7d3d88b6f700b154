//! What the Data Plane API says, in words of a user's configuration.

use crate::error::ApiError;
use awc::http::StatusCode;
use haptic_deploy::transport::caller::PodReply;
use haptic_haproxy::{
    Document, Line, Section,
    messages::{self, LogMessage},
};
use serde::Deserialize;
use std::borrow::Cow;

/// How much of a message is kept: HAProxy's log of a reload may be long.
const KEPT: usize = 8 << 10;
/// How much of a log is read for what is worth keeping.
const READ: usize = 256 << 10;
/// What the API says, and what that means: the first that is found in an answer counts.
const MEANINGS: [(Phrase, ResponseMeaning); 14] = [
    (Phrase::Within("cannot execute"), ResponseMeaning::ActionFailed),
    (Phrase::Within("failed to parse certificate"), ResponseMeaning::BadCertificate),
    (Phrase::Within("file should contain both certificate and private key"), ResponseMeaning::BadCertificate),
    // "Already exists" are HAProxy's own words.
    (Phrase::Within("lready exists"), ResponseMeaning::Exists),
    (Phrase::Within("missing object"), ResponseMeaning::NotStored),
    (Phrase::Within("no such file"), ResponseMeaning::NoFile),
    (Phrase::Within("no data for"), ResponseMeaning::NoData),
    (Phrase::Within("not found"), ResponseMeaning::NotFound),
    (Phrase::Within("validation error: exit status"), ResponseMeaning::Verdict),
    (Phrase::First("invalid configuration:"), ResponseMeaning::Verdict),
    (Phrase::Within("read-only file system"), ResponseMeaning::CannotWrite),
    (Phrase::Within("permission denied"), ResponseMeaning::CannotWrite),
    (Phrase::Within("no space left"), ResponseMeaning::CannotWrite),
    (Phrase::Within("unable to configure runtime client"), ResponseMeaning::NoSocket),
];

/// Words of the API, and where they stand.
#[derive(Clone, Copy)]
enum Phrase {
    First(&'static str),
    Within(&'static str),
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub(crate) struct ApiRefusal {
    pub meaning: ResponseMeaning,
    /// Those of the API, or of whoever read back what it said was done.
    pub words: String,
}

/// What an answer means, as far as anything is decided by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseMeaning {
    /// An action of a push failed; the push, and actions before it, are done.
    ActionFailed,
    /// The content is no certificate with its key.
    BadCertificate,
    Exists,
    /// The storage has no such file.
    NotStored,
    NoFile,
    /// HAProxy has no such backend or server.
    NoData,
    NotFound,
    /// HAProxy's checker came to its end, and does not take the configuration.
    Verdict,
    /// The API cannot write its files.
    CannotWrite,
    /// The API does not reach HAProxy's master socket.
    NoSocket,
    /// Nothing is said, which decides nothing: what was done is read back.
    Silent,
    Other,
}

impl ApiRefusal {
    /// What `reply` refuses.
    pub fn of(reply: &PodReply) -> Self {
        let words = message(reply);
        let found = MEANINGS.iter().find(|(phrase, _)| phrase.is_in(&words)).map(|(_, meaning)| *meaning);
        let meaning =
            if words.is_empty() { ResponseMeaning::Silent } else { found.unwrap_or(ResponseMeaning::Other) };
        Self { meaning, words }
    }
}

impl Phrase {
    fn is_in(self, words: &str) -> bool {
        match self {
            Self::First(phrase) => words.starts_with(phrase),
            Self::Within(phrase) => words.contains(phrase),
        }
    }
}

/// Whether `words` have a phrase of this meaning, among others.
fn means(words: &str, meaning: ResponseMeaning) -> bool {
    MEANINGS.iter().any(|(phrase, its)| *its == meaning && phrase.is_in(words))
}

/// The sentence in an error's body, whatever its content type.
pub(crate) fn message(reply: &PodReply) -> String {
    #[derive(Deserialize)]
    struct Error {
        message: String,
    }
    if reply.status.is_success() {
        return String::new();
    }
    let text = match serde_json::from_slice::<Error>(&reply.body) {
        Ok(error) => error.message,
        Err(_) => reply.excerpt(),
    };
    text.chars().take(KEPT).collect()
}

/// Whether `said` is what HAProxy's checker found, and not that it could not be run or did not come to its end.
pub(crate) fn is_verdict(said: &str) -> bool {
    means(said, ResponseMeaning::Verdict)
}

/// Whether `log`, of a reload that failed, has HAProxy's own refusal: not only that its worker was killed, or that the API
/// could not do what belongs to a reload.
pub(crate) fn is_refusal(log: &str) -> bool {
    messages::of_log(log).iter().any(LogMessage::is_refusal)
}

/// As much of a log as is read.
pub(crate) fn shortened(mut log: String) -> String {
    let end = log.char_indices().nth(READ).map_or(log.len(), |(end, _)| end);
    log.truncate(end);
    log
}

/// What keeps the API itself from working.
pub(crate) fn trouble(reply: &PodReply, address: &str) -> Option<ApiError> {
    if reply.status == StatusCode::PAYLOAD_TOO_LARGE {
        return Some(ApiError::TooLarge { address: address.to_owned(), cause: message(reply) });
    }
    if reply.status.as_u16() < 500 {
        return None;
    }
    let cause = message(reply);
    let address = address.to_owned();
    if means(&cause, ResponseMeaning::CannotWrite) {
        return Some(ApiError::ReadOnly { address, cause });
    }
    if means(&cause, ResponseMeaning::NoSocket) {
        let hint = "is its master_runtime HAProxy's master socket (-S), on a volume that both share?";
        return Some(ApiError::WithoutHaproxy { address, cause, hint });
    }
    None
}

/// What HAProxy's checker or its log said, about the configuration that was `sent`: the API's own copies of the file have other
/// names, and in `written`, if given, other lines.
pub(crate) fn about(said: &str, config_file: &str, sent: &str, written: Option<&str>) -> String {
    let documents = written.map(|written| (Document::parse(written), Document::parse(sent)));
    let lines: Vec<String> = said
        .lines()
        .filter_map(|line| {
            // `msg="config parsing [FILE:27] …"` or `line=27 msg="…"`, as the API gives HAProxy's lines.
            let (before, line) = line
                .split_once("msg=\"")
                .map_or(("", line), |(before, rest)| (before, rest.strip_suffix('"').unwrap_or(rest)));
            let line = line.strip_prefix("validation error: exit status 1: ").unwrap_or(line);
            let line = line.strip_prefix("config ").unwrap_or(line).trim();
            let line = line.char_indices().nth(KEPT).map_or(line, |(end, _)| line.get(..end).unwrap_or(line));
            if is_noise(line) {
                return None;
            }
            let at = before.split_once("line=").and_then(|(_, number)| number.trim().parse::<usize>().ok());
            let line = at.map_or(Cow::Borrowed(line), |at| format!("[{config_file}:{at}] : {line}").into());
            Some(at_our_line(&line, config_file, documents.as_ref()).into_owned())
        })
        .collect();
    let text = if lines.is_empty() { said.trim().to_owned() } else { lines.join("\n") };
    text.chars().take(KEPT).collect()
}

fn is_noise(line: &str) -> bool {
    line.is_empty()
        || line.starts_with("[NOTICE]")
        || line.starts_with("err transactionId=")
        || messages::is_summary(line)
}

/// `[/etc/haproxy/dp/tx/haproxy.cfg.1a2b:27]` -> `[/etc/haproxy/haproxy.cfg:25]`.
fn at_our_line<'l>(
    line: &'l str,
    config_file: &str,
    documents: Option<&(Document<'_>, Document<'_>)>,
) -> Cow<'l, str> {
    for (open, _) in line.match_indices('[') {
        let rest = line.get(open + 1..).unwrap_or_default();
        let Some((inside, after)) = rest.split_once(']') else { continue };
        let Some((path, number)) = inside.rsplit_once(':') else { continue };
        let Ok(number) = number.parse::<usize>() else { continue };
        let is_it = path == config_file || path.contains("/onlyvalidate") || path.contains("haproxy.cfg.");
        if !is_it {
            continue;
        }
        let number =
            documents.and_then(|(written, sent)| counterpart(written, number, sent)).unwrap_or(number);
        let before = line.get(..open).unwrap_or_default();
        return Cow::Owned(format!("{before}[{config_file}:{number}]{after}"));
    }
    Cow::Borrowed(line)
}

/// The line of `sent` that became line `number` of `written`.
fn counterpart(written: &Document<'_>, number: usize, sent: &Document<'_>) -> Option<usize> {
    let in_section = |section: &&Section<'_>| section.all_lines().any(|line| line.number == number);
    let section = written.sections.iter().find(in_section)?;
    let line = section.all_lines().find(|line| line.number == number)?;
    let words = |line: &Line<'_>| line.words.iter().map(|word| word.value.to_string()).collect::<Vec<_>>();
    let own = sent.section(&section.kind, &section.name)?;
    own.all_lines().find(|other| words(other) == words(line)).map(|line| line.number)
}

/// A configuration without what the API writes before it: the same for the same content, whatever its version.
pub(crate) fn content(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        let is_head =
            line.trim().is_empty() || line.starts_with("# _md5hash=") || line.starts_with("# _version=");
        if !is_head {
            break;
        }
        rest = after;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkers_words_name_the_line_that_was_sent() {
        let said = "validation error: exit status 1: msg=\"config parsing [/var/tmp/onlyvalidate4027106779:27] unknown keyword 'foo' in 'backend' section\"\nmsg=\"config Error(s) found in configuration file /var/tmp/onlyvalidate4027106779\"\nmsg=\"config Fatal errors found in configuration.\"";
        assert_eq!(
            about(said, "/etc/haproxy/haproxy.cfg", "", None),
            "parsing [/etc/haproxy/haproxy.cfg:27] unknown keyword 'foo' in 'backend' section"
        );
    }

    #[test]
    fn a_line_that_is_told_beside_the_words_is_kept() {
        let said = "validation error: exit status 1: err transactionId=d0734da2 \nline=28 msg=\"backend 'b', another server named 's1' was already defined at line 27, please use distinct names.\"";
        assert_eq!(
            about(said, "/etc/haproxy/haproxy.cfg", "", None),
            "[/etc/haproxy/haproxy.cfg:28] : backend 'b', another server named 's1' was already defined at line 27, please use distinct names."
        );
    }

    #[test]
    fn a_reloads_words_lead_from_the_apis_lines_to_ours() {
        let sent = "frontend z\n  bind :81\nbackend a\n  server s 10.0.0.1:80\nfrontend b\n  bind :80\n";
        let written = "# _md5hash=1\n# _version=2\n\nfrontend b\n  bind :80\n\nfrontend z\n  bind :81\n\nbackend a\n  server s 10.0.0.1:80\n";
        let said = "[NOTICE]   (1) : Initializing new worker (2)\n[ALERT]    (2) : Binding [/etc/haproxy/haproxy.cfg:8] for frontend z: cannot bind socket";
        assert_eq!(
            about(said, "/etc/haproxy/haproxy.cfg", sent, Some(written)),
            "[ALERT]    (2) : Binding [/etc/haproxy/haproxy.cfg:2] for frontend z: cannot bind socket"
        );
    }

    #[test]
    fn of_what_an_answer_says_the_first_meaning_counts_and_each_is_found() {
        let said = "invalid configuration: no such file: permission denied";
        assert!(is_verdict(said) && !is_verdict("it said: invalid configuration: x"));
        assert!(means(said, ResponseMeaning::CannotWrite));
        let first = MEANINGS.iter().find(|(phrase, _)| phrase.is_in(said)).map(|(_, meaning)| *meaning);
        assert_eq!(first, Some(ResponseMeaning::NoFile));
    }

    #[test]
    fn a_version_is_no_content() {
        let one = "# _md5hash=aa\n# _version=7\n\nglobal\n  maxconn 3\n";
        assert_eq!(content(one), content("# _version=8\nglobal\n  maxconn 3\n"));
        assert_ne!(content(one), content("# _version=8\nglobal\n  maxconn 4\n"));
    }
}
