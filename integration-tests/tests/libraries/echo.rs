//! A server that answers at every loopback address with what it was asked, so that an answer shows where a request went.

use std::{
    collections::HashSet,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// Requests that were left without an answer.
type Broken = Arc<Mutex<HashSet<String>>>;

/// Starts it at all IPv4 addresses; its port. It ends with the process.
pub fn start() -> u16 {
    at(TcpListener::bind("0.0.0.0:0").unwrap())
}

/// Starts it at `listener`.
pub fn at(listener: TcpListener) -> u16 {
    let port = listener.local_addr().unwrap().port();
    let broken = Broken::default();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let broken = Arc::clone(&broken);
            thread::spawn(move || converse(connection, &broken));
        }
    });
    port
}

/// The number that stands in the path of a request behind such words.
fn number_behind<N: std::str::FromStr>(request: &str, words: &str) -> Option<N> {
    request.lines().nth(1)?.split(words).nth(1)?.split(['/', ' ']).next()?.parse().ok()
}

/// Answers each request with the address it came to, its first line and its headers.
fn converse(connection: TcpStream, broken: &Broken) -> Option<()> {
    let here = connection.local_addr().ok()?;
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
        if body.contains("/never") {
            std::io::copy(&mut stream, &mut std::io::sink()).ok()?;
            return None;
        }
        // One that says so is answered so many milliseconds later, if the client stays.
        if let Some(time) = number_behind(&body, "/slow-") {
            stream.get_ref().set_read_timeout(Some(Duration::from_millis(time))).ok()?;
            let is_gone = stream.fill_buf().is_ok_and(<[u8]>::is_empty);
            stream.get_ref().set_read_timeout(None).ok()?;
            if is_gone {
                return None;
            }
        }
        // One that says so gets no answer the first time, for the tests of retries.
        if body.contains("/flaky") {
            let request = body.lines().nth(1).unwrap_or_default().to_owned();
            if broken.lock().ok()?.insert(request) {
                return None;
            }
        }
        // One that says so gets an error the first time, with a status of its name.
        let status: u16 = match number_behind(&body, "/first-") {
            Some(status)
                if broken.lock().ok()?.insert(body.lines().nth(1).unwrap_or_default().to_owned()) =>
            {
                status
            }
            _ => 200,
        };
        // A tunnel in which nothing is ever said.
        if body.to_ascii_lowercase().contains("\nupgrade: ") {
            let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: test\r\n\r\n";
            stream.get_mut().write_all(head.as_bytes()).ok()?;
            std::io::copy(&mut stream, &mut std::io::sink()).ok()?;
            return None;
        }
        let head = format!(
            "HTTP/1.1 {status} Answer\r\nX-Served: yes\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.get_mut().write_all((head + &body).as_bytes()).ok()?;
    }
}
