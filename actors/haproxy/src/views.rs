//! Typed views of the lines that a planner works with.
//!
//! A view says what a line means; it does not say whether HAProxy accepts it (that is [`crate::check`]).

mod active_checks;
mod files;
mod parameters;
mod privileged;
mod renamed;
mod server;
mod server_count;

pub use active_checks::{check_count, without_checks};
pub use files::{Bases, FileReference, ReferenceKind, file_references, file_references_below};
pub use parameters::parameters;
pub use privileged::{PrivilegedUses, privileged_uses};
pub use renamed::with_files_renamed;
pub use server::{BackendServer, Parameter, servers};
pub use server_count::server_count;

use crate::document::{Document, Line, Section};

/// A `bind` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// As written: `:80`, `10.0.0.1:443,[::]:443`, `unix@/run/x.sock`.
    pub address: String,
    /// Everything after the address, in its order.
    pub params: Vec<String>,
    /// Line number, from 1.
    pub line: usize,
}

/// A backend that a rule names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UseBackend {
    /// The name, or the expression when it is dynamic.
    pub target: String,
    /// Whether the backend is chosen per request (`%[…]`) or through an environment variable.
    pub dynamic: bool,
    /// Whether this is `default_backend`.
    pub is_default: bool,
    /// `if` or `unless` and the words after it.
    pub condition: Vec<String>,
    /// Line number, from 1.
    pub line: usize,
    /// Column of the target in bytes, from 1.
    pub column: usize,
}

impl Bind {
    /// Reads a `bind` line; `None` for any other line or one without an address.
    pub fn from_line(line: &Line<'_>) -> Option<Self> {
        if line.keyword() != "bind" {
            return None;
        }
        let address = line.words.get(1)?.value.to_string();
        let params = line.from(2).iter().map(|word| word.value.to_string()).collect();
        Some(Self { address, params, line: line.number })
    }
}

impl UseBackend {
    /// Reads a `use_backend` or `default_backend` line; `None` for any other line or one without a name.
    pub fn from_line(line: &Line<'_>) -> Option<Self> {
        let is_default = match line.keyword() {
            "use_backend" => false,
            "default_backend" => true,
            _ => return None,
        };
        let target = line.words.get(1)?;
        Some(Self {
            target: target.value.to_string(),
            dynamic: target.has_variable || target.value.contains('%'),
            is_default,
            condition: line.from(2).iter().map(|word| word.value.to_string()).collect(),
            line: line.number,
            column: target.column,
        })
    }
}

/// All `bind` lines of a section.
pub fn binds(section: &Section<'_>) -> Vec<Bind> {
    section.lines.iter().filter_map(Bind::from_line).collect()
}

/// All `use_backend` and `default_backend` lines of a section.
pub fn backends_used(section: &Section<'_>) -> Vec<UseBackend> {
    section.lines.iter().filter_map(UseBackend::from_line).collect()
}

/// The `maxconn` of a frontend, listen, defaults or global section: the last one counts.
pub fn maxconn(section: &Section<'_>) -> Option<u64> {
    let line = section.lines.iter().rfind(|line| line.keyword() == "maxconn")?;
    line.value(1).parse().ok()
}

/// The names of all sections of a document that `use_backend` can name.
pub fn backend_names<'d>(document: &'d Document<'_>) -> impl Iterator<Item = &'d str> {
    document.sections.iter().filter(|section| section.kind.has_backend()).map(|section| section.name.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "frontend f\n bind :80,:81 ssl crt a.pem\n maxconn 5\n maxconn 7\n\
        use_backend x if { path /x }\n use_backend %[req.hdr(host),map(hosts.map)]\n default_backend \"$B\"\nbackend x\nlisten y\n";

    #[test]
    fn binds_backends_and_maxconn_are_read() {
        let document = Document::parse(TEXT);
        let frontend = &document.sections[0];
        assert_eq!(binds(frontend)[0].address, ":80,:81");
        assert_eq!(binds(frontend)[0].params, ["ssl", "crt", "a.pem"]);
        assert_eq!(maxconn(frontend), Some(7));
        let used: Vec<_> = backends_used(frontend)
            .into_iter()
            .map(|u| (u.target, u.dynamic, u.is_default, u.condition.len()))
            .collect();
        assert_eq!(
            used,
            [
                ("x".to_owned(), false, false, 5),
                ("%[req.hdr(host),map(hosts.map)]".to_owned(), true, false, 0),
                ("$B".to_owned(), true, true, 0),
            ]
        );
        assert_eq!(backend_names(&document).collect::<Vec<_>>(), ["x", "y"]);
    }
}
