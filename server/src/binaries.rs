//! Finds the HAProxys of this machine.

use crate::cli::{Failure, HaproxyArgs};
use haptic_validate::Binaries;
use std::path::PathBuf;

/// The binaries named on the command line, else those of the environment (`HAPTIC_HAPROXY_3_4=/path`), else the one on
/// PATH.
///
/// # Errors
/// When there is none, or one of them is no HAProxy.
pub fn find(args: &HaproxyArgs) -> Result<Binaries, Failure> {
    Binaries::probe(candidates(args)).map_err(Failure::because)
}

fn candidates(args: &HaproxyArgs) -> Vec<PathBuf> {
    if !args.binaries.is_empty() {
        return args.binaries.clone();
    }
    let named: Vec<PathBuf> = std::env::vars_os()
        .filter(|(name, value)| name.to_string_lossy().starts_with("HAPTIC_HAPROXY_") && !value.is_empty())
        .map(|(_, path)| path.into())
        .collect();
    if named.is_empty() { on_path().into_iter().collect() } else { named }
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join("haproxy")).find(|file| file.is_file())
}
