//! From one map or ACL file to another, entry by entry where the order of entries does not matter, else as a whole.

use super::{
    changed_lines::changed_lines,
    usages::{How, KeyMatch, Usage, matches},
    view::RunningView,
};
use haptic_model::{Operation, map_entry};
use haptic_text::{
    Text,
    pattern_file::{map_entries, patterns},
};
use std::collections::{HashMap, HashSet};

/// Changed entries that are brought one by one in a map of any size.
const SINGLY: usize = 100;
/// In a larger map, one of so many entries. Measured on HAProxy 3.0, 3.2 and 3.4 (2 cores, commands pipelined): a single `set map`
/// takes 4 to 7 us, 20 to 30 us when there are thousands; replacing takes 3 to 10 us for each entry of the new map. So 1,000 of
/// 10,000 entries are 5 ms singly and 30 ms as a whole, 3,000 about the same, 10,000 are 250 ms and 30 ms.
const OF_ALL: usize = 4;
/// More changed patterns of a condition are a reload.
const PATTERNS: usize = 10_000;

/// A map or ACL file that a running HAProxy uses for lookups.
pub(super) struct Lookup<'l> {
    pub path: &'l str,
    pub usages: &'l [Usage],
    /// Where what is known of its keys is found, and kept.
    pub running: &'l RunningView,
    pub desired: &'l RunningView,
}

impl Lookup<'_> {
    /// The operations from `old` to `new`, in no order, or why it needs a reload.
    pub fn changes(&self, old: &Text, new: &Text) -> Result<Vec<Operation>, String> {
        if self.usages.iter().all(|usage| usage.how == How::Acl) {
            return acl(self.path, &old.to_string(), &new.to_string());
        }
        if self.usages.iter().any(|usage| usage.how == How::Rewritten) {
            return Err("rules of haproxy.cfg change it in memory".to_owned());
        }
        let kinds = matches(self.usages).ok_or("it is used for more than lookups")?;
        if let Some(operations) = self.singly(&kinds, old, new) {
            return operations.iter().try_for_each(check_entry).map(|()| operations);
        }
        let (old, new) = (old.to_string(), new.to_string());
        if map_entries(&old).eq(map_entries(&new)) { Ok(Vec::new()) } else { self.whole(&new) }
    }

    /// Entry by entry; `None` when the order of entries may matter, or the socket takes the whole map only.
    fn singly(&self, kinds: &[KeyMatch], old: &Text, new: &Text) -> Option<Vec<Operation>> {
        let before = self.running.keys(self.path, kinds)?;
        let (old, new) = changed_lines(old, new);
        let keys = before.after(&old, &new)?;
        let most = SINGLY.max(keys.entries() / OF_ALL);
        self.desired.keep_keys(self.path, keys);
        let operations = entry_by_entry(self.path, &old, &new);
        let one_by_one = operations.len() <= most && !operations.iter().any(names_a_reference);
        one_by_one.then_some(operations)
    }

    fn whole(&self, new: &str) -> Result<Vec<Operation>, String> {
        map_entries(new).try_for_each(|(key, value)| check(key, value))?;
        Ok(vec![Operation::ReplaceMap { map: self.path.to_owned() }])
    }
}

/// Keys are there once in each of both. New entries come before those that change: one may lead to the other, as a choice does to what is chosen.
fn entry_by_entry(path: &str, old: &str, new: &str) -> Vec<Operation> {
    let before: HashMap<&str, &str> = map_entries(old).collect();
    let after: HashMap<&str, &str> = map_entries(new).collect();
    let (mut operations, mut changes) = (Vec::new(), Vec::new());
    for (key, value) in map_entries(new) {
        let (map, key, value) = (path.to_owned(), key.to_owned(), value.to_owned());
        match before.get(key.as_str()) {
            Some(known) if *known == value => {}
            Some(_) => changes.push(Operation::SetMapEntry { map, key, value }),
            None => operations.push(Operation::AddMapEntry { map, key, value }),
        }
    }
    operations.append(&mut changes);
    for (key, _) in map_entries(old).filter(|(key, _)| !after.contains_key(key)) {
        operations.push(Operation::DelMapEntry { map: path.to_owned(), key: key.to_owned() });
    }
    operations
}

/// The socket takes `#0x…` for the address of an entry, and `@1` for a version: agents send no key that begins so singly.
fn names_a_reference(operation: &Operation) -> bool {
    match operation {
        Operation::SetMapEntry { key, .. }
        | Operation::AddMapEntry { key, .. }
        | Operation::DelMapEntry { key, .. } => key.starts_with(['#', '@']),
        _ => false,
    }
}

fn check_entry(operation: &Operation) -> Result<(), String> {
    match operation {
        Operation::SetMapEntry { key, value, .. } | Operation::AddMapEntry { key, value, .. } => {
            check(key, value)
        }
        Operation::DelMapEntry { key, .. } => check(key, "x"),
        _ => Ok(()),
    }
}

