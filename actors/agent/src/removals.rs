//! Servers that are deleted but still finish connections: in maintenance, removed as soon as HAProxy lets them go.

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

type Name = (String, String);

/// The servers waiting to be removed, by backend and server.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    waiting: Mutex<BTreeMap<Name, Waiting>>,
    more: Notify,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    since: Instant,
    told: bool,
}

impl Removals {
    /// This server will be removed when it can be.
    pub(crate) fn add(&self, backend: &str, server: &str) {
        let waiting = Waiting { since: Instant::now(), told: false };
        self.lock().insert((backend.to_owned(), server.to_owned()), waiting);
        self.more.notify_one();
    }

    /// This server stays; says whether it was waiting.
    pub(crate) fn cancel(&self, backend: &str, server: &str) -> bool {
        self.lock().remove(&(backend.to_owned(), server.to_owned())).is_some()
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
        let names: Vec<Name> = self.lock().keys().cloned().collect();
        let mut worker = sockets.worker().await?;
        for (backend, server) in names {
            let answer = worker.ask(&format!("del server {backend}/{server}")).await?;
            if !still_in_use(&answer) {
                self.cancel(&backend, &server);
            }
        }
        Ok(())
    }

    fn tell_of_old_ones(&self) {
        for ((backend, server), waiting) in
            self.lock().iter_mut().filter(|(_, w)| !w.told && w.since.elapsed() > LONG)
        {
            waiting.told = true;
            tracing::warn!(
                "server {backend}/{server} was deleted {} s ago and still has connections; it takes no new ones and is removed when they end, at the latest with the next reload",
                LONG.as_secs()
            );
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Name, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a refused `del server` is worth trying again.
pub(crate) fn still_in_use(answer: &str) -> bool {
    answer.contains("still has connections") || answer.contains("still has sessions")
}
