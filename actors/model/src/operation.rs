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

/// A setting of a server's checks that its socket can change (`set server B/S agent-port 9` and the like).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckSetting {
    /// Where health checks connect to: 1 to 65535.
    CheckPort,
    /// Where agent checks connect to: an IP address.
    AgentAddr,
    /// Where agent checks connect to: 1 to 65535.
    AgentPort,
    /// What agent checks send.
    AgentSend,
}

impl CheckSetting {
    /// As `set server` calls it.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::CheckPort => "check-port",
            Self::AgentAddr => "agent-addr",
            Self::AgentPort => "agent-port",
            Self::AgentSend => "agent-send",
        }
    }
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
    /// `set server B/S check-port N`, or another setting of its checks.
    SetServerCheck {
        /// The backend.
        backend: String,
        /// The server, which has checks of that kind.
        server: String,
        /// Which setting.
        setting: CheckSetting,
        /// Its new value.
        value: String,
    },
    /// `add server B/S A:P PARAMS…`, `enable health` when it has checks, `enable server` when it is enabled, and then `enable
    /// agent` when it has an agent: in the other order, HAProxy 3.0 and 3.2 hold it for down until the agent answers.
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
        /// Those of its parameters that [`Self::AddServer`] would give it, in case it is wanted again before it is gone.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        params: Vec<String>,
    },
    /// `add backend B from D`: HAProxy 3.4 and later. It takes no traffic until [`Self::PublishBackend`].
    AddBackend {
        /// The backend.
        backend: String,
        /// The named defaults section that it takes everything from.
        defaults: String,
    },
    /// `publish backend B`: rules can choose it.
    PublishBackend {
        /// The backend.
        backend: String,
    },
    /// `unpublish backend B`: rules cannot choose it any more; requests under way finish.
    UnpublishBackend {
        /// The backend.
        backend: String,
    },
    /// `del backend B`, as soon as its servers and requests are gone.
    DeleteBackend {
        /// The backend.
        backend: String,
        /// Where it came from, in case it is wanted again before it is gone.
        defaults: String,
    },
    /// `set map F K V`.
    SetMapEntry {
        /// The map's path, as haproxy.cfg names it.
        map: String,
        /// A key that the map has once.
        key: String,
        /// Its new value.
        value: String,
    },
    /// `add map F K V`, at the end of the map.
    AddMapEntry {
        /// The map's path, as haproxy.cfg names it.
        map: String,
        /// A key that the map does not have.
        key: String,
        /// Its value.
        value: String,
    },
    /// `del map F K`.
    DelMapEntry {
        /// The map's path, as haproxy.cfg names it.
        map: String,
        /// A key that the map has once.
        key: String,
    },
    /// `prepare map F`, `add map @V F`, `commit map @V F`: at once, all entries of the target's file of that path.
    ReplaceMap {
        /// The map's path, as haproxy.cfg names it.
        map: String,
    },
    /// `add acl F P`.
    AddAclEntry {
        /// The file's path, as haproxy.cfg names it.
        acl: String,
        /// A whole line of it.
        pattern: String,
    },
    /// `del acl F P`.
    DelAclEntry {
        /// The file's path, as haproxy.cfg names it.
        acl: String,
        /// A whole line of it.
        pattern: String,
    },
    /// `new ssl cert F`, then as [`Self::SetCertificate`].
    AddCertificate {
        /// The file's path, as crt-lists name it.
        certificate: String,
    },
    /// `set ssl cert F` with the content of the target's file of that path, `commit ssl cert F`.
    SetCertificate {
        /// The file's path, as crt-lists or haproxy.cfg name it.
        certificate: String,
    },
    /// `del ssl cert F`: nothing names it any more.
    DeleteCertificate {
        /// The file's path.
        certificate: String,
    },
    /// `new ssl ca-file F`, then as [`Self::SetCaFile`].
    AddCaFile {
        /// The file's path, as haproxy.cfg names it.
        file: String,
    },
    /// `set ssl ca-file F` with the content of the target's file of that path, `commit ssl ca-file F`.
    SetCaFile {
        /// The file's path, as haproxy.cfg names it.
        file: String,
    },
    /// `del ssl ca-file F`: nothing names it any more.
    DeleteCaFile {
        /// The file's path.
        file: String,
    },
    /// `add ssl crt-list L` with one line.
    AddCrtListLine {
        /// The list's path, as haproxy.cfg names it.
        list: String,
        /// The line: a certificate, options in brackets, hosts.
        line: String,
    },
    /// `del ssl crt-list L F:N`, where N is the number that HAProxy has for that line.
    DeleteCrtListLine {
        /// The list's path, as haproxy.cfg names it.
        list: String,
        /// The line, as it was added.
        line: String,
    },
    /// `set maxconn frontend F N`.
    SetFrontendMaxconn {
        /// The frontend.
        frontend: String,
        /// At least 1.
        maxconn: u32,
    },
}

