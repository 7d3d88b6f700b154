//! From one map or ACL file to another, entry by entry where the order of entries does not matter, else as a whole.

use super::usages::{How, Match, Usage, matches};
use haptic_model::{
    Operation,
    pattern_file::{map_entries, patterns},
};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    net::IpAddr,
};

/// More changed entries are brought by replacing the whole map, which is one exchange instead of thousands.
const SINGLY: usize = 1000;
/// Bytes of an entry that a socket command surely takes (`tune.bufsize` is 16,384), escaped.
const LONGEST: usize = 4000;

type Entries<'a> = Vec<(&'a str, &'a str)>;

/// The operations from `old` to `new`, in no order, or why it needs a reload.
pub(super) fn changes(path: &str, usages: &[Usage], old: &str, new: &str) -> Result<Vec<Operation>, String> {
    if usages.iter().all(|usage| usage.how == How::Acl) {
        return acl(path, old, new);
    }
    if usages.iter().any(|usage| usage.how == How::Rewritten) {
        return Err("rules of haproxy.cfg change it in memory".to_owned());
    }
    match matches(usages) {
        Some(matches) => map(path, &matches, &map_entries(old).collect(), &map_entries(new).collect()),
        None => Err("it is used for more than lookups".to_owned()),
    }
}

fn map(path: &str, kinds: &[Match], old: &Entries<'_>, new: &Entries<'_>) -> Result<Vec<Operation>, String> {
    if old == new {
        return Ok(Vec::new());
    }
    let whole = || {
        new.iter().try_for_each(|(key, value)| check(key, value))?;
        Ok(vec![Operation::ReplaceMap { map: path.to_owned() }])
    };
    if kinds.iter().any(|kind| has_order(*kind, old) || has_order(*kind, new)) {
        return whole();
    }
    let before: HashMap<&str, &str> = old.iter().copied().collect();
    let after: HashMap<&str, &str> = new.iter().copied().collect();
    let mut operations = Vec::new();
    for (key, value) in new {
        let (map, key, value) = (path.to_owned(), (*key).to_owned(), (*value).to_owned());
        match before.get(key.as_str()) {
            Some(known) if *known == value => {}
            Some(_) => operations.push(Operation::SetMapEntry { map, key, value }),
            None => operations.push(Operation::AddMapEntry { map, key, value }),
        }
    }
    for (key, _) in old.iter().filter(|(key, _)| !after.contains_key(key)) {
        operations.push(Operation::DelMapEntry { map: path.to_owned(), key: (*key).to_owned() });
    }
    if operations.len() > SINGLY || operations.iter().any(names_a_reference) {
        return whole();
    }
    operations.iter().try_for_each(|operation| match operation {
        Operation::SetMapEntry { key, value, .. } | Operation::AddMapEntry { key, value, .. } => {
            check(key, value)
        }
        Operation::DelMapEntry { key, .. } => check(key, "x"),
        _ => Ok(()),
    })?;
    Ok(operations)
}

/// The socket takes `#0x…` for the address of an entry.
fn names_a_reference(operation: &Operation) -> bool {
    matches!(operation, Operation::SetMapEntry { key, .. } | Operation::DelMapEntry { key, .. } if key.starts_with('#'))
}

/// What the socket does not take.
fn check(key: &str, value: &str) -> Result<(), String> {
    let shown = key.chars().take(60).collect::<String>();
    if value.is_empty() {
        return Err(format!("its entry {shown} has no value, and the socket takes none without"));
    }
    if key.len() + value.len() > LONGEST {
        return Err(format!("its entry {shown} is too long for the socket"));
    }
    if key.chars().chain(value.chars()).any(|c| c.is_control() && c != '\t') {
        return Err(format!("its entry {shown} has a control character"));
    }
    Ok(())
}

/// Whether it matters in which order the entries stand: when two may match the same.
fn has_order(kind: Match, entries: &Entries<'_>) -> bool {
    let mut seen = HashSet::with_capacity(entries.len());
    entries.iter().any(|(key, _)| canonical(kind, key).is_none_or(|key| !seen.insert(key)))
}

/// What a key matches, so that equal ones match the same and others never do; `None` when that cannot be told.
fn canonical(kind: Match, key: &str) -> Option<Cow<'_, str>> {
    match kind {
        Match::Exact | Match::Prefix => Some(Cow::Borrowed(key)),
        Match::Number => key.parse::<i64>().ok().map(|number| Cow::Owned(number.to_string())),
        Match::Network => network(key).map(Cow::Owned),
        Match::First => None,
    }
}

