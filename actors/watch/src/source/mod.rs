//! Where objects come from: the API server or a directory of manifests. A source only sends updates.

mod backoff;
pub mod directory;
mod discovery;
mod kubernetes;
mod messages;
mod named;
mod offers;
pub mod on_demand;
mod raw;

use crate::{
    ingest::Ingest,
    pool::Pool,
    spec::WatchSpec,
    stores::Stores,
    update::{ListScope, Update},
};
use directory::{Directory, DirectoryError};
use haptic_runtime::Events;
use kubernetes::KubernetesSource;
use named::NamedSource;
use on_demand::OnDemand;
use std::{collections::BTreeSet, fmt, path::PathBuf, sync::Arc};
use tokio::sync::{mpsc, watch};

/// Where all watches of this process look.
#[derive(Clone)]
pub enum OpenedSource {
    /// The API server behind this client.
    Cluster(kube::Client),
    /// Manifests on disk.
    Directory(Directory),
}

/// Where watched objects come from, before anything is read there.
#[derive(Clone)]
pub enum ObjectSource {
    /// The API server.
    Cluster(kube::Client),
    /// A folder of manifests.
    Folder(PathBuf),
}

impl ObjectSource {
    /// Opens a folder; `events` receives what is wrong with its files.
    ///
    /// # Errors
    /// When the folder cannot be read or watched.
    pub fn open(&self, events: &Events) -> Result<OpenedSource, DirectoryError> {
        Ok(match self {
            Self::Cluster(client) => OpenedSource::Cluster(client.clone()),
            Self::Folder(folder) => OpenedSource::Directory(Directory::open(folder, events.clone())?),
        })
    }
}

#[derive(Debug)]
pub(crate) enum WatchSource {
    Kubernetes(KubernetesSource, Option<Arc<OnDemand>>),
    Named(NamedSource),
    Directory {
        directory: Directory,
        spec: Arc<WatchSpec>,
        ingest: Arc<Ingest>,
        on_demand: Option<Arc<OnDemand>>,
    },
}

impl WatchSource {
    pub(crate) fn new(
        origin: &OpenedSource,
        spec: &Arc<WatchSpec>,
        ingest: &Arc<Ingest>,
        pool: &Pool,
        stores: &Stores,
    ) -> Self {
        let client = match origin {
            OpenedSource::Cluster(client) => client.clone(),
            OpenedSource::Directory(directory) => {
                return Self::Directory {
                    directory: directory.clone(),
                    spec: spec.clone(),
                    ingest: ingest.clone(),
                    on_demand: spec
                        .is_on_demand()
                        .then(|| OnDemand::from_files(directory.clone(), spec, ingest)),
                };
            }
        };
        let (spec, ingest) = (spec.clone(), ingest.clone());
        if spec.is_named() {
            let of_metadata = Arc::new(Ingest::of_metadata(&spec));
            let metadata = KubernetesSource::new(client.clone(), spec.clone(), of_metadata, pool.clone());
            return Self::Named(NamedSource { metadata, client, spec, ingest, stores: stores.clone() });
        }
        let source = KubernetesSource::new(client.clone(), spec.clone(), ingest.clone(), pool.clone());
        let fetch =
            || OnDemand::from_cluster(client, source.discovered(), &spec, &ingest, stores.named().clone());
        let on_demand = spec.is_on_demand().then(fetch);
        Self::Kubernetes(source, on_demand)
    }

    /// What fetches the objects of an on-demand store.
    pub(crate) fn on_demand(&self) -> Option<Arc<OnDemand>> {
        match self {
            Self::Kubernetes(_, on_demand) | Self::Directory { on_demand, .. } => on_demand.clone(),
            Self::Named(_) => None,
        }
    }

    /// Sends updates for as long as `out` is open. Of the namespaces in `wanted`, what there is is sent again.
    pub(crate) async fn run(self, out: mpsc::Sender<Update>, wanted: watch::Receiver<BTreeSet<ListScope>>) {
        match self {
            Self::Kubernetes(source, _) => source.run(out, wanted).await,
            Self::Named(source) => source.run(out, wanted).await,
            Self::Directory { directory, spec, ingest, .. } => {
                directory.subscribe(spec, ingest, out, wanted).await;
            }
        }
    }
}

impl fmt::Debug for OpenedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(_) => f.write_str("Cluster"),
            Self::Directory(directory) => directory.fmt(f),
        }
    }
}
