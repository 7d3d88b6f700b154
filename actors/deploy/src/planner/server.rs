//! One server that comes, goes or changes, as socket operations or as the reason why that needs a reload.

use super::{Effect, Reason, ReasonKind, accepted, backend::BackendLines, references::References};
use haptic_haproxy::views::{BackendServer, Parameter};
use haptic_model::{
    Bundle, Operation,
    operation::{CheckSetting, ServerState},
};
use std::net::IpAddr;

/// Where a server stands, and what the running configuration says around it.
#[derive(Clone, Copy)]
pub(super) struct ServerContext<'a> {
    /// The backend's name.
    pub name: &'a str,
    /// Its balancing.
    pub backend: &'a BackendLines,
    /// What the running configuration refers to.
    pub references: &'a References,
    /// The files that come with servers: a certificate among them is loaded before.
    pub brought: Option<&'a Bundle>,
}

/// Parameters that the socket can set on a running server.
const SETTABLE: &[&str] = &["weight", "maxconn", "disabled"];
/// `set server … weight` takes no more.
const MAX_WEIGHT: u16 = 256;

impl ServerContext<'_> {
    /// A server that is new among others.
    pub fn added(&self, server: &BackendServer) -> Effect {
        match self.backend.why_numbered(Some(server)) {
            Some(why) => Effect::Reload(Reason::new(ReasonKind::Server, why)),
            None => self.added_with_all(server),
        }
    }

    /// A server of a backend that is new: they come in the order of their lines.
    pub fn added_with_all(&self, server: &BackendServer) -> Effect {
        match self.add(server) {
            Ok(operation) => Effect::Operations(vec![operation]),
            Err(why) => Effect::Reload(Reason::new(ReasonKind::Server, why)),
        }
    }

    /// The same servers in another order.
    pub fn reordered(&self) -> Option<Effect> {
        Some(Effect::Reload(Reason::new(ReasonKind::Server, self.backend.why_ordered()?)))
    }

    /// A server that is gone, and others stay.
    pub fn removed(&self, server: &BackendServer) -> Effect {
        match self.backend.why_numbered(None) {
            Some(why) => Effect::Reload(Reason::new(ReasonKind::Server, why)),
            None => self.removed_with_all(server),
        }
    }

    /// A server of a backend that is gone.
    pub fn removed_with_all(&self, server: &BackendServer) -> Effect {
        let (backend, name) = (self.name, &server.name);
        if server.param("resolvers").is_some() {
            let why = format!(
                "server {backend}/{name} is gone, and HAProxy keeps one with resolvers until it reloads"
            );
            return Effect::Reload(Reason::new(ReasonKind::Server, why));
        }
        if self.references.names_server(backend, name) {
            let why = format!("server {backend}/{name} is gone, but other lines still name it");
            return Effect::Reload(Reason::new(ReasonKind::Server, why));
        }
        if let Some(why) = self.backend.why_fixed() {
            return Effect::Reload(Reason::new(ReasonKind::Server, why));
        }
        Effect::Operations(vec![Operation::DeleteServer {
            backend: backend.to_owned(),
            server: name.clone(),
            params: given_params(server),
        }])
    }

    /// A server that stays under its name and is another one now.
    pub fn changed(&self, old: &BackendServer, new: &BackendServer) -> Effect {
        match self.change(old, new) {
            Ok(operations) => Effect::Operations(operations),
            Err(why) => Effect::Reload(Reason::new(ReasonKind::Server, why)),
        }
    }

    fn add(&self, server: &BackendServer) -> Result<Operation, String> {
        if let Some(why) = self.backend.why_fixed() {
            return Err(why);
        }
        let at = format!("server {}/{}", self.name, server.name);
        let (_, port) = plain_address(server).ok_or_else(|| {
            format!("{at}: only an IP address can be added at run time, and {} is none", server.endpoint)
        })?;
        if port.is_none() {
            return Err(format!("{at}: only an address with a port can be added at run time"));
        }
        if server.param("backup").is_some() {
            return Err(format!(
                "{at}: backup servers are used in the order of their lines, and it would be the last"
            ));
        }
        if server.is_disabled() && server.param("agent-check").is_some() {
            // Its agent would be enabled before it, and then HAProxy 3.0 and 3.2 have it down until the agent answers.
            return Err(format!("{at}: one with an agent cannot be added while it is disabled"));
        }
        for parameter in server.effective_params().iter().filter(|parameter| is_given(parameter)) {
            self.check_parameter(&at, parameter)?;
        }
        Ok(Operation::AddServer {
            backend: self.name.to_owned(),
            server: server.name.clone(),
            address: server.endpoint.clone(),
            params: given_params(server),
            enabled: !server.is_disabled(),
        })
    }

    fn check_parameter(&self, at: &str, parameter: &Parameter) -> Result<(), String> {
        let name = &parameter.name;
        if !accepted::is_accepted(parameter) {
            return Err(format!("{at}: HAProxy takes {name} only when it starts"));
        }
        if accepted::has_variable(parameter) {
            return Err(format!(
                "{at}: {name} needs an environment variable, known only when HAProxy starts"
            ));
        }
        if let Some(word) = parameter.words().find(|word| !accepted::is_word(word)) {
            return Err(format!("{at}: {word:?} cannot be given to HAProxy's socket"));
        }
        match parameter.values.first() {
            Some(file) if accepted::names_a_file(parameter) && !self.has_loaded(parameter, file) => {
                Err(format!("{at}: {name} {file} is not loaded yet"))
            }
            _ => Ok(()),
        }
    }

    /// Whether HAProxy has a file once the server comes.
    fn has_loaded(&self, parameter: &Parameter, file: &str) -> bool {
        let is_brought = || self.brought.is_some_and(|bundle| bundle.files.contains_key(file));
        self.references.has_loaded(file) || (parameter.name == "crt" && is_brought())
    }

    /// Settings of checks that are new or others.
    fn checks(&self, at: &str, old: &BackendServer, new: &BackendServer) -> Result<Vec<Operation>, String> {
        let mut operations = Vec::new();
        for parameter in new.effective_params() {
            let (Some(setting), Some(value)) = (setting(&parameter.name), parameter.values.first()) else {
                continue;
            };
            if old.param(&parameter.name).as_ref() == Some(&parameter.values) {
                continue;
            }
            if !is_settable(setting, value) {
                return Err(format!("{at}: the socket does not take {} {value}", parameter.name));
            }
            if setting == CheckSetting::CheckPort
                && new.param("agent-check").is_some()
                && new.param("agent-port").is_none()
            {
                return Err(format!(
                    "{at}: port {value} is that of its agent, too, unless it has agent-port"
                ));
            }
            let (backend, server) = (self.name.to_owned(), new.name.clone());
            operations.push(Operation::SetServerCheck { backend, server, setting, value: value.clone() });
        }
        Ok(operations)
    }

    fn change(&self, old: &BackendServer, new: &BackendServer) -> Result<Vec<Operation>, String> {
        let at = format!("server {}/{}", self.name, new.name);
        if let Some(difference) = unsettable_difference(old, new) {
            return Err(format!("{at}: {difference}"));
        }
        let mut operations = Vec::new();
        let (backend, server) = (self.name.to_owned(), new.name.clone());
        if old.endpoint != new.endpoint {
            let (address, port) = plain_address(new)
                .and_then(|(address, port)| Some((address, port?)))
                .filter(|_| plain_address(old).is_some())
                .ok_or_else(|| {
                    format!("{at}: from {} to {} HAProxy must start anew", old.endpoint, new.endpoint)
                })?;
            let (backend, server) = (backend.clone(), server.clone());
            operations.push(Operation::SetServerAddress {
                backend,
                server,
                address: address.to_string(),
                port,
            });
        }
        let (before, weight) = (number(old, "weight", 1, &at)?, number(new, "weight", 1, &at)?);
        if before != weight {
            if let Some(why) = self.backend.why_fixed() {
                return Err(why);
            }
            let weight = u16::try_from(weight)
                .ok()
                .filter(|weight| *weight <= MAX_WEIGHT)
                .ok_or_else(|| format!("{at}: weight {weight} is more than {MAX_WEIGHT}"))?;
            let (backend, server) = (backend.clone(), server.clone());
            operations.push(Operation::SetServerWeight { backend, server, weight });
        }
        let (before, maxconn) = (number(old, "maxconn", 0, &at)?, number(new, "maxconn", 0, &at)?);
        if before != maxconn {
            // `set maxconn server` changes both where both are the same, and a start only what is written.
            if new.param("minconn").is_some() {
                return Err(format!("{at}: maxconn changed, and it has minconn"));
            }
            let (backend, server) = (backend.clone(), server.clone());
            operations.push(Operation::SetServerMaxconn { backend, server, maxconn });
        }
        operations.extend(self.checks(&at, old, new)?);
        // Out of service before anything else changes; into service when everything has.
        match (old.is_disabled(), new.is_disabled()) {
            (false, true) => {
                operations
                    .insert(0, Operation::SetServerState { backend, server, state: ServerState::Maint });
            }
            (true, false) => {
                operations.push(Operation::SetServerState { backend, server, state: ServerState::Ready });
            }
            _ => {}
        }
        Ok(operations)
    }
}

