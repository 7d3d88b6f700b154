//! The bundle that a pod is brought to.

use crate::memory::Files;

/// What is carried out is for this bundle.
#[derive(Clone, Copy)]
pub(crate) struct ApplyTarget<'t> {
    pub files: &'t Files,
    /// The path of haproxy.cfg.
    pub config: &'t str,
}

impl ApplyTarget<'_> {
    /// The text of haproxy.cfg.
    pub fn config_text(&self) -> Option<&str> {
        self.files.get(self.config).map(|(_, text)| &**text)
    }
}
