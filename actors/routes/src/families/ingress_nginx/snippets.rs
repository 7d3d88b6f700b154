//! Snippets: text of nginx, of which nothing is ever printed. Where the operator says so, what is known in it becomes options.

use crate::{
    families::{Said, Translation},
    options::quantity::milliseconds,
};

/// Words of nginx that keep requests out.
const GUARDS: [&str; 10] = [
    "allow",
    "auth_basic",
    "auth_jwt",
    "auth_request",
    "deny",
    "internal",
    "limit_except",
    "return",
    "satisfy",
    "valid_referers",
];

/// What it keeps out there is kept out of the whole host.
const OF_HOST: &str = "server-snippet";

/// A snippet that keeps requests out lets nobody in, as far as what it says is not translated.
pub fn snippets(said: &Said<'_>, to: &mut Translation<'_>) {
    for key in ["configuration-snippet", "server-snippet"] {
        let Some(text) = said.text(key) else { continue };
        let statements = statements(text);
        let is_translated = said.settings.snippets;
        let mut read = NginxSnippet::default();
        let unknown = match &statements {
            Some(statements) if is_translated => statements.iter().find(|statement| !read.takes(statement)),
            _ => None,
        };
        if let Some(statement) = unknown {
            let word = statement.first().map_or("", String::as_str).to_owned();
            untranslated(key, text, &format!("has {word} as it is not known here: nothing of it counts"), to);
        } else if statements.is_none() {
            untranslated(key, text, "has blocks, which are not known here: nothing of it counts", to);
        } else if !is_translated {
            untranslated(key, text, "does nothing: nothing of it counts without `snippets: translate`", to);
        } else {
            read.set(key, to);
        }
    }
}

fn untranslated(key: &str, text: &str, why: &str, to: &mut Translation<'_>) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut words = lines.flat_map(|line| line.split(|c: char| !is_word(c)));
    match words.find(|word| GUARDS.contains(word)) {
        Some(guard) => {
            if key == OF_HOST {
                to.guard_hosts("closed", "true");
            }
            to.close(key, &format!("{why}; {guard} may keep requests out"));
        }
        None => to.cannot(key, why),
    }
}

/// Statements without blocks, each as its words; `None` where there are blocks or quotes without an end.
fn statements(text: &str) -> Option<Vec<Vec<String>>> {
    let (mut all, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), None::<String>, None::<char>);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), '\\') => word.get_or_insert_default().push(characters.next()?),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') if word.is_none() => (quote, word) = (Some(c), Some(String::new())),
            (None, '{' | '}') => return None,
            (None, '#') if word.is_none() => while characters.next_if(|c| *c != '\n').is_some() {},
            (None, ';') => {
                words.extend(word.take());
                if !words.is_empty() {
                    all.push(std::mem::take(&mut words));
                }
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    (quote.is_none() && word.is_none() && words.is_empty()).then_some(all)
}

