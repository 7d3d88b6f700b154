//! HAProxy's two command sockets: the master is asked on a new connection each time, the current worker on one that is kept
//! for orders in quick succession.
//!
//! An open connection keeps its worker alive, after a reload and when HAProxy is told to end. So the kept one is of one
//! worker, known by its process id, and is closed when another worker is to run or is seen to, when this agent ends, and in
//! any case after [`IDLE_TIMEOUT`]: HAProxy may also be told to end by somebody else.

use crate::{
    disk::live::WorkerIdentity,
    haproxy::answer,
    haproxy::channel::{self, ANSWER_TIMEOUT, Channel, LARGEST_ANSWER, SocketError},
};
use metrics::Histogram;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, timeout},
};

/// How long a reload may take: HAProxy reads 20,000 backends in some seconds, on a busy machine in many.
pub(crate) const RELOAD_TIMEOUT: Duration = Duration::from_secs(180);
/// How long a master may take to execute itself anew, and refuse connections: HAProxy 3.0 does so just after its start.
pub(crate) const REEXECUTION: Duration = Duration::from_secs(3);
/// What a master answers to `reload` while it starts a worker, also the first one.
const BUSY: &str = "Another reload is still in progress";
/// How long that is waited for when HAProxy is only looked at: one that is down is looked at often.
const STATUS_TIMEOUT: Duration = Duration::from_millis(250);

/// How long a connection is kept, from when it was opened. A HAProxy that ends waits for it at most for so long.
const IDLE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long HAProxy leaves a connection open on which the agent says nothing, for example because its disk is slow.
const CLI_TIMEOUT: &str = "set timeout cli 60s";

/// The two sockets of one HAProxy.
#[derive(Clone, Debug)]
pub(crate) struct Sockets {
    master: PathBuf,
    /// The worker's own socket, there when HAProxy was started with the agent's file.
    worker: PathBuf,
    /// Whether the worker may be asked through the master when its own socket is not there.
    through_master: bool,
    times: Histogram,
    idle: Arc<Mutex<Idle>>,
}

/// An open connection to one worker.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) pid: u32,
    /// When it started, in seconds since 1970.
    pub(crate) started: u64,
    /// `3.4.7-1`.
    pub(crate) version: String,
    pub(crate) channel: Channel,
    opened: Instant,
}

#[derive(Debug, Default)]
struct Idle {
    /// The only worker of which a connection may be idle.
    current: u32,
    connection: Option<Worker>,
    /// Nothing is kept any more.
    ended: bool,
}

impl Sockets {
    /// The sockets at these paths. With `through_master`, a worker without the agent's socket is asked through its master.
    pub(crate) fn new(master: PathBuf, worker: PathBuf, through_master: bool, times: Histogram) -> Self {
        Self { master, worker, through_master, times, idle: Arc::default() }
    }

    pub(crate) fn master(&self) -> &Path {
        &self.master
    }

    // --- the master --------------------------------------------------------------------------------

    /// `show proc` of the master.
    pub(crate) async fn processes(&self) -> Result<answer::Processes, SocketError> {
        let text = self.ask_soon("show proc", ANSWER_TIMEOUT, STATUS_TIMEOUT).await?;
        let processes =
            answer::Processes::parse(&text).ok_or_else(|| strange(&self.master, "show proc", &text))?;
        self.keep_only(processes.worker);
        Ok(processes)
    }

