//! What HAProxy answers: to commands that change something, to questions about itself (`show proc`, `show info`), and the log of a
//! reload. But for [`messages`], no other file decides by HAProxy's words.

use haptic_haproxy::messages::{self, LogMessage};
use haptic_model::Severity;
use std::path::Path;

/// Bytes of HAProxy's messages that are passed on.
const LONGEST_MESSAGE: usize = 2000;

/// What HAProxy says to a command that changes something.
///
/// It has no codes for that, and no common sign of success: an unknown command is answered at the level "info", too. The sentences are
/// those of `src/server.c`, `src/proxy.c`, `src/map.c`, `src/ssl_ckch.c` and `src/ssl_crtlist.c`. They are the same on 3.0, 3.2 and
/// 3.4, but for two things: only 3.4 has those of backends, and only 3.4 puts news of servers in front of its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketAnswer {
    /// It did what it was told.
    Done,
    /// The next version of a map, to be filled and committed.
    MapVersion(u64),
    /// What was to be added is there.
    Exists,
    /// The entry or the file is not there.
    NoEntry,
    /// It was removed, or is not there.
    Gone { what: RemovedKind, after_news: bool },
    /// It cannot be removed yet.
    InUse,
    /// News of servers without a word on what was to be removed; `done`: behind words of success. Under many changes HAProxy 3.4
    /// sometimes leaves its verdict out: whoever asks again hears it alone.
    News { done: bool },
    /// Anything else.
    Refused,
}

/// What can be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemovedKind {
    Server,
    Backend,
}

/// What answers of success begin with.
const DONE: [&str; 10] = [
    "New server registered",
    "IP changed from",
    "port changed from",
    "no need to change",
    "nothing changed",
    "New backend registered",
    "Backend published",
    "Backend unpublished",
    "New empty certificate store",
    "New CA file created",
];

/// What their last lines begin and go on with, behind the dots of a transaction.
const DONE_AT_LAST: [(&str, &str); 5] = [
    ("Transaction created for certificate", ""),
    ("transaction created for CA", ""),
    ("Certificate '", "deleted!"),
    ("CA file '", "deleted!"),
    ("Entry '", "deleted in crtlist"),
];

const EXISTS: [&str; 3] = ["Already exists", "already exists", "name is already used"];
const NO_ENTRY: [&str; 4] = ["entry not found", "Key not found", "doesn't exist", "No such backend"];

/// What the last line of a removal begins with.
const GONE: [(&str, RemovedKind); 5] = [
    ("Server deleted", RemovedKind::Server),
    ("No such server", RemovedKind::Server),
    ("Backend deleted", RemovedKind::Backend),
    ("No such backend", RemovedKind::Backend),
    ("Can't find backend", RemovedKind::Backend),
];

const IN_USE: [&str; 4] = [
    "still has connections",
    "still has sessions",
    "still has attached streams",
    "Only a backend without server can be deleted",
];
const NEWS: [&str; 3] = [" is going DOWN", " is UP", "has no server available!"];

impl SocketAnswer {
    pub(crate) fn of(answer: &str) -> Self {
        let answer = answer.trim();
        let last = answer.lines().next_back().unwrap_or_default().trim();
        let has = |sentences: &[&str]| sentences.iter().any(|sentence| answer.contains(sentence));
        let gone = GONE.iter().find(|(verdict, _)| last.starts_with(verdict));
        let has_news = has(&NEWS);
        let done = is_done(answer, last);
        let version = answer.strip_prefix("New version created: ");
        if let Some(version) = version.and_then(|version| version.parse().ok()) {
            return Self::MapVersion(version);
        }
        match gone {
            _ if has(&IN_USE) => Self::InUse,
            Some((_, what)) => Self::Gone { what: *what, after_news: has_news },
            None if has(&EXISTS) => Self::Exists,
            None if has(&NO_ENTRY) => Self::NoEntry,
            None if has_news => Self::News { done },
            None if done => Self::Done,
            None => Self::Refused,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self, Self::Done | Self::News { done: true })
    }

    pub(crate) fn exists(&self) -> bool {
        matches!(self, Self::Exists)
    }

    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::NoEntry | Self::Gone { .. })
    }
}

fn is_done(answer: &str, last: &str) -> bool {
    let at_last =
        |(begin, then): &(&str, &str)| last.strip_prefix(begin).is_some_and(|rest| rest.contains(then));
    answer.is_empty()
        || last == "Success!"
        || DONE.iter().any(|sentence| answer.starts_with(sentence))
        || DONE_AT_LAST.iter().any(at_last)
}

/// Whether a line of `get map` says that nothing is found among texts.
pub(crate) fn finds_no_text(line: &str) -> bool {
    line.starts_with("type=str,") && line.ends_with("found=no")
}

