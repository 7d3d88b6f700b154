//! A HAProxy that runs in the checks' sandbox, for as long as this value is there.

use super::runnable::READY_SOCKET;
use crate::sandbox::{Order, Sandbox};
use rustix::{
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    process::{Pid, Signal, kill_process},
};
use std::{
    io::{self, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream as StdStream,
    },
    path::Path,
    process::Stdio,
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, Interest},
    net::UnixStream,
    process::{Child, Command},
    task::JoinHandle,
    time::{sleep, timeout},
};

/// Most of what HAProxy says, and of what it logs, that is kept.
const OUTPUT_LIMIT: u64 = 1 << 20;
/// From when it is asked to end until it is killed.
const TO_END: Duration = Duration::from_secs(2);
/// Until it answers.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Until the last words of a HAProxy that ended are read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// It is killed when this is dropped.
pub(super) struct Instance {
    haproxy: Child,
    folder: TempDir,
    servers: UnixStream,
    log: Option<JoinHandle<String>>,
    said: Option<JoinHandle<String>>,
}

impl Instance {
    /// Starts what lies in `folder`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(sandbox: &Sandbox, order: Order, folder: TempDir) -> io::Result<Self> {
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        let (program, words) = sandbox.command(order);
        let mut haproxy = Command::new(program)
            .args(words)
            .current_dir(folder.path())
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let log = haproxy.stdout.take().map(|stdout| tokio::spawn(beginning(stdout)));
        let said = haproxy.stderr.take().map(|stderr| tokio::spawn(beginning(stderr)));
        Ok(Self { haproxy, folder, servers: UnixStream::from_std(ours)?, log, said })
    }

    /// Waits until it answers; `false` when it has ended before.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn is_up(&mut self) -> io::Result<bool> {
        while !self.has_ended()? {
            match greet(&self.folder.path().join(READY_SOCKET)).await {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Err(error),
                Err(_) => sleep(LOOK_EVERY).await,
            }
        }
        Ok(false)
    }

    /// Whether it has ended by itself.
    ///
    /// # Errors
    /// The kernel's.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        self.haproxy.try_wait().map(|status| status.is_some())
    }

    /// What one that has ended has said on its standard error.
    pub async fn last_words(&mut self) -> String {
        within(&mut self.said).await
    }

    /// The folder of its sockets, and the connections that it makes to servers.
    pub fn ends(&self) -> (&Path, &UnixStream) {
        (self.folder.path(), &self.servers)
    }

    /// Ends it; what it has logged. It is asked to, so that it logs all that it has answered.
    pub async fn end(mut self) -> Vec<String> {
        if let Some(pid) = self.haproxy.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)) {
            // One that has ended already is as good.
            let _ended = kill_process(pid, Signal::USR1);
        }
        let ended = timeout(TO_END, self.haproxy.wait()).await;
        if ended.is_err() {
            drop(self.haproxy.kill().await);
        }
        let logged: String = within(&mut self.log).await;
        logged.lines().map(str::to_owned).collect()
    }
}

/// What was read, when there is no more.
async fn within(reading: &mut Option<JoinHandle<String>>) -> String {
    match reading.take() {
        Some(reading) => timeout(LAST_WORDS, reading).await.ok().and_then(Result::ok).unwrap_or_default(),
        None => String::new(),
    }
}

/// Waits for the first byte of an answer.
async fn greet(socket: &Path) -> io::Result<()> {
    let mut connection = UnixStream::connect(socket).await?;
    connection.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    connection.read_u8().await.map(drop)
}

/// The next connection that HAProxy passes over `servers`; `None` when it has ended.
///
/// # Errors
/// The kernel's.
pub(super) async fn next_connection(servers: &UnixStream) -> io::Result<Option<UnixStream>> {
    loop {
        let (size, passed) = servers.async_io(Interest::READABLE, || receive(servers)).await?;
        match passed {
            Some(passed) => {
                passed.set_nonblocking(true)?;
                return UnixStream::from_std(passed).map(Some);
            }
            None if size == 0 => return Ok(None),
            None => {}
        }
    }
}

fn receive(servers: impl AsFd) -> io::Result<(usize, Option<StdStream>)> {
    let mut byte = [0; 16];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(servers, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let passed = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    Ok((got.bytes, passed.map(StdStream::from)))
}

/// Keeps the beginning, and reads all: it is killed when nobody reads.
async fn beginning(mut output: impl AsyncRead + Unpin) -> String {
    let mut kept = Vec::new();
    if (&mut output).take(OUTPUT_LIMIT).read_to_end(&mut kept).await.is_ok() {
        drop(tokio::io::copy(&mut output, &mut tokio::io::sink()).await);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
