//! "Did you mean": the known name nearest to one that is not known.

/// No name is longer: what is was written by somebody who counts on the time that it takes to compare.
const LONGEST: usize = 64;

/// ` (did you mean "x"?)`, or nothing when no known name is near.
#[must_use]
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    if name.len() > LONGEST {
        return String::new();
    }
    let known = known.into_iter().filter(|known| known.len() <= LONGEST);
    let allowed = (name.chars().count() / 3).max(1);
    let is_near =
        |(distance, known): &(usize, &str)| *distance <= allowed || is_longer_by_a_word(name, known);
    let nearest = known.map(|k| (strsim::osa_distance(name, k), k)).filter(is_near).min();
    nearest.map_or_else(String::new, |(_, k)| format!(" (did you mean {k:?}?)"))
}

/// `lowercase` is `lower`, and more.
fn is_longer_by_a_word(name: &str, known: &str) -> bool {
    known.len() >= 4 && name.starts_with(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        assert_eq!(did_you_mean("sort_yb", ["sort_by", "group_by"]), " (did you mean \"sort_by\"?)");
        assert_eq!(did_you_mean("lowercase", ["lower", "upper"]), " (did you mean \"lower\"?)");
        assert_eq!(did_you_mean("frobnicate", ["sort_by", "group_by"]), "");
    }
}
