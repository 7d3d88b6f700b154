//! Servers: what changes of those that stay is an action of a push; they come and go by calls of their own.

mod body;
mod change;
mod expected;
mod lingering;

use super::{ApiStep, NeedsReload};
use crate::{call_error::CallError, client::Api, memory::PodMemory, target::ApplyTarget};
pub(crate) use change::ServerChange;
pub(crate) use expected::ExpectedServers;
use haptic_model::operation::ServerState;
pub(crate) use lingering::sweep;
use serde_json::Value;
use std::net::IpAddr;

/// A change of a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerStep {
    /// In the header `X-Runtime-Actions` of a push; its state also alone, by `PUT runtime/backends/B/servers/S`.
    Set { backend: String, server: String, change: ServerChange },
    /// `POST runtime/backends/B/servers`, then its state.
    Add { backend: String, server: String, body: Value, enabled: bool },
    /// State maint, and `DELETE runtime/backends/B/servers/S`.
    Delete { backend: String, server: String },
}

// --- planning --------------------------------------------------------------------------------------

pub(super) fn set_address(
    backend: &str,
    server: &str,
    address: &str,
    port: u16,
) -> Result<ApiStep, NeedsReload> {
    // It answers 201 to any address, takes only these, and wraps ports.
    let ip: IpAddr = address.parse().map_err(|_| NeedsReload::NoIpAddress {
        backend: backend.to_owned(),
        server: server.to_owned(),
        address: address.to_owned(),
    })?;
    set(backend, server, ServerChange::Address(ip, port))
}

pub(super) fn set(backend: &str, server: &str, change: ServerChange) -> Result<ApiStep, NeedsReload> {
    change::check_action(change.words(backend, server))?;
    let (backend, server) = (backend.to_owned(), server.to_owned());
    Ok(ApiStep::Server(ServerStep::Set { backend, server, change }))
}

pub(super) fn add(
    backend: &str,
    server: &str,
    address: &str,
    params: &[String],
    enabled: bool,
) -> Result<ApiStep, NeedsReload> {
    // What brings it into service.
    change::check_action(["SetServerState", backend, server].map(str::to_owned).into())?;
    let body = body::body(server, address, params);
    let (backend, server) = (backend.to_owned(), server.to_owned());
    match body {
        Ok(body) => Ok(ApiStep::Server(ServerStep::Add { backend, server, body, enabled })),
        Err(problem) => Err(NeedsReload::CannotAdd { backend, server, problem }),
    }
}

pub(super) fn delete(backend: &str, server: &str) -> ApiStep {
    ApiStep::Server(ServerStep::Delete { backend: backend.to_owned(), server: server.to_owned() })
}

// --- carrying out ----------------------------------------------------------------------------------

impl ServerStep {
    /// Its words, when it is an action.
    pub fn action(&self) -> Option<String> {
        match self {
            Self::Set { backend, server, change } => Some(change.words(backend, server).join(" ")),
            _ => None,
        }
    }

    /// Notes in `wanted` what its action should do.
    pub fn expect_action(&self, wanted: &mut ExpectedServers) {
        if let Self::Set { backend, server, change } = self {
            wanted.change(backend, server, change);
        }
    }

    /// The action that brings the server that this adds into service.
    pub fn taking_requests(&self) -> Option<Self> {
        match self {
            Self::Add { backend, server, enabled: true, .. } => Some(Self::Set {
                backend: backend.clone(),
                server: server.clone(),
                change: ServerChange::State(ServerState::Ready),
            }),
            _ => None,
        }
    }

    /// A server that comes stays in maintenance; `wanted` notes what is compared later.
    pub async fn carry_out(
        &self,
        api: &Api,
        target: ApplyTarget<'_>,
        memory: &mut PodMemory,
        wanted: &mut ExpectedServers,
    ) -> Result<(), CallError> {
        match self {
            Self::Set { backend, server, change: ServerChange::State(state) } => {
                self.expect_action(wanted);
                api.set_state(backend, server, *state).await
            }
            // No call does it but a push.
            Self::Set { .. } => Ok(()),
            Self::Add { backend, server, body, enabled } => {
                wanted.add(backend, server, body, *enabled);
                lingering::add(api, (backend, server), body, target, memory).await
            }
            Self::Delete { backend, server } => {
                wanted.remove(backend, server);
                lingering::delete(api, (backend, server), target.config, memory).await
            }
        }
    }
}
