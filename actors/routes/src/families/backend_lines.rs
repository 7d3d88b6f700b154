//! Lines of a backend of `haproxy.cfg` that annotations have: none is ever printed. Where the operator says so, what is known of them becomes
//! options.

use super::{
    annotations::ReadAnnotations,
    balance,
    header_steps::{HeaderStep, HeadersTo, distrust},
    log_format,
    translation::Translation,
};
use crate::{
    options::{header::HeadersOf, quantity::milliseconds},
    sentences::shortened,
};

/// What becomes of them, for the reference.
pub(super) const LINES: &str = "without `snippets: translate` nothing of it counts, and with it headers, paths, times, balance and compression: no line of `haproxy.cfg` is printed for anybody; one that may keep requests out, and is not known, lets nobody in";

/// The options that they may set, for the reference.
pub(super) const BY_LINES: &[&str] = &[
    "request-headers",
    "response-headers",
    "remove-request-headers",
    "remove-response-headers",
    "rewrite-rules",
    "balance",
    "timeout-server",
];

/// Words of lines that keep requests out.
const GUARDS: [&str; 6] = ["deny", "tarpit", "reject", "silent-drop", "auth", "lua."];

/// Rules that answer themselves: a client that gets that answer does not get in, whatever its status is.
const ANSWERS: [&str; 2] = ["return", "use-service"];

/// Rules that lead some requests elsewhere where they have a condition, such as to a page that says no.
const DETOURS: [&str; 7] =
    ["replace-path", "replace-pathq", "replace-uri", "set-path", "set-pathq", "set-uri", "use-server"];

/// Statuses that redirects may have.
const REDIRECTS: [&str; 5] = ["301", "302", "303", "307", "308"];

