//! haproxy.cfg: words, quotes, escapes, comments and environment variables, as HAProxy's `parse_line` reads them.
//!
//! Each line stands alone: no quote and no escape goes on in the next one. Template text is written as it is; values
//! are escaped for where they stand. An empty word cannot be written at all: HAProxy 3.0 silently ignores the rest of
//! the line after `""`, 3.2 warns, 3.4 refuses the file.

use super::directive::{LineContext, WordRole};
use super::expression::{Scan, Spot, is_doubled, is_one_argument, may_evaluate, special_in_argument};
use super::framed::{FramedValue, LineSpan, PrintedAs};
use super::refusal::{Refusals, ValuePosition, ValueRefusal, control};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Quote {
    #[default]
    Bare,
    Weak,
    Strong,
    Comment,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    /// After a backslash.
    Backslash,
    /// After `\x`, with a number of digits to come.
    Hex(u8),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum VariableForm {
    #[default]
    None,
    /// After `$`.
    Dollar,
    Name,
    Braces,
}

/// Half of the buffer (`tune.bufsize`, unless set) that every sample, header and pattern of HAProxy must fit in.
const MAX_WORD: usize = 8_192;

/// The most words of a line that HAProxy takes (`MAX_LINE_ARGS`).
const MAX_WORDS: usize = 64;

/// The lexer; kept from line to line for its memory only.
#[derive(Debug, Default)]
pub(super) struct ConfigLexer {
    line: LineContext,
    quote: Quote,
    escape: Escape,
    environment: VariableForm,
    word: ConfigWord,
    /// The current word's content, unquoted.
    content: Vec<u8>,
}

/// The current word.
#[derive(Clone, Copy, Debug, Default)]
struct ConfigWord {
    begun: bool,
    scan: Scan,
    /// How much of the content has been scanned.
    scanned: usize,
    /// The number of the word's first value among the line's spans.
    value: Option<usize>,
    /// The same of its first value with a `%`.
    percent: Option<usize>,
    role: Option<WordRole>,
}

impl ConfigLexer {
    /// Writes a line with values, each escaped for its place or refused.
    pub fn encode(&mut self, line: &[LineSpan<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
        self.begin_line();
        for (index, span) in line.iter().enumerate() {
            match span {
                LineSpan::Template(text) => {
                    out.push_str(text);
                    self.template(text, line, refusals);
                }
                LineSpan::Value(value) => {
                    if let Err(refusal) = self.value(index, value) {
                        refusals.add(value, self.place(), refusal.clone());
                        if refusal == ValueRefusal::Directive {
                            return;
                        }
                    }
                    self.write(value.text, out);
                }
            }
        }
        self.end_word(line, refusals);
    }

    fn begin_line(&mut self) {
        (self.line, self.quote, self.escape) = (LineContext::default(), Quote::Bare, Escape::None);
        (self.environment, self.word) = (VariableForm::None, ConfigWord::default());
        self.content.clear();
    }

    fn place(&self) -> ValuePosition {
        match self.quote {
            Quote::Bare => ValuePosition::Word,
            Quote::Weak => ValuePosition::Weak,
            Quote::Strong => ValuePosition::Strong,
            Quote::Comment => ValuePosition::Comment,
        }
    }

    fn template(&mut self, text: &str, line: &[LineSpan<'_>], refusals: &mut Refusals<'_>) {
        let mut rest = text.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            if self.quote == Quote::Comment {
                return;
            }
            if self.escape == Escape::None && self.environment == VariableForm::None {
                let ordinary = rest.iter().take_while(|b| is_ordinary(**b)).count();
                if let Some((run, after)) = rest.split_at_checked(ordinary).filter(|(run, _)| !run.is_empty())
                {
                    self.content.extend_from_slice(run);
                    (self.word.begun, rest) = (true, after);
                    continue;
                }
            }
            rest = after;
            let end = match byte {
                0 | b'\n' => true,
                // In braces it is as any other byte.
                b'\r' => self.environment != VariableForm::Braces,
                _ => false,
            };
            if end {
                // Nothing behind it is read.
                self.end_word(line, refusals);
                self.quote = Quote::Comment;
            } else if !self.escaped(byte) && !self.in_environment(byte) {
                self.byte(byte, line, refusals);
            }
        }
    }

    fn byte(&mut self, byte: u8, line: &[LineSpan<'_>], refusals: &mut Refusals<'_>) {
        match (self.quote, byte) {
            (Quote::Bare, b' ' | b'\t' | 0x0B | 0x0C) => self.end_word(line, refusals),
            (Quote::Bare, b'#') => {
                self.end_word(line, refusals);
                self.quote = Quote::Comment;
            }
            (Quote::Bare, b'"') => self.quoted(Quote::Weak),
            (Quote::Bare, b'\'') => self.quoted(Quote::Strong),
            (Quote::Weak, b'"') | (Quote::Strong, b'\'') => self.quote = Quote::Bare,
            (Quote::Bare | Quote::Weak, b'\\') => {
                (self.escape, self.word.begun) = (Escape::Backslash, true);
            }
            (Quote::Weak, b'$') => self.environment = VariableForm::Dollar,
            _ => self.content(byte),
        }
    }

    fn quoted(&mut self, quote: Quote) {
        (self.quote, self.word.begun) = (quote, true);
    }

    fn content(&mut self, byte: u8) {
        self.word.begun = true;
        self.content.push(byte);
    }

    /// Whether `byte` belongs to an escape.
    fn escaped(&mut self, byte: u8) -> bool {
        match std::mem::take(&mut self.escape) {
            Escape::None => return false,
            Escape::Hex(digits) if byte.is_ascii_hexdigit() => match digits {
                // What it stands for does not matter, only that it is no punctuation.
                1 => self.content(b'?'),
                _ => self.escape = Escape::Hex(1),
            },
            Escape::Hex(_) => return false,
            Escape::Backslash => match byte {
                b'x' => self.escape = Escape::Hex(2),
                b'n' | b't' | b'r' => self.content(b'?'),
                b' ' | b'\\' | b'#' | b'\'' | b'"' => self.content(byte),
                b'$' if self.quote == Quote::Weak => self.content(byte),
                _ => {
                    self.content(b'\\');
                    return false;
                }
            },
        }
        true
    }

    /// Whether `byte` belongs to an environment variable.
    fn in_environment(&mut self, byte: u8) -> bool {
        let name = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        self.environment = match (self.environment, byte) {
            (VariableForm::None, _) => return false,
            (VariableForm::Dollar, b'{') => VariableForm::Braces,
            (VariableForm::Dollar | VariableForm::Name, _) if name => VariableForm::Name,
            (VariableForm::Braces, b'}') => {
                self.content(b'?');
                VariableForm::None
            }
            (VariableForm::Braces, _) => VariableForm::Braces,
            (VariableForm::Dollar | VariableForm::Name, _) => {
                self.content(b'?');
                self.environment = VariableForm::None;
                return false;
            }
        };
        true
    }

    /// Checks a value and takes it into the current word.
    fn value(&mut self, index: usize, value: &FramedValue<'_>) -> Result<(), ValueRefusal> {
        let refused = control(value.text).map(ValueRefusal::Control);
        if self.quote == Quote::Comment {
            return refused.map_or(Ok(()), Err);
        }
        let role = *self.word.role.get_or_insert_with(|| self.line.role());
        let fresh = self.content.get(self.word.scanned..).unwrap_or_default();
        self.word.scan.template(fresh, role);
        let checked = match refused {
            Some(refusal) => Err(refusal),
            None => self.lexical().and_then(|()| self.fits(role, value)),
        };
        self.word.begun = true;
        self.word.value = self.word.value.or(Some(index));
        if role == WordRole::Any && value.printed == PrintedAs::Plain && value.text.contains('%') {
            self.word.percent = self.word.percent.or(Some(index));
        }
        self.word.scan.value();
        self.content.extend_from_slice(value.text.as_bytes());
        self.word.scanned = self.content.len();
        checked
    }

    /// Whether a value may begin here, whatever it is.
    fn lexical(&self) -> Result<(), ValueRefusal> {
        if self.escape != Escape::None {
            return Err(ValueRefusal::AfterBackslash);
        }
        if self.environment != VariableForm::None {
            return Err(ValueRefusal::EnvironmentVariable);
        }
        Ok(())
    }

    fn fits(&self, role: WordRole, value: &FramedValue<'_>) -> Result<(), ValueRefusal> {
        if self.line.is_empty() {
            return Err(ValueRefusal::Directive);
        }
        match self.word.scan.spot(role) {
            Spot::Argument { quoted } => return fits_argument(value, quoted),
            Spot::Escaped => return Err(ValueRefusal::AfterBackslash),
            _ if value.printed == PrintedAs::Argument => return Err(ValueRefusal::OutsideArguments),
            Spot::FormatName => return Err(ValueRefusal::LogFormatName),
            Spot::Identifier if role == WordRole::Keyword => return Err(ValueRefusal::Directive),
            Spot::Identifier => return Err(ValueRefusal::Fetch),
            Spot::Format => return fits_format(value),
            Spot::Text => {}
        }
        match role {
            WordRole::Name => fits_name(value.text),
            WordRole::Condition if value.text.starts_with('!') && self.content.iter().all(|b| *b == b'!') => {
                Err(ValueRefusal::Negation)
            }
            WordRole::Quantity => fits_quantity(&self.content, value.text),
            WordRole::Address => fits_address(&self.content, value.text),
            WordRole::Preprocessor => fits_name(value.text).map_err(|_| ValueRefusal::Preprocessor),
            WordRole::Any if value.printed == PrintedAs::LogFormat => fits_format(value),
            WordRole::Any if self.word.scan.has_expression => fits_format(value),
            _ => Ok(()),
        }
    }

    /// Judges the word as a whole, and tells the line of it.
    fn end_word(&mut self, line: &[LineSpan<'_>], refusals: &mut Refusals<'_>) {
        if self.escape == Escape::Backslash {
            self.content(b'\\');
        }
        if std::mem::take(&mut self.environment) != VariableForm::None {
            self.content(b'?');
        }
        self.escape = Escape::None;
        if !self.word.begun {
            return;
        }
        let place = self.place();
        let mut refuse = |index: Option<usize>, refusal| {
            if let Some(LineSpan::Value(value)) = index.and_then(|i| line.get(i)) {
                refusals.add(value, place, refusal);
            }
        };
        if let Some(role) = self.word.role {
            let fresh = self.content.get(self.word.scanned..).unwrap_or_default();
            self.word.scan.template(fresh, role);
            if let Some(refusal) = self.whole(role) {
                refuse(self.word.value, refusal);
            } else if self.line.count() == MAX_WORDS {
                refuse(self.word.value, ValueRefusal::TooManyWords(MAX_WORDS));
            }
            if may_evaluate(&self.content) {
                refuse(self.word.percent, ValueRefusal::Percent);
            }
        }
        self.line.word(&self.content, self.word.value.is_some());
        self.word = ConfigWord::default();
        self.content.clear();
    }

    /// The fault of a word that has values.
    fn whole(&self, role: WordRole) -> Option<ValueRefusal> {
        let word = self.content.as_slice();
        if word.is_empty() {
            return Some(ValueRefusal::EmptyWord);
        }
        if word.len() > MAX_WORD {
            return Some(ValueRefusal::WordTooLong(MAX_WORD));
        }
        if role == WordRole::Pattern && word.starts_with(b"-") && self.line.flags() {
            return Some(ValueRefusal::Flag);
        }
        if role == WordRole::Pattern && is_operator(word) && self.line.operators() {
            return Some(ValueRefusal::Operator);
        }
        let punctuation = if role == WordRole::Name {
            word == b"from"
        } else {
            self.line.conditional() && is_punctuation(word)
        };
        punctuation.then(|| ValueRefusal::Punctuation(String::from_utf8_lossy(word).into_owned()))
    }

    /// Writes a value so that HAProxy reads exactly its bytes.
    fn write(&self, text: &str, out: &mut String) {
        if text.bytes().all(is_ordinary) {
            out.push_str(text);
            return;
        }
        let special: fn(u8) -> bool = match self.quote {
            Quote::Bare => |b| matches!(b, b' ' | b'"' | b'\'' | b'#' | b'\\'),
            Quote::Weak => |b| matches!(b, b'"' | b'\\' | b'$'),
            Quote::Strong => |b| b == b'\'',
            Quote::Comment => |_| false,
        };
        // In strong quotes: close them, an escaped quote, and the quote itself opens them again.
        let escape = if self.quote == Quote::Strong { r"'\'" } else { r"\" };
        let mut written = 0;
        for (at, byte) in text.bytes().enumerate() {
            if special(byte) {
                out.push_str(text.get(written..at).unwrap_or_default());
                out.push_str(escape);
                written = at;
            }
        }
        out.push_str(text.get(written..).unwrap_or_default());
    }
}

/// Whether a byte is only itself, whatever quotes it stands in. As in HAProxy, most are known by one comparison.
fn is_ordinary(byte: u8) -> bool {
    byte > b'\'' && byte != b'\\'
}

pub(super) fn fits_argument(value: &FramedValue<'_>, quoted: bool) -> Result<(), ValueRefusal> {
    if value.printed == PrintedAs::Argument {
        return if !quoted && is_one_argument(value.text) {
            Ok(())
        } else {
            Err(ValueRefusal::BrokenArgument)
        };
    }
    special_in_argument(value.text).map_or(Ok(()), |c| Err(ValueRefusal::ArgumentCharacter(c)))
}

pub(super) fn fits_format(value: &FramedValue<'_>) -> Result<(), ValueRefusal> {
    match value.printed {
        PrintedAs::LogFormat if is_doubled(value.text) => Ok(()),
        PrintedAs::LogFormat => Err(ValueRefusal::BrokenLogFormat),
        _ if value.text.contains('%') => Err(ValueRefusal::Percent),
        _ => Ok(()),
    }
}

/// As HAProxy's `invalid_char`: what names of sections may have.
fn fits_name(text: &str) -> Result<(), ValueRefusal> {
    let allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    text.chars().find(|c| !allowed(c)).map_or(Ok(()), |c| Err(ValueRefusal::SectionName(c)))
}

fn fits_quantity(before: &[u8], text: &str) -> Result<(), ValueRefusal> {
    let starts_with_digit =
        before.iter().copied().chain(text.bytes()).next().is_none_or(|b| b.is_ascii_digit());
    let allowed = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
    if starts_with_digit && allowed { Ok(()) } else { Err(ValueRefusal::Quantity) }
}

/// The parts of an address that a value may be: host and port. Behind `unix@` or `/` of the template it is a path.
fn fits_address(before: &[u8], text: &str) -> Result<(), ValueRefusal> {
    let path = before.iter().any(|b| matches!(b, b'@' | b'/'));
    let allowed = |c: &char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '.' | ':' | '-' | '_' | '[' | ']' | '*')
            || (path && !matches!(c, '$' | ','))
    };
    text.chars().find(|c| !allowed(c)).map_or(Ok(()), |c| Err(ValueRefusal::AddressCharacter(c)))
}

/// Whether HAProxy would take the word for the punctuation of a condition, as its `parse_acl_cond`: it compares after
/// unquoting, takes any `!` off first, and does not mind how `or` is written.
fn is_punctuation(word: &[u8]) -> bool {
    let positive = word.iter().position(|b| *b != b'!').and_then(|at| word.get(at..)).unwrap_or_default();
    matches!(positive, b"" | b"{" | b"||")
        || positive.eq_ignore_ascii_case(b"or")
        || matches!(word, b"}" | b"if" | b"unless")
}

/// Whether a fetch of a number takes the pattern for an operator, as HAProxy's `get_std_op`.
fn is_operator(word: &[u8]) -> bool {
    matches!(word, b"eq" | b"ge" | b"gt" | b"le" | b"lt")
}