/// What a snippet says, as options.
#[derive(Default)]
struct NginxSnippet {
    answered: Vec<String>,
    added: Vec<String>,
    removed: Vec<String>,
    sent: Vec<String>,
    /// Status, where to, and whether path and query of the request stand behind it.
    redirect: Option<(String, String, bool)>,
    allowed: Vec<String>,
    denied: Vec<String>,
    /// How long, in milliseconds, a server or client may say nothing.
    silence: Option<u64>,
    others: Vec<(&'static str, String)>,
    closed: bool,
}

impl NginxSnippet {
    /// Takes a statement, if it is known.
    fn takes(&mut self, statement: &[String]) -> bool {
        let words: Vec<&str> = statement.iter().map(String::as_str).collect();
        // What stands behind a redirect of all requests is never done.
        if self.redirect.is_some() || self.closed {
            return true;
        }
        match words[..] {
            ["more_set_headers", ref headers @ ..] => {
                headers.iter().all(|text| header(text, &mut self.answered))
            }
            ["more_set_input_headers", ref headers @ ..] => {
                headers.iter().all(|text| header(text, &mut self.sent))
            }
            ["add_header", name, value] | ["add_header", name, value, "always"] => {
                header(&format!("{name}: {value}"), &mut self.added)
            }
            ["proxy_set_header", "Host", "$host" | "$http_host"] => true,
            ["proxy_set_header", "Upgrade" | "Connection", _] => true,
            // Variables of these say what servers are told in any case; a text is meant, such as `https` behind a load balancer.
            ["proxy_set_header", "X-Real-IP" | "X-Forwarded-Proto" | "X-Forwarded-For", value]
                if value.starts_with('$') =>
            {
                true
            }
            ["proxy_set_header", "Host", _] => false,
            ["proxy_set_header", name, value] => header(&format!("{name}: {value}"), &mut self.sent),
            ["more_clear_headers", ref names @ ..] | ["proxy_hide_header", ref names @ ..] => {
                self.removed.extend(names.iter().map(|name| (*name).to_owned()));
                names.iter().all(|name| is_plain(name) && !name.contains('*'))
            }
            ["return", "403" | "404" | "410" | "444" | "503"] | ["deny", "all"]
                if self.allowed.is_empty() =>
            {
                self.closed = true;
                true
            }
            ["return", code, target] => self.redirected(code, target),
            ["return", target] => target.starts_with("http") && self.redirected("302", target),
            [
                "rewrite",
                pattern @ ("^" | "^/.*" | "^/.*$" | "^(.*)$" | ".*" | "^/(.*)$" | "^.*$"),
                target,
                flag,
            ] => {
                // A group that is the whole path; nginx has the query behind it.
                let base = match pattern {
                    "^(.*)$" => target.strip_suffix("$1"),
                    "^/(.*)$" => target.strip_suffix("/$1"),
                    _ => None,
                };
                let target = &base.map_or_else(|| target.to_owned(), |base| format!("{base}$request_uri"));
                match flag {
                    "permanent" => self.redirected("301", target),
                    "redirect" => self.redirected("302", target),
                    _ => false,
                }
            }
            ["deny", "all"] => true,
            ["allow", "all"] => self.allowed.is_empty(),
            ["allow", network] => {
                self.allowed.push(network.to_owned());
                is_plain(network)
            }
            ["deny", network] => {
                self.denied.push(network.to_owned());
                is_plain(network)
            }
            ["client_max_body_size", size] => self.other("max-body-size", size),
            ["proxy_connect_timeout", time] => self.other("timeout-connect", &with_unit(time)),
            ["proxy_read_timeout" | "proxy_send_timeout", time] => self.silent_for(&with_unit(time)),
            [
                "proxy_buffering"
                | "proxy_buffer_size"
                | "proxy_buffers"
                | "proxy_http_version"
                | "client_body_buffer_size"
                | "proxy_request_buffering"
                | "proxy_busy_buffers_size",
                ..,
            ] => true,
            _ => false,
        }
    }

    fn redirected(&mut self, code: &str, target: &str) -> bool {
        let is_known = ["301", "302", "303", "307", "308"].contains(&code);
        let base = target.strip_suffix("$request_uri").or_else(|| target.strip_suffix("$request_uri?"));
        let (base, keeps) = base.map_or((target, false), |base| (base, true));
        // Only behind a whole host the path of the request is one.
        let is_host = |rest: &str| !rest.is_empty() && !rest.contains(['/', '?', '#']);
        let is_good = !keeps || base.split_once("://").is_some_and(|(_, rest)| is_host(rest));
        if !is_known || base.contains('$') || !is_good {
            return false;
        }
        self.redirect = Some((code.to_owned(), base.to_owned(), keeps));
        true
    }

    /// As of annotations the longer of both counts, for connections that are upgraded (WebSocket), too.
    fn silent_for(&mut self, time: &str) -> bool {
        let Some(time) = milliseconds(time) else { return false };
        self.silence = Some(self.silence.map_or(time, |known| known.max(time)));
        true
    }

    fn other(&mut self, option: &'static str, text: &str) -> bool {
        self.others.push((option, text.to_owned()));
        true
    }

