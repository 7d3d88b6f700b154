//! What is missing before anything may be rendered: a valid configuration, every store read once, and for a while the pods'
//! answers.
//!
//! Rendering from a half-read store would take traffic away from objects that exist. What is rendered for pods of which nothing is
//! known yet may be nothing that their HAProxy understands; but pods that do not answer keep nobody waiting.

use std::sync::Arc;

use haptic_model::{ActiveConfig, Snapshots};
use serde::Serialize;

/// Whether reconciles may start, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Gate {
    /// All is there.
    Open,
    /// No configuration has been valid yet.
    NoConfig,
    /// These stores have not been read to the end yet.
    Unsynced(Vec<String>),
    /// So many pods have not said yet which HAProxy they run.
    Unanswered(usize),
}

impl std::fmt::Display for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open => f.write_str("nothing"),
            Self::NoConfig => f.write_str("waiting for a valid configuration"),
            Self::Unsynced(stores) => write!(f, "waiting for the whole list of {}", stores.join(", ")),
            Self::Unanswered(1) => f.write_str("waiting for a HAProxy pod to say which version it runs"),
            Self::Unanswered(pods) => {
                write!(f, "waiting for {pods} HAProxy pods to say which version they run")
            }
        }
    }
}

impl Gate {
    /// Whether `config` may be rendered from `snapshots`.
    #[must_use]
    pub fn of(config: Option<&Arc<ActiveConfig>>, snapshots: &Snapshots) -> Self {
        let Some(config) = config else { return Self::NoConfig };
        let names = config.spec.stores();
        let missing: Vec<String> =
            names.filter(|name| !snapshots.synced([*name])).map(str::to_owned).collect();
        if missing.is_empty() { Self::Open } else { Self::Unsynced(missing) }
    }
}
