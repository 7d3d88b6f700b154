//! One `haproxy -c`: started, listened to, watched, and ended when its time is over.
//!
//! What it may take by others' measure is time of a CPU: on a machine that is busy a good configuration waits longer, and
//! works as long as ever.

use crate::memory::most_used_by;
use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    io::AsyncReadExt,
    process::{Child, Command},
    time::{Instant, timeout},
};

/// Most of a check's output that is read.
const OUTPUT_LIMIT: u64 = 1 << 20;
/// The kernel tells of time in ticks, of which each second has so many: on each machine but Alpha and Itanium (`man 7 time`).
const TICKS: u64 = 100;
/// How often it is seen how much memory and time of a CPU a check has taken.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a check may take before it is ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckBounds {
    /// Time on the wall.
    pub wall: Duration,
    /// Time of a CPU.
    pub cpu: Option<Duration>,
}

/// How a check ended.
pub(crate) enum CheckEnd {
    Finished(FinishedCheck),
    /// After this time on the wall it had not.
    TooLate(Duration),
    /// After this time of a CPU it had not.
    TooMuchWork(Duration),
}

/// A check that came to its end.
pub(crate) struct FinishedCheck {
    pub status: ExitStatus,
    /// What it said.
    pub output: String,
    /// The time of a CPU that it took, to [`LOOK_EVERY`].
    pub work: Duration,
    /// The most address space that it was seen to have.
    pub most: Option<u64>,
}

/// Runs `program` in `folder` with nothing but `words`. The memory that it has while it is still `launcher` is none of
/// HAProxy's.
pub(crate) async fn run(
    (program, words): (PathBuf, Vec<OsString>),
    launcher: Option<&Path>,
    folder: &Path,
    bounds: CheckBounds,
) -> io::Result<CheckEnd> {
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(words)
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (mut most, mut seen, pid) = (None, Duration::ZERO, child.id());
    let watch = async {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            most = most.max(pid.filter(|pid| !executes(*pid, launcher)).and_then(most_used_by));
            seen = pid.and_then(time_of_cpu).unwrap_or(seen);
            if let Some(bound) = bounds.cpu.filter(|bound| seen > *bound) {
                break bound;
            }
        }
    };
    let (status, output) = tokio::select! {
        ended = timeout(bounds.wall, finish(&mut child)) => match ended {
            Ok(ended) => ended?,
            Err(_) => return Ok(CheckEnd::TooLate(bounds.wall)),
        },
        bound = watch => return Ok(CheckEnd::TooMuchWork(bound)),
    };
    let work = began.elapsed().min(seen + LOOK_EVERY);
    Ok(CheckEnd::Finished(FinishedCheck { status, output, work, most }))
}

/// What the process `pid` has taken of a CPU, by itself and in the kernel (`man 5 proc_pid_stat`).
fn time_of_cpu(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name is in parentheses, and may have any in it. What it is in follows, and then numbers.
    let (_, numbers) = stat.rsplit_once(')')?;
    let ticks: u64 =
        numbers.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(ticks.saturating_mul(1000 / TICKS)))
}

/// Whether the process `pid` executes the file `program`.
fn executes(pid: u32, program: Option<&Path>) -> bool {
    let file = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let executed = file(Path::new(&format!("/proc/{pid}/exe")));
    executed.is_some() && executed == program.and_then(file)
}

async fn finish(child: &mut Child) -> io::Result<(ExitStatus, String)> {
    let mut output = Vec::new();
    if let Some(said) = child.stderr.take() {
        let mut beginning = said.take(OUTPUT_LIMIT);
        beginning.read_to_end(&mut output).await?;
        // It is killed when nobody reads the rest.
        tokio::io::copy(&mut beginning.into_inner(), &mut tokio::io::sink()).await?;
    }
    Ok((child.wait().await?, String::from_utf8_lossy(&output).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: CheckBounds = CheckBounds { wall: Duration::from_secs(60), cpu: None };

    #[tokio::test]
    async fn who_waits_takes_nothing_of_a_cpu_and_who_works_for_too_long_is_ended() {
        let bounds = CheckBounds { cpu: Some(Duration::from_millis(200)), ..MINUTE };
        let ended = async |script: &str| {
            let words = vec!["-c".into(), script.into()];
            run(("/bin/sh".into(), words), None, Path::new("/"), bounds).await.unwrap()
        };
        let CheckEnd::Finished(waited) = ended("sleep 1").await else { panic!("it did nothing") };
        assert!(waited.status.success() && waited.work < Duration::from_millis(200), "{:?}", waited.work);
        let CheckEnd::TooMuchWork(of) = ended("while :; do :; done").await else { panic!("it never ends") };
        assert_eq!(Some(of), bounds.cpu);
    }

    #[tokio::test]
    async fn what_a_launcher_takes_is_not_counted() {
        let (sleep, words) = (Path::new("/bin/sleep"), vec!["0.2".into()]);
        let most = async |launcher| {
            let ended = run((sleep.into(), words.clone()), launcher, Path::new("/"), MINUTE).await.unwrap();
            let CheckEnd::Finished(ended) = ended else { panic!("it was ended") };
            ended.most
        };
        assert!(most(None).await.is_some());
        assert!(most(Some(Path::new("/bin/true"))).await.is_some());
        assert_eq!(most(Some(sleep)).await, None);
    }
}
