//! What the controller tells the process that confines itself, as words on its command line.

use super::Protection;
use std::{ffi::OsString, path::PathBuf};

/// Between the files and the command.
const END: &str = "--";

/// Stands for an empty list.
const NOTHING: &str = "-";

/// What a check may use, and what to execute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Bytes of address space; 0 is no limit.
    pub memory: u64,
    /// Seconds on the CPU; 0 is no limit.
    pub seconds: u64,
    /// Whether host names may be resolved, which takes sockets.
    pub names: bool,
    /// Whether files may be read that are neither HAProxy's own nor the check's.
    pub outside: bool,
    /// Whether it listens at UNIX sockets in its folder and answers; else it only checks.
    pub answers: bool,
    /// What is turned off.
    pub without: Vec<Protection>,
    /// Files, beside those in the current folder, that may be read and executed: HAProxy's own.
    pub files: Vec<PathBuf>,
    /// The program and its arguments; empty: only say what would be missing.
    pub command: Vec<OsString>,
}

/// Words that are no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this command is for the controller itself: `haptic validate` checks configurations")]
pub struct NotAnOrder;

impl Order {
    /// As words; [`Self::read`] gives it back.
    #[must_use]
    pub fn words(&self) -> Vec<OsString> {
        let without: Vec<&str> = self.without.iter().map(|protection| protection.name()).collect();
        let without = if without.is_empty() { NOTHING.to_owned() } else { without.join(",") };
        let granted = [("names", self.names), ("outside", self.outside), ("answers", self.answers)];
        let granted: Vec<&str> = granted.iter().filter(|(_, is)| *is).map(|(what, _)| *what).collect();
        let granted = if granted.is_empty() { NOTHING.to_owned() } else { granted.join(",") };
        let mut words: Vec<OsString> = vec![
            self.memory.to_string().into(),
            self.seconds.to_string().into(),
            granted.into(),
            without.into(),
        ];
        words.extend(self.files.iter().map(OsString::from));
        words.push(END.into());
        words.extend(self.command.iter().cloned());
        words
    }

    /// Reads what [`Self::words`] wrote.
    ///
    /// # Errors
    /// They are something else.
    pub fn read(words: &[OsString]) -> Result<Self, NotAnOrder> {
        let [memory, seconds, granted, without, rest @ ..] = words else { return Err(NotAnOrder) };
        let number = |word: &OsString| word.to_str().and_then(|word| word.parse().ok()).ok_or(NotAnOrder);
        let without = match without.to_str().ok_or(NotAnOrder)? {
            NOTHING => Vec::new(),
            names => names.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| NotAnOrder)?,
        };
        let granted = granted.to_str().ok_or(NotAnOrder)?;
        let is_granted = |what: &str| granted.split(',').any(|granted| granted == what);
        let end = rest.iter().position(|word| word == END).ok_or(NotAnOrder)?;
        let (files, command) = rest.split_at(end);
        Ok(Self {
            memory: number(memory)?,
            seconds: number(seconds)?,
            names: is_granted("names"),
            outside: is_granted("outside"),
            answers: is_granted("answers"),
            without,
            files: files.iter().map(PathBuf::from).collect(),
            command: command.iter().skip(1).cloned().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        let full = Order {
            memory: 1 << 32,
            seconds: 30,
            names: true,
            outside: true,
            answers: true,
            without: vec![Protection::Files, Protection::Calls],
            files: vec!["/usr/sbin/haproxy".into(), "/lib/x y.so".into()],
            command: ["/usr/sbin/haproxy", "-c", "--", "-f"].map(OsString::from).to_vec(),
        };
        for order in [Order::default(), full] {
            assert_eq!(Order::read(&order.words()), Ok(order));
        }
        assert_eq!(Order::read(&["x", "1", "-", "-", "--"].map(OsString::from)), Err(NotAnOrder));
        assert_eq!(Order::read(&[]), Err(NotAnOrder));
    }
}
