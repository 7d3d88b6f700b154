//! Which stretches of two lists are the same things in the same order, such as the pieces of two generations of a file.
//!
//! Things are the same when they are the same piece of memory. Any result is a right one; one with long stretches of
//! the same is a good one. It costs a comparison of addresses a thing, and a table only where much has moved.

use crate::{Fragment, Text, TextRun};
use std::{collections::HashMap, ops::Range};

/// A stretch of both lists. Stretches follow one another without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// The same things, so both ranges are of one length.
    Same {
        /// In the old list.
        old: Range<usize>,
        /// In the new list.
        new: Range<usize>,
    },
    /// What is in one of the lists only, or elsewhere in the other. One range may be empty.
    Differs {
        /// In the old list.
        old: Range<usize>,
        /// In the new list.
        new: Range<usize>,
    },
}

/// So many things ahead, counted in both lists together, are looked at before a table is made.
const AHEAD: usize = 12;
/// So many candidates of the table are weighed against each other.
const WEIGHED: usize = 32;

/// Aligns two lists. `identity` tells things apart: an address.
pub fn align<T>(old: &[T], new: &[T], identity: impl Fn(&T) -> usize) -> Vec<Stretch> {
    let same = |(a, b): &(&T, &T)| identity(a) == identity(b);
    let start = old.iter().zip(new).take_while(same).count();
    let shorter = old.len().min(new.len());
    let end = old.iter().rev().zip(new.iter().rev()).take(shorter - start).take_while(same).count();
    let middle = Middle {
        old: old.get(start..old.len() - end).unwrap_or_default(),
        new: new.get(start..new.len() - end).unwrap_or_default(),
        identity,
        positions: None,
    };
    let mut stretches = Stretches::default();
    stretches.same(start);
    middle.align(&mut stretches);
    stretches.same(end);
    stretches.found
}

/// Aligns the pieces of two texts, run by run: of a run that both have no piece is looked at.
#[must_use]
pub fn align_pieces(old: &Text, new: &Text) -> Vec<Stretch> {
    let mut stretches = Stretches::default();
    for stretch in align(old.runs(), new.runs(), TextRun::address) {
        match stretch {
            Stretch::Same { old: runs, .. } => stretches.same(pieces_of(old, runs).count()),
            Stretch::Differs { old: gone, new: come } => {
                let (gone, come) =
                    (pieces_of(old, gone).collect::<Vec<_>>(), pieces_of(new, come).collect::<Vec<_>>());
                for stretch in align(&gone, &come, |piece| piece.address()) {
                    match stretch {
                        Stretch::Same { old, .. } => stretches.same(old.len()),
                        Stretch::Differs { old, new } => stretches.differs(old.len(), new.len()),
                    }
                }
            }
        }
    }
    stretches.found
}

fn pieces_of(text: &Text, runs: Range<usize>) -> impl Iterator<Item = &Fragment> {
    text.runs().get(runs).unwrap_or_default().iter().flat_map(TextRun::fragments)
}

/// What is between the common start and the common end.
struct Middle<'l, T, F> {
    old: &'l [T],
    new: &'l [T],
    identity: F,
    /// Where in the old list each thing is, in order.
    positions: Option<HashMap<usize, Vec<usize>>>,
}

