//! Text as a terminal may show it. Objects hold what somebody wrote, and a control character in it would be a command to the
//! terminal of whoever reads of it: to move, to hide, to answer.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// `text` with each control character written out (`\u{1b}`), but for tabs and the ends of lines.
#[must_use]
pub fn safe(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| show(c, &mut shown));
    shown
}

/// The same of `text` that is coloured and set in bold here: that remains.
#[must_use]
pub fn safe_but_styled(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = style(rest).unwrap_or_else(|| {
            show(c, &mut shown);
            0
        });
        shown.push_str(rest.get(..length).unwrap_or_default());
        rest = rest.get(length.max(c.len_utf8())..).unwrap_or_default();
    }
    shown
}

/// The same of all texts in `value`, whose form its `Serialize` and `Deserialize` agree on.
#[must_use]
pub(crate) fn all_safe<T: Serialize + DeserializeOwned + Default>(value: &T) -> T {
    let value = serde_json::to_value(value).map(|mut value| {
        make_safe(&mut value);
        value
    });
    value.and_then(serde_json::from_value).unwrap_or_default()
}

fn make_safe(value: &mut Value) {
    match value {
        Value::String(text) => *text = safe(text),
        Value::Array(items) => items.iter_mut().for_each(make_safe),
        Value::Object(fields) => fields.values_mut().for_each(make_safe),
        _ => {}
    }
}

fn show(c: char, shown: &mut String) {
    match c {
        '\n' | '\t' => shown.push(c),
        // They turn the order of what is read around.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => shown.extend(c.escape_unicode()),
        c if c.is_control() => shown.extend(c.escape_unicode()),
        c => shown.push(c),
    }
}

/// The length of the colour or style that `text` begins with: ECMA-48's SELECT GRAPHIC RENDITION.
fn style(text: &str) -> Option<usize> {
    let codes = text.strip_prefix("\u{1b}[")?;
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    codes.get(end..)?.starts_with('m').then_some("\u{1b}[".len() + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_character_is_written_out() {
        let evil = "a\u{1b}]0;owned\u{7}b\u{9b}2Jc\rd\te\n\u{202e}é";
        assert_eq!(safe(evil), "a\\u{1b}]0;owned\\u{7}b\\u{9b}2Jc\\u{d}d\te\n\\u{202e}é");
        assert_eq!(safe("\u{1b}[8m"), "\\u{1b}[8m");
    }

    #[test]
    fn only_colours_and_styles_of_ours_remain() {
        let text = "\u{1b}[31;1mred\u{1b}[0m \u{1b}[2J\u{1b}]0;owned\u{7}é\u{1b}";
        assert_eq!(safe_but_styled(text), "\u{1b}[31;1mred\u{1b}[0m \\u{1b}[2J\\u{1b}]0;owned\\u{7}é\\u{1b}");
    }

    #[test]
    fn all_texts_within_are_safe() {
        let value = vec![Some("a\u{1b}".to_owned()), None];
        assert_eq!(all_safe(&value), [Some("a\\u{1b}".to_owned()), None]);
    }
}
