//! What HAProxy prints about itself at a check, a start or a reload, as messages: how bad each is, its text, and whether it says what is
//! wrong with the files.

use haptic_model::Severity;

/// What closes a list of errors or follows from them, and says nothing of its own.
const SUMMARIES: [&str; 4] = [
    "Error(s) found in configuration file",
    "Fatal errors found in configuration",
    "exit-on-failure",
    "Current worker",
];
/// What a HAProxy that runs says of its servers.
const OF_TRAFFIC: &str = "has no server available";

/// An alert or a warning. Notices are no messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMessage {
    /// An alert is an error.
    pub severity: Severity,
    /// In one line, without level and process: `parsing [haproxy.cfg:13] : unknown keyword`.
    pub text: String,
}

impl LogMessage {
    /// `[ALERT]    (123) : config : TEXT` -> its severity and text.
    fn begun_by(line: &str) -> Option<Self> {
        let levels = [("[ALERT]", Severity::Error), ("[WARNING]", Severity::Warning)];
        let (_, severity) = levels.into_iter().find(|(level, _)| line.starts_with(level))?;
        let text = line.split_once(") : ").map_or(line, |(_, text)| text);
        let text = text.strip_prefix("config : ").unwrap_or(text).trim().to_owned();
        Some(Self { severity, text })
    }

    /// Whether HAProxy says what is wrong with its files. A worker that was killed, or ran out of memory, leaves the master's remarks
    /// alone.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.severity == Severity::Error && !is_summary(&self.text) && !self.text.contains(OF_TRAFFIC)
    }
}

/// Whether `text`, of a message, says nothing that was not said before.
#[must_use]
pub fn is_summary(text: &str) -> bool {
    SUMMARIES.iter().any(|summary| text.starts_with(summary))
}

/// The messages of a check, which prints nothing else: all lines up to the next one belong to a message, and the cause often stands in
/// the last.
#[must_use]
pub fn of_check(output: &str) -> Vec<LogMessage> {
    messages(output, |_| true)
}

/// The messages of a log, in which lines of traffic stand, too: what belongs to a message is indented.
#[must_use]
pub fn of_log(log: &str) -> Vec<LogMessage> {
    messages(log, |line| line.starts_with([' ', '\t']))
}

fn messages(output: &str, belongs: fn(&str) -> bool) -> Vec<LogMessage> {
    let mut messages = Vec::new();
    let mut current: Option<LogMessage> = None;
    for line in output.lines().filter(|line| !line.trim().is_empty()) {
        match &mut current {
            Some(message) if !line.starts_with('[') && belongs(line) => {
                message.text.push(' ');
                message.text.push_str(line.trim());
            }
            _ => messages.extend(std::mem::replace(&mut current, LogMessage::begun_by(line))),
        }
    }
    messages.extend(current);
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(messages: Vec<LogMessage>) -> Vec<String> {
        messages.into_iter().map(|message| message.text).collect()
    }

    #[test]
    fn alerts_and_warnings_are_told_apart_from_notices() {
        let log = "[NOTICE]   (1) : haproxy version is 3.4.7-1\n\
            [WARNING]  (1) : config : missing timeouts for proxy 'x'.\n\
            [ALERT]    (1) : (null)httpclient: cannot initialize: out of memory.\n";
        let told: Vec<_> = of_log(log).into_iter().map(|message| (message.severity, message.text)).collect();
        let expected = [
            (Severity::Warning, "missing timeouts for proxy 'x'."),
            (Severity::Error, "(null)httpclient: cannot initialize: out of memory."),
        ];
        assert_eq!(told, expected.map(|(severity, text)| (severity, text.to_owned())));
        assert_eq!(of_check(log), of_log(log));
    }

    #[test]
    fn what_haproxy_says_on_further_lines_belongs_to_its_message() {
        let log = "[ALERT]    (1) : config : parsing [haproxy.cfg:6] : 'bind :443' in section 'frontend' : \n  \
            'crt-list' : No Private Key found in 'ssl/a.pem.key'.\n\n  unable to load 'ssl/a.pem'.\n\
            [NOTICE]   (1) : x\n  y\n";
        let whole = "parsing [haproxy.cfg:6] : 'bind :443' in section 'frontend' : 'crt-list' : No Private Key found in \
            'ssl/a.pem.key'. unable to load 'ssl/a.pem'.";
        assert_eq!(texts(of_log(log)), [whole]);
        assert_eq!(texts(of_check(log)), [whole]);
    }

    #[test]
    fn lines_of_traffic_belong_to_no_message_of_a_log() {
        let log = "[ALERT]    (1) : a\n10.0.0.1:5 front back/s 200\n  b\n";
        assert_eq!(texts(of_log(log)), ["a"]);
        assert_eq!(texts(of_check(log)), ["a 10.0.0.1:5 front back/s 200 b"]);
    }

    #[test]
    fn summaries_and_news_of_servers_refuse_nothing() {
        let refuses =
            |text: &str| of_log(&format!("[ALERT]    (1) : {text}\n")).iter().any(LogMessage::is_refusal);
        for text in [
            "config : Error(s) found in configuration file : haproxy.cfg",
            "config : Fatal errors found in configuration.",
            "exit-on-failure: killing every processes with SIGTERM",
            "Current worker (2) exited with code 137 (Killed)",
            "backend 'shop' has no server available!",
        ] {
            assert!(!refuses(text), "{text}");
        }
        assert!(refuses("Binding [/d/haproxy.cfg:3] for frontend a: cannot bind socket"));
        assert!(
            of_log("[WARNING]  (1) : Former worker (3) exited\n").iter().all(|message| !message.is_refusal())
        );
    }
}
