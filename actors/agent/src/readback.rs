//! Do servers and backends now run as the operations asked for? Pure: questions about the touched backends only, and what
//! their answers must say.

use crate::{
    command,
    question::{Question, Verdict},
};
use haptic_model::{Operation, operation::ServerState};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

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
}

/// What backends and their servers must be.
#[derive(Debug, Default)]
pub(crate) struct Expectation {
    /// By backend and server.
    servers: BTreeMap<String, BTreeMap<String, Wanted>>,
    /// Backends that must be there.
    added: BTreeSet<String>,
    /// Whether rules may choose a backend (HAProxy 3.4).
    published: BTreeMap<String, bool>,
}

/// With more backends than this, one look at all costs HAProxy less than one at each: it searches its list for each.
const FEW_BACKENDS: usize = 32;

impl Expectation {
    /// The sum of `operations`.
    pub(crate) fn of(operations: &[Operation]) -> Self {
        let mut all = Self::default();
        for operation in operations {
            all.then(operation);
        }
        all
    }

    fn then(&mut self, operation: &Operation) {
        if let Some((backend, server)) = command::target(operation) {
            let servers = self.servers.entry(backend.to_owned()).or_default();
            servers.entry(server.to_owned()).or_default().then(operation);
        }
        match operation {
            Operation::AddBackend { backend, .. } => {
                self.added.insert(backend.clone());
            }
            Operation::PublishBackend { backend } => {
                self.published.insert(backend.clone(), true);
            }
            Operation::UnpublishBackend { backend } => {
                self.published.insert(backend.clone(), false);
            }
            Operation::DeleteBackend { backend, .. } => {
                self.added.remove(backend);
            }
            _ => {}
        }
    }

    /// What to ask. A backend that was added and has no servers yet is asked for too.
    pub(crate) fn questions(&self) -> Vec<Question<'_>> {
        let backends: BTreeSet<&String> = self.servers.keys().chain(&self.added).collect();
        let mut questions: Vec<_> = backends.into_iter().map(|backend| self.about_servers(backend)).collect();
        questions
            .extend(self.servers.iter().filter_map(|(backend, servers)| about_maxconn(backend, servers)));
        let published = self.published.iter().map(|(backend, wanted)| (backend.as_str(), *wanted));
        if self.published.len() > FEW_BACKENDS {
            questions.push(about_publication("-1", published.collect()));
        } else {
            questions.extend(published.map(|one| about_publication(one.0, BTreeMap::from([one]))));
        }
        questions
    }

    fn about_servers<'e>(&'e self, backend: &'e str) -> Question<'e> {
        Question::new(format!("show servers state {backend}"), move |answer| {
            if answer.contains("Can't find backend") {
                let gone = self.added.contains(backend) || self.wants_servers(backend);
                return Verdict::of(gone.then(|| format!("there is no backend {backend}")));
            }
            Verdict::all(self.differences(backend, &servers(answer)))
        })
    }

    fn wants_servers(&self, backend: &str) -> bool {
        self.servers.get(backend).is_some_and(|servers| servers.values().any(|wanted| !wanted.deleted))
    }

    /// How `backend`'s servers differ from what is wanted, in words.
    fn differences(&self, backend: &str, shown: &BTreeMap<String, Shown>) -> Vec<String> {
        let servers = self.servers.get(backend).into_iter().flatten();
        servers
            .filter_map(|(name, wanted)| {
                let problem = wanted.difference(shown.get(name))?;
                Some(format!("server {backend}/{name} {problem}"))
            })
            .collect()
    }
}

fn about_maxconn<'e>(backend: &'e str, servers: &'e BTreeMap<String, Wanted>) -> Option<Question<'e>> {
    let wanted: BTreeMap<&str, u32> =
        servers.iter().filter_map(|(name, wanted)| Some((name.as_str(), wanted.maxconn?))).collect();
    if wanted.is_empty() {
        return None;
    }
    Some(Question::new(format!("show stat {backend} 4 -1"), move |answer| {
        let shown = statistics(answer, "slim").filter_map(|(_, server, limit)| {
            let is = if limit.is_empty() { 0 } else { limit.parse::<u32>().ok()? };
            let wanted = wanted.get(server).filter(|wanted| **wanted != is)?;
            Some(format!("server {backend}/{server} has maxconn {is}, not {wanted}"))
        });
        Verdict::all(shown.collect())
    }))
}

