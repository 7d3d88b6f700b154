//! Options of external authentication: somebody is asked of each request whether it may pass.

use super::{
    kind::{Form, Kind},
    level::Level,
    table::{ROW, Reload, Row, With},
};
use haptic_model::host_name::is_host;
use serde_json::{Value as Json, json};

/// The longest path and query of [`AuthUrl`].
const LONGEST_URI: usize = 1000;
/// What stands for the host of the request.
const OWN_HOST: [&str; 2] = ["$host", "$http_host"];
const SIGN_IN_VARIABLES: [&str; 6] =
    ["host", "http_host", "scheme", "path", "request_uri", "escaped_request_uri"];

/// What [`AuthUrl`] is read of, behind "it must be".
pub const EXPECTED: &str = "a URL of up to 1000 characters: https://$host/PATH, http://SERVICE:PORT/PATH, \
    http://SERVICE.NAMESPACE.svc:PORT/PATH or that of a host outside, without other variables, blanks and |";

/// `auth-error-status`.
pub const ERROR_STATUS: Row = Row {
    name: "auth-error-status",
    kind: Kind::Choice(&["500", "503"]),
    example: "500",
    about: "`500`: an answer of who is asked that is neither 2xx nor 401 nor 403, and none at all, is 500 for clients. Without it those from 300 to 499 reach \
        them, and all else is 503.",
    ..BESIDE
};

const BESIDE: Row = Row { levels: &[Level::Path, Level::Ingress], with: With::Beside("auth-url"), ..ROW };

/// Who is asked.
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
    /// What the header Host says.
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
    /// What it must be.
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

    /// What tells those who are asked apart: host, port and scheme.
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

/// `auth-url`.
pub const URL: Row = Row {
    name: "auth-url",
    kind: Kind::AuthUrl,
    example: "https://$host/oauth2/auth",
    reload: Reload::FirstUse,
    guards: true,
    about: "Whoever is there is asked of each request whether it may pass: by 2xx it may; other answers below 500 are the client's; \
        no answer, and anything else, is 503. `https://$host/…` is the Service behind the route of that path on the same host and in \
        the same namespace, called directly; `http://NAME:PORT/…` a Service of the namespace; `http://NAME.NAMESPACE.svc:PORT/…` and \
        other hosts, where `allow.destinations` has their addresses.",
    with: With::Nothing,
    ..BESIDE
};

/// `auth-method`.
pub const METHOD: Row = Row {
    name: "auth-method",
    kind: Kind::Choice(&["GET", "HEAD", "POST", "PUT", "DELETE"]),
    example: "POST",
    guards: true,
    about: "With which it is asked; `GET` without it. There is no body, and `X-Original-Method` is the client's.",
    ..BESIDE
};

/// `auth-timeout`.
pub const TIMEOUT: Row = Row {
    name: "auth-timeout",
    kind: Kind::TimeUpTo(10_000, "10s"),
    example: "2s",
    default: "5s",
    about: "So long an answer may take, and a second more for its body.",
    ..BESIDE
};

/// `auth-signin`.
pub const SIGN_IN: Row = Row {
    name: "auth-signin",
    kind: Kind::Text { most: 1000, form: Form::SignIn },
    example: "https://$host/oauth2/start?rd=$escaped_request_uri",
    about: "Clients are redirected there instead of 401. `$host`, `$http_host`, `$scheme`, `$path`, `$request_uri` and `$escaped_request_uri` are the \
        request's; without one of the last two the URL of the request is added as a parameter.",
    ..BESIDE
};

/// `auth-signin-always`.
pub const SIGN_IN_ALWAYS: Row = Row {
    name: "auth-signin-always",
    example: "true",
    with: With::Beside("auth-signin"),
    about: "`true`: clients are redirected there by whatever does not let their requests pass, and no parameter is added.",
    ..BESIDE
};

/// `auth-signin-redirect-param`.
pub const SIGN_IN_PARAMETER: Row = Row {
    name: "auth-signin-redirect-param",
    kind: Kind::Text { most: 64, form: Form::Cookie },
    example: "return_to",
    default: "rd",
    with: With::Beside("auth-signin"),
    about: "What that parameter is called.",
    ..BESIDE
};

/// `auth-request-headers`.
pub const REQUEST_HEADERS: Row = Row {
    name: "auth-request-headers",
    kind: Kind::HeaderNames,
    example: "Cookie, Authorization",
    about: "Headers of the request that are passed to it; all of them without it, but where answers are kept `Cookie` and `Authorization`.",
    ..BESIDE
};

/// `auth-withheld-headers`.
pub const WITHHELD_HEADERS: Row = Row {
    name: "auth-withheld-headers",
    kind: Kind::HeaderNames,
    example: "X-Auth-Realm",
    guards: true,
    about: "Headers of the request, in any spelling, that are not passed to it, whatever else is.",
    ..BESIDE
};

/// `auth-response-headers`.
pub const RESPONSE_HEADERS: Row = Row {
    name: "auth-response-headers",
    kind: Kind::HeaderNamesOrStarts,
    example: "X-Auth-Request-User, X-Auth-Request-Email",
    guards: true,
    about: "Headers of its answer that servers get, or what their names begin with such as `X-Auth-*`; `*` for all but those of the connection, \
        of the body and for clients. What clients send under these names, in any spelling, is removed; of `*` alone what the answer has.",
    ..BESIDE
};

/// `auth-client-headers`.
pub const CLIENT_HEADERS: Row = Row {
    name: "auth-client-headers",
    kind: Kind::HeaderNames,
    example: "X-Auth-Request-Redirect",
    about: "Headers of its answer that clients get with that of the server. They get its cookies in any case.",
    ..BESIDE
};

/// `auth-cache`.
pub const CACHE: Row = Row {
    name: "auth-cache",
    kind: Kind::TimeUpTo(600_000, "10m"),
    example: "30s",
    about: "So long an answer that lets a request pass, and sets no cookie, counts for others like it (`auth-cache-key`), in each thread of each \
        HAProxy for itself. Without it every request is asked for.",
    ..BESIDE
};

/// `auth-cache-key`.
pub const CACHE_KEY: Row = Row {
    name: "auth-cache-key",
    kind: Kind::Several(&["address", "headers", "host", "method", "path"]),
    example: "headers, host",
    default: "address, headers, host, method, path",
    with: With::Beside("auth-cache"),
    guards: true,
    about: "What requests must have in common to be alike, beside the route: the client's address, the headers that are passed \
        (`auth-request-headers`), host, method, path with query.",
    ..BESIDE
};

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
