//! Operations on a running HAProxy through the API, and whether they did what they should: it answers "done" to changes that it
//! does not make.

use crate::{
    call_error::CallError,
    client::Api,
    memory::PodMemory,
    step::{ApiStep, map::ExpectedEntries, pattern::ExpectedPatterns, server::ExpectedServers},
    target::ApplyTarget,
};

/// What should be so afterwards.
#[derive(Default)]
pub(crate) struct ExpectedState {
    servers: ExpectedServers,
    entries: ExpectedEntries,
    patterns: ExpectedPatterns,
}

impl ExpectedState {
    /// Notes what `step` should do as an action of a push.
    pub fn expect_action(&mut self, step: &ApiStep) {
        if let ApiStep::Server(step) = step {
            step.expect_action(&mut self.servers);
        }
    }

    /// Compares with what HAProxy shows.
    pub async fn read_back(&self, api: &Api) -> Result<(), CallError> {
        self.servers.read_back(api).await?;
        self.entries.read_back(api).await?;
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
) -> Result<(), CallError> {
    match step {
        ApiStep::Server(step) => step.carry_out(api, target, memory, &mut wanted.servers).await,
        ApiStep::Map(step) => step.carry_out(api, target.files, &mut wanted.entries).await,
        ApiStep::Pattern(step) => step.carry_out(api, &mut wanted.patterns).await,
        // Storing the file brought it.
        ApiStep::Certificate { .. } | ApiStep::Nothing => Ok(()),
    }
}
