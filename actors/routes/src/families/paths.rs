//! How a family reads paths, where that is not as ours are.

use crate::matching::patterns::{self, Pattern};

/// The rules of ingress-nginx.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathRules {
    /// Whether all paths of its hosts are regular expressions, whatever their types, that ignore case and begin where the path does.
    pub patterns: bool,
    /// The text in place of the whole path, but of one that is the same.
    pub target: Option<String>,
    /// The beginnings of paths at which nobody is asked who they are.
    pub without_auth: Vec<String>,
}

impl PathRules {
    /// A path that is a regular expression by these rules.
    ///
    /// # Errors
    /// As [`patterns::read`].
    pub fn pattern(&self, path: &str) -> Result<Pattern, String> {
        let target = self.target.as_deref().filter(|target| *target != path);
        patterns::read(&format!("(?i){path}"), target)
    }

    /// Whether a target takes the place of any of these paths.
    #[must_use]
    pub fn rewrites<'p>(&self, mut paths: impl Iterator<Item = &'p str>) -> bool {
        self.target.as_deref().is_some_and(|target| paths.any(|path| path != target))
    }
}
