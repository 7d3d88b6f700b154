//! Asks a HAProxy that runs a bundle, so that a test sees what clients would get.
//!
//! It is the binary that checks, in the checks' sandbox. What the configuration listens at are UNIX sockets in its private folder;
//! each connection to a server is passed over the one socket that it is started with, to the [answering server](echo).
//! It has no way to connect to anything else: that call does not exist for it.

mod any_certificate;
mod choices;
mod client;
mod echo;
mod entrance;
mod instance;
mod runnable;

pub use any_certificate::AnyCertificate;
pub use client::ClientIdentity;

use crate::{
    Checker,
    checker::{CannotRun, Room},
    folder, report,
    sandbox::{Order, Sandbox},
};
use bytes::Bytes;
use haptic_model::{Bundle, Diagnostic, HaproxyVersion, Severity};
use http::{HeaderName, HeaderValue, Method, Uri};
use instance::Instance;
use runnable::Runnable;
use std::{fs, io::Write, net::IpAddr, path::Path, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{
    net::UnixStream,
    time::{Instant, timeout, timeout_at},
};

/// Added to what is in front of each configuration.
const PREAMBLE: &str = "    nbthread 1\n    maxconn 256\n    nosplice\n";
/// Until a request is answered.
const TO_ANSWER: Duration = Duration::from_secs(5);

/// A request of a client.
#[derive(Clone, Debug)]
pub struct ClientRequest {
    /// GET, POST, …
    pub method: Method,
    /// Absolute, `http` or `https`.
    pub url: Uri,
    /// Its headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Its body.
    pub body: Bytes,
    /// The client's address.
    pub from: IpAddr,
    /// The client's certificate.
    pub identity: Option<ClientIdentity>,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOutcome {
    /// What the client got.
    pub reply: ClientReply,
    /// Who was chosen, if HAProxy has logged it.
    pub choice: Option<ChosenServer>,
}

/// What a client got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientReply {
    /// An answer.
    Answer {
        /// Its status.
        status: u16,
        /// Its headers, by names in lower case.
        headers: Vec<(String, String)>,
        /// Its body, or the beginning of it.
        body: String,
    },
    /// None: the connection was closed, and how.
    Closed(String),
    /// None for so long.
    TooLate(Duration),
    /// None, as it could not be sent or what came was no HTTP, and why.
    Impossible(String),
}

/// Who HAProxy chose for a request, in its own log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenServer {
    /// The backend, unless the frontend answered by itself.
    pub backend: Option<String>,
    /// The server, unless HAProxy answered by itself.
    pub server: Option<String>,
}

/// What came of all requests.
#[derive(Clone, Debug, Default)]
pub struct RequestResults {
    /// Of each, in their order, for as long as there was time.
    pub outcomes: Vec<RequestOutcome>,
    /// What of the configuration does not run so, and why.
    pub left_out: Vec<String>,
}

/// Why nothing was asked.
#[derive(Clone, Debug)]
pub enum Unasked {
    /// The bundle is refused, or HAProxy does not start with it.
    Refused(Vec<Diagnostic>),
    /// There was no time or memory, or nothing can be run here.
    Undecided(Diagnostic),
}

impl ClientRequest {
    fn is_https(&self) -> bool {
        self.url.scheme_str() == Some("https")
    }

    /// Without the brackets of IPv6.
    fn host(&self) -> &str {
        self.url.host().unwrap_or_default().trim_matches(['[', ']'])
    }
}

impl Checker {
    /// Runs `bundle` and sends `questions` one after the other, until `end` if that comes first. Dropping the future ends it.
    ///
    /// # Errors
    /// Nothing could be asked.
    pub async fn ask(
        &self,
        bundle: &Bundle,
        version: HaproxyVersion,
        questions: &[ClientRequest],
        end: Option<Instant>,
    ) -> Result<RequestResults, Unasked> {
        let mut refused = self.syntax(bundle, &[version]).await;
        refused.retain(|diagnostic| diagnostic.severity == Severity::Error);
        if !refused.is_empty() {
            return Err(Unasked::Refused(refused));
        }
        let room = match end {
            None => self.room_to_answer(bundle, version).await,
            Some(end) => timeout_at(end, self.room_to_answer(bundle, version))
                .await
                .unwrap_or_else(|_| Err(CannotRun::no_time())),
        };
        let room = room.map_err(Unasked::from)?;
        let over = Instant::now() + room.time;
        let end = end.map_or(over, |end| end.min(over));
        let Room { folder, order, sandbox, _turn, .. } = room;
        let started = timeout_at(end, start(bundle, folder, order, sandbox)).await;
        let (mut instance, runnable) = started.unwrap_or_else(|_| Err(CannotRun::no_time().into()))?;
        let mut outcomes = ask_all(&instance, &runnable, questions, end).await;
        if instance.has_ended().unwrap_or(true) {
            return Err(Unasked::Undecided(ended(&instance.last_words().await, bundle)));
        }
        choices::add_choices(&mut outcomes, &instance.end().await, &runnable.listens);
        Ok(RequestResults { outcomes, left_out: runnable.left_out })
    }
}

