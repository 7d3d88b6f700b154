//! Snippets: text of nginx, of which nothing is ever printed. Where the operator says so, what is known in it becomes options.

use super::{
    nginx_addresses::NginxAddresses,
    nginx_conditions::{self, NginxNeeds},
    nginx_rewrites::{self, NginxRedirect, NginxRewrite},
    nginx_text::{NginxStatement, statements},
};
use crate::{
    families::{
        ReadAnnotations, Translation,
        header_steps::{HeaderStep, HeadersTo, distrust},
        translation::EVERYBODY,
    },
    options::quantity::milliseconds,
};
use std::collections::BTreeSet;

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

/// The beginnings of others.
const BEGINNINGS_OF_GUARDS: [&str; 5] =
    ["access_by_lua", "auth_", "rewrite_by_lua", "secure_link", "ssl_verify"];

/// The most paths of its own that one snippet may have.
const MOST_ANSWERS: usize = 50;

/// The snippet that keeps clients out of the whole host.
const OF_HOST: &str = "server-snippet";

/// Words of nginx for headers of requests, the first of which is for one.
const OF_REQUESTS: [&str; 3] = [ONE_HEADER, "more_set_input_headers", "more_clear_input_headers"];
const ONE_HEADER: &str = "proxy_set_header";

/// A snippet that keeps requests out lets nobody in, as far as what it says is not translated.
pub fn snippets(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    for key in ["configuration-snippet", "server-snippet"] {
        let Some(text) = said.text(key) else { continue };
        let statements = statements(text);
        let is_translated = said.settings.snippets;
        let mut read = NginxSnippet::of(key);
        let unknown = match &statements {
            Some(statements) if is_translated => statements.iter().find(|statement| !read.takes(statement)),
            _ => None,
        };
        if let Some(statement) = unknown {
            let word = statement.words.first().map_or("", String::as_str).to_owned();
            untranslated(key, text, &format!("has {word} as it is not known here: nothing of it counts"), to);
        } else if statements.is_none() {
            untranslated(
                key,
                text,
                "has quotes or braces without an end, or blocks within blocks: nothing of it counts",
                to,
            );
        } else if !is_translated {
            untranslated(key, text, "does nothing: nothing of it counts without `snippets: translate`", to);
        } else {
            read.set(key, to);
        }
    }
}

/// Withholds the headers that a snippet would have set for servers: clients do not send them in its place.
fn untranslated(key: &str, text: &str, why: &str, to: &mut Translation<'_>) {
    for name in named_headers(text) {
        distrust(&name, key, to);
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let words: Vec<&str> = lines.flat_map(|line| line.split(|c: char| !is_word(c))).collect();
    let has_conditions = words.contains(&"if");
    let is_guard = |word: &&&str| {
        GUARDS.contains(word)
            || BEGINNINGS_OF_GUARDS.iter().any(|beginning| word.starts_with(beginning))
            || (has_conditions && **word == "rewrite")
    };
    match words.iter().find(is_guard) {
        Some(guard) => {
            if key == OF_HOST {
                to.guard_hosts("closed", "true");
            }
            to.close(key, &format!("{why}; {guard} may keep requests out"));
        }
        None => to.cannot(key, why),
    }
}

/// The names of headers of requests that a text sets or removes. Where nobody knows where its words end, more than these may be named.
pub fn named_headers(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    match statements(text) {
        Some(all) => named_in(&all, &mut names),
        None => {
            for part in text.split([';', '{', '}']) {
                name_all(part.split_whitespace(), &mut names);
            }
        }
    }
    names
}

fn named_in(all: &[NginxStatement], names: &mut BTreeSet<String>) {
    for NginxStatement { words, block } in all {
        name_all(words.iter().map(String::as_str), names);
        named_in(block.as_deref().unwrap_or_default(), names);
    }
}

fn name_all<'w>(words: impl Iterator<Item = &'w str>, names: &mut BTreeSet<String>) {
    let mut setting = "";
    for word in words {
        if OF_REQUESTS.contains(&word) {
            setting = word;
            continue;
        }
        let name = word.trim_matches(['"', '\'']).split(':').next().unwrap_or_default().trim();
        // Of one setting words that begin with - say how it is meant.
        if !setting.is_empty() && !name.is_empty() && !name.starts_with('-') {
            names.insert(name.to_ascii_lowercase());
        }
        if setting == ONE_HEADER {
            setting = "";
        }
    }
}

