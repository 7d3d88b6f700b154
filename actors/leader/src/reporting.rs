//! What the leader cannot report to the API server at the moment: shown by the status, `/debug` and the log.
//!
//! Nothing waits for a report, so this is all that shows that one is missing.

use haptic_runtime::Publisher;
use std::collections::BTreeMap;

/// What is reported to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Report {
    /// The configuration's status.
    Status,
    /// Addresses of Ingresses.
    Addresses,
    /// Kubernetes Events.
    Events,
    /// What is rendered, and which pods run it.
    Published,
    /// Statuses of the Gateway API.
    GatewayStatuses,
    /// Services of Gateways.
    GatewayServices,
}

impl Report {
    /// What is written.
    #[must_use]
    pub fn resource(self) -> &'static str {
        match self {
            Self::Status => "haproxytemplateconfigs/status",
            Self::Addresses => "ingresses/status",
            Self::Events => "events",
            Self::Published => "haproxycfgs",
            Self::GatewayStatuses => "statuses in gateway.networking.k8s.io",
            Self::GatewayServices => "services and endpointslices",
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
            Self::GatewayStatuses => "a status of the Gateway API cannot be written",
            Self::GatewayServices => "the Service of a Gateway cannot be made or set right",
        }
    }
}

/// How it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reporting {
    /// What fails, and why: the API server's words and what to do.
    pub failures: BTreeMap<Report, String>,
    /// Files that are too long to be published, each with its length; `None` until everything was published once.
    pub omitted: Option<Vec<String>>,
}

/// How it goes with what is written for the Gateway API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatewayReporting {
    /// What fails, and why.
    pub failures: BTreeMap<Report, String>,
}

/// Records whether a report was written, and logs trouble when it begins and when it changes; whether that is news.
pub(crate) fn record(reporting: &Publisher<Reporting>, what: Report, done: Result<(), String>) -> bool {
    let before = reporting.latest();
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
    reporting.publish_if_changed(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_stands_until_it_is_over_and_by_itself() {
        let (writer, reader) = haptic_runtime::topic(Reporting::default());
        record(&writer, Report::Events, Err("forbidden".into()));
        record(&writer, Report::Published, Err("no answer".into()));
        record(&writer, Report::Events, Ok(()));
        let failures: Vec<_> = reader.latest().failures.clone().into_iter().collect();
        assert_eq!(failures, [(Report::Published, "no answer".to_owned())]);
    }
}
