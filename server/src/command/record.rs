//! `haptic record`: gets what a running controller remembers of its last generations, as one compressed file.

use crate::{
    cli::{CommandFailure, RecordArgs},
    command::debug_client::{self, Answer},
    output,
};
use haptic_inspect::recording::{
    file::{Compressed, Flaw, RecordingReader},
    line::RecordingHead,
};
use jiff::Timestamp;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// A controller with many objects thinks before it answers, and between two lines.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Writes the recording.
///
/// # Errors
/// When nobody answers, nothing is recorded, or the file cannot be written. There is no half of a file then.
pub fn run(args: &RecordArgs) -> Result<(), CommandFailure> {
    debug_client::block_on(async {
        let answer = debug_client::ask(&args.url, "/debug/recording", TIMEOUT).await;
        keep(args, answer.map_err(CommandFailure::Because)?).await
    })
}

async fn keep(args: &RecordArgs, answer: Answer) -> Result<(), CommandFailure> {
    let target = args.out.clone().unwrap_or_else(|| {
        PathBuf::from(format!("haptic-recording-{}.jsonl.zst", Timestamp::now().strftime("%Y%m%dT%H%M%SZ")))
    });
    let failed = |why: io::Error| {
        CommandFailure::Because(format!(
            "cannot write {}: {why}; name another file with --out",
            target.display()
        ))
    };
    let unfinished = unfinished(&target);
    let written = match private(&unfinished) {
        Ok(file) => write(answer, file, failed).await,
        Err(why) => Err(failed(why)),
    };
    let kept = written.and_then(|()| {
        let head = whole(&unfinished)
            .map_err(|flaw| CommandFailure::Because(format!("what {} sent {flaw}", args.url)))?;
        fs::rename(&unfinished, &target).map_err(failed)?;
        Ok(head)
    });
    let head = match kept {
        Ok(head) => head,
        Err(failure) => {
            drop(fs::remove_file(&unfinished));
            return Err(failure);
        }
    };
    let bytes = fs::metadata(&target).map_or(0, |about| about.len());
    output::print(&summary(&head, &target, bytes)).map_err(CommandFailure::because)
}

/// Writes all of `answer`, compressed; what the file refuses has `failed`.
async fn write(
    mut answer: Answer,
    file: File,
    failed: impl Fn(io::Error) -> CommandFailure,
) -> Result<(), CommandFailure> {
    let mut to = Compressed::new(file);
    while let Some(bytes) = answer.next().await.map_err(CommandFailure::Because)? {
        to.write_all(&bytes).map_err(&failed)?;
    }
    to.end().map(drop).map_err(failed)
}

fn summary(head: &RecordingHead, file: &Path, bytes: u64) -> String {
    let (first, last) = head.generations;
    let file = file.display();
    format!(
        "{file}: generations {first} to {last} of {}, {} kB\n\
         It holds objects, configuration and rendered files with stand-ins in place of what Secrets hold. Look at it before you \
         send it: zstdcat {file}\nRender it again: haptic replay {file}\n",
        head.configuration,
        bytes.div_ceil(1000),
    )
}

/// What the file says it is, if it is whole.
fn whole(file: &Path) -> Result<RecordingHead, Flaw> {
    let mut reader = RecordingReader::open(file)?;
    let head = reader.head()?;
    reader.verify()?;
    Ok(head)
}

fn unfinished(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}", std::process::id()))
}

/// A new file that nobody else may read.
fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
