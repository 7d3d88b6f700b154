//! Runtime operations: what the agent knows of each. A file for each kind of thing has its commands, what may be sent beside
//! them, what follows from HAProxy's answers, and how the outcome is read back.
//!
//! This is the only place that makes commands which change HAProxy.

mod acl;
mod argument;
mod backend;
mod ca_file;
pub(crate) mod certificate;
mod crt_list;
mod exchange;
mod frontend;
mod map;
mod pem;
pub(crate) mod read_back;
pub(crate) mod removals;
pub(crate) mod run;
pub(crate) mod server;
#[cfg(test)]
mod tests;

use exchange::{Preparation, PreparedOperation};
use haptic_model::Operation;
pub use map::map_chunks;
use read_back::{Expectation, ReadBack};
use std::collections::BTreeMap;

/// The contents of the target's files that operations bring, by path.
pub type Contents = BTreeMap<String, String>;

/// An operation that cannot be put into commands.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {problem}")]
pub struct CommandError {
    operation: String,
    problem: String,
}

/// The commands of `operation`, in order, without line ends at their ends. A payload follows its command's first line.
///
/// What depends on an answer comes later: the version of a map that is replaced ([`map_chunks`]), the number of a crt-list's
/// line.
///
/// # Errors
/// A name, number, parameter or content that HAProxy would misread.
pub fn commands(operation: &Operation, contents: &Contents) -> Result<Vec<String>, CommandError> {
    prepare(operation, contents).map(|prepared| prepared.commands)
}

fn prepare<'o>(
    operation: &'o Operation,
    contents: &'o Contents,
) -> Result<PreparedOperation<'o>, CommandError> {
    checked(operation, contents)
        .map_err(|problem| CommandError { operation: argument::plain(&operation.to_string()), problem })
}

fn checked<'o>(operation: &'o Operation, contents: &'o Contents) -> Preparation<'o> {
    use Operation as O;
    let content = |path: &String| {
        let content = contents.get(path).map(String::as_str);
        content.ok_or_else(|| format!("{path:?} is not a file of the order's bundle"))
    };
    match operation {
        O::SetServerAddress { backend, server, address, port } => {
            server::set_address(backend, server, address, *port)
        }
        O::SetServerWeight { backend, server, weight } => server::set_weight(backend, server, *weight),
        O::SetServerState { backend, server, state } => server::set_state(backend, server, *state),
        O::SetServerMaxconn { backend, server, maxconn } => server::set_maxconn(backend, server, *maxconn),
        O::SetServerCheck { backend, server, setting, value } => {
            server::set_check(backend, server, *setting, value)
        }
        O::AddServer { backend, server, address, params, enabled } => {
            server::add(server::NewServer { backend, server, address, params, enabled: *enabled })
        }
        O::DeleteServer { backend, server, params } => server::delete(backend, server, params),
        O::AddBackend { backend, defaults } => backend::add(backend, defaults),
        O::PublishBackend { backend } => backend::publish(backend),
        O::UnpublishBackend { backend } => backend::unpublish(backend),
        O::DeleteBackend { backend, defaults } => backend::delete(backend, defaults),
        O::SetMapEntry { map, key, value } => map::set_entry(map, key, value),
        O::AddMapEntry { map, key, value } => map::add_entry(map, key, value),
        O::DelMapEntry { map, key } => map::delete_entry(map, key),
        O::ReplaceMap { map } => map::replace(map, content(map)?),
        O::AddAclEntry { acl, pattern } => acl::add(acl, pattern),
        O::DelAclEntry { acl, pattern } => acl::delete(acl, pattern),
        O::AddCertificate { certificate } => certificate::add(certificate, content(certificate)?),
        O::SetCertificate { certificate } => certificate::set(certificate, content(certificate)?),
        O::DeleteCertificate { certificate } => certificate::delete(certificate),
        O::AddCaFile { file } => ca_file::add(file, content(file)?),
        O::SetCaFile { file } => ca_file::set(file, content(file)?),
        O::DeleteCaFile { file } => ca_file::delete(file),
        O::AddCrtListLine { list, line } => crt_list::add_line(list, line),
        O::DeleteCrtListLine { list, line } => crt_list::delete_line(list, line),
        O::SetFrontendMaxconn { frontend, maxconn } => frontend::set_maxconn(frontend, *maxconn),
    }
}

/// The path of the file whose content `operation` brings.
pub(crate) fn content_of(operation: &Operation) -> Option<&str> {
    match operation {
        Operation::ReplaceMap { map: path }
        | Operation::AddCertificate { certificate: path }
        | Operation::SetCertificate { certificate: path }
        | Operation::AddCaFile { file: path }
        | Operation::SetCaFile { file: path } => Some(path),
        _ => None,
    }
}

/// How `expectation` is read back, except for maps that have to be read as a whole.
fn questions<'e>(expectation: &'e Expectation<'_>) -> Vec<ReadBack<'e>> {
    let mut questions = backend::questions(expectation);
    questions.extend(map::questions(expectation));
    questions.extend(acl::questions(expectation));
    questions.extend(crt_list::questions(expectation));
    questions.extend(certificate::questions(expectation));
    questions
}
