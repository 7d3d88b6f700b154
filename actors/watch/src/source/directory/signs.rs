//! What a file event says of which path. Asks the file system only what is at a path.

use super::scan::is_manifest;
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use std::path::{Path, PathBuf};

/// Where to look, and when.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// This manifest was closed after writing, or moved into place: it can be read.
    Sure(PathBuf),
    /// Something may have come, shrunk or gone here: an editor may be at it.
    Doubtful(PathBuf),
    /// Anything may have changed.
    Everything,
}

/// The signs of one event.
pub(super) fn of(event: notify::Result<notify::Event>) -> Vec<Sign> {
    let Ok(event) = event else { return vec![Sign::Everything] };
    let is_sure = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => true,
        EventKind::Access(_) => return Vec::new(),
        _ => false,
    };
    if event.need_rescan() || event.paths.is_empty() {
        return vec![Sign::Everything];
    }
    let places = event.paths.into_iter().filter(|path| !is_in_passing(path));
    places.filter_map(|path| at(path, is_sure)).collect()
}

fn at(path: PathBuf, is_sure: bool) -> Option<Sign> {
    if is_manifest(&path) && !path.is_dir() {
        return Some(if is_sure && path.is_file() { Sign::Sure(path) } else { Sign::Doubtful(path) });
    }
    match path.symlink_metadata() {
        // An editor's backup or temporary file.
        Ok(there) if there.is_file() => None,
        // A directory moved in, or the swapped link of a mount.
        Ok(_) => Some(Sign::Everything),
        Err(_) => Some(Sign::Doubtful(path)),
    }
}

/// A hidden name, about to be renamed into place; but not one of Kubernetes' mounts (`..data`), whose change is a change of
/// everything.
fn is_in_passing(path: &Path) -> bool {
    path.file_name()
        .map(|name| name.as_encoded_bytes())
        .is_some_and(|name| name.starts_with(b".") && !name.starts_with(b".."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::{Event, event::CreateKind};

    fn signs(kind: EventKind, paths: &[PathBuf]) -> Vec<Sign> {
        of(Ok(Event { kind, paths: paths.to_vec(), attrs: notify::event::EventAttributes::default() }))
    }

    #[test]
    fn a_file_replaced_by_renaming_is_looked_at_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (hidden, shop) = (folder.path().join(".shop.yaml.new"), folder.path().join("shop.yaml"));
        std::fs::write(&shop, "").unwrap();
        let rename = |mode| EventKind::Modify(ModifyKind::Name(mode));
        assert_eq!(signs(rename(RenameMode::From), std::slice::from_ref(&hidden)), []);
        assert_eq!(signs(rename(RenameMode::To), std::slice::from_ref(&shop)), [Sign::Sure(shop.clone())]);
        assert_eq!(signs(rename(RenameMode::Both), &[hidden, shop.clone()]), [Sign::Doubtful(shop)]);
    }

    #[test]
    fn only_what_may_hold_other_files_is_a_reason_to_look_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| vec![folder.path().join(name)];
        std::fs::write(folder.path().join("shop.yaml~"), "").unwrap();
        std::fs::create_dir(folder.path().join("more")).unwrap();
        std::fs::create_dir(folder.path().join("more.yaml")).unwrap();
        let create = EventKind::Create(CreateKind::Any);
        assert_eq!(signs(create, &place("shop.yaml~")), []);
        assert_eq!(signs(create, &place("gone")), [Sign::Doubtful(folder.path().join("gone"))]);
        assert_eq!(signs(create, &place("more")), [Sign::Everything]);
        assert_eq!(signs(create, &place("more.yaml")), [Sign::Everything]);
        assert_eq!(signs(create, &[]), [Sign::Everything]);
        assert_eq!(of(Err(notify::Error::generic("lost"))), [Sign::Everything]);
    }
}