/// Whether `add server` is given the parameter.
fn is_given(parameter: &Parameter) -> bool {
    parameter.name != "disabled" && !accepted::is_default(parameter)
}

/// A server's parameters as `add server` is given them.
fn given_params(server: &BackendServer) -> Vec<String> {
    let params = server.effective_params();
    let given = params.iter().filter(|parameter| is_given(parameter));
    given.flat_map(|parameter| parameter.words()).map(str::to_owned).collect()
}

/// IP address and port, as far as written: an address that HAProxy need not resolve, map or open as a path.
fn plain_address(server: &BackendServer) -> Option<(IpAddr, Option<u16>)> {
    let address: IpAddr = server.address.parse().ok()?;
    (server.port != Some(0)).then_some((address, server.port))
}

fn number(server: &BackendServer, name: &str, absent: u32, at: &str) -> Result<u32, String> {
    let Some(values) = server.param(name) else { return Ok(absent) };
    let value = values.first().map(String::as_str).unwrap_or_default();
    value.parse().map_err(|_| format!("{at}: {name} {value:?} is not a plain number"))
}

/// The settings of checks, by the parameters that set them. An address for health checks (`addr`) is none: HAProxy 3.4.7
/// answers `invalid addr` to every one.
fn setting(name: &str) -> Option<CheckSetting> {
    match name {
        "port" => Some(CheckSetting::CheckPort),
        "agent-addr" => Some(CheckSetting::AgentAddr),
        "agent-port" => Some(CheckSetting::AgentPort),
        "agent-send" => Some(CheckSetting::AgentSend),
        _ => None,
    }
}

