//! The matches of routes: which requests a route takes, and which of two routes a request goes to.
//!
//! Follows the API documentation of `networking.k8s.io/v1` Ingress, fields `host`, `path` and `pathType`. Knows nothing
//! of Ingress objects, so that other kinds of route can stand on it.

pub mod conditions;
pub(crate) mod lists;
pub mod path;
pub mod patterns;
pub mod regex_cost;

use haptic_model::{Finding, FindingKind, host_name};
use haptic_text::Digest;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, sync::Arc};

use conditions::RouteConditions;

use crate::sentences::shortened;
pub(crate) use host_name::wildcard_over;

/// The host of a route that takes requests whatever their host is.
pub const ANY_HOST: &str = "*";

/// The digits that tell the entries of a host's list apart.
const DIGITS: usize = 16;

/// The requests that a route takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Match {
    /// In lower case; `*.example.com` for one label more than `example.com`, [`ANY_HOST`] for all.
    pub host: Arc<str>,
    /// How requests' paths are compared with `path`.
    pub shape: MatchShape,
    /// The path; of a prefix without slashes at its end, so that "" is all paths. Of a regular expression what all of its paths begin
    /// with.
    pub path: Arc<str>,
    /// The other conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Arc<RouteConditions>>,
}

/// How a path is compared with that of a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MatchShape {
    /// It is the same.
    Exact,
    /// It begins with its elements.
    Prefix,
    /// It begins with its characters.
    Beginning,
    /// The same in small or capital letters; those of the path are small.
    AnyCase,
    /// It begins with what the expression takes.
    Regex(Arc<str>),
}

impl Match {
    /// Requests for exactly this path of `host`.
    #[must_use]
    pub fn exact(host: &str, path: &str) -> Self {
        Self { host: host_of(host), shape: MatchShape::Exact, path: path.into(), conditions: None }
    }

    /// Requests for this path of `host` and all below it, element by element: `/a` and `/a/` take `/a`, `/a/` and
    /// `/a/b`, but not `/ab`.
    #[must_use]
    pub fn prefix(host: &str, path: &str) -> Self {
        let path = path.trim_end_matches('/').into();
        Self { host: host_of(host), shape: MatchShape::Prefix, path, conditions: None }
    }

    /// Requests for paths of `host` that begin with these characters, in any case where `any_case` is so.
    #[must_use]
    pub fn beginning(host: &str, path: &str, any_case: bool) -> Self {
        let has_case = any_case && path.bytes().any(|byte| byte.is_ascii_alphabetic());
        let (shape, path) = match path {
            "/" | "" => return Self::prefix(host, ""),
            path if has_case => (MatchShape::AnyCase, path.to_ascii_lowercase()),
            path => (MatchShape::Beginning, path.to_owned()),
        };
        Self { host: host_of(host), shape, path: path.into(), conditions: None }
    }

    /// How a map file holds it: host and path; a prefix ends with a slash, to be found by a request's path that was
    /// given one. What stands in the list of its host has its number there.
    #[must_use]
    pub fn key(&self) -> String {
        match self.shape {
            _ if self.is_listed() => format!("{}|{}", self.host, self.number()),
            MatchShape::Exact | MatchShape::Beginning | MatchShape::AnyCase | MatchShape::Regex(_) => {
                format!("{}{}", self.host, self.path)
            }
            MatchShape::Prefix => format!("{}{}/", self.host, self.path),
        }
    }

