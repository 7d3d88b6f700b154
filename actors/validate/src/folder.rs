//! A private folder that holds exactly one bundle, laid out as on a pod.

use haptic_model::Bundle;
use std::{
    fs, io,
    path::{Component, Path},
};
use tempfile::TempDir;

/// The small file given to HAProxy before the bundle's: relative names are relative to the configuration, as on a
/// pod with the agent.
pub const PREAMBLE: &str = "haptic-preamble.cfg";

/// HAProxy's own HTTP client would read all of the system's CAs, half the time of a small check; nobody calls it here.
const PREAMBLE_TEXT: &str = "global\n    default-path config\n    httpclient.ssl.verify none\n";

/// Writes `bundle` into a new private folder (mode 0700), which is removed when the returned value is dropped.
///
/// # Errors
/// When a path would leave the folder, or the disk refuses.
pub fn lay_out(bundle: &Bundle) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("haptic-check-").tempdir()?;
    fs::write(folder.path().join(PREAMBLE), PREAMBLE_TEXT)?;
    for file in bundle.all() {
        let path = Path::new(&*file.path);
        if !path.components().all(|c| matches!(c, Component::Normal(_))) {
            let what = format!("{} must be a relative path inside the bundle", file.path);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let target = folder.path().join(path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        write(&target, &file.text)?;
    }
    Ok(folder)
}

/// Fragment by fragment: a large file never exists as one string.
fn write(target: &Path, text: &haptic_model::Text) -> io::Result<()> {
    use io::Write;
    let mut out = io::BufWriter::with_capacity(1 << 16, fs::File::create(target)?);
    for fragment in text.fragments() {
        out.write_all(fragment.as_str().as_bytes())?;
    }
    out.flush()
}
