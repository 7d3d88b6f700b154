//! Carrying out runtime operations, one at a time, and reading back what HAProxy then runs.

use crate::{
    agent::Inner,
    answer,
    command::{self, Contents, commands},
    connection::Worker,
    readback::{self, Expectation},
    readback_files::{self, FileExpectation},
    removals::{Removal, still_in_use},
};
use haptic_model::Operation;
use std::time::Duration;
use tokio::time::Instant;

/// How long HAProxy may take to do what it said it did.
const SETTLED: Duration = Duration::from_secs(1);

impl Inner {
    /// Sends the operations and reads back; gives the worker's pid.
    pub(crate) async fn operate(&self, operations: &[Operation], contents: &Contents) -> Result<u32, String> {
        // All are checked before the first is sent.
        let prepared: Vec<(&Operation, Vec<String>)> = operations
            .iter()
            .map(|operation| Ok((operation, commands(operation, contents)?)))
            .collect::<Result<_, command::CommandError>>()
            .map_err(|e| e.to_string())?;
        let mut worker = self.current_worker().await.map_err(|e| e.to_string())?;
        for (operation, commands) in prepared {
            self.operate_one(&mut worker, operation, &commands, contents).await?;
        }
        self.verify(&mut worker, operations, contents).await?;
        Ok(worker.pid)
    }

    async fn operate_one(
        &self,
        worker: &mut Worker,
        operation: &Operation,
        commands: &[String],
        contents: &Contents,
    ) -> Result<(), String> {
        match operation {
            Operation::DeleteServer { backend, server } => {
                self.delete(worker, Removal::server(backend, server), "", commands).await
            }
            Operation::DeleteBackend { backend, defaults } => {
                self.delete(worker, Removal::backend(backend), defaults, commands).await
            }
            Operation::AddServer { .. } => self.add(worker, operation, commands, contents).await,
            Operation::AddBackend { backend, defaults } => {
                self.add_backend(worker, backend, defaults, commands).await
            }
            Operation::AddMapEntry { .. } => set_or_add(worker, commands).await,
            Operation::ReplaceMap { map } => replace(worker, map, commands, contents).await,
            Operation::DelMapEntry { .. } | Operation::DelAclEntry { .. } => {
                send_unless_gone(worker, commands, "Key not found").await
            }
            Operation::AddAclEntry { .. } => add_pattern(worker, commands).await,
            Operation::UnpublishBackend { .. } => send_unless_gone(worker, commands, "No such backend").await,
            Operation::AddCertificate { certificate } | Operation::SetCertificate { certificate } => {
                set_certificate(worker, certificate, commands).await
            }
            Operation::DeleteCertificate { .. } => send_unless_gone(worker, commands, "doesn't exist").await,
            Operation::DeleteCrtListLine { list, line } => {
                delete_crt_list_line(worker, list, line, commands).await
            }
            _ => send_all(worker, commands).await,
        }
    }

    async fn delete(
        &self,
        worker: &mut Worker,
        removal: Removal,
        defaults: &str,
        commands: &[String],
    ) -> Result<(), String> {
        for command in commands {
            let answer = ask(worker, command).await?;
            if answer.starts_with("No such server") || answer::backend_is_gone(&answer) {
                return Ok(());
            }
            if still_in_use(&answer) {
                self.removals.add(removal.clone(), defaults);
            } else if !answer::accepted(&answer) {
                return Err(said(command, &answer));
            }
        }
        Ok(())
    }

    /// Adds a server. One of that name that is still being removed, or that an interrupted apply left, is brought back.
    async fn add(
        &self,
        worker: &mut Worker,
        operation: &Operation,
        commands: &[String],
        contents: &Contents,
    ) -> Result<(), String> {
        let Some((backend, server)) = command::target(operation) else { return Ok(()) };
        let Some((add, enable)) = commands.split_first() else { return Ok(()) };
        let removal = Removal::server(backend, server);
        if self.removals.cancel(&removal).is_some() {
            // It may be gone by now, and then is added as it should be.
            ask(worker, &removal.command()).await?;
        }
        let answer = ask(worker, add).await?;
        if answer.contains("Already exists") {
            send_all(worker, &revival(operation, contents)?).await?;
        } else if !answer::accepted(&answer) {
            return Err(said(add, &answer));
        }
        send_all(worker, enable).await
    }

    /// Adds a backend. One of that name that is still being removed is brought back when it has the same defaults.
    async fn add_backend(
        &self,
        worker: &mut Worker,
        backend: &str,
        defaults: &str,
        commands: &[String],
    ) -> Result<(), String> {
        let removal = Removal::backend(backend);
        if let Some(had) = self.removals.cancel(&removal) {
            let answer = ask(worker, &removal.command()).await?;
            if !answer::backend_is_gone(&answer) {
                if had == defaults {
                    return Ok(());
                }
                self.removals.add(removal, &had);
                return Err(format!("backend {backend} from defaults {had} still finishes requests"));
            }
        }
        send_all(worker, commands).await
    }

