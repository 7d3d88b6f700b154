//! What can change of a server that stays, in the words of the API's actions.

use crate::step::NeedsReload;
use haptic_model::operation::ServerState;
use std::net::IpAddr;

/// What a server is to have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerChange {
    Address(IpAddr, u16),
    CheckPort(String),
    Weight(u16),
    State(ServerState),
}

impl ServerChange {
    /// The words of its action.
    pub fn words(&self, backend: &str, server: &str) -> Vec<String> {
        let of_server = |name: &str| [name, backend, server].map(str::to_owned);
        let (head, values) = match self {
            Self::Address(address, port) => {
                (of_server("SetServerAddr"), vec![address.to_string(), port.to_string()])
            }
            Self::CheckPort(port) => (of_server("SetServerCheckPort"), vec![port.clone()]),
            Self::Weight(weight) => (of_server("SetServerWeight"), vec![weight.to_string()]),
            Self::State(state) => (of_server("SetServerState"), vec![word(*state).to_owned()]),
        };
        head.into_iter().chain(values).collect()
    }
}

fn word(state: ServerState) -> &'static str {
    match state {
        ServerState::Ready => "ready",
        ServerState::Drain => "drain",
        ServerState::Maint => "maint",
    }
}

/// Whether the API reads these words as they are.
pub(super) fn check_action(words: Vec<String>) -> Result<(), NeedsReload> {
    let is_read = |word: &String| {
        !word.is_empty()
            && word.is_ascii()
            && !word.contains(|c: char| c == ';' || c.is_whitespace() || c.is_control())
    };
    if words.iter().all(is_read) { Ok(()) } else { Err(NeedsReload::NoAction { words }) }
}