/// What the socket does not take.
fn check(key: &str, value: &str) -> Result<(), String> {
    let shown = key.chars().take(60).collect::<String>();
    if value.is_empty() {
        return Err(format!("its entry {shown} has no value, and the socket takes none without"));
    }
    if key.len() + value.len() > map_entry::LONGEST {
        return Err(format!("its entry {shown} is too long for the socket"));
    }
    if key.starts_with("<<") || value.starts_with("<<") {
        return Err(format!(
            "its entry {shown} has << at the start of a word, and the socket takes more lines then"
        ));
    }
    if key.chars().chain(value.chars()).any(|c| c.is_control() && c != '\t') {
        return Err(format!("its entry {shown} has a control character"));
    }
    Ok(())
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
    if operations.len() > PATTERNS {
        return Err(format!("{} of its patterns change", operations.len()));
    }
    for pattern in before.symmetric_difference(&after) {
        check(pattern, "x")?;
        if pattern.starts_with(['#', '@']) {
            return Err(format!("its pattern {pattern} begins like an address or a version to the socket"));
        }
    }
    operations.sort_by_key(ToString::to_string);
    Ok(operations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{Bundle, BundleFile, FileKey, FileKind};

    /// By a plan from one bundle to the other, as with files that share no piece.
    fn changes(how: How, old: &str, new: &str) -> Result<Vec<Operation>, String> {
        let view = |text: &str| {
            let map = BundleFile::new(FileKey::new(FileKind::Map, "m"), "m", Text::plain(text));
            let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(""));
            RunningView::of(Bundle::new(config, [map]))
        };
        let (running, desired) = (view(old), view(new));
        let lookup =
            Lookup { path: "m", usages: &[Usage { how, places: 1 }], running: &running, desired: &desired };
        lookup.changes(&Text::plain(old), &Text::plain(new))
    }

    fn show(how: How, old: &str, new: &str) -> String {
        let lines = |text: &str| text.split("; ").map(|line| format!("{line}\n")).collect::<String>();
        match changes(how, &lines(old), &lines(new)) {
            Ok(operations) => operations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
            Err(why) => format!("reload: {why}"),
        }
    }

    #[test]
    fn entries_change_singly_where_their_order_does_not_matter() {
        for kind in [KeyMatch::Exact, KeyMatch::Prefix] {
            for (old, new, expected) in [
                ("a 1", "a 1", ""),
                ("# x; a  1", "a 1; # y", ""),
                ("a 1; b 2", "b 2; a 1", ""),
                ("a 1", "a 2", "set map m a 2"),
                ("a 1", "b 1; a 1", "add map m b 1"),
                ("a 1; b 2", "b 2", "del map m a"),
                ("a 1; b 2", "c 3; b 4", "add map m c 3; set map m b 4; del map m a"),
                ("a b", "a c; c 1", "add map m c 1; set map m a c"),
                ("a 1; a 2", "a 1", "replace map m"),
                ("a 1", "a 1; a 1", "replace map m"),
                ("a 1", "a 1; b", "reload: its entry b has no value, and the socket takes none without"),
                ("#x 1; a 1", "a 1", ""),
                (" #x 1; a 1", "a 1", "replace map m"),
                ("a 1", "a 1; @x 2", "replace map m"),
                (
                    "a 1",
                    "a <<",
                    "reload: its entry a has << at the start of a word, and the socket takes more lines then",
                ),
            ] {
                assert_eq!(show(How::Map(kind), old, new), expected, "{old} -> {new}");
            }
        }
    }

    #[test]
    fn maps_whose_first_match_wins_are_replaced() {
        assert_eq!(show(How::Map(KeyMatch::First), "a 1", "a 1; b 2"), "replace map m");
        assert_eq!(show(How::Map(KeyMatch::First), "a 1; b 2", "b 2; a 1"), "replace map m");
        assert_eq!(
            show(How::Map(KeyMatch::Network), "10.0.0.0/8 1", "10.0.0.0/8 1; 10.1.0.0/16 2"),
            "add map m 10.1.0.0/16 2"
        );
        assert_eq!(
            show(How::Map(KeyMatch::Network), "10.0.0.0/8 1", "10.0.0.0/8 1; 10.1.0.0/8 2"),
            "replace map m"
        );
        assert_eq!(show(How::Map(KeyMatch::Number), "1 1", "1 1; 2 2"), "add map m 2 2");
        assert_eq!(show(How::Map(KeyMatch::Number), "1 1", "1 1; 2:5 2"), "replace map m");
    }

    #[test]
    fn patterns_of_conditions_come_and_go_in_any_order() {
        assert_eq!(show(How::Acl, "a b; c", "c; d"), "add acl m d; del acl m a b");
        assert_eq!(show(How::Acl, "a; c", "c; a"), "");
    }

    #[test]
    fn many_changes_replace_the_map() {
        let new: String = (0..=SINGLY).map(|n| format!("k{n} v\n")).collect();
        let how = How::Map(KeyMatch::Exact);
        assert_eq!(changes(how, "", &new).unwrap(), [Operation::ReplaceMap { map: "m".to_owned() }]);
        let large: String = (0..SINGLY * OF_ALL * 2).map(|n| format!("l{n} v\n")).collect();
        let singly = changes(how, &large, &format!("{large}{new}")).unwrap();
        assert_eq!(singly.len(), SINGLY + 1, "a quarter of a larger map is more");
    }

    #[test]
    fn an_entry_may_be_as_long_as_the_socket_takes() {
        let of = |bytes: usize| format!("a {}", ";".repeat(bytes - 1));
        let longest = of(map_entry::LONGEST);
        for how in [How::Map(KeyMatch::Exact), How::Map(KeyMatch::First)] {
            assert!(changes(how, "", &longest).is_ok());
            let why = changes(how, "", &of(map_entry::LONGEST + 1)).unwrap_err();
            assert_eq!(why, "its entry a is too long for the socket");
        }
    }

    #[test]
    fn a_map_that_rules_change_is_a_reload() {
        assert_eq!(show(How::Rewritten, "a 1", "a 2"), "reload: rules of haproxy.cfg change it in memory");
    }
}
