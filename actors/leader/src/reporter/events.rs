//! Writes what happened and is news as Kubernetes Events.

use super::ReportInputs;
use crate::{
    notices::{
        api::{NoticeApi, NoticeTargets},
        limiter::Limiter,
        notice::{self, Notice, blamed},
    },
    report::health::FailedGeneration,
};
use haptic_model::{AllRejected, Findings, Quarantine, config::ConfigVerdict};
use std::collections::VecDeque;
use tokio::time::Instant;

/// Notices that may wait; more than the limiter would let through in a minute.
const BACKLOG: usize = 256;

/// What is to be written, one after another.
pub(crate) struct EventTask {
    /// When this replica began to lead. What happened before was the former leader's to write.
    pub(crate) began: Instant,
    waiting: VecDeque<Notice>,
    is_writing: bool,
    /// What of findings is told.
    reported: Findings,
}

impl EventTask {
    pub(crate) fn new(now: Instant) -> Self {
        Self { began: now, waiting: VecDeque::new(), is_writing: false, reported: Findings::default() }
    }

    /// Has written what is found at objects and was not before.
    pub(crate) fn add_findings(&mut self, findings: &Findings) {
        let change = findings.change_since(&self.reported);
        self.reported = findings.clone();
        self.add(change.found.iter().map(notice::found));
    }

    /// Has `notices` written.
    pub(crate) fn add(&mut self, notices: impl IntoIterator<Item = Notice>) {
        for notice in notices {
            // A full backlog means that the API server is slow, and the limiter would refuse most of it.
            if self.waiting.len() < BACKLOG {
                self.waiting.push_back(notice);
            } else {
                tracing::debug!("a notice was dropped: the API server is slow");
            }
        }
    }

    /// Writes the next notice that `limiter` lets through, if none is being written.
    pub(crate) fn begin(
        &mut self,
        api: &NoticeApi,
        inputs: &ReportInputs,
        uid: Option<&str>,
        limiter: &mut Limiter,
        now: Instant,
    ) -> Option<impl Future<Output = Result<(), String>> + use<>> {
        if self.is_writing {
            return None;
        }
        let notice =
            std::iter::from_fn(|| self.waiting.pop_front()).find(|notice| limiter.lets(notice, now))?;
        self.is_writing = true;
        let (api, inputs, uid) = (api.clone(), inputs.clone(), uid.map(str::to_owned));
        Some(async move {
            let known =
                NoticeTargets { snapshots: &inputs.snapshots, pods: &inputs.pods, config: uid.as_deref() };
            api.write(&notice, &known).await
        })
    }

    /// A notice was written, or could not be.
    pub(crate) fn ended(&mut self) {
        self.is_writing = false;
    }
}

/// Notices of what is wrong at the moment.
pub(crate) mod standing {
    use super::*;

    /// What is wrong before this replica leads, and still is.
    pub(crate) fn all(inputs: &ReportInputs, failed: Option<&FailedGeneration>) -> Vec<Notice> {
        let failed = failed.map(|failed| blamed(failed.stage.reason(), "Render", &failed.diagnostics));
        let config_verdict = inputs.config_verdict.as_ref().map(of_verdict);
        let notices =
            [config_verdict, failed, Some(quarantined(&inputs.quarantine)), Some(rejected(&inputs.rejected))];
        notices.into_iter().flatten().flatten().collect()
    }

    pub(crate) fn of_verdict(verdict: &ConfigVerdict) -> Vec<Notice> {
        let problems = Some(&verdict.problems).filter(|problems| !problems.is_empty());
        let refused = problems.map(|problems| blamed("ConfigurationRejected", "Validate", problems));
        let credentials = verdict.credentials.as_ref().map(notice::credentials_unreadable);
        refused.into_iter().flatten().chain(credentials).collect()
    }

    pub(crate) fn quarantined(quarantine: &Quarantine) -> Vec<Notice> {
        quarantine.held.values().map(|held| notice::held_back(held)).collect()
    }

    pub(crate) fn rejected(rejected: &AllRejected) -> Vec<Notice> {
        let reached = rejected.iter().flat_map(|(resource, rejected)| rejected.reached(resource));
        reached.map(|reached| notice::limit_reached(&reached)).collect()
    }
}
