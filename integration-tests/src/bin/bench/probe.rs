//! A client that asks HAProxy again and again, each time on a new connection, until the answer is the wanted one.
//!
//! Its own thread and blocking calls: an asynchronous timer is no finer than a millisecond.

use integration_tests::{Failure, Outcome};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

/// Between an answer and the next question.
const PAUSE: Duration = Duration::from_micros(400);
/// A change that shows no effect for this long never will.
const PATIENCE: Duration = Duration::from_secs(60);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What is asked, and which answer is waited for.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Where HAProxy listens.
    pub front: SocketAddr,
    /// The host asked for.
    pub host: String,
    /// The bodies that count.
    pub wanted: Vec<String>,
}

impl Probe {
    /// When the first wanted answer had arrived.
    ///
    /// # Errors
    /// It never did: the last answer.
    pub async fn answered(self) -> Outcome<Instant> {
        tokio::task::spawn_blocking(move || self.ask_until_answered()).await?
    }

    fn ask_until_answered(&self) -> Outcome<Instant> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask();
            let now = Instant::now();
            if answer.as_ref().is_ok_and(|(status, body)| *status == 200 && self.wanted.contains(body)) {
                return Ok(now);
            }
            if now > deadline {
                return Err(Failure::new(format!(
                    "{} is not answered by {} within {} s; the last answer: {answer:?}",
                    self.host,
                    self.wanted.join(" or "),
                    PATIENCE.as_secs()
                )));
            }
            thread::park_timeout(PAUSE);
        }
    }

    fn ask(&self) -> std::io::Result<(u16, String)> {
        let mut connection = TcpStream::connect_timeout(&self.front, ANSWER_WITHIN)?;
        connection.set_nodelay(true)?;
        connection.set_read_timeout(Some(ANSWER_WITHIN))?;
        let request = format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.host);
        connection.write_all(request.as_bytes())?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        Ok(split(&answer))
    }
}

/// Status and body; HAProxy's own answers and the endpoints' are short and never chunked.
fn split(answer: &str) -> (u16, String) {
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, body.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_split_into_status_and_body() {
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n10.99.1.1";
        assert_eq!(split(answer), (200, "10.99.1.1".to_owned()));
        assert_eq!(split(""), (0, String::new()));
    }

    #[tokio::test]
    async fn the_endpoints_say_on_which_address_they_were_reached() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let _echo = crate::echo::start(port).await.unwrap();
        for address in ["127.0.0.1", "127.0.0.7"] {
            let front = SocketAddr::new(address.parse().unwrap(), port);
            let probe = Probe { front, host: "x".into(), wanted: vec![address.into()] };
            probe.answered().await.unwrap();
        }
    }
}
