//! What an assertion looks at: one rendered file, or why rendering failed.

use haptic_model::{Bundle, BundleFile, FileKey, FileKind};
use std::{fmt, sync::Arc};

/// The kinds of files that have names, as targets call them.
const NAMED: [(&str, FileKind); 4] = [
    ("maps", FileKind::Map),
    ("files", FileKind::General),
    ("sslCertificates", FileKind::Certificate),
    ("crtLists", FileKind::CrtList),
];

/// haproxy.cfg as a target.
pub(super) const HAPROXY_CONFIG: &str = "haproxy_config";

/// Edits up to which another name is suggested.
const CLOSE: usize = 2;

/// A target, as an assertion names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A file of the bundle.
    File(FileKey),
    /// Everything that kept the bundle from being rendered.
    RenderingError,
}

impl Target {
    /// Reads `haproxy_config`, `maps.NAME`, `files.NAME`, `sslCertificates.NAME`, `crtLists.NAME`, `rendering_error`.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            HAPROXY_CONFIG => return Ok(Self::File(FileKey::config())),
            "rendering_error" => return Ok(Self::RenderingError),
            _ => {}
        }
        let named = text.split_once('.').and_then(|(list, name)| {
            let kind = NAMED.iter().find(|(known, _)| *known == list)?.1;
            (!name.is_empty()).then(|| Self::File(FileKey::new(kind, name)))
        });
        named.ok_or_else(|| {
            format!(
                "there is no target {text:?}: it is haproxy_config, maps.NAME, files.NAME, sslCertificates.NAME, \
                 crtLists.NAME or rendering_error"
            )
        })
    }
}

impl fmt::Display for Target {
    /// As it is written in a configuration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RenderingError => f.write_str("rendering_error"),
            Self::File(key) => match NAMED.iter().find(|(_, kind)| *kind == key.kind) {
                Some((list, _)) => write!(f, "{list}.{}", key.name),
                None => f.write_str(HAPROXY_CONFIG),
            },
        }
    }
}

/// The file of that kind and name in `bundle`.
///
/// # Errors
/// Names those there are.
pub(super) fn file<'b>(key: &FileKey, bundle: &'b Bundle) -> Result<&'b Arc<BundleFile>, String> {
    if let Some(file) = bundle.all().find(|file| file.key == *key) {
        return Ok(file);
    }
    let target = Target::File(key.clone()).to_string();
    let there: Vec<String> = bundle.all().map(|file| Target::File(file.key.clone()).to_string()).collect();
    let close = there.iter().map(|name| (strsim::osa_distance(name, &target), name)).min();
    Err(match close {
        Some((edits, close)) if edits <= CLOSE => {
            format!("nothing was rendered for {target}; did you mean {close}?")
        }
        _ => format!("nothing was rendered for {target}; there is: {}", there.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_written_as_it_is_read() {
        for text in [
            "haproxy_config",
            "rendering_error",
            "maps.host.map",
            "files.503",
            "sslCertificates.a",
            "crtLists.c",
        ] {
            assert_eq!(Target::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_target_is_refused() {
        for text in ["", "haproxy_cfg", "maps", "maps.", "snippets.x", "haproxyConfig"] {
            assert!(Target::parse(text).unwrap_err().contains("haproxy_config, maps.NAME"), "{text}");
        }
    }
}
