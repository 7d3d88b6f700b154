//! How long the groups of things are that stand again as a whole: a change then costs a look at each group, and at each thing in one of them.

/// A group has no more; where it grows beyond that, it becomes two. Tests have few things, and are to have many groups of them.
const MOST: usize = if cfg!(debug_assertions) { 3 } else { 192 };
/// Of no more than this, neighbours become one group.
const FEW: usize = MOST / 3;

/// Whether neighbours of so many things become one group.
#[must_use]
pub fn may_join(one: usize, other: usize) -> bool {
    one.min(other) <= FEW && one + other <= MOST
}

/// `things` in groups of about the same length.
pub fn in_groups<T>(things: &[T]) -> impl Iterator<Item = &[T]> {
    let groups = things.len().div_ceil(MOST).max(1);
    things.chunks(things.len().div_ceil(groups).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_of_about_the_same_length_and_few_join_their_neighbours() {
        let things: Vec<usize> = (0..2 * MOST + 1).collect();
        let lengths: Vec<usize> = in_groups(&things).map(<[usize]>::len).collect();
        assert_eq!((lengths.len(), lengths.iter().sum()), (3, things.len()));
        assert!(lengths.iter().all(|length| *length <= MOST && *length + 2 > things.len() / 3));
        assert_eq!(in_groups::<usize>(&[]).count(), 0);
        assert!(may_join(FEW, MOST - FEW) && may_join(MOST - FEW, FEW));
        assert!(!may_join(FEW, MOST) && !may_join(FEW + 1, FEW + 1));
    }
}