/// The processes of one HAProxy, from `show proc` on the master socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Processes {
    pub(crate) master: u32,
    /// 0 when there is none.
    pub(crate) worker: u32,
    pub(crate) old_workers: u32,
    /// Reloads, also failed ones.
    pub(crate) reloads: u64,
    /// Reloads that failed since the last one that succeeded.
    pub(crate) failed: u64,
}

impl Processes {
    /// Reads `show proc`. `None` when this is not its answer.
    ///
    /// After a failed reload, HAProxy 3.2 and later list the worker that still runs among the old ones: the current one is
    /// the one that saw the fewest reloads.
    pub(crate) fn parse(answer: &str) -> Option<Self> {
        let mut found = Self::default();
        let mut workers: Vec<(u64, u32)> = Vec::new();
        for line in answer.lines().filter(|l| !l.starts_with('#')) {
            let columns: Vec<&str> = line.split_whitespace().collect();
            match columns.as_slice() {
                [pid, "master", reloads, rest @ ..] => {
                    found.master = pid.parse().ok()?;
                    found.reloads = reloads.parse().ok()?;
                    if let ["[failed:", count, ..] = rest {
                        found.failed = count.trim_end_matches(']').parse().unwrap_or(0);
                    }
                }
                [pid, "worker", reloads, ..] => workers.push((reloads.parse().ok()?, pid.parse().ok()?)),
                _ => {}
            }
        }
        workers.sort_unstable();
        found.worker = workers.first().map_or(0, |(_, pid)| *pid);
        found.old_workers = u32::try_from(workers.len().saturating_sub(1)).unwrap_or(u32::MAX);
        (found.master > 0).then_some(found)
    }
}

/// A field of `show info`.
pub(crate) fn info<'a>(answer: &'a str, field: &str) -> Option<&'a str> {
    answer.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(": ")).map(str::trim)
}

/// The result of `reload` on the master socket: `Success=1`, a line `--`, then the log.
/// `None` when the answer is none of it.
pub(crate) fn reload(answer: &str) -> Option<(bool, &str)> {
    let (head, log) = answer.split_once("\n--\n").unwrap_or((answer, ""));
    let success = head.lines().find_map(|line| line.strip_prefix("Success="))?;
    Some((success.trim() == "1", log))
}

/// Why HAProxy failed, from its log: its alerts without decoration, or all of it when there are none.
pub(crate) fn failure(log: &str, current: &Path) -> String {
    let messages = messages::of_log(log);
    let those = |is_told: fn(&LogMessage) -> bool| -> Vec<&str> {
        messages.iter().filter(|message| is_told(message)).map(|message| &*message.text).collect()
    };
    let lines = [
        those(LogMessage::is_refusal),
        those(|message| message.severity == Severity::Error),
        those(|message| message.severity == Severity::Warning),
        log.lines().collect(),
    ];
    let chosen = lines.into_iter().find(|lines| !lines.is_empty()).unwrap_or_default();
    shown(&chosen, current)
}

/// Whether HAProxy says itself what is wrong with its files.
pub(crate) fn is_refusal(log: &str) -> bool {
    messages::of_log(log).iter().any(LogMessage::is_refusal)
}

/// What is worth passing on of a reload that succeeded: warnings and alerts, without those every reload has.
pub(crate) fn remarks(log: &str, current: &Path) -> String {
    let messages = messages::of_log(log);
    let mut lines: Vec<&str> = messages.iter().map(|message| &*message.text).collect();
    lines.retain(|line| !line.starts_with("Former worker") && !line.contains("HAProxy was started as"));
    shown(&lines, current)
}

