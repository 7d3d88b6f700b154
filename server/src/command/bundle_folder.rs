//! A bundle as files in a folder: what `haptic render --out` writes and `haptic plan` reads.
//!
//! A list beside the files says which are of a render: the next one removes those that it has not, and nothing else is touched.

use crate::cli::CommandFailure;
use haptic_deploy::RunningView;
use haptic_model::{Bundle, Layout, agent_api::RunningBundle};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Component, Path, PathBuf},
};

/// The list of what the last render wrote.
const LIST: &str = ".haptic-render";

/// Writes all files of `bundle` below `out`, for their owner alone: private keys are among them. Absolute paths (the Data Plane API's) go there like relative ones.
///
/// # Errors
/// The first file that cannot be written, or that is there and not of a render.
pub fn write(bundle: &Bundle, out: &Path) -> Result<(), CommandFailure> {
    let before = listed(out);
    let now: BTreeSet<PathBuf> = bundle.all().map(|file| below(&*file.path)).collect();
    if let Some(strange) = now.iter().find(|path| !before.contains(*path) && out.join(path).exists()) {
        return Err(CommandFailure::Because(format!(
            "{} is there and not of a render; remove it, or give --out a folder of its own",
            out.join(strange).display()
        )));
    }
    list(out, before.union(&now))?;
    before.difference(&now).for_each(|gone| remove(out, gone));
    for file in bundle.all() {
        let target = out.join(below(&*file.path));
        let failed = |e: io::Error| {
            CommandFailure::Because(format!(
                "cannot write {}: {e}; give --out a folder that can be written to",
                target.display()
            ))
        };
        if let Some(parent) = target.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(failed)?;
        }
        write_private(&target, &file.text.to_string()).map_err(failed)?;
    }
    list(out, now.iter())
}

/// What the last render wrote below `out`.
fn listed(out: &Path) -> BTreeSet<PathBuf> {
    let list = fs::read_to_string(out.join(LIST)).unwrap_or_default();
    list.lines().map(below).filter(|path| path.file_name().is_some()).collect()
}

