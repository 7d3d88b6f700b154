//! Servers and backends that are deleted but still finish requests: they take no new ones, and are removed as soon as
//! HAProxy lets them go. Never during an order, and on a connection of its own.

use super::exchange::{Batch, Exchange, PreparedOperation};
use crate::{
    disk::ledger::{LONG, Removal, WorkerLedger},
    haproxy::{
        HaproxyProcess,
        answer::{RemovedKind, SocketAnswer},
        channel::SocketError,
        connection::Sockets,
    },
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
                if still_in_use(&removal, reply.says()) {
                    ledger.wait_for(removal.clone(), &origin);
                } else if !is_gone(&removal, reply.says()) {
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
    for (removal, answer) in waiting.iter().zip(&answers) {
        if !still_in_use(removal, SocketAnswer::of(answer)) {
            ledger.cancel(removal);
        }
    }
    ledger.save();
    Ok(())
}

/// Whether HAProxy says that it is gone, or was already. News of servers may come before that.
pub(super) fn is_gone(removal: &Removal, answer: SocketAnswer) -> bool {
    matches!(answer, SocketAnswer::Gone { what, .. } if what == kind_of(removal))
}

/// Whether a refused `del server` or `del backend` is worth trying again: it is in use, or HAProxy gave news of servers and no verdict on it.
fn still_in_use(removal: &Removal, answer: SocketAnswer) -> bool {
    match answer {
        SocketAnswer::InUse | SocketAnswer::News { .. } => true,
        SocketAnswer::Gone { after_news, .. } => after_news && !is_gone(removal, answer),
        _ => false,
    }
}

fn kind_of(removal: &Removal) -> RemovedKind {
    match removal {
        Removal::Server { .. } => RemovedKind::Server,
        Removal::Backend { .. } => RemovedKind::Backend,
    }
}

#[cfg(test)]
mod tests {
    use super::{SocketAnswer, is_gone, still_in_use};
    use crate::disk::ledger::Removal;

    const NEWS: &str = "Server blog/a is going DOWN for maintenance. 3 active and 0 backup servers left.\n\
                        backend blog has no server available!\n";

    #[test]
    fn news_of_servers_are_no_verdict() {
        let (backend, server) = (Removal::backend("shop"), Removal::server("shop", "a"));
        let with = |verdict: &str| format!("{NEWS}{verdict}");
        for waits in ["", "Server shop/b is goi", "Server deleted.\n"] {
            assert!(still_in_use(&backend, SocketAnswer::of(&with(waits))), "{waits}");
        }
        for (removal, verdict) in
            [(&backend, "Backend deleted.\n"), (&backend, "No such backend"), (&server, "Server deleted.\n")]
        {
            for answer in [verdict, &with(verdict)] {
                let answer = SocketAnswer::of(answer);
                assert!(is_gone(removal, answer) && !still_in_use(removal, answer), "{verdict}");
            }
        }
        assert!(!still_in_use(&backend, SocketAnswer::of("")));
        assert!(!is_gone(&backend, SocketAnswer::of("Server deleted.")));
    }
}