/// Whether the socket takes `value`: it takes any number for a port, and sends what it is given.
fn is_settable(setting: CheckSetting, value: &str) -> bool {
    match setting {
        CheckSetting::CheckPort | CheckSetting::AgentPort => value.parse::<u16>().is_ok_and(|port| port > 0),
        CheckSetting::AgentAddr => value.parse::<IpAddr>().is_ok(),
        CheckSetting::AgentSend => accepted::is_word(value) && !value.contains('$'),
    }
}

/// What differs besides address, weight, maxconn and state: `inter 2s became inter 5s`.
fn unsettable_difference(old: &BackendServer, new: &BackendServer) -> Option<String> {
    let lasting = |server: &BackendServer| {
        let mut params = server.effective_params();
        params.retain(|p| !SETTABLE.contains(&p.name.as_str()) && !accepted::is_default(p));
        params
    };
    let has = |name: &str| old.param(name).is_some() && new.param(name).is_some();
    let is_set = |parameter: &Parameter| {
        let Some(setting) = setting(&parameter.name) else { return false };
        let checks = if setting == CheckSetting::CheckPort { "check" } else { "agent-check" };
        has(checks) && parameter.values.first().is_some_and(|value| is_settable(setting, value))
    };
    let (before, after) = (lasting(old), lasting(new));
    let words = |parameter: &Parameter| parameter.words().collect::<Vec<_>>().join(" ");
    for parameter in &after {
        match before.iter().find(|known| known.name == parameter.name) {
            // One that is gone cannot be unset.
            _ if is_set(parameter) => {}
            None => return Some(format!("{} is new", words(parameter))),
            Some(known) if known != parameter => {
                return Some(format!("{} became {}", words(known), words(parameter)));
            }
            Some(_) => {}
        }
    }
    if old.has_variable != new.has_variable {
        return Some("what was an environment variable is plain text, or the other way round".to_owned());
    }
    if !new.keeps_order_of(old) {
        return Some("parameters whose order matters stand in another one".to_owned());
    }
    let gone = before.iter().find(|known| !after.iter().any(|parameter| parameter.name == known.name))?;
    Some(format!("{} is gone", words(gone)))
}