fn list<'p>(out: &Path, paths: impl Iterator<Item = &'p PathBuf>) -> Result<(), CommandFailure> {
    let failed = |e: io::Error| {
        CommandFailure::Because(format!(
            "cannot write {}: {e}; give --out a folder that can be written to",
            out.display()
        ))
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(out).map_err(failed)?;
    let text: String = paths.map(|path| format!("{}\n", path.display())).collect();
    write_private(&out.join(LIST), &text).map_err(failed)
}

/// A file that is gone already is as it should be, and a folder that is not empty stays.
fn remove(out: &Path, path: &Path) {
    drop(fs::remove_file(out.join(path)));
    for folder in path.ancestors().skip(1).filter(|folder| folder.file_name().is_some()) {
        if fs::remove_dir(out.join(folder)).is_err() {
            return;
        }
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // One that was there before keeps the mode it had.
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())
}

/// The bundle in `folder`, laid out as `layout` says.
///
/// # Errors
/// When there is no haproxy.cfg in it, or a file cannot be read or is not text.
pub fn read(folder: &Path, layout: &Layout) -> Result<Bundle, CommandFailure> {
    // In the folder absolute names are relative to it.
    let root = if layout.config_file.starts_with('/') { "/" } else { "" };
    let mut files = BTreeMap::new();
    gather(folder, Path::new(""), &mut files)?;
    let files: BTreeMap<_, _> =
        files.into_iter().map(|(path, text)| (format!("{root}{path}"), text)).collect();
    let config = layout.config_file.clone();
    if !files.contains_key(&config) {
        return Err(CommandFailure::Because(format!(
            "{} holds no {}; give a folder as `haptic render --out` writes it",
            folder.display(),
            config.trim_start_matches('/')
        )));
    }
    let view =
        RunningView::read_back(RunningBundle { config, files }, layout).map_err(CommandFailure::Because)?;
    view.bundle().cloned().ok_or_else(|| CommandFailure::Because(format!("{} is empty", folder.display())))
}

fn gather(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) -> Result<(), CommandFailure> {
    let here = root.join(folder);
    let failed =
        |path: &Path, e: io::Error| CommandFailure::Because(format!("cannot read {}: {e}", path.display()));
    for entry in fs::read_dir(&here).map_err(|e| failed(&here, e))? {
        let name = folder.join(entry.map_err(|e| failed(&here, e))?.file_name());
        let path = root.join(&name);
        if name == Path::new(LIST) {
            continue;
        }
        if path.is_dir() {
            gather(root, &name, files)?;
        } else {
            let text = fs::read_to_string(&path).map_err(|e| failed(&path, e))?;
            files.insert(name.to_string_lossy().into_owned(), text);
        }
    }
    Ok(())
}

fn below(path: impl AsRef<Path>) -> PathBuf {
    path.as_ref().components().filter(|c| matches!(c, Component::Normal(_))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{BundleFile, FileKey, FileKind};
    use haptic_text::Text;

    #[test]
    fn a_bundle_comes_back_from_its_folder_as_it_was() {
        let map =
            BundleFile::new(FileKey::new(FileKind::Map, "host.map"), "maps/host.map", Text::plain("a b\n"));
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("global\n"));
        let bundle = Bundle::new(config, [map]);
        let folder = tempfile::tempdir().unwrap();
        write(&bundle, folder.path()).unwrap();
        let read = read(folder.path(), &Layout::default()).unwrap();
        assert_eq!(read.digest, bundle.digest);
        assert_eq!(read.files["maps/host.map"].key, FileKey::new(FileKind::Map, "host.map"));
    }

    #[test]
    fn what_is_written_is_readable_by_its_owner_alone() {
        let file = |path: &str| {
            BundleFile::new(FileKey::new(FileKind::Certificate, "a.pem"), path, Text::plain("key\n"))
        };
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("global\n"));
        let bundle = Bundle::new(config, [file("ssl/new/a.pem"), file("/etc/haproxy/b.pem")]);
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        write(&bundle, &out).unwrap();
        fs::set_permissions(out.join("haproxy.cfg"), fs::Permissions::from_mode(0o644)).unwrap();
        write(&bundle, &out).unwrap();
        let mode = |path: &str| fs::metadata(out.join(path)).unwrap().permissions().mode() & 0o777;
        for path in ["haproxy.cfg", "ssl/new/a.pem", "etc/haproxy/b.pem"] {
            assert_eq!(mode(path), 0o600, "{path}");
        }
        for path in ["ssl", "ssl/new", "etc/haproxy"] {
            assert_eq!(mode(path), 0o700, "{path}");
        }
    }

    #[test]
    fn a_render_leaves_nothing_of_the_one_before_and_everything_else() {
        let file = |path: &str| {
            let kind = FileKind::Certificate;
            BundleFile::new(FileKey::new(kind, path.rsplit('/').next().unwrap()), path, Text::plain("key\n"))
        };
        let config = || BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("global\n"));
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        write(&Bundle::new(config(), [file("ssl/a.pem"), file("ssl/old/b.pem")]), &out).unwrap();
        fs::write(out.join("notes.txt"), "mine").unwrap();
        write(&Bundle::new(config(), [file("ssl/a.pem")]), &out).unwrap();
        assert!(out.join("ssl/a.pem").exists() && !out.join("ssl/old").exists());
        assert!(out.join("notes.txt").exists());
        fs::write(out.join("ssl/c.pem"), "mine").unwrap();
        let why = write(&Bundle::new(config(), [file("ssl/c.pem")]), &out).unwrap_err().to_string();
        assert!(why.contains("ssl/c.pem is there and not of a render"), "{why}");
        assert_eq!(fs::read_to_string(out.join("ssl/c.pem")).unwrap(), "mine");
        fs::write(out.join(LIST), "../outside\n/etc/passwd\n").unwrap();
        assert_eq!(listed(&out), [PathBuf::from("etc/passwd"), PathBuf::from("outside")].into());
    }

    #[test]
    fn a_folder_without_a_configuration_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let why = read(folder.path(), &Layout::default()).unwrap_err().to_string();
        assert!(why.contains("holds no haproxy.cfg"), "{why}");
    }
}
