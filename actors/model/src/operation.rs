//! Changes of a running HAProxy, as data. The agent turns them into socket commands; nothing else may be sent.

use serde::{Deserialize, Serialize};

/// A server's administrative state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerState {
    /// Takes traffic.
    Ready,
    /// Finishes what it has, takes nothing new.
    Drain,
    /// Takes nothing.
    Maint,
}

/// One change of a running HAProxy (HAProxy Management Guide, 9.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Operation {
    /// `set server B/S addr A port P`.
    SetServerAddress {
        /// The backend.
        backend: String,
        /// The server.
        server: String,
        /// An IP address, never a name: HAProxy would not resolve it.
        address: String,
        /// 1 to 65535: HAProxy wraps larger numbers silently.
        port: u16,
    },
    /// `set server B/S weight N`.
    SetServerWeight {
        /// The backend.
        backend: String,
        /// The server.
        server: String,
        /// 0 to 256.
        weight: u16,
    },
    /// `set server B/S state X`.
    SetServerState {
        /// The backend.
        backend: String,
        /// The server.
        server: String,
        /// The state it goes to.
        state: ServerState,
    },
    /// `set maxconn server B/S N`.
    SetServerMaxconn {
        /// The backend.
        backend: String,
        /// The server.
        server: String,
        /// 0 is no limit.
        maxconn: u32,
    },
    /// `add server B/S A:P PARAMS…`, then `enable server` (and `enable health` when it has checks).
    AddServer {
        /// The backend.
        backend: String,
        /// The server.
        server: String,
        /// As in haproxy.cfg: `10.0.0.1:8080`.
        address: String,
        /// Every parameter written out, since `add server` inherits nothing from default-server.
        params: Vec<String>,
        /// Whether it starts ready, or stays in maintenance (`disabled` in haproxy.cfg).
        enabled: bool,
    },
    /// Maintenance, wait until its connections are gone, `del server B/S`.
    DeleteServer {
        /// The backend.
        backend: String,
        /// The server.
        server: String,
    },
}

impl std::fmt::Display for Operation {
    /// What a person reads in a plan: `add server shop/web_1 10.0.0.1:8080`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SetServerAddress { backend, server, address, port } => {
                write!(f, "set server {backend}/{server} addr {address} port {port}")
            }
            Self::SetServerWeight { backend, server, weight } => {
                write!(f, "set server {backend}/{server} weight {weight}")
            }
            Self::SetServerState { backend, server, state } => {
                write!(f, "set server {backend}/{server} state {state:?}")
            }
            Self::SetServerMaxconn { backend, server, maxconn } => {
                write!(f, "set maxconn server {backend}/{server} {maxconn}")
            }
            Self::AddServer { backend, server, address, .. } => {
                write!(f, "add server {backend}/{server} {address}")
            }
            Self::DeleteServer { backend, server } => write!(f, "del server {backend}/{server}"),
        }
    }
}