impl From<CannotRun> for Unasked {
    fn from(CannotRun { why, is_of_bundle }: CannotRun) -> Self {
        if is_of_bundle { Self::Refused(vec![why]) } else { Self::Undecided(why) }
    }
}

/// Comes back when it listens.
async fn start(
    bundle: &Bundle,
    folder: TempDir,
    order: Order,
    sandbox: &Sandbox,
) -> Result<(Instance, Runnable), Unasked> {
    let path = folder::below(&bundle.config.path).to_owned();
    let at = path.clone();
    let prepared = tokio::task::spawn_blocking(move || prepare(folder, &at)).await;
    let prepared = prepared.map_err(|panicked| CannotRun::of_machine(&panicked))?;
    let (folder, runnable) = prepared.map_err(|error| CannotRun::of_machine(&error))?;
    let runnable = runnable.map_err(|why| Unasked::Refused(vec![Diagnostic::error("haproxy", why)]))?;
    let memory = order.memory;
    let instance = Instance::start(sandbox, order, folder);
    let mut instance = instance.map_err(|error| CannotRun::of_machine(&error))?;
    if !instance.is_up().await.map_err(|error| CannotRun::of_machine(&error))? {
        let said = runnable.as_of_original(&instance.last_words().await, &path);
        return Err(not_started(&said, bundle, memory));
    }
    Ok((instance, runnable))
}

/// Puts what runs in place of the configuration at `path`, unless it cannot run.
fn prepare(folder: TempDir, path: &str) -> std::io::Result<(TempDir, Result<Runnable, String>)> {
    let file = folder.path().join(path);
    let runnable = Runnable::of(&fs::read_to_string(&file)?);
    if let Ok(runnable) = &runnable {
        fs::write(&file, &runnable.text)?;
        let mut preamble = fs::OpenOptions::new().append(true).open(folder.path().join(folder::PREAMBLE))?;
        preamble.write_all(PREAMBLE.as_bytes())?;
    }
    Ok((folder, runnable))
}

fn not_started(said: &str, bundle: &Bundle, memory: u64) -> Unasked {
    if report::is_out_of_memory(said) {
        return Unasked::Undecided(CannotRun::out_of_memory(memory).why);
    }
    let mut why = report::diagnostics(said, bundle);
    why.retain(|diagnostic| diagnostic.severity == Severity::Error);
    if why.is_empty() { Unasked::Undecided(ended(said, bundle)) } else { Unasked::Refused(why) }
}

/// That it ended without a word why.
fn ended(said: &str, bundle: &Bundle) -> Diagnostic {
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Diagnostic::error(
        "haproxy",
        format!("HAProxy, run for requests, ended by itself: {}", bundle.redacted(last)),
    )
}

/// Those that there is time for.
async fn ask_all(
    instance: &Instance,
    runnable: &Runnable,
    questions: &[ClientRequest],
    end: Instant,
) -> Vec<RequestOutcome> {
    let (sockets, servers) = instance.ends();
    let folder: Arc<Path> = sockets.into();
    let asked = async {
        let mut outcomes = Vec::new();
        for (question, port) in questions.iter().zip(choices::FIRST_PORT..) {
            match timeout_at(end, ask_one(sockets, runnable, question, port)).await {
                Ok(outcome) => outcomes.push(outcome),
                Err(_) => break,
            }
        }
        outcomes
    };
    tokio::select! {
        outcomes = asked => outcomes,
        // It ends with HAProxy, and so does what is asked of that.
        outcomes = async { drop(echo::answer(servers, &folder).await); std::future::pending().await } => outcomes,
    }
}

async fn ask_one(sockets: &Path, runnable: &Runnable, question: &ClientRequest, port: u16) -> RequestOutcome {
    let asked = question.url.port_u16();
    let entrance = match entrance::meant(&runnable.entrances, question.is_https(), asked) {
        Ok(entrance) => entrance,
        Err(why) => return RequestOutcome { reply: ClientReply::Impossible(why), choice: None },
    };
    let to_port = asked.or_else(|| entrance.ports.first().map(|ports| *ports.start())).unwrap_or_default();
    let to = (entrance.address, to_port);
    let reply = async {
        match UnixStream::connect(sockets.join(&entrance.socket)).await {
            Ok(connection) => client::ask(connection, question, port, to).await,
            Err(error) => ClientReply::Impossible(format!("HAProxy does not listen there: {error}")),
        }
    };
    let reply = timeout(TO_ANSWER, reply).await.unwrap_or(ClientReply::TooLate(TO_ANSWER));
    RequestOutcome { reply, choice: None }
}