impl<T, F: Fn(&T) -> usize> Middle<'_, T, F> {
    fn align(mut self, stretches: &mut Stretches) {
        let (mut old, mut new) = (0, 0);
        while old < self.old.len() || new < self.new.len() {
            let (left, right) = (self.old.iter().skip(old), self.new.iter().skip(new));
            let run = left.zip(right).take_while(|(a, b)| (self.identity)(a) == (self.identity)(b)).count();
            stretches.same(run);
            (old, new) = (old + run, new + run);
            let (gone, come) = self.gap(old, new);
            stretches.differs(gone, come);
            (old, new) = (old + gone, new + come);
        }
    }

    /// How many things of each list to pass over until both have the same.
    fn gap(&mut self, old: usize, new: usize) -> (usize, usize) {
        let near = (1..=AHEAD).flat_map(|both| (0..=both).map(move |gone| (gone, both - gone)));
        let meets = |(gone, come): &(usize, usize)| {
            let pair = self.old.get(old + gone).zip(self.new.get(new + come));
            pair.is_some_and(|(a, b)| (self.identity)(a) == (self.identity)(b))
        };
        let rest = (self.old.len() - old, self.new.len() - new);
        if let Some(found) = near.into_iter().find(meets) {
            return found;
        }
        if rest.0 + rest.1 <= AHEAD {
            return rest;
        }
        self.far(old, new).unwrap_or(rest)
    }

    fn far(&mut self, old: usize, new: usize) -> Option<(usize, usize)> {
        let (list, identity) = (self.old, &self.identity);
        let positions = self.positions.get_or_insert_with(|| {
            let mut positions: HashMap<usize, Vec<usize>> = HashMap::with_capacity(list.len());
            for (at, thing) in list.iter().enumerate() {
                positions.entry(identity(thing)).or_default().push(at);
            }
            positions
        });
        let candidates = self.new.iter().skip(new).enumerate().filter_map(|(come, thing)| {
            let places = positions.get(&identity(thing))?;
            let place = places.get(places.partition_point(|place| *place < old))?;
            Some((place - old, come))
        });
        candidates.take(WEIGHED).min_by_key(|(gone, come)| gone + come)
    }
}

#[derive(Default)]
struct Stretches {
    found: Vec<Stretch>,
    old: usize,
    new: usize,
}

impl Stretches {
    fn same(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let (old, new) = self.take(count, count);
        match self.found.last_mut() {
            Some(Stretch::Same { old: before, new: also }) => (before.end, also.end) = (old.end, new.end),
            _ => self.found.push(Stretch::Same { old, new }),
        }
    }

    fn differs(&mut self, gone: usize, come: usize) {
        if gone + come == 0 {
            return;
        }
        let (old, new) = self.take(gone, come);
        match self.found.last_mut() {
            Some(Stretch::Differs { old: before, new: also }) => (before.end, also.end) = (old.end, new.end),
            _ => self.found.push(Stretch::Differs { old, new }),
        }
    }

    fn take(&mut self, old: usize, new: usize) -> (Range<usize>, Range<usize>) {
        let ranges = (self.old..self.old + old, self.new..self.new + new);
        (self.old, self.new) = (self.old + old, self.new + new);
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextBuilder;
    use std::sync::Arc;

    /// A small generator is enough: the assertions are in [`shown`].
    fn dice() -> impl FnMut(usize) -> usize {
        let mut state = 7_usize;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        }
    }

    /// The stretches as text, `-` before what is gone and `+` before what has come; checked to be right.
    fn aligned(old: &[usize], new: &[usize]) -> String {
        shown(&align(old, new, |thing| *thing), old, new)
    }

    fn shown(stretches: &[Stretch], old: &[usize], new: &[usize]) -> String {
        let mut shown = Vec::new();
        let (mut at_old, mut at_new) = (0, 0);
        for stretch in stretches {
            let (Stretch::Same { old: left, new: right } | Stretch::Differs { old: left, new: right }) =
                stretch.clone();
            assert_eq!((left.start, right.start), (at_old, at_new), "no gap and no overlap");
            (at_old, at_new) = (left.end, right.end);
            if let Stretch::Same { .. } = stretch {
                assert_eq!(old[left.clone()], new[right]);
                shown.push(format!("={}", left.len()));
            } else {
                shown.push(format!("-{}+{}", left.len(), right.len()));
            }
        }
        assert_eq!((at_old, at_new), (old.len(), new.len()), "to the end of both");
        shown.join(" ")
    }

    /// Where a text's pieces are in memory.
    fn addresses(text: &Text) -> Vec<usize> {
        text.fragments().iter().map(Fragment::address).collect()
    }

