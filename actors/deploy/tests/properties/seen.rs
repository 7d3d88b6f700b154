//! What a HAProxy holds in memory and how it answers, as facts that can be compared with those of another one.

use super::{
    running::Haproxy,
    tls,
    world::{CERTIFICATES, HOSTS, Server, World},
};
use haptic_model::{Capabilities, HaproxyVersion};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Write},
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

/// Bit of `srv_agent_state`: an agent-check is configured.
const HAS_AGENT: u32 = 0x02;
/// Bits of `srv_admin_state` (`SRV_ADMF_MAINT`). `SRV_ADMF_CMAINT` only says how it began.
const IN_MAINTENANCE: u32 = 0x23;
/// Columns of `show stat` that a configuration decides.
const OF_SERVERS: &[&str] = &[
    "slim",
    "weight",
    "act",
    "bck",
    "qlimit",
    "cookie",
    "check_rise",
    "check_fall",
    "agent_rise",
    "agent_fall",
    "mode",
];

/// A HAProxy's facts; each begins with what it is about.
pub type Facts = BTreeSet<String>;

/// How long HAProxy may take to do what it said, and checks to find out.
const SETTLED: Duration = Duration::from_secs(60);

/// What is seen of a HAProxy that should have started with `world`.
pub struct Sight<'w> {
    pub world: &'w World,
    pub version: HaproxyVersion,
    /// Whether certificates are looked at, too: handshakes take a while.
    pub with_tls: bool,
}

