//! Servers that go ahead of a reload: what a pod runs, with the server lines of what it is to run, block by block of an object.
//!
//! The result is a bundle like any other: what is recorded, compared and taken back is the whole, never a difference. Whether a running
//! HAProxy can follow is for a plan to say. A block of which more changes than its servers waits as a whole, and so do maps: what an
//! entry means is said by rules, and those of before may read it otherwise.

use haptic_model::{Bundle, BundleFile, ObjectRef};
use haptic_text::{Fragment, Text};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

/// The changed pieces of a file by the object whose blocks they are, in their order.
type Changed<'t> = BTreeMap<&'t Arc<ObjectRef>, Vec<&'t Fragment>>;

/// `running` with the server lines of `desired` in the blocks of objects that `may` go ahead; `None` when there are none.
pub(crate) fn ahead(running: &Bundle, desired: &Bundle, may: impl Fn(&ObjectRef) -> bool) -> Option<Bundle> {
    let (old, new) = (
        changed(&running.config.text, &desired.config.text),
        changed(&desired.config.text, &running.config.text),
    );
    let elsewhere = changed_in_files(running, desired);
    let mut instead = HashMap::new();
    for (object, before) in &old {
        let Some(after) = new.get(object).filter(|after| after.len() == before.len()) else { continue };
        let pairs = || before.iter().zip(after);
        let is_alone = !elsewhere.contains(*object) && pairs().all(|(a, b)| differ_in_servers(a, b));
        if is_alone && may(object) {
            instead.extend(pairs().map(|(before, after)| (before.address(), *after)));
        }
    }
    if instead.is_empty() {
        return None;
    }
    let fragments = running.config.text.fragments().iter();
    let fragments = fragments.map(|old| instead.get(&old.address()).copied().unwrap_or(old).clone());
    let text = Text::new(fragments.collect());
    let config = BundleFile::new(running.config.key.clone(), &running.config.path, text);
    Some(Bundle::new(config, running.files.values().map(|file| BundleFile::clone(file))))
}

/// The pieces of `text` that are not in `other`: the same piece is the same memory.
fn changed<'t>(text: &'t Text, other: &Text) -> Changed<'t> {
    let known: HashSet<usize> = other.fragments().iter().map(Fragment::address).collect();
    let mut all = Changed::new();
    for fragment in text.fragments().iter().filter(|fragment| !known.contains(&fragment.address())) {
        if let Some(object) = &fragment.blame().block {
            all.entry(object).or_default().push(fragment);
        }
    }
    all
}

/// The objects that have other pieces in maps, certificates and lists.
fn changed_in_files<'b>(running: &'b Bundle, desired: &'b Bundle) -> BTreeSet<&'b Arc<ObjectRef>> {
    let nothing = Text::default();
    let mut all = BTreeSet::new();
    let mut compare = |one: &'b Bundle, other: &'b Bundle| {
        for (path, file) in &one.files {
            let twin = other.files.get(path);
            if twin.is_none_or(|twin| twin.digest != file.digest) {
                all.extend(changed(&file.text, twin.map_or(&nothing, |twin| &twin.text)).into_keys());
            }
        }
    };
    compare(running, desired);
    compare(desired, running);
    all
}

/// Whether both are the same but for their server lines.
fn differ_in_servers(one: &Fragment, other: &Fragment) -> bool {
    let is_server = |line: &&str| line.split_whitespace().next() == Some("server");
    let rest = |fragment: &Fragment| {
        fragment.as_str().lines().filter(|line| !is_server(line)).map(str::to_owned).collect::<Vec<_>>()
    };
    rest(one) == rest(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{FileKey, FileKind};
    use haptic_text::Blame;

    fn block(object: &str, text: &str) -> Fragment {
        let block = Some(Arc::new(ObjectRef::new("ingresses", "n", object)));
        Fragment::new(text, Arc::new(Blame { block, ..Blame::default() }))
    }

    fn bundle(blocks: &[Fragment], map: &[Fragment]) -> Bundle {
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(blocks.to_vec()));
        let key = FileKey::new(FileKind::Map, "m");
        Bundle::new(config, [BundleFile::new(key, "maps/m", Text::new(map.to_vec()))])
    }

    fn servers(object: &str, server: &str) -> Fragment {
        block(object, &format!("backend {object}\n balance random\n server {server}\n"))
    }

    #[test]
    fn servers_go_ahead_and_all_else_waits() {
        let (a, b) = (servers("a", "s 10.0.0.1:80"), servers("b", "s 10.0.0.2:80"));
        let running = bundle(&[a, b.clone()], &[]);
        let moved = servers("a", "t 10.0.0.9:80");
        let desired = bundle(&[moved.clone(), b.clone(), servers("new", "s 10.0.0.3:80")], &[]);
        let between = ahead(&running, &desired, |_| true).unwrap();
        assert_eq!(between.config.text.to_string(), format!("{}{}", moved.as_str(), b.as_str()));
        assert_eq!(between.digest, bundle(&[moved, b], &[]).digest, "it is a bundle like any other");
        assert!(ahead(&running, &desired, |_| false).is_none());
        assert!(ahead(&between, &desired, |_| true).is_none(), "they have gone");
    }

    #[test]
    fn a_block_of_which_more_changes_than_servers_waits_as_a_whole() {
        let running = bundle(&[servers("a", "s 10.0.0.1:80")], &[block("a", "k v\n")]);
        let (same_map, other_map) =
            (running.files["maps/m"].text.fragments().to_vec(), [block("a", "k w\n")]);
        let moved = servers("a", "s 10.0.0.9:80");
        assert!(ahead(&running, &bundle(std::slice::from_ref(&moved), &same_map), |_| true).is_some());
        assert!(ahead(&running, &bundle(&[moved], &other_map), |_| true).is_none(), "a map's entry changed");
        let guarded = block("a", "backend a\n balance random\n http-request deny\n server s 10.0.0.9:80\n");
        assert!(ahead(&running, &bundle(&[guarded], &same_map), |_| true).is_none(), "a rule is new");
        let twice = [servers("a", "s 10.0.0.9:80"), servers("a", "s 10.0.0.8:80")];
        assert!(ahead(&running, &bundle(&twice, &same_map), |_| true).is_none(), "a block is new");
    }
}
