//! HAProxy's master socket and its checker.

use super::settings::Settings;
use std::{path::Path, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    process::Command,
};

/// What HAProxy answers to a command of the master, or why it does not.
pub async fn master(settings: &Settings, command: &str) -> Result<String, String> {
    let ask = async {
        let mut socket = UnixStream::connect(&settings.master).await?;
        socket.write_all(command.as_bytes()).await?;
        socket.write_all(b"\n").await?;
        // The master closes when no more commands can come.
        socket.shutdown().await?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let failed = |error| format!("dial unix {}: connect: {error} [{command}]", settings.master.display());
    ask.await.map_err(failed)
}

/// A worker answers sooner, unless it has just been started or is about to end.
const DEADLINE: Duration = Duration::from_secs(3);

/// What the current worker answers.
pub async fn worker(settings: &Settings, command: &str) -> Result<String, String> {
    let asked = format!("@1 {command}");
    match tokio::time::timeout(DEADLINE, master(settings, &asked)).await {
        Ok(answer) => answer.map(|answer| answer.trim().to_owned()),
        Err(_) => Err(format!("read unix {}: i/o timeout [{command}]", settings.master.display())),
    }
}

/// A command that answers with nothing when it is done, or with its refusal.
pub async fn change(settings: &Settings, command: &str) -> Result<(), String> {
    let answer = worker(settings, command).await?;
    let is_done = answer.is_empty()
        || answer.starts_with("New server registered")
        || answer.starts_with("Server deleted");
    let first = command.lines().next().unwrap_or_default();
    if is_done { Ok(()) } else { Err(format!("{} [3]  {answer} [{first}]", settings.master.display())) }
}

/// Tells HAProxy to reload: whether it did, and its log.
pub async fn reload(settings: &Settings) -> (bool, String) {
    match master(settings, "reload").await {
        Ok(answer) => {
            let (success, log) = answer.split_once('\n').unwrap_or((&answer, ""));
            (success.trim() == "Success=1", log.trim_start_matches("--\n").to_owned())
        }
        // Nothing was said by HAProxy then.
        Err(_) => (false, String::new()),
    }
}

/// What HAProxy's checker says against `file`, as the API tells it.
pub async fn check(settings: &Settings, file: &Path) -> Result<(), String> {
    let output = Command::new(&settings.haproxy).args(["-c", "-f"]).arg(file).output().await;
    let output = output.map_err(|error| format!("validation error: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let alerts = words.lines().filter(|line| line.starts_with("[ALERT]"));
    let lines = alerts.map(|line| {
        let line = line.split_once(") : ").map_or(line, |(_, words)| words);
        format!("msg=\"{}\"", line.replacen(" : ", " ", 1))
    });
    Err(format!("validation error: exit status 1: {}", lines.collect::<Vec<_>>().join("\n")))
}
