//! A configuration as it runs for requests: it listens at UNIX sockets, and each of its servers is the answering one. Pure.
//!
//! What reaches out is not there: name servers, peers, logs, checks. What a client would get is as before; what cannot be so is
//! told with its line.

use super::{
    choices::LOG,
    entrance::{Entrance, places},
};
use haptic_haproxy::{
    Document, Line, Section, SectionKind,
    views::{backends_used, parameters},
};
use std::collections::HashSet;

/// `bind` lines of one configuration: those of the library gateway are some hundreds where the PROXY protocol is spoken.
const MOST_BINDS: usize = 1024;

/// Where it answers that it runs.
pub(super) const READY_SOCKET: &str = "haptic-ready.sock";
const READY: &str = "defaults haptic-defaults
    mode http
    timeout client 10s
frontend haptic-ready from haptic-defaults
    bind unix@haptic-ready.sock
    http-request return status 204
";

/// The descriptor over which HAProxy passes the connections that it makes to servers. Those begin with the PROXY protocol, which tells them
/// from connections to itself.
const SERVERS: &str = "sockpair@0";
const TO_SERVERS: &str = " send-proxy-v2";

/// Where HAProxy listens for scripts of its own, which ask it by [`SERVERS`], too.
pub(super) const OWN_SOCKET: &str = "haptic-own.sock";

/// The PROXY protocol's field in which a connection that HAProxy hands itself by [`SERVERS`] says which socket it is for: its number, after
/// [`WITH_HEADER`] where that socket is told the client. The types from 0xe0 on are anybody's.
pub(super) const INNER_SOCKET_FIELD: u8 = 0xe8;
pub(super) const WITH_HEADER: char = 'p';

/// Where HAProxy listens for connections that it hands itself.
pub(super) fn inner_socket(number: usize) -> String {
    format!("haptic-inner-{number}.sock")
}

/// What runs.
#[derive(Debug, Default)]
pub(super) struct Runnable {
    /// The configuration.
    pub text: String,
    /// Of each of its lines, the line that it comes from.
    origins: Vec<usize>,
    /// Its `bind` lines.
    pub entrances: Vec<Entrance>,
    /// Lines without which clients get something else, and why they are not there.
    pub left_out: Vec<String>,
    /// Those of the proxies that are frontend and backend in one.
    pub listens: HashSet<String>,
    /// The path at which its scripts ask HAProxy itself.
    own_socket: Option<String>,
    /// Where it listens for connections that it hands itself.
    inner_sockets: Vec<InnerSocket>,
    /// Whether the frontend that is being read hands its connections to TLS of its own.
    hands_to_tls: bool,
}

/// A UNIX socket at which one of its servers finds the configuration itself.
#[derive(Debug)]
struct InnerSocket {
    path: String,
    tls: bool,
}

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
enum LineTreatment {
    Stays,
    /// Nothing that a client would notice.
    Goes,
    /// A client may notice.
    IsMissed(&'static str),
    Becomes(String),
}

impl Runnable {
    /// The configuration `text`, made so that it runs alone.
    ///
    /// # Errors
    /// It listens at too many places.
    pub fn of(text: &str) -> Result<Self, String> {
        let document = Document::parse(text);
        let mut made = Self { inner_sockets: inner_sockets(&document), ..Self::default() };
        for (section, mode) in document.sections.iter().zip(document.modes()) {
            let runs = runs(&section.kind) && !is_foreign(mode);
            if let Some(header) = section.header.as_ref().filter(|_| runs) {
                made.push(header.raw, header.number);
            }
            // What scripts ask is nobody's request.
            let handed_to = made.handed_to(&document, section);
            let hands_on = handed_to.is_some();
            made.hands_to_tls = handed_to.is_some_and(|to| to.tls);
            let is_own = section.lines.iter().any(|line| made.is_own(line));
            if runs && section.kind.has_frontend() && !is_own && !hands_on {
                made.push(LOG, section.line);
            }
            if section.kind == SectionKind::Peers {
                made.push("    disabled", section.line);
            }
            if section.kind == SectionKind::Listen {
                made.listens.insert(section.name.to_string());
            }
            for line in &section.lines {
                made.add(section, line, runs);
            }
        }
        made.push(READY, text.lines().count());
        match made.entrances.len() {
            ..=MOST_BINDS => Ok(made),
            many => Err(format!("it has {many} bind lines; requests are sent to at most {MOST_BINDS}")),
        }
    }

