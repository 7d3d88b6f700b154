//! What the figures among events are of. The names are labels of metrics.

/// A part of a stage's work on a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedPart {
    /// Changes are gathered.
    Debounce,
    /// A bundle is checked against HAProxy's keywords.
    Syntax,
    /// Objects are looked for that make a bundle fail.
    Search,
    /// An order to a pod is answered.
    Agent,
    /// A bundle is brought to a pod's disk.
    Store,
}

/// A stage whose work may wait until it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingStage {
    /// An order to render.
    Render,
    /// A bundle that HAProxy's own checker is to look at.
    Validate,
}

/// What keeps in memory what did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachingStage {
    /// Blocks that were printed for objects.
    Render,
    /// Blocks that were checked against HAProxy's keywords.
    Syntax,
}

impl TimedPart {
    /// Its name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Debounce => "debounce",
            Self::Syntax => "syntax",
            Self::Search => "search",
            Self::Agent => "agent",
            Self::Store => "store",
        }
    }
}

impl WaitingStage {
    /// Its name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Render => "render",
            Self::Validate => "validate",
        }
    }
}

impl CachingStage {
    /// Its name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Render => "render",
            Self::Syntax => "syntax",
        }
    }
}
