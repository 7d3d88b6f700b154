//! The wire between controller and pod: counts what the controller brings, and holds it back when a journey wants it.

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

/// How bringing a bundle begins: to an agent, and to a Data Plane API.
const PUSHES: [&[u8]; 2] = [b"POST /v1/apply ", b"POST /v3/services/haproxy/configuration/raw?version="];
/// How looking at a pod begins.
const LOOKS: [&[u8]; 2] = [b"GET /v1/status ", b"GET /v3/info "];
/// How a Data Plane API is asked to check a configuration that it is not to write.
const CHECK: &[u8] = b"POST /v3/services/haproxy/configuration/raw?only_validate=";
/// How an order says that it is one to store.
const STORE: &[u8] = br#""by":"store""#;

/// A relay from one address to another.
pub struct Wire {
    state: Arc<State>,
    relaying: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    pushes: AtomicU64,
    looks: AtomicU64,
    checks: AtomicU64,
    held: watch::Sender<Held>,
    /// How often what was held back was let go.
    releases: watch::Sender<u64>,
    cuts: watch::Sender<u64>,
}

/// What does not arrive.
#[derive(Clone, Copy, Default)]
enum Held {
    #[default]
    Nothing,
    /// Orders to store what is live already.
    Stores,
    /// What brings a bundle.
    Pushes,
    Everything,
}

impl Wire {
    /// Relays connections to `from` on to `to`.
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

    /// How often the controller has looked how the pod is.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.state.looks.load(Ordering::Relaxed)
    }

    /// How often a Data Plane API was asked to check a whole configuration besides bringing it.
    #[must_use]
    pub fn checks(&self) -> u64 {
        self.state.checks.load(Ordering::Relaxed)
    }

    /// From now on nothing that the controller says arrives, until [`Wire::release`].
    pub fn hold(&self) {
        self.state.held.send_replace(Held::Everything);
    }

    /// The same for what brings a bundle, alone.
    pub fn hold_pushes(&self) {
        self.state.held.send_replace(Held::Pushes);
    }

    /// The same for orders to store what is live already, alone.
    pub fn hold_stores(&self) {
        self.state.held.send_replace(Held::Stores);
    }

    /// What is held back is lost, with the connections that it came on.
    pub fn cut(&self) {
        self.state.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// What is held back stays so until [`Wire::release`], and whatever comes after it arrives.
    pub fn hold_no_more(&self) {
        self.state.held.send_replace(Held::Nothing);
    }

    /// What was held back arrives, and everything after it.
    pub fn release(&self) {
        self.hold_no_more();
        self.state.releases.send_modify(|releases| *releases += 1);
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
    let (mut releases, mut cuts) = (state.releases.subscribe(), state.cuts.subscribe());
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
            let is_push = PUSHES.iter().any(|push| said.starts_with(push));
            if is_push {
                state.pushes.fetch_add(1, Ordering::Relaxed);
            }
            if LOOKS.iter().any(|look| said.starts_with(look)) {
                state.looks.fetch_add(1, Ordering::Relaxed);
            }
            if said.starts_with(CHECK) {
                state.checks.fetch_add(1, Ordering::Relaxed);
            }
            let is_store = said.windows(STORE.len()).any(|part| part == STORE);
            releases.mark_unchanged();
            let is_held = match *state.held.borrow() {
                Held::Nothing => false,
                Held::Stores => is_store,
                Held::Pushes => is_push,
                Held::Everything => true,
            };
            if is_held {
                releases.changed().await?;
            }
            to_agent.write_all(said).await?;
        }
    };
    let back = async { Outcome::Ok(copy(&mut from_agent, &mut to_controller).await.map(drop)?) };
    // A cut comes first: what was held back is lost even when it is released in the same moment.
    tokio::select! { biased; _ = cuts.changed() => Ok(()), done = forth => done, done = back => done }
}