    fn set(self, key: &str, to: &mut Translation<'_>) {
        let is_closed = self.closed || (!self.allowed.is_empty() && !self.denied.is_empty());
        if key == OF_HOST {
            let lists = [("allow-from", &self.allowed), ("deny-from", &self.denied)];
            for (option, networks) in lists.into_iter().filter(|(_, networks)| !networks.is_empty()) {
                to.guard_hosts(option, &networks.join(","));
            }
            if is_closed {
                to.guard_hosts("closed", "true");
            }
        }
        if is_closed {
            return to.close(key, "refuses all requests, or allows and denies at once");
        }
        // Behind the addresses of an annotation nginx says `deny all`: those of a snippet are never asked.
        let allowed = if to.values.contains_key("allow-from") { Vec::new() } else { self.allowed };
        for (option, lines, by) in [
            ("response-headers", self.answered, "\n"),
            ("add-response-headers", self.added, "\n"),
            ("request-headers", self.sent, "\n"),
            ("remove-response-headers", self.removed, ","),
            ("allow-from", allowed, ","),
            ("deny-from", self.denied, ","),
        ] {
            if !lines.is_empty() {
                to.add(option, &lines.join(by), key);
            }
        }
        for (option, text) in self.others {
            to.set(option, &text, key);
        }
        for option in ["timeout-server", "timeout-tunnel"] {
            if let Some(silence) = self.silence {
                to.set(option, &format!("{silence}ms"), key);
            }
        }
        if let Some((code, target, keeps)) = self.redirect {
            if keeps {
                to.set("redirect-keep-path", "true", key);
            }
            to.set("redirect-to", &target, key);
            to.set("redirect-code", &code, key);
            to.set("redirect-absolute", "true", key);
        }
    }
}

/// A header with a value that is no variable, as a line of ours.
fn header(text: &str, lines: &mut Vec<String>) -> bool {
    let Some((name, value)) = text.split_once(':') else { return false };
    let is_good = !value.contains(['$', '\n', '\r']) && !value.trim().is_empty();
    lines.push(format!("{}: {}", name.trim(), value.trim()));
    is_good
}

fn is_plain(text: &str) -> bool {
    !text.contains(['$', ',', '\n', '|'])
}

/// Without a unit nginx counts seconds.
fn with_unit(time: &str) -> String {
    if time.bytes().all(|byte| byte.is_ascii_digit()) { format!("{time}s") } else { time.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_words_up_to_a_semicolon_and_blocks_are_none() {
        let read =
            |text: &str| statements(text).map(|all| all.iter().map(|s| s.join("|")).collect::<Vec<_>>());
        assert_eq!(
            read("# a\nmore_set_headers \"X-A: 1; 2\" 'X-B: \\'3';\nreturn 403;"),
            Some(vec!["more_set_headers|X-A: 1; 2|X-B: '3".to_owned(), "return|403".to_owned()])
        );
        for text in ["if ($a) { return 403; }", "add_header \"X", "return 403"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_taken() {
        let takes = |text: &str| {
            let mut snippet = NginxSnippet::default();
            statements(text).unwrap().iter().all(|statement| snippet.takes(statement))
        };
        for text in [
            "more_set_headers 'X-A: 1';",
            "deny 10.0.0.1;",
            "return 301 https://a.example/x;",
            "return 301 https://a.example$request_uri;",
            "rewrite ^ https://a.example$request_uri? permanent;",
            "rewrite ^/(.*)$ https://a.example/$1 redirect;",
            "proxy_read_timeout 60;",
            "proxy_set_header X-Forwarded-Proto $scheme;",
            "proxy_set_header X-Forwarded-Proto https;",
        ] {
            assert!(takes(text), "{text}");
        }
        for text in [
            "content_by_lua 'x';",
            "alias /etc/;",
            "proxy_pass http://a;",
            "more_set_headers 'X-A: $host';",
            "return 301 https://a.example/x$request_uri;",
            "return 301 https://$host$request_uri;",
            "proxy_set_header Host evil;",
            "include /etc/passwd;",
        ] {
            assert!(!takes(text), "{text}");
        }
    }
}
