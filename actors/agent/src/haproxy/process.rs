//! One HAProxy master process: started or found again, watched through its pidfd, ended.

use crate::{
    disk::folder::{self, AgentFolder},
    haproxy::answer,
    haproxy::connection::{REEXECUTION, Sockets},
    options::AgentError,
};
use rustix::{
    fd::OwnedFd,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{
    ffi::OsStr,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{io::unix::AsyncFd, time::Instant};

/// How long HAProxy may take to start: it reads 20,000 backends in some seconds.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a process may take to end once told to.
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// HAProxy's standard error is kept up to this size.
const LONGEST_LOG: u64 = 1 << 20;

/// How HAProxy is started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) binary: PathBuf,
    pub(crate) args: Vec<String>,
    /// What is executed in the binary's place, and becomes the command behind its own words.
    pub(crate) launcher: Vec<String>,
    pub(crate) folder: AgentFolder,
    pub(crate) sockets: Sockets,
}

/// Why HAProxy did not start.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct NotStarted {
    message: String,
    /// Whether these are HAProxy's own words about its files.
    pub(crate) is_refusal: bool,
}

impl NotStarted {
    /// Something else than HAProxy's judgement of its files.
    pub(crate) fn by(message: String) -> Self {
        Self { message, is_refusal: false }
    }
}

/// A living HAProxy. Dropping it leaves HAProxy alone.
#[derive(Debug)]
pub(crate) struct Master {
    pub(crate) pid: u32,
    fd: AsyncFd<OwnedFd>,
}

impl Launch {
    /// Starts HAProxy and waits until its worker answers.
    ///
    /// # Errors
    /// HAProxy's own words.
    pub(crate) async fn start(&self) -> Result<Master, NotStarted> {
        let log_before = trim_log(&self.folder.log());
        let master = self.spawn();
        let master = master
            .map_err(|e| NotStarted::by(format!("{} cannot be started: {e}", self.binary.display())))?;
        let ready = tokio::time::timeout(START_TIMEOUT, self.ready(master.pid));
        let outcome = tokio::select! {
            () = master.ended() => Err(self.start_failure(log_before)),
            ready = ready => ready.map_err(|_| {
                NotStarted::by(format!("it did not answer within {} s", START_TIMEOUT.as_secs()))
            }),
        };
        match outcome {
            Ok(()) => Ok(master),
            Err(problem) => {
                master.end(None).await;
                Err(problem)
            }
        }
    }

    /// Finds the HAProxy that an earlier agent left running. One that does not answer is ended.
    pub(crate) async fn find(&self) -> Option<Master> {
        let left_behind = self.left_behind();
        let until = Instant::now() + REEXECUTION;
        loop {
            if let Ok(processes) = self.sockets.processes().await
                && let Ok(master) = Master::watch(processes.master)
            {
                return Some(master);
            }
            // It may have been started just before its agent died, and take no connection for a moment.
            if left_behind.is_none() || Instant::now() > until {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let silent = left_behind?;
        tracing::warn!(pid = silent.pid, "a HAProxy of an earlier agent does not answer and is ended");
        silent.end(None).await;
        None
    }

    /// The process that an earlier agent started, when it still runs.
    fn left_behind(&self) -> Option<Master> {
        let pid = std::fs::read_to_string(self.folder.pid()).ok()?.trim().parse().ok()?;
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        let is_ours = command.contains(&*self.folder.agent_config().to_string_lossy());
        Master::watch(pid).ok().filter(|_| is_ours)
    }

    fn spawn(&self) -> io::Result<Master> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.folder.log())?;
        let mut words: Vec<&OsStr> = self.launcher.iter().map(OsStr::new).collect();
        words.push(self.binary.as_os_str());
        let (program, before) = words.split_first().ok_or_else(|| io::Error::other("no program"))?;
        let mut child = tokio::process::Command::new(program)
            .args(before)
            .args(&self.args)
            .arg("-W")
            .arg("-S")
            .arg(format!("{},mode,600,level,admin", self.sockets.master().display()))
            .arg("-f")
            .arg(self.folder.agent_config())
            .arg("-f")
            .arg(self.folder.current_config())
            .current_dir(self.folder.root())
            // A configuration can print its environment.
            .env_remove("HAPTIC_USERNAME")
            .env_remove("HAPTIC_PASSWORD")
            .env_remove("_RJEM_MALLOC_CONF")
            .stdin(Stdio::null())
            .stderr(log)
            .process_group(0)
            .kill_on_drop(false)
            .spawn()?;
        let pid = child.id().ok_or_else(|| io::Error::other("it ended at once"))?;
        // A disk without room keeps nobody from being served; only a HAProxy that does not answer is not found by the next agent.
        if let Err(error) = folder::replace(&self.folder.pid(), pid.to_string().as_bytes()) {
            tracing::warn!(pid, %error, "HAProxy's process id cannot be noted");
        }
        // The child handle is dropped here: tokio collects its exit, the pidfd tells of it.
        Master::watch(pid).inspect_err(|_| {
            // Nobody would know of it, and it would take connections beside the next one.
            if let Err(error) = child.start_kill() {
                tracing::error!(pid, %error, "a HAProxy that cannot be watched cannot be ended either");
            }
        })
    }

