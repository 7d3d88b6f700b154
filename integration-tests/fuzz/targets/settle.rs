//! The settling pass: whatever it lets through has the template's lines and words, and in them the values, byte for byte.

use super::parse_line;
use haptic_render::{
    encode::{self, FileFormat},
    framing::{self, FramedFragment, FramedText},
};
use haptic_text::pattern_file::{map_entries, patterns};

/// A line as HAProxy reads it, or why it does not.
type Read = fn(&str) -> Result<Vec<String>, &'static str>;

/// Configurations; the same bytes as other files, too.
pub fn settle(data: &[u8]) {
    settled(FileFormat::Config, data, parse_line::words);
    for reading in
        [FileFormat::Certificate, FileFormat::Content, FileFormat::Body, FileFormat::Format, FileFormat::Code]
    {
        settled(reading, data, |_| Err("not in lines"));
    }
}

/// Maps, and files of patterns.
pub fn map_lexer(data: &[u8]) {
    settled(FileFormat::Patterns, data, |line| Ok(patterns(line).map(str::to_owned).collect()));
    settled(FileFormat::Map, data, |line| {
        Ok(map_entries(line).flat_map(|(key, value)| [key.to_owned(), value.to_owned()]).collect())
    });
}

/// crt-lists.
pub fn crt_list_lexer(data: &[u8]) {
    settled(FileFormat::CertificateList, data, |line| Ok(crt_list_words(line)));
}

/// Template text and values take turns, between bytes `FF`; `FE` begins a value by `arg`, `FD` one by `lf`.
fn settled(reading: FileFormat, data: &[u8], read: Read) {
    let (mut pieces, mut plain, mut values) = (Vec::new(), String::new(), Vec::new());
    for (index, part) in data.split(|byte| *byte == 0xFF).enumerate() {
        let (mark, part) = match part.split_first() {
            Some((0xFE, rest)) => (framing::ARGUMENT, rest),
            Some((0xFD, rest)) => (framing::LOG_FORMAT, rest),
            _ => (framing::VALUE, part),
        };
        let text: String = String::from_utf8_lossy(part).chars().filter(|c| !framing::is_mark(*c)).collect();
        if index % 2 == 0 {
            let text: String = text.chars().filter(|c| number(*c).is_none()).collect();
            plain += &text;
            pieces.push(text);
        } else {
            let Some(stand_in) = u32::try_from(values.len()).ok().and_then(|n| char::from_u32(FIRST + n))
            else {
                return;
            };
            plain.push(stand_in);
            pieces.push(format!("{mark}{text}{}", framing::END));
            values.push(text);
        }
    }
    let piecewise = outcome(reading, pieces.iter().map(|piece| piece.as_str().into()).collect());
    let at_once = outcome(reading, vec![pieces.concat().into()]);
    assert_eq!(piecewise, at_once, "pieces make a difference");
    let Some(settled) = at_once else { return };
    assert!(!settled.contains(framing::is_mark), "marks are left");
    let lined = matches!(
        reading,
        FileFormat::Config | FileFormat::Map | FileFormat::Patterns | FileFormat::CertificateList
    );
    if !lined {
        return assert_eq!(settled, fill(&plain, &values));
    }
    let lines = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
    let (expected, settled) = (lines(&plain), lines(&settled));
    assert_eq!(expected.len(), settled.len(), "lines of {settled:?}");
    for (expected, settled) in expected.iter().zip(&settled) {
        let meant = read(expected).map(|words| words.iter().map(|word| fill(word, &values)).collect());
        assert_eq!(read(settled), meant, "{expected:?} became {settled:?}");
    }
}

/// The file, if nothing is refused.
fn outcome(reading: FileFormat, pieces: Vec<FramedFragment>) -> Option<String> {
    match encode::encode(reading, &FramedText { pieces, ..FramedText::default() }) {
        Ok(settled) => Some(settled.to_string()),
        Err(refused) => {
            let defect = refused.iter().find(|diagnostic| diagnostic.message.contains("internal error"));
            assert!(defect.is_none(), "{defect:?}");
            assert!(refused.iter().all(|diagnostic| diagnostic.help.is_some()), "{refused:?}");
            None
        }
    }
}

/// Characters that stand for values: template text has none.
const FIRST: u32 = 0xF_0000;

fn number(stand_in: char) -> Option<usize> {
    let number = u32::from(stand_in).checked_sub(FIRST).filter(|number| *number < 0x1_0000);
    number.and_then(|number| number.try_into().ok())
}

/// `text` with the values in place of what stands for them.
fn fill(text: &str, values: &[String]) -> String {
    let mut filled = String::with_capacity(text.len());
    for c in text.chars() {
        match number(c).and_then(|number| values.get(number)) {
            Some(value) => filled += value,
            None => filled.push(c),
        }
    }
    filled
}

/// HAProxy's `crtlist_parse_line`: words, and brackets that are words of their own.
fn crt_list_words(line: &str) -> Vec<String> {
    if line.starts_with('#') {
        return Vec::new();
    }
    let (mut words, mut word) = (Vec::new(), String::new());
    for c in line.chars().chain([' ']) {
        if !matches!(c, ' ' | '\t' | '\r' | '\u{B}' | '\u{C}' | '[' | ']') {
            word.push(c);
            continue;
        }
        words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        words.extend(matches!(c, '[' | ']').then(|| c.to_string()));
    }
    words
}
