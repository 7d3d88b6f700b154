//! The lines of two files that are not known to be the same, by the memory of their pieces.

use haptic_text::{
    Text,
    alignment::{Stretch, align_pieces},
};
use std::ops::Range;

/// What is left of both when pieces that both have, in the same order, are taken away. Only whole lines are.
pub(super) fn changed_lines(old: &Text, new: &Text) -> (String, String) {
    let stretches = align_pieces(old, new);
    let (mut left, mut right) = (String::new(), String::new());
    for (at, stretch) in stretches.iter().enumerate() {
        let Stretch::Differs { old: gone, new: come } = stretch else { continue };
        let is_last = at + 1 == stretches.len();
        if !is_whole_lines(old, gone, is_last) || !is_whole_lines(new, come, is_last) {
            return (old.to_string(), new.to_string());
        }
        old.fragments().range(gone.clone()).for_each(|piece| left.push_str(piece.as_str()));
        new.fragments().range(come.clone()).for_each(|piece| right.push_str(piece.as_str()));
    }
    (left, right)
}

fn is_whole_lines(text: &Text, range: &Range<usize>, is_last: bool) -> bool {
    let ends_before = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| text.fragments().get(before));
        before.is_none_or(|piece| piece.as_str().ends_with('\n'))
    };
    ends_before(range.start) && (is_last || ends_before(range.end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_text::Fragment;
    use std::sync::Arc;

    fn fragments(pieces: &[&str]) -> Vec<Fragment> {
        pieces.iter().map(|piece| Fragment::new(*piece, Arc::default())).collect()
    }

    #[test]
    fn only_whole_lines_are_left_out() {
        let shared = fragments(&["a 1\n", "b ", "2\n", "c 3\n"]);
        let new = fragments(&["x 9\n", "7\n"]);
        let text = |pieces: &[&Fragment]| Text::new(pieces.iter().map(|piece| (*piece).clone()).collect());
        let [a, b, two, c] = shared.as_slice() else { panic!() };
        let [x, seven] = new.as_slice() else { panic!() };
        let old = text(&[a, b, two, c]);
        let lines = |new: &[&Fragment]| changed_lines(&old, &text(new));
        assert_eq!(lines(&[a, b, two, c]), (String::new(), String::new()));
        assert_eq!(lines(&[a, x, b, two, c]), (String::new(), "x 9\n".to_owned()));
        assert_eq!(lines(&[a, b, two]), ("c 3\n".to_owned(), String::new()));
        assert_eq!(lines(&[x, b, two, c]), ("a 1\n".to_owned(), "x 9\n".to_owned()));
        assert_eq!(lines(&[a, b, seven, c]), ("a 1\nb 2\nc 3\n".to_owned(), "a 1\nb 7\nc 3\n".to_owned()));
    }
}
