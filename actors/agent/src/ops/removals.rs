//! Servers and backends that are deleted but still finish requests: they take no new ones, and are removed as soon as
//! HAProxy lets them go. Never during an order, and on a connection of its own.

use super::exchange::{Batch, Exchange, PreparedOperation};
use crate::{
    disk::ledger::{LONG, Removal, WorkerLedger},
    haproxy::{HaproxyProcess, channel::SocketError, connection::Sockets},
};
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Deletes by `commands`; what still has connections waits, and `origin` is remembered of it: what it was made from.
pub(super) fn deletion<'o>(commands: Vec<String>, removal: Removal, origin: String) -> PreparedOperation<'o> {
    let exchange = move |commands| {
        let (removal, origin) = (removal.clone(), origin.clone());
        Exchange::new(commands, move |replies, ledger| {
            for reply in replies {
                if still_in_use(&removal, reply.answer) {
                    ledger.wait_for(removal.clone(), &origin);
                } else if !is_gone(&removal, reply.answer) {
                    reply.accepted()?;
                }
            }
            Ok(None)
        })
    };
    PreparedOperation::new(commands).in_batch(Batch::Removals).sent_as(exchange)
}

/// For ever: tries to remove what waits.
pub(crate) async fn work(haproxy: &HaproxyProcess, apply_lock: &tokio::sync::Mutex<()>) {
    let ledger = &haproxy.ledger;
    loop {
        ledger.more.notified().await;
        let mut pause = FIRST_PAUSE;
        while ledger.counts().0 > 0 {
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
                () = ledger.more.notified() => {
                    tokio::time::sleep(FIRST_PAUSE).await;
                    pause = FIRST_PAUSE;
                }
            }
            let _lock = apply_lock.lock().await;
            if let Err(error) = try_all(ledger, &haproxy.sockets).await {
                tracing::debug!(%error, "deleted servers cannot be removed now");
            }
            for removal in ledger.newly_overdue() {
                tracing::warn!(
                    "{removal} was deleted {} s ago and still has connections; it takes no new ones and is removed when they end, at the latest with the next reload",
                    LONG.as_secs()
                );
            }
        }
    }
}

async fn try_all(ledger: &WorkerLedger, sockets: &Sockets) -> Result<(), SocketError> {
    // What waits is of the worker that runs: looking tears out the pages of another one.
    let current = sockets.processes().await?.worker;
    ledger.worker_runs(current);
    let waiting = ledger.waiting();
    let mut worker = sockets.worker().await?;
    if worker.pid != current {
        return Ok(());
    }
    let commands: Vec<String> = waiting.iter().map(|removal| removal.command()).collect();
    let answers = worker.channel.ask_all(&commands).await?;
    for (removal, _) in waiting.iter().zip(answers).filter(|(removal, answer)| !still_in_use(removal, answer))
    {
        ledger.cancel(removal);
    }
    ledger.save();
    Ok(())
}

/// Whether HAProxy says that it is gone, or was already. News of servers may come before that.
pub(super) fn is_gone(removal: &Removal, answer: &str) -> bool {
    let verdicts = match removal {
        Removal::Server { .. } => ["Server deleted", "No such server"],
        Removal::Backend { .. } => ["Backend deleted", "No such backend"],
    };
    let last = answer.trim().lines().next_back().unwrap_or_default();
    verdicts.iter().any(|verdict| last.starts_with(verdict))
}

/// Whether a refused `del server` or `del backend` is worth trying again.
fn still_in_use(removal: &Removal, answer: &str) -> bool {
    const REASONS: [&str; 4] = [
        "still has connections",
        "still has sessions",
        "still has attached streams",
        "Only a backend without server can be deleted",
    ];
    REASONS.iter().any(|reason| answer.contains(reason)) || lacks_a_verdict(removal, answer)
}

/// Whether an answer is news of servers, without a word on this removal: HAProxy 3.4 puts what other commands did to servers in
/// front of its verdict, and under many changes the verdict is sometimes missing, or another command's. Whoever asks again
/// hears it alone.
fn lacks_a_verdict(removal: &Removal, answer: &str) -> bool {
    const NEWS: [&str; 3] = [" is going DOWN", " is UP", "has no server available!"];
    NEWS.iter().any(|news| answer.contains(news)) && !is_gone(removal, answer)
}

#[cfg(test)]
mod tests {
    use super::{is_gone, still_in_use};
    use crate::disk::ledger::Removal;

    const NEWS: &str = "Server blog/a is going DOWN for maintenance. 3 active and 0 backup servers left.\n\
                        backend blog has no server available!\n";

    #[test]
    fn news_of_servers_are_no_verdict() {
        let (backend, server) = (Removal::backend("shop"), Removal::server("shop", "a"));
        let with = |verdict: &str| format!("{NEWS}{verdict}");
        for waits in ["", "Server shop/b is goi", "Server deleted.\n"] {
            assert!(still_in_use(&backend, &with(waits)), "{waits}");
        }
        for (removal, verdict) in
            [(&backend, "Backend deleted.\n"), (&backend, "No such backend"), (&server, "Server deleted.\n")]
        {
            assert!(is_gone(removal, verdict) && is_gone(removal, &with(verdict)), "{verdict}");
            assert!(!still_in_use(removal, &with(verdict)), "{verdict}");
        }
        assert!(!still_in_use(&backend, "") && !is_gone(&backend, "Server deleted."));
    }
}
