//! A private folder that holds exactly one bundle, laid out as on a pod.

use crate::cheap_passwords::CheapPasswords;
use haptic_model::{Bundle, BundleFile, Diagnostic};
use std::{
    borrow::Cow,
    collections::BTreeSet,
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Component, Path},
    sync::Arc,
};
use tempfile::TempDir;

/// The small file given to HAProxy before the bundle's: relative names are relative to the configuration, as on a
/// pod with the agent.
pub const PREAMBLE: &str = "haptic-preamble.cfg";

/// HAProxy's own HTTP client would read all of the system's CAs, half the time of a small check; nobody calls it here.
const PREAMBLE_TEXT: &str = "global\n    httpclient.ssl.verify none\n";
const RELATIVE: &str = "    default-path config\n";

/// A bundle that cannot be laid out.
#[derive(Debug, thiserror::Error)]
pub enum LayOutError {
    /// The disk refuses, or there is no room.
    #[error("the check could not run: {0}")]
    Disk(#[from] io::Error),
    /// No disk takes that file.
    #[error("no file can be called so: {source}")]
    Name {
        /// Its path.
        path: Arc<str>,
        /// Why.
        source: io::Error,
    },
}

impl LayOutError {
    /// Whether it is a fault of the bundle, on whichever machine.
    #[must_use]
    pub fn is_of_file(&self) -> bool {
        matches!(self, Self::Name { .. })
    }

    /// The same with the object whose file it is.
    #[must_use]
    pub fn diagnostic(&self, bundle: &Bundle) -> Diagnostic {
        let diagnostic = Diagnostic::error("haproxy", self.to_string());
        match self {
            Self::Disk(_) => diagnostic,
            Self::Name { path, .. } => {
                let file = bundle.files.get(path);
                let object = file.and_then(|file| file.text.blamed(1));
                let shown: String = path.chars().take(LONGEST_SHOWN).collect();
                let message = format!("{}: {shown}", diagnostic.message);
                Diagnostic { message, ..diagnostic }.of_object(object).help("Give it a shorter name")
            }
        }
    }

    fn of(file: &BundleFile, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput => {
                Self::Name { path: file.path.clone(), source }
            }
            _ => Self::Disk(source),
        }
    }
}

/// The passwords of users in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passwords {
    /// As they are: HAProxy is to serve.
    AsTheyAre,
    /// Cheap to read: HAProxy is to check only.
    Cheap,
}

/// How the names of checks' folders begin.
const PREFIX: &str = "haptic-check-";

/// Keys are among the files of a bundle. HAProxy reads them as the user whose folder it is.
const OWN_FOLDER: u32 = 0o700;
const OWN_FILE: u32 = 0o600;

/// Of a name that is too long.
const LONGEST_SHOWN: usize = 80;

/// Writes `bundle` into a new private folder, which is removed when the returned value is dropped.
///
/// # Errors
/// When a path would leave the folder, or no file can have it, or the disk refuses.
pub fn lay_out(bundle: &Bundle, passwords: Passwords) -> Result<TempDir, LayOutError> {
    let only_us = fs::Permissions::from_mode(OWN_FOLDER);
    let folder = tempfile::Builder::new().prefix(PREFIX).permissions(only_us).tempdir()?;
    let folders = absolute_folders(bundle);
    let relative = if bundle.is_for_data_plane_api() { "" } else { RELATIVE };
    io::Write::write_all(
        &mut own_file(&folder.path().join(PREAMBLE))?,
        format!("{PREAMBLE_TEXT}{relative}").as_bytes(),
    )?;
    for file in bundle.all() {
        let is_cheap = passwords == Passwords::Cheap && file.path == bundle.config.path;
        let cheap = is_cheap.then(CheapPasswords::default);
        add(file, folder.path(), &folders, cheap).map_err(|error| LayOutError::of(file, error))?;
    }
    Ok(folder)
}

/// Removes what checks of a process left in `temporary` that was killed amid them. Only for a folder in which no other process checks: it is
/// not seen whether one does.
pub fn remove_left_behind(temporary: &Path) {
    let left = fs::read_dir(temporary).into_iter().flatten().flatten();
    let of_checks = left.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    for folder in of_checks.map(|entry| entry.path()) {
        match fs::remove_dir_all(&folder) {
            Ok(()) => {
                tracing::info!(folder = %folder.display(), "the folder of a check that was killed is removed")
            }
            Err(error) => {
                tracing::warn!(folder = %folder.display(), %error, "the folder of a check that was killed stays")
            }
        }
    }
}

