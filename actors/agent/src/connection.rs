//! Connections to HAProxy's command sockets. Every call is bounded in time and size.
//!
//! A connection stays on the worker that accepted it and keeps that worker alive after a reload, so none is kept: each
//! apply opens its own (some 100 µs), asks which worker it got, and closes it.

use crate::answer;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    time::{Instant, timeout},
};

/// How long one command may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// How long a reload may take: HAProxy reads 20,000 backends in some seconds, on a busy machine in many.
pub(crate) const RELOAD_PATIENCE: Duration = Duration::from_secs(180);
/// How long a master may take to execute itself anew.
const REEXECUTION: Duration = Duration::from_secs(3);
const LARGEST_ANSWER: usize = 64 << 20;
const PROMPT: &[u8] = b"\n> ";

/// HAProxy did not answer as it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketError {
    #[error("HAProxy's socket {socket} cannot be reached: {problem}")]
    Unreachable { socket: PathBuf, problem: std::io::Error },
    #[error("HAProxy's socket {socket} broke while asked {command:?}: {problem}")]
    Broken { socket: PathBuf, command: String, problem: std::io::Error },
    #[error("HAProxy's socket {socket} did not answer {command:?} within {seconds} s")]
    Silent { socket: PathBuf, command: String, seconds: u64 },
    #[error("HAProxy's socket {socket} answered {command:?} with something else: {answer}")]
    Strange { socket: PathBuf, command: String, answer: String },
}

/// The two sockets of one HAProxy.
#[derive(Clone, Debug)]
pub(crate) struct Sockets {
    pub(crate) master: PathBuf,
    /// The worker's own socket, there when HAProxy was started with the agent's file.
    pub(crate) worker: PathBuf,
    /// Whether the worker may be asked through the master when its own socket is not there.
    pub(crate) through_master: bool,
}

/// An open connection to the current worker.
pub(crate) struct Worker {
    way: Way,
    pub(crate) pid: u32,
    /// `3.4.7-1`.
    pub(crate) version: String,
}

enum Way {
    Direct { stream: UnixStream, socket: PathBuf },
    ThroughMaster(PathBuf),
}

impl Sockets {
    /// `show proc` of the master.
    pub(crate) async fn processes(&self) -> Result<answer::Processes, SocketError> {
        let text = ask_once(&self.master, "show proc", PATIENCE).await?;
        answer::Processes::parse(&text).ok_or_else(|| strange(&self.master, "show proc", &text))
    }

    /// Reloads; gives HAProxy's verdict and log.
    pub(crate) async fn reload(&self) -> Result<(bool, String), SocketError> {
        let text = self.ask_reload().await?;
        match answer::reload(&text) {
            Some((success, log)) => Ok((success, log.to_owned())),
            None => Err(strange(&self.master, "reload", &text)),
        }
    }