    /// What HAProxy said of this text in `file`, as if it were of the one that it was made of.
    pub fn as_of_original(&self, output: &str, file: &str) -> String {
        let mark = format!("{file}:");
        let mut parts = output.split(&*mark);
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = part.split_at(digits);
            let origin =
                number.parse::<usize>().ok().and_then(|number| self.origins.get(number.checked_sub(1)?));
            let number = origin.map_or_else(|| number.to_owned(), usize::to_string);
            text.push_str(&format!("{mark}{number}{rest}"));
        }
        text
    }

    fn push(&mut self, lines: &str, origin: usize) {
        self.text.push_str(lines);
        if !lines.ends_with('\n') {
            self.text.push('\n');
        }
        self.origins.extend(lines.lines().map(|_| origin));
    }

    fn add(&mut self, section: &Section<'_>, line: &Line<'_>, runs: bool) {
        let fate = match (line.directive(), runs) {
            (Some(_), _) => LineTreatment::Stays,
            (None, false) => LineTreatment::Goes,
            (None, true) if section.kind.has_frontend() && line.keyword() == "bind" => {
                self.bind(section, line)
            }
            (None, true) => match (own_socket(&section.kind, line), self.inner_socket_of(line, 2)) {
                (Some(path), _) => {
                    self.own_socket = Some(path.to_owned());
                    LineTreatment::Becomes(format!("    set-var {} str({SERVERS})", line.value(1)))
                }
                (None, Some(number)) => Self::handing_on(line, number),
                (None, None) => fate(&section.kind, line),
            },
        };
        match fate {
            LineTreatment::Stays => self.push(line.raw, line.number),
            LineTreatment::Becomes(text) => self.push(&text, line.number),
            LineTreatment::Goes => {}
            LineTreatment::IsMissed(why) => {
                self.left_out.push(format!(
                    "line {}, \"{}\": {why}",
                    line.number,
                    shortened(line.text().trim())
                ));
            }
        }
    }

    /// Whether it is where scripts ask HAProxy itself.
    fn is_own(&self, line: &Line<'_>) -> bool {
        let path = line.value(1).strip_prefix("unix@").filter(|_| line.keyword() == "bind");
        path.is_some() && path == self.own_socket.as_deref()
    }

    /// The number of the inner socket that a `bind` or `server` line names, of which the word at this place is the address.
    fn inner_socket_of(&self, line: &Line<'_>, at: usize) -> Option<usize> {
        let is_end = if at == 1 { line.keyword() == "bind" } else { line.keyword() == "server" };
        let path = line.value(at).strip_prefix("unix@").filter(|_| is_end)?;
        self.inner_sockets.iter().position(|one| one.path == path)
    }

    /// Where a frontend hands connections to another one, which logs their requests.
    fn handed_to(&self, document: &Document<'_>, frontend: &Section<'_>) -> Option<&InnerSocket> {
        let name = frontend.lines.iter().find(|line| line.keyword() == "default_backend")?.value(1);
        let backends = document.sections.iter().filter(|section| section.name == name);
        let servers = backends.flat_map(|section| &section.lines).filter(|line| line.keyword() == "server");
        let mut paths = servers.filter_map(|line| line.value(2).strip_prefix("unix@"));
        paths.find_map(|path| self.inner_sockets.iter().find(|one| one.path == path))
    }