/// `show stat` says `UP (UNPUB)` of a backend that rules cannot choose.
fn about_publication<'e>(which: &str, wanted: BTreeMap<&'e str, bool>) -> Question<'e> {
    Question::new(format!("show stat {which} 2 -1"), move |answer| {
        let shown =
            statistics(answer, "status").map(|(backend, _, status)| (backend, !status.contains("UNPUB")));
        let shown: BTreeMap<&str, bool> = shown.filter(|(backend, _)| wanted.contains_key(backend)).collect();
        let wrong = wanted.iter().filter_map(|(backend, wanted)| match (wanted, shown.get(backend)) {
            (true, None) => Some(format!("there is no backend {backend}")),
            (true, Some(false)) => Some(format!("backend {backend} is not published")),
            (false, Some(true)) => Some(format!("backend {backend} is still published")),
            _ => None,
        });
        Verdict::all(wrong.collect())
    })
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
        };
        Some(((*row.get("srv_name")?).to_owned(), shown))
    })
    .collect()
}

/// Proxy, server and one named column of each line of `show stat`.
fn statistics<'a>(answer: &'a str, column: &str) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
    let (header, lines) = answer.split_once('\n').unwrap_or((answer, ""));
    let at = header.strip_prefix("# ").and_then(|header| header.split(',').position(|name| name == column));
    lines.lines().filter_map(move |line| {
        let mut cells = line.split(',');
        Some((cells.next()?, cells.next()?, line.split(',').nth(at?)?))
    })
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

    fn verdicts(operations: &[Operation], answers: &[(&str, &str)]) -> Vec<Verdict> {
        let expectation = Expectation::of(operations);
        let questions = expectation.questions();
        let asked: Vec<&str> = questions.iter().map(|question| question.command.as_str()).collect();
        assert_eq!(asked, answers.iter().map(|(command, _)| *command).collect::<Vec<_>>());
        questions.iter().zip(answers).map(|(question, (_, answer))| question.verdict(answer)).collect()
    }

    #[test]
    fn maxconn_is_read_from_the_statistics() {
        let (backend, server) = names();
        let set = |maxconn| {
            [Operation::SetServerMaxconn { backend: backend.clone(), server: server.clone(), maxconn }]
        };
        let stat = "# pxname,svname,qcur,qmax,scur,smax,slim,stot\nk,s1,0,0,0,0,44,0\nk,s2,0,0,0,0,,0\n";
        let answers = [("show servers state k", STATE), ("show stat k 4 -1", stat)];
        assert_eq!(verdicts(&set(44), &answers), [Verdict::AsWanted, Verdict::AsWanted]);
        let differs = Verdict::Differs(vec!["server k/s1 has maxconn 44, not 0".to_owned()]);
        assert_eq!(verdicts(&set(0), &answers), [Verdict::AsWanted, differs]);
    }

    #[test]
    fn a_backend_that_is_not_there_or_not_published_is_told() {
        let backend = || "b".to_owned();
        let add = Operation::AddBackend { backend: backend(), defaults: "web".to_owned() };
        let publish = Operation::PublishBackend { backend: backend() };
        let all = [add, publish];
        let stat = |status: &str| format!("# pxname,svname,status\nb,BACKEND,{status}\n");
        let answers = |state: &str, stat: &str| {
            verdicts(&all, &[("show servers state b", state), ("show stat b 2 -1", stat)])
        };
        let header = "1\n# be_id be_name srv_id srv_name\n";
        assert_eq!(answers(header, &stat("DOWN")), [Verdict::AsWanted, Verdict::AsWanted]);
        let gone = Verdict::Differs(vec!["there is no backend b".to_owned()]);
        let hidden = Verdict::Differs(vec!["backend b is not published".to_owned()]);
        assert_eq!(answers("Can't find backend.", &stat("UP (UNPUB)")), [gone, hidden]);
    }

    #[test]
    fn many_publications_are_looked_at_once() {
        let publish = |n| Operation::PublishBackend { backend: format!("b{n}") };
        let many: Vec<Operation> = (0..=FEW_BACKENDS).map(publish).collect();
        let status = |n| if n == 1 { "UP (UNPUB)" } else { "UP" };
        let rows: String = (0..=FEW_BACKENDS).map(|n| format!("b{n},BACKEND,{}\n", status(n))).collect();
        let stat = &format!("# pxname,svname,status\nother,BACKEND,UP (UNPUB)\n{rows}");
        let differs = Verdict::Differs(vec!["backend b1 is not published".to_owned()]);
        assert_eq!(verdicts(&many, &[("show stat -1 2 -1", stat)]), [differs]);
    }

    #[test]
    fn the_servers_of_a_backend_that_is_gone_are_deleted() {
        let delete = Operation::DeleteServer { backend: "k".to_owned(), server: "s1".to_owned() };
        let gone = [("show servers state k", "Can't find backend.")];
        assert_eq!(verdicts(&[delete], &gone), [Verdict::AsWanted]);
        let (backend, server) = names();
        let weight = Operation::SetServerWeight { backend, server, weight: 7 };
        assert!(matches!(verdicts(&[weight], &gone)[0], Verdict::Differs(_)));
    }
}