/// `10.1.2.3/8` as `10.0.0.0/8`.
fn network(key: &str) -> Option<String> {
    let (address, length) =
        key.split_once('/').map_or((key, None), |(address, length)| (address, Some(length)));
    let length: Option<u32> = length.map(str::parse).transpose().ok()?;
    match address.parse().ok()? {
        IpAddr::V4(address) => {
            let length = length.unwrap_or(32);
            let mask = u32::MAX.checked_shl(32_u32.checked_sub(length)?).unwrap_or(0);
            Some(format!("4 {}/{length}", u32::from(address) & mask))
        }
        IpAddr::V6(address) => {
            let length = length.unwrap_or(128);
            let mask = u128::MAX.checked_shl(128_u32.checked_sub(length)?).unwrap_or(0);
            Some(format!("6 {}/{length}", u128::from(address) & mask))
        }
    }
}

/// Whether a condition holds does not depend on the order of its patterns.
fn acl(path: &str, old: &str, new: &str) -> Result<Vec<Operation>, String> {
    let before: HashSet<&str> = patterns(old).collect();
    let after: HashSet<&str> = patterns(new).collect();
    let mut operations = Vec::new();
    for pattern in after.difference(&before) {
        operations.push(Operation::AddAclEntry { acl: path.to_owned(), pattern: (*pattern).to_owned() });
    }
    for pattern in before.difference(&after) {
        operations.push(Operation::DelAclEntry { acl: path.to_owned(), pattern: (*pattern).to_owned() });
    }
    if operations.len() > SINGLY {
        return Err(format!("{} of its patterns change", operations.len()));
    }
    for pattern in before.symmetric_difference(&after) {
        check(pattern, "x")?;
        if pattern.starts_with('#') {
            return Err(format!("its pattern {pattern} begins with #, which is an address to the socket"));
        }
    }
    operations.sort_by_key(ToString::to_string);
    Ok(operations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(how: How, old: &str, new: &str) -> String {
        let lines = |text: &str| text.split("; ").map(|line| format!("{line}\n")).collect::<String>();
        match changes("m", &[Usage { line: 1, how }], &lines(old), &lines(new)) {
            Ok(operations) => operations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            Err(why) => format!("reload: {why}"),
        }
    }

    #[test]
    fn entries_change_singly_where_their_order_does_not_matter() {
        for kind in [Match::Exact, Match::Prefix] {
            for (old, new, expected) in [
                ("a 1", "a 1", ""),
                ("# x; a  1", "a 1; # y", ""),
                ("a 1; b 2", "b 2; a 1", ""),
                ("a 1", "a 2", "set map m a 2"),
                ("a 1", "b 1; a 1", "add map m b 1"),
                ("a 1; b 2", "b 2", "del map m a"),
                ("a 1; b 2", "c 3; b 4", "add map m c 3; set map m b 4; del map m a"),
                ("a 1; a 2", "a 1", "replace map m"),
                ("a 1", "a 1; a 1", "replace map m"),
                ("a 1", "a 1; b", "reload: its entry b has no value, and the socket takes none without"),
                ("#x 1; a 1", "a 1", ""),
                (" #x 1; a 1", "a 1", "replace map m"),
            ] {
                assert_eq!(show(How::Map(kind), old, new), expected, "{old} -> {new}");
            }
        }
    }

    #[test]
    fn maps_whose_first_match_wins_are_replaced() {
        assert_eq!(show(How::Map(Match::First), "a 1", "a 1; b 2"), "replace map m");
        assert_eq!(show(How::Map(Match::First), "a 1; b 2", "b 2; a 1"), "replace map m");
        assert_eq!(
            show(How::Map(Match::Network), "10.0.0.0/8 1", "10.0.0.0/8 1; 10.1.0.0/16 2"),
            "add map m 10.1.0.0/16 2"
        );
        assert_eq!(
            show(How::Map(Match::Network), "10.0.0.0/8 1", "10.0.0.0/8 1; 10.1.0.0/8 2"),
            "replace map m"
        );
        assert_eq!(show(How::Map(Match::Number), "1 1", "1 1; 2 2"), "add map m 2 2");
        assert_eq!(show(How::Map(Match::Number), "1 1", "1 1; 2:5 2"), "replace map m");
    }

    #[test]
    fn patterns_of_conditions_come_and_go_in_any_order() {
        assert_eq!(show(How::Acl, "a b; c", "c; d"), "add acl m d; del acl m a b");
        assert_eq!(show(How::Acl, "a; c", "c; a"), "");
    }

    #[test]
    fn many_changes_replace_the_map() {
        let new: String = (0..=SINGLY).map(|n| format!("k{n} v\n")).collect();
        let usage = [Usage { line: 1, how: How::Map(Match::Exact) }];
        assert_eq!(changes("m", &usage, "", &new).unwrap(), [Operation::ReplaceMap { map: "m".to_owned() }]);
    }

    #[test]
    fn a_map_that_rules_change_is_a_reload() {
        assert_eq!(show(How::Rewritten, "a 1", "a 2"), "reload: rules of haproxy.cfg change it in memory");
    }
}
