//! Quotations in messages: never more than anybody reads. Whatever an object holds, the sentence about it is short.

use std::borrow::Cow;

/// The most bytes of a value that are quoted.
pub const QUOTE: usize = 200;
/// The most bytes of a sentence.
pub const SENTENCE: usize = 1_000;

/// `text`, or its first bytes with `…` behind them, cut between two characters.
#[must_use]
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.get(..text.floor_char_boundary(most)) {
        Some(start) if start.len() < text.len() => Cow::Owned(format!("{start}…")),
        _ => Cow::Borrowed(text),
    }
}

/// [`cut`] of a text that is not needed any more.
#[must_use]
pub fn shortened(text: String, most: usize) -> String {
    if text.len() <= most { text } else { cut(&text, most).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_two_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "abc…");
        assert_eq!(cut("aää", 2), "a…");
        assert_eq!(shortened("ä".repeat(1000), QUOTE).len(), QUOTE + "…".len());
    }
}
