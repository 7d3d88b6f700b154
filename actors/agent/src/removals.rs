//! Servers and backends that are deleted but still finish requests: they take no new ones, and are removed as soon as
//! HAProxy lets them go. Never during an order, and on a connection of its own.

use crate::{
    connection::{SocketError, Sockets},
    ledger::{LONG, Ledger},
};
use std::{sync::Arc, time::Duration};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// For ever: tries to remove what waits.
pub(crate) async fn work(ledger: &Ledger, sockets: &Sockets, turn: &Arc<tokio::sync::Mutex<()>>) {
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
            let _turn = turn.lock().await;
            if let Err(error) = try_all(ledger, sockets).await {
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

async fn try_all(ledger: &Ledger, sockets: &Sockets) -> Result<(), SocketError> {
    // What waits is of the worker that runs: looking tears out the pages of another one.
    let current = sockets.processes().await?.worker;
    ledger.worker_runs(current);
    let waiting = ledger.waiting();
    let mut worker = sockets.worker().await?;
    if worker.pid != current {
        return Ok(());
    }
    let commands: Vec<String> = waiting.iter().map(|removal| removal.command()).collect();
    let answers = worker.ask_all(&commands).await?;
    for (removal, _) in waiting.iter().zip(answers).filter(|(_, answer)| !still_in_use(answer)) {
        ledger.cancel(removal);
    }
    ledger.save();
    Ok(())
}

/// Whether a refused `del server` or `del backend` is worth trying again.
pub(crate) fn still_in_use(answer: &str) -> bool {
    const REASONS: [&str; 4] = [
        "still has connections",
        "still has sessions",
        "still has attached streams",
        "Only a backend without server can be deleted",
    ];
    REASONS.iter().any(|reason| answer.contains(reason)) || lacks_a_verdict(answer)
}

/// Whether an answer is news of servers, without a word on the removal: HAProxy 3.4 puts what other commands did to servers in
/// front of its verdict, and under many changes the verdict is sometimes missing. Whoever asks again hears it alone.
fn lacks_a_verdict(answer: &str) -> bool {
    const NEWS: [&str; 3] = [" is going DOWN", " is UP", "has no server available!"];
    const VERDICTS: [&str; 3] = ["Backend deleted", "Server deleted", "No such"];
    let last = answer.trim().lines().next_back().unwrap_or_default();
    NEWS.iter().any(|news| answer.contains(news)) && !VERDICTS.iter().any(|verdict| last.starts_with(verdict))
}

#[cfg(test)]
mod tests {
    use super::still_in_use;

    const NEWS: &str = "Server blog/a is going DOWN for maintenance. 3 active and 0 backup servers left.\n\
                        backend blog has no server available!\n";

    #[test]
    fn news_of_servers_are_no_verdict() {
        assert!(still_in_use(NEWS));
        assert!(still_in_use(&format!("{NEWS}Server shop/b is goi")));
        assert!(!still_in_use(&format!("{NEWS}Backend deleted.\n")));
        assert!(!still_in_use("No such backend"));
        assert!(!still_in_use(""));
    }
}
