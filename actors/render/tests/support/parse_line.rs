//! HAProxy's `parse_line`, written once more from its source (src/tools.c): it shares nothing with what it judges.

/// The words of a line, or how HAProxy refuses it. An environment variable is its name between `<` and `>`.
pub fn words(line: &str) -> Result<Vec<String>, &'static str> {
    let input = line.as_bytes();
    let (mut words, mut word, mut at) = (Vec::new(), None::<Vec<u8>>, 0);
    let (mut weak, mut strong) = (false, false);
    let peek = |at: usize| input.get(at).copied().unwrap_or(b'\n');
    loop {
        let byte = peek(at);
        at += 1;
        match byte {
            0 | b'\n' | b'\r' if weak || strong => return Err("unmatched quote"),
            0 | b'\n' | b'\r' => break,
            b'#' if !weak && !strong => break,
            b'"' if !strong => (weak, word) = (!weak, Some(word.unwrap_or_default())),
            b'\'' if !weak => (strong, word) = (!strong, Some(word.unwrap_or_default())),
            b'\\' if !strong => {
                let escaped = peek(at);
                let out = match escaped {
                    b' ' | b'\\' | b'#' | b'\'' | b'"' => escaped,
                    b'$' if weak => b'$',
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'x' => {
                        let hex = |byte: u8| char::from(byte).to_digit(16).ok_or("bad hex");
                        let code = hex(peek(at + 1))? * 16 + hex(peek(at + 2))?;
                        at += 2;
                        u8::try_from(code).unwrap_or_default()
                    }
                    _ => {
                        word.get_or_insert_default().push(b'\\');
                        continue;
                    }
                };
                at += 1;
                word.get_or_insert_default().push(out);
            }
            b' ' | b'\t' | 0x0B | 0x0C if !weak && !strong => words.extend(word.take()),
            b'$' if weak => {
                let braces = peek(at) == b'{';
                at += usize::from(braces);
                let start = at;
                while peek(at).is_ascii_alphanumeric() || matches!(peek(at), b'_' | b'.') {
                    at += 1;
                }
                if start == at {
                    return Err("bad variable");
                }
                while braces && peek(at) != b'}' {
                    if matches!(peek(at), 0 | b'\n') {
                        return Err("unmatched brace");
                    }
                    at += 1;
                }
                let word = word.get_or_insert_default();
                word.push(b'<');
                word.extend_from_slice(&input[start..at]);
                word.push(b'>');
                at += usize::from(braces);
            }
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    Ok(words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}
