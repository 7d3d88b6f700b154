//! The service that is asked whether a request may pass, by a URL, and where clients sign in.

use haptic_model::host_name::is_host;
use serde_json::{Value as Json, json};

/// The longest path and query of [`AuthUrl`].
const LONGEST_URI: usize = 1000;
/// The names for the host of the request.
const OWN_HOST: [&str; 2] = ["$host", "$http_host"];
const SIGN_IN_VARIABLES: [&str; 6] =
    ["host", "http_host", "scheme", "path", "request_uri", "escaped_request_uri"];

/// The form of [`AuthUrl`], behind "it must be".
pub const EXPECTED: &str = "a URL of up to 1000 characters: https://$host/PATH, http://SERVICE:PORT/PATH, \
    http://SERVICE.NAMESPACE.svc:PORT/PATH or that of a host outside, without other variables, blanks and |";

/// The service that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthUrl {
    /// Whether it is asked over TLS.
    pub tls: bool,
    /// Where it is.
    pub place: AuthPlace,
    /// Its port.
    pub port: u16,
    /// Path and query.
    pub uri: String,
    /// The value of the header Host.
    pub authority: String,
}

/// Where somebody is who can be asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuthPlace {
    /// Behind the route that the path has on the host of the request.
    OwnHost,
    /// A Service.
    Service {
        /// Its namespace, if it is named.
        namespace: Option<String>,
        /// Its name.
        name: String,
    },
    /// Behind the route that the path has on this host, if the namespace has one; otherwise what the name leads to.
    Host(String),
}

impl AuthUrl {
    /// Reads `text`.
    ///
    /// # Errors
    /// The form that it must have.
    pub fn of(text: &str) -> Result<Self, &'static str> {
        Self::read(text).ok_or(EXPECTED)
    }

    fn read(text: &str) -> Option<Self> {
        let (tls, rest) = match text.split_once("://")? {
            ("http", rest) => (false, rest),
            ("https", rest) => (true, rest),
            _ => return None,
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, uri) = rest.split_at_checked(end)?;
        let uri = if uri.starts_with('/') { uri.to_owned() } else { format!("/{uri}") };
        let is_plain = uri.bytes().all(|byte| byte.is_ascii_graphic() && !b"|$#".contains(&byte));
        if uri.len() > LONGEST_URI || !is_plain {
            return None;
        }
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok().filter(|port| *port > 0)?)),
            None => (authority, None),
        };
        let port = port.unwrap_or(if tls { 443 } else { 80 });
        Some(Self { tls, place: AuthPlace::of(host)?, port, uri, authority: authority.to_owned() })
    }

    /// The parts that tell those who are asked apart: host, port and scheme.
    #[must_use]
    pub fn target(&self) -> [String; 3] {
        let host = match &self.place {
            AuthPlace::OwnHost => String::new(),
            AuthPlace::Service { namespace: None, name } => name.clone(),
            AuthPlace::Service { namespace: Some(namespace), name } => format!("{name}.{namespace}.svc"),
            AuthPlace::Host(host) => host.clone(),
        };
        let scheme = if self.tls { "https" } else { "http" };
        [host, self.port.to_string(), scheme.to_owned()]
    }

    /// As templates read it.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let place = match &self.place {
            AuthPlace::OwnHost => "own",
            AuthPlace::Service { .. } => "service",
            AuthPlace::Host(_) => "host",
        };
        let authority = if self.place == AuthPlace::OwnHost { "" } else { &*self.authority };
        json!({"place": place, "target": self.target(), "authority": authority, "uri": self.uri})
    }
}

impl AuthPlace {
    /// Of the host of a URL.
    #[must_use]
    pub fn of(host: &str) -> Option<Self> {
        if OWN_HOST.contains(&host) {
            return Some(Self::OwnHost);
        }
        let host = host.to_ascii_lowercase();
        if !is_host(&host) || host.starts_with('*') {
            return None;
        }
        let labels: Vec<&str> = host.split('.').collect();
        Some(match labels[..] {
            [name] => Self::Service { namespace: None, name: name.to_owned() },
            [name, namespace, "svc"] | [name, namespace, "svc", "cluster", "local"] => {
                Self::Service { namespace: Some(namespace.to_owned()), name: name.to_owned() }
            }
            _ => Self::Host(host),
        })
    }
}

/// A URL with the scheme of the request is asked over TLS.
pub(crate) fn without_scheme(url: &str) -> String {
    url.trim().replacen("$scheme://", "https://", 1)
}

/// Whether `text` is where clients sign in.
pub(super) fn is_sign_in(text: &str) -> bool {
    let begins = ["https://", "http://", "$scheme://", "/"].iter().any(|start| text.starts_with(start));
    let is_known = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest.get(..end).is_some_and(|name| SIGN_IN_VARIABLES.contains(&name))
    };
    let is_one_host = !text.starts_with("//") && !text.starts_with("/\\");
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'|');
    begins && is_one_host && is_plain && text.split('$').skip(1).all(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_who_is_asked() {
        let read = |text: &str| AuthUrl::of(text).map(|url| (url.target().join(" "), url.uri)).ok();
        for (text, target, uri) in [
            ("https://$host/oauth2/auth", " 443 https", "/oauth2/auth"),
            ("http://$http_host/a?b=c", " 80 http", "/a?b=c"),
            ("http://authelia:9091/api/verify", "authelia 9091 http", "/api/verify"),
            ("http://Authelia.Auth.svc.cluster.local:80", "authelia.auth.svc 80 http", "/"),
            ("https://sso.auth.svc/x", "sso.auth.svc 443 https", "/x"),
            ("https://auth.example?x", "auth.example 443 https", "/?x"),
        ] {
            assert_eq!(read(text), Some((target.to_owned(), uri.to_owned())), "{text}");
        }
        for text in [
            "",
            "auth",
            "ftp://a/",
            "http:///x",
            "http://u:p@a.example/",
            "http://a.example:0/",
            "http://a.example:x/",
            "http://a.example/|x",
            "http://a.example/ x",
            "http://a.example/$uri",
            "http://$uri/x",
            "http://*.example/",
            "http://a.example/#x",
            "http://a.example/\r\nX: y",
            "http://[::1]/",
            "http://a..example/",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&format!("http://a/{}", "x".repeat(LONGEST_URI))), None);
    }

    #[test]
    fn clients_sign_in_at_a_url_with_a_few_variables() {
        for text in [
            "https://$host/oauth2/start?rd=$escaped_request_uri",
            "$scheme://$http_host/x?y=$request_uri",
            "/login",
        ] {
            assert!(is_sign_in(text), "{text}");
        }
        for text in [
            "login",
            "//evil/",
            "/\\evil",
            "https://a/$cookie",
            "https://a/ b",
            "https://a/|b",
            "https://a/$",
        ] {
            assert!(!is_sign_in(text), "{text}");
        }
    }
}
