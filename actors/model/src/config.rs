//! The configuration in force: validated, with defaults applied and credentials resolved.

use crate::{
    crd::{HAProxyTemplateConfigSpec, LeaderElectionSpec},
    diagnostic::Diagnostic,
    layout::Layout,
    store::Snapshots,
};
use haptic_text::Sensitive;
use std::{ops::Deref, sync::Arc};

/// The verdict on the newest configuration, whether it came into force or not.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigVerdict {
    /// `metadata.generation` of the resource it is about; 0 for a file.
    pub resource_generation: i64,
    /// `metadata.uid` of the resource: one that was deleted and made again has another one, and no status. `None`: a file, or it does not fit
    /// the types.
    pub uid: Option<Arc<str>>,
    /// Why it was refused; empty: it was accepted, and is in force once its stores are read.
    pub problems: Vec<Diagnostic>,
    /// What it says of leader election; `None`: it does not fit the types, and nothing can be read from it.
    pub leader_election: Option<LeaderElectionSpec>,
    /// Why the credentials it names cannot be had; the ones before are still used, if there are any.
    pub credentials: Option<Diagnostic>,
}

/// A valid configuration. Never changes; a new one replaces it.
#[derive(Clone, Debug)]
pub struct ActiveConfig {
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace, which is also the controller's.
    pub namespace: Arc<str>,
    /// `metadata.generation` of the resource; 0 for a file.
    pub resource_generation: i64,
    /// Grows with every configuration this process took into force.
    pub revision: u64,
    /// All fields, defaults applied.
    pub spec: Arc<HAProxyTemplateConfigSpec>,
    /// Where files lie on the pods.
    pub layout: Layout,
    /// The newest first; the ones before it are still tried for a while after a rotation.
    pub credentials: Vec<Credentials>,
}

/// The newest configuration that all validators accepted. It is active once its stores are read.
#[derive(Clone, Debug)]
pub struct AcceptedConfig(pub Arc<ActiveConfig>);

impl Deref for AcceptedConfig {
    type Target = ActiveConfig;

    fn deref(&self) -> &ActiveConfig {
        &self.0
    }
}

impl ActiveConfig {
    /// The first configuration of a process, that nobody changed yet: files lie where they do by default, and no credentials are
    /// known.
    #[must_use]
    pub fn of(name: &str, namespace: &str, spec: HAProxyTemplateConfigSpec) -> Self {
        Self {
            name: name.into(),
            namespace: namespace.into(),
            resource_generation: 1,
            revision: 1,
            spec: Arc::new(spec),
            layout: Layout::default(),
            credentials: Vec::new(),
        }
    }

    /// Its watched resources that `snapshots` does not hold to the end of their lists.
    pub fn unread<'c>(&'c self, snapshots: &Snapshots) -> impl Iterator<Item = &'c str> {
        self.spec.stores().filter(|name| !snapshots.synced([*name]))
    }
}

/// A user name and password for the agent or the Data Plane API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Who calls.
    pub username: String,
    /// Its password.
    pub password: Sensitive,
}
