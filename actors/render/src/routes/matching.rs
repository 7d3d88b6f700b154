//! Which requests a route takes, and which of two routes a request goes to.
//!
//! Follows the API documentation of `networking.k8s.io/v1` Ingress, fields `host`, `path` and `pathType`. Knows nothing
//! of Ingress objects, so that other kinds of route can stand on it.

use haptic_model::host_name;
use std::sync::Arc;

use super::sentences::shortened;
pub(super) use host_name::wildcard_over;

/// The host of a route that takes requests whatever their host is.
pub const ANY_HOST: &str = "*";

/// The requests that a route takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match {
    /// In lower case; `*.example.com` for one label more than `example.com`, [`ANY_HOST`] for all.
    pub host: Arc<str>,
    /// Whether `path` must be the whole path of a request.
    pub exact: bool,
    /// The path; of a prefix without slashes at its end, so that "" is all paths.
    pub path: Arc<str>,
}

impl Match {
    /// Requests for exactly this path of `host`.
    #[must_use]
    pub fn exact(host: &str, path: &str) -> Self {
        Self { host: host_of(host), exact: true, path: path.into() }
    }

    /// Requests for this path of `host` and all below it, element by element: `/a` and `/a/` take `/a`, `/a/` and
    /// `/a/b`, but not `/ab`.
    #[must_use]
    pub fn prefix(host: &str, path: &str) -> Self {
        Self { host: host_of(host), exact: false, path: path.trim_end_matches('/').into() }
    }

    /// How a map file holds it: host and path; a prefix ends with a slash, to be found by a request's path that was
    /// given one.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}{}{}", self.host, self.path, if self.exact { "" } else { "/" })
    }
}

impl std::fmt::Display for Match {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = if self.exact || !self.path.is_empty() { &*shortened(&self.path) } else { "/" };
        let kind = if self.exact { "Exact" } else { "Prefix" };
        match &*self.host {
            ANY_HOST => write!(f, "path {path} ({kind}) of all hosts"),
            host => write!(f, "{host}{path} ({kind})"),
        }
    }
}

/// A rule's host as routes compare it.
#[must_use]
pub fn host_of(host: &str) -> Arc<str> {
    if host.is_empty() { ANY_HOST.into() } else { host.to_ascii_lowercase().into() }
}

/// The matches that a request could have, the one that counts most first: its own host before a wildcard before none,
/// of one host the whole path before the longest prefix.
pub fn candidates<'r>(host: &'r str, path: &'r str) -> impl Iterator<Item = Match> + 'r {
    hosts(host).into_iter().flat_map(move |host| {
        let whole = Match { host: host.clone(), exact: true, path: path.into() };
        [whole].into_iter().chain(prefixes(path).map(move |p| Match {
            host: host.clone(),
            exact: false,
            path: p.into(),
        }))
    })
}

/// A request's own host, the wildcard over its first label, and [`ANY_HOST`].
fn hosts(host: &str) -> Vec<Arc<str>> {
    let own: Arc<str> = host.to_ascii_lowercase().into();
    let wildcard = wildcard_over(&own).map(Arc::from);
    [Some(own), wildcard, Some(ANY_HOST.into())].into_iter().flatten().collect()
}

/// The prefixes of a path that end at an element, the longest first, without slashes at their end.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    let slashes = path.match_indices('/').map(|(at, _)| at).rev();
    let whole = (!path.ends_with('/')).then_some(path);
    whole.into_iter().chain(slashes.filter_map(move |at| path.get(..at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_go_from_the_own_host_and_whole_path_to_everything() {
        let keys: Vec<String> = candidates("A.Example", "/x/y").map(|m| m.key()).collect();
        assert_eq!(
            keys,
            [
                "a.example/x/y",
                "a.example/x/y/",
                "a.example/x/",
                "a.example/",
                "*.example/x/y",
                "*.example/x/y/",
                "*.example/x/",
                "*.example/",
                "*/x/y",
                "*/x/y/",
                "*/x/",
                "*/"
            ]
        );
    }

    #[test]
    fn a_slash_at_the_end_makes_no_difference_to_a_prefix() {
        assert_eq!(Match::prefix("a", "/x/"), Match::prefix("a", "/x"));
        assert_eq!(Match::prefix("a", "/").key(), "a/");
        assert!(candidates("a", "/x/").any(|m| m == Match::prefix("a", "/x")));
        assert!(!candidates("a", "/xy").any(|m| m == Match::prefix("a", "/x")));
    }
}
