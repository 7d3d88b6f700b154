//! Steady traffic: clients that ask one after the other, as fast as they are answered, and keep their connections.

use crate::{
    eventually,
    failure::{Failure, Outcome, ensure},
    http::Connection,
};
use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinSet;

/// Pause of each client between its requests: steady, not a load test.
const PACE: Duration = Duration::from_millis(2);

/// Clients at work.
pub struct Traffic {
    clients: JoinSet<()>,
    tally: Arc<Tally>,
}

#[derive(Default)]
struct Tally {
    answered: AtomicU64,
    failures: Mutex<Vec<String>>,
    stop: AtomicBool,
}

impl Traffic {
    /// Starts `clients` clients that ask `address` for `host`, and expect 200.
    #[must_use]
    pub fn start(clients: usize, address: SocketAddr, host: &str) -> Self {
        let tally = Arc::new(Tally::default());
        let work = (0..clients).map(|_| client(address, host.to_owned(), Arc::clone(&tally))).collect();
        Self { clients: work, tally }
    }

    /// Requests answered with 200 so far.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.tally.answered.load(Ordering::Relaxed)
    }

    /// Requests that failed so far.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.tally.failures().len()
    }

    /// Waits for `count` more answers.
    pub async fn answers(&self, count: u64) -> Outcome {
        let wanted = self.answered() + count;
        eventually("the clients get more answers", async || {
            ensure(
                self.answered() >= wanted,
                format!("{} of {wanted}; {}", self.answered(), self.tally.report()),
            )
        })
        .await
    }

    /// Stops, and gives how many requests were answered with 200.
    ///
    /// # Errors
    /// Any request was not: how many, and the first of them.
    pub async fn finish_without_loss(mut self) -> Outcome<u64> {
        self.tally.stop.store(true, Ordering::Relaxed);
        while self.clients.join_next().await.is_some() {}
        if self.tally.failures().is_empty() {
            Ok(self.answered())
        } else {
            Err(Failure::new(self.tally.report()))
        }
    }
}

impl Tally {
    fn failures(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self) -> String {
        let failures = self.failures();
        let first = failures.first().map_or("none", String::as_str);
        format!(
            "{} of {} requests failed, first: {first}",
            failures.len(),
            failures.len() as u64 + self.answered.load(Ordering::Relaxed)
        )
    }
}

async fn client(address: SocketAddr, host: String, tally: Arc<Tally>) {
    let mut connection = None;
    while !tally.stop.load(Ordering::Relaxed) {
        if let Err(failure) = ask(&mut connection, address, &host).await {
            connection = None;
            tally.failures().push(failure.sentence().to_owned());
        } else {
            tally.answered.fetch_add(1, Ordering::Relaxed);
        }
        tokio::time::sleep(PACE).await;
    }
}

/// One request. A kept connection that the server closed while it was idle is replaced, as every HTTP client does.
async fn ask(kept: &mut Option<Connection>, address: SocketAddr, host: &str) -> Outcome {
    if let Some(connection) = kept.as_mut() {
        match connection.request("GET", host, "/").await {
            Ok(response) => return check(kept, &response),
            Err(_) if connection.was_closed_while_idle() => *kept = None,
            Err(failure) => return Err(failure),
        }
    }
    let mut connection = Connection::open(address, None).await?;
    let response = connection.request("GET", host, "/").await?;
    *kept = Some(connection);
    check(kept, &response)
}

fn check(kept: &mut Option<Connection>, response: &crate::http::Response) -> Outcome {
    if !response.keeps_connection() {
        *kept = None;
    }
    response.has_status(200)
}
