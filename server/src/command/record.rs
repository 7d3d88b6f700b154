//! `haptic record`: gets what a running controller remembers of its last generations, as one compressed file.

use crate::{
    asking,
    cli::{Failure, RecordArgs},
    output,
    recording::{
        line::Head,
        tape::{Compressed, Flaw, Reader},
    },
};
use jiff::Timestamp;
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// A controller with many objects thinks before it answers, and between two lines.
const PATIENCE: Duration = Duration::from_secs(120);

/// Writes the recording.
///
/// # Errors
/// When nobody answers, nothing is recorded, or the file cannot be written. There is no half of a file then.
pub fn run(args: &RecordArgs) -> Result<(), Failure> {
    let mut answer = asking::body(&args.url, "/debug/recording", PATIENCE).map_err(Failure::Because)?;
    let target = args.out.clone().unwrap_or_else(|| {
        PathBuf::from(format!("haptic-recording-{}.jsonl.zst", Timestamp::now().strftime("%Y%m%dT%H%M%SZ")))
    });
    let failed = |why: io::Error| {
        Failure::Because(format!("cannot write {}: {why}; name another file with --out", target.display()))
    };
    let unfinished = unfinished(&target);
    let written = private(&unfinished).and_then(|file| {
        let mut to = Compressed::new(file);
        io::copy(&mut answer, &mut to)?;
        to.end()
    });
    let kept = written.map_err(failed).and_then(|_| {
        let head =
            whole(&unfinished).map_err(|flaw| Failure::Because(format!("what {} sent {flaw}", args.url)))?;
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
    output::print(&told(&head, &target, bytes)).map_err(Failure::because)
}

fn told(head: &Head, file: &Path, bytes: u64) -> String {
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
fn whole(file: &Path) -> Result<Head, Flaw> {
    let mut reader = Reader::open(file)?;
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
