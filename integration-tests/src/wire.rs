//! The wire between controller and agent: counts what the controller brings, and holds it back when a journey wants it.

use crate::failure::{Failure, Outcome};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// A relay from one address to another.
pub struct Wire {
    state: Arc<State>,
    relaying: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    pushes: AtomicU64,
    held: watch::Sender<bool>,
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
        Ok(Self { state, relaying: Some(relaying) })
    }

    /// No wire at all: nothing is relayed, counted or delayed. For measurements, where a relay would cost time.
    #[must_use]
    pub fn absent() -> Self {
        Self { state: Arc::default(), relaying: None }
    }

    /// How many bundles the controller has brought.
    #[must_use]
    pub fn pushes(&self) -> u64 {
        self.state.pushes.load(Ordering::Relaxed)
    }

    /// From now on nothing that the controller says arrives, until [`Wire::release`].
    pub fn hold(&self) {
        self.state.held.send_replace(true);
    }

    /// What was held back arrives, and everything after it.
    pub fn release(&self) {
        self.state.held.send_replace(false);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(relaying) = &self.relaying {
            relaying.abort();
        }
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
    let mut held = state.held.subscribe();
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
            held.wait_for(|held| !held).await?;
            to_agent.write_all(said).await?;
        }
    };
    let back = async { Outcome::Ok(copy(&mut from_agent, &mut to_controller).await.map(drop)?) };
    tokio::select! { done = forth => done, done = back => done }
}