    /// Whether it is not found by a key, but stands in the list of its host: only the namespace that has the host may ask for it,
    /// for it takes requests for other paths than its own.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        matches!(self.shape, MatchShape::Beginning | MatchShape::AnyCase | MatchShape::Regex(_))
            || self.conditions.is_some()
    }

    /// Whether it takes a path of its host, whatever else a request has.
    #[must_use]
    pub fn takes(&self, path: &str) -> bool {
        self.test_of_paths()(path)
    }

    /// The same for many paths: an expression is compiled once.
    pub fn test_of_paths(&self) -> impl Fn(&str) -> bool {
        let expression = match &self.shape {
            MatchShape::Regex(text) => regex::bytes::RegexBuilder::new(text).unicode(false).build().ok(),
            _ => None,
        };
        move |path| match &self.shape {
            _ if self.conditions.is_some() => false,
            MatchShape::Exact => *path == *self.path,
            MatchShape::Prefix => format!("{path}/").starts_with(&format!("{}/", self.path)),
            MatchShape::Beginning => path.starts_with(&*self.path),
            MatchShape::AnyCase => {
                path.get(..self.path.len()).is_some_and(|start| start.eq_ignore_ascii_case(&self.path))
            }
            MatchShape::Regex(_) => expression.as_ref().is_some_and(|regex| regex.is_match(path.as_bytes())),
        }
    }

    /// The name of it in the list of its host.
    #[must_use]
    pub fn number(&self) -> String {
        let digest = Digest::of(format!("{self:?}").as_bytes()).to_string();
        digest.get(..DIGITS).unwrap_or_default().to_owned()
    }

    /// Whether it is the route of a host as a whole.
    pub(crate) fn is_root(&self) -> bool {
        let is_path = match self.shape {
            MatchShape::Prefix => self.path.is_empty(),
            MatchShape::Exact => &*self.path == "/",
            _ => false,
        };
        is_path && self.conditions.is_none()
    }

    /// A finding at its host and path.
    pub(crate) fn finding(&self, kind: FindingKind, sentence: String) -> Finding {
        Finding::new(kind, sentence).at_host(&self.host).at_path(&shortened(&self.path))
    }

    /// By which those of one host are asked: whole paths first, then what begins with most, then what says most. Of expressions of the
    /// same length the later text is the first, as with ingress-nginx.
    #[must_use]
    pub fn rank(&self) -> impl Ord + use<> {
        let text = match &self.shape {
            MatchShape::Regex(text) => text.clone(),
            _ => self.path.clone(),
        };
        let conditions = self.conditions.as_deref();
        let says = (conditions.map(RouteConditions::rank), text.len());
        Reverse((
            self.shape == MatchShape::Exact,
            self.path.len(),
            says,
            text,
            Reverse(self.conditions.clone()),
        ))
    }
}

impl std::fmt::Display for Match {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = if self.path.is_empty() { "/" } else { &*self.path };
        let (path, kind) = match &self.shape {
            MatchShape::Exact => (path, "Exact"),
            MatchShape::Prefix => (path, "Prefix"),
            MatchShape::Beginning => (path, "regular expression"),
            MatchShape::AnyCase => (path, "in any case"),
            MatchShape::Regex(text) => (written(text), "regular expression"),
        };
        let more = if self.conditions.is_some() { ", with conditions" } else { "" };
        let (path, kind) = (shortened(path), format!("{kind}{more}"));
        match &*self.host {
            ANY_HOST => write!(f, "path {path} ({kind}) of all hosts"),
            host => write!(f, "{host}{path} ({kind})"),
        }
    }
}

/// An expression as it was written.
fn written(text: &str) -> &str {
    text.strip_prefix("(?i)")
        .unwrap_or(text)
        .strip_prefix("^(?:")
        .and_then(|text| text.strip_suffix(')'))
        .unwrap_or(text)
}

/// A rule's host as routes compare it.
#[must_use]
pub fn host_of(host: &str) -> Arc<str> {
    if host.is_empty() { ANY_HOST.into() } else { host.to_ascii_lowercase().into() }
}

/// The matches that a request could have, the one that counts most first: its own host before a wildcard before none,
/// of one host the whole path before the longest prefix.
pub fn candidates<'r>(host: &'r str, path: &'r str) -> impl Iterator<Item = Match> + 'r {
    hosts(host).into_iter().flat_map(move |host| candidates_of(&host, path).collect::<Vec<_>>())
}

/// The same of one host.
pub(crate) fn candidates_of<'r>(host: &'r Arc<str>, path: &'r str) -> impl Iterator<Item = Match> + 'r {
    let whole = Match { host: host.clone(), shape: MatchShape::Exact, path: path.into(), conditions: None };
    let prefix =
        |p: &str| Match { host: host.clone(), shape: MatchShape::Prefix, path: p.into(), conditions: None };
    [whole].into_iter().chain(prefixes(path).map(prefix))
}

/// A request's own host, the wildcard over its first label, and [`ANY_HOST`].
pub(crate) fn hosts(host: &str) -> Vec<Arc<str>> {
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
    fn a_beginning_takes_what_goes_on_and_may_have_any_case() {
        let takes = |wanted: &Match, paths: [&str; 4]| paths.map(|path| wanted.takes(path));
        let paths = ["/App", "/app/x", "/apple", "/ap"];
        assert_eq!(takes(&Match::beginning("a", "/App", true), paths), [true, true, true, false]);
        assert_eq!(takes(&Match::beginning("a", "/App", false), paths), [true, false, false, false]);
        assert_eq!(Match::beginning("a", "/", true), Match::prefix("a", "/"));
        assert_eq!(Match::beginning("a", "/1", true).shape, MatchShape::Beginning);
    }

    #[test]
    fn a_slash_at_the_end_makes_no_difference_to_a_prefix() {
        assert_eq!(Match::prefix("a", "/x/"), Match::prefix("a", "/x"));
        assert_eq!(Match::prefix("a", "/").key(), "a/");
        assert!(candidates("a", "/x/").any(|m| m == Match::prefix("a", "/x")));
        assert!(!candidates("a", "/xy").any(|m| m == Match::prefix("a", "/x")));
    }
}
