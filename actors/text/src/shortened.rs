//! Quotations are never more than anybody reads: whatever an object holds, the sentence about it is short.

use std::borrow::Cow;

/// `text`, or its first `most` bytes with `…` behind them, cut between two characters.
#[must_use]
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.get(..text.floor_char_boundary(most)) {
        Some(start) if start.len() < text.len() => Cow::Owned(format!("{start}…")),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_two_characters() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("abcd", 3), "abc…");
        assert_eq!(shortened("aää", 2), "a…");
    }
}
