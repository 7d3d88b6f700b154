//! Finds the HAProxys of this machine, and how they are run to check.

use crate::cli::{CommandFailure, HaproxyArgs};
use haptic_validate::{Binaries, CheckLimits, Checker, Sandbox};
use std::path::PathBuf;

/// This program, also when its file has been replaced since.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// A checker with the binaries of [`find`], confined as far as `args` and this kernel allow.
///
/// # Errors
/// As [`find`].
pub fn checker(args: &HaproxyArgs) -> Result<Checker, CommandFailure> {
    let binaries = find(args)?;
    let sandbox = Sandbox::by(THIS_PROGRAM.into(), args.unprotected.clone());
    Ok(Checker::new(binaries, CheckLimits::default(), sandbox))
}

/// The binaries named on the command line, else those of the environment (`HAPTIC_HAPROXY_3_4=/path`), else the one on
/// PATH.
///
/// # Errors
/// When there is none, or one of them is no HAProxy.
pub fn find(args: &HaproxyArgs) -> Result<Binaries, CommandFailure> {
    Binaries::probe(candidates(args)).map_err(CommandFailure::because)
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
