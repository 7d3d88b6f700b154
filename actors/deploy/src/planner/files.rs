//! Files that come, change and go, and what each asks of the running HAProxy: by what its configuration uses them for.

use super::{
    Effect, Reason, ReasonKind,
    authorities::Authorities,
    certificates::CertificateChanges,
    map::Lookup,
    usages::{How, lookups},
    view::RunningView,
};
use haptic_model::{
    Bundle, BundleFile, Capabilities, Operation,
    bundle::{FileKey, FileKind},
};
use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    sync::Arc,
};

/// What happens to files, and what it asks of the running HAProxy.
#[derive(Debug, Default)]
pub(super) struct FileChanges {
    pub write: Vec<Arc<str>>,
    pub delete: Vec<Arc<str>>,
    /// The files that differ: before and after.
    files: Vec<FilePair>,
}

type FilePair = (Option<Arc<BundleFile>>, Option<Arc<BundleFile>>);
type Borrowed<'b> = (Option<&'b Arc<BundleFile>>, Option<&'b Arc<BundleFile>>);

pub(super) fn changes(running: &RunningView, desired: &RunningView) -> FileChanges {
    let mut changes = FileChanges::default();
    for (old, new) in pairs(running.bundle(), desired.bundle()) {
        match (&old, &new) {
            (Some(old), Some(new)) if old.digest == new.digest => continue,
            (_, Some(new)) => changes.write.push(Arc::clone(&new.path)),
            (Some(old), None) => changes.delete.push(Arc::clone(&old.path)),
            (None, None) => continue,
        }
        changes.files.push((old.cloned(), new.cloned()));
    }
    changes.write.sort();
    changes.delete.sort();
    changes
}

/// Each file of both bundles, with the one of the same path in the other.
fn pairs<'b>(old: Option<&'b Bundle>, new: Option<&'b Bundle>) -> Vec<Borrowed<'b>> {
    fn sorted(bundle: Option<&Bundle>) -> impl Iterator<Item = &Arc<BundleFile>> {
        bundle.into_iter().flat_map(|bundle| bundle.files.values())
    }
    let (config, desired) = (old.map(|bundle| &bundle.config), new.map(|bundle| &bundle.config));
    // haproxy.cfg may have another path now.
    let mut pairs = match (config, desired) {
        (Some(one), Some(other)) if one.path != other.path => vec![(None, desired), (config, None)],
        _ => vec![(config, desired)],
    };
    let (mut left, mut right) = (sorted(old).peekable(), sorted(new).peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some(one), Some(other)) => one.path.cmp(&other.path),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return pairs,
        };
        let old = if order.is_gt() { None } else { left.next() };
        let new = if order.is_lt() { None } else { right.next() };
        pairs.push((old, new));
    }
}

/// What the changed files ask for. haproxy.cfg is compared by its meaning, elsewhere.
pub(super) fn effects(
    changes: &FileChanges,
    (running, desired): (&RunningView, &RunningView),
    (old, new): (&Bundle, &Bundle),
    capabilities: Capabilities,
    authorities: &Authorities,
) -> Vec<Effect> {
    let is_config =
        |file: &Option<Arc<BundleFile>>| file.as_ref().is_some_and(|file| file.key == FileKey::config());
    let mut files = changes.files.iter().filter(|(old, new)| !is_config(old) && !is_config(new)).peekable();
    if files.peek().is_none() {
        return Vec::new();
    }
    let usages = &running.block_index().aggregate().usages;
    let desired_usages = &desired.block_index().aggregate().usages;
    let tls = CertificateChanges { old, new, usages, desired_usages, capabilities }.findings();
    let mut effects: Vec<Effect> = tls.reasons.into_iter().map(reload).collect();
    let mut entries = Vec::new();
    for (path, (before, after)) in files
        .filter_map(|(before, after)| path_of(before, after).map(|path| (path, (before, after))))
        .filter(|(path, _)| !tls.known.contains(&***path) && !authorities.knows(path))
    {
        match effect((running, desired), old, before.as_ref(), after.as_ref()) {
            Ok(operations) => entries.push((&**path, operations)),
            Err(why) => effects.push(reload(why)),
        }
    }
    effects.push(Effect::Operations(tls.operations));
    effects.push(Effect::Operations(in_order_of_use(running, entries)));
    effects
}