fn shown(lines: &[&str], current: &Path) -> String {
    let mut text = lines.join("\n").replace(&format!("{}/", current.display()), "");
    if text.len() > LONGEST_MESSAGE {
        text.truncate(text.floor_char_boundary(LONGEST_MESSAGE));
        text.push_str(" …");
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED_3_2: &str = "#<PID>          <type>          <reloads>       <uptime>        <version>      \n11774           master          3 [failed: 1]   0d00h00m13s     3.2.26-1       \n# workers\n# old workers\n13978           worker          1               0d00h00m06s     3.2.26-1       \n13900           worker          2               0d00h00m16s     3.2.26-1       \n\n";

    #[test]
    fn what_haproxy_says_to_commands_is_read_once() {
        use SocketAnswer::*;
        let gone = |what| Gone { what, after_news: false };
        for (answer, expected) in [
            ("", Done),
            ("\n", Done),
            ("New server registered.\n", Done),
            ("nothing changed", Done),
            ("IP changed from '10.0.0.1' to '10.0.0.2' by 'stats socket command'\n", Done),
            ("Backend published.\n", Done),
            ("New empty certificate store 'a.pem'!\n", Done),
            ("Transaction created for certificate a.pem!\n", Done),
            ("transaction created for CA ca.pem!\n", Done),
            ("Committing a.pem..\nSuccess!\n", Done),
            ("Certificate 'a.pem' deleted!\n", Done),
            ("CA file 'ca.pem' deleted!\n", Done),
            ("Entry 'a.pem' deleted in crtlist 'list.txt'!\n", Done),
            ("New version created: 7\n", MapVersion(7)),
            ("Already exists a server with the same name in backend.\n", Exists),
            ("Certificate 'a.pem' already exists!\n", Exists),
            ("name is already used by other proxy 'shop'\n", Exists),
            ("entry not found.\n", NoEntry),
            ("Key not found.\n", NoEntry),
            ("certificate 'a.pem' doesn't exist!\n", NoEntry),
            ("Server deleted.\n", gone(RemovedKind::Server)),
            ("No such server.\n", gone(RemovedKind::Server)),
            ("No such backend.\n", gone(RemovedKind::Backend)),
            ("Can't find backend.\n", gone(RemovedKind::Backend)),
            ("Server still has connections attached to it, cannot remove it.\n", InUse),
            ("Server shop/a is UP. 1 active and 0 backup servers online.\n", News { done: false }),
            ("no need to change the addr\nServer shop/a is UP.\n", News { done: true }),
            ("Unknown command: 'x', but maybe", Refused),
            ("Permission denied\n", Refused),
            ("Unknown map identifier. Please use #<id> or <file>.\n", Refused),
        ] {
            assert_eq!(SocketAnswer::of(answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn the_worker_that_runs_is_found_after_a_failed_reload() {
        assert_eq!(
            Processes::parse(FAILED_3_2),
            Some(Processes { master: 11774, worker: 13978, old_workers: 1, reloads: 3, failed: 1 })
        );
    }

    #[test]
    fn the_programs_section_of_3_0_is_no_worker() {
        let answer = "#<PID> <type> <reloads> <uptime> <version>\n1278 master 0 [failed: 0] 0d00h00m02s 3.0.11\n# workers\n1292 worker 0 0d 3.0.11\n# programs\n\n";
        assert_eq!(
            Processes::parse(answer),
            Some(Processes { master: 1278, worker: 1292, ..Processes::default() })
        );
        assert_eq!(Processes::parse("Unknown command"), None);
    }

    #[test]
    fn a_failed_reload_is_told_in_haproxys_own_words_without_its_paths() {
        let answer = "Success=0\n--\n[NOTICE]   (22917) : haproxy version is 3.4.7-1\n[ALERT]    (27050) : config : parsing [/d/current/haproxy.cfg:13] : unknown keyword 'nonsense' in 'backend' section\n[ALERT]    (27050) : config : Error(s) found in configuration file : /d/current/haproxy.cfg\n[ALERT]    (27050) : config : Fatal errors found in configuration.\n[WARNING]  (22917) : Failed to load worker (27050) exited with code 1 (Exit)\n\n";
        let (success, log) = reload(answer).unwrap();
        assert!(!success);
        assert_eq!(
            failure(log, Path::new("/d/current")),
            "parsing [haproxy.cfg:13] : unknown keyword 'nonsense' in 'backend' section"
        );
    }

    #[test]
    fn a_worker_that_was_killed_has_refused_nothing() {
        let killed = "[NOTICE]   (1) : Initializing new worker (2)\n[ALERT]    (1) : Current worker (2) exited with code 137 (Killed)\n[ALERT]    (1) : exit-on-failure: killing every processes with SIGTERM\n";
        assert!(!is_refusal(killed) && failure(killed, Path::new("/d")).contains("137"));
        let ran_before = "[WARNING]  (2) : Server shop/a is DOWN, reason: Layer4 connection problem.\n[ALERT]    (2) : backend 'shop' has no server available!\n";
        assert!(!is_refusal(&format!("{ran_before}{killed}")), "it ran until it was killed");
        assert!(is_refusal(
            "[ALERT]    (2) : Binding [/d/haproxy.cfg:3] for frontend a: cannot bind socket\n"
        ));
    }

    #[test]
    fn a_reload_without_remarks_has_an_empty_log() {
        let answer = "Success=1\n--\n[NOTICE]   (1) : New worker (2) forked\n[WARNING]  (1) : Former worker (3) exited with code 0 (Exit)\n\n";
        let (success, log) = reload(answer).unwrap();
        assert!(success);
        assert_eq!(remarks(log, Path::new("/d/current")), "");
    }

    #[test]
    fn an_answer_that_is_no_reloads_is_not_taken_for_one() {
        assert_eq!(reload("garbage"), None);
        assert_eq!(reload(""), None);
    }
}
