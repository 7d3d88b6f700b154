//! Map and ACL files as HAProxy reads them (`pat_ref_read_from_file_smp` and `pat_ref_read_from_file`, tried on 3.0,
//! 3.2 and 3.4). Planner and agent must agree on this, and with HAProxy.

/// The entries of a map file, in order: key and value. The value is everything after the key's blanks, without
/// the blanks at the line's end; a `#` is a comment only as the first character of a line.
pub fn map_entries(text: &str) -> impl Iterator<Item = (&str, &str)> {
    patterns(text).map(|line| {
        let end = line.find([' ', '\t']).unwrap_or(line.len());
        let (key, value) = line.split_at(end);
        (key, value.trim_matches([' ', '\t']))
    })
}

/// The patterns of an ACL file, in order: each is a line without the blanks at its start.
pub fn patterns(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.split('\n').filter(|line| !line.starts_with('#'));
    // HAProxy ends a line at its first carriage return or zero, too.
    let lines = lines.map(|line| line.split(['\r', '\0']).next().unwrap_or_default());
    lines.map(|line| line.trim_start_matches([' ', '\t'])).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read_by_haproxys_rules() {
        let text = "# c\n # k\n  a.example  x  \n\nb\tx y # no\nc\n\td v\r\ne f\0 g\n\0h i\n";
        let read: Vec<_> = map_entries(text).collect();
        assert_eq!(
            read,
            [("#", "k"), ("a.example", "x"), ("b", "x y # no"), ("c", ""), ("d", "v"), ("e", "f")]
        );
    }

    #[test]
    fn acl_patterns_are_whole_lines() {
        assert_eq!(patterns("# c\n  a b \n\nc\r\n").collect::<Vec<_>>(), ["a b ", "c"]);
    }
}