    fn handing_on(line: &Line<'_>, number: usize) -> LineTreatment {
        let is_told = |word: &str| word.starts_with("send-proxy");
        let words = line.from(3).iter().filter(|word| !is_told(&word.value));
        let words: String = words.flat_map(|word| [" ", word.raw]).collect();
        let with_header = line.from(3).iter().any(|word| is_told(&word.value));
        let mark = if with_header { String::from(WITH_HEADER) } else { String::new() };
        LineTreatment::Becomes(format!(
            "    server {} {SERVERS}{TO_SERVERS} set-proxy-v2-tlv-fmt({INNER_SOCKET_FIELD:#x}) {mark}{number}{words}",
            line.value(1)
        ))
    }

    fn bind(&mut self, section: &Section<'_>, line: &Line<'_>) -> LineTreatment {
        if self.is_own(line) {
            return LineTreatment::Becomes(format!("    bind unix@{OWN_SOCKET}"));
        }
        if let Some(number) = self.inner_socket_of(line, 1) {
            let words: String = line.from(2).iter().flat_map(|word| [" ", word.raw]).collect();
            return LineTreatment::Becomes(format!("    bind unix@{}{words}", inner_socket(number)));
        }
        let Some((ports, address)) = places(line.value(1)) else {
            return LineTreatment::IsMissed("requests are sent over TCP");
        };
        let parameters = parameters(line.from(2), "bind");
        let socket = format!("haptic-{}.sock", self.entrances.len());
        let mut text = format!("    bind unix@{socket} accept-proxy");
        for words in
            parameters.iter().filter(|words| !is_of_machine(words.first().map_or("", |word| &word.value)))
        {
            text.extend(words.iter().flat_map(|word| [" ", word.raw]));
        }
        let ends_tls = parameters.iter().any(|words| words.first().is_some_and(|word| word.value == "ssl"));
        let tls = ends_tls || self.hands_to_tls;
        let leads_on = section.kind == SectionKind::Listen || !backends_used(section).is_empty();
        self.entrances.push(Entrance { socket, ports, address, tls, leads_on });
        LineTreatment::Becomes(text)
    }
}

/// Where one of its servers finds the configuration itself.
fn inner_sockets(document: &Document<'_>) -> Vec<InnerSocket> {
    let proxies = || document.sections.iter().filter(|section| section.kind.is_proxy());
    let lines = |keyword: &'static str| {
        proxies().flat_map(|section| &section.lines).filter(move |line| line.keyword() == keyword)
    };
    let servers: HashSet<&str> =
        lines("server").filter_map(|line| line.value(2).strip_prefix("unix@")).collect();
    let binds = lines("bind").filter_map(|line| {
        let path = line.value(1).strip_prefix("unix@").filter(|path| servers.contains(path))?;
        let tls = line.from(2).iter().any(|word| word.value == "ssl");
        Some(InnerSocket { path: path.to_owned(), tls })
    });
    binds.collect()
}

/// Whether what it is for is no client's: logs, and agents that HAProxy asks.
fn is_foreign(mode: &str) -> bool {
    matches!(mode, "log" | "spop")
}

/// Whether there is anything to run of a section.
fn runs(kind: &SectionKind) -> bool {
    !matches!(
        kind,
        SectionKind::Mailers
            | SectionKind::Ring
            | SectionKind::LogForward
            | SectionKind::LogProfile
            | SectionKind::Program
            | SectionKind::Traces
            | SectionKind::Acme
    )
}

/// Where scripts ask HAProxy itself: `set-var proc.NAME str(unix@PATH)`.
fn own_socket<'l>(kind: &SectionKind, line: &'l Line<'_>) -> Option<&'l str> {
    let is_set = *kind == SectionKind::Global && line.keyword() == "set-var";
    line.value(2).strip_prefix("str(unix@").and_then(|rest| rest.strip_suffix(')')).filter(|_| is_set)
}

fn fate(kind: &SectionKind, line: &Line<'_>) -> LineTreatment {
    match kind {
        SectionKind::Global => of_global(line),
        SectionKind::Resolvers if matches!(line.keyword(), "nameserver" | "parse-resolv-conf") => {
            LineTreatment::Goes
        }
        SectionKind::Peers if line.keyword() != "table" => LineTreatment::Goes,
        kind if kind.is_proxy() => of_proxy(line),
        _ => LineTreatment::Stays,
    }
}

