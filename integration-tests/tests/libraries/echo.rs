//! A server that answers at every loopback address with what it was asked, so that an answer shows where a request went.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

/// Starts it; its port. It ends with the process.
pub fn start() -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || converse(connection));
        }
    });
    port
}

/// Answers each request with the address it came to, its first line and its headers.
fn converse(connection: TcpStream) -> Option<()> {
    let SocketAddr::V4(here) = connection.local_addr().ok()? else { return None };
    let mut stream = BufReader::new(connection);
    loop {
        let mut body = format!("{}\n", here.ip());
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let lower = line.to_ascii_lowercase();
            length = lower.strip_prefix("content-length: ").and_then(|n| n.parse().ok()).unwrap_or(length);
            body.push_str(line);
            body.push('\n');
        }
        std::io::copy(&mut stream.by_ref().take(length), &mut std::io::sink()).ok()?;
        // A path that says so is never answered, for the tests of timeouts.
        if body.contains(" /never") {
            std::io::copy(&mut stream, &mut std::io::sink()).ok()?;
            return None;
        }
        let head = format!("HTTP/1.1 200 OK\r\nX-Served: yes\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.get_mut().write_all((head + &body).as_bytes()).ok()?;
    }
}
