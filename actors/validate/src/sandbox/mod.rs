//! Confines `haproxy -c`: what a configuration makes HAProxy do while it is read stays in the check's folder.
//!
//! The controller starts itself as `haptic check-in-sandbox`, which gives up everything that a check does not need
//! ([`enter`]) and then becomes HAProxy. Each [`Protection`] stands by itself: where the kernel or the pod's profile forbids
//! one, the others are there, and the controller says which is missing and why.

mod calls;
mod files;
mod limits;
mod order;
mod privileges;

pub use files::own_files;
pub use order::{NotAnOrder, Order};

use serde::Serialize;
use std::{
    ffi::OsString,
    fmt,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
    str::FromStr,
    sync::Arc,
};

/// The hidden subcommand that confines itself.
pub const SUBCOMMAND: &str = "check-in-sandbox";

/// Its exit code when HAProxy cannot be executed, a shell's.
pub const CANNOT_EXECUTE: u8 = 126;

/// One way in which a check is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protection {
    /// `setrlimit`: memory, time on the CPU, no core dumps, not a byte into a file.
    Limits,
    /// `no_new_privs`: no setuid program makes it more than it is.
    Privileges,
    /// Landlock: nothing is read but the check's folder and HAProxy's own files, nothing is written, no TCP, no signal to others.
    Files,
    /// seccomp: no process, no socket, nothing that a check has no use for.
    Calls,
}

/// All of them, in the order in which they are put on.
pub const PROTECTIONS: [Protection; 4] =
    [Protection::Limits, Protection::Privileges, Protection::Files, Protection::Calls];

/// A protection that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingProtection {
    /// Which.
    pub protection: Protection,
    /// Why.
    pub why: String,
}

/// How checks are confined. Clones are cheap.
#[derive(Clone, Debug, Default)]
pub struct Sandbox(Option<Arc<Launcher>>);

#[derive(Debug)]
struct Launcher {
    /// A `haptic`; none where it cannot be run, which is no reason to check nothing.
    program: Option<PathBuf>,
    without: Vec<Protection>,
    missing: Vec<MissingProtection>,
}

impl Protection {
    /// Its name in options, metrics and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Limits => "limits",
            Self::Privileges => "privileges",
            Self::Files => "files",
            Self::Calls => "calls",
        }
    }

    fn put_on(self, order: &Order) -> Result<(), String> {
        match self {
            Self::Limits => limits::put_on(order),
            Self::Privileges => privileges::put_on(),
            Self::Files => files::put_on(order),
            Self::Calls => calls::put_on(order),
        }
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Protection {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = PROTECTIONS.into_iter().find(|protection| protection.name() == name);
        known.ok_or_else(|| format!("{name:?} is none of limits, privileges, files, calls"))
    }
}

impl fmt::Display for MissingProtection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.protection, self.why)
    }
}

impl Sandbox {
    /// Checks that run with the controller's own rights. For tests; and for those who have no launcher.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Checks confined by `program`, a `haptic`, but for the protections that somebody turned off. Asks it once what this
    /// kernel gives.
    #[must_use]
    pub fn by(program: PathBuf, without: Vec<Protection>) -> Self {
        let order = Order { without: without.clone(), ..Order::default() };
        let asked = Command::new(&program).arg(SUBCOMMAND).args(order.words()).env_clear().output();
        let (program, missing) = match asked {
            Ok(said) if said.status.success() => {
                (Some(program), read_missing(&String::from_utf8_lossy(&said.stdout)))
            }
            Ok(said) => (None, all_missing(&format!("{} ended with {}", program.display(), said.status))),
            Err(error) => (None, all_missing(&format!("{} cannot be run: {error}", program.display()))),
        };
        Self(Some(Arc::new(Launcher { program, without, missing })))
    }

    /// What is not there, and why: the kernel, the pod's profile, or somebody who turned it off.
    #[must_use]
    pub fn missing(&self) -> Vec<MissingProtection> {
        match &self.0 {
            None => all_missing("checks run with the controller's own rights"),
            Some(launcher) => launcher.missing.clone(),
        }
    }

    /// What to execute in place of `program` with `arguments`: its first word is the program.
    pub(crate) fn command(&self, order: Order) -> (PathBuf, Vec<OsString>) {
        let launcher = self.0.as_deref().zip(self.launcher());
        let Some((launcher, program)) = launcher else {
            let mut command = order.command.into_iter();
            return (command.next().unwrap_or_default().into(), command.collect());
        };
        let order = Order { without: launcher.without.clone(), ..order };
        (program.into(), std::iter::once(SUBCOMMAND.into()).chain(order.words()).collect())
    }

    /// The program that confines itself before it becomes HAProxy, if there is one.
    pub(crate) fn launcher(&self) -> Option<&Path> {
        self.0.as_deref()?.program.as_deref()
    }
}

fn all_missing(why: &str) -> Vec<MissingProtection> {
    PROTECTIONS.into_iter().map(|protection| MissingProtection { protection, why: why.to_owned() }).collect()
}

/// Lines as [`enter`]'s caller prints them.
fn read_missing(said: &str) -> Vec<MissingProtection> {
    let lines = said.lines().filter_map(|line| line.split_once(": "));
    lines
        .filter_map(|(name, why)| {
            Some(MissingProtection { protection: name.parse().ok()?, why: why.to_owned() })
        })
        .collect()
}

/// Gives up all that `order` does not grant, for good. Gives back what could not be given up.
#[must_use]
pub fn enter(order: &Order) -> Vec<MissingProtection> {
    let put_on = PROTECTIONS.into_iter().filter_map(|protection| {
        let done = match order.without.contains(&protection) {
            true => Err("it is turned off".to_owned()),
            false => protection.put_on(order),
        };
        done.err().map(|why| MissingProtection { protection, why })
    });
    put_on.collect()
}

/// Becomes the order's command. Comes back only when that cannot be.
#[must_use]
pub fn become_command(order: &Order) -> std::io::Error {
    let mut words = order.command.iter();
    let program = words.next().cloned().unwrap_or_default();
    Command::new(program).args(words).env_clear().exec()
}
