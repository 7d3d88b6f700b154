//! "Did you mean": the known name nearest to one that is not known.

/// ` (did you mean "x"?)`, or nothing when no known name is near.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let allowed = (name.chars().count() / 3).max(1);
    let nearest =
        known.into_iter().map(|k| (strsim::osa_distance(name, k), k)).filter(|(d, _)| *d <= allowed).min();
    nearest.map_or_else(String::new, |(_, k)| format!(" (did you mean {k:?}?)"))
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
