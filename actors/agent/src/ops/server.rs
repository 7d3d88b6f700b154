//! Servers: `set server`, `add server` and `del server`.

use super::{
    argument::{name, parameter},
    exchange::{Batch, Exchange, Preparation, PreparedOperation, PriorOperations, accepted, first_and_rest},
    read_back::{Expectation, ExpectedServer, ReadBack, ReadBackVerdict, statistics},
    removals,
};
use crate::disk::ledger::Removal;
use haptic_model::operation::{CheckSetting, ServerState};
use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
};

/// A server that is to be added.
#[derive(Clone, Copy)]
pub(super) struct NewServer<'o> {
    pub(super) backend: &'o str,
    pub(super) server: &'o str,
    pub(super) address: &'o str,
    pub(super) params: &'o [String],
    pub(super) enabled: bool,
}

// --- commands --------------------------------------------------------------------------------------

pub(super) fn set_address<'o>(
    backend: &'o str,
    server: &'o str,
    address: &str,
    port: u16,
) -> Preparation<'o> {
    let ip: IpAddr = address.parse().map_err(|_| format!("{address:?} is not an IP address"))?;
    if port == 0 {
        return Err("port 0 is none".to_owned());
    }
    let setting = format!("addr {ip} port {port}");
    set(backend, server, &setting, move |expected| expected.address = Some((ip, port)))
}

pub(super) fn set_weight<'o>(backend: &'o str, server: &'o str, weight: u16) -> Preparation<'o> {
    if weight > 256 {
        return Err(format!("weight {weight} is above 256"));
    }
    set(backend, server, &format!("weight {weight}"), move |expected| expected.weight = Some(weight.into()))
}

pub(super) fn set_state<'o>(backend: &'o str, server: &'o str, state: ServerState) -> Preparation<'o> {
    let word = match state {
        ServerState::Ready => "ready",
        ServerState::Drain => "drain",
        ServerState::Maint => "maint",
    };
    set(backend, server, &format!("state {word}"), move |expected| expected.state = Some(state))
}

/// The check's settings are not read back, but the server must be there.
pub(super) fn set_check<'o>(
    backend: &'o str,
    server: &'o str,
    check: CheckSetting,
    value: &str,
) -> Preparation<'o> {
    // HAProxy takes any number for a port.
    let fits = match check {
        CheckSetting::CheckPort | CheckSetting::AgentPort => value.parse::<u16>().is_ok_and(|port| port > 0),
        CheckSetting::AgentAddr => value.parse::<IpAddr>().is_ok(),
        CheckSetting::AgentSend => true,
    };
    if !fits {
        return Err(format!("{} {value:?} is none", check.keyword()));
    }
    set(backend, server, &format!("{} {}", check.keyword(), parameter(value)?), |_| {})
}

/// `set server B/S SETTING`.
fn set<'o>(
    backend: &'o str,
    server: &'o str,
    setting: &str,
    expect: impl Fn(&mut ExpectedServer) + Send + Sync + 'o,
) -> Preparation<'o> {
    let set = PreparedOperation::one(format!("set server {} {setting}", full_name(backend, server)?));
    Ok(set.in_batch(Batch::Settings).expecting(move |all| expect(all.server(backend, server))))
}

pub(super) fn set_maxconn<'o>(backend: &'o str, server: &'o str, maxconn: u32) -> Preparation<'o> {
    let name = full_name(backend, server)?;
    let set = PreparedOperation::one(format!("set maxconn server {name} {maxconn}"));
    let expect = move |all: &mut Expectation<'o>| all.server(backend, server).maxconn = Some(maxconn);
    Ok(set.in_batch(Batch::Settings).expecting(expect))
}