/// The options that a snippet asks for.
#[derive(Default)]
struct NginxSnippet {
    /// Whether it counts for the whole host.
    of_host: bool,
    answered: Vec<String>,
    added: Vec<String>,
    removed: Vec<String>,
    sent: Vec<String>,
    /// Of all requests.
    redirect: Option<NginxRedirect>,
    /// The status of all requests.
    refusal: Option<String>,
    addresses: NginxAddresses,
    needs: NginxNeeds,
    /// Lines of `rewrite-rules`, and the flag of the last one.
    rewrites: Vec<String>,
    rewrite_flag: Option<String>,
    answers: Vec<NginxAnswer>,
    /// How long, in milliseconds, a server or client may say nothing.
    silence: Option<u64>,
    others: Vec<(&'static str, String)>,
}

/// The answer to a whole path.
struct NginxAnswer {
    path: String,
    options: Vec<(&'static str, String)>,
}

impl NginxSnippet {
    fn of(key: &str) -> Self {
        Self { of_host: key == OF_HOST, ..Self::default() }
    }

    /// Takes a statement, if it is known.
    fn takes(&mut self, statement: &NginxStatement) -> bool {
        let words: Vec<&str> = statement.words.iter().map(String::as_str).collect();
        // What stands behind an answer to all requests is never done.
        if self.redirect.is_some() || self.refusal.is_some() {
            return true;
        }
        // Behind `last` and `break` nothing is asked of what has got its path.
        let is_asked = !matches!(self.rewrite_flag.as_deref(), Some("last" | "break"));
        match (&words[..], &statement.block) {
            (["if", condition @ ..], Some(block)) => is_asked && self.takes_if(condition, block),
            (["location", "=", path], Some(block)) => self.of_host && self.takes_location(path, block),
            (_, Some(_)) => false,
            (["rewrite" | "return", ..], None) => is_asked && self.takes_answer(&words),
            (_, None) => self.takes_setting(&words),
        }
    }

    /// Only what the Ingress itself asks for is refused, but for a path of a whole host.
    fn takes_if(&mut self, condition: &[&str], block: &[NginxStatement]) -> bool {
        if let Some(["$uri", "=", path]) = nginx_conditions::operands(condition) {
            return self.rewrites.is_empty() && self.takes_location(path, block);
        }
        let [NginxStatement { words, block: None }] = block else { return false };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            _ if self.of_host => false,
            ["return", code @ ("301" | "302" | "307" | "308"), "https://$host$request_uri"]
                if nginx_conditions::operands(condition) == Some(["$scheme", "=", "http"]) =>
            {
                let options =
                    [("ssl-redirect", "always"), ("ssl-redirect-code", code), ("ssl-redirect-slash", "keep")];
                options.into_iter().all(|(option, text)| self.other(option, text))
            }
            ["return", code] | ["return", code, _] if is_refusal(code) => self.needs.takes(condition),
            _ => false,
        }
    }

    fn takes_location(&mut self, path: &str, block: &[NginxStatement]) -> bool {
        let [NginxStatement { words, block: None }] = block else { return false };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let options = match words[..] {
            ["return", "403"] | ["return", "403", _] | ["deny", "all"] => {
                vec![("deny-from", EVERYBODY.to_owned())]
            }
            ["return", code] | ["return", code, _] if is_refusal(code) => {
                vec![("closed", "true".to_owned())]
            }
            ["return", code, target] => match NginxRedirect::of(code, target) {
                Some(redirect) => redirect.options(),
                None => return false,
            },
            _ => return false,
        };
        self.answers.push(NginxAnswer { path: path.to_owned(), options });
        path.starts_with('/') && self.answers.len() <= MOST_ANSWERS
    }

