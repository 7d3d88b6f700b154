//! One `haproxy -c`: started, listened to, watched, and ended when its time is over.

use crate::memory::most_used_by;
use std::{
    ffi::OsString,
    io,
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
pub(crate) struct Ended {
    pub status: ExitStatus,
    /// What it said.
    pub output: String,
    pub took: Duration,
    /// The most address space that it was seen to have.
    pub most: Option<u64>,
}

/// Runs `program` in `folder` with nothing but `words`; `None` when it does not end within `time`.
pub(crate) async fn run(
    (program, words): (PathBuf, Vec<OsString>),
    folder: &Path,
    time: Duration,
) -> io::Result<Option<Ended>> {
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
            most = most.max(pid.and_then(most_used_by));
        }
    };
    let ended = tokio::select! {
        ended = timeout(time, finish(&mut child)) => ended,
        never = watch => never,
    };
    let Ok(ended) = ended else { return Ok(None) };
    let (status, output) = ended?;
    Ok(Some(Ended { status, output, took: began.elapsed(), most }))
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
