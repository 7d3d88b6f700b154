//! Cuts one line into words as HAProxy's `parse_line()` does (src/tools.c): quotes, escapes, variables, comments.
//!
//! It knows lines only, no sections and no keywords. There is no line continuation: a backslash before the end of
//! a line stands for itself. Differences between versions 3.0 and 3.4 do not exist here (both were asked).

use std::borrow::Cow;

use crate::document::Word;
use crate::problem::{Code, Problem};

/// Variables that HAProxy sets itself while it reads a file.
const PSEUDO_VARIABLES: [&str; 3] = [".LINE", ".FILE", ".SECTION"];

/// What a byte means outside quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterClass {
    Plain,
    Blank,
    Special,
}

fn class(byte: u8) -> CharacterClass {
    match byte {
        b' ' | b'\t' => CharacterClass::Blank,
        0..=31 | 127 | b'"' | b'\'' | b'\\' | b'#' => CharacterClass::Special,
        _ => CharacterClass::Plain,
    }
}

/// The words of `text`, a line without its end; what HAProxy would refuse is added to `problems`. `room` is how many
/// words there will probably be.
pub(crate) fn words<'a>(
    text: &'a str,
    number: usize,
    room: usize,
    problems: &mut Vec<Problem>,
) -> Vec<Word<'a>> {
    let bytes = text.as_bytes();
    let mut words = Vec::new();
    let mut at = 0;
    loop {
        while bytes.get(at).is_some_and(|&byte| is_space(byte)) {
            at += 1;
        }
        match bytes.get(at) {
            None | Some(b'#' | b'\r' | 0) => break,
            Some(_) => {}
        }
        if words.is_empty() {
            words.reserve_exact(room);
        }
        let start = at;
        while bytes.get(at).is_some_and(|&byte| class(byte) == CharacterClass::Plain) {
            at += 1;
        }
        if bytes.get(at).is_none_or(|&byte| class(byte) == CharacterClass::Blank) {
            let raw = text.get(start..at).unwrap_or_default();
            words.push(Word { raw, value: Cow::Borrowed(raw), column: start + 1, has_variable: false });
            continue;
        }
        let mut careful = CarefulWord { bytes, start, at, value: Vec::new(), number, has_variable: false };
        careful.value.extend_from_slice(bytes.get(start..at).unwrap_or_default());
        let outcome = careful.read();
        let (raw, value, has_variable) =
            (text.get(start..careful.at).unwrap_or_default(), careful.value, careful.has_variable);
        at = careful.at;
        let value = if value == raw.as_bytes() {
            Cow::Borrowed(raw)
        } else {
            Cow::Owned(
                String::from_utf8(value)
                    .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()),
            )
        };
        words.push(Word { raw, value, column: start + 1, has_variable });
        if let Err(problem) = outcome {
            problems.push(problem);
            break;
        }
    }
    words
}

/// A word with quotes, escapes or control characters.
struct CarefulWord<'a> {
    bytes: &'a [u8],
    start: usize,
    at: usize,
    value: Vec<u8>,
    number: usize,
    has_variable: bool,
}

