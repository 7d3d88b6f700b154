//! Does HAProxy now run what the operations asked for? A pure comparison of `show servers state` with the operations.

use crate::command;
use haptic_model::{Operation, operation::ServerState};
use std::{collections::BTreeMap, net::IpAddr};

/// Administrative state bits of `srv_admin_state` (management guide, `show servers state`).
const FORCED_MAINT: u32 = 0x01;
const FORCED_DRAIN: u32 = 0x08;

/// What one server must be after the operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wanted {
    deleted: bool,
    address: Option<(IpAddr, u16)>,
    weight: Option<u32>,
    state: Option<ServerState>,
    maxconn: Option<u32>,
}

/// One server as HAProxy shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) address: Option<(IpAddr, u16)>,
    pub(crate) weight: u32,
    pub(crate) admin: u32,
    pub(crate) maxconn: Option<u32>,
}

/// What the servers must be, by backend and server.
#[derive(Debug, Default)]
pub(crate) struct Expectation(BTreeMap<String, BTreeMap<String, Wanted>>);

impl Expectation {
    /// The sum of `operations`.
    pub(crate) fn of(operations: &[Operation]) -> Self {
        let mut all = Self::default();
        for operation in operations {
            let Some((backend, server)) = command::target(operation) else { continue };
            let wanted = all.0.entry(backend.to_owned()).or_default().entry(server.to_owned()).or_default();
            wanted.then(operation);
        }
        all
    }

    /// The backends to look at, and whether their servers' maxconn matters.
    pub(crate) fn backends(&self) -> impl Iterator<Item = (&str, bool)> {
        self.0
            .iter()
            .map(|(backend, servers)| (backend.as_str(), servers.values().any(|w| w.maxconn.is_some())))
    }

    /// How `backend`'s servers differ from what is wanted, in words.
    pub(crate) fn differences(&self, backend: &str, shown: &BTreeMap<String, Shown>) -> Vec<String> {
        let servers = self.0.get(backend).into_iter().flatten();
        servers
            .filter_map(|(name, wanted)| {
                let problem = wanted.difference(shown.get(name))?;
                Some(format!("server {backend}/{name} {problem}"))
            })
            .collect()
    }
}

impl Wanted {
    fn then(&mut self, operation: &Operation) {
        match operation {
            Operation::SetServerAddress { address, port, .. } => {
                self.address = address.parse().ok().map(|ip| (ip, *port));
            }
            Operation::SetServerWeight { weight, .. } => self.weight = Some(u32::from(*weight)),
            Operation::SetServerState { state, .. } => self.state = Some(*state),
            Operation::SetServerMaxconn { maxconn, .. } => self.maxconn = Some(*maxconn),
            Operation::AddServer { address, params, enabled, .. } => {
                *self = Self {
                    deleted: false,
                    address: command::socket_address(address),
                    weight: weight_of(params),
                    state: Some(if *enabled { ServerState::Ready } else { ServerState::Maint }),
                    maxconn: None,
                };
            }
            Operation::DeleteServer { .. } => *self = Self { deleted: true, ..Self::default() },
            _ => {}
        }
    }

    fn difference(&self, shown: Option<&Shown>) -> Option<String> {
        let Some(shown) = shown else {
            return (!self.deleted).then(|| "is not there".to_owned());
        };
        if self.deleted {
            // It finishes its connections in maintenance and is removed then.
            let takes_traffic = shown.admin & FORCED_MAINT == 0;
            return takes_traffic.then(|| "still takes traffic, though it is deleted".to_owned());
        }
        if let (Some(wanted), Some(is)) = (self.address, shown.address)
            && wanted != is
        {
            return Some(format!("is at {} port {}, not at {} port {}", is.0, is.1, wanted.0, wanted.1));
        }
        if let Some(weight) = self.weight
            && weight != shown.weight
        {
            return Some(format!("has weight {}, not {weight}", shown.weight));
        }
        if let (Some(wanted), Some(is)) = (self.maxconn, shown.maxconn)
            && wanted != is
        {
            return Some(format!("has maxconn {is}, not {wanted}"));
        }
        let state = self.state.filter(|state| !in_state(shown.admin, *state))?;
        Some(format!("is not in state {state:?} (its administrative state is {})", shown.admin))
    }
}

fn in_state(admin: u32, state: ServerState) -> bool {
    match state {
        ServerState::Ready => admin & (FORCED_MAINT | FORCED_DRAIN) == 0,
        ServerState::Drain => admin & FORCED_DRAIN != 0,
        ServerState::Maint => admin & FORCED_MAINT != 0,
    }
}

