//! What the leader cannot tell the API server at the moment, for whoever looks: the status, `/debug`, the log.
//!
//! Nothing waits for what is told, so this is all that shows that it is not.

use haptic_runtime::CellWriter;
use std::collections::BTreeMap;

/// What is told to the API server, each by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Telling {
    /// The configuration's status.
    Status,
    /// Addresses of Ingresses.
    Addresses,
    /// Kubernetes Events.
    Events,
    /// What is rendered, and which pods run it.
    Published,
}

impl Telling {
    /// What is written.
    #[must_use]
    pub fn resource(self) -> &'static str {
        match self {
            Self::Status => "haproxytemplateconfigs/status",
            Self::Addresses => "ingresses/status",
            Self::Events => "events",
            Self::Published => "haproxycfgs",
        }
    }

    /// What it means that it fails.
    #[must_use]
    pub fn failure(self) -> &'static str {
        match self {
            Self::Status => "the configuration's status cannot be written",
            Self::Addresses => "the status of Ingresses cannot be written",
            Self::Events => "an Event cannot be written",
            Self::Published => "what is rendered is not published, which nothing depends on",
        }
    }
}

/// How it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reporting {
    /// What fails, and why: the API server's words and what to do.
    pub failures: BTreeMap<Telling, String>,
    /// Files that are too long to be published, each with its length; `None` until everything was published once.
    pub omitted: Option<Vec<String>>,
}

/// Notes how it goes, and logs trouble when it begins and when it changes.
pub(crate) fn note(reporting: &CellWriter<Reporting>, what: Telling, done: Result<(), String>) {
    let before = reporting.read();
    let mut now = Reporting::clone(&before);
    match done {
        Ok(()) => now.failures.remove(&what),
        Err(why) => now.failures.insert(what, why),
    };
    if let Some(why) = now.failures.get(&what)
        && before.failures.get(&what) != Some(why)
    {
        tracing::warn!("{}: {why}", what.failure());
    }
    reporting.publish_if_changed(now);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_stands_until_it_is_over_and_by_itself() {
        let (writer, reader) = haptic_runtime::cell(Reporting::default());
        note(&writer, Telling::Events, Err("forbidden".into()));
        note(&writer, Telling::Published, Err("no answer".into()));
        note(&writer, Telling::Events, Ok(()));
        let failures: Vec<_> = reader.read().failures.clone().into_iter().collect();
        assert_eq!(failures, [(Telling::Published, "no answer".to_owned())]);
    }
}
