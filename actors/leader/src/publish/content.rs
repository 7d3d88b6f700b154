//! Which files are published, under which names, and with what content. Pure.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_model::{Bundle, BundleFile, FileKind, crd::PublishedFile};
use haptic_text::{Digest, redaction};
use std::sync::Arc;

/// Longer texts are compressed.
const LONG: usize = 100_000;
/// What is longer even so is left out: the API server's database takes no object of 1.5 MB.
pub(crate) const LONGEST: usize = 1_000_000;

/// The plural of what haproxy.cfg is published as.
pub const CONFIG: &str = "haproxycfgs";
/// The kinds of published resources, by their plural.
pub const KINDS: [&str; 4] = [CONFIG, "haproxymapfiles", "haproxygeneralfiles", "haproxycrtlistfiles"];

/// A file to be published.
#[derive(Clone, Debug)]
pub struct FileToPublish {
    /// The plural of its kind.
    pub plural: &'static str,
    /// Its name, the same for as long as configuration and path are.
    pub name: String,
    /// Of its content.
    pub digest: String,
    /// The file.
    pub file: Arc<BundleFile>,
}

impl FileToPublish {
    /// Plural and name.
    #[must_use]
    pub fn key(&self) -> (String, String) {
        (self.plural.to_owned(), self.name.clone())
    }
}

/// Everything of `bundle` that is published: all but certificates.
#[must_use]
pub fn wanted(config: &str, bundle: &Bundle) -> Vec<FileToPublish> {
    let all = bundle.all().filter_map(|file| {
        let plural = match file.key.kind {
            FileKind::Config => CONFIG,
            FileKind::Map => "haproxymapfiles",
            FileKind::General => "haproxygeneralfiles",
            FileKind::CrtList => "haproxycrtlistfiles",
            FileKind::Certificate => return None,
        };
        let name =
            if file.key.kind == FileKind::Config { config.to_owned() } else { name_of(config, &file.path) };
        Some(FileToPublish { plural, name, digest: file.digest.to_string(), file: Arc::clone(file) })
    });
    all.collect()
}

/// A name that Kubernetes takes, and that no other path of this configuration has.
fn name_of(config: &str, path: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let readable: String = path.rsplit('/').next().unwrap_or(path).chars().map(plain).take(40).collect();
    let digest = Digest::of(path.as_bytes()).to_string();
    // A name has at most 253 characters.
    let config: String = config.chars().take(190).collect();
    format!("{config}-{}-{}", readable.trim_matches('-'), digest.get(..8).unwrap_or(&digest))
}

/// The file as it is published.
#[must_use]
pub fn spec(file: &BundleFile) -> PublishedFile {
    let text = match file.key.kind {
        FileKind::Config => redaction::text(&file.text.shown()),
        _ => redaction::keys(&file.text.shown()),
    };
    published(file, text)
}

/// The file, whose content is `text`.
pub(crate) fn published(file: &BundleFile, text: String) -> PublishedFile {
    let mut published = PublishedFile {
        path: file.path.to_string(),
        digest: file.digest.to_string(),
        bytes: i64::try_from(file.text.len()).unwrap_or(i64::MAX),
        ..PublishedFile::default()
    };
    if text.len() <= LONG {
        published.content = Some(text);
        return published;
    }
    let compressed =
        ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    match encoded(&compressed) {
        Ok(content) => {
            published.compression = Some("zstd".into());
            published.content = Some(content);
        }
        Err(why) => published.omitted = Some(why),
    }
    published
}

/// The bytes of a compressed content.
pub(crate) fn decoded(content: &str) -> Result<Vec<u8>, base64::DecodeError> {
    STANDARD.decode(content)
}

/// Bytes as a text, or that they are too many.
fn encoded(compressed: &[u8]) -> Result<String, String> {
    match compressed.len() {
        ..=LONGEST => Ok(STANDARD.encode(compressed)),
        size => Err(format!("{size} bytes when compressed, more than the {LONGEST} that are published")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::FileKey;
    use haptic_text::{Blame, Fragment, Text};

    fn file(kind: FileKind, path: &str, text: &str) -> BundleFile {
        BundleFile::new(FileKey::new(kind, path), path, Text::plain(text))
    }

    #[test]
    fn names_are_stable_and_of_one_path_each_and_certificates_are_not_published() {
        let bundle = Bundle::new(
            file(FileKind::Config, "haproxy.cfg", "global\n"),
            [
                file(FileKind::Map, "maps/a.map", "a b\n"),
                file(FileKind::Map, "maps/a-map", "a b\n"),
                file(FileKind::Certificate, "ssl/x.pem", "-----"),
            ],
        );
        let names: Vec<String> = wanted("demo", &bundle).into_iter().map(|w| w.name).collect();
        assert_eq!(names.len(), 3);
        assert_eq!(names[0], "demo");
        assert!(names[1].starts_with("demo-a-map-") && names[2].starts_with("demo-a-map-"));
        assert_ne!(names[1], names[2]);
    }

    #[test]
    fn what_comes_from_a_secret_is_left_out() {
        let secrets = std::iter::once(5..8).collect();
        let blame = Arc::new(Blame { secrets, ..Blame::default() });
        let text = Text::new(vec![Fragment::new("user abc\n  stats auth a:b\n", blame)]);
        let spec = spec(&BundleFile::new(FileKey::config(), "haproxy.cfg", text));
        assert_eq!(spec.content.as_deref(), Some("user [redacted]\n  stats auth [redacted]\n"));
    }

    #[test]
    fn long_texts_are_compressed_and_too_long_ones_omitted() {
        let long = spec(&file(FileKind::Map, "maps/a.map", &"a b\n".repeat(50_000)));
        assert_eq!((long.compression.as_deref(), long.bytes), (Some("zstd"), 200_000));
        let compressed = STANDARD.decode(long.content.unwrap()).unwrap();
        let mut reader = ruzstd::decoding::StreamingDecoder::new(&*compressed).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
        assert_eq!(text, "a b\n".repeat(50_000));
        // Digests do not compress.
        let noise: String = (0..60_000_u32).map(|n| Digest::of(&n.to_le_bytes()).to_string()).collect();
        let noise = spec(&file(FileKind::General, "general/x", &noise));
        assert!(noise.content.is_none() && noise.omitted.unwrap().contains("more than the 1000000"));
    }
    #[test]
    fn the_borders_are_where_they_are_said_to_be() {
        let compressed =
            |bytes: usize| spec(&file(FileKind::Map, "maps/a.map", &"a".repeat(bytes))).compression.is_some();
        assert!(!compressed(100_000) && compressed(100_001));
        let encoded_of = |bytes: usize| encoded(&vec![7; bytes]);
        assert!(encoded_of(1_000_001).is_err());
        // What etcd takes by default, with room for what else is in an object and its history.
        assert!(encoded_of(1_000_000).unwrap().len() < 1_500_000 - 100_000);
    }
}