impl Operation {
    /// What it does, without what it does it to: `add server`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::SetServerAddress { .. } => "set server addr",
            Self::SetServerWeight { .. } => "set server weight",
            Self::SetServerState { .. } => "set server state",
            Self::SetServerMaxconn { .. } => "set maxconn server",
            Self::SetServerCheck { .. } => "set server check",
            Self::AddServer { .. } => "add server",
            Self::DeleteServer { .. } => "del server",
            Self::AddBackend { .. } => "add backend",
            Self::PublishBackend { .. } => "publish backend",
            Self::UnpublishBackend { .. } => "unpublish backend",
            Self::DeleteBackend { .. } => "del backend",
            Self::SetMapEntry { .. } => "set map",
            Self::AddMapEntry { .. } => "add map",
            Self::DelMapEntry { .. } => "del map",
            Self::ReplaceMap { .. } => "replace map",
            Self::AddAclEntry { .. } => "add acl",
            Self::DelAclEntry { .. } => "del acl",
            Self::AddCertificate { .. } => "new ssl cert",
            Self::SetCertificate { .. } => "set ssl cert",
            Self::DeleteCertificate { .. } => "del ssl cert",
            Self::AddCaFile { .. } => "new ssl ca-file",
            Self::SetCaFile { .. } => "set ssl ca-file",
            Self::DeleteCaFile { .. } => "del ssl ca-file",
            Self::AddCrtListLine { .. } => "add ssl crt-list",
            Self::DeleteCrtListLine { .. } => "del ssl crt-list",
            Self::SetFrontendMaxconn { .. } => "set maxconn frontend",
        }
    }
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
            Self::SetServerCheck { backend, server, setting, value } => {
                write!(f, "set server {backend}/{server} {} {value}", setting.keyword())
            }
            Self::AddServer { backend, server, address, .. } => {
                write!(f, "add server {backend}/{server} {address}")
            }
            Self::DeleteServer { backend, server, .. } => write!(f, "del server {backend}/{server}"),
            Self::AddBackend { backend, defaults } => write!(f, "add backend {backend} from {defaults}"),
            Self::PublishBackend { backend } => write!(f, "publish backend {backend}"),
            Self::UnpublishBackend { backend } => write!(f, "unpublish backend {backend}"),
            Self::DeleteBackend { backend, .. } => write!(f, "del backend {backend}"),
            Self::SetMapEntry { map, key, value } => write!(f, "set map {map} {key} {value}"),
            Self::AddMapEntry { map, key, value } => write!(f, "add map {map} {key} {value}"),
            Self::DelMapEntry { map, key } => write!(f, "del map {map} {key}"),
            Self::ReplaceMap { map } => write!(f, "replace map {map}"),
            Self::AddAclEntry { acl, pattern } => write!(f, "add acl {acl} {pattern}"),
            Self::DelAclEntry { acl, pattern } => write!(f, "del acl {acl} {pattern}"),
            Self::AddCertificate { certificate } => write!(f, "new ssl cert {certificate}"),
            Self::SetCertificate { certificate } => write!(f, "set ssl cert {certificate}"),
            Self::DeleteCertificate { certificate } => write!(f, "del ssl cert {certificate}"),
            Self::AddCaFile { file } => write!(f, "new ssl ca-file {file}"),
            Self::SetCaFile { file } => write!(f, "set ssl ca-file {file}"),
            Self::DeleteCaFile { file } => write!(f, "del ssl ca-file {file}"),
            Self::AddCrtListLine { list, line } => write!(f, "add ssl crt-list {list} {line}"),
            Self::DeleteCrtListLine { list, line } => write!(f, "del ssl crt-list {list} {line}"),
            Self::SetFrontendMaxconn { frontend, maxconn } => {
                write!(f, "set maxconn frontend {frontend} {maxconn}")
            }
        }
    }
}
