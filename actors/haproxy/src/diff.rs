//! What changed between two configurations, as HAProxy would see it: comments, blank lines, indentation and quoting
//! are no changes.
//!
//! Server lines are told apart from everything else, because servers can be changed in a running HAProxy. This
//! module says what differs; whether that needs a reload is for a planner to decide.

mod lines;
mod sections;

use std::fmt;

pub use lines::{KeywordChange, LinesChange};

use crate::document::{Document, SectionKind, title};
use crate::views::BackendServer;

/// One difference between two configurations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigChange {
    /// A section is only in the new configuration.
    SectionAdded {
        /// Its kind.
        kind: SectionKind,
        /// Its name, empty when it has none.
        name: String,
        /// Its position in the new document's `sections`.
        position: usize,
    },
    /// A section is only in the old configuration.
    SectionRemoved {
        /// Its kind.
        kind: SectionKind,
        /// Its name, empty when it has none.
        name: String,
    },
    /// Frontends and listens stand in another order. It matters little: only which of two equal binds comes first.
    Reordered {
        /// `frontends and listens stand in another order`.
        what: String,
    },
    /// Something other than server lines changed in a section.
    Section {
        /// Its kind.
        kind: SectionKind,
        /// Its name, empty when it has none.
        name: String,
        /// What changed in it.
        what: SectionChange,
    },
    /// Only server lines of a backend or listen changed.
    Servers {
        /// Its name.
        backend: String,
        /// In the order of the new configuration.
        added: Vec<BackendServer>,
        /// In the order of the old configuration.
        removed: Vec<BackendServer>,
        /// The same name with another address or other parameters: old and new.
        modified: Vec<(BackendServer, BackendServer)>,
        /// Whether those that are in both stand in another order.
        reordered: bool,
    },
}

/// What is not as it was in a section, apart from servers that can be told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SectionChange {
    /// It starts from another defaults section.
    Parent,
    /// A `global` section stands before or after other sections.
    Position,
    /// Its lines.
    Lines(LinesChange),
    /// Servers cannot be told apart: two have one name.
    OneServerName,
    /// Servers cannot be told apart: a line has no address.
    NoServerAddress,
}

impl fmt::Display for SectionChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parent => f.write_str("it starts from another defaults section"),
            Self::Position => f.write_str("it stands before or after other sections"),
            Self::Lines(lines) => lines.fmt(f),
            Self::OneServerName => f.write_str("two servers have the same name"),
            Self::NoServerAddress => f.write_str("a server line has no address"),
        }
    }
}

/// Everything that changed, in the order of the new configuration, removed sections last.
///
/// Sections are matched by kind and name; of several with the same kind and name, the first with the first. Where
/// backends stand does not matter, except that a section without `from` starts from the last defaults before it:
/// when that becomes another one, it is a change of the section.
pub fn compare(old: &Document<'_>, new: &Document<'_>) -> Vec<ConfigChange> {
    if old.text == new.text {
        return Vec::new();
    }
    sections::SectionComparison::new(old, new).changes()
}

impl fmt::Display for ConfigChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SectionAdded { kind, name, .. } => write!(f, "{} added", title(kind, name)),
            Self::SectionRemoved { kind, name } => write!(f, "{} removed", title(kind, name)),
            Self::Reordered { what } => f.write_str(what),
            Self::Section { kind, name, what } => write!(f, "{}: {what}", title(kind, name)),
            Self::Servers { backend, added, removed, modified, reordered } => {
                let counts =
                    [(added.len(), "added"), (removed.len(), "removed"), (modified.len(), "changed")];
                let counts = counts.iter().filter(|(count, _)| *count > 0);
                let mut what: Vec<_> = counts.map(|(count, verb)| format!("{count} {verb}")).collect();
                what.extend(reordered.then(|| "in another order".to_owned()));
                write!(f, "backend {backend}: servers {}", what.join(", "))
            }
        }
    }
}