/// The weight among a server's parameters.
pub(crate) fn weight_of(params: &[String]) -> Option<u32> {
    let at = params.iter().position(|p| p == "weight")?;
    params.get(at + 1)?.parse().ok()
}

/// Reads `show servers state BACKEND`. Columns are found by their names, so that new ones do no harm.
pub(crate) fn servers(answer: &str) -> BTreeMap<String, Shown> {
    let mut lines = answer.lines();
    let Some(header) = lines.find_map(|l| l.strip_prefix("# ")) else { return BTreeMap::new() };
    let columns: Vec<&str> = header.split(' ').collect();
    let rows =
        lines.map(|line| -> BTreeMap<&str, &str> { columns.iter().copied().zip(line.split(' ')).collect() });
    rows.filter_map(|row| {
        let number = |column: &str| row.get(column)?.parse::<u32>().ok();
        let ip = row.get("srv_addr").and_then(|ip| ip.parse().ok());
        let port = number("srv_port").and_then(|port| u16::try_from(port).ok());
        let shown = Shown {
            address: ip.zip(port),
            weight: number("srv_uweight")?,
            admin: number("srv_admin_state")?,
            maxconn: None,
        };
        Some(((*row.get("srv_name")?).to_owned(), shown))
    })
    .collect()
}

/// Adds each server's maxconn from `show stat BACKEND 4 -1`: its column is `slim`, empty for none.
pub(crate) fn add_maxconn(answer: &str, servers: &mut BTreeMap<String, Shown>) {
    let mut lines = answer.lines();
    let Some(header) = lines.find_map(|l| l.strip_prefix("# ")) else { return };
    let Some(at) = header.split(',').position(|column| column == "slim") else { return };
    for line in lines {
        let mut cells = line.split(',');
        let server = cells.nth(1).and_then(|name| servers.get_mut(name));
        if let Some(server) = server {
            let slim = line.split(',').nth(at).unwrap_or_default();
            server.maxconn = if slim.is_empty() { Some(0) } else { slim.parse().ok() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port\n2 k 1 s1 127.0.0.5 2 8 20 1 1 1 0 2 0 0 0 0 - 99 - 0 0 - - 0\n2 k 2 s2 127.0.0.1 0 5 5 5 1 1 0 0 8 0 0 0 - 2 - 0 0 - - 0\n2 k 3 u - 0 1 1 1 0 1 0 0 0 0 0 0 - 0 - 0 0 - - 0\n";

    fn names() -> (String, String) {
        ("k".to_owned(), "s1".to_owned())
    }

    fn differences(operations: &[Operation]) -> Vec<String> {
        Expectation::of(operations).differences("k", &servers(STATE))
    }

    #[test]
    fn a_server_that_is_as_wanted_is_no_difference() {
        let (backend, server) = names();
        let set = Operation::SetServerAddress {
            backend: backend.clone(),
            server: server.clone(),
            address: "127.0.0.5".to_owned(),
            port: 99,
        };
        let drain = Operation::SetServerState { backend, server, state: ServerState::Drain };
        assert!(differences(&[set, drain]).is_empty());
    }

    #[test]
    fn each_difference_is_told() {
        let (backend, server) = names();
        let ready = Operation::SetServerState {
            backend: backend.clone(),
            server: server.clone(),
            state: ServerState::Ready,
        };
        assert!(differences(&[ready])[0].contains("not in state Ready"));
        let weight =
            Operation::SetServerWeight { backend: backend.clone(), server: server.clone(), weight: 7 };
        assert_eq!(differences(&[weight]), ["server k/s1 has weight 20, not 7"]);
        let delete = Operation::DeleteServer { backend: backend.clone(), server };
        assert!(differences(&[delete])[0].contains("still takes traffic"));
        let gone = Operation::SetServerWeight { backend, server: "gone".to_owned(), weight: 7 };
        assert_eq!(differences(&[gone]), ["server k/gone is not there"]);
    }

    #[test]
    fn a_deleted_server_in_maintenance_is_as_wanted() {
        let delete = Operation::DeleteServer { backend: "k".to_owned(), server: "s2".to_owned() };
        assert!(differences(&[delete]).is_empty());
    }

    #[test]
    fn maxconn_is_read_from_the_statistics() {
        let mut shown = servers(STATE);
        add_maxconn(
            "# pxname,svname,qcur,qmax,scur,smax,slim,stot\nk,s1,0,0,0,0,44,0\nk,s2,0,0,0,0,,0\n",
            &mut shown,
        );
        assert_eq!((shown["s1"].maxconn, shown["s2"].maxconn, shown["u"].maxconn), (Some(44), Some(0), None));
    }
}
