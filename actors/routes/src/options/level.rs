//! Where options stand: the nearest of path, Ingress, Service and class counts.

/// One of the places, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The annotation [`super::paths::PATHS`].
    Path,
    /// An annotation of the Ingress.
    Ingress,
    /// An annotation of the Service that a path leads to.
    Service,
    /// `extraContext.routes`, or the ConfigMap of an IngressClass.
    Class,
}

impl Level {
    /// In a word, for the reference.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Ingress => "Ingress",
            Self::Service => "Service",
            Self::Class => "class",
        }
    }
}