/// The options that a snippet or a custom resource asks for: of each the lines that were read.
#[derive(Default)]
pub(super) struct LinesOfBackend {
    headers: Vec<(HeadersOf, HeaderStep)>,
    rewrites: Vec<String>,
    balance: Option<String>,
    others: Vec<(&'static str, String)>,
}

/// Reads the snippets under these keys. One that keeps requests out lets nobody in, as far as it is not translated.
pub(super) fn translate(keys: &[&'static str], said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
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
        let lists = ["allow-from", "deny-from"].iter().any(|list| out.has(list));
        let addresses =
            || lines.iter().find(|line| lists && words_of(line).iter().any(|word| word == "set-src"));
        match guard().or_else(addresses) {
            Some(line) => out.close(key, &format!("{why}; {line:?} may keep requests out")),
            None => out.cannot(key, &why),
        }
        for name in lines.iter().filter_map(|line| told_to_servers(line)) {
            distrust(&name, key, out);
        }
    }
}

/// The header whose value a line that is not translated sets for servers, or takes from clients.
fn told_to_servers(line: &str) -> Option<String> {
    let words = words_of(line);
    let [phase, verb, name, ..] = words.as_slice() else { return None };
    (phase == "http-request" && ["set-header", "del-header"].contains(&verb.as_str())).then(|| name.clone())
}

/// The words of a line, and where its quotation has no end, what stands between blanks.
fn words_of(line: &str) -> Vec<String> {
    words(line).unwrap_or_else(|| line.split_whitespace().map(str::to_owned).collect())
}

/// Whether a line that is not translated keeps requests out: it refuses them, answers itself, or leads elsewhere, if only to a page that
/// asks for a password.
fn keeps_out(line: &str) -> bool {
    let words = words_of(line);
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    // `http-request redirect`, or `redirect` alone as older lines have it.
    let does = |word: &str| words.iter().take(2).any(|first| first == word);
    let is_followed_by = |word: &str, next: &str| {
        words.iter().skip_while(|first| *first != word).nth(1).is_some_and(|second| second == next)
    };
    let has_condition = has("if") || has("unless");
    // Which headers of clients that takes is not known by one name.
    let takes_several = does("del-header") && has("-m");
    words.iter().any(|word| is_guard(word))
        || takes_several
        || ANSWERS.into_iter().any(does)
        || (does("redirect") && !is_followed_by("redirect", "scheme"))
        || (has_condition && DETOURS.into_iter().any(does))
}

/// Whether a rule of this type, which is not translated, keeps requests out.
pub(super) fn is_guarding_rule(kind: &str, has_condition: bool, redirects_scheme: bool) -> bool {
    is_guard(kind)
        || kind == "lua"
        || ANSWERS.contains(&kind)
        || (kind == "redirect" && !redirects_scheme)
        || (has_condition && DETOURS.contains(&kind))
}

/// Whether a word keeps requests out.
fn is_guard(word: &str) -> bool {
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
            [
                phase @ ("http-request" | "http-response" | "http-after-response"),
                verb,
                name,
                ref value @ ..,
            ] if verb.ends_with("-header") => {
                let of = if phase == "http-request" { HeadersOf::Requests } else { HeadersOf::Answers };
                let step = step(verb, name, value);
                let is_taken = step.is_some();
                self.headers.extend(step.map(|step| (of, step)));
                is_taken
            }
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

    /// Servers get nothing from clients by these headers, which cannot be said.
    pub(super) fn distrusts(&mut self, names: impl Iterator<Item = String>) {
        self.headers.extend(names.map(|name| (HeadersOf::Requests, HeaderStep::Unsaid(name))));
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
        for to in [HeadersTo::SERVERS, HeadersTo::CLIENTS] {
            let steps = self.headers.iter().filter(|(of, _)| *of == to.of).map(|(_, step)| step);
            to.take(steps, key, out);
        }
        for line in &self.rewrites {
            if let Err(wanted) = out.read("rewrite-rules", line) {
                out.differs(key, &format!("has {:?}, which {wanted}: it is left out", shortened(line)));
            } else if !out.add_line("rewrite-rules", line, key) {
                break;
            }
        }
        for (option, text) in self.others {
            match out.read(option, &text) {
                Ok(value) => out.set_value(option, value),
                Err(wanted) => left_out(option, &text, &wanted, key, out),
            }
        }
    }
}

/// Finds known lines that cannot be options. A redirect that leads clients away lets nobody in.
fn left_out(option: &str, text: &str, wanted: &str, key: &str, out: &mut Translation<'_>) {
    let why = format!("has {:?} for option {option}, which {wanted}", shortened(text));
    match option.starts_with("redirect-") {
        true => out.close(key, &why),
        false => out.differs(key, &format!("{why}: that is left out")),
    }
}

/// The step of a rule for a header; a value is a text with variables of ours.
fn step(verb: &str, name: &str, value: &[&str]) -> Option<HeaderStep> {
    let name = name.to_owned();
    let read = |value: &str| log_format::text(value).ok().filter(|read| is_value(read));
    match (verb, value) {
        ("set-header", [value]) => Some(HeaderStep::Set(name, read(value)?)),
        ("add-header", [value]) => Some(HeaderStep::Add(name, read(value)?)),
        ("del-header", []) => (!name.contains([',', '\n'])).then_some(HeaderStep::Remove(name)),
        _ => None,
    }
}

fn is_value(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains('\n')
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
            "http-request set-header X-A",
            "http-request replace-header X-A a b",
            "http-request set-header X-A %[env(PATH)]",
            "server a 10.0.0.1:80",
            "stick-table type ip size 1m",
            "timeout server soon",
        ] {
            assert!(!LinesOfBackend::default().takes(line), "{line}");
        }
    }
    #[test]
    fn what_answers_or_leads_elsewhere_may_keep_requests_out() {
        for line in [
            "http-request return status 302 hdr Location /login unless { req.cook(s) -m found }",
            "http-request return status 200 content-type text/plain string closed unless { src 10.0.0.0/8 }",
            "http-request return content-type text/plain string closed if !{ src 10.0.0.0/8 }",
            "http-request redirect location https://sso.example/%[path]",
            "redirect location /login if !{ req.cook(s) -m found }",
            "http-request set-path /denied if !{ src 10.0.0.0/8 }",
            "http-request replace-uri (.*) /denied unless { src 10.0.0.0/8 }",
            "use-server login unless { src 10.0.0.0/8 }",
            "http-request use-service lua.x",
            "http-response return status 200",
            "http-request 'deny'",
        ] {
            assert!(keeps_out(line), "{line}");
        }
        for line in [
            "http-request redirect scheme https if !{ ssl_fc }",
            "redirect scheme https code 301",
            "http-request set-path /fixed%[path]",
            "http-request set-header X-Step return if TRUE",
            "timeout server 5s",
        ] {
            assert!(!keeps_out(line), "{line}");
        }
    }
}
