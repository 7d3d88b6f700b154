//! Watches HAProxy's processes: that it was restarted, reloaded by someone else or crashed is noticed within a second, also
//! when nobody asks and also of a HAProxy that something else keeps running.

use crate::{agent::Inner, answer::Processes, connection::SocketError};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// How often HAProxy is looked at. One look costs it some 50 µs.
const PACE: Duration = Duration::from_millis(250);

/// What was seen last.
#[derive(Debug, Default)]
pub(crate) struct Sight(Mutex<Seen>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    master: u32,
    worker: u32,
    /// The master does not answer.
    gone: bool,
}

impl Inner {
    /// For ever: looks, so that [`Self::seen`] is told of what changed.
    pub(crate) async fn watch(&self) {
        loop {
            tokio::time::sleep(PACE).await;
            self.sockets.close_old();
            // In the midst of a reload HAProxy has counted it and does not know yet whether it fails.
            let Ok(turn) = self.turn.try_lock() else { continue };
            let seen = self.look().await;
            drop(turn);
            match seen {
                Ok(_) => self.glance().await,
                // A master that reloads says nothing for a while.
                Err(SocketError::Silent { .. }) => {}
                Err(error) => self.gone(&error),
            }
        }
    }

    /// HAProxy has these processes. What the agent knows of another worker ends here, whoever replaced it.
    pub(crate) fn seen(&self, now: &Processes) {
        if now.worker == 0 {
            return;
        }
        let before = self.sight.replace(Seen { master: now.master, worker: now.worker, gone: false });
        if before.worker == now.worker {
            return;
        }
        self.ledger.worker_runs(now.worker);
        if before.worker == 0 {
            return;
        }
        self.metrics.worker_changed();
        if before.master == now.master {
            tracing::info!(
                worker = now.worker,
                before = before.worker,
                old_workers = now.old_workers,
                "another worker runs"
            );
        } else {
            tracing::warn!(
                master = now.master,
                worker = now.worker,
                "HAProxy was started anew; it runs what is on disk"
            );
        }
    }

    fn gone(&self, error: &SocketError) {
        let before = self.sight.change(|seen| seen.gone = true);
        if !before.gone && before.worker != 0 {
            tracing::warn!(%error, "HAProxy is gone");
        }
    }
}

impl Sight {
    fn replace(&self, seen: Seen) -> Seen {
        self.change(|before| *before = seen)
    }

    /// Changes what was seen last; gives it as it was.
    fn change(&self, change: impl FnOnce(&mut Seen)) -> Seen {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *seen;
        change(&mut seen);
        before
    }
}
