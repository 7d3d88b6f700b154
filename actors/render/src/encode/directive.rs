//! The role of each word of a configuration line for HAProxy: which words name things, are expressions, log-formats,
//! patterns or plain text, and where conditions begin.
//!
//! The tables list what is known; a word that is not listed is treated with the rules for all it might be.

/// The role of a word for HAProxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordRole {
    /// The directive itself, or what it does: no value may choose it.
    Keyword,
    /// A section's name and what else its header has.
    Name,
    /// Text that HAProxy takes as it is.
    Plain,
    /// Unknown: may be text, have fetches with arguments, or be a log-format.
    Any,
    /// A fetch with converters.
    Expression,
    /// A number or time, or else an expression.
    Quantity,
    /// Where something listens or is reached; HAProxy expands environment variables in it, whatever its quotes.
    Address,
    /// A log-format.
    Format,
    /// A flag or pattern after a fetch in an ACL.
    Pattern,
    /// An ACL's name or punctuation in a condition.
    Condition,
    /// In `.if` and the like.
    Preprocessor,
}

use WordRole::{Address, Any, Expression, Format, Keyword, Name, Pattern, Plain, Preprocessor, Quantity};

/// How the words after a directive are read.
#[derive(Clone, Copy, Debug, Default)]
enum Shape {
    /// Roles of the first words, and of all others. Conditions may follow.
    Words(&'static [WordRole], WordRole),
    /// As `ConfigLexer`; no conditions.
    Unconditional(&'static [WordRole], WordRole),
    /// Roles of the first words, then options, most of which have one argument. No conditions.
    Options(&'static [WordRole]),
    /// An action after that many words, with arguments by [`action`].
    Rule(usize),
    Acl,
    #[default]
    Unknown,
}

/// `DIRECTIVE WORDS…`
fn directive(word: &[u8]) -> Shape {
    match word {
        b"global" | b"defaults" | b"frontend" | b"backend" | b"listen" | b"peers" | b"resolvers"
        | b"mailers" | b"userlist" | b"cache" | b"ring" | b"log-forward" | b"log-profile"
        | b"http-errors" | b"program" | b"fcgi-app" | b"crt-store" | b"traces" | b"acme" => {
            Shape::Unconditional(&[], Name)
        }
        b"http-request"
        | b"http-response"
        | b"http-after-response"
        | b"http-check"
        | b"tcp-check"
        | b"quic-initial" => Shape::Rule(0),
        b"tcp-request" | b"tcp-response" => Shape::Rule(1),
        b"acl" => Shape::Acl,
        b"server" => Shape::Options(&[Plain, Address]),
        b"server-template" => Shape::Options(&[Plain, Plain, Address]),
        b"default-server" => Shape::Options(&[]),
        b"bind" => Shape::Options(&[Address]),
        b"nameserver" | b"peer" | b"mailer" => Shape::Unconditional(&[Plain, Address], Plain),
        b"log" | b"source" | b"dispatch" | b"dgram-bind" | b"ocsp-update.httpproxy" => {
            Shape::Unconditional(&[Address], Plain)
        }
        // What they set decides in `.if`, and is split into words by "${NAME[*]}".
        b"setenv" | b"presetenv" | b"unsetenv" | b"resetenv" => Shape::Unconditional(&[], Preprocessor),
        b"description" | b"user" | b"group" | b"log-tag" | b"timeout" | b"cookie" | b"mode" | b"maxconn"
        | b"hash-type" | b"errorfile" | b"table" | b"stick-table" | b"load" => {
            Shape::Unconditional(&[], Plain)
        }
        b"use_backend" | b"use-server" => Shape::Words(&[Format], Any),
        b"default_backend" => Shape::Unconditional(&[], Plain),
        b"balance" => Shape::Unconditional(&[], Any),
        b"log-format" | b"log-format-sd" | b"error-log-format" | b"unique-id-format" => {
            Shape::Unconditional(&[Format], Format)
        }
        b"on" => Shape::Unconditional(&[Plain], Any),
        b"stick" => Shape::Words(&[Keyword, Expression], Any),
        b"set-var" => Shape::Words(&[Plain, Expression], Expression),
        b"set-var-fmt" | b"set-param" => Shape::Words(&[Plain, Format], Any),
        b"option" | b"filter" | b"stats" => Shape::Words(&[Keyword], Any),
        [b'.', ..] => Shape::Unconditional(&[], Preprocessor),
        _ => Shape::Words(&[], Any),
    }
}

/// Arguments of the actions of rules, and of what follows them.
fn action(word: &[u8]) -> (&'static [WordRole], WordRole) {
    let name = word.split(|b| *b == b'(').next().unwrap_or_default();
    match name {
        b"set-header" | b"add-header" | b"early-hint" => (&[Plain, Format], Any),
        b"del-header" => (&[Plain], Any),
        b"replace-header" | b"replace-value" => (&[Plain, Plain, Format], Any),
        b"replace-path" | b"replace-pathq" | b"replace-uri" => (&[Plain, Format], Any),
        b"set-path" | b"set-pathq" | b"set-query" | b"set-uri" | b"set-method" | b"set-var-fmt"
        | b"del-map" | b"add-acl" | b"del-acl" | b"send-lf" | b"send-binary-lf" => (&[Format], Any),
        b"set-map" | b"add-map" => (&[Format, Format], Any),
        b"set-var" | b"do-resolve" | b"capture" | b"set-dst" | b"set-dst-port" | b"set-src"
        | b"set-src-port" | b"add-headers-bin" | b"set-headers-bin" => (&[Expression], Expression),
        b"set-mark"
        | b"set-tos"
        | b"set-fc-mark"
        | b"set-fc-tos"
        | b"set-bc-mark"
        | b"set-bc-tos"
        | b"set-priority-class"
        | b"set-priority-offset"
        | b"set-retries"
        | b"pause"
        | b"sc-add-gpc"
        | b"sc-set-gpt"
        | b"sc-set-gpt0" => (&[Quantity], Any),
        b"set-timeout" => (&[Plain, Quantity], Any),
        b"attach-srv" => (&[Plain, Keyword, Expression], Any),
        b"set-bandwidth-limit" => (&[Plain], Any),
        _ if name.starts_with(b"track-sc") => (&[Expression], Expression),
        _ => (&[], Any),
    }
}

/// The role of a word by the one before it, where no table says more.
fn after(word: &[u8]) -> Option<WordRole> {
    match word {
        b"lf-string" | b"lf-file" | b"location" | b"prefix" | b"scheme" | b"uri-lf" | b"body-lf"
        | b"string-lf" | b"binary-lf" | b"name-lf" | b"value-lf" | b"on-success" | b"on-error"
        | b"set-cookie-fmt" | b"format" | b"sd" => Some(Format),
        b"string" | b"file" | b"table" | b"len" | b"id" | b"content-type" | b"status" | b"deny_status"
        | b"code" | b"reason" | b"realm" | b"body" => Some(Plain),
        b"sni" | b"pool-conn-name" | b"hash" | b"status-code" => Some(Expression),
        b"addr" | b"agent-addr" | b"socks4" | b"source" | b"usesrc" | b"socket" => Some(Address),
        b"limit" | b"period" => Some(Quantity),
        _ if word.starts_with(b"set-proxy-v2-tlv-fmt") => Some(Format),
        _ if word.ends_with(b"-expr") => Some(Expression),
        _ => None,
    }
}

/// The same, where nothing else is known of the line: of `http-check connect` and `filter bwlim-in`.
fn after_in_any(word: &[u8]) -> Option<WordRole> {
    match word {
        b"port" => Some(Quantity),
        b"key" => Some(Expression),
        _ => None,
    }
}

/// Options of servers and listeners without an argument: what follows them is an option again.
fn is_flag(word: &[u8]) -> bool {
    const FLAGS: [&[u8]; 26] = [
        b"accept-proxy",
        b"agent-check",
        b"allow-0rtt",
        b"backup",
        b"check",
        b"check-reuse-pool",
        b"check-send-proxy",
        b"check-sni-auto",
        b"check-ssl",
        b"check-via-socks4",
        b"defer-accept",
        b"disabled",
        b"enabled",
        b"generate-certificates",
        b"non-stick",
        b"prefer-client-ciphers",
        b"quic-force-retry",
        b"renegotiate",
        b"ssl",
        b"ssl-reuse",
        b"strict-maxconn",
        b"strict-sni",
        b"tfo",
        b"tls-tickets",
        b"transparent",
        b"v6only",
    ];
    FLAGS.contains(&word)
        || [&b"no-"[..], b"force-", b"send-proxy"].iter().any(|start| word.starts_with(start))
}

/// The facts about a line after some of its words.
#[derive(Debug, Default)]
pub(super) struct LineContext {
    /// Of all kinds.
    all: usize,
    words: usize,
    shape: Shape,
    /// The arguments of the line's action, once it is known.
    action: Option<(&'static [WordRole], WordRole)>,
    last: Option<WordRole>,
    /// The same where nothing else is known of the line.
    last_in_any: Option<WordRole>,
    /// Whether an option's name follows the last word.
    option: bool,
    /// `hdr NAME FORMAT`: words until the format.
    header: u8,
    /// In a condition, or not.
    condition: bool,
    /// Words since the brace or the ACL's name, inside an ACL.
    acl: Option<usize>,
    /// Whether `--` has ended an ACL's flags.
    flags_ended: bool,
    /// Whether an ACL says by `-m` how its patterns are compared.
    method: bool,
}

impl LineContext {
    /// Whether no word has ended yet, but `no` and `default`.
    pub fn is_empty(&self) -> bool {
        self.words == 0
    }

    /// How many words have ended, of all kinds.
    pub fn count(&self) -> usize {
        self.all
    }

    /// The role of the next word.
    pub fn role(&self) -> WordRole {
        if let Some(words) = self.acl {
            return if words == 0 { Expression } else { Pattern };
        }
        if self.condition {
            return WordRole::Condition;
        }
        let Some(index) = self.words.checked_sub(1) else { return Keyword };
        match self.shape {
            Shape::Words(first, rest) | Shape::Unconditional(first, rest) => {
                first.get(index).copied().unwrap_or_else(|| self.by_neighbours(rest))
            }
            Shape::Options(first) => match first.get(index) {
                Some(role) => *role,
                None if self.option || index == first.len() => Keyword,
                None => self.by_neighbours(Plain),
            },
            Shape::Rule(before) => match (index.checked_sub(before), self.action) {
                (None, _) | (Some(0), _) => Keyword,
                (Some(argument), Some((first, rest))) => {
                    first.get(argument - 1).copied().unwrap_or_else(|| self.by_neighbours(rest))
                }
                (Some(_), None) => Any,
            },
            // Its expression begins after the name.
            Shape::Acl => Plain,
            Shape::Unknown => self.by_neighbours(Any),
        }
    }

    /// Whether a word could be taken for the punctuation of a condition.
    pub fn conditional(&self) -> bool {
        matches!(self.shape, Shape::Words(..) | Shape::Rule(_) | Shape::Unknown)
    }

    /// Whether a pattern could be taken for a flag.
    pub fn flags(&self) -> bool {
        !self.flags_ended
    }

    /// Whether a pattern could be taken for an operator between numbers.
    pub fn operators(&self) -> bool {
        !self.method
    }

    /// The next word has ended, with this content. One with a value in it means nothing to what follows, but an
    /// action keeps its name when the value stands in its parentheses.
    pub fn word(&mut self, content: &[u8], has_value: bool) {
        let text = if has_value { b"" } else { content };
        self.all += 1;
        // `no option X` and `default X` are read as `option X`.
        if self.words == 0 && matches!(text, b"no" | b"default") {
            return;
        }
        if self.words == 0 {
            self.shape = directive(text);
        }
        (self.last, self.last_in_any) = (after(text), after_in_any(text));
        self.option = has_value || is_flag(text);
        self.header = if text == b"hdr" { 2 } else { self.header.saturating_sub(1) };
        self.words += 1;
        match self.shape {
            Shape::Rule(before) if self.words == before + 2 => self.action = Some(action(content)),
            Shape::Rule(1) if text == b"inspect-delay" => self.shape = Shape::Unconditional(&[], Plain),
            Shape::Acl if self.words == 2 => self.acl = Some(0),
            _ => self.in_condition(text),
        }
    }

    fn in_condition(&mut self, text: &[u8]) {
        if let Some(words) = &mut self.acl {
            *words += 1;
            self.flags_ended |= text == b"--";
            self.method |= text == b"-m";
            if self.condition && text == b"}" {
                self.acl = None;
            }
        } else if self.condition && matches!(text, [.., b'{']) {
            (self.acl, self.flags_ended, self.method) = (Some(0), false, false);
        } else if self.words > 1 && self.conditional() && matches!(text, b"if" | b"unless") {
            self.condition = true;
        }
    }

    fn by_neighbours(&self, otherwise: WordRole) -> WordRole {
        if matches!(otherwise, Name | Preprocessor) {
            return otherwise;
        }
        let in_any = self.last_in_any.filter(|_| otherwise == Any);
        if self.header == 1 { Format } else { self.last.or(in_any).unwrap_or(otherwise) }
    }
}