fn path_of<'a>(
    before: &'a Option<Arc<BundleFile>>,
    after: &'a Option<Arc<BundleFile>>,
) -> Option<&'a Arc<str>> {
    before.as_ref().or(after.as_ref()).map(|file| &file.path)
}

fn reload(why: String) -> Effect {
    Effect::Reload(Reason::new(ReasonKind::File, why))
}

/// A map that rules ask first gets its entries last and loses them first, so that what it leads to is there.
fn in_order_of_use(running: &RunningView, mut maps: Vec<(&str, Vec<Operation>)>) -> Vec<Operation> {
    maps.retain(|(_, operations)| !operations.is_empty());
    if maps.len() > 1 {
        let first = first_uses(running, maps.iter().map(|(path, _)| *path));
        maps.sort_by_key(|(path, _)| first.get(path).copied());
    }
    let goes = |operation: &Operation| matches!(operation, Operation::DelMapEntry { .. });
    let gone: Vec<_> = maps.iter().flat_map(|(_, all)| all.iter().filter(|o| goes(o)).cloned()).collect();
    let come = maps.into_iter().rev().flat_map(|(_, all)| all).filter(|operation| !goes(operation));
    come.chain(gone).collect()
}

/// Where a file is used first: a block of haproxy.cfg, and a line in it.
type FirstUse = (usize, usize);

/// Where each of these maps is looked into first.
fn first_uses<'p>(running: &RunningView, paths: impl Iterator<Item = &'p str>) -> HashMap<&'p str, FirstUse> {
    let mut wanted: HashSet<&str> = paths.collect();
    let mut found = HashMap::new();
    running.block_index().visit_marked(|at, block| {
        for (path, line) in lookups(block) {
            found.extend(wanted.take(&*path).map(|path| (path, (at, line))));
        }
        if wanted.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found
}

/// What the change of one file asks for.
fn effect(
    (running, desired): (&RunningView, &RunningView),
    bundle: &Bundle,
    old: Option<&Arc<BundleFile>>,
    new: Option<&Arc<BundleFile>>,
) -> Result<Vec<Operation>, String> {
    let Some(file) = new.or(old) else { return Ok(Vec::new()) };
    let (key, path) = (&file.key, &*file.path);
    let what = match (old, new) {
        (Some(_), Some(_)) => "changed",
        (None, _) => "is new",
        (_, None) => "is gone",
    };
    let block_index = running.block_index();
    let usages = block_index.aggregate().usages.of(path);
    if usages.is_empty() {
        return if may_be_read(running, bundle, file) {
            Err(format!("{key} {what}"))
        } else {
            Ok(Vec::new())
        };
    }
    let is_lookup = |how: &How| matches!(how, How::Map(_) | How::Acl | How::Rewritten);
    match (old, new) {
        (Some(old), Some(new)) if usages.iter().all(|usage| is_lookup(&usage.how)) => {
            let lookup = Lookup { path, usages, running, desired };
            lookup.changes(&old.text, &new.text).map_err(|why| format!("{key} changed: {why}"))
        }
        _ => Err(format!("{key} {what}")),
    }
}

/// Whether HAProxy may have read a file that no line of its configuration is known to use.
fn may_be_read(running: &RunningView, bundle: &Bundle, file: &BundleFile) -> bool {
    let (usages, path) = (&running.block_index().aggregate().usages, &*file.path);
    if usages.names_folder_of(path)
        || usages.has_unknown()
        || file.key.kind == FileKind::General && usages.runs_lua()
    {
        return true;
    }
    // HAProxy reads `a.pem.ocsp` when it reads `a.pem`.
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    if file.key.kind == FileKind::Certificate && bundle.files.contains_key(stem) {
        return true;
    }
    let names_others = |kind: FileKind| matches!(kind, FileKind::CrtList | FileKind::General);
    bundle.config.text.contains(path)
        || bundle
            .files
            .values()
            .filter(|other| other.path != file.path && names_others(other.key.kind))
            .any(|other| other.text.contains(path))
}