    /// A master that has just started executes itself anew (HAProxy 3.0), and takes no connection for a moment.
    async fn ask_reload(&self) -> Result<String, SocketError> {
        let until = Instant::now() + REEXECUTION;
        loop {
            match ask_once(&self.master, "reload", RELOAD_PATIENCE).await {
                Err(SocketError::Unreachable { .. }) if Instant::now() < until => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Opens a connection to a worker and asks who it is.
    pub(crate) async fn worker(&self) -> Result<Worker, SocketError> {
        let mut way = match open(&self.worker).await {
            Ok(stream) => Way::Direct { stream, socket: self.worker.clone() },
            Err(_) if self.through_master => Way::ThroughMaster(self.master.clone()),
            Err(error) => return Err(error),
        };
        way.begin().await?;
        let text = way.ask("show info").await?;
        let pid = answer::info(&text, "Pid").and_then(|pid| pid.parse().ok());
        match (pid, answer::info(&text, "Version")) {
            (Some(pid), Some(version)) => Ok(Worker { pid, version: version.to_owned(), way }),
            _ => Err(strange(&self.worker, "show info", &text)),
        }
    }
}

impl Worker {
    /// Sends one command, with its payload on further lines; gives the answer without the empty line at its end.
    pub(crate) async fn ask(&mut self, command: &str) -> Result<String, SocketError> {
        self.way.ask(command).await
    }
}

impl Way {
    /// Interactive mode, so that the connection takes more than one command.
    async fn begin(&mut self) -> Result<(), SocketError> {
        match self {
            Self::Direct { .. } => self.ask("prompt").await.map(drop),
            Self::ThroughMaster(_) => Ok(()),
        }
    }

    async fn ask(&mut self, command: &str) -> Result<String, SocketError> {
        match self {
            Self::ThroughMaster(master) => ask_once(master, &format!("@1 {command}"), PATIENCE).await,
            Self::Direct { stream, socket } => {
                bounded(socket, command, PATIENCE, converse(stream, command)).await
            }
        }
    }
}

async fn converse(stream: &mut UnixStream, command: &str) -> std::io::Result<String> {
    stream.write_all(format!("{command}\n").as_bytes()).await?;
    let mut answer = Vec::with_capacity(1024);
    while !answer.ends_with(PROMPT) {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        refuse_flood(&answer)?;
    }
    answer.truncate(answer.len() - PROMPT.len());
    let mut text = text(answer);
    if command.contains('\n') {
        // HAProxy 3.0 asks for each line of a payload.
        text = text.trim_start_matches("+ ").to_owned();
    }
    Ok(text)
}

/// Asks one thing on a connection of its own.
async fn ask_once(socket: &Path, command: &str, patience: Duration) -> Result<String, SocketError> {
    let mut stream = open(socket).await?;
    let exchange = async {
        stream.write_all(format!("{command}\n").as_bytes()).await?;
        stream.shutdown().await?;
        let mut answer = Vec::with_capacity(1024);
        while stream.read_buf(&mut answer).await? > 0 {
            refuse_flood(&answer)?;
        }
        Ok(text(answer))
    };
    bounded(socket, command, patience, exchange).await
}

/// Connects; the master's queue of connections is short, so a full one is tried again for a while.
async fn open(socket: &Path) -> Result<UnixStream, SocketError> {
    let unreachable = |problem| SocketError::Unreachable { socket: socket.to_owned(), problem };
    let mut tries = 0;
    loop {
        match UnixStream::connect(socket).await {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock && tries < 50 => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            outcome => return outcome.map_err(unreachable),
        }
    }
}

async fn bounded(
    socket: &Path,
    command: &str,
    patience: Duration,
    exchange: impl Future<Output = std::io::Result<String>>,
) -> Result<String, SocketError> {
    // A payload may be a private key: only the command's own line is ever told.
    let (socket, command) = (socket.to_owned(), command.lines().next().unwrap_or_default().to_owned());
    match timeout(patience, exchange).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(problem)) => Err(SocketError::Broken { socket, command, problem }),
        Err(_) => Err(SocketError::Silent { socket, command, seconds: patience.as_secs() }),
    }
}

fn refuse_flood(answer: &[u8]) -> std::io::Result<()> {
    if answer.len() > LARGEST_ANSWER {
        return Err(std::io::Error::other("the answer has no end"));
    }
    Ok(())
}

fn text(mut answer: Vec<u8>) -> String {
    while answer.last() == Some(&b'\n') {
        answer.pop();
    }
    String::from_utf8(answer).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

fn strange(socket: &Path, command: &str, answer: &str) -> SocketError {
    let answer = answer.chars().take(200).collect();
    SocketError::Strange { socket: socket.to_owned(), command: command.to_owned(), answer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixListener;

    fn sockets(dir: &Path) -> Sockets {
        Sockets { master: dir.join("m"), worker: dir.join("w"), through_master: false }
    }

    #[tokio::test(start_paused = true)]
    async fn a_socket_that_says_nothing_is_given_up_in_bounded_time() {
        let dir = tempfile::tempdir().unwrap();
        let _silent = UnixListener::bind(dir.path().join("m")).unwrap();
        let error = sockets(dir.path()).processes().await.unwrap_err();
        assert!(matches!(error, SocketError::Silent { seconds: 5, .. }), "{error}");
    }

    #[tokio::test]
    async fn a_socket_that_answers_garbage_is_told_so() {
        let dir = tempfile::tempdir().unwrap();
        let garbage = UnixListener::bind(dir.path().join("m")).unwrap();
        let serve = async {
            let (mut stream, _) = garbage.accept().await.unwrap();
            stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n").await.unwrap();
        };
        let sockets = sockets(dir.path());
        let (answer, ()) = tokio::join!(sockets.processes(), serve);
        assert!(matches!(answer.unwrap_err(), SocketError::Strange { .. } | SocketError::Broken { .. }));
    }

    #[tokio::test]
    async fn a_socket_that_is_not_there_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = sockets(dir.path()).processes().await.unwrap_err().to_string();
        assert!(error.contains("/m cannot be reached"), "{error}");
    }
}
