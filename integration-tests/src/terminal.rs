//! A shell that stays from one command to the next, as on a user's terminal: folders, variables and jobs last.

use crate::{
    eventually::eventually,
    failure::{Outcome, ensure},
    process::Process,
};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};
use tokio::process::Command;

/// Takes names of files with commands from a pipe, and tells the code of each once its output is complete.
const LOOP: &str = r#"
set -m
exec 3<>"$1/commands"
while read -r -u 3 number; do
  . "$1/$number.sh" >"$1/$number.out" 2>&1
  echo "$?" >"$1/code"
  mv "$1/code" "$1/$number.code"
done
"#;

/// One terminal. Dropping it ends all that was started there.
pub struct Terminal {
    shell: Process,
    keys: fs::File,
    dir: PathBuf,
    commands: usize,
}

impl Terminal {
    /// Opens one with its own files in `dir`; `shell` is what bash is started by, with its environment and folder.
    pub fn open(mut shell: Command, dir: &Path) -> Outcome<Self> {
        fs::create_dir_all(dir)?;
        let pipe = dir.join("commands");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into())?;
        // For both directions: what is written before the shell reads is not lost.
        let keys = fs::File::options().read(true).write(true).open(pipe)?;
        shell.args(["bash", "--norc", "--noprofile", "-c", LOOP, "terminal"]).arg(dir);
        let shell = Process::start(shell, &dir.join("terminal.log"))?;
        Ok(Self { shell, keys, dir: dir.to_owned(), commands: 0 })
    }

    /// Types `command`, and waits for no end of it.
    pub fn start(&mut self, command: &str) -> Outcome<usize> {
        self.shell.ensure_running()?;
        let number = self.commands;
        self.commands += 1;
        fs::write(self.dir.join(format!("{number}.sh")), format!("{command}\n"))?;
        writeln!(self.keys, "{number}")?;
        Ok(number)
    }

    /// Types `command` and waits for its end: its code, and what it printed.
    ///
    /// # Errors
    /// It does not end in a minute.
    pub async fn ended(&mut self, command: &str) -> Outcome<(i32, String)> {
        let number = self.start(command)?;
        let code = self.dir.join(format!("{number}.code"));
        let code = eventually(format!("`{command}` ends"), async || Ok(fs::read_to_string(&code)?)).await?;
        Ok((code.trim().parse()?, self.printed(number)))
    }

    /// [`Terminal::ended`] with code 0: what it printed.
    ///
    /// # Errors
    /// It ended with another one: what it printed.
    pub async fn run(&mut self, command: &str) -> Outcome<String> {
        let (code, printed) = self.ended(command).await?;
        ensure(code == 0, format!("`{command}` ended with {code}: {printed}"))?;
        Ok(printed)
    }

    /// What the `number`th command printed until now.
    #[must_use]
    pub fn printed(&self, number: usize) -> String {
        fs::read_to_string(self.dir.join(format!("{number}.out"))).unwrap_or_default()
    }
}
