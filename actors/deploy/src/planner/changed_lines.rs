//! The lines of two files that are not known to be the same, by the memory of their pieces.

use haptic_text::{
    Fragment, Text,
    alignment::{Stretch, align},
};
use std::ops::Range;

/// What is left of both when pieces that both have, in the same order, are taken away. Only whole lines are.
pub(super) fn changed_lines(old: &Text, new: &Text) -> (String, String) {
    let [old_pieces, new_pieces] = [old, new].map(|text| text.fragments().iter().collect::<Vec<_>>());
    let stretches = align(&old_pieces, &new_pieces, |piece| piece.address());
    let (mut left, mut right) = (String::new(), String::new());
    for (at, stretch) in stretches.iter().enumerate() {
        let Stretch::Differs { old: gone, new: come } = stretch else { continue };
        let is_last = at + 1 == stretches.len();
        let whole = [(&old_pieces, gone), (&new_pieces, come)]
            .iter()
            .all(|(all, range)| is_whole_lines(all, range, is_last));
        if !whole {
            return (old.to_string(), new.to_string());
        }
        part_of(&old_pieces, gone).iter().for_each(|piece| left.push_str(piece.as_str()));
        part_of(&new_pieces, come).iter().for_each(|piece| right.push_str(piece.as_str()));
    }
    (left, right)
}

fn is_whole_lines(all: &[&Fragment], range: &Range<usize>, is_last: bool) -> bool {
    let ends_before = |at: usize| at == 0 || part_of(all, &(at - 1..at)).iter().all(|piece| ends_line(piece));
    ends_before(range.start) && (is_last || ends_before(range.end))
}

fn ends_line(piece: &Fragment) -> bool {
    piece.as_str().ends_with('\n')
}

fn part_of<'l, 't>(all: &'l [&'t Fragment], range: &Range<usize>) -> &'l [&'t Fragment] {
    all.get(range.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
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
