//! "Did you mean": the known name nearest to one that is not known.

/// No name is longer: what is was written by somebody who counts on the time that it takes to compare.
const LONGEST: usize = 64;

/// ` (did you mean "x"?)`, or nothing when no known name is near.
#[must_use]
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"))
}

/// The known name nearest to `name`, if one is near.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let known = known.into_iter().filter(|known| known.len() <= LONGEST);
    let allowed = (name.chars().count() / 3).max(1);
    let is_near =
        |(distance, known): &(usize, &str)| *distance <= allowed || is_longer_by_a_word(name, known);
    known.map(|k| (strsim::osa_distance(name, k), k)).filter(is_near).min().map(|(_, near)| near)
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
