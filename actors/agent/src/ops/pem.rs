//! Files that HAProxy takes in one transaction: `new`, `set` and `commit ssl KIND`, where KIND is `cert` or `ca-file`.

use super::{
    argument::file,
    exchange::{Exchange, Preparation, PreparedOperation},
};
use crate::haproxy::answer::SocketAnswer;

/// One that is there already is set.
pub(super) fn add<'o>(kind: &str, path: &str, content: &str) -> Preparation<'o> {
    let mut commands = vec![format!("new ssl {kind} {}", file(path)?)];
    commands.extend(set_commands(kind, path, content)?);
    transaction(kind, path, commands)
}

pub(super) fn set<'o>(kind: &str, path: &str, content: &str) -> Preparation<'o> {
    transaction(kind, path, set_commands(kind, path, content)?)
}

pub(super) fn delete<'o>(kind: &str, path: &str) -> Preparation<'o> {
    Ok(PreparedOperation::one(format!("del ssl {kind} {}", file(path)?)).or(SocketAnswer::is_missing))
}

fn transaction<'o>(kind: &str, path: &str, commands: Vec<String>) -> Preparation<'o> {
    let abort = format!("abort ssl {kind} {}", file(path)?);
    let exchange =
        move |commands| Exchange::accepted_or(commands, SocketAnswer::exists).or_send(abort.clone());
    Ok(PreparedOperation::new(commands).sent_as(exchange))
}

fn set_commands(kind: &str, path: &str, content: &str) -> Result<Vec<String>, String> {
    let path = file(path)?;
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if content.contains(control) {
        return Err("the file has a control character".to_owned());
    }
    // An empty line would end the payload.
    let lines = content.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let pem: String = lines.flat_map(|line| [line, "\n"]).collect();
    if pem.is_empty() {
        return Err("the file is empty".to_owned());
    }
    Ok(vec![format!("set ssl {kind} {path} <<\n{pem}"), format!("commit ssl {kind} {path}")])
}
