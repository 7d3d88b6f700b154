//! One operation on its way: what to send next, given what HAProxy answered. Pure, so that the steps of many operations can
//! be sent in one go.

use crate::{
    answer,
    command::{self, Contents, MapChunks},
    ledger::{Ledger, Removal},
    readback, readback_files,
    removals::{is_gone, still_in_use},
};
use haptic_model::Operation;
use std::collections::BTreeMap;

/// Pieces of a map that are sent in one go: some 256 KB.
const CHUNKS_AT_ONCE: usize = 32;

/// An operation that is under way.
pub(crate) struct Step<'o> {
    stage: Stage<'o>,
    sent: Vec<String>,
}

/// What comes next.
pub(crate) enum Next {
    /// These commands; their answers are given to [`Step::next`].
    Send(Vec<String>),
    Done,
    /// HAProxy refused. The commands leave nothing half-done behind.
    Failed {
        problem: String,
        cleanup: Vec<String>,
    },
}

/// Of what kind the commands are that were sent last.
enum Stage<'o> {
    /// Each has to be accepted.
    Each,
    /// Each has to be accepted, or what it deletes gone already.
    UnlessGone(&'static str),
    /// `set map`, and this when there is no such key yet.
    SetOrAdd(String),
    /// `del acl`, so that an order that is carried out again makes no second pattern, then `add acl`.
    Pattern,
    /// `new`, `set` and `commit ssl cert`. One that is there already is set.
    Certificate(&'o str),
    /// The same of `ssl ca-file`.
    Authorities(&'o str),
    /// The list is shown, to find the line by its number.
    FindLine { list: &'o str, line: &'o str },
    /// `add server`, after a `del server` when one was waiting to be removed, and then without what enables it: that one may
    /// still be there, and have another address.
    AddServer { waited: bool, revive: Vec<String>, enable: Vec<String> },
    /// `del backend` of one that is wanted again.
    BringBack { backend: &'o str, defaults: &'o str, had: String },
    /// `add backend`; with the defaults section of an interrupted order that added it.
    AddBackend { backend: &'o str, defaults: &'o str, earlier: Option<&'o str> },
    /// Deletions; what still has connections waits.
    Delete(Removal, &'o str),
    /// `prepare map`.
    Prepare { map: &'o str, content: &'o str },
    /// Entries for a prepared version of a map.
    Fill { map: &'o str, version: String, chunks: MapChunks<'o> },
}

impl<'o> Step<'o> {
    /// Begins with the `commands` of `operation`. `earlier`: backends of interrupted orders, with their defaults sections.
    pub(crate) fn begin(
        operation: &'o Operation,
        commands: Vec<String>,
        contents: &'o Contents,
        ledger: &Ledger,
        earlier: Option<&'o BTreeMap<String, String>>,
    ) -> Result<Self, String> {
        let (stage, sent) = match operation {
            Operation::AddMapEntry { .. } => {
                let mut commands = commands;
                (Stage::SetOrAdd(commands.pop().unwrap_or_default()), commands)
            }
            Operation::ReplaceMap { map } => {
                let content = contents.get(map).map(String::as_str).unwrap_or_default();
                (Stage::Prepare { map, content }, commands)
            }
            Operation::DelMapEntry { .. } | Operation::DelAclEntry { .. } => {
                (Stage::UnlessGone("Key not found"), commands)
            }
            Operation::AddAclEntry { .. } => (Stage::Pattern, commands),
            Operation::UnpublishBackend { .. } => (Stage::UnlessGone("No such backend"), commands),
            Operation::AddCertificate { certificate } | Operation::SetCertificate { certificate } => {
                (Stage::Certificate(certificate), commands)
            }
            Operation::AddCaFile { file } | Operation::SetCaFile { file } => {
                (Stage::Authorities(file), commands)
            }
            Operation::DeleteCaFile { .. } | Operation::DeleteCertificate { .. } => {
                (Stage::UnlessGone("doesn't exist"), commands)
            }
            Operation::DeleteCrtListLine { list, line } => (Stage::FindLine { list, line }, commands),
            Operation::DeleteServer { backend, server } => {
                (Stage::Delete(Removal::server(backend, server), ""), commands)
            }
            Operation::DeleteBackend { backend, defaults } => {
                (Stage::Delete(Removal::backend(backend), defaults), commands)
            }
            Operation::AddServer { backend, server, .. } => {
                let removal = Removal::server(backend, server);
                let waited = ledger.cancel(&removal).is_some();
                let revive = revival(operation, contents)?;
                let (add, enable) = commands.split_at_checked(1).unwrap_or_default();
                let (add, enable) = (add.to_vec(), enable.to_vec());
                // One that waited may be gone by now, and then is added as it should be.
                let sent = if waited { [vec![removal.command()], add].concat() } else { commands };
                (Stage::AddServer { waited, revive, enable }, sent)
            }
            Operation::AddBackend { backend, defaults } => {
                let removal = Removal::backend(backend);
                let earlier = earlier.and_then(|all| all.get(backend)).map(String::as_str);
                match ledger.cancel(&removal) {
                    Some(had) => (Stage::BringBack { backend, defaults, had }, vec![removal.command()]),
                    None => (Stage::AddBackend { backend, defaults, earlier }, commands),
                }
            }
            _ => (Stage::Each, commands),
        };
        Ok(Self { stage, sent })
    }

    /// The commands whose answers are waited for.
    pub(crate) fn sent(&self) -> &[String] {
        &self.sent
    }

    /// Goes on with the answers to [`Self::sent`].
    pub(crate) fn next(&mut self, answers: &[String], ledger: &Ledger) -> Next {
        let next = self
            .judge(answers, ledger)
            .unwrap_or_else(|problem| Next::Failed { cleanup: self.abandon(), problem });
        if let Next::Send(commands) = &next {
            self.sent.clone_from(commands);
        }
        next
    }

    /// What lets go of an operation that does not go on.
    pub(crate) fn abandon(&self) -> Vec<String> {
        let cleanup = match &self.stage {
            Stage::Fill { map, version, .. } => command::clear_map(map, version),
            Stage::Certificate(certificate) => command::abort_certificate(certificate),
            Stage::Authorities(file) => command::abort_authorities(file),
            _ => return Vec::new(),
        };
        cleanup.into_iter().collect()
    }

    fn judge(&mut self, answers: &[String], ledger: &Ledger) -> Result<Next, String> {
        let sent = || self.sent.iter().map(String::as_str).zip(answers.iter().map(String::as_str));
        let (last_sent, last) = sent().next_back().unwrap_or_default();
        match &mut self.stage {
            Stage::Each => each_accepted(sent(), "")?,
            Stage::UnlessGone(gone) => each_accepted(sent(), gone)?,
            Stage::Pattern if answer::accepted(last) => {}
            Stage::Pattern => return Err(said(last_sent, last)),
            Stage::Certificate(_) | Stage::Authorities(_) => each_accepted(sent(), "already exists")?,
            Stage::SetOrAdd(add) => {
                if last.contains("entry not found") {
                    let add = std::mem::take(add);
                    return Ok(self.send(Stage::Each, vec![add]));
                }
                each_accepted(sent(), "")?;
            }
            Stage::FindLine { list, line } => {
                let found = readback_files::numbers_of(last, line).ok_or_else(|| {
                    format!("crt-list {list}: HAProxy shows several lines that may be {line}")
                })?;
                // From the last to the first, so that the numbers of those before it stay.
                let delete = found.into_iter().rev();
                let commands = delete.map(|(c, number)| command::delete_crt_list_line(list, c, number));
                let commands = commands.collect::<Result<Vec<_>, _>>()?;
                return Ok(self.send(Stage::Each, commands));
            }
            Stage::AddServer { waited, revive, enable } => {
                let (waited, revive, enable) = (*waited, std::mem::take(revive), std::mem::take(enable));
                let added = sent().skip(usize::from(waited));
                if added.clone().next().is_some_and(|(_, answer)| answer.contains("Already exists")) {
                    return Ok(self.send(Stage::Each, [revive, enable].concat()));
                }
                each_accepted(added, "")?;
                if waited {
                    return Ok(self.send(Stage::Each, enable));
                }
            }
            Stage::BringBack { backend, defaults, had } => {
                if answer::backend_is_gone(last) {
                    let (backend, defaults) = (*backend, *defaults);
                    let add = command::add_backend(backend, defaults)?;
                    return Ok(self.send(Stage::AddBackend { backend, defaults, earlier: None }, vec![add]));
                }
                if had != defaults {
                    ledger.wait_for(Removal::backend(backend), had);
                    return Err(format!("backend {backend} from defaults {had} still finishes requests"));
                }
            }
            Stage::AddBackend { backend, defaults, earlier } => {
                let is_the_same = last.contains("name is already used") && *earlier == Some(*defaults);
                if !answer::accepted(last) && !is_the_same {
                    ledger.not_added(backend);
                    return Err(said(last_sent, last));
                }
            }
            Stage::Delete(removal, defaults) => {
                for (command, answer) in sent() {
                    if still_in_use(removal, answer) {
                        ledger.wait_for(removal.clone(), defaults);
                    } else if !is_gone(removal, answer) && !answer::accepted(answer) {
                        return Err(said(command, answer));
                    }
                }
            }
            Stage::Prepare { map, content } => {
                let version = answer::prepared(last).ok_or_else(|| said(last_sent, last))?.to_owned();
                let chunks = command::map_chunks(map, &version, content)?;
                self.stage = Stage::Fill { map, version, chunks };
                return self.fill();
            }
            Stage::Fill { .. } => {
                each_accepted(sent(), "")?;
                return self.fill();
            }
        }
        Ok(Next::Done)
    }

    /// More of a map, or what makes it count once all of it is there.
    fn fill(&mut self) -> Result<Next, String> {
        let Stage::Fill { map, version, chunks } = &mut self.stage else { return Ok(Next::Done) };
        let more = chunks.take(CHUNKS_AT_ONCE).collect::<Result<Vec<_>, _>>()?;
        if !more.is_empty() {
            return Ok(Next::Send(more));
        }
        let commit = command::commit_map(map, version)?;
        Ok(self.send(Stage::Each, vec![commit]))
    }

    fn send(&mut self, stage: Stage<'o>, commands: Vec<String>) -> Next {
        self.stage = stage;
        if commands.is_empty() { Next::Done } else { Next::Send(commands) }
    }
}

/// Commands that make a server that is there already like the one to be added.
fn revival(operation: &Operation, contents: &Contents) -> Result<Vec<String>, String> {
    let Operation::AddServer { backend, server, address, params, .. } = operation else {
        return Ok(Vec::new());
    };
    let names = || (backend.clone(), server.clone());
    let mut operations = Vec::new();
    if let Some((ip, port)) = command::socket_address(address) {
        let (backend, server) = names();
        operations.push(Operation::SetServerAddress { backend, server, address: ip.to_string(), port });
    }
    if let Some(weight) = readback::weight_of(params).and_then(|weight| u16::try_from(weight).ok()) {
        let (backend, server) = names();
        operations.push(Operation::SetServerWeight { backend, server, weight });
    }
    let each = operations.iter().map(|o| command::commands(o, contents).map_err(|e| e.to_string()));
    Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
}

fn each_accepted<'a>(sent: impl Iterator<Item = (&'a str, &'a str)>, or: &str) -> Result<(), String> {
    let fine = |answer: &str| answer::accepted(answer) || !or.is_empty() && answer.contains(or);
    let mut refused = sent.filter(|(_, answer)| !fine(answer));
    refused.next().map_or(Ok(()), |(command, answer)| Err(said(command, answer)))
}

/// A command without its payload, which may be a private key, and what HAProxy said to it.
fn said(command: &str, answer: &str) -> String {
    let command = command.lines().next().unwrap_or_default().trim_end_matches(" <<");
    let answer: String = answer.trim().lines().next().unwrap_or_default().chars().take(300).collect();
    format!("{command}: HAProxy answered: {answer}")
}
