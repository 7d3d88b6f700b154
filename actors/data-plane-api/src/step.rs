//! What an operation is in calls of the Data Plane API, or why it cannot be brought without a reload. A file for each kind of thing has
//! its steps, the calls that carry them out, and how what they did is read back.
//!
//! The planner asks this for every operation, so that a plan holds nothing that the API cannot do; and the API answers
//! "done" to much that it does not do, so whatever was not seen to work is a reason to reload. Planning is pure.

mod certificate;
pub(crate) mod map;
mod needs_reload;
pub(crate) mod pattern;
pub(crate) mod server;
#[cfg(test)]
mod tests;
mod unproven;

use haptic_model::{Capabilities, Operation, operation::CheckSetting};
use map::MapStep;
pub(crate) use needs_reload::NeedsReload;
use pattern::PatternStep;
use server::{ServerChange, ServerStep};

/// What the steps of one plan may take: more would take longer than a reload, and their header more than the API takes (1 MiB).
pub(crate) const MOST: usize = 4000;
/// What the API parts the words of a line at.
const BLANKS: [char; 2] = [' ', '\t'];

/// One operation, as the API does it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ApiStep {
    Server(ServerStep),
    Map(MapStep),
    Pattern(PatternStep),
    /// `POST` or `PUT storage/ssl_certificates`, which brings it to HAProxy, too.
    Certificate {
        path: String,
    },
    /// Nothing for HAProxy: the file goes with those that are no longer needed.
    Nothing,
}

impl ApiStep {
    /// Its words, when it is an action of a push.
    pub(crate) fn action(&self) -> Option<String> {
        match self {
            Self::Server(step) => step.action(),
            _ => None,
        }
    }

    /// Backend and name of the server that it adds.
    pub(crate) fn added_server(&self) -> Option<(&str, &str)> {
        match self {
            Self::Server(ServerStep::Add { backend, server, .. }) => Some((backend, server)),
            _ => None,
        }
    }

    /// The action that brings the server that this adds into service.
    pub(crate) fn taking_requests(&self) -> Option<Self> {
        match self {
            Self::Server(step) => step.taking_requests().map(Self::Server),
            _ => None,
        }
    }

    /// Whether it brings the certificate at `path` to HAProxy.
    pub(crate) fn brings_certificate(&self, path: &str) -> bool {
        matches!(self, Self::Certificate { path: its } if its == path)
    }

    /// How much it counts of [`MOST`]: what is no action is a call of its own, and is read back.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Server(ServerStep::Set { .. }) => 1,
            Self::Nothing => 0,
            _ => 2,
        }
    }
}

/// The step of `operation`; `content` gives a file of the bundle that the pod is brought to.
///
/// # Errors
/// Why it needs a reload.
pub(crate) fn plan(
    operation: &Operation,
    capabilities: Capabilities,
    content: &dyn Fn(&str) -> Option<String>,
) -> Result<ApiStep, NeedsReload> {
    use Operation as O;
    match operation {
        O::SetServerAddress { backend, server, address, port } => {
            server::set_address(backend, server, address, *port)
        }
        O::SetServerWeight { backend, server, weight } => {
            server::set(backend, server, ServerChange::Weight(*weight))
        }
        O::SetServerState { backend, server, state } => {
            server::set(backend, server, ServerChange::State(*state))
        }
        O::SetServerCheck { backend, server, setting: CheckSetting::CheckPort, value } => {
            server::set(backend, server, ServerChange::CheckPort(value.clone()))
        }
        O::AddServer { backend, server, address, params, enabled } => {
            server::add(backend, server, address, params, *enabled)
        }
        O::DeleteServer { backend, server, .. } => Ok(server::delete(backend, server)),
        O::SetMapEntry { map, key, value } => map::set_entry(map, key, value),
        O::AddMapEntry { map, key, value } => map::add_entry(map, key, value),
        O::DelMapEntry { map, key } => map::delete_entry(map, key),
        O::ReplaceMap { map } => map::replace(map, &content(map).unwrap_or_default()),
        O::AddAclEntry { acl, pattern } => pattern::add(acl, pattern),
        O::DelAclEntry { acl, pattern } => Ok(pattern::delete(acl, pattern)),
        O::AddCertificate { certificate } | O::SetCertificate { certificate } => {
            certificate::bring(certificate, capabilities, content)
        }
        // What nobody names does no harm in memory.
        O::DeleteCertificate { .. } => Ok(ApiStep::Nothing),
        O::SetFrontendMaxconn { frontend, .. } => {
            Err(NeedsReload::FrontendMaxconn { frontend: frontend.clone() })
        }
        other => Err(NeedsReload::NoCall { operation: other.to_string() }),
    }
}

/// Whether words of an entry arrive as they are sent.
fn check_entry(path: &str, words: &[&str]) -> Result<(), NeedsReload> {
    let is_cut = |word: &&str| word.contains(|c: char| c == ';' || c.is_control() && c != '\t');
    match words.iter().any(is_cut) {
        true => Err(NeedsReload::EntryWithSemicolon { path: path.to_owned() }),
        false => Ok(()),
    }
}
