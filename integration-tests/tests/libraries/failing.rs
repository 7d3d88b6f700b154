//! Servers that take connections and requests, and give no answer.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{IpAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// How a server fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFailure {
    Closes,
    Resets,
    SaysNonsense,
    IsSilent,
}

impl ServerFailure {
    /// Each by a name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("closes", Self::Closes),
        ("resets", Self::Resets),
        ("nonsense", Self::SaysNonsense),
        ("silent", Self::IsSilent),
    ];

    /// Its answer to one request.
    fn answer(self, connection: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(connection);
        let mut length = 0;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
            if line.trim_end().is_empty() {
                break;
            }
            let lower = line.to_ascii_lowercase();
            length =
                lower.strip_prefix("content-length: ").and_then(|n| n.trim().parse().ok()).unwrap_or(length);
        }
        std::io::copy(&mut stream.by_ref().take(length), &mut std::io::sink()).ok()?;
        match self {
            Self::Closes => {}
            Self::Resets => {
                rustix::net::sockopt::set_socket_linger(stream.get_ref(), Some(Duration::ZERO)).ok()?;
            }
            Self::SaysNonsense => stream.get_mut().write_all(b"nonsense\r\n\r\n").ok()?,
            Self::IsSilent => drop(std::io::copy(&mut stream, &mut std::io::sink())),
        }
        Some(())
    }

    /// Starts it; its port, and how many requests it has had.
    pub fn start(self, address: IpAddr) -> (u16, Arc<AtomicUsize>) {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || self.answer(connection));
            }
        });
        (port, asked)
    }
}