impl Sight<'_> {
    /// The facts as soon as both HAProxys have the same, or what each has after a while.
    pub fn of_both(&self, running: &Haproxy, fresh: &Haproxy) -> (Facts, Facts) {
        let deadline = Instant::now() + SETTLED;
        loop {
            let facts = (self.facts(running), self.facts(fresh));
            if facts.0 == facts.1 || Instant::now() > deadline {
                return facts;
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    fn facts(&self, haproxy: &Haproxy) -> Facts {
        let mut facts = Facts::new();
        self.memory(haproxy, &mut facts);
        servers(haproxy, &mut facts);
        if self.with_tls {
            certificates(haproxy, &mut facts);
            handshakes(haproxy, &mut facts);
        }
        self.answers(haproxy, &mut facts);
        facts
    }

    fn memory(&self, haproxy: &Haproxy, facts: &mut Facts) {
        for (name, in_order) in
            [("exact", false), ("prefix", false), ("contained", true), ("regex", true), ("network", false)]
        {
            let shown = haproxy.command(&format!("show map maps/{name}.map"));
            let entries: Vec<&str> = shown.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
            // Of several entries for one key the first counts, so their order does.
            let keys: Vec<&str> = entries.iter().map(|entry| entry.split(' ').next().unwrap()).collect();
            let repeated = |key: &str| keys.iter().filter(|known| **known == key).count() > 1;
            for (at, entry) in entries.iter().enumerate() {
                let order = in_order || repeated(keys[at]);
                let at = if order { at.to_string() } else { String::new() };
                facts.insert(format!("map {name} {at} {entry}"));
            }
        }
        for name in ["denied", "denied-parts"] {
            let shown = haproxy.command(&format!("show acl maps/{name}.lst"));
            let patterns = shown.lines().filter_map(|line| line.split_once(' '));
            facts.extend(patterns.map(|(_, pattern)| format!("acl {name} {pattern}")));
        }
        if Capabilities::of(self.version).dynamic_backends {
            let shown = haproxy.command("show backend");
            facts.extend(shown.lines().map(|line| format!("backend {line}")));
        }
    }

    fn answers(&self, haproxy: &Haproxy, facts: &mut Facts) {
        let groups: BTreeMap<&str, &str> =
            self.world.exact.iter().map(|(host, group)| (host.as_str(), group.as_str())).collect();
        for host in 0..HOSTS {
            let host = format!("h{host}.example");
            let paths: &[&str] =
                if groups.contains_key(host.as_str()) { &["/", "/a/b/x", "/deny"] } else { &["/"] };
            for path in paths {
                let mut all = BTreeSet::new();
                // Enough that each of a few servers is met, whoever comes first.
                for number in 0..9 {
                    let answer = ask(haproxy, &host, path, number);
                    let is_last = number > 2 && answer.server.is_empty();
                    all.extend(self.of_interest(answer));
                    if is_last {
                        break;
                    }
                }
                facts.extend(all.iter().map(|answer| format!("answer {host}{path} {answer}")));
            }
        }
    }

    /// What two HAProxys must agree on: also the server, when it does not depend on chance.
    fn of_interest(&self, answer: CallFuture) -> Vec<String> {
        let CallFuture { status, found, server, body, key } = answer;
        let name = found.split(' ').next().unwrap_or_default();
        let backend = self.world.backends.iter().find(|(number, backend)| backend.name(**number) == name);
        let Some((_, backend)) = backend else { return vec![format!("{status} {found}")] };
        let share = |server: &Server| (server.weight, server.more.contains("check"), server.maxconn);
        let shares: BTreeSet<_> = backend.servers.iter().map(|(_, server)| share(server)).collect();
        let by = format!("{status} by {name} {server} {body}");
        if backend.chooses_by_key() {
            vec![found, format!("{by} for key {key}")]
        } else if backend.servers.len() <= 1 || shares.len() <= 1 && backend.takes_turns() {
            vec![found, by]
        } else {
            vec![found]
        }
    }
}

/// One answer.
struct CallFuture {
    status: String,
    found: String,
    server: String,
    body: String,
    key: usize,
}

fn ask(haproxy: &Haproxy, host: &str, path: &str, key: usize) -> CallFuture {
    let mut stream = UnixStream::connect(haproxy.path("http")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let address = ["10.1.2.3", "10.1.9.9", "10.9.9.9", "fd00::1"][key % 4];
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nx-key: {key}\r\nx-address: {address}\r\n");
    write!(stream, "{head}Connection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let header = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim_start_matches(": ").to_owned()
    };
    CallFuture {
        status: text.split(' ').nth(1).unwrap_or("none").to_owned(),
        found: header("x-found"),
        server: header("x-server"),
        body: if text.contains(" 200 ") {
            text.rsplit("\r\n").next().unwrap_or_default().to_owned()
        } else {
            String::new()
        },
        key,
    }
}

/// Certificates, authorities and crt-lists in memory.
fn certificates(haproxy: &Haproxy, facts: &mut Facts) {
    let names = |command: &str| -> Vec<String> {
        let text = haproxy.command(command);
        let lines = text.lines().filter(|line| !line.starts_with(['#', '@']));
        lines.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    };
    for list in ["ssl/strict.txt", "ssl/lax.txt"] {
        let lines = haproxy.command(&format!("show ssl crt-list {list}"));
        facts.extend(lines.lines().map(|line| format!("crt-list {line} of {list}")));
    }
    for kind in ["cert", "ca-file"] {
        for name in names(&format!("show ssl {kind}")) {
            let about = ["Status", "SHA1", "Serial"];
            let text = haproxy.command(&format!("show ssl {kind} {name}"));
            let lines = text.lines().filter(|line| about.iter().any(|start| line.starts_with(start)));
            facts.insert(format!("{kind} {name} {}", lines.collect::<Vec<_>>().join(" ")));
        }
    }
}

/// Which certificate each host gets.
fn handshakes(haproxy: &Haproxy, facts: &mut Facts) {
    let hosts = (0..HOSTS).map(|host| format!("h{host}.example"));
    for host in hosts.chain(["www.h1.example".to_owned(), "other.invalid".to_owned()]) {
        for bind in ["strict", "lax"] {
            let stream = UnixStream::connect(haproxy.path(bind)).unwrap();
            let answer = tls::certificate(stream, &host).map(|certificate| which(&certificate));
            facts.insert(format!("tls {bind} {host} {}", answer.unwrap_or_default()));
        }
    }
}

/// Backends, servers and frontends, without what only the order of events decides.
fn servers(haproxy: &Haproxy, facts: &mut Facts) {
    let state = haproxy.command("show servers state");
    for row in rows(state.lines().skip(1), ' ') {
        let admin: u32 = row.get("srv_admin_state").and_then(|bits| bits.parse().ok()).unwrap_or_default();
        let columns = [
            "srv_addr",
            "srv_port",
            "srv_uweight",
            "srv_fqdn",
            "srv_use_ssl",
            "srv_check_port",
            "srv_check_addr",
            "srv_agent_addr",
            "srv_agent_port",
        ];
        // A server without an agent has a port for it all the same: at a start, that of its checks.
        let agent: u32 = row.get("srv_agent_state").and_then(|bits| bits.parse().ok()).unwrap_or_default();
        let counts = |name: &&&str| agent & HAS_AGENT != 0 || !name.starts_with("srv_agent");
        let values: Vec<String> = columns
            .iter()
            .filter(counts)
            .map(|name| format!("{name}={}", row.get(name).copied().unwrap_or_default()))
            .collect();
        facts.insert(format!(
            "server {}/{} {} maintenance={} drain={}",
            row["be_name"],
            row["srv_name"],
            values.join(" "),
            admin & IN_MAINTENANCE != 0,
            admin & 0x18 != 0
        ));
    }
    let conn = haproxy.command("show servers conn").replace("bkname/svname", "name");
    for row in rows(conn.lines(), ' ') {
        let column = |name: &str| row.get(name).copied().unwrap_or_default();
        facts.insert(format!("pool {} {} {}", column("name"), column("purge_delay"), column("idle_lim")));
    }
    let stat = haproxy.command("show stat");
    for row in rows(stat.lines(), ',') {
        let column = |name: &str| row.get(name).copied().unwrap_or_default();
        let status = column("status").split(' ').next().unwrap_or_default();
        let columns: &[&str] = match column("svname") {
            "FRONTEND" => &["slim", "mode"],
            "BACKEND" => &["mode", "cookie", "algo"],
            _ => OF_SERVERS,
        };
        // In maintenance its weight is only what it was before, and nobody acts on its checks.
        let counts =
            |name: &str| name != "weight" && !name.starts_with("check_") && !name.starts_with("agent_");
        let columns = columns.iter().filter(|name| status != "MAINT" || counts(name));
        let values: Vec<String> = columns.map(|name| format!("{name}={}", column(name))).collect();
        facts.insert(format!("stat {}/{} {status} {}", column("pxname"), column("svname"), values.join(" ")));
    }
}

/// Rows of a table by the names of its columns.
fn rows<'t>(mut lines: impl Iterator<Item = &'t str>, by: char) -> Vec<BTreeMap<&'t str, &'t str>> {
    let head = lines.next().unwrap_or_default().trim_start_matches("# ");
    let columns: Vec<&str> = head.split(by).collect();
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(|line| columns.iter().copied().zip(line.split(by)).collect()).collect()
}

/// A certificate as its number and version.
fn which(der: &[u8]) -> String {
    for at in 0..=CERTIFICATES {
        for version in 0..3 {
            let pem = super::world::DERS[at][version].as_slice();
            if pem == der {
                return format!("c{at} version {version}");
            }
        }
    }
    "unknown".to_owned()
}
