//! Lines of a backend of `haproxy.cfg` that annotations have: none is ever printed. Where the operator says so, what is known of them becomes
//! options.

use super::{
    balance, log_format,
    translation::{Said, Translation},
};
use crate::options::quantity::milliseconds;

/// Words of lines that keep requests out.
const GUARDS: [&str; 6] = ["deny", "tarpit", "reject", "silent-drop", "auth", "lua."];

/// Statuses that redirects may have.
const REDIRECTS: [&str; 5] = ["301", "302", "303", "307", "308"];

/// What a snippet or a custom resource says, as options: of each the lines that were read.
#[derive(Default)]
pub(super) struct LinesOfBackend {
    sent: Vec<String>,
    answered: Vec<String>,
    also_sent: Vec<String>,
    also_answered: Vec<String>,
    unsent: Vec<String>,
    unanswered: Vec<String>,
    rewrites: Vec<String>,
    balance: Option<String>,
    others: Vec<(&'static str, String)>,
}

/// Reads the snippets under these keys. One that keeps requests out lets nobody in, as far as it is not translated.
pub(super) fn translate(keys: &[&'static str], said: &Said<'_>, out: &mut Translation<'_>) {
    for key in keys {
        let Some(text) = said.text(key) else { continue };
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let lines: Vec<&str> = lines.collect();
        let guard = || lines.iter().find(|line| keeps_out(line));
        let mut read = LinesOfBackend::default();
        let unknown = match said.settings.snippets {
            true => lines.iter().find(|line| !read.takes(line)),
            false => lines.first(),
        };
        let why = match (said.settings.snippets, unknown) {
            (_, None) => {
                read.set(key, out);
                continue;
            }
            (true, Some(line)) => format!("has {line:?}, which is not known here: nothing of it counts"),
            (false, _) => {
                "has lines of haproxy.cfg: nothing of it counts without `snippets: translate`".to_owned()
            }
        };
        match guard() {
            Some(line) => out.close(key, &format!("{why}; {line:?} may keep requests out")),
            None => out.cannot(key, &why),
        }
    }
}

/// Whether a line keeps requests out: so does an answer that is a refusal, and a redirect of some requests to another place than the
/// same over HTTPS, such as a page that asks for a password.
fn keeps_out(line: &str) -> bool {
    let words = words(line).unwrap_or_else(|| line.split_whitespace().map(str::to_owned).collect());
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let has_conditions = has("if") || has("unless");
    let refuses = || {
        let status = words.iter().skip_while(|word| *word != "status").nth(1);
        has("use-service") || (has("return") && status.is_some_and(|status| is_refusal(status)))
    };
    words.iter().any(|word| is_guard(word))
        || (has("http-request") && refuses())
        || (has("redirect") && has_conditions && !has("scheme"))
}

/// Whether a status says that nothing is given; what is no number may be one.
pub(super) fn is_refusal(status: &str) -> bool {
    !status.parse().is_ok_and(|status: u16| status < 400)
}

/// Whether a word keeps requests out.
pub(super) fn is_guard(word: &str) -> bool {
    GUARDS.iter().any(|guard| word == *guard || (guard.ends_with('.') && word.starts_with(guard)))
}

/// The word that HAProxy reads of a text, if it is one.
pub(super) fn one_word(text: &str) -> Option<String> {
    let [word] = <[String; 1]>::try_from(words(text)?).ok()?;
    Some(word)
}

impl LinesOfBackend {
    /// Takes a line, if it is known.
    fn takes(&mut self, line: &str) -> bool {
        let Some(words) = words(line) else { return false };
        self.takes_words(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Takes the words of a line, if it is known.
    pub(super) fn takes_words(&mut self, words: &[&str]) -> bool {
        match *words {
            ["timeout", what @ ("connect" | "server" | "queue" | "tunnel"), time] => {
                let option = match what {
                    "connect" => "timeout-connect",
                    "server" => "timeout-server",
                    "queue" => "timeout-queue",
                    _ => "timeout-tunnel",
                };
                let is_number = time.bytes().all(|byte| byte.is_ascii_digit());
                let time = if is_number { format!("{time}ms") } else { time.to_owned() };
                milliseconds(&time).is_some() && self.other(option, time)
            }
            ["http-request", "set-header", name, value] => header(name, value, &mut self.sent),
            ["http-request", "add-header", name, value] => header(name, value, &mut self.also_sent),
            ["http-response" | "http-after-response", "set-header", name, value] => {
                header(name, value, &mut self.answered)
            }
            ["http-response" | "http-after-response", "add-header", name, value] => {
                header(name, value, &mut self.also_answered)
            }
            ["http-request", "del-header", name] => take(name, &mut self.unsent),
            ["http-response" | "http-after-response", "del-header", name] => take(name, &mut self.unanswered),
            ["http-request", "replace-path", pattern, path] => {
                self.rewrites.push(format!("{pattern} {path}"));
                !format!("{pattern}{path}").contains(char::is_whitespace) && !path.contains('%')
            }
            ["http-request", "set-path", path] => {
                self.rewrites.push(format!("^(/.*) {path}"));
                !path.contains(char::is_whitespace) && !path.contains('%')
            }
            ["http-request", "redirect", how, target] => self.redirects(how, target, "302"),
            ["http-request", "redirect", how, target, "code", code] => self.redirects(how, target, code),
            ["http-request", "set-log-level", "silent"] => self.other("access-log", "false"),
            ["balance", ref how @ ..] => {
                self.balance = Some(how.join(" "));
                !how.is_empty()
            }
            ["retries", number] => self.other("retries", number),
            ["compression", "algo", "gzip"] => self.other("compression", "gzip"),
            ["compression", "type", ref types @ ..] => self.other("compression-types", types.join(", ")),
            ["hash-type", "consistent", ..]
            | ["http-reuse", _]
            | ["option", "forwardfor" | "http-keep-alive" | "redispatch", ..] => true,
            _ => false,
        }
    }

    /// Path and query of the request stand behind a prefix; only behind a whole host they are its own.
    fn redirects(&mut self, how: &str, target: &str, code: &str) -> bool {
        let is_host = |rest: &str| !rest.is_empty() && !rest.contains(['/', '?', '#']);
        let is_good = match how {
            "location" => true,
            "prefix" => target.split_once("://").is_some_and(|(_, rest)| is_host(rest)),
            _ => false,
        };
        if how == "prefix" {
            self.other("redirect-keep-path", "true");
        }
        self.other("redirect-to", target);
        self.other("redirect-code", code);
        is_good && REDIRECTS.contains(&code) && !target.contains(['%', '\n'])
    }

    /// An option by itself, where nothing said more of it.
    pub(super) fn other_unless_said(&mut self, option: &'static str, text: &str) -> bool {
        let is_said = self.others.iter().any(|(other, _)| *other == option);
        is_said || self.other(option, text)
    }

    /// An option by itself.
    pub(super) fn other(&mut self, option: &'static str, text: impl Into<String>) -> bool {
        self.others.push((option, text.into()));
        true
    }

    /// Sets what was taken.
    pub(super) fn set(self, key: &str, out: &mut Translation<'_>) {
        if let Some(text) = &self.balance {
            balance::set(text, key, out);
        }
        for (option, lines, by) in [
            ("request-headers", self.sent, "\n"),
            ("response-headers", self.answered, "\n"),
            ("add-request-headers", self.also_sent, "\n"),
            ("add-response-headers", self.also_answered, "\n"),
            ("remove-request-headers", self.unsent, ","),
            ("remove-response-headers", self.unanswered, ","),
            ("rewrite-rules", self.rewrites, "\n"),
        ] {
            if !lines.is_empty() {
                out.add(option, &lines.join(by), key);
            }
        }
        for (option, text) in self.others {
            out.set(option, &text, key);
        }
    }
}

/// A header whose value is a text with variables of ours.
fn header(name: &str, value: &str, lines: &mut Vec<String>) -> bool {
    let Ok(value) = log_format::text(value) else { return false };
    lines.push(format!("{name}: {value}"));
    !value.trim().is_empty() && !value.contains('\n')
}

fn take(name: &str, names: &mut Vec<String>) -> bool {
    names.push(name.to_owned());
    !name.contains([',', '\n'])
}

/// The words of a line (configuration manual, 2.2); `None` where a quotation has no end.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut all, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => {
                let next = characters.next()?;
                let text = word.get_or_insert_default();
                // Before others it is itself.
                if !" \\#\"'$".contains(next) {
                    text.push('\\');
                }
                text.push(next);
            }
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') => break,
            (None, c) if c.is_whitespace() => all.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    all.extend(word);
    quote.is_none().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_words_and_what_is_not_known_is_not_taken() {
        assert_eq!(words("a \"b c\"  'd\"' e\\ f # g").unwrap(), ["a", "b c", "d\"", "e f"]);
        assert_eq!(words("replace-path ^/a/(.*) /b/\\1").unwrap(), ["replace-path", "^/a/(.*)", "/b/\\1"]);
        assert_eq!(words("a \"b"), None);
        for line in [
            "timeout server 5s",
            "timeout tunnel 3600000",
            "http-response set-header X-Frame-Options DENY",
            "http-request set-header X-Client \"%[src]\"",
            "balance url_param WOPISrc check_post",
            "hash-type consistent",
            "http-request set-log-level silent",
            "http-request redirect location https://a.example/x code 301",
            "http-request redirect prefix https://a.example",
            "compression algo gzip",
        ] {
            assert!(LinesOfBackend::default().takes(line), "{line}");
        }
        for line in [
            "http-request deny if { src 10.0.0.0/8 }",
            "http-request set-header X-A 1 if { path /a }",
            "http-request redirect scheme https",
            "http-request redirect prefix https://a.example/x",
            "http-request redirect location https://%[hdr(host)]/",
            "http-request redirect location /x code 200",
            "http-request set-header X-A %[env(PATH)]",
            "server a 10.0.0.1:80",
            "stick-table type ip size 1m",
            "timeout server soon",
        ] {
            assert!(!LinesOfBackend::default().takes(line), "{line}");
        }
    }
}
