//! Who may call the agent. Credentials from a mounted folder follow it live; after a change the ones before are accepted
//! for a while, since controller and agent do not see it at the same moment.

use crate::options::{AgentError, CredentialsSource};
use base64::{Engine, prelude::BASE64_STANDARD};
use haptic_model::config::Credentials;
use haptic_text::{Digest, Sensitive};
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};
use subtle::{Choice, ConstantTimeEq};

/// How long the credentials before a change are accepted.
const GRACE: Duration = Duration::from_secs(60);

/// Checks callers.
#[derive(Debug)]
pub(crate) struct Authenticator {
    dir: Option<PathBuf>,
    known: Mutex<AcceptedCredentials>,
}

#[derive(Debug)]
struct AcceptedCredentials {
    now: Credentials,
    /// With the times until which they are accepted.
    before: Vec<(Credentials, SystemTime)>,
}

impl Authenticator {
    pub(crate) fn new(source: &CredentialsSource) -> Result<Self, AgentError> {
        let (dir, now) = match source {
            CredentialsSource::Fixed(credentials) => (None, credentials.clone()),
            CredentialsSource::Dir(dir) => (Some(dir.clone()), read(dir).map_err(AgentError::Credentials)?.0),
        };
        if now.username.is_empty() || now.password.reveal().is_empty() || now.username.contains(':') {
            return Err(AgentError::Credentials(
                "username and password must not be empty, and a username cannot contain a colon".to_owned(),
            ));
        }
        Ok(Self { dir, known: Mutex::new(AcceptedCredentials { now, before: Vec::new() }) })
    }

    /// Whether a request with this `Authorization` header may pass.
    pub(crate) fn accepts(&self, header: Option<&str>) -> bool {
        self.follow();
        let Some((username, password)) = header.and_then(basic) else { return false };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = same(&known.now, &username, &password);
        let accepted = known.before.iter().filter(|(_, until)| SystemTime::now() < *until);
        bool::from(accepted.fold(now, |admitted, (c, _)| admitted | same(c, &username, &password)))
    }

    /// Reads the folder anew. One that cannot be read changes nothing.
    fn follow(&self) {
        let Some(Ok((new, changed))) = self.dir.as_deref().map(read) else { return };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if new != known.now && !new.password.reveal().is_empty() {
            // Counted from the change, not from when it was noticed: it may be long ago.
            let until = changed.min(SystemTime::now()) + GRACE;
            let old = std::mem::replace(&mut known.now, new);
            known.before.retain(|(_, until)| SystemTime::now() < *until);
            known.before.push((old, until));
            tracing::info!(
                "the agent's credentials changed; the old ones are accepted until {} s after it",
                GRACE.as_secs()
            );
        }
    }
}

/// The credentials in a folder, and when they were put there.
fn read(dir: &Path) -> Result<(Credentials, SystemTime), String> {
    // Kubernetes swaps the link ..data: resolved once, both files are of the same Secret.
    let dir = dir.join("..data").canonicalize().unwrap_or_else(|_| dir.to_owned());
    let file = |name: &str| {
        let path = dir.join(name);
        let problem = |e: std::io::Error| format!("{} cannot be read: {e}", path.display());
        let text = std::fs::read_to_string(&path).map_err(problem)?;
        let changed = std::fs::metadata(&path).and_then(|m| m.modified()).map_err(problem)?;
        Ok::<_, String>((text.trim_end_matches(['\r', '\n']).to_owned(), changed))
    };
    let (username, changed) = file("dataplane_username")?;
    let (password, later) = file("dataplane_password")?;
    Ok((Credentials { username, password: Sensitive::new(password) }, changed.max(later)))
}

/// Name and password of a Basic header.
fn basic(header: &str) -> Option<(String, Sensitive)> {
    let (scheme, value) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = Sensitive::new(String::from_utf8(BASE64_STANDARD.decode(value.trim()).ok()?).ok()?);
    let (username, password) = decoded.reveal().split_once(':')?;
    Some((username.to_owned(), Sensitive::new(password.to_owned())))
}

/// Compares in a time that tells nothing about either: digests have one length.
fn same(known: &Credentials, username: &str, password: &Sensitive) -> Choice {
    let equal =
        |a: &str, b: &str| Digest::of(a.as_bytes()).as_bytes().ct_eq(Digest::of(b.as_bytes()).as_bytes());
    equal(&known.username, username) & equal(known.password.reveal(), password.reveal())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(username: &str, password: &str) -> String {
        format!("Basic {}", BASE64_STANDARD.encode(format!("{username}:{password}")))
    }

    fn put(dir: &Path, password: &str, age: Duration) {
        for (name, value) in [("dataplane_username", "admin"), ("dataplane_password", password)] {
            let path = dir.join(name);
            std::fs::write(&path, format!("{value}\n")).unwrap();
            std::fs::File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(SystemTime::now() - age)
                .unwrap();
        }
    }

    #[test]
    fn only_the_right_name_and_password_pass() {
        let credentials =
            Credentials { username: "admin".to_owned(), password: Sensitive::new("s3:cret".to_owned()) };
        let authenticator = Authenticator::new(&CredentialsSource::Fixed(credentials)).unwrap();
        assert!(authenticator.accepts(Some(&header("admin", "s3:cret"))));
        assert!(!authenticator.accepts(Some(&header("admin", "s3"))));
        assert!(!authenticator.accepts(Some(&header("root", "s3:cret"))));
        assert!(!authenticator.accepts(Some("Bearer x")));
        assert!(!authenticator.accepts(Some("Basic ???")));
        assert!(!authenticator.accepts(None));
    }

    #[test]
    fn after_a_change_the_old_password_passes_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "old", Duration::ZERO);
        let authenticator = Authenticator::new(&CredentialsSource::Dir(dir.path().to_owned())).unwrap();
        put(dir.path(), "new", Duration::ZERO);
        assert!(authenticator.accepts(Some(&header("admin", "new"))));
        assert!(authenticator.accepts(Some(&header("admin", "old"))));
        put(dir.path(), "newer", Duration::ZERO);
        assert!(authenticator.accepts(Some(&header("admin", "newer"))));
        assert!(authenticator.accepts(Some(&header("admin", "old"))), "changed twice within a minute");
        put(dir.path(), "newest", Duration::from_secs(61));
        assert!(authenticator.accepts(Some(&header("admin", "newest"))));
        assert!(!authenticator.accepts(Some(&header("admin", "newer"))), "changed more than a minute ago");
    }

    #[test]
    fn a_folder_without_the_files_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let error =
            Authenticator::new(&CredentialsSource::Dir(dir.path().to_owned())).unwrap_err().to_string();
        assert!(error.contains("dataplane_username cannot be read"), "{error}");
    }

    #[test]
    fn an_empty_password_is_refused() {
        let credentials =
            Credentials { username: "admin".to_owned(), password: Sensitive::new(String::new()) };
        assert!(Authenticator::new(&CredentialsSource::Fixed(credentials)).is_err());
    }
}
