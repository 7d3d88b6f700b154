//! Lines as HAProxy's own readers split them into words.

/// The words of a line, unquoted. Empty words are words, too.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    text: Vec<u8>,
    ends: Vec<usize>,
    /// Why HAProxy would refuse the line.
    pub trouble: Option<TokenProblem>,
}

/// The fault of a whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenProblem {
    Quote,
    Hexadecimal,
    Variable,
    Brace,
    /// The line does not fit the buffer that it is read with.
    Length,
}

/// Around what stands for an environment variable, which is none of what a line can hold itself.
const VARIABLE: [u8; 2] = [0, 1];

impl Tokens {
    /// Forgets all words.
    pub fn clear(&mut self, trouble: Option<TokenProblem>) {
        self.text.clear();
        self.ends.clear();
        self.trouble = trouble;
    }

    /// Adds to the word that has not ended.
    pub fn push(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    /// Ends a word, and gives it.
    pub fn end_word(&mut self) -> &[u8] {
        let start = self.ends.last().copied().unwrap_or_default();
        self.ends.push(self.text.len());
        self.text.get(start..).unwrap_or_default()
    }

    /// HAProxy reads no further; the word that has not ended is none.
    fn fail(&mut self, trouble: TokenProblem) {
        self.text.truncate(self.ends.last().copied().unwrap_or_default());
        self.trouble = Some(trouble);
    }

    /// All words.
    pub fn words(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.text.get(start..*end).unwrap_or_default())
    }
}

/// HAProxy's `parse_line`, with all its options, as haproxy.cfg is read.
pub(super) fn of_config(line: &[u8], tokens: &mut Tokens) {
    tokens.clear(None);
    let at = |index: usize| line.get(index).copied().unwrap_or_default();
    let (mut weak, mut strong, mut begun, mut next) = (false, false, false, 0);
    loop {
        let byte = at(next);
        next += 1;
        match byte {
            0 | b'\n' | b'\r' => break,
            b'#' if !weak && !strong => break,
            b'"' if !strong => (weak, begun) = (!weak, true),
            b'\'' if !weak => (strong, begun) = (!strong, true),
            b'\\' if !strong => {
                begun = true;
                let escaped = match at(next) {
                    byte @ (b' ' | b'\\' | b'#' | b'\'' | b'"') => Some(byte),
                    b'$' if weak => Some(b'$'),
                    b'n' => Some(b'\n'),
                    b'r' => Some(b'\r'),
                    b't' => Some(b'\t'),
                    b'x' => match (hexadecimal(at(next + 1)), hexadecimal(at(next + 2))) {
                        (Some(high), Some(low)) => {
                            next += 2;
                            Some(high * 16 + low)
                        }
                        _ => return tokens.fail(TokenProblem::Hexadecimal),
                    },
                    _ => None,
                };
                next += usize::from(escaped.is_some());
                tokens.push(&[escaped.unwrap_or(b'\\')]);
            }
            b' ' | b'\t' | 0x0B | 0x0C if !weak && !strong => {
                if std::mem::take(&mut begun) {
                    tokens.end_word();
                }
            }
            b'$' if weak => {
                begun = true;
                let braces = at(next) == b'{';
                next += usize::from(braces);
                let start = next;
                if !(at(next).is_ascii_alphabetic() || matches!(at(next), b'_' | b'.')) {
                    return tokens.fail(TokenProblem::Variable);
                }
                next += usize::from(at(next) == b'.');
                while at(next).is_ascii_alphanumeric() || at(next) == b'_' {
                    next += 1;
                }
                // A default, and `[*]` behind the name: they are the template's, as the name is.
                while braces && at(next) != b'}' {
                    if matches!(at(next), 0 | b'\n') {
                        return tokens.fail(TokenProblem::Brace);
                    }
                    next += 1;
                }
                tokens.push(&VARIABLE);
                tokens.push(line.get(start..next).unwrap_or_default());
                tokens.push(&VARIABLE);
                next += usize::from(braces);
            }
            _ => {
                begun = true;
                tokens.push(&[byte]);
            }
        }
    }
    if begun {
        tokens.end_word();
    }
    if weak || strong {
        tokens.trouble = Some(TokenProblem::Quote);
    }
}

fn hexadecimal(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// `tune.bufsize`, which lines of maps are read with, unless set; with a final zero.
const BUFFER: usize = 16_384;

/// HAProxy's `pat_ref_read_from_file_smp`: a key and a value, or nothing.
pub(super) fn of_map(line: &[u8], tokens: &mut Tokens) {
    tokens.clear((line.len() >= BUFFER).then_some(TokenProblem::Length));
    if line.first() == Some(&b'#') {
        return;
    }
    let line = until(line, |byte| matches!(byte, 0 | b'\n' | b'\r'));
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let rest = line.get(line.iter().take_while(|byte| blank(byte)).count()..).unwrap_or_default();
    if rest.is_empty() {
        return;
    }
    let key = until(rest, |byte| blank(&byte));
    tokens.push(key);
    tokens.end_word();
    let mut value = rest.get(key.len()..).unwrap_or_default();
    while let [b' ' | b'\t', inner @ ..] | [inner @ .., b' ' | b'\t'] = value {
        value = inner;
    }
    tokens.push(value);
    tokens.end_word();
}

/// HAProxy's `pat_ref_read_from_file`: a whole line is a pattern, or nothing.
pub(super) fn of_pattern(line: &[u8], tokens: &mut Tokens) {
    tokens.clear((line.len() >= BUFFER).then_some(TokenProblem::Length));
    if line.first() == Some(&b'#') {
        return;
    }
    let line = until(line, |byte| matches!(byte, 0 | b'\n' | b'\r'));
    let pattern = line.get(line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()..);
    if let Some(pattern @ [_, ..]) = pattern {
        tokens.push(pattern);
        tokens.end_word();
    }
}

/// `CRT_LINESIZE`, with a final zero.
const CRT_LIST_BUFFER: usize = 65_536;

/// HAProxy's `crtlist_parse_line`: words, and brackets that are words of their own.
pub(super) fn of_crt_list(line: &[u8], tokens: &mut Tokens) {
    tokens.clear((line.len() >= CRT_LIST_BUFFER).then_some(TokenProblem::Length));
    if line.first() == Some(&b'#') {
        return;
    }
    let mut begun = false;
    for byte in until(line, |byte| matches!(byte, 0 | b'\n')) {
        let bracket = matches!(byte, b'[' | b']');
        if bracket || matches!(byte, b' ' | b'\t' | 0x0B | 0x0C | b'\r') {
            if std::mem::take(&mut begun) {
                tokens.end_word();
            }
            if bracket {
                tokens.push(&[*byte]);
                tokens.end_word();
            }
        } else {
            begun = true;
            tokens.push(&[*byte]);
        }
    }
    if begun {
        tokens.end_word();
    }
}

fn until(text: &[u8], end: impl Fn(u8) -> bool) -> &[u8] {
    let length = text.iter().position(|byte| end(*byte)).unwrap_or(text.len());
    text.get(..length).unwrap_or_default()
}