fn of_global(line: &Line<'_>) -> LineTreatment {
    let at = usize::from(matches!(line.keyword(), "no" | "default"));
    match line.value(at) {
        "chroot"
        | "user"
        | "group"
        | "uid"
        | "gid"
        | "setcap"
        | "daemon"
        | "master-worker"
        | "mworker-max-reloads"
        | "pidfile"
        | "stats"
        | "nbthread"
        | "thread-groups"
        | "thread-group"
        | "thread-hard-limit"
        | "cpu-map"
        | "cpu-policy"
        | "cpu-set"
        | "numa-cpu-mapping"
        | "maxconn"
        | "ulimit-n"
        | "fd-hard-limit"
        | "unix-bind"
        | "external-check"
        | "insecure-fork-wanted"
        | "server-state-base"
        | "server-state-file"
        | "hard-stop-after"
        | "grace"
        | "strict-limits"
        | "set-dumpable"
        | "zero-warning"
        | "localpeer"
        | "quiet"
        | "busy-polling"
        | "shm-stats-file"
        | "shm-stats-file-max-objects"
        | "trace" => LineTreatment::Goes,
        log if log.starts_with("log") => LineTreatment::Goes,
        _ => LineTreatment::Stays,
    }
}

fn of_proxy(line: &Line<'_>) -> LineTreatment {
    let at = usize::from(matches!(line.keyword(), "no" | "default"));
    match line.value(at) {
        "server" | "server-template" => server(line),
        "default-server" => match choosing(line.from(1)) {
            kept if kept.is_empty() => LineTreatment::Goes,
            kept => LineTreatment::Becomes(format!("    default-server{kept}")),
        },
        "log"
        | "log-format"
        | "log-format-sd"
        | "error-log-format"
        | "log-steps"
        | "log-tag"
        | "email-alert"
        | "source"
        | "load-server-state-from-file"
        | "server-state-file-name"
        | "external-check" => LineTreatment::Goes,
        "option" => option(line.value(at + 1)),
        "dispatch" | "transparent" => LineTreatment::IsMissed("there is no such server"),
        "use-fcgi-app" => LineTreatment::IsMissed("the answering server speaks HTTP"),
        "filter" if line.value(at + 1) == "spoe" => LineTreatment::IsMissed("there is no agent to ask"),
        "tcp-request" | "tcp-response" | "http-request" | "http-response" | "http-after-response" => {
            rule(line)
        }
        _ => LineTreatment::Stays,
    }
}

fn option(name: &str) -> LineTreatment {
    match name {
        "transparent" => LineTreatment::IsMissed("there is no such server"),
        "httplog"
        | "tcplog"
        | "httpslog"
        | "dontlognull"
        | "dontlog-normal"
        | "logasap"
        | "log-separate-errors"
        | "log-health-checks"
        | "external-check" => LineTreatment::Goes,
        _ => LineTreatment::Stays,
    }
}

fn rule(line: &Line<'_>) -> LineTreatment {
    let is_of_connection = line.keyword() == "tcp-request" && line.value(1) == "connection";
    let of_stream = matches!(line.value(1), "connection" | "session" | "content");
    match line.value(if of_stream { 2 } else { 1 }) {
        "set-log-level" | "expect-proxy" | "expect-netscaler-cip" => LineTreatment::Goes,
        "send-spoe-group" => LineTreatment::IsMissed("there is no agent to ask"),
        "attach-srv" => LineTreatment::IsMissed("there is no such connection"),
        // The client's address comes with the PROXY protocol, so after rules of connections.
        _ if is_of_connection => {
            let words: Vec<&str> = line.from(2).iter().map(|word| word.raw).collect();
            LineTreatment::Becomes(format!("    tcp-request session {}", words.join(" ")))
        }
        _ => LineTreatment::Stays,
    }
}

