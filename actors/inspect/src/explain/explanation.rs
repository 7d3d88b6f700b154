//! What is asked, what the answer is found in, and the answer. Plain data.

use haptic_model::{ActiveConfig, Bundle, BundleFile, Findings, Quarantine, Snapshots};
use serde::{Deserialize, Serialize};

/// What is asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedRequest {
    /// Whether it comes over TLS.
    pub tls: bool,
    /// The host, in lower case, without its port.
    pub host: String,
    /// The port, if one was named.
    pub port: Option<u16>,
    /// The path, without a query.
    pub path: String,
}

/// Everything that an answer is found in.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// What is rendered.
    pub bundle: &'a Bundle,
    /// From which configuration.
    pub config: &'a ActiveConfig,
    /// From which objects, those included that are held back.
    pub snapshots: &'a Snapshots,
    /// What is held back.
    pub quarantine: &'a Quarantine,
    /// What is found at objects.
    pub findings: &'a Findings,
}

/// A request's way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Explanation {
    /// What was asked about.
    pub request: ExplainedRequest,
    /// From the frontend to the last rule that could be followed.
    pub steps: Vec<ExplanationStep>,
    /// The backend that it reaches.
    pub backend: Option<String>,
    /// Its servers.
    pub servers: Vec<ExplanationStep>,
    /// Where its client is sent instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirected: Option<String>,
    /// With which status HAProxy itself has what it asks for, and by which line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fulfilled: Option<String>,
    /// Objects of its way that are not in force as they are: what is wrong with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<String>,
    /// What is found at objects of its way, as far as it concerns the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
    /// What more there must be to it, of what its URL does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// Its other ways: by the address of a Gateway that has the port as well, or with more than its URL.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Explanation>,
    /// Why it reaches no server, or why that is not known. Empty: it is served.
    pub why_not: Vec<String>,
    /// Whether it could not be followed to its end: then HAProxy may serve it, and `why_not` says where it is lost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_lost: bool,
    /// Rules that answer it first or do not, which the URL alone does not tell: by its source, its credentials, its headers.
    pub may_be_answered_by: Vec<String>,
    /// The generation that it was followed through, where a controller says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// A newer one that HAProxy's check refused: nothing of it is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
}

/// One line of a rendered file that the request comes by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExplanationStep {
    /// `gateway`, `frontend`, `map`, `rule`, `backend`, `server`.
    pub what: String,
    /// The file's path; none of a Gateway.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// The line itself, as it may be shown.
    pub text: String,
    /// `template:line`.
    pub template: Option<String>,
    /// The object that it was printed for.
    pub object: Option<String>,
}

/// Beside white space, none of them stands in a URL.
const NEVER_IN_HOSTS: &str = "<>\"{}|\\^`%";

impl ExplainedRequest {
    /// The request that `url` stands for: `https://shop.example/cart`, `shop.example/cart`.
    ///
    /// # Errors
    /// When that is no URL of a website.
    pub fn parse(url: &str) -> Result<Self, String> {
        let (tls, rest) = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, _)) => return Err(format!("{scheme} is neither http nor https")),
            None => (false, url),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let path = path.split(['?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(
                "a request has no user and password in its URL: leave out what stands before the @".into()
            );
        }
        if authority.starts_with('[') && !authority.contains(']') {
            return Err(format!(
                "{authority} is no address: an IPv6 address stands in brackets, as http://[::1]/"
            ));
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, Some(port.parse().map_err(|_| format!("{port} is no port"))?))
            }
            _ => (authority, None),
        };
        if host.is_empty() {
            return Err(format!("{url} names no host; write http://shop.example/path"));
        }
        if host.contains(|c: char| c.is_whitespace() || c.is_control() || NEVER_IN_HOSTS.contains(c)) {
            return Err(format!("{host:?} is no name of a host; write http://shop.example/path"));
        }
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self { tls, host: host.to_ascii_lowercase(), port, path: path.into() })
    }

    /// The port that is named, or that of the scheme.
    pub(super) fn asked_port(&self) -> u16 {
        self.port.unwrap_or(if self.tls { 443 } else { 80 })
    }
}

impl Explanation {
    /// How many of its steps are there for an object.
    pub(super) fn objects(&self) -> usize {
        self.steps.iter().filter(|step| step.object.is_some()).count()
    }
}

impl ExplanationStep {
    /// Line `number` of `file`.
    pub(super) fn at(what: &str, file: &BundleFile, number: usize) -> Self {
        let line = u32::try_from(number).unwrap_or(u32::MAX);
        let origin = file.text.origin(line);
        Self {
            what: what.into(),
            file: file.path.to_string(),
            line,
            text: file.text.line(line).unwrap_or_default().trim().to_owned(),
            object: origin.as_ref().and_then(|o| o.object.as_ref()).map(ToString::to_string),
            template: origin.map(|o| format!("{}:{}", o.template, o.line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_as_a_browser_does() {
        let request = |url: &str| {
            let r = ExplainedRequest::parse(url).unwrap();
            (r.tls, r.host, r.port, r.path)
        };
        assert_eq!(request("https://Shop.Example/a?b#c"), (true, "shop.example".into(), None, "/a".into()));
        assert_eq!(request("shop.example"), (false, "shop.example".into(), None, "/".into()));
        assert_eq!(request("http://a:8080?x"), (false, "a".into(), Some(8080), "/".into()));
        assert_eq!(request("http://[::1]/x"), (false, "[::1]".into(), None, "/x".into()));
        let wrong = [
            "ftp://a/",
            "http:///x",
            "a:b/",
            "http://[::1",
            "http://[::1/x",
            "http://a b/",
            " ",
            "http://a\t/",
            "http://user:pw@a:80/",
            "http://a|b/",
        ];
        for wrong in wrong {
            assert!(ExplainedRequest::parse(wrong).is_err(), "{wrong}");
        }
    }
}
