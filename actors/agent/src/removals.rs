//! Servers and backends that are deleted but still finish requests: they take no new ones, and are removed as soon as
//! HAProxy lets them go.

use crate::connection::{SocketError, Sockets};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// After so long, someone is told.
const LONG: Duration = Duration::from_secs(30);

/// What waits to be removed. Servers come first: a backend goes only without any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Removal {
    Server { backend: String, server: String },
    Backend { backend: String },
}

/// Everything that waits to be removed.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    waiting: Mutex<BTreeMap<Removal, Waiting>>,
    more: Notify,
}

#[derive(Clone, Debug)]
struct Waiting {
    /// The defaults section of a backend.
    defaults: String,
    since: Instant,
    told: bool,
}

impl Removals {
    /// This will be removed when it can be.
    pub(crate) fn add(&self, removal: Removal, defaults: &str) {
        let waiting = Waiting { defaults: defaults.to_owned(), since: Instant::now(), told: false };
        self.lock().insert(removal, waiting);
        self.more.notify_one();
    }

    /// This stays. Gives the defaults section that it came from, when it was waiting.
    pub(crate) fn cancel(&self, removal: &Removal) -> Option<String> {
        self.lock().remove(removal).map(|waiting| waiting.defaults)
    }

    /// A new worker has none of them.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// For ever: tries to remove what waits, on a connection of its own and never during an apply.
    pub(crate) async fn work(&self, sockets: &Sockets, turn: &Arc<tokio::sync::Mutex<()>>) {
        loop {
            self.more.notified().await;
            let mut pause = FIRST_PAUSE;
            while self.count() > 0 {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                let _turn = turn.lock().await;
                if let Err(error) = self.try_all(sockets).await {
                    tracing::debug!(%error, "deleted servers cannot be removed now");
                }
                self.tell_of_old_ones();
            }
        }
    }

    async fn try_all(&self, sockets: &Sockets) -> Result<(), SocketError> {
        let waiting: Vec<Removal> = self.lock().keys().cloned().collect();
        let mut worker = sockets.worker().await?;
        for removal in waiting {
            let answer = worker.ask(&removal.command()).await?;
            if !still_in_use(&answer) {
                self.cancel(&removal);
            }
        }
        Ok(())
    }

    fn tell_of_old_ones(&self) {
        for (removal, waiting) in self.lock().iter_mut().filter(|(_, w)| !w.told && w.since.elapsed() > LONG)
        {
            waiting.told = true;
            tracing::warn!(
                "{removal} was deleted {} s ago and still has connections; it takes no new ones and is removed when they end, at the latest with the next reload",
                LONG.as_secs()
            );
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Removal, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Removal {
    pub(crate) fn server(backend: &str, server: &str) -> Self {
        Self::Server { backend: backend.to_owned(), server: server.to_owned() }
    }

    pub(crate) fn backend(backend: &str) -> Self {
        Self::Backend { backend: backend.to_owned() }
    }

    pub(crate) fn command(&self) -> String {
        format!("del {self}")
    }
}

impl std::fmt::Display for Removal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Server { backend, server } => write!(f, "server {backend}/{server}"),
            Self::Backend { backend } => write!(f, "backend {backend}"),
        }
    }
}

/// Whether a refused `del server` or `del backend` is worth trying again.
pub(crate) fn still_in_use(answer: &str) -> bool {
    const REASONS: [&str; 4] = [
        "still has connections",
        "still has sessions",
        "still has attached streams",
        "Only a backend without server can be deleted",
    ];
    REASONS.iter().any(|reason| answer.contains(reason))
}
