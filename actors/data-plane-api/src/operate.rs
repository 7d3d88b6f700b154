//! Operations on a running HAProxy through the API, and whether they did what they should: it answers "done" to changes that it
//! does not make.

use crate::{
    client::{Api, ApiResult},
    memory::{Files, PodMemory},
    step::{ApiStep, map::ExpectedEntries, pattern::ExpectedPatterns, server::ExpectedServers},
};

/// What should be so afterwards.
#[derive(Default)]
pub(crate) struct ExpectedState {
    servers: ExpectedServers,
    entries: ExpectedEntries,
    patterns: ExpectedPatterns,
}

/// The bundle that a pod is brought to.
#[derive(Clone, Copy)]
pub(crate) struct ApplyTarget<'t> {
    pub files: &'t Files,
    /// The path of haproxy.cfg.
    pub config: &'t str,
}

impl ApplyTarget<'_> {
    /// The text of haproxy.cfg.
    pub fn config_text(&self) -> Option<&str> {
        self.files.get(self.config).map(|(_, text)| &**text)
    }
}

impl ExpectedState {
    /// Notes what `step` should do as an action of a push.
    pub fn expect_action(&mut self, step: &ApiStep) {
        if let ApiStep::Server(step) = step {
            step.expect_action(&mut self.servers);
        }
    }

    /// Compares with what HAProxy shows.
    pub async fn read_back(&self, api: &Api) -> ApiResult {
        if let Err(why) = self.servers.read_back(api).await? {
            return Ok(Err(why));
        }
        if let Err(why) = self.entries.read_back(api).await? {
            return Ok(Err(why));
        }
        self.patterns.read_back(api).await
    }
}

/// Carries out a step by a call of its own; a server that comes stays in maintenance; `wanted` notes what is compared later.
pub(crate) async fn carry_out(
    api: &Api,
    step: &ApiStep,
    target: ApplyTarget<'_>,
    memory: &mut PodMemory,
    wanted: &mut ExpectedState,
) -> ApiResult {
    match step {
        ApiStep::Server(step) => step.carry_out(api, target, memory, &mut wanted.servers).await,
        ApiStep::Map(step) => step.carry_out(api, target.files, &mut wanted.entries).await,
        ApiStep::Pattern(step) => step.carry_out(api, &mut wanted.patterns).await,
        // Storing the file brought it.
        ApiStep::Certificate { .. } | ApiStep::Nothing => Ok(Ok(())),
    }
}
