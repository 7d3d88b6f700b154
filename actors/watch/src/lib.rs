//! Watched resources: list, watch, index, publish.
//!
//! One watch for each entry of `watchedResources`. A source (the API server, or a directory of manifests) sends
//! updates; a pump writes them to the store and publishes a snapshot; the actor only starts the pump and
//! sees that it goes on. Nothing here renders, and no object's content is ever printed.

pub mod actor;
pub mod api_server;
pub mod guard;
pub mod ingest;
pub mod named;
pub mod pool;
pub mod provided;
pub mod pump;
pub mod quota;
pub mod rejected;
pub mod source;
pub mod spec;
pub mod stores;
pub mod update;
pub mod writer;

pub use actor::{RunningWatches, WatchActor, WatchSet, WatchSetActor};
pub use named::{NameOrigin, NamedStores};
pub use pool::Pool;
pub use pump::WatchTask;
pub use source::{ObjectSource, OpenedSource, directory::Directory};
pub use spec::WatchSpec;
pub use stores::{Stores, Troubles};