    /// Compares what HAProxy runs with what was asked for, until it is the same: HAProxy answers `set server … addr` before
    /// a task of it has changed the address.
    async fn verify(
        &self,
        worker: &mut Worker,
        operations: &[Operation],
        contents: &Contents,
    ) -> Result<(), String> {
        let servers = Expectation::of(operations);
        let files = FileExpectation::of(operations, contents);
        let until = Instant::now() + SETTLED;
        let mut pause = Duration::from_millis(1);
        loop {
            let mut differences = differences(worker, &servers).await?;
            for (command, check) in files.questions() {
                differences.extend(check.difference(&ask(worker, &command).await?));
            }
            if differences.is_empty() {
                return Ok(());
            }
            if Instant::now() > until {
                differences.truncate(5);
                return Err(format!("HAProxy took the commands, but {}", differences.join(", ")));
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
}

/// How the servers that HAProxy runs differ from what was asked for.
async fn differences(worker: &mut Worker, expectation: &Expectation) -> Result<Vec<String>, String> {
    let mut differences = Vec::new();
    for (backend, with_maxconn) in expectation.backends() {
        let mut shown = readback::servers(&ask(worker, &format!("show servers state {backend}")).await?);
        if with_maxconn {
            readback::add_maxconn(&ask(worker, &format!("show stat {backend} 4 -1")).await?, &mut shown);
        }
        differences.extend(expectation.differences(backend, &shown));
    }
    Ok(differences)
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
    let each = operations.iter().map(|o| commands(o, contents).map_err(|e| e.to_string()));
    Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
}

/// `set map`, and `add map` when there is no such key yet.
async fn set_or_add(worker: &mut Worker, commands: &[String]) -> Result<(), String> {
    for command in commands {
        let answer = ask(worker, command).await?;
        if answer::accepted(&answer) {
            return Ok(());
        }
        if !answer.contains("entry not found") {
            return Err(said(command, &answer));
        }
    }
    Err("HAProxy has neither set nor added the map's entry".to_owned())
}

/// `del acl`, so that an order that is carried out again makes no second pattern, then `add acl`.
async fn add_pattern(worker: &mut Worker, commands: &[String]) -> Result<(), String> {
    let Some((delete, add)) = commands.split_first() else { return Ok(()) };
    ask(worker, delete).await?;
    send_all(worker, add).await
}

/// Prepares a new version of a map, fills it, and has it count at once.
async fn replace(
    worker: &mut Worker,
    map: &str,
    commands: &[String],
    contents: &Contents,
) -> Result<(), String> {
    let Some(prepare) = commands.first() else { return Ok(()) };
    let answer = ask(worker, prepare).await?;
    let version = answer::prepared(&answer).ok_or_else(|| said(prepare, &answer))?;
    let content = contents.get(map).map(String::as_str).unwrap_or_default();
    send_all(worker, &command::map_chunks(map, version, content)?).await?;
    send_all(worker, &[command::commit_map(map, version)?]).await
}

/// A certificate that cannot be set leaves nothing half-done behind. One that is there already is set.
async fn set_certificate(worker: &mut Worker, certificate: &str, commands: &[String]) -> Result<(), String> {
    for command in commands {
        let answer = ask(worker, command).await?;
        if !answer::accepted(&answer) && !answer.contains("already exists") {
            let told = said(command, &answer);
            ask(worker, &command::abort_certificate(certificate)?).await?;
            return Err(told);
        }
    }
    Ok(())
}

/// Finds the line by what HAProxy shows of it; a list may have several lines of one certificate.
async fn delete_crt_list_line(
    worker: &mut Worker,
    list: &str,
    line: &str,
    commands: &[String],
) -> Result<(), String> {
    let Some(show) = commands.first() else { return Ok(()) };
    let shown = ask(worker, show).await?;
    let found = readback_files::numbers_of(&shown, line)
        .ok_or_else(|| format!("crt-list {list}: HAProxy shows several lines that may be {line}"))?;
    for (certificate, number) in found {
        send_all(worker, &[command::delete_crt_list_line(list, certificate, number)?]).await?;
    }
    Ok(())
}

/// What is gone already is as it should be.
async fn send_unless_gone(worker: &mut Worker, commands: &[String], gone: &str) -> Result<(), String> {
    for command in commands {
        let answer = ask(worker, command).await?;
        if !answer::accepted(&answer) && !answer.contains(gone) {
            return Err(said(command, &answer));
        }
    }
    Ok(())
}

async fn send_all(worker: &mut Worker, commands: &[String]) -> Result<(), String> {
    for command in commands {
        let answer = ask(worker, command).await?;
        if !answer::accepted(&answer) {
            return Err(said(command, &answer));
        }
    }
    Ok(())
}

async fn ask(worker: &mut Worker, command: &str) -> Result<String, String> {
    worker.ask(command).await.map_err(|e| e.to_string())
}

/// A command without its payload, which may be a private key, and what HAProxy said to it.
fn said(command: &str, answer: &str) -> String {
    let command = command.lines().next().unwrap_or_default().trim_end_matches(" <<");
    let answer: String = answer.trim().lines().next().unwrap_or_default().chars().take(300).collect();
    format!("{command}: HAProxy answered: {answer}")
}
