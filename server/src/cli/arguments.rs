//! Arguments that several commands have.

use clap::Args;
use haptic_model::HaproxyVersion;
use haptic_validate::sandbox::Protection;
use std::path::PathBuf;

/// The cluster, and the namespace in it.
#[derive(Clone, Debug, Args)]
pub struct ClusterArgs {
    /// Its namespace, which is also that of the HAProxy pods [default: $CONTROLLER_NAMESPACE, else the kubeconfig's or the pod's own]
    #[arg(long, env = "POD_NAMESPACE")]
    pub namespace: Option<String>,
    /// How to reach the API server [default: $KUBECONFIG, else ~/.kube/config but for `run`, else the pod's service account]
    #[arg(long, env = "KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
}

impl ClusterArgs {
    /// The namespace that somebody named.
    #[must_use]
    pub fn namespace(&self) -> Option<String> {
        self.namespace.clone().or_else(|| variable("CONTROLLER_NAMESPACE"))
    }
}

/// A configuration, in a file or a cluster.
#[derive(Clone, Debug, Args)]
pub struct ConfigurationArgs {
    /// The configuration; - is standard input
    #[arg(short = 'f', long = "file", alias = "config", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Name of the HAProxyTemplateConfig in a cluster, in place of a file
    #[arg(long, conflicts_with = "file")]
    pub name: Option<String>,
    /// Where it is
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// The HAProxy that checks, and for `local` serves.
#[derive(Clone, Debug, Args)]
pub struct HaproxyArgs {
    /// HAProxy binary; give several, one a version, for a mixed fleet [default: HAPTIC_HAPROXY_* and haproxy on PATH]
    #[arg(long = "haproxy", value_name = "PATH")]
    pub binaries: Vec<PathBuf>,
    /// Check without this protection (limits, privileges, files or calls), where HAProxy cannot run with it; may be repeated
    #[arg(
        long = "unprotected",
        env = "HAPTIC_UNPROTECTED",
        value_name = "PROTECTION",
        value_delimiter = ',',
        hide_env_values = true
    )]
    pub unprotected: Vec<Protection>,
}

/// What is kept from one run to the next, outside of a cluster.
#[derive(Clone, Debug, Args)]
pub struct StateArgs {
    /// Folder for what is made once: the certificate for hosts that have none [default: $XDG_STATE_HOME/haptic or
    /// ~/.local/state/haptic]
    #[arg(long = "state-dir", env = "HAPTIC_STATE_DIR", value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

impl StateArgs {
    /// The folder; `None` where nobody named one and there is no home: what is made then is forgotten.
    #[must_use]
    pub fn folder(&self) -> Option<PathBuf> {
        let below = |variable: &str, path: &str| {
            std::env::var_os(variable).filter(|v| !v.is_empty()).map(|base| PathBuf::from(base).join(path))
        };
        let own = || below("XDG_STATE_HOME", "haptic").or_else(|| below("HOME", ".local/state/haptic"));
        self.folder.clone().or_else(own)
    }
}

/// What a variable of the environment says, if it says anything.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A version of HAProxy that is known.
pub(super) fn version(text: &str) -> Result<HaproxyVersion, String> {
    let version: HaproxyVersion = text.parse()?;
    let (oldest, newest) = (HaproxyVersion::OLDEST, HaproxyVersion::NEWEST);
    match (oldest..=newest).contains(&version) {
        true => Ok(version),
        false => Err(format!("versions {oldest} to {newest} are known")),
    }
}

/// Where something is written to. `-` is standard output everywhere else, and would be a name here.
pub(super) fn place(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("standard output is no place for it; ./- is one of that name".into()),
        path => Ok(path.into()),
    }
}
