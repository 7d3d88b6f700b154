//! How servers should be once they were changed, and whether HAProxy shows them so.

use super::ServerChange;
use crate::{
    call_error::CallError,
    client::{Api, RuntimeServer},
    step::unproven::{ServerDifference, Unproven},
};
use haptic_model::operation::ServerState;
use serde_json::Value;
use std::{collections::BTreeMap, net::IpAddr};

/// By backend and name.
#[derive(Default)]
pub(crate) struct ExpectedServers(BTreeMap<String, BTreeMap<String, WantedServer>>);

#[derive(Default)]
struct WantedServer {
    address: Option<(IpAddr, u16)>,
    check_port: Option<u16>,
    weight: Option<u32>,
    state: Option<ServerState>,
    is_gone: bool,
}

impl ExpectedServers {
    fn of(&mut self, backend: &str, server: &str) -> &mut WantedServer {
        self.0.entry(backend.to_owned()).or_default().entry(server.to_owned()).or_default()
    }

    /// It has what changed.
    pub fn change(&mut self, backend: &str, server: &str, change: &ServerChange) {
        let wanted = self.of(backend, server);
        match change {
            ServerChange::Address(address, port) => wanted.address = Some((*address, *port)),
            ServerChange::CheckPort(port) => wanted.check_port = port.parse().ok(),
            ServerChange::Weight(weight) => wanted.weight = Some(u32::from(*weight)),
            ServerChange::State(state) => wanted.state = Some(*state),
        }
    }

    /// It is there, as `body` says.
    pub fn add(&mut self, backend: &str, server: &str, body: &Value, enabled: bool) {
        let number = |field: &str| body.get(field).and_then(Value::as_u64);
        let address = body.get("address").and_then(|address| address.as_str()?.parse().ok());
        *self.of(backend, server) = WantedServer {
            address: address.zip(number("port").and_then(|port| u16::try_from(port).ok())),
            check_port: None,
            weight: number("weight").and_then(|weight| u32::try_from(weight).ok()),
            state: Some(if enabled { ServerState::Ready } else { ServerState::Maint }),
            is_gone: false,
        };
    }

    /// It is gone, or takes no requests.
    pub fn remove(&mut self, backend: &str, server: &str) {
        self.of(backend, server).is_gone = true;
    }

    /// Compares with what HAProxy shows.
    pub async fn read_back(&self, api: &Api) -> Result<(), CallError> {
        for (backend, wanted) in &self.0 {
            let shown = match wanted.keys().next() {
                Some(only) if wanted.len() == 1 => api.server(backend, only).await?.into_iter().collect(),
                _ => api.servers(backend).await?,
            };
            let shown: BTreeMap<&str, &RuntimeServer> =
                shown.iter().map(|server| (&*server.name, server)).collect();
            for (server, wanted) in wanted {
                if let Err(difference) = wanted.compare(shown.get(&**server).copied()) {
                    let (backend, server) = (backend.clone(), server.clone());
                    return Err(Unproven::Server { backend, server, difference }.into());
                }
            }
        }
        Ok(())
    }
}

impl WantedServer {
    fn compare(&self, shown: Option<&RuntimeServer>) -> Result<(), ServerDifference> {
        match shown {
            None if self.is_gone => Ok(()),
            None => Err(ServerDifference::Missing),
            // Its last connections may keep it, in maintenance.
            Some(shown) if self.is_gone => match shown.state() {
                ServerState::Maint => Ok(()),
                _ => Err(ServerDifference::TakesRequests),
            },
            Some(shown) => self.compare_settings(shown),
        }
    }

    fn compare_settings(&self, shown: &RuntimeServer) -> Result<(), ServerDifference> {
        if let Some(should) = self.address
            && (shown.ip() != Some(should.0) || shown.port != should.1)
        {
            return Err(ServerDifference::Address { is: (shown.address.clone(), shown.port), should });
        }
        if let (Some(should), Some(is)) = (self.check_port, shown.check_port)
            && should != is
        {
            return Err(ServerDifference::CheckPort { is, should });
        }
        if let (Some(should), Some(is)) = (self.weight, shown.weight())
            && should != is
        {
            return Err(ServerDifference::Weight { is, should });
        }
        match self.state {
            Some(should) if shown.state() != should => {
                Err(ServerDifference::State { is: shown.admin_state.clone(), should })
            }
            _ => Ok(()),
        }
    }
}
