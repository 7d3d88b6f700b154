//! Where a configuration comes from. A source only observes; it decides nothing.

mod file;
mod kubernetes;
mod secret;

pub use secret::{Unusable, check as check_secret};

use crate::{intake::SourceState, overlay::FileOverlay};
use haptic_model::config::Credentials;
use haptic_runtime::Publisher;
use std::{path::PathBuf, sync::Arc};

/// A source of the configuration and its credentials.
#[derive(Clone)]
pub enum ConfigSource {
    /// A resource on the API server, and the Secret it names.
    Kubernetes {
        /// Reaches the API server.
        client: kube::Client,
        /// Where the resource and, unless it says otherwise, its Secret are.
        namespace: String,
        /// The resource's name.
        name: String,
    },
    /// A file, watched for changes; its Secret is not looked for.
    File {
        /// The file.
        path: PathBuf,
        /// Taken in place of the Secret's.
        credentials: Credentials,
        /// Laid over what the file says.
        overlay: FileOverlay,
    },
}

impl ConfigSource {
    /// What is waited for, in words.
    #[must_use]
    pub fn wanted(&self) -> String {
        match self {
            Self::Kubernetes { namespace, name, .. } => {
                format!("HAProxyTemplateConfig {name} in namespace {namespace}")
            }
            Self::File { path, .. } => format!("configuration file {}", path.display()),
        }
    }

    /// Observes into `seen` for as long as the returned future is polled.
    pub async fn observe(self, seen: Arc<Publisher<SourceState>>) {
        match self {
            Self::Kubernetes { client, namespace, name } => {
                kubernetes::observe(client, &namespace, &name, &seen).await;
            }
            Self::File { path, credentials, overlay } => {
                file::observe(path, credentials, &overlay, &seen).await;
            }
        }
    }
}

impl std::fmt::Debug for ConfigSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Source").field(&self.wanted()).finish()
    }
}
