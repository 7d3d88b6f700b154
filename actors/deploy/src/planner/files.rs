//! Files that come, change and go, and what each asks of the running HAProxy: by what its configuration uses them for.

use super::{
    Effect, Reason, ReasonKind,
    certificates::Certificates,
    map,
    usages::{How, first_line},
    view::RunningView,
};
use haptic_model::{
    Bundle, BundleFile, Capabilities, Operation,
    bundle::{FileKey, FileKind},
};
use std::{collections::BTreeMap, sync::Arc};

/// What happens to files, and what it asks of the running HAProxy.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub write: Vec<Arc<str>>,
    pub delete: Vec<Arc<str>>,
    /// The files that differ: before and after.
    files: Vec<Pair>,
}

type Files<'a> = BTreeMap<&'a str, &'a Arc<BundleFile>>;
type Pair = (Option<Arc<BundleFile>>, Option<Arc<BundleFile>>);

pub(super) fn changes(running: &RunningView, desired: &RunningView) -> Changes {
    let (old, new) = (by_path(running), by_path(desired));
    let mut changes = Changes::default();
    for (path, file) in &new {
        let before = old.get(path).copied();
        if before.is_some_and(|before| before.digest == file.digest) {
            continue;
        }
        changes.write.push(Arc::clone(&file.path));
        changes.files.push((before.cloned(), Some(Arc::clone(file))));
    }
    for (path, file) in &old {
        if !new.contains_key(path) {
            changes.delete.push(Arc::clone(&file.path));
            changes.files.push((Some(Arc::clone(file)), None));
        }
    }
    changes
}

fn by_path(view: &RunningView) -> Files<'_> {
    view.bundle().into_iter().flat_map(|bundle| bundle.all()).map(|file| (&*file.path, file)).collect()
}

/// What the changed files ask for. haproxy.cfg is compared by its meaning, elsewhere.
pub(super) fn effects(
    changes: &Changes,
    running: &RunningView,
    (old, new): (&Bundle, &Bundle),
    capabilities: Capabilities,
) -> Vec<Effect> {
    let is_config =
        |file: &Option<Arc<BundleFile>>| file.as_ref().is_some_and(|file| file.key == FileKey::config());
    let mut files = changes.files.iter().filter(|(old, new)| !is_config(old) && !is_config(new)).peekable();
    if files.peek().is_none() {
        return Vec::new();
    }
    let usages = &running.configuration().usages;
    let tls = Certificates { old, new, usages, capabilities }.findings();
    let mut effects: Vec<Effect> = tls.reasons.into_iter().map(reload).collect();
    let mut entries = Vec::new();
    for (before, after) in files
        .filter_map(|(before, after)| path_of(before, after).map(|path| (path, (before, after))))
        .filter(|(path, _)| !tls.known.contains(&***path))
        .map(|(_, pair)| pair)
    {
        match effect(running, old, before.as_ref(), after.as_ref()) {
            Ok((line, operations)) => entries.push((line, operations)),
            Err(why) => effects.push(reload(why)),
        }
    }
    effects.push(Effect::Operations(tls.operations));
    effects.push(Effect::Operations(in_order_of_use(entries)));
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
fn in_order_of_use(mut maps: Vec<(usize, Vec<Operation>)>) -> Vec<Operation> {
    maps.sort_by_key(|(line, _)| *line);
    let goes = |operation: &Operation| matches!(operation, Operation::DelMapEntry { .. });
    let gone: Vec<_> = maps.iter().flat_map(|(_, all)| all.iter().filter(|o| goes(o)).cloned()).collect();
    let come = maps.into_iter().rev().flat_map(|(_, all)| all).filter(|operation| !goes(operation));
    come.chain(gone).collect()
}

/// What the change of one file asks for, and the line that uses it first.
fn effect(
    running: &RunningView,
    bundle: &Bundle,
    old: Option<&Arc<BundleFile>>,
    new: Option<&Arc<BundleFile>>,
) -> Result<(usize, Vec<Operation>), String> {
    let Some(file) = new.or(old) else { return Ok((0, Vec::new())) };
    let (key, path) = (&file.key, &*file.path);
    let what = match (old, new) {
        (Some(_), Some(_)) => "changed",
        (None, _) => "is new",
        (_, None) => "is gone",
    };
    let configuration = running.configuration();
    let usages = configuration.usages.of(path);
    if usages.is_empty() {
        return if may_be_read(running, bundle, file) {
            Err(format!("{key} {what}"))
        } else {
            Ok((0, Vec::new()))
        };
    }
    let is_lookup = |how: &How| matches!(how, How::Map(_) | How::Acl | How::Rewritten);
    match (old, new) {
        (Some(old), Some(new)) if usages.iter().all(|usage| is_lookup(&usage.how)) => {
            let operations = map::changes(path, usages, &old.text.to_string(), &new.text.to_string())
                .map_err(|why| format!("{key} changed: {why}"))?;
            Ok((first_line(usages), operations))
        }
        _ => Err(format!("{key} {what}")),
    }
}

/// Whether HAProxy may have read a file that no line of its configuration is known to use.
fn may_be_read(running: &RunningView, bundle: &Bundle, file: &BundleFile) -> bool {
    let configuration = running.configuration();
    let (usages, path) = (&configuration.usages, &*file.path);
    if usages.names_folder_of(path)
        || usages.has_unknown
        || file.key.kind == FileKind::General && usages.runs_lua
    {
        return true;
    }
    // HAProxy reads `a.pem.ocsp` when it reads `a.pem`.
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    if file.key.kind == FileKind::Certificate && bundle.files.contains_key(stem) {
        return true;
    }
    let names_others = |kind: FileKind| matches!(kind, FileKind::CrtList | FileKind::General);
    configuration.document().text.contains(path)
        || bundle
            .files
            .values()
            .filter(|other| other.path != file.path && names_others(other.key.kind))
            .any(|other| other.text.to_string().contains(path))
}