impl CarefulWord<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// Reads up to the end of the word. After an error the rest of the line belongs to the word.
    fn read(&mut self) -> Result<(), Problem> {
        let mut quote: Option<(u8, usize)> = None;
        while let Some(byte) = self.peek(0) {
            let inside = quote.map(|(mark, _)| mark);
            match byte {
                b'\r' | 0 => break,
                b'#' if inside.is_none() => break,
                b'"' | b'\'' if inside.is_none() => {
                    quote = Some((byte, self.at));
                    self.at += 1;
                }
                b'"' | b'\'' if inside == Some(byte) => {
                    quote = None;
                    self.at += 1;
                }
                b'\\' if inside != Some(b'\'') => self.escape(inside.is_some())?,
                b'$' if inside == Some(b'"') => self.variable()?,
                _ if inside.is_none() && is_space(byte) => break,
                _ => {
                    self.value.push(byte);
                    self.at += 1;
                }
            }
        }
        let Some((mark, at)) = quote else { return Ok(()) };
        Err(Problem::new(
            Code::UnmatchedQuote,
            self.number,
            at + 1,
            format!("The quote {} that opens here is never closed on this line.", char::from(mark)),
        )
        .help(format!("close it, or write \\{} for the character itself", char::from(mark))))
    }

    /// A backslash outside single quotes.
    fn escape(&mut self, in_double_quotes: bool) -> Result<(), Problem> {
        let (byte, length) = match self.peek(1) {
            Some(next @ (b' ' | b'\\' | b'#' | b'\'' | b'"')) => (next, 2),
            Some(b'$') if in_double_quotes => (b'$', 2),
            Some(b't') => (b'\t', 2),
            Some(b'n') => (b'\n', 2),
            Some(b'r') => (b'\r', 2),
            Some(b'x') => match (self.peek(2).and_then(hex), self.peek(3).and_then(hex)) {
                (Some(high), Some(low)) => (high << 4 | low, 4),
                _ => {
                    let problem = Problem::new(
                        Code::InvalidEscape,
                        self.number,
                        self.at + 1,
                        "The escape \\x needs two hexadecimal digits, as in \\x20.",
                    );
                    return Err(self.give_up(problem));
                }
            },
            _ => (b'\\', 1),
        };
        self.value.push(byte);
        self.at += length;
        Ok(())
    }

    /// `$NAME`, `${NAME}`, `${NAME-default}` or `${NAME[*]}`: kept as written, since its value is not known here.
    fn variable(&mut self) -> Result<(), Problem> {
        let start = self.at;
        let braced = self.peek(1) == Some(b'{');
        self.at += if braced { 2 } else { 1 };
        let name = self.at;
        if self.peek(0) == Some(b'.') {
            self.at += 1;
        }
        while self.peek(0).is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.at += 1;
        }
        let name = self.bytes.get(name..self.at).unwrap_or_default();
        let valid = match name.first() {
            Some(b'.') => PSEUDO_VARIABLES.iter().any(|known| known.as_bytes() == name),
            Some(first) => !first.is_ascii_digit(),
            None => false,
        };
        if !valid {
            return Err(
                self.bad_variable(start, "is not a variable: names start with a letter or an underscore")
            );
        }
        if braced {
            if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(b"[*]")) {
                self.at += 3;
            }
            if self.peek(0) == Some(b'-') {
                while self.peek(0).is_some_and(|b| b != b'}') {
                    self.at += 1;
                }
            }
            if self.peek(0) != Some(b'}') {
                return Err(self.bad_variable(start, "opens a brace that is never closed"));
            }
            self.at += 1;
        }
        self.has_variable = true;
        self.value.extend_from_slice(self.bytes.get(start..self.at).unwrap_or_default());
        Ok(())
    }

    fn bad_variable(&mut self, start: usize, why: &str) -> Problem {
        let problem = Problem::new(
            Code::InvalidVariable,
            self.number,
            start + 1,
            format!("The dollar sign inside double quotes {why}."),
        )
        .help("write \\$ for the character itself, or use single quotes");
        self.give_up(problem)
    }

    fn give_up(&mut self, problem: Problem) -> Problem {
        self.at = self.bytes.len();
        self.value.clear();
        self.value.extend_from_slice(self.bytes.get(self.start..).unwrap_or_default());
        problem
    }
}

/// `isspace()` of the C locale, without what ends a line.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

