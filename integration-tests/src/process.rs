//! A child process with its output in a file, ended when it is dropped.

use crate::failure::{Failure, Outcome};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::process::{Child, Command};

/// One running program.
pub struct Process {
    child: Child,
    pid: Pid,
    log: PathBuf,
}

impl Process {
    /// Starts `command`, with both its outputs appended to the file `log`.
    pub fn start(mut command: Command, log: &Path) -> Outcome<Self> {
        let out = File::options().create(true).append(true).open(log)?;
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let child =
            command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out).kill_on_drop(true).spawn();
        let child = child.map_err(|e| Failure::new(format!("cannot start {program}: {e}")))?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Failure::new(format!("{program} ended at once")))?;
        Ok(Self { child, pid, log: log.to_owned() })
    }

    /// Its number, for what the kernel tells of it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// What it printed so far.
    #[must_use]
    pub fn printed(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Fails when the program has ended, with its last words.
    pub fn ensure_running(&mut self) -> Outcome {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(Failure::new(format!("ended with {status}: {}", last_lines(&self.log, 5)))),
        }
    }

    /// Asks it to end, and gives its exit code.
    ///
    /// # Errors
    /// It did not end within `patience`, or by a signal.
    pub async fn terminate(mut self, patience: Duration) -> Outcome<i32> {
        kill_process(self.pid, Signal::TERM)?;
        self.ended(patience).await
    }

    /// Waits for its end and gives its exit code.
    ///
    /// # Errors
    /// It did not end within `patience`, or by a signal.
    pub async fn ended(&mut self, patience: Duration) -> Outcome<i32> {
        let status = tokio::time::timeout(patience, self.child.wait())
            .await
            .map_err(|_| Failure::new(format!("did not end within {} s", patience.as_secs())))??;
        status.code().ok_or_else(|| Failure::new(format!("ended by {status}")))
    }

    /// Ends it without asking, and all it started, as a container's end does. Back when all are gone.
    pub async fn kill(mut self) -> Outcome {
        self.kill_family();
        self.child.wait().await?;
        Ok(())
    }

    /// Ends it alone without asking: what it started goes on.
    pub async fn kill_alone(mut self) -> Outcome {
        kill_process(self.pid, Signal::KILL)?;
        self.child.wait().await?;
        Ok(())
    }

    fn kill_family(&self) {
        if self.child.id().is_some() {
            for pid in [vec![self.pid], descendants(self.pid)].concat() {
                let _already_gone = kill_process(pid, Signal::KILL);
            }
        }
    }

    /// Ends, without asking, all programs called `name` that this one started. Gives how many.
    #[must_use]
    pub fn kill_descendants(&self, name: &str) -> usize {
        let doomed = descendants(self.pid)
            .into_iter()
            .filter(|pid| stat(*pid).is_some_and(|(called, _)| called == name));
        doomed.filter(|pid| kill_process(*pid, Signal::KILL).is_ok()).count()
    }

    /// Stops it, without its notice, until [`Process::resume`].
    pub fn pause(&self) -> Outcome {
        Ok(kill_process(self.pid, Signal::STOP)?)
    }

    /// Lets it go on after [`Process::pause`].
    pub fn resume(&self) -> Outcome {
        Ok(kill_process(self.pid, Signal::CONT)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_family();
    }
}

/// Runs `command` to its end and gives what it printed.
///
/// # Errors
/// It could not start or ended with another status than 0: its own words.
pub async fn output(command: &mut Command) -> Outcome<String> {
    let done = command.stdin(Stdio::null()).output().await?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(Failure::new(format!(
        "{:?}: {}: {}",
        command.as_std(),
        done.status,
        String::from_utf8_lossy(&done.stderr).trim()
    )))
}

/// The last `count` lines of a file.
#[must_use]
pub fn last_lines(file: &Path, count: usize) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}

/// All processes that `root` started, and that those started.
pub(crate) fn descendants(root: Pid) -> Vec<Pid> {
    let everyone: Vec<(Pid, i32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter_map(|pid| Some((pid, stat(pid)?.1)))
        .collect();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(parent) = family.get(next).map(|pid| pid.as_raw_nonzero().get()) {
        family.extend(everyone.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    family.remove(0);
    family
}

/// Name and parent of a process.
fn stat(pid: Pid) -> Option<(String, i32)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    Some((name.to_owned(), rest.split_whitespace().nth(1)?.parse().ok()?))
}
