//! "Did you mean": the known name nearest to one that is not known.

/// ` (did you mean "x"?)`, or nothing when no known name is near.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let allowed = (name.chars().count() / 3).max(1);
    let nearest = known.into_iter().map(|k| (distance(name, k), k)).filter(|(d, _)| *d <= allowed).min();
    nearest.map_or_else(String::new, |(_, k)| format!(" (did you mean {k:?}?)"))
}

/// How many characters must be added, removed, replaced or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let at = |row: &[usize], k: usize| row.get(k).copied().unwrap_or(usize::MAX / 2);
            let mut cost =
                (at(&last, j) + usize::from(ca != cb)).min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(cb) && b.get(j - 1) == Some(ca);
            if swapped {
                cost = cost.min(at(&before_last, j - 1) + 1);
            }
            row.push(cost);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        assert_eq!(did_you_mean("sort_yb", ["sort_by", "group_by"]), " (did you mean \"sort_by\"?)");
        assert_eq!(did_you_mean("frobnicate", ["sort_by", "group_by"]), "");
    }
}