pub(crate) fn is_control(byte: u8) -> bool {
    byte < 32 || byte == 127
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Reports the first control character of a line; the text without its end.
pub(crate) fn control_character(text: &str, number: usize, problems: &mut Vec<Problem>) {
    let bytes = text.as_bytes();
    let Some(at) = bytes.iter().position(|&byte| is_control(byte) && byte != b'\t') else { return };
    let message = match bytes.get(at) {
        Some(0) => "A NUL character stands here; HAProxy refuses the file.".to_owned(),
        Some(b'\r') => "A carriage return stands here; HAProxy ignores the rest of the line.".to_owned(),
        byte => format!("A control character (0x{:02x}) stands here.", byte.copied().unwrap_or_default()),
    };
    problems.push(Problem::new(Code::ControlCharacter, number, at + 1, message).help("remove it"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> (Vec<String>, Vec<Code>) {
        let mut problems = Vec::new();
        let words = words(text, 1, 4, &mut problems);
        control_character(text, 1, &mut problems);
        (words.iter().map(|w| w.value.to_string()).collect(), problems.iter().map(|p| p.code).collect())
    }

    #[test]
    fn words_are_cut_as_haproxy_cuts_them() {
        for (text, expected) in [
            ("a b  c\t d ", &["a", "b", "c", "d"][..]),
            ("", &[]),
            ("  # only a comment", &[]),
            ("a#b c", &["a"]),
            ("a \\#b", &["a", "#b"]),
            ("a\\ b c", &["a b", "c"]),
            ("\"a b\" 'c d'e", &["a b", "c de"]),
            ("\"a'b\" 'c\"d'", &["a'b", "c\"d"]),
            ("'a\\b' \"a\\b\" a\\b", &["a\\b", "a\\b", "a\\b"]),
            ("\"\\\"\" \\' \"\\$x\" \\$x '$x' $x", &["\"", "'", "$x", "\\$x", "$x", "$x"]),
            ("a\\n\\t\\r\\x41", &["a\n\t\rA"]),
            ("\\\\ x", &["\\", "x"]),
            ("a \\", &["a", "\\"]),
            ("\"\" b", &["", "b"]),
            ("\"a\"\"b\"", &["ab"]),
            ("\"${HOME}/x\" \"$A\" \"${A-b c}\" \"${A[*]}\"", &["${HOME}/x", "$A", "${A-b c}", "${A[*]}"]),
            ("\"${.LINE}\"", &["${.LINE}"]),
            ("héé \"ü ü\"", &["héé", "ü ü"]),
            ("\\xc3\\xbc", &["ü"]),
            ("\\xff", &["\u{fffd}"]),
        ] {
            assert_eq!(values(text), (expected.iter().map(|&s| s.to_owned()).collect(), vec![]), "{text}");
        }
    }

    #[test]
    fn what_haproxy_refuses_to_read_is_reported() {
        for (text, code) in [
            ("a \"b c", Code::UnmatchedQuote),
            ("a 'b\\' \"c", Code::UnmatchedQuote),
            ("\\x4", Code::InvalidEscape),
            ("\\xzz", Code::InvalidEscape),
            ("\"$1\"", Code::InvalidVariable),
            ("\"$\"", Code::InvalidVariable),
            ("\"${A b\"", Code::InvalidVariable),
            ("\"${A-b\"", Code::InvalidVariable),
            ("\"${.FOO}\"", Code::InvalidVariable),
            ("a\0b", Code::ControlCharacter),
            ("a\rb", Code::ControlCharacter),
            ("# a\u{1b}[31m", Code::ControlCharacter),
        ] {
            assert_eq!(values(text).1, vec![code], "{text:?}");
        }
    }

    #[test]
    fn a_word_knows_its_column_and_whether_a_variable_is_in_it() {
        let mut problems = Vec::new();
        let words = words("  bind \"fd@${FD}\" '$x'", 1, 4, &mut problems);
        let seen: Vec<_> = words.iter().map(|w| (w.column, w.raw, w.has_variable)).collect();
        assert_eq!(seen, [(3, "bind", false), (8, "\"fd@${FD}\"", true), (19, "'$x'", false)]);
    }
}