pub(super) fn add(new: NewServer<'_>) -> Preparation<'_> {
    let name = full_name(new.backend, new.server)?;
    check_address(new.address)?;
    let mut add = format!("add server {name} {}", parameter(new.address)?);
    for param in new.params {
        add.push(' ');
        add.push_str(&parameter(param)?);
    }
    let has = |keyword: &str| new.params.iter().any(|param| param == keyword);
    let mut commands = vec![add];
    // A server that was added starts in maintenance, and its checks stopped.
    if has("check") {
        commands.push(format!("enable health {name}"));
    }
    if new.enabled {
        commands.push(format!("enable server {name}"));
        // An agent that is enabled before its server has the server down until it answers (HAProxy 3.0 and 3.2).
        if has("agent-check") {
            commands.push(format!("enable agent {name}"));
        }
    }
    let begin = move |commands, prior: &PriorOperations<'_>| new.begin(commands, prior);
    let prepared = PreparedOperation::new(commands).in_batch(Batch::Additions).beginning(begin);
    Ok(prepared.expecting(move |all| *all.server(new.backend, new.server) = new.expected()))
}

impl<'o> NewServer<'o> {
    fn expected(&self) -> ExpectedServer {
        ExpectedServer {
            deleted: false,
            address: socket_address(self.address),
            weight: weight_of(self.params),
            state: Some(if self.enabled { ServerState::Ready } else { ServerState::Maint }),
            maxconn: None,
        }
    }

    /// A server that was waiting to be removed may still be there, and have another address: it is enabled once that is known.
    /// One that has other parameters cannot come back before it is gone: HAProxy would go on with those.
    fn begin(self, commands: Vec<String>, prior: &PriorOperations<'_>) -> Result<Exchange<'o>, String> {
        let removal = Removal::server(self.backend, self.server);
        let before = prior.ledger.cancel(&removal);
        let waited = before.is_some();
        let adjust = self.adjust()?;
        let (add, enable) = first_and_rest(commands);
        let now =
            if waited { [vec![removal.command()], add].concat() } else { [add, enable.clone()].concat() };
        Ok(Exchange::new(now, move |replies, ledger| {
            let replies = replies.get(usize::from(waited)..).unwrap_or_default();
            if replies.first().is_some_and(|added| added.says().exists()) {
                if let Some(before) = before.filter(|before| *before != lasting(self.params)) {
                    ledger.wait_for(removal, &before);
                    let (backend, server) = (self.backend, self.server);
                    return Err(format!(
                        "server {backend}/{server} still finishes requests, and had other parameters"
                    ));
                }
                return Ok(Exchange::then([adjust, enable].concat()));
            }
            accepted(replies)?;
            Ok(if waited { Exchange::then(enable) } else { None })
        }))
    }

    /// Commands that make a server that is there already like this one.
    fn adjust(&self) -> Result<Vec<String>, String> {
        let mut prepared = Vec::new();
        if let Some((ip, port)) = socket_address(self.address) {
            prepared.push(set_address(self.backend, self.server, &ip.to_string(), port)?);
        }
        if let Ok(weight) = u16::try_from(weight_of(self.params).unwrap_or(1)) {
            prepared.push(set_weight(self.backend, self.server, weight).map_err(|problem| {
                format!("set server {}/{} weight {weight}: {problem}", self.backend, self.server)
            })?);
        }
        Ok(prepared.into_iter().flat_map(|prepared| prepared.commands).collect())
    }
}

pub(super) fn delete<'o>(backend: &'o str, server: &'o str, params: &[String]) -> Preparation<'o> {
    let name = full_name(backend, server)?;
    let commands = vec![format!("set server {name} state maint"), format!("del server {name}")];
    let deletion = removals::deletion(commands, Removal::server(backend, server), lasting(params));
    let deleted = ExpectedServer { deleted: true, ..ExpectedServer::default() };
    Ok(deletion.expecting(move |all| *all.server(backend, server) = deleted.clone()))
}

fn full_name(backend: &str, server: &str) -> Result<String, String> {
    Ok(format!("{}/{}", name(backend)?, name(server)?))
}

/// A server's address: IP and port, or a socket's path. HAProxy resolves no names of servers added at run time.
fn check_address(address: &str) -> Result<(), String> {
    if address.strip_prefix("unix@").unwrap_or(address).starts_with('/') {
        return Ok(());
    }
    match socket_address(address) {
        Some((_, port)) if port > 0 => Ok(()),
        _ => Err(format!("{address:?} is neither an IP address with a port nor a socket's path")),
    }
}

/// An address as in haproxy.cfg, when it is an IP address with a port.
fn socket_address(address: &str) -> Option<(IpAddr, u16)> {
    let bare = address.strip_prefix("ipv4@").or_else(|| address.strip_prefix("ipv6@")).unwrap_or(address);
    if let Ok(socket) = bare.parse::<SocketAddr>() {
        return Some((socket.ip(), socket.port()));
    }
    // HAProxy also takes fd00::1:80 without brackets: the last colon separates the port.
    let (ip, port) = bare.rsplit_once(':')?;
    Some((ip.parse().ok()?, port.parse().ok()?))
}

/// The weight among a server's parameters.
fn weight_of(params: &[String]) -> Option<u32> {
    let at = params.iter().position(|p| p == "weight")?;
    params.get(at + 1)?.parse().ok()
}

/// The parameters that a server has as long as it is there, one a line: all but its weight.
fn lasting(params: &[String]) -> String {
    let weight = params.iter().position(|param| param == "weight");
    let is_lasting = |at: usize| weight.is_none_or(|weight| at != weight && at != weight + 1);
    let lasting = params.iter().enumerate().filter(|(at, _)| is_lasting(*at));
    lasting.map(|(_, param)| param.as_str()).collect::<Vec<_>>().join("\n")
}

// --- reading back ----------------------------------------------------------------------------------

/// How `backend`'s servers differ from what is expected, given the answer to `show servers state BACKEND`.
pub(super) fn differences(all: &Expectation<'_>, backend: &str, answer: &str) -> Vec<String> {
    let mut columns = StateColumns::default();
    let rows = answer.lines().filter_map(|line| columns.row(line));
    let shown: BTreeMap<&str, StateRow<'_>> = rows.map(|row| (row.server, row)).collect();
    let servers = all.servers.get(backend).into_iter().flatten();
    let differences = servers.filter_map(|(name, expected)| {
        let difference = expected.difference(shown.get(name))?;
        Some(format!("server {backend}/{name} {difference}"))
    });
    differences.collect()
}

/// `show servers state` does not show maxconn.
pub(super) fn questions_about_maxconn<'e>(all: &'e Expectation<'_>) -> impl Iterator<Item = ReadBack<'e>> {
    all.servers.iter().filter_map(|(backend, servers)| about_maxconn(backend, servers))
}

fn about_maxconn<'e>(backend: &'e str, servers: &'e BTreeMap<&str, ExpectedServer>) -> Option<ReadBack<'e>> {
    let expected: BTreeMap<&str, u32> =
        servers.iter().filter_map(|(name, server)| Some((*name, server.maxconn?))).collect();
    if expected.is_empty() {
        return None;
    }
    Some(ReadBack::new(format!("show stat {backend} 4 -1"), move |answer| {
        let shown = statistics(answer, "slim").filter_map(|(_, server, limit)| {
            let is = if limit.is_empty() { 0 } else { limit.parse::<u32>().ok()? };
            let expected = expected.get(server).filter(|expected| **expected != is)?;
            Some(format!("server {backend}/{server} has maxconn {is}, not {expected}"))
        });
        ReadBackVerdict::all(shown.collect())
    }))
}

impl ExpectedServer {
    fn difference(&self, shown: Option<&StateRow<'_>>) -> Option<String> {
        let Some(shown) = shown else {
            return (!self.deleted).then(|| "is not there".to_owned());
        };
        if self.deleted {
            // It finishes its connections in maintenance and is removed then.
            let takes_traffic = shown.admin & FORCED_MAINT == 0;
            return takes_traffic.then(|| "still takes traffic, though it is deleted".to_owned());
        }
        if let (Some(expected), Some(is)) = (self.address, shown.address.zip(shown.port))
            && expected != is
        {
            return Some(format!("is at {} port {}, not at {} port {}", is.0, is.1, expected.0, expected.1));
        }
        if let Some(weight) = self.weight
            && weight != shown.weight
        {
            return Some(format!("has weight {}, not {weight}", shown.weight));
        }
        let state = self.state.filter(|state| !shown.was_set_to(*state))?;
        Some(format!("is not in state {state:?} (its administrative state is {})", shown.admin))
    }
}

// --- `show servers state` --------------------------------------------------------------------------

/// Administrative state bits of `srv_admin_state` (management guide, `show servers state`).
const FORCED_MAINT: u32 = 0x01;
const FORCED_DRAIN: u32 = 0x08;
const MAINT: u32 = FORCED_MAINT | 0x02 | 0x04 | 0x20 | 0x40;
const DRAIN: u32 = FORCED_DRAIN | 0x10;

/// Reads `show servers state` line by line: there may be ten thousands. Columns are found by their names, so that new ones do
/// no harm.
#[derive(Debug, Default)]
pub(crate) struct StateColumns(Vec<String>);

/// One server as HAProxy shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateRow<'l> {
    pub(crate) backend: &'l str,
    pub(crate) server: &'l str,
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: Option<u16>,
    pub(crate) weight: u32,
    admin: u32,
}

impl StateColumns {
    pub(crate) fn row<'l>(&mut self, line: &'l str) -> Option<StateRow<'l>> {
        if let Some(header) = line.strip_prefix("# ") {
            self.0 = header.split(' ').map(str::to_owned).collect();
            return None;
        }
        let cells: Vec<&str> = line.split(' ').collect();
        let cell = |name: &str| cells.get(self.0.iter().position(|column| column == name)?).copied();
        Some(StateRow {
            backend: cell("be_name")?,
            server: cell("srv_name")?,
            address: cell("srv_addr")?.parse().ok(),
            port: cell("srv_port")?.parse().ok(),
            weight: cell("srv_uweight")?.parse().ok()?,
            admin: cell("srv_admin_state")?.parse().ok()?,
        })
    }
}

impl StateRow<'_> {
    /// In what state it is, for whatever reason.
    pub(crate) fn state(&self) -> ServerState {
        if self.admin & MAINT != 0 {
            ServerState::Maint
        } else if self.admin & DRAIN != 0 {
            ServerState::Drain
        } else {
            ServerState::Ready
        }
    }

    fn was_set_to(&self, state: ServerState) -> bool {
        match state {
            ServerState::Ready => self.admin & (FORCED_MAINT | FORCED_DRAIN) == 0,
            ServerState::Drain => self.admin & FORCED_DRAIN != 0,
            ServerState::Maint => self.admin & FORCED_MAINT != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_as_haproxy_shows_them() {
        let mut columns = StateColumns::default();
        let header =
            "# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_port";
        assert_eq!(columns.row("1"), None);
        assert_eq!(columns.row(header), None);
        let server = columns.row("3 b 1 s1 127.0.0.1 0 5 7 80").unwrap();
        assert_eq!((server.backend, server.server, server.port), ("b", "s1", Some(80)));
        assert_eq!((server.weight, server.state()), (7, ServerState::Maint));
        assert_eq!(columns.row("3 b 1 s1 - 0 8 7 80").unwrap().state(), ServerState::Drain);
    }
}
