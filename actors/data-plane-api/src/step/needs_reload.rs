//! Why an operation needs a reload where HAProxy itself could follow it.

use haptic_model::HaproxyVersion;

/// The reason. Those of one plan are told once each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NeedsReload {
    #[error("the Data Plane API cannot do it at run time: {operation}")]
    NoCall { operation: String },
    #[error("its version is unknown")]
    UnknownVersion,
    #[error("{operations} operations take the Data Plane API longer than a reload")]
    TooMany { operations: usize },
    /// Its words are parted by single blanks and its actions by `;`: anything else would be another action, or none.
    #[error("{words:?} cannot be an action of the Data Plane API")]
    NoAction { words: Vec<String> },
    #[error("server {backend}/{server}: {address} is no IP address")]
    NoIpAddress { backend: String, server: String, address: String },
    #[error("server {backend}/{server}: {problem}")]
    CannotAdd { backend: String, server: String, problem: CannotAddServer },
    /// The API has an action for that, and no call that tells what became of it.
    #[error("frontend {frontend}: the Data Plane API cannot tell whether its maxconn was changed")]
    FrontendMaxconn { frontend: String },
    /// Whatever the entry is: it may be a token.
    #[error("{path}: the Data Plane API takes no entry with a ';'")]
    EntryWithSemicolon { path: String },
    #[error("map {map}: the Data Plane API would cut a value at its first blank")]
    ValueWithBlank { map: String },
    #[error("{list}: the Data Plane API would cut a pattern at its first blank")]
    PatternWithBlank { list: String },
    #[error("map {map}: the Data Plane API replaces only larger maps at once")]
    SmallMap { map: String },
    #[error("certificate {certificate}: the Data Plane API {api} needs a reload for it")]
    Certificate { certificate: String, api: HaproxyVersion },
    #[error("certificate {certificate}: HAProxy {haproxy} takes {bytes} bytes at a start only")]
    LargeCertificate { certificate: String, haproxy: HaproxyVersion, bytes: usize },
}

/// Why the API would not add a server as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CannotAddServer {
    #[error("an address without a port")]
    WithoutPort,
    #[error("the Data Plane API adds servers at IP addresses, and {host} is none")]
    NoIpAddress { host: String },
    #[error("{port} is no port")]
    NoPort { port: String },
    #[error("the Data Plane API cannot add one with {keyword} that works")]
    Keyword { keyword: String },
    #[error("{keyword} {value:?} is no number")]
    NoNumber { keyword: String, value: String },
}
