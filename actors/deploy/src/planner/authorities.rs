//! Files of certificate authorities that servers and binds verify with (`ca-file`).
//!
//! Tried on HAProxy 3.0, 3.2 and 3.4: a new file can be loaded before the server that names it is added; a file that changes
//! reaches binds (without harm since 3.2), but not the servers that are there; one that nothing names can be deleted.

use super::{
    Effect, Reason, ReasonKind,
    usages::{How, Usages},
};
use haptic_model::{Bundle, BundleFile, Capabilities, Operation};
use std::collections::{BTreeMap, BTreeSet};

/// What authorities need, and which files are dealt with by it.
#[derive(Debug, Default)]
pub(super) struct Authorities {
    pub effects: Vec<Effect>,
    known: BTreeSet<String>,
}

/// What lines use one file for.
#[derive(Clone, Copy, Debug, Default)]
struct AuthorityUsers {
    binds: bool,
    servers: bool,
    /// Anything but an authority.
    others: bool,
}

impl Authorities {
    /// Compares the running configuration with the desired one, each with its files.
    pub fn compare(
        (old_usages, old): (&Usages, &Bundle),
        (new_usages, new): (&Usages, &Bundle),
        capabilities: Capabilities,
    ) -> Self {
        let (before, after) = (users(old_usages), users(new_usages));
        let mut all = Self::default();
        for path in before.keys().chain(after.keys().filter(|path| !before.contains_key(*path))) {
            all.known.insert((*path).to_owned());
            let files = (old.files.get(*path), new.files.get(*path));
            let change = change(path, (before.get(path), after.get(path)), files, capabilities);
            match change {
                Ok(operations) => all.effects.push(Effect::Operations(operations)),
                Err(why) => all
                    .effects
                    .push(Effect::Reload(Reason::new(ReasonKind::File, format!("CA file {path} {why}")))),
            }
        }
        all
    }

    /// Whether a change of the file at `path` has been looked at.
    pub fn knows(&self, path: &str) -> bool {
        self.known.contains(path)
    }
}

/// The files that are used for authorities.
fn users(usages: &Usages) -> BTreeMap<&str, AuthorityUsers> {
    let mut all = BTreeMap::new();
    for (path, usages) in usages.all() {
        let mut users = AuthorityUsers::default();
        for usage in usages {
            match usage.how {
                How::Authority { of_server: true } => users.servers = true,
                How::Authority { of_server: false } => users.binds = true,
                _ => users.others = true,
            }
        }
        if users.servers || users.binds {
            all.insert(path, users);
        }
    }
    all
}

type Sides<T> = (Option<T>, Option<T>);

fn change(
    path: &str,
    users: Sides<&AuthorityUsers>,
    files: Sides<&std::sync::Arc<BundleFile>>,
    capabilities: Capabilities,
) -> Result<Vec<Operation>, String> {
    let file = || path.to_owned();
    let is_same = |(old, new): Sides<&std::sync::Arc<BundleFile>>| {
        old.map(|file| file.digest) == new.map(|file| file.digest)
    };
    match users {
        // A bind or a default-server line that comes or goes is a reload by itself.
        (None, Some(_)) => match files.1 {
            Some(content) => {
                check(content, capabilities)?;
                Ok(vec![Operation::AddCaFile { file: file() }])
            }
            None => Err("is named for the first time, and is no file of the bundle".to_owned()),
        },
        (Some(_), None) => Ok(vec![Operation::DeleteCaFile { file: file() }]),
        (Some(_), Some(_)) if is_same(files) => Ok(Vec::new()),
        (Some(old), Some(new)) => match files.1 {
            None => Err("is gone, but still named".to_owned()),
            Some(_) if old.others || new.others => {
                Err("changed, and is used for more than authorities".to_owned())
            }
            Some(_) if old.servers || new.servers => {
                Err("changed, and servers that are there keep the old one until HAProxy starts".to_owned())
            }
            Some(_) if !capabilities.version.tracks_certificates_of_changed_authorities() => Err(format!(
                "changed, and HAProxy {} loses sight of the certificates of its bind lines then",
                capabilities.version
            )),
            Some(content) => {
                check(content, capabilities)?;
                Ok(vec![Operation::SetCaFile { file: file() }])
            }
        },
        (None, None) => Ok(Vec::new()),
    }
}

/// What the socket does not take.
fn check(file: &BundleFile, capabilities: Capabilities) -> Result<(), String> {
    let text = file.text.to_string();
    fits_socket(&text, capabilities)?;
    if !text.contains("-----BEGIN CERTIFICATE-----") {
        return Err("has no certificate".to_owned());
    }
    Ok(())
}

/// Whether the socket takes a text at once.
pub(super) fn fits_socket(text: &str, capabilities: Capabilities) -> Result<(), String> {
    let version = capabilities.version;
    let largest = version.largest_payload();
    if text.len() > largest {
        return Err(format!("has {} bytes, and the socket of HAProxy {version} takes {largest}", text.len()));
    }
    Ok(())
}