    #[test]
    fn texts_of_any_runs_are_aligned_without_gaps_and_a_run_of_both_is_the_same() {
        let mut next = dice();
        let piece = |number: usize| Fragment::new(format!("{number}\n"), Arc::default());
        for _ in 0..500 {
            let pieces: Vec<Fragment> = (0..12).map(piece).collect();
            let runs: Vec<TextRun> = (0..6)
                .map(|_| TextRun::new((0..next(4)).map(|_| pieces[next(12)].clone()).collect()))
                .collect();
            let mut text = || {
                let mut text = TextBuilder::default();
                for _ in 0..next(12) {
                    match next(3) {
                        0 => text.fragment(pieces[next(12)].clone()),
                        _ => text.run(runs[next(6)].clone()),
                    }
                }
                text.finish()
            };
            let (old, new) = (text(), text());
            let stretches = align_pieces(&old, &new);
            shown(&stretches, &addresses(&old), &addresses(&new));
            for text in [&old, &new] {
                let (start, end) = (next(20), next(20));
                let ranged: Vec<usize> = text.fragments().range(start..end).map(Fragment::address).collect();
                let all = addresses(text);
                let end = end.min(all.len());
                assert_eq!(ranged, all.get(start..end.max(start)).unwrap_or_default());
            }
        }
    }

    #[test]
    fn one_run_that_changed_is_looked_into_and_those_around_it_are_not() {
        let run = |from: usize| {
            let piece = |number: usize| Fragment::new(number.to_string(), Arc::default());
            TextRun::new((from..from + 100).map(piece).collect())
        };
        let text = |runs: &[&TextRun]| {
            let mut text = TextBuilder::default();
            runs.iter().for_each(|run| text.run((*run).clone()));
            text.finish()
        };
        let [a, b, c] = [run(0), run(100), run(200)];
        let mut pieces = b.fragments().to_vec();
        pieces[50] = Fragment::new("other", Arc::default());
        let changed = TextRun::new(pieces);
        let (old, new) = (text(&[&a, &b, &c]), text(&[&a, &changed, &c]));
        let stretches = align_pieces(&old, &new);
        assert_eq!(shown(&stretches, &addresses(&old), &addresses(&new)), "=150 -1+1 =149");
    }

    /// Where, how many go, how many come.
    type Change = (usize, usize, usize);

    #[test]
    fn changes_far_apart_leave_what_is_between_them() {
        let old: Vec<usize> = (0..1000).collect();
        // What goes from where, and what comes in its place; from the end, so that positions stay.
        let cases: [(&[Change], &str); 9] = [
            (&[], "=1000"),
            (&[(500, 1, 1)], "=500 -1+1 =499"),
            (&[(500, 0, 1)], "=500 -0+1 =500"),
            (&[(500, 1, 0)], "=500 -1+0 =499"),
            (&[(900, 1, 1), (10, 1, 1)], "=10 -1+1 =889 -1+1 =99"),
            (&[(900, 1, 0), (10, 0, 1)], "=10 -0+1 =890 -1+0 =99"),
            (&[(100, 100, 0)], "=100 -100+0 =800"),
            (&[(700, 100, 0), (100, 100, 0)], "=100 -100+0 =500 -100+0 =200"),
            (&[(0, 1000, 0)], "-1000+0"),
        ];
        for (changes, expected) in cases {
            let mut new = old.clone();
            for (number, (at, gone, come)) in changes.iter().enumerate() {
                new.splice(*at..at + gone, (0..*come).map(|n| 9000 + 100 * number + n));
            }
            assert_eq!(aligned(&old, &new), expected);
        }
        assert_eq!(aligned(&[], &[]), "");
        assert_eq!(aligned(&[], &[1]), "-0+1");
    }

    #[test]
    fn any_two_lists_are_aligned_without_gaps() {
        let mut next = dice();
        for _ in 0..500 {
            let (length, kinds) = (next(60), 1 + next(40));
            let old: Vec<usize> = (0..length).map(|_| next(kinds)).collect();
            let length = next(60);
            let new: Vec<usize> = (0..length).map(|_| next(kinds)).collect();
            aligned(&old, &new);
        }
    }
}