    /// `return` and `rewrite`.
    fn takes_answer(&mut self, words: &[&str]) -> bool {
        let rewritten = match *words {
            ["return", code] | ["return", code, _] if is_refusal(code) => {
                self.refusal = Some(code.to_owned());
                return true;
            }
            ["return", code, target] => NginxRedirect::of(code, target).map(NginxRewrite::Redirect),
            ["return", target] if target.starts_with("http") => {
                NginxRedirect::of("302", target).map(NginxRewrite::Redirect)
            }
            ["rewrite", pattern, target] => nginx_rewrites::rewrite(pattern, target, ""),
            ["rewrite", pattern, target, flag] => nginx_rewrites::rewrite(pattern, target, flag),
            _ => None,
        };
        match rewritten {
            Some(NginxRewrite::Redirect(redirect)) => self.redirect = Some(redirect),
            // It is asked of what lines before it have made.
            Some(NginxRewrite::RedirectOf(path, redirect)) if self.rewrites.is_empty() => {
                self.answers.push(NginxAnswer { path, options: redirect.options() });
                return self.answers.len() <= MOST_ANSWERS;
            }
            // There the new path chooses the location.
            Some(NginxRewrite::Path(line)) if !self.of_host => {
                self.rewrites.push(line);
                self.rewrite_flag = words.get(3).map(|flag| (*flag).to_owned());
            }
            _ => return false,
        }
        true
    }

