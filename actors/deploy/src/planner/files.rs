//! Files that come, change and go.
//!
//! Any change of a file beside haproxy.cfg is a reason to reload here. What the socket can bring (map and ACL
//! entries, certificates, crt-lists) has its place in [`effect`].

use super::{Effect, Reason, ReasonKind, view::RunningView};
use haptic_model::{BundleFile, bundle::FileKey};
use std::{collections::BTreeMap, sync::Arc};

/// What happens to files, and what it asks of the running HAProxy.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub write: Vec<Arc<str>>,
    pub delete: Vec<Arc<str>>,
    pub effects: Vec<Effect>,
}

type Files<'a> = BTreeMap<&'a str, &'a Arc<BundleFile>>;

pub(super) fn changes(running: &RunningView, desired: &RunningView) -> Changes {
    let (old, new) = (by_path(running), by_path(desired));
    let mut changes = Changes::default();
    for (path, file) in &new {
        let before = old.get(path).copied();
        if before.is_some_and(|before| before.digest == file.digest) {
            continue;
        }
        changes.write.push(Arc::clone(&file.path));
        changes.effects.extend(effect(before, Some(file)));
    }
    for (path, file) in &old {
        if !new.contains_key(path) {
            changes.delete.push(Arc::clone(&file.path));
            changes.effects.extend(effect(Some(file), None));
        }
    }
    changes
}

fn by_path(view: &RunningView) -> Files<'_> {
    view.bundle().into_iter().flat_map(|bundle| bundle.all()).map(|file| (&*file.path, file)).collect()
}

/// What the change of one file asks for. haproxy.cfg is compared by its meaning, elsewhere.
fn effect(old: Option<&Arc<BundleFile>>, new: Option<&Arc<BundleFile>>) -> Option<Effect> {
    let (key, what) = match (old, new) {
        (_, Some(new)) if new.key == FileKey::config() => return None,
        (Some(old), None) if old.key == FileKey::config() => return None,
        (Some(_), Some(new)) => (&new.key, "changed"),
        (None, Some(new)) => (&new.key, "is new"),
        (Some(old), None) => (&old.key, "is gone"),
        (None, None) => return None,
    };
    Some(Effect::Reload(Reason::new(ReasonKind::File, format!("{key} {what}"))))
}