    /// Reloads; gives HAProxy's verdict and log.
    pub(crate) async fn reload(&self) -> Result<(bool, String), SocketError> {
        self.keep_only(0);
        let until = Instant::now() + RELOAD_TIMEOUT;
        let text = loop {
            let text = self.ask_soon("reload", RELOAD_TIMEOUT, REEXECUTION).await?;
            if !text.contains(BUSY) || Instant::now() > until {
                break text;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        match answer::reload(&text) {
            Some((success, log)) => Ok((success, log.to_owned())),
            None => Err(strange(&self.master, "reload", &text)),
        }
    }

    /// Asks a master that may refuse connections for as long as `refusing`: nothing was asked then.
    async fn ask_soon(
        &self,
        command: &str,
        limit: Duration,
        refusing: Duration,
    ) -> Result<String, SocketError> {
        let until = Instant::now() + refusing;
        loop {
            match self.ask_master(command, limit).await {
                Err(SocketError::Unreachable { .. }) if Instant::now() < until => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Asks one thing on a connection of its own.
    async fn ask_master(&self, command: &str, limit: Duration) -> Result<String, SocketError> {
        let begun = Instant::now();
        let socket = self.master.clone();
        let mut stream = channel::connect(&socket).await?;
        let exchange = async {
            stream.write_all(format!("{command}\n").as_bytes()).await?;
            stream.shutdown().await?;
            let mut answer = Vec::with_capacity(1024);
            while stream.read_buf(&mut answer).await? > 0 {
                if answer.len() > LARGEST_ANSWER {
                    return Err(std::io::Error::other("the answer has no end"));
                }
            }
            Ok(channel::text(answer))
        };
        let outcome = timeout(limit, exchange).await;
        self.times.record(begun.elapsed());
        let command = command.to_owned();
        match outcome {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(problem)) => Err(SocketError::Broken { socket, command, problem }),
            Err(_) => Err(SocketError::Silent { socket, command, seconds: limit.as_secs() }),
        }
    }

    // --- the worker --------------------------------------------------------------------------------

    /// Opens a connection to whichever worker accepts it, and asks who it is.
    pub(crate) async fn worker(&self) -> Result<Worker, SocketError> {
        let mut channel = match Channel::open(&self.worker, false, self.times.clone()).await {
            Err(SocketError::Unreachable { .. }) if self.through_master => {
                Channel::open(&self.master, true, self.times.clone()).await?
            }
            channel => channel?,
        };
        let opened = Instant::now();
        let text = channel.ask_all(&["show info", CLI_TIMEOUT]).await?.into_iter().next().unwrap_or_default();
        let pid = answer::info(&text, "Pid").and_then(|pid| pid.parse().ok());
        let started = answer::info(&text, "Start_time_sec").and_then(|at| at.parse().ok()).unwrap_or(0);
        match (pid, answer::info(&text, "Version")) {
            (Some(pid), Some(version)) => {
                Ok(Worker { pid, started, version: version.to_owned(), channel, opened })
            }
            _ => Err(strange(&self.worker, "show info", &text)),
        }
    }

    /// The kept connection when it is one to the worker `pid`, else a new one to whichever worker accepts it.
    /// [`Self::keep`] takes it back.
    pub(crate) async fn idle_worker(&self, pid: u32) -> Result<Worker, SocketError> {
        let idle = self.idle().connection.take();
        if let Some(worker) = idle
            && worker.pid == pid
            && worker.is_young()
            && worker.channel.is_usable()
        {
            return Ok(worker);
        }
        self.worker().await
    }

    /// Keeps a connection for the next order, when it is still one to the current worker.
    pub(crate) fn keep(&self, worker: Worker) {
        let mut idle = self.idle();
        let may_stay = !idle.ended && worker.pid == idle.current && worker.is_young();
        if may_stay && worker.channel.is_usable() {
            idle.connection = Some(worker);
        }
    }

    /// Closes a kept connection to any other worker than `pid`.
    fn keep_only(&self, pid: u32) {
        let mut idle = self.idle();
        idle.current = pid;
        idle.connection.take_if(|worker| worker.pid != pid);
    }

    /// Closes a kept connection once it has been open for [`IDLE_TIMEOUT`].
    pub(crate) fn close_old(&self) {
        self.idle().connection.take_if(|worker| !worker.is_young());
    }

    /// Closes the kept connection, and keeps none from now on: HAProxy is about to end.
    pub(crate) fn end(&self) {
        let mut idle = self.idle();
        idle.ended = true;
        idle.connection = None;
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worker {
    fn is_young(&self) -> bool {
        self.opened.elapsed() < IDLE_TIMEOUT
    }

    pub(crate) fn identity(&self) -> WorkerIdentity {
        WorkerIdentity { pid: self.pid, started: self.started }
    }
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
        Sockets::new(dir.join("m"), dir.join("w"), false, Histogram::noop())
    }

    #[tokio::test(start_paused = true)]
    async fn a_master_that_says_nothing_is_given_up_in_bounded_time() {
        let dir = tempfile::tempdir().unwrap();
        let _silent = UnixListener::bind(dir.path().join("m")).unwrap();
        let error = sockets(dir.path()).processes().await.unwrap_err();
        assert!(matches!(error, SocketError::Silent { seconds: 5, .. }), "{error}");
    }

    #[tokio::test]
    async fn a_master_that_answers_garbage_is_told_so() {
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
        let error = sockets(dir.path()).worker().await.unwrap_err().to_string();
        assert!(error.contains("/w cannot be reached"), "{error}");
    }

    /// A worker that answers `show info` with pid 7 and all else with nothing, and counts its connections.
    async fn serve_as_worker(listener: UnixListener, connections: Arc<std::sync::atomic::AtomicUsize>) {
        while let Ok((stream, _)) = listener.accept().await {
            connections.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            tokio::spawn(async move {
                let (read, mut write) = stream.into_split();
                let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(read));
                while let Ok(Some(line)) = lines.next_line().await {
                    let answer = if line == "show info" { "Version: 3.4.7-1\nPid: 7\n\n> " } else { "\n> " };
                    if write.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    }

    #[tokio::test]
    async fn one_connection_serves_until_another_worker_is_to_run() {
        let dir = tempfile::tempdir().unwrap();
        let connections = Arc::<std::sync::atomic::AtomicUsize>::default();
        let listener = UnixListener::bind(dir.path().join("w")).unwrap();
        tokio::spawn(serve_as_worker(listener, connections.clone()));
        let count = || connections.load(std::sync::atomic::Ordering::Relaxed);
        let sockets = sockets(dir.path());
        sockets.keep_only(7);
        for _ in 0..3 {
            let mut worker = sockets.idle_worker(7).await.unwrap();
            worker.channel.ask_all(&["one", "two"]).await.unwrap();
            sockets.keep(worker);
        }
        assert_eq!(count(), 1);
        sockets.keep_only(8);
        let worker = sockets.idle_worker(8).await.unwrap();
        assert_eq!((worker.pid, count()), (7, 2), "the old worker still accepts");
        sockets.keep(worker);
        assert!(sockets.idle().connection.is_none(), "an old worker is kept alive");
    }

    #[tokio::test]
    async fn a_connection_given_up_in_the_midst_of_an_answer_is_not_used_again() {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("w")).unwrap();
        tokio::spawn(serve_as_worker(listener, Arc::default()));
        let sockets = sockets(dir.path());
        sockets.keep_only(7);
        let mut worker = sockets.idle_worker(7).await.unwrap();
        {
            let asked = worker.channel.ask("one");
            tokio::pin!(asked);
            // Polled once: sent, and dropped before the answer is read.
            std::future::poll_fn(|context| {
                let _pending = asked.as_mut().poll(context);
                std::task::Poll::Ready(())
            })
            .await;
        }
        sockets.keep(worker);
        assert!(sockets.idle().connection.is_none());
    }
}
