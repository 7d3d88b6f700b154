//! Small HTTP servers that answer with their own name, so that an answer shows which one gave it.

use crate::{
    failure::{Failure, Outcome},
    http::line,
    manifest::BACKEND_PORT,
};
use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

/// One server; dropping it closes its port and all its connections.
pub struct Backend {
    /// The whole body of its answers.
    pub name: String,
    /// Where it listens, on [`BACKEND_PORT`].
    pub address: Ipv4Addr,
    requests: Arc<AtomicU64>,
    serving: JoinHandle<()>,
}

impl Backend {
    /// Starts a backend that answers at once.
    pub async fn start(name: &str, address: Ipv4Addr) -> Outcome<Self> {
        Self::slow(name, address, Duration::ZERO).await
    }

    /// Starts a backend that answers after `delay`.
    pub async fn slow(name: &str, address: Ipv4Addr, delay: Duration) -> Outcome<Self> {
        let listener = TcpListener::bind((address, BACKEND_PORT)).await;
        let listener = listener.map_err(|e| Failure::new(format!("backend {name} at {address}: {e}")))?;
        let requests = Arc::new(AtomicU64::new(0));
        let serving = tokio::spawn(serve(listener, name.to_owned(), delay, Arc::clone(&requests)));
        Ok(Self { name: name.to_owned(), address, requests, serving })
    }

    /// Ends it: its port is free when this returns.
    pub async fn stop(mut self) {
        self.serving.abort();
        let _aborted = (&mut self.serving).await;
    }

    /// How many requests it has had.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, name: String, delay: Duration, requests: Arc<AtomicU64>) {
    let mut connections = JoinSet::new();
    while let Ok((connection, _)) = listener.accept().await {
        connections.spawn(converse(connection, name.clone(), delay, Arc::clone(&requests)));
        while connections.try_join_next().is_some() {}
    }
}

/// Answers every request on one connection until the client closes it. Requests have no bodies.
async fn converse(connection: TcpStream, name: String, delay: Duration, requests: Arc<AtomicU64>) -> Outcome {
    connection.set_nodelay(true)?;
    let mut stream = BufReader::new(connection);
    loop {
        while !line(&mut stream).await?.is_empty() {}
        requests.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(delay).await;
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n", name.len());
        stream.get_mut().write_all((head + &name).as_bytes()).await?;
    }
}
