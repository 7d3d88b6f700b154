//! The HAProxy binaries that check, one a version.

use crate::sandbox::own_files;
use haptic_model::HaproxyVersion;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// A HAProxy says its version in milliseconds.
const TIMEOUT: Duration = Duration::from_secs(10);

/// One HAProxy binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// Its version.
    pub version: HaproxyVersion,
    /// Where it is.
    pub path: PathBuf,
    /// All that must be read to run it: itself, its loader and its libraries.
    pub files: Vec<PathBuf>,
}

/// The binaries there are, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Binaries(Vec<Binary>);

/// Why a binary cannot check.
#[derive(Debug, thiserror::Error)]
pub enum BinaryError {
    /// None was given or found.
    #[error(
        "no HAProxy was found: install one (3.0 or newer: https://haproxy.debian.net, or Debian 13) or name it with --haproxy"
    )]
    None,
    /// It could not be started.
    #[error("{path} cannot be run: {source}; give the path of a HAProxy binary with --haproxy")]
    Start {
        /// What was tried.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// It is something else.
    #[error(
        "{0} is not HAProxy: `-v` does not print its version; give the path of a HAProxy binary with --haproxy"
    )]
    NotHaproxy(PathBuf),
    /// It does not end.
    #[error(
        "{0} does not print its version: `-v` has not ended after {seconds} s; give the path of a HAProxy binary with --haproxy",
        seconds = TIMEOUT.as_secs()
    )]
    Silent(PathBuf),
    /// It is too old.
    #[error(
        "{path} is HAProxy {version}, and the oldest that can be used is {oldest}; give another one with --haproxy",
        oldest = HaproxyVersion::OLDEST
    )]
    TooOld {
        /// What was tried.
        path: PathBuf,
        /// What it is.
        version: HaproxyVersion,
    },
}

impl Binary {
    /// Asks the binary at `path` for its version.
    ///
    /// # Errors
    /// When it cannot be run or is no HAProxy.
    pub fn probe(path: &Path) -> Result<Self, BinaryError> {
        let output = words_on_version(path, TIMEOUT)
            .map_err(|source| BinaryError::Start { path: path.to_owned(), source })?
            .ok_or_else(|| BinaryError::Silent(path.to_owned()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = said.split("HAProxy version ").nth(1).and_then(|rest| rest.parse().ok());
        let version = version.ok_or_else(|| BinaryError::NotHaproxy(path.to_owned()))?;
        if version < HaproxyVersion::OLDEST {
            return Err(BinaryError::TooOld { path: path.to_owned(), version });
        }
        Ok(Self { version, path: path.to_owned(), files: own_files(path) })
    }
}

/// What the binary at `path` prints with `-v`, if it has ended within `timeout`; what it started is ended with it.
fn words_on_version(path: &Path, timeout: Duration) -> io::Result<Option<Output>> {
    let child = Command::new(path)
        .arg("-v")
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("version".into()).spawn(move || {
        // Nobody waits any more.
        drop(sender.send(child.wait_with_output()));
    })?;
    match receiver.recv_timeout(timeout) {
        Ok(output) => output.map(Some),
        Err(_) => {
            if let Some(group) = group {
                kill_process_group(group, Signal::KILL)?;
            }
            Ok(None)
        }
    }
}

impl Binaries {
    /// The binaries at `paths`, each asked for its version.
    ///
    /// # Errors
    /// The first path that is no HAProxy, or that there is none at all.
    pub fn probe<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, BinaryError> {
        let mut found =
            paths.into_iter().map(|p| Binary::probe(p.as_ref())).collect::<Result<Vec<_>, _>>()?;
        if found.is_empty() {
            return Err(BinaryError::None);
        }
        found.sort_by_key(|b| b.version);
        Ok(Self(found))
    }

    /// The binary for `version`: that version, else the nearest one; with `None` the newest.
    #[must_use]
    pub fn nearest(&self, version: Option<HaproxyVersion>) -> Option<&Binary> {
        match version {
            Some(wanted) => self.0.iter().min_by_key(|b| distance(b.version, wanted)),
            None => self.0.last(),
        }
    }
}

/// Minor versions count one, major ones more than any minor.
fn distance(a: HaproxyVersion, b: HaproxyVersion) -> u32 {
    let ordinal = |v: HaproxyVersion| u32::from(v.major) * 1000 + u32::from(v.minor);
    ordinal(a).abs_diff(ordinal(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binaries(versions: &[(u16, u16)]) -> Binaries {
        let make = |(major, minor): &(u16, u16)| Binary {
            version: HaproxyVersion::new(*major, *minor),
            path: format!("/haproxy-{major}.{minor}").into(),
            files: Vec::new(),
        };
        Binaries(versions.iter().map(make).collect())
    }

    #[test]
    fn the_nearest_version_checks() {
        let all = binaries(&[(3, 0), (3, 2), (3, 4)]);
        let pick = |v| all.nearest(v).unwrap().version;
        assert_eq!(pick(Some(HaproxyVersion::new(3, 2))), HaproxyVersion::new(3, 2));
        assert_eq!(pick(Some(HaproxyVersion::new(4, 1))), HaproxyVersion::new(3, 4));
        assert_eq!(pick(Some(HaproxyVersion::new(2, 8))), HaproxyVersion::new(3, 0));
        assert_eq!(pick(None), HaproxyVersion::new(3, 4));
    }

    #[test]
    fn one_that_never_says_its_version_is_ended() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let hangs = folder.path().join("hangs");
        std::fs::write(&hangs, "#!/bin/sh\nsleep 600\n").unwrap();
        std::fs::set_permissions(&hangs, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(words_on_version(&hangs, Duration::from_millis(100)).unwrap().is_none());
        let error = BinaryError::Silent(hangs).to_string();
        assert!(error.contains("hangs does not print its version") && error.contains("10 s"), "{error}");
    }

    #[test]
    fn what_is_not_haproxy_is_refused_by_name() {
        let error = Binary::probe(Path::new("/bin/true")).unwrap_err().to_string();
        assert!(error.contains("/bin/true is not HAProxy"), "{error}");
        let error = Binary::probe(Path::new("/nonexistent/haproxy")).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/haproxy cannot be run"), "{error}");
    }
}