    /// Keeps HAProxy's log short while it runs: old workers say for each proxy that it stopped.
    pub(crate) fn trim_log(&self) {
        trim_log(&self.folder.log());
    }

    /// Until the worker that this master started answers.
    async fn ready(&self, master: u32) {
        loop {
            if let Ok(processes) = self.sockets.processes().await
                && processes.master == master
                && let Ok(worker) = self.sockets.worker().await
                && worker.pid == processes.worker
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What HAProxy wrote since `from`.
    fn start_failure(&self, from: u64) -> NotStarted {
        let text = read_from(&self.folder.log(), from).unwrap_or_default();
        let message = answer::failure(&text, &self.folder.current());
        let message = if message.is_empty() { "it ended without a word".to_owned() } else { message };
        NotStarted { message, is_refusal: answer::is_refusal(&text) }
    }
}

impl Master {
    // `new` is deprecated for types that hand out another descriptor each time; an `OwnedFd` does not, and the
    // replacement is an unsafe function.
    #[expect(deprecated)]
    fn watch(pid: u32) -> io::Result<Self> {
        let id = i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other("not a process id"))?;
        Ok(Self { pid, fd: AsyncFd::new(pidfd_open(id, PidfdFlags::NONBLOCK)?)? })
    }

    /// Until the process is gone. A pidfd becomes readable then.
    pub(crate) async fn ended(&self) {
        if let Err(error) = self.fd.readable().await {
            tracing::error!(%error, "HAProxy's process cannot be watched");
        }
    }

    /// Ends HAProxy: with `drain`, its connections may finish for so long.
    pub(crate) async fn end(&self, drain: Option<Duration>) {
        let steps = [
            drain.map(|limit| (Signal::USR1, limit)),
            Some((Signal::TERM, END_TIMEOUT)),
            Some((Signal::KILL, END_TIMEOUT)),
        ];
        for (signal, limit) in steps.into_iter().flatten() {
            if pidfd_send_signal(&self.fd, signal).is_err() {
                return;
            }
            if tokio::time::timeout(limit, self.ended()).await.is_ok() {
                return;
            }
        }
    }
}

/// Empties a log that has grown too long; gives its length.
fn trim_log(path: &Path) -> u64 {
    let length = std::fs::metadata(path).map_or(0, |m| m.len());
    if length <= LONGEST_LOG {
        return length;
    }
    // HAProxy appends, so it goes on at the new end.
    match std::fs::File::options().write(true).open(path).and_then(|log| log.set_len(0)) {
        Ok(()) => 0,
        Err(_) => length,
    }
}

fn read_from(path: &Path, from: u64) -> io::Result<String> {
    let mut log = std::fs::File::open(path)?;
    log.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    log.take(64 << 10).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The program's full path: HAProxy starts itself anew by its name on a reload.
pub(super) fn find_program(binary: PathBuf) -> Result<PathBuf, AgentError> {
    let missing = || {
        AgentError::Haproxy(format!(
            "there is no program {}; install HAProxy 3.0 or later, or give its path with --haproxy",
            binary.display()
        ))
    };
    if binary.components().count() > 1 {
        return binary.canonicalize().map_err(|_| missing());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(&binary)).find(|file| file.is_file()).ok_or_else(missing)
}

/// What `haproxy -v` says: `3.4.7-1`.
pub(super) async fn version_of(binary: &Path) -> Result<String, AgentError> {
    let problem = |what: String| AgentError::Haproxy(format!("{} -v: {what}", binary.display()));
    let output =
        tokio::process::Command::new(binary).arg("-v").output().await.map_err(|e| problem(e.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.strip_prefix("HAProxy version ").and_then(|rest| rest.split_whitespace().next());
    version.map(str::to_owned).ok_or_else(|| problem("this is not HAProxy".to_owned()))
}
