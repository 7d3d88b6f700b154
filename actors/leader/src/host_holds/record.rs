//! The record as a resource: a published file among those that are rendered, for which leaders have rights anyway. Pure.

use crate::publish::content::{self, LONGEST};
use haptic_model::{BundleFile, FileKey, FileKind, HostHolds, crd::PublishedFile};
use haptic_text::Text;
use std::{
    io::Read,
    time::{Duration, Instant},
};

/// What the file is called.
const PATH: &str = "host-holds.json";
/// The longest record, in bytes. Names compress well: what does not fit even so is written again with half of it.
const LONGEST_RECORD: usize = 8_000_000;

/// The resource's name, of the configuration `config`. Those of rendered files end with a digest.
#[must_use]
pub fn name_of(config: &str) -> String {
    // A name has at most 253 characters.
    let config: String = config.chars().take(230).collect();
    format!("{config}-host-holds")
}

/// What is written of `holds` at `now`, where things are kept for `hold`.
#[must_use]
pub fn written(holds: &HostHolds, hold: Duration, now: Instant) -> PublishedFile {
    let mut most = LONGEST_RECORD;
    loop {
        let record = holds.record(hold, now, most);
        let key = FileKey::new(FileKind::General, PATH);
        let file = content::published(&BundleFile::new(key, PATH, Text::plain(&record)), record);
        if file.omitted.is_none() || most < LONGEST {
            return file;
        }
        most /= 2;
    }
}

/// The record in a resource.
///
/// # Errors
/// What is wrong with it.
pub fn read(file: &PublishedFile) -> Result<String, String> {
    let Some(content) = &file.content else { return Err(format!("{PATH} has no content")) };
    match file.compression.as_deref() {
        None => Ok(content.clone()),
        Some("zstd") => expanded(content),
        Some(other) => Err(format!("{PATH} is compressed with {other}, which this revision does not know")),
    }
}

fn expanded(content: &str) -> Result<String, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("{PATH} cannot be read: {why}");
    let compressed = content::decoded(content).map_err(|why| wrong(&why))?;
    let decoder = ruzstd::decoding::StreamingDecoder::new(&*compressed).map_err(|why| wrong(&why))?;
    let mut record = String::new();
    let most = u64::try_from(2 * LONGEST_RECORD).unwrap_or(u64::MAX);
    decoder.take(most).read_to_string(&mut record).map_err(|why| wrong(&why))?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::HostHold;
    use std::sync::Arc;

    const HOLD: Duration = Duration::from_secs(600);

    fn holds(count: usize, text: impl Fn(usize) -> String) -> HostHolds {
        let now = Instant::now();
        let hold = |n: usize| HostHold {
            namespace: format!("tenant-{}", n % 100).into(),
            age: Some(format!("2026-01-01T{:02}:{:02}:00Z", n % 24, n % 60).into()),
            gone: Some(now),
        };
        HostHolds([("ingresses".into(), (0..count).map(|n| (Arc::from(text(n)), hold(n))).collect())].into())
    }

    #[test]
    fn what_is_written_is_read() {
        let now = Instant::now();
        for count in [0, 1, 20_000] {
            let all = holds(count, |n| format!(r#"{{"host":"shop-{n}.tenant-{}.example"}}"#, n % 100));
            let file = written(&all, HOLD, now);
            assert_eq!(file.compression.is_some(), count > 1_000);
            let size = file.content.as_ref().unwrap().len();
            assert!(size < 700_000, "{count} take {size}");
            let read = HostHolds::read(read(&file).unwrap().as_bytes(), HOLD, now).unwrap();
            assert_eq!(read.0.values().map(imbl_len).sum::<usize>(), count);
        }
    }

    fn imbl_len(held: &haptic_model::host_holds::HeldByText) -> usize {
        held.len()
    }

    #[test]
    fn what_does_not_compress_is_cut_to_what_the_api_server_takes() {
        let noise = |n: usize| {
            let digest = |m: usize| haptic_text::Digest::of(&(n * 8 + m).to_le_bytes()).to_string();
            (0..4).map(digest).collect::<String>()
        };
        let now = Instant::now();
        let file = written(&holds(30_000, noise), HOLD, now);
        assert!(file.content.as_ref().unwrap().len() < 1_400_000 && file.omitted.is_none());
        let read = HostHolds::read(read(&file).unwrap().as_bytes(), HOLD, now).unwrap();
        assert!(read.0.values().map(imbl_len).sum::<usize>() > 3_000);
    }

    #[test]
    fn what_is_no_record_is_told() {
        let file = |content: &str, compression: Option<&str>| PublishedFile {
            content: Some(content.into()),
            compression: compression.map(Into::into),
            ..PublishedFile::default()
        };
        for wrong in [
            file("%", Some("zstd")),
            file("AAAA", Some("zstd")),
            file("x", Some("lz")),
            PublishedFile::default(),
        ] {
            assert!(read(&wrong).unwrap_err().contains(PATH), "{wrong:?}");
        }
        assert_eq!(read(&file("{}", None)).unwrap(), "{}");
    }

    #[test]
    fn its_name_is_that_of_no_rendered_file() {
        assert_eq!(name_of("haptic"), "haptic-host-holds");
        assert!(name_of(&"x".repeat(253)).len() <= 253);
    }
}
