//! Reading back: what HAProxy must have after the operations of an order, and questions to its command line, with what their
//! answers have to say. Pure.

use haptic_model::operation::ServerState;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

/// What HAProxy must have after the operations.
#[derive(Debug, Default)]
pub(super) struct Expectation<'o> {
    /// By backend.
    pub(super) servers: BTreeMap<&'o str, BTreeMap<&'o str, ExpectedServer>>,
    pub(super) backends: BTreeSet<&'o str>,
    /// Whether rules may choose a backend.
    pub(super) published: BTreeMap<&'o str, bool>,
    /// Values by map and key; `None` for a key that must not be there.
    pub(super) entries: BTreeMap<&'o str, BTreeMap<&'o str, Option<&'o str>>>,
    /// The contents of maps that were replaced.
    pub(super) replaced: BTreeMap<&'o str, &'o str>,
    pub(super) patterns: Presence<'o>,
    /// Without their options, which HAProxy writes in its own way.
    pub(super) crt_list_lines: Presence<'o>,
    /// Contents; `None` for one that must not be there.
    pub(super) certificates: BTreeMap<&'o str, Option<&'o str>>,
}

/// As far as operations set it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ExpectedServer {
    pub(super) deleted: bool,
    pub(super) address: Option<(IpAddr, u16)>,
    pub(super) weight: Option<u32>,
    pub(super) state: Option<ServerState>,
    pub(super) maxconn: Option<u32>,
}

impl<'o> Expectation<'o> {
    pub(super) fn server(&mut self, backend: &'o str, server: &'o str) -> &mut ExpectedServer {
        self.servers.entry(backend).or_default().entry(server).or_default()
    }
}

/// One command that shows something, and the check of its answer.
pub(crate) struct ReadBack<'e> {
    pub(super) command: String,
    check: Box<dyn Fn(&str) -> ReadBackVerdict + Send + Sync + 'e>,
}

/// What an answer says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadBackVerdict {
    AsExpected,
    /// In words.
    Differs(Vec<String>),
    /// The answer does not tell: the whole of this map has to be read.
    ReadMap(String),
}

impl<'e> ReadBack<'e> {
    pub(super) fn new(command: String, check: impl Fn(&str) -> ReadBackVerdict + Send + Sync + 'e) -> Self {
        Self { command, check: Box::new(check) }
    }

    pub(super) fn check(&self, answer: &str) -> ReadBackVerdict {
        (self.check)(answer)
    }
}

impl ReadBackVerdict {
    /// No difference, or this one.
    pub(super) fn of(difference: Option<String>) -> Self {
        Self::all(difference.into_iter().collect())
    }

    /// These differences, perhaps none.
    pub(super) fn all(differences: Vec<String>) -> Self {
        if differences.is_empty() { Self::AsExpected } else { Self::Differs(differences) }
    }
}

/// Names that must be in files after the operations, and names that must not.
#[derive(Debug, Default)]
pub(super) struct Presence<'o>(BTreeMap<&'o str, BTreeMap<String, bool>>);

impl<'o> Presence<'o> {
    /// Whether `name` must be in `file`: to be changed.
    pub(super) fn of(&mut self, file: &'o str, name: String) -> &mut bool {
        self.0.entry(file).or_default().entry(name).or_default()
    }

    /// A question for each file: the answer to `command FILE` has the names that `shown` gives.
    pub(super) fn questions(
        &self,
        kind: &'static str,
        command: &'static str,
        shown: fn(&str) -> BTreeSet<String>,
    ) -> impl Iterator<Item = ReadBack<'_>> {
        self.0.iter().map(move |(file, names)| {
            ReadBack::new(format!("{command} {file}"), move |answer| {
                let shown = shown(answer);
                let wrong = names.iter().find(|(name, there)| shown.contains(*name) != **there);
                ReadBackVerdict::of(wrong.map(|(name, there)| {
                    let is = if *there { "is not" } else { "is still" };
                    format!("{kind} {file}: {name} {is} there")
                }))
            })
        })
    }
}

/// Of a line of `show map` or `show acl`, the entry: `0x7fc2e78218a0 key value with blanks`.
pub(crate) fn shown_entry(line: &str) -> Option<&str> {
    line.strip_prefix("0x")?.split_once(' ').map(|(_, entry)| entry)
}

/// Proxy, server and one named column of each line of `show stat`.
pub(super) fn statistics<'a>(
    answer: &'a str,
    column: &str,
) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
    let (header, lines) = answer.split_once('\n').unwrap_or((answer, ""));
    let at = header.strip_prefix("# ").and_then(|header| header.split(',').position(|name| name == column));
    lines.lines().filter_map(move |line| {
        let mut cells = line.split(',');
        Some((cells.next()?, cells.next()?, line.split(',').nth(at?)?))
    })
}
