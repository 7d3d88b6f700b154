//! The inside of a word after unquoting: arguments of fetches and converters, and log-formats.
//!
//! Follows HAProxy's `make_arg_list` (one level of parentheses, quotes and backslashes of its own) and
//! `parse_logformat_string`. Only template text moves the scan; what values may contain is decided by where it is.

use super::directive::WordRole;

/// Where in a word a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// Outside of anything special.
    Text,
    /// Where a fetch or converter is named.
    Identifier,
    /// Inside the parentheses of a fetch or converter; `quoted` when the template opened a quote there.
    Argument { quoted: bool },
    /// Directly after a backslash of the argument's own.
    Escaped,
    /// In the text of a log-format.
    Format,
    /// In the name or flags of a log-format's variable.
    FormatName,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Arguments,
    Percent,
    Label,
    Flags,
    Name,
    FormatExpression,
    FormatArguments,
}

/// The scan of one word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    state: State,
    /// Whether a name stands before, so that `(` opens arguments.
    named: bool,
    quote: Option<u8>,
    escaped: bool,
    /// Whether the word has a `%[`.
    pub has_expression: bool,
}

impl Scan {
    /// Template text of a word, unquoted.
    pub fn template(&mut self, bytes: &[u8], role: WordRole) {
        let (format, arguments) = match role {
            WordRole::Format => (true, false),
            WordRole::Expression | WordRole::Quantity | WordRole::Keyword | WordRole::Preprocessor => {
                (false, true)
            }
            WordRole::Any => (true, true),
            WordRole::Plain
            | WordRole::Name
            | WordRole::Pattern
            | WordRole::Condition
            | WordRole::Address => return,
        };
        for &byte in bytes {
            self.byte(byte, format, arguments);
        }
    }

    /// A value stands here.
    pub fn value(&mut self) {
        self.named = true;
    }

    /// Where the scan is.
    pub fn spot(&self, role: WordRole) -> Spot {
        match self.state {
            State::Arguments | State::FormatArguments if self.escaped => Spot::Escaped,
            State::Arguments | State::FormatArguments => Spot::Argument { quoted: self.quote.is_some() },
            State::Percent | State::Label | State::Flags | State::Name => Spot::FormatName,
            State::FormatExpression => Spot::Identifier,
            State::Text => match role {
                WordRole::Expression | WordRole::Keyword => Spot::Identifier,
                WordRole::Format => Spot::Format,
                _ => Spot::Text,
            },
        }
    }

    fn byte(&mut self, byte: u8, format: bool, arguments: bool) {
        match self.state {
            State::Text => match byte {
                b'%' if format => self.state = State::Percent,
                b'(' if arguments && self.named => self.state = State::Arguments,
                _ => self.named = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'),
            },
            State::Percent => {
                self.state = match byte {
                    b'[' => State::FormatExpression,
                    b'{' => State::Flags,
                    b'(' => State::Label,
                    _ if byte.is_ascii_alphanumeric() => State::Name,
                    _ => State::Text,
                };
                self.has_expression |= self.state == State::FormatExpression;
            }
            State::Label if byte == b')' => self.state = State::Percent,
            State::Flags if byte == b'}' => self.state = State::Percent,
            State::Label | State::Flags => {}
            State::Name if byte.is_ascii_alphanumeric() || byte == b'_' => {}
            State::Name => self.state = if byte == b'%' { State::Percent } else { State::Text },
            State::FormatExpression => match byte {
                b'(' => self.state = State::FormatArguments,
                b']' => self.state = State::Text,
                _ => {}
            },
            State::Arguments | State::FormatArguments => self.argument(byte),
        }
    }

    fn argument(&mut self, byte: u8) {
        if std::mem::take(&mut self.escaped)
            && matches!(byte, b'\\' | b' ' | b'"' | b'\'' | b'r' | b'n' | b't')
        {
            return;
        }
        match (self.quote, byte) {
            (None | Some(b'"'), b'\\') => self.escaped = true,
            (Some(open), _) if open == byte => self.quote = None,
            (None, b'"' | b'\'') => self.quote = Some(byte),
            (None, b')') => {
                self.state =
                    if self.state == State::Arguments { State::Text } else { State::FormatExpression };
                self.named = false;
            }
            _ => {}
        }
    }
}

/// The first character that is special in an argument.
pub(super) fn special_in_argument(text: &str) -> Option<char> {
    text.chars().find(|c| matches!(c, '(' | ')' | ',' | '"' | '\'' | '\\'))
}

/// Whether a text that `arg` quoted is one argument, or part of one, wherever it stands in unquoted text.
pub(super) fn is_one_argument(text: &str) -> bool {
    let mut scan = Scan { state: State::Arguments, ..Scan::default() };
    for byte in text.bytes() {
        // A backslash does not escape a comma.
        if scan.quote.is_none() && byte == b',' {
            return false;
        }
        scan.argument(byte);
        if scan.state != State::Arguments {
            return false;
        }
    }
    scan.quote.is_none() && !scan.escaped
}

/// Whether a log-format would evaluate something in `text`: `%[fetch]`, `%{flags}[fetch]`, `%(name)[fetch]`.
pub(super) fn may_evaluate(text: &[u8]) -> bool {
    text.windows(2).any(|pair| matches!(pair, [b'%', b'[' | b'{' | b'(']))
}

/// Whether every `%` is doubled.
pub(super) fn is_doubled(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('%') {
        match after.strip_prefix('%') {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}
