//! What the command line prints: results on standard output, problems on standard error.

use haptic_inspect::terminal;
use haptic_model::{Diagnostic, Severity};
use owo_colors::OwoColorize;
use serde::Serialize;
use std::{
    borrow::Cow,
    io::{self, ErrorKind, IsTerminal, Write},
};

/// Prints `text` as a result. A terminal is given its colours and styles, and nothing else that would be a command. A reader that went away (`haptic functions | head`) is no error.
///
/// # Errors
/// When standard output cannot be written for another reason.
pub fn print(text: &str) -> io::Result<()> {
    print_to_reader(text).map(|_reads| ())
}

/// The same; whether somebody still reads.
///
/// # Errors
/// When standard output cannot be written for another reason.
pub fn print_to_reader(text: &str) -> io::Result<bool> {
    let text = if io::stdout().is_terminal() {
        Cow::Owned(terminal::safe_but_styled(text))
    } else {
        Cow::Borrowed(text)
    };
    let mut out = anstream::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true),
    }
}

/// Empties the terminal, if there is one.
///
/// # Errors
/// When standard output cannot be written.
pub fn clear() -> io::Result<()> {
    let mut out = io::stdout();
    if out.is_terminal() { out.write_all(b"\x1b[H\x1b[2J") } else { Ok(()) }
}

/// Prints `value` as indented JSON.
///
/// # Errors
/// When standard output cannot be written.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    print(&json(value)?)
}

/// `value` as indented JSON, with the end of its last line.
///
/// # Errors
/// When it cannot be JSON.
pub fn json(value: &impl Serialize) -> io::Result<String> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
    Ok(format!("{text}\n"))
}

/// Prints a problem; there is nowhere to report its own failure to.
pub fn print_problem(text: &str) {
    drop(writeln!(anstream::stderr(), "{} {}", "haptic:".bold(), terminal::safe(text)));
}

/// Prints each diagnostic as a paragraph on standard error.
pub fn print_problems(diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let mark = match diagnostic.severity {
            Severity::Error => "error:".red().bold().to_string(),
            Severity::Warning => "warning:".yellow().bold().to_string(),
        };
        drop(writeln!(anstream::stderr(), "{mark} {}", terminal::safe(&diagnostic.to_string())));
    }
}
