//! An allocator that gives memory back at once.

use std::os::unix::process::CommandExt;

/// What an order, or a render of everything, needed for a moment goes back to the system at once, and not within ten seconds.
const FRUGAL: (&str, &str) = ("_RJEM_MALLOC_CONF", "dirty_decay_ms:0");

/// Starts the process anew, under its own id, with a frugal allocator, which reads its settings before `main`: a check that begins meanwhile in a
/// small container would find no room.
pub fn become_frugal() {
    let (setting, value) = FRUGAL;
    if std::env::var_os(setting).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    // Gives back an error or nothing at all: then the process is this one, and only larger.
    let _larger = command.args(arguments).env(setting, value).exec();
}
