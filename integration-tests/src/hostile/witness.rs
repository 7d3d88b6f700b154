//! Asks for alpha and beta all the time, in every way they are reached, and remembers each answer that is not, byte for byte,
//! the first one.

use super::case::Ask;
use crate::{
    certificate::Certificate,
    failure::{Failure, Outcome},
    http,
};
use rustls::{ClientConfig, pki_types::ServerName};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::TlsConnector;

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(15);
/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many differences are worth being told.
const TOLD: usize = 4;

/// Where HAProxy answers.
#[derive(Clone, Copy, Debug)]
pub struct Front {
    /// HTTP.
    pub plain: SocketAddr,
    /// HTTPS.
    pub secure: SocketAddr,
}

/// A client: anonymous, or with a certificate.
#[derive(Clone)]
pub struct Client(Arc<ClientConfig>);

impl Client {
    /// Without a certificate.
    pub fn anonymous() -> Outcome<Self> {
        Ok(Self(Arc::new(http::client_config()?)))
    }

    /// With this one.
    pub fn with(certificate: &Certificate) -> Outcome<Self> {
        Ok(Self(Arc::new(http::client_config_of(certificate)?)))
    }

    /// Everything that comes back: the server's certificate, head and body; or why nothing does.
    pub async fn ask(&self, front: Front, ask: &Ask, patience: Duration) -> String {
        let exchange = async {
            let request = format!(
                "GET {} HTTP/1.1\r\nHost: {}\r\nX-Request-Id: 1\r\n{}Connection: close\r\n\r\n",
                ask.path, ask.host, ask.headers
            );
            if !ask.tls {
                return converse(TcpStream::connect(front.plain).await?, &request).await;
            }
            let name = ServerName::try_from(ask.host.clone())?;
            let tcp = TcpStream::connect(front.secure).await?;
            let mut tls = TlsConnector::from(Arc::clone(&self.0)).connect(name, tcp).await?;
            let shown = tls.get_ref().1.peer_certificates().and_then(<[_]>::first);
            let shown = shown.map(|certificate| format!("{:?}\n", certificate.as_ref())).unwrap_or_default();
            Ok(shown + &converse(&mut tls, &request).await?)
        };
        let answer: Result<Outcome<String>, _> = timeout(patience, exchange).await;
        match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(failure)) => format!("no answer: {}", failure.sentence()),
            Err(_) => format!("no answer in {} s", patience.as_secs()),
        }
    }
}

async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> Outcome<String> {
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    // HAProxy may end a TLS connection without saying so.
    let ended = stream.read_to_end(&mut answer).await;
    if answer.is_empty() {
        ended?;
        return Err(Failure::new("the connection was closed"));
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// What somebody is asked, and by whom.
pub type Question = (Client, Ask);

/// What was seen since the last time somebody asked.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Answers that were others than at first.
    pub changes: Vec<String>,
    /// Rounds of questions.
    pub rounds: usize,
    /// The longest that an answer took.
    pub slowest: Duration,
}

/// Asks until it is dropped.
pub struct Witness {
    seen: Arc<Mutex<Seen>>,
    asking: JoinHandle<()>,
}

impl Witness {
    /// Takes the answers of now for the right ones.
    pub async fn start(front: Front, questions: Vec<Question>) -> Self {
        let mut first = Vec::new();
        for (client, ask) in &questions {
            first.push(client.ask(front, ask, PATIENCE).await);
        }
        let seen = Arc::new(Mutex::new(Seen::default()));
        let into = Arc::clone(&seen);
        let asking = tokio::spawn(async move {
            loop {
                round(front, &questions, &first, &into).await;
                tokio::time::sleep(PAUSE).await;
            }
        });
        Self { seen, asking }
    }

    /// What it saw since it was asked last.
    #[must_use]
    pub fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.asking.abort();
    }
}

async fn round(front: Front, questions: &[Question], right: &[String], into: &Mutex<Seen>) {
    for ((client, ask), right) in questions.iter().zip(right) {
        let asked = Instant::now();
        let answer = client.ask(front, ask, PATIENCE).await;
        let mut seen = into.lock().unwrap_or_else(PoisonError::into_inner);
        seen.slowest = seen.slowest.max(asked.elapsed());
        if answer != *right && seen.changes.len() < TOLD {
            let scheme = if ask.tls { "https" } else { "http" };
            let change =
                format!("{scheme}://{}{}: {} became {}", ask.host, ask.path, end(right), end(&answer));
            seen.changes.push(change);
        }
    }
    into.lock().unwrap_or_else(PoisonError::into_inner).rounds += 1;
}

/// What tells answers apart: certificates are long.
fn end(answer: &str) -> String {
    match answer.strip_prefix('[').and_then(|rest| rest.split_once("]\n")) {
        Some((certificate, answer)) => {
            let sum =
                certificate.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            format!("certificate {sum:08x}, {:?}", start_of(answer))
        }
        None => format!("{:?}", start_of(answer)),
    }
}

fn start_of(answer: &str) -> String {
    answer.chars().take(200).collect()
}