/// A server whose address is the answering one's.
fn server(line: &Line<'_>) -> LineTreatment {
    let is_template = line.keyword() == "server-template";
    let before = if is_template { 3 } else { 2 };
    let words: Vec<&str> = line.words.iter().take(before).map(|word| word.raw).collect();
    // After a number of servers alone the address is third.
    let after = line.from(before + 1);
    LineTreatment::Becomes(format!("    {} {SERVERS}{TO_SERVERS}{}", words.join(" "), choosing(after)))
}

/// Of a server's parameters those that say when it is chosen. How it is reached and checked is nothing to the answering server.
fn choosing(words: &[haptic_haproxy::Word<'_>]) -> String {
    let is_kept = |name: &str| {
        let name = name.strip_prefix("no-").unwrap_or(name);
        matches!(
            name,
            "backup"
                | "cookie"
                | "disabled"
                | "enabled"
                | "guid"
                | "hash-key"
                | "id"
                | "maxconn"
                | "maxqueue"
                | "minconn"
                | "non-stick"
                | "redir"
                | "weight"
        )
    };
    let kept = parameters(words, "server").into_iter();
    let kept = kept.filter(|words| words.first().is_some_and(|word| is_kept(&word.value)));
    kept.flatten().flat_map(|word| [" ", word.raw]).collect()
}

/// Whether a parameter of a `bind` line is about networks, users or threads, or wants clients that speak nothing but HTTP/2.
fn is_of_machine(name: &str) -> bool {
    matches!(
        name,
        "accept-netscaler-cip"
            | "accept-proxy"
            | "backlog"
            | "cc"
            | "defer-accept"
            | "expose-fd"
            | "gid"
            | "group"
            | "interface"
            | "mode"
            | "mss"
            | "namespace"
            | "nice"
            | "process"
            | "proto"
            | "quic-cc-algo"
            | "quic-force-retry"
            | "quic-socket"
            | "shards"
            | "tcp-md5sig"
            | "tcp-ut"
            | "tfo"
            | "thread"
            | "transparent"
            | "uid"
            | "user"
            | "v4v6"
            | "v6only"
    )
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Runnable {
        Runnable::of(text).unwrap()
    }

    #[test]
    fn it_listens_at_sockets_of_its_own_and_keeps_what_is_of_tls() {
        let runs = made(
            "frontend f\n  bind 10.0.0.1:443,:444 ssl crt a.pem thread 1 interface eth0 accept-proxy alpn h2\n  default_backend b\n",
        );
        assert_eq!(
            runs.text,
            format!(
                "frontend f\n{LOG}    bind unix@haptic-0.sock accept-proxy ssl crt a.pem alpn h2\n  default_backend b\n{READY}"
            )
        );
        let [entrance] = &runs.entrances[..] else { panic!("{runs:?}") };
        assert!(entrance.tls && entrance.leads_on);
        assert_eq!(entrance.ports, [443..=443, 444..=444]);
    }

    #[test]
    fn servers_keep_what_says_when_they_are_chosen() {
        let runs = made(
            "backend b\n default-server check inter 1s weight 3\n default-server check\n \
             server \"a\" x.example:80 ssl verify none cookie backup backup send-proxy-v2 id 4 track b/c resolvers r\n \
             server-template t 1-3 _x._tcp.example:80 check weight 0\n",
        );
        assert_eq!(
            runs.text,
            "backend b\n    default-server weight 3\n    \
             server \"a\" sockpair@0 send-proxy-v2 cookie backup backup id 4\n    \
             server-template t 1-3 sockpair@0 send-proxy-v2 weight 0\n"
                .to_owned()
                + READY
        );
    }

    #[test]
    fn scripts_ask_it_over_the_socket_of_servers() {
        let runs = made(
            "global\n set-var proc.hop str(unix@hop.sock)\n set-var proc.x str(y)\nfrontend hop\n bind unix@hop.sock mode 600\n",
        );
        assert_eq!(
            runs.text,
            format!(
                "global\n    set-var proc.hop str(sockpair@0)\n set-var proc.x str(y)\nfrontend hop\n    bind unix@haptic-own.sock\n{READY}"
            )
        );
        assert!(runs.entrances.is_empty());
    }

    #[test]
    fn what_it_hands_itself_it_goes_on_handing_itself() {
        let runs = made(
            "frontend t\n mode tcp\n bind :443\n default_backend here\nbackend here\n server s unix@/run/x.sock send-proxy-v2\n server plain unix@/run/x.sock weight 2\n\
             frontend w\n bind unix@/run/x.sock mode 600 accept-proxy ssl crt a.pem\nbackend other\n server s unix@/run/other.sock\n",
        );
        for line in [
            "    server s sockpair@0 send-proxy-v2 set-proxy-v2-tlv-fmt(0xe8) p0\n",
            "    server plain sockpair@0 send-proxy-v2 set-proxy-v2-tlv-fmt(0xe8) 0 weight 2\n",
            "    bind unix@haptic-inner-0.sock mode 600 accept-proxy ssl crt a.pem\n",
        ] {
            assert!(runs.text.contains(line), "{}", runs.text);
        }
        assert!(runs.text.contains("    server s sockpair@0 send-proxy-v2\n") && runs.left_out.is_empty());
        assert!(runs.entrances[0].tls, "clients meet the TLS behind it");
    }

    #[test]
    fn what_reaches_out_is_not_there_and_conditions_stay_whole() {
        let runs = made(
            "global\n chroot /x\n.if defined(A)\n user u\n.endif\n no busy-polling\n tune.bufsize 16384\n stats socket /x level admin\n\
             resolvers r\n nameserver a 10.0.0.1:53\n timeout retry 1s\npeers p\n peer a 10.0.0.1:80\n table t type ip size 1k\n\
             ring r\n.if 1\n server a 10.0.0.1:80\n.endif\nbackend logs\n mode log\n server a udp@10.0.0.1:514\n\
             defaults agents\n mode spop\nbackend spoa from agents\n server a 10.0.0.1:9000\n\
             frontend f\n mode http\n log global\n option httplog\n tcp-request connection reject if { src 10.0.0.1 }\n \
             tcp-request connection expect-proxy layer4\n http-request set-log-level silent\n",
        );
        assert_eq!(
            runs.text,
            format!(
                "global\n.if defined(A)\n.endif\n tune.bufsize 16384\nresolvers r\n timeout retry 1s\n\
                 peers p\n    disabled\n table t type ip size 1k\n\
                 .if 1\n.endif\nfrontend f\n{LOG} mode http\n    tcp-request session reject if {{ src 10.0.0.1 }}\n{READY}"
            )
        );
        assert!(runs.left_out.is_empty());
    }

    #[test]
    fn what_clients_miss_is_told() {
        let runs = made(
            "frontend f\n bind quic4@:443 ssl crt a.pem\n filter spoe engine x config y\nlisten l\n dispatch 10.0.0.1:80\n",
        );
        assert_eq!(
            runs.left_out,
            [
                "line 2, \"bind quic4@:443 ssl crt a.pem\": requests are sent over TCP",
                "line 3, \"filter spoe engine x config y\": there is no agent to ask",
                "line 5, \"dispatch 10.0.0.1:80\": there is no such server",
            ]
        );
    }

    #[test]
    fn lines_of_what_haproxy_says_are_those_of_the_configuration() {
        let runs = made("global\n daemon\nfrontend f\n bind :80\n nonsense\n");
        let line = runs.text.lines().position(|line| line == " nonsense").unwrap() + 1;
        let said = format!("[ALERT] (1) : config : parsing [h.cfg:{line}] : unknown\n[h.cfg:x] [h.cfg:99]\n");
        assert_eq!(
            runs.as_of_original(&said, "h.cfg"),
            "[ALERT] (1) : config : parsing [h.cfg:5] : unknown\n[h.cfg:x] [h.cfg:99]\n"
        );
    }

    #[test]
    fn a_configuration_that_listens_everywhere_is_not_run() {
        let binds: String = (0..=MOST_BINDS).map(|port| format!(" bind :{}\n", 1000 + port)).collect();
        assert!(Runnable::of(&format!("frontend f\n{binds}")).unwrap_err().contains("1025 bind lines"));
    }
}