fn add(
    file: &BundleFile,
    folder: &Path,
    folders: &BTreeSet<&str>,
    cheap: Option<CheapPasswords>,
) -> io::Result<()> {
    let path = Path::new(below(&file.path));
    if !path.components().all(|c| matches!(c, Component::Normal(_))) {
        let what = format!("{} must be a relative path inside the bundle", file.path);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let target = folder.join(path);
    if let Some(parent) = target.parent() {
        fs::DirBuilder::new().recursive(true).mode(OWN_FOLDER).create(parent)?;
    }
    write(&target, file, folders, cheap)
}

fn own_file(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(OWN_FILE).open(path)
}

/// Where a file of a bundle lies in the folder: absolute names are relative to it there.
#[must_use]
pub fn below(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// The folders that files with absolute names lie in, without their first slash.
fn absolute_folders(bundle: &Bundle) -> BTreeSet<&str> {
    let absolute = bundle.files.keys().filter_map(|path| path.strip_prefix('/'));
    absolute.filter_map(|path| Some(path.rsplit_once('/')?.0)).collect()
}

/// Fragment by fragment: a large file never exists as one string. No name goes over the end of a line, so of a fragment.
fn write(
    target: &Path,
    file: &BundleFile,
    folders: &BTreeSet<&str>,
    mut cheap: Option<CheapPasswords>,
) -> io::Result<()> {
    use io::Write;
    let mut out = io::BufWriter::with_capacity(1 << 16, own_file(target)?);
    for fragment in file.text.fragments() {
        let text = without_first_slash(fragment.as_str(), folders);
        match &mut cheap {
            Some(cheap) => out.write_all(cheap.replaced(&text).as_bytes())?,
            None => out.write_all(text.as_bytes())?,
        }
    }
    out.flush()
}

/// `text`, in which names in `folders` are relative.
fn without_first_slash<'t>(text: &'t str, folders: &BTreeSet<&str>) -> Cow<'t, str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    let mut text = Cow::Borrowed(text);
    for folder in folders {
        let (mut made, mut done) = (String::new(), 0);
        for (at, _) in text.match_indices(folder) {
            let before = text.get(..at).unwrap_or_default();
            let rest = text.get(at + folder.len()..).unwrap_or_default();
            let outer = before.strip_suffix('/').filter(|outer| !outer.ends_with(is_name));
            let Some(outer) = outer.filter(|_| rest.starts_with('/') || !rest.starts_with(is_name)) else {
                continue;
            };
            made.push_str(outer.get(done..).unwrap_or_default());
            done = at;
        }
        if done > 0 {
            made.push_str(text.get(done..).unwrap_or_default());
            text = Cow::Owned(made);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{FileKey, FileKind};
    use haptic_text::Text;

    /// Of everything in `folder`, and of itself.
    fn modes(folder: &Path) -> BTreeSet<u32> {
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let below = entries.flat_map(|path| match path.is_dir() {
            true => modes(&path),
            false => BTreeSet::from([mode(&path)]),
        });
        below.chain([mode(folder)]).collect()
    }

    #[test]
    fn nobody_else_may_read_what_is_laid_out() {
        let key = FileKey::new(FileKind::Certificate, "a.pem");
        let key = BundleFile::new(key, "ssl/own/a.pem", Text::plain("a key"));
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("global\n"));
        let folder = lay_out(&Bundle::new(config, [key]), Passwords::AsTheyAre).unwrap();
        assert_eq!(modes(folder.path()), BTreeSet::from([OWN_FOLDER, OWN_FILE]));
    }

    #[test]
    fn what_killed_checks_left_behind_is_removed_and_nothing_else() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join(name);
        fs::create_dir_all(at("haptic-check-a1b2c3/ssl")).unwrap();
        fs::write(at("haptic-check-a1b2c3/ssl/a.pem"), "a key").unwrap();
        fs::create_dir_all(at("other/haptic-check-x")).unwrap();
        fs::write(at("haptic-leader.json"), "{}").unwrap();
        remove_left_behind(temporary.path());
        assert!(!at("haptic-check-a1b2c3").exists());
        assert!(at("other/haptic-check-x").exists() && at("haptic-leader.json").exists());
        remove_left_behind(&at("missing"));
    }

    #[test]
    fn only_names_in_the_folders_of_the_bundle_become_relative() {
        let folders = BTreeSet::from(["etc/haproxy/maps", "etc/haproxy/ssl"]);
        let cases = [
            ("use_backend %[map(/etc/haproxy/maps/a.map)]", "use_backend %[map(etc/haproxy/maps/a.map)]"),
            ("crt-base /etc/haproxy/ssl\n/etc/haproxy/ssl/b", "crt-base etc/haproxy/ssl\netc/haproxy/ssl/b"),
            ("/srv/etc/haproxy/maps/a /etc/haproxy/maps2", "/srv/etc/haproxy/maps/a /etc/haproxy/maps2"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_first_slash(text, &folders), expected);
        }
    }
}
