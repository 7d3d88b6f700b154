//! Asks a running controller: GETs of `/debug` over plain HTTP, as from the same machine or through a port-forward.

use crate::{cli::CommandFailure, process};
use actix_web::web::Bytes;
use awc::{Client, Connector, http::StatusCode};
use futures::stream::{LocalBoxStream, StreamExt as _};
use std::time::Duration;
use tokio::{task::LocalSet, time};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// No more is shown of a refusal.
const LONGEST_REFUSAL: usize = 16 << 10;

/// An answer that was not refused.
pub struct Answer {
    from: String,
    body: LocalBoxStream<'static, Result<Bytes, String>>,
    timeout: Duration,
}

/// Runs what asks: awc keeps its connections on one thread.
///
/// # Errors
/// Those of `asks`, or when the operating system gives no threads.
pub fn block_on<T>(asks: impl Future<Output = Result<T, CommandFailure>>) -> Result<T, CommandFailure> {
    LocalSet::new().block_on(&*process::runtime()?, asks)
}

/// The answer's body.
///
/// # Errors
/// A sentence: nothing listens there, it takes too long, or what it says instead of an answer.
pub async fn get(base: &str, path: &str) -> Result<String, String> {
    let mut answer = ask(base, path, TIMEOUT).await?;
    let mut body = Vec::new();
    while let Some(bytes) = answer.next().await? {
        body.extend_from_slice(&bytes);
    }
    String::from_utf8(body).map_err(|_| format!("{base}{path} answers something that is no text"))
}

/// The answer, to be read bit by bit; no bit may take longer than `timeout`.
///
/// # Errors
/// A sentence: nothing listens there, it takes too long, or what it says instead of an answer.
pub async fn ask(base: &str, path: &str, timeout: Duration) -> Result<Answer, String> {
    if !base.starts_with("http://") {
        return Err(format!("{base} does not begin with http://, which is all that /debug speaks"));
    }
    let base = base.trim_end_matches('/');
    let silent = |why: &dyn std::fmt::Display| {
        format!(
            "nothing answers at {base}: {why}. On this machine: is haptic local running? In a cluster: kubectl port-forward \
             pod/LEADER 6060 (which one leads: kubectl get leases). Another address: --url"
        )
    };
    let client = Client::builder()
        .connector(Connector::new().timeout(TIMEOUT))
        .timeout(timeout)
        .disable_redirects()
        .finish();
    let asked = client.get(format!("{base}{path}")).insert_header(("accept", "application/json"));
    let response = asked.no_decompress().send().await.map_err(|why| silent(&why))?;
    let status = response.status();
    // Each bit of the body has the whole time.
    let body = response.timeout(Duration::MAX).map(|bit| bit.map_err(|why| why.to_string()));
    let mut answer = Answer { from: format!("{base}{path}"), body: body.boxed_local(), timeout };
    if status == StatusCode::OK {
        return Ok(answer);
    }
    let mut said = Vec::new();
    while said.len() < LONGEST_REFUSAL
        && let Some(bytes) = answer.next().await?
    {
        said.extend_from_slice(&bytes);
    }
    said.truncate(LONGEST_REFUSAL);
    Err(format!("{base}{path} answers {}: {}", status.as_u16(), String::from_utf8_lossy(&said).trim()))
}

impl Answer {
    /// The next bit; none at the end.
    ///
    /// # Errors
    /// A sentence: it takes too long, or the connection ended before the answer did.
    pub async fn next(&mut self) -> Result<Option<Bytes>, String> {
        match time::timeout(self.timeout, self.body.next()).await {
            Ok(bit) => bit.transpose().map_err(|why| format!("{}: {why}", self.from)),
            Err(_) => Err(format!("{} says nothing for {} s", self.from, self.timeout.as_secs())),
        }
    }
}

/// `text` as a part of a query.
#[must_use]
pub fn escaped(text: &str) -> String {
    let as_it_is = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|b| if as_it_is(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
