//! Where objects come from: the API server or a directory of manifests. A source only sends updates.

mod backoff;
pub mod directory;
mod discovery;
mod kubernetes;
mod offers;
pub mod on_demand;
mod raw;
mod sentences;

use crate::{
    ingest::Ingest,
    pool::Pool,
    spec::WatchSpec,
    update::{Scope, Update},
};
use directory::Directory;
use kubernetes::KubernetesSource;
use on_demand::OnDemand;
use std::{collections::BTreeSet, fmt, sync::Arc};
use tokio::sync::{mpsc, watch};

/// Where all watches of this process look.
#[derive(Clone)]
pub enum Origin {
    /// The API server behind this client.
    Cluster(kube::Client),
    /// Manifests on disk.
    Directory(Directory),
}

/// One watch's source.
#[derive(Debug)]
pub(crate) enum Source {
    Kubernetes(KubernetesSource),
    Directory {
        directory: Directory,
        spec: Arc<WatchSpec>,
        ingest: Arc<Ingest>,
        on_demand: Option<Arc<OnDemand>>,
    },
}

impl Source {
    pub(crate) fn new(origin: &Origin, spec: &Arc<WatchSpec>, ingest: &Arc<Ingest>, pool: &Pool) -> Self {
        match origin {
            Origin::Cluster(client) => {
                let (client, pool) = (client.clone(), pool.clone());
                Self::Kubernetes(KubernetesSource::new(client, spec.clone(), ingest.clone(), pool))
            }
            Origin::Directory(directory) => Self::Directory {
                directory: directory.clone(),
                spec: spec.clone(),
                ingest: ingest.clone(),
                on_demand: spec.is_on_demand().then(|| OnDemand::from_files(directory.clone(), spec, ingest)),
            },
        }
    }

    /// What fetches the objects of an on-demand store.
    pub(crate) fn on_demand(&self) -> Option<Arc<OnDemand>> {
        match self {
            Self::Kubernetes(source) => source.on_demand(),
            Self::Directory { on_demand, .. } => on_demand.clone(),
        }
    }

    /// Sends updates for as long as `out` is open. Of the namespaces in `wanted`, what there is is sent again.
    pub(crate) async fn run(self, out: mpsc::Sender<Update>, wanted: watch::Receiver<BTreeSet<Scope>>) {
        match self {
            Self::Kubernetes(source) => source.run(out, wanted).await,
            Self::Directory { directory, spec, ingest, .. } => {
                directory.subscribe(spec, ingest, out, wanted).await;
            }
        }
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(_) => f.write_str("Cluster"),
            Self::Directory(directory) => directory.fmt(f),
        }
    }
}
