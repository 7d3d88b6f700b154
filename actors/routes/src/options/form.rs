//! The forms that texts must have which options take as they are.

use super::{auth_url::is_sign_in, quantity::number, tcp_ports::is_ports};
use haptic_model::host_name::is_host;

/// The name for the host of the request.
const OWN_HOST: &str = "$host";
/// The text for no name.
const NO_NAME: &str = "$none";

/// The form of a good text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A URL or path.
    Location,
    /// A text in place of a prefix of a path.
    Prefix,
    /// A path with `\1` for the first group.
    Replacement,
    /// The same, which may begin with a group.
    Target,
    /// The name of a cookie.
    Cookie,
    /// The name of a header.
    HeaderName,
    /// The value of a header.
    HeaderValue,
    /// A text in quotes.
    Realm,
    /// A path of this host.
    Path,
    /// A host, and a port.
    Host,
    /// A host, or what stands for that of the request.
    ServerName,
    /// A host.
    HostName,
    /// A path that a cookie is for.
    CookiePath,
    /// Statuses and ranges of them.
    Statuses,
    /// A URL with a few variables, where clients sign in.
    SignIn,
    /// Ports of TCP services.
    TcpPorts,
}

impl Form {
    pub(super) fn has(self, text: &str) -> bool {
        let printable = |c: char| c.is_ascii_graphic();
        match self {
            Self::Location => {
                ["http://", "https://", "/"].iter().any(|start| text.starts_with(start))
                    && text.chars().all(|c| printable(c) && c != '|')
            }
            Self::Prefix => text.starts_with('/') && text.chars().all(|c| printable(c) && c != '|'),
            Self::Replacement => text.starts_with('/') && text.chars().all(printable),
            Self::Target => {
                let is_group = |two: &[u8]| matches!(two, [b'$', b'0'..=b'9']);
                text.starts_with(['/', '\\'])
                    && text.chars().all(|c| printable(c) && !"|?#".contains(c))
                    && !text.as_bytes().windows(2).any(is_group)
            }
            Self::Cookie => {
                let is_inner = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
                !text.is_empty() && !text.starts_with('-') && text.chars().all(is_inner)
            }
            Self::HeaderName => {
                !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
            }
            Self::HeaderValue => {
                !text.is_empty() && text.trim() == text && text.chars().all(|c| matches!(c, ' '..='~'))
            }
            // A word that begins with - could be an option of HAProxy's own.
            Self::Realm => {
                let is_shown = |c: char| !c.is_control() && !matches!(c, '"' | '\\');
                !text.is_empty() && !text.starts_with('-') && text.chars().all(is_shown)
            }
            Self::SignIn => is_sign_in(text),
            Self::TcpPorts => is_ports(text),
            Self::Path => {
                let begins = text.starts_with('/') && !text.starts_with("//") && !text.starts_with("/\\");
                begins && text.chars().all(|c| printable(c) && c != '|')
            }
            Self::Host => {
                let (host, port) =
                    text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
                let is_port = |port: &str| number(port).is_some_and(|port| (1..=65_535).contains(&port));
                is_host(host) && !host.starts_with('*') && port.is_none_or(is_port)
            }
            Self::ServerName => [OWN_HOST, NO_NAME].contains(&text) || Self::HostName.has(text),
            Self::HostName => is_host(text) && !text.starts_with('*'),
            Self::CookiePath => {
                text.starts_with('/') && text.chars().all(|c| printable(c) && !"|;,\"\\".contains(c))
            }
            Self::Statuses => text.split(',').all(|one| is_statuses(one.trim())),
        }
    }

    /// The part of a good one that counts.
    pub(super) fn kept(self, text: &str) -> &str {
        match self {
            Self::Prefix => text.strip_suffix('/').unwrap_or(text),
            _ => text,
        }
    }

    pub(super) fn expected(self, most: usize) -> String {
        match self {
            Self::Location => format!("a URL or path of up to {most} characters without blanks and |"),
            Self::Prefix => {
                format!("a path that begins with /, of up to {most} characters without blanks and |")
            }
            Self::Replacement => format!(
                "a path of up to {most} characters that begins with / and has no blanks, with \\1 for the first group"
            ),
            Self::Target => format!(
                "a path of up to {most} characters that begins with / or a group and has no blanks, |, ? and #, with \\1 (not $1) for the first group"
            ),
            Self::Cookie => format!("1 to {most} letters, digits, -, _ and ., the first of which is no -"),
            Self::HeaderName => format!("1 to {most} letters, digits, - and _"),
            Self::HeaderValue => format!("1 to {most} characters of ASCII without blanks around them"),
            Self::Path => {
                format!("a path that begins with one /, of up to {most} characters without blanks and |")
            }
            Self::SignIn => format!(
                "a URL or path of up to {most} characters without blanks and |, of variables only $host, $http_host, $scheme, $path, $request_uri and $escaped_request_uri"
            ),
            Self::Host => "a host in lower case, and maybe a port".to_owned(),
            Self::ServerName => format!("a host in lower case, {OWN_HOST} or {NO_NAME}"),
            Self::HostName => "a host in lower case".to_owned(),
            Self::CookiePath => format!(
                "a path of up to {most} characters that begins with / and has no blanks, |, ;, commas, quotes and backslashes"
            ),
            Self::TcpPorts => {
                "ports of TCP such as 5432, or with one of the Service's by number or name such as 9000:admin, separated by commas".to_owned()
            }
            Self::Statuses => {
                "statuses from 100 to 599 and ranges such as 200-299, separated by commas".to_owned()
            }
            Self::Realm => {
                format!(
                    "1 to {most} characters without quotes, backslashes and control characters, the first of which is no -"
                )
            }
        }
    }
}

/// Of `404` or `200-299`.
fn is_statuses(text: &str) -> bool {
    let status = |text: &str| number(text).filter(|status| (100..=599).contains(status));
    match text.split_once('-') {
        Some((first, last)) => status(first).zip(status(last)).is_some_and(|(first, last)| first <= last),
        None => status(text).is_some(),
    }
}
