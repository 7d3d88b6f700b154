//! The formats in which HAProxy reads files.

use haptic_model::FileKind;

/// The format in which HAProxy reads a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileFormat {
    /// haproxy.cfg.
    Config,
    /// Keys with values, a line each.
    Map,
    /// Patterns, a line each.
    Patterns,
    /// A crt-list.
    CertificateList,
    /// PEM.
    Certificate,
    /// Bytes, or a response of HTTP.
    #[default]
    Content,
    /// The body of a response.
    Body,
    /// The same as a log-format.
    Format,
    /// Something to be executed.
    Code,
}

impl From<FileKind> for FileFormat {
    fn from(kind: FileKind) -> Self {
        match kind {
            FileKind::Config => Self::Config,
            FileKind::Map => Self::Map,
            FileKind::CrtList => Self::CertificateList,
            FileKind::Certificate => Self::Certificate,
            FileKind::General => Self::Content,
        }
    }
}
