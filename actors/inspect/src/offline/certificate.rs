//! The certificate for hosts that have none, where no leader keeps one: in a file of this machine, or thrown away afterwards.

use haptic_leader::certificate::{
    api::SecretApi,
    made::{self, SecretState},
};
use haptic_model::{
    HAProxyTemplateConfigSpec, HaproxyPod, Snapshot, Snapshots,
    default_certificate::{STORE, is_wanted, secret_name, store},
};
use jiff::Timestamp;
use serde_json::Value;
use std::{fs, io::Write, os::unix::fs::OpenOptionsExt, path::Path, sync::Arc};

/// Namespace and name of a Secret that is in no cluster.
const ALONE: (&str, &str) = (HaproxyPod::LOCAL, "haptic");

/// The file of a state folder that keeps it: a Secret as JSON.
const FILE: &str = "default-certificate.json";

/// `snapshots` with the certificate that is kept in `folder`, where `spec` wants one; without a folder with one that
/// nobody sees again.
///
/// # Errors
/// When the folder cannot be read or written.
pub fn beside(
    spec: &HAProxyTemplateConfigSpec,
    snapshots: &Snapshots,
    folder: Option<&Path>,
) -> Result<Snapshots, String> {
    if !is_wanted(spec) {
        return Ok(snapshots.clone());
    }
    let secret = match folder {
        Some(folder) => kept_in(folder)?,
        None => throw_away()?,
    };
    Ok(with(spec, snapshots, &secret))
}

/// `snapshots` with the certificate of the configuration `namespace/config` of a cluster, where it wants one. One that is
/// not there yet is as good as any.
///
/// # Errors
/// The API server's words.
pub async fn of_cluster(
    client: &kube::Client,
    (namespace, config): (&str, &str),
    spec: &HAProxyTemplateConfigSpec,
    snapshots: &Snapshots,
) -> Result<Snapshots, String> {
    if !is_wanted(spec) {
        return Ok(snapshots.clone());
    }
    let api = SecretApi::new(client.clone(), namespace, secret_name(config));
    match api.read().await? {
        Some(secret) => Ok(with(spec, snapshots, &secret)),
        None => beside(spec, snapshots, None),
    }
}

/// A Secret that nobody sees again, for what is only tried.
///
/// # Errors
/// When there is no randomness to be had.
pub fn throw_away() -> Result<Value, String> {
    made::secret(ALONE.0, ALONE.1, Timestamp::now())
}

/// `snapshots` with `secret` as the certificate for hosts that have none, where `spec` wants one.
#[must_use]
pub fn with(spec: &HAProxyTemplateConfigSpec, snapshots: &Snapshots, secret: &Value) -> Snapshots {
    if !is_wanted(spec) {
        return snapshots.clone();
    }
    snapshots.with(STORE.into(), Arc::new(store(Snapshot::full(), Some(secret))))
}

/// The Secret in `folder`, made at its first use.
///
/// # Errors
/// When the folder cannot be read or written.
pub fn kept_in(folder: &Path) -> Result<Value, String> {
    let (file, now) = (folder.join(FILE), Timestamp::now());
    let failed = |why: std::io::Error| {
        format!(
            "the certificate for hosts without one cannot be kept in {}: {why}; name another folder with --state-dir",
            file.display()
        )
    };
    let kept = match fs::read(&file) {
        Ok(bytes) => serde_json::from_slice::<Value>(&bytes).ok(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if let Some(kept) = kept.filter(|secret| made::examine(secret, now) == SecretState::Good) {
        return Ok(kept);
    }
    let secret = throw_away()?;
    fs::create_dir_all(folder).map_err(failed)?;
    let unfinished = folder.join(format!(".{FILE}.{}", std::process::id()));
    let written =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished);
    written.and_then(|mut new| new.write_all(secret.to_string().as_bytes())).map_err(failed)?;
    fs::rename(&unfinished, &file).map_err(failed)?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_folder_keeps_the_same_certificate_and_replaces_one_that_cannot_be_served() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("not/there/yet");
        let first = kept_in(&inside).unwrap();
        assert_eq!(kept_in(&inside).unwrap(), first);
        fs::write(inside.join(FILE), "{}").unwrap();
        let second = kept_in(&inside).unwrap();
        assert_ne!(second, first);
        assert_eq!(kept_in(&inside).unwrap(), second);
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 1);
    }
}
