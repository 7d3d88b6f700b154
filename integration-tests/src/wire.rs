//! The wire between controller and agent: counts what the controller brings, and is slow when a journey wants it.

use crate::failure::{Failure, Outcome};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

/// A relay from one address to another.
pub struct Wire {
    state: Arc<State>,
    relaying: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    pushes: AtomicU64,
    delay_ms: AtomicU64,
}

impl Wire {
    /// Relays connections to `from` on to `to`.
    ///
    /// # Errors
    /// `from` is in use.
    pub async fn between(from: SocketAddr, to: SocketAddr) -> Outcome<Self> {
        let listener =
            TcpListener::bind(from).await.map_err(|e| Failure::new(format!("wire at {from}: {e}")))?;
        let state = Arc::new(State::default());
        let relaying = tokio::spawn(relay(listener, to, Arc::clone(&state)));
        Ok(Self { state, relaying })
    }

    /// How many bundles the controller has brought.
    #[must_use]
    pub fn pushes(&self) -> u64 {
        self.state.pushes.load(Ordering::Relaxed)
    }

    /// From now on everything the controller says arrives this much later.
    pub fn delay(&self, delay: Duration) {
        self.state.delay_ms.store(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.relaying.abort();
    }
}

async fn relay(listener: TcpListener, to: SocketAddr, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(join(client, to, Arc::clone(&state)));
        while connections.try_join_next().is_some() {}
    }
}

/// Relays one connection until either side ends it.
async fn join(client: TcpStream, to: SocketAddr, state: Arc<State>) -> Outcome {
    let (mut from_agent, mut to_agent) = TcpStream::connect(to).await?.into_split();
    let (mut from_controller, mut to_controller) = client.into_split();
    let forth = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = from_controller.read(&mut buffer).await?;
            let said = buffer.get(..count).unwrap_or_default();
            if said.is_empty() {
                return Outcome::Ok(());
            }
            if said.starts_with(b"POST /v1/apply ") {
                state.pushes.fetch_add(1, Ordering::Relaxed);
            }
            match state.delay_ms.load(Ordering::Relaxed) {
                // A timer takes a millisecond even for nothing.
                0 => {}
                delay => tokio::time::sleep(Duration::from_millis(delay)).await,
            }
            to_agent.write_all(said).await?;
        }
    };
    let back = async { Outcome::Ok(copy(&mut from_agent, &mut to_controller).await.map(drop)?) };
    tokio::select! { done = forth => done, done = back => done }
}
