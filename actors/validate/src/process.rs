//! One `haproxy -c`: started, listened to, watched, and ended when its time is over.

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
/// How often it is seen how much memory a check has.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A check that came to its end.
pub(crate) struct FinishedCheck {
    pub status: ExitStatus,
    /// What it said.
    pub output: String,
    pub took: Duration,
    /// The most address space that it was seen to have.
    pub most: Option<u64>,
}

/// Runs `program` in `folder` with nothing but `words`; `None` when it does not end within `time`. What it takes while it is
/// still `launcher` is none of HAProxy's.
pub(crate) async fn run(
    (program, words): (PathBuf, Vec<OsString>),
    launcher: Option<&Path>,
    folder: &Path,
    time: Duration,
) -> io::Result<Option<FinishedCheck>> {
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
    let (mut most, pid) = (None, child.id());
    let watch = async {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            most = most.max(pid.filter(|pid| !executes(*pid, launcher)).and_then(most_used_by));
        }
    };
    let ended = tokio::select! {
        ended = timeout(time, finish(&mut child)) => ended,
        never = watch => never,
    };
    let Ok(ended) = ended else { return Ok(None) };
    let (status, output) = ended?;
    Ok(Some(FinishedCheck { status, output, took: began.elapsed(), most }))
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

    #[tokio::test]
    async fn what_a_launcher_takes_is_not_counted() {
        let (sleep, words) = (Path::new("/bin/sleep"), vec!["0.2".into()]);
        let most = async |launcher| {
            let time = Duration::from_secs(60);
            let ended = run((sleep.into(), words.clone()), launcher, Path::new("/"), time).await;
            ended.unwrap().unwrap().most
        };
        assert!(most(None).await.is_some());
        assert!(most(Some(Path::new("/bin/true"))).await.is_some());
        assert_eq!(most(Some(sleep)).await, None);
    }
}