    fn takes_setting(&mut self, words: &[&str]) -> bool {
        match *words {
            ["more_set_headers", ref headers @ ..] => {
                headers.iter().all(|text| header(text, &mut self.answered))
            }
            ["more_set_input_headers", ref headers @ ..] => {
                headers.iter().all(|text| sent_header(text, &mut self.sent))
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
            ["proxy_set_header", name, value] => sent_header(&format!("{name}: {value}"), &mut self.sent),
            ["more_clear_headers", ref names @ ..] | ["proxy_hide_header", ref names @ ..] => {
                self.removed.extend(names.iter().map(|name| (*name).to_owned()));
                names.iter().all(|name| is_plain(name) && !name.contains('*'))
            }
            ["allow", network] => self.addresses.takes(true, network),
            ["deny", network] => self.addresses.takes(false, network),
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
        if self.of_host {
            self.addresses.guard_hosts(to);
            if self.refusal.is_some() {
                to.guard_hosts("closed", "true");
            }
        }
        self.addresses.set(key, to);
        for answer in self.answers {
            to.answer(&answer.path, !self.of_host, &answer.options);
        }
        if let Some(code) = self.refusal {
            return refuse(&code, self.of_host, key, to);
        }
        for (option, lines, by) in [
            ("response-headers", self.answered, "\n"),
            ("add-response-headers", self.added, "\n"),
            ("remove-response-headers", self.removed, ","),
        ] {
            if !lines.is_empty() {
                to.add(option, &lines.join(by), key);
            }
        }
        let sent = self.sent.iter().filter_map(|line| line.split_once(": "));
        let sent: Vec<HeaderStep> =
            sent.map(|(name, value)| HeaderStep::Set(name.to_owned(), value.to_owned())).collect();
        HeadersTo::SERVERS.take(&sent, key, to);
        for (option, text) in self.others {
            to.set(option, &text, key);
        }
        for option in ["timeout-server", "timeout-tunnel"] {
            if let Some(silence) = self.silence {
                to.set(option, &format!("{silence}ms"), key);
            }
        }
        self.needs.set(key, to);
        rewrite_paths(&self.rewrites, self.rewrite_flag.as_deref(), key, to);
        for (option, text) in self.redirect.iter().flat_map(NginxRedirect::options) {
            to.set(option, &text, key);
        }
    }
}

/// Whether a status says that nothing is given.
fn is_refusal(code: &str) -> bool {
    code.parse().is_ok_and(|code: u16| (400..=599).contains(&code))
}

/// All requests are refused: with 403 where nothing that a client knows lets it in all the same, and 503 otherwise.
fn refuse(code: &str, of_host: bool, key: &str, to: &mut Translation<'_>) {
    if code == "403" && !of_host && !to.has("satisfy") {
        to.add("deny-from", EVERYBODY, key);
    } else {
        to.close(key, &format!("refuses all requests with {code}"));
    }
}

fn rewrite_paths(rules: &[String], flag: Option<&str>, key: &str, to: &mut Translation<'_>) {
    if rules.is_empty() {
        return;
    }
    if to.ingress.paths.as_ref().is_some_and(|rules| rules.target.is_some()) {
        return to.cannot(key, "of a rewrite and rewrite-target the second counts, nothing of the first");
    }
    if flag == Some("last") {
        to.differs(
            key,
            "has a rewrite with last: the Service of the Ingress gets the new path, whoever else has that path",
        );
    }
    to.add("rewrite-rules", &rules.join("\n"), key);
}

/// The names of ours for variables of requests.
const VARIABLES: [(&str, &str); 9] = [
    ("remote_addr", "client-address"),
    ("remote_port", "client-port"),
    ("host", "host"),
    ("request_id", "request-id"),
    ("request_method", "method"),
    ("scheme", "scheme"),
    ("ssl_protocol", "tls-version"),
    ("ssl_cipher", "tls-cipher"),
    ("ssl_server_name", "tls-name"),
];

/// A header of requests, whose value may have variables.
fn sent_header(text: &str, lines: &mut Vec<String>) -> bool {
    let mut parts = text.split('$');
    let mut line = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        let Some((_, ours)) = VARIABLES.iter().find(|(theirs, _)| *theirs == name) else { return false };
        line += &format!("${{{ours}}}{rest}");
    }
    let mut read = Vec::new();
    let is_good = header(&line.replace('$', ""), &mut read);
    lines.push(
        line.split_once(':')
            .map_or_else(String::new, |(name, value)| format!("{}: {}", name.trim(), value.trim())),
    );
    is_good
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
    fn of_a_whole_host_only_single_paths_and_all_requests_are_answered() {
        let takes = |text: &str| {
            let mut snippet = NginxSnippet::of(OF_HOST);
            statements(text).unwrap().iter().all(|statement| snippet.takes(statement))
        };
        for text in [
            "location = /a { return 403; } location = /b { return 301 /c; }",
            "location = /a { deny all; }",
            "rewrite ^/a$ /b permanent;",
            "return 403;",
        ] {
            assert!(takes(text), "{text}");
        }
        for text in [
            "location /a { return 403; }",
            "location = /a { return 200 ok; }",
            "location = /a { return 403; allow all; }",
            "rewrite ^/a/(.*)$ /b/$1 last;",
            "if ($request_method != GET) { return 405; }",
        ] {
            assert!(!takes(text), "{text}");
        }
    }

    #[test]
    fn headers_of_requests_are_named_wherever_they_stand() {
        for (text, names) in [
            ("proxy_set_header X-User $remote_user;\nproxy_pass http://x;", "x-user"),
            ("if ($a) { proxy_set_header 'X-A' b; } # proxy_set_header X-No 1;\nproxy_hide_header B;", "x-a"),
            ("more_set_input_headers -r 'X-A: b c' \"X-B: d\"; more_clear_input_headers X-C;", "x-a x-b x-c"),
            // Without an end, or with what begins no block.
            ("# proxy_set_header X-A 1\nproxy_set_header X-User ${remote_user};", "x-a x-user"),
            ("proxy_set_header\n  X-User\n  \"$a", "x-user"),
            ("more_set_headers 'X-A: 1';", ""),
        ] {
            assert_eq!(named_headers(text).into_iter().collect::<Vec<_>>().join(" "), names, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_taken() {
        let takes = |text: &str| {
            let mut snippet = NginxSnippet::of("configuration-snippet");
            statements(text).unwrap().iter().all(|statement| snippet.takes(statement))
        };
        for text in [
            "more_set_headers 'X-A: 1';",
            "deny 10.0.0.1;",
            "return 301 https://a.example/x;",
            "return 301 https://a.example$request_uri;",
            "rewrite ^ https://a.example$request_uri? permanent;",
            "return 301 https://a.example/x$request_uri;",
            "return 410;",
            "rewrite ^/(.*)$ https://a.example/$1 redirect;",
            "rewrite ^(/a)$ $1/ redirect; rewrite ^/a/(.*)$ /$1 break; more_set_headers 'X: 1';",
            "if ($request_method !~ ^(GET|HEAD)$) { return 405; }",
            "if ($scheme = http) { return 301 https://$host$request_uri; }",
            "proxy_set_header X-Client $remote_addr;",
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
            "return 301 https://$host$request_uri;",
            "proxy_set_header Host evil;",
            "proxy_set_header X-Client $cookie_a;",
            "rewrite ^/a /b break; rewrite ^/c /d;",
            "rewrite ^/a /b last; return 404;",
            "rewrite ^/a /b; rewrite ^/b$ /c redirect;",
            "if ($http_x = a) { return 403; }",
            "if ($http_x != a) { proxy_pass http://a; }",
            "if ($http_x != a) { return 302 /login; }",
            "location = /x { return 403; }",
            "location /x { deny all; }",
            "include /etc/passwd;",
        ] {
            assert!(!takes(text), "{text}");
        }
    }
}
