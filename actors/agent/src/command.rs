//! From an operation to the lines of HAProxy's command socket. The only place that makes commands which change HAProxy.
//!
//! Every word is checked: nothing that an order contains can end a command or begin another.

use haptic_model::{
    Operation,
    operation::{CheckSetting, ServerState},
    pattern_file::map_entries,
};
use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
};

/// An operation that cannot be put into commands.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {problem}")]
pub struct CommandError {
    operation: String,
    problem: String,
}

/// The contents of the target's files that operations bring, by path.
pub type Contents = BTreeMap<String, String>;

/// The commands of `operation`, in order, without line ends at their ends. A payload follows its command's first line.
///
/// What depends on an answer comes later: the version of a map that is replaced ([`map_chunks`], [`commit_map`]), the
/// number of a crt-list's line ([`delete_crt_list_line`]).
///
/// # Errors
/// A name, number, parameter or content that HAProxy would misread.
pub fn commands(operation: &Operation, contents: &Contents) -> Result<Vec<String>, CommandError> {
    lines(operation, contents)
        .map_err(|problem| CommandError { operation: plain(&operation.to_string()), problem })
}

/// The path of the file whose content `operation` brings.
pub(crate) fn content_of(operation: &Operation) -> Option<&str> {
    match operation {
        Operation::ReplaceMap { map: path }
        | Operation::AddCertificate { certificate: path }
        | Operation::SetCertificate { certificate: path }
        | Operation::AddCaFile { file: path }
        | Operation::SetCaFile { file: path } => Some(path),
        _ => None,
    }
}

fn lines(operation: &Operation, contents: &Contents) -> Result<Vec<String>, String> {
    Ok(match operation {
        Operation::SetServerAddress { backend, server, address, port } => {
            let ip: IpAddr = address.parse().map_err(|_| format!("{address:?} is not an IP address"))?;
            if *port == 0 {
                return Err("port 0 is none".to_owned());
            }
            vec![format!("set server {} addr {ip} port {port}", full_name(backend, server)?)]
        }
        Operation::SetServerWeight { backend, server, weight } => {
            if *weight > 256 {
                return Err(format!("weight {weight} is above 256"));
            }
            vec![format!("set server {} weight {weight}", full_name(backend, server)?)]
        }
        Operation::SetServerState { backend, server, state } => {
            vec![format!("set server {} state {}", full_name(backend, server)?, word_of(*state))]
        }
        Operation::SetServerMaxconn { backend, server, maxconn } => {
            vec![format!("set maxconn server {} {maxconn}", full_name(backend, server)?)]
        }
        Operation::SetServerCheck { backend, server, setting, value } => {
            check_setting(*setting, value)?;
            let name = full_name(backend, server)?;
            vec![format!("set server {name} {} {}", setting.keyword(), escaped(value)?)]
        }
        Operation::AddServer { backend, server, address, params, enabled } => {
            let name = full_name(backend, server)?;
            check_address(address)?;
            let mut add = format!("add server {name} {}", escaped(address)?);
            for param in params {
                add.push(' ');
                add.push_str(&escaped(param)?);
            }
            let mut lines = vec![add];
            // A server that was added starts in maintenance, and its checks stopped.
            if params.iter().any(|p| p == "check") {
                lines.push(format!("enable health {name}"));
            }
            if *enabled {
                lines.push(format!("enable server {name}"));
                // An agent that is enabled before its server has the server down until it answers (HAProxy 3.0 and 3.2).
                if params.iter().any(|p| p == "agent-check") {
                    lines.push(format!("enable agent {name}"));
                }
            }
            lines
        }
        Operation::DeleteServer { backend, server } => {
            let name = full_name(backend, server)?;
            vec![format!("set server {name} state maint"), format!("del server {name}")]
        }
        Operation::AddBackend { backend, defaults } => vec![add_backend(backend, defaults)?],
        Operation::PublishBackend { backend } => vec![format!("publish backend {}", name(backend)?)],
        Operation::UnpublishBackend { backend } => vec![format!("unpublish backend {}", name(backend)?)],
        Operation::DeleteBackend { backend, .. } => vec![format!("del backend {}", name(backend)?)],
        Operation::SetMapEntry { map, key, value } => {
            vec![format!("set map {} {} {}", file(map)?, key_word(key)?, text(value)?)]
        }
        // Setting comes first: an order that is carried out again must not make a second entry.
        Operation::AddMapEntry { map, key, value } => {
            let (map, key, value) = (file(map)?, key_word(key)?, text(value)?);
            vec![format!("set map {map} {key} {value}"), format!("add map {map} {key} {value}")]
        }
        Operation::DelMapEntry { map, key } => vec![format!("del map {} {}", file(map)?, key_word(key)?)],
        Operation::ReplaceMap { map } => {
            let content = content(contents, map)?;
            map_chunks(map, "1", content)?.try_for_each(|chunk| chunk.map(drop))?;
            vec![format!("prepare map {}", file(map)?)]
        }
        Operation::AddAclEntry { acl, pattern } => {
            let (acl, pattern) = (file(acl)?, key_word(pattern)?);
            vec![format!("del acl {acl} {pattern}"), format!("add acl {acl} {pattern}")]
        }
        Operation::DelAclEntry { acl, pattern } => {
            vec![format!("del acl {} {}", file(acl)?, key_word(pattern)?)]
        }
        Operation::AddCertificate { certificate } => {
            let mut lines = vec![format!("new ssl cert {}", file(certificate)?)];
            lines.extend(set_certificate(certificate, content(contents, certificate)?)?);
            lines
        }
        Operation::SetCertificate { certificate } => {
            set_certificate(certificate, content(contents, certificate)?)?
        }
        Operation::AddCaFile { file: path } => {
            let mut lines = vec![format!("new ssl ca-file {}", file(path)?)];
            lines.extend(set_content("ca-file", path, content(contents, path)?)?);
            lines
        }
        Operation::SetCaFile { file } => set_content("ca-file", file, content(contents, file)?)?,
        Operation::DeleteCaFile { file: path } => vec![format!("del ssl ca-file {}", file(path)?)],
        Operation::DeleteCertificate { certificate } => vec![format!("del ssl cert {}", file(certificate)?)],
        Operation::AddCrtListLine { list, line } => {
            vec![format!("add ssl crt-list {} <<\n{}\n", file(list)?, crt_list_line(line)?)]
        }
        Operation::DeleteCrtListLine { list, line } => {
            crt_list_line(line)?;
            vec![show_crt_list(list)?]
        }
        Operation::SetFrontendMaxconn { frontend, maxconn } => {
            if *maxconn == 0 {
                return Err("a frontend's maxconn is at least 1".to_owned());
            }
            vec![format!("set maxconn frontend {} {maxconn}", name(frontend)?)]
        }
    })
}

/// `add backend`.
pub(crate) fn add_backend(backend: &str, defaults: &str) -> Result<String, String> {
    check_name(backend)?;
    check_name(defaults)?;
    Ok(format!("add backend {backend} from {defaults}"))
}

/// Commands that add the entries of a map's content to one version of it, many at once.
pub struct MapChunks<'c> {
    head: String,
    entries: std::iter::Peekable<Box<dyn Iterator<Item = (&'c str, &'c str)> + Send + 'c>>,
}

/// The entries of a map's `content` for its `version`.
///
/// # Errors
/// A version or a file's name that HAProxy would misread; for a chunk, an entry.
pub fn map_chunks<'c>(map: &str, version: &str, content: &'c str) -> Result<MapChunks<'c>, String> {
    if version.is_empty() || !version.chars().all(|c| c.is_ascii_digit()) {
        return Err(format!("{version:?} is not a version of {map}"));
    }
    let head = format!("add map @{version} {} <<\n", file(map)?);
    let entries: Box<dyn Iterator<Item = _> + Send> = Box::new(map_entries(content));
    Ok(MapChunks { head, entries: entries.peekable() })
}

impl Iterator for MapChunks<'_> {
    type Item = Result<String, String>;

    fn next(&mut self) -> Option<Self::Item> {
        // HAProxy takes 16 KB at once.
        const CHUNK: usize = 8000;
        self.entries.peek()?;
        let mut chunk = self.head.clone();
        let fits = |length: usize, (key, value): &(&str, &str)| length + key.len() + value.len() <= CHUNK;
        while let Some((key, value)) =
            self.entries.next_if(|entry| chunk.len() == self.head.len() || fits(chunk.len(), entry))
        {
            // A payload's words are taken as they are.
            if let Err(problem) = text(key).and_then(|_| text(value)) {
                return Some(Err(format!("the entry {:?}: {problem}", plain(key))));
            }
            chunk.extend([key, " ", value, "\n"]);
        }
        Some(Ok(chunk))
    }
}

/// Makes the prepared `version` of a map the one that counts.
pub(crate) fn commit_map(map: &str, version: &str) -> Result<String, String> {
    Ok(format!("commit map @{version} {}", file(map)?))
}

/// Lets go of a prepared version.
pub(crate) fn clear_map(map: &str, version: &str) -> Result<String, String> {
    Ok(format!("clear map @{version} {}", file(map)?))
}

/// Shows all entries of a map.
pub(crate) fn show_map(map: &str) -> Result<String, String> {
    Ok(format!("show map {}", file(map)?))
}

/// Looks `key` up in a map, as traffic does.
pub(crate) fn look_up(map: &str, key: &str) -> Result<String, String> {
    Ok(format!("get map {} {}", file(map)?, key_word(key)?))
}

/// Shows a crt-list with the numbers of its lines.
pub(crate) fn show_crt_list(list: &str) -> Result<String, String> {
    Ok(format!("show ssl crt-list -n {}", file(list)?))
}

/// Removes the line of `certificate` that HAProxy numbers `number`.
pub(crate) fn delete_crt_list_line(list: &str, certificate: &str, number: u64) -> Result<String, String> {
    Ok(format!("del ssl crt-list {} {}:{number}", file(list)?, file(certificate)?))
}

/// Lets go of authorities that were set and cannot be committed.
pub(crate) fn abort_authorities(path: &str) -> Result<String, String> {
    Ok(format!("abort ssl ca-file {}", file(path)?))
}

/// Lets go of a certificate that was set and cannot be committed.
pub(crate) fn abort_certificate(certificate: &str) -> Result<String, String> {
    Ok(format!("abort ssl cert {}", file(certificate)?))
}

fn set_certificate(certificate: &str, content: &str) -> Result<Vec<String>, String> {
    if !crate::certificate::has_private_key(content) {
        return Err(
            "the file has no private key; put certificate and key into one file, or leave this to a reload"
                .to_owned(),
        );
    }
    set_content("cert", certificate, content)
}

/// HAProxy takes any number for a port.
fn check_setting(setting: CheckSetting, value: &str) -> Result<(), String> {
    let fits = match setting {
        CheckSetting::CheckPort | CheckSetting::AgentPort => value.parse::<u16>().is_ok_and(|port| port > 0),
        CheckSetting::AgentAddr => value.parse::<IpAddr>().is_ok(),
        CheckSetting::AgentSend => true,
    };
    if fits { Ok(()) } else { Err(format!("{} {value:?} is none", setting.keyword())) }
}

/// Certificates (`cert`) or authorities (`ca-file`) as HAProxy takes them.
fn set_content(kind: &str, path: &str, content: &str) -> Result<Vec<String>, String> {
    let path = file(path)?;
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if content.contains(control) {
        return Err("the file has a control character".to_owned());
    }
    // An empty line would end the payload.
    let pem: String = content
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .flat_map(|line| [line, "\n"])
        .collect();
    if pem.is_empty() {
        return Err("the file is empty".to_owned());
    }
    Ok(vec![format!("set ssl {kind} {path} <<\n{pem}"), format!("commit ssl {kind} {path}")])
}

fn content<'c>(contents: &'c Contents, path: &str) -> Result<&'c str, String> {
    contents
        .get(path)
        .map(String::as_str)
        .ok_or_else(|| format!("{path:?} is not a file of the order's bundle"))
}

fn name(name: &str) -> Result<&str, String> {
    check_name(name).map(|()| name)
}

/// A file's name as a word that cannot be taken for an entry's address (`#1`) or a version (`@1`).
fn file(path: &str) -> Result<String, String> {
    if path.starts_with(['#', '@', '*', '-']) || path.contains([' ', '\\', ':']) || path.len() > 512 {
        return Err(format!("the file {path:?} cannot be named at run time"));
    }
    escaped(path)
}

/// A map's key or an ACL's pattern. With `#` HAProxy takes an address of memory.
fn key_word(key: &str) -> Result<String, String> {
    if key.starts_with(['#', '@']) {
        return Err(format!("{key:?} cannot be named at run time: it begins like an address or a version"));
    }
    text(key)
}

/// Any text as one word.
fn text(value: &str) -> Result<String, String> {
    if value.is_empty() {
        return Err("an empty word cannot be given at run time".to_owned());
    }
    if value.len() > 8000 || value.chars().any(|c| c.is_control() && c != '\t') || value.starts_with("<<") {
        return Err(
            "it cannot be given at run time: too long, a control character, or << at its start".to_owned()
        );
    }
    let mut word = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '\\' | ' ' | '\t' | ';') {
            word.push('\\');
        }
        word.push(c);
    }
    Ok(word)
}

/// A line of a crt-list, sent as it is.
fn crt_list_line(line: &str) -> Result<&str, String> {
    let certificate = line.split(' ').next().unwrap_or_default();
    file(certificate)?;
    if line.len() > 8000 || line.chars().any(char::is_control) {
        return Err("the line is too long or has a control character".to_owned());
    }
    Ok(line)
}

/// Backend and server of `operation`, when it is about a server.
pub(crate) fn target(operation: &Operation) -> Option<(&str, &str)> {
    match operation {
        Operation::SetServerAddress { backend, server, .. }
        | Operation::SetServerWeight { backend, server, .. }
        | Operation::SetServerState { backend, server, .. }
        | Operation::SetServerMaxconn { backend, server, .. }
        | Operation::SetServerCheck { backend, server, .. }
        | Operation::AddServer { backend, server, .. }
        | Operation::DeleteServer { backend, server } => Some((backend, server)),
        _ => None,
    }
}

/// An address as in haproxy.cfg, when it is an IP address with a port.
pub(crate) fn socket_address(address: &str) -> Option<(IpAddr, u16)> {
    let bare = address.strip_prefix("ipv4@").or_else(|| address.strip_prefix("ipv6@")).unwrap_or(address);
    if let Ok(socket) = bare.parse::<SocketAddr>() {
        return Some((socket.ip(), socket.port()));
    }
    // HAProxy also takes fd00::1:80 without brackets: the last colon separates the port.
    let (ip, port) = bare.rsplit_once(':')?;
    Some((ip.parse().ok()?, port.parse().ok()?))
}

fn word_of(state: ServerState) -> &'static str {
    match state {
        ServerState::Ready => "ready",
        ServerState::Drain => "drain",
        ServerState::Maint => "maint",
    }
}

fn full_name(backend: &str, server: &str) -> Result<String, String> {
    check_name(backend)?;
    check_name(server)?;
    Ok(format!("{backend}/{server}"))
}

/// HAProxy's rule for names of proxies and servers (configuration manual, 2.2: letters, digits, `-`, `_`, `.`, `:`).
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if name.is_empty() || name.len() > 255 || !name.chars().all(fits) {
        return Err(format!("{name:?} is not a name that HAProxy takes (letters, digits, - _ . :)"));
    }
    Ok(())
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

/// One word for the command socket: spaces and backslashes escaped (management guide, 9.3).
fn escaped(word: &str) -> Result<String, String> {
    if word.is_empty() {
        return Err("an empty parameter cannot be given at run time".to_owned());
    }
    if word.contains(';')
        || word.chars().any(char::is_control)
        || word.starts_with("<<")
        || word.starts_with('#')
    {
        return Err(format!("the parameter {word:?} cannot be given at run time"));
    }
    Ok(word.replace('\\', "\\\\").replace(' ', "\\ "))
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(address: &str, params: &[&str]) -> Operation {
        Operation::AddServer {
            backend: "shop".to_owned(),
            server: "web_1".to_owned(),
            address: address.to_owned(),
            params: params.iter().map(|p| (*p).to_owned()).collect(),
            enabled: true,
        }
    }

    #[test]
    fn a_server_with_checks_gets_its_checks_enabled_too() {
        assert_eq!(
            commands(&add("10.0.0.1:80", &["weight", "5", "check"]), &Contents::new()).unwrap(),
            [
                "add server shop/web_1 10.0.0.1:80 weight 5 check",
                "enable health shop/web_1",
                "enable server shop/web_1"
            ]
        );
    }

    #[test]
    fn a_space_in_a_parameter_does_not_end_it() {
        let lines = commands(&add("10.0.0.1:80", &["sni", r"str(a b\c)"]), &Contents::new()).unwrap();
        assert_eq!(lines[0], r"add server shop/web_1 10.0.0.1:80 sni str(a\ b\\c)");
    }

    #[test]
    fn nothing_in_an_order_begins_another_command() {
        for bad in ["a;b", "a\nshutdown sessions", "a\tb", "<<", "", "#"] {
            assert!(commands(&add("10.0.0.1:80", &[bad]), &Contents::new()).is_err(), "{bad:?}");
        }
        for bad in ["a b", "a/b", "a;b", "", "a\nb", "ä"] {
            let operation = Operation::DeleteServer { backend: bad.to_owned(), server: "s".to_owned() };
            assert!(commands(&operation, &Contents::new()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn addresses_are_numbers_or_socket_paths() {
        for good in [
            "10.0.0.1:80",
            "[fd00::1]:80",
            "fd00::1:80",
            "ipv4@10.0.0.1:80",
            "unix@/run/x.sock",
            "/run/x.sock",
        ] {
            assert!(commands(&add(good, &[]), &Contents::new()).is_ok(), "{good}");
        }
        for bad in ["shop.example:80", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:99999", "10.0.0.1:80;x", "unix@x"]
        {
            assert!(commands(&add(bad, &[]), &Contents::new()).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_that_haproxy_would_wrap_or_refuse_are_refused() {
        let address = |address: &str, port| Operation::SetServerAddress {
            backend: "b".to_owned(),
            server: "s".to_owned(),
            address: address.to_owned(),
            port,
        };
        assert!(commands(&address("10.0.0.1", 0), &Contents::new()).is_err());
        assert!(commands(&address("name.example", 80), &Contents::new()).is_err());
        assert_eq!(
            commands(&address("fd00::1", 80), &Contents::new()).unwrap(),
            ["set server b/s addr fd00::1 port 80"]
        );
        let weight =
            Operation::SetServerWeight { backend: "b".to_owned(), server: "s".to_owned(), weight: 257 };
        assert!(commands(&weight, &Contents::new()).is_err());
    }

    #[test]
    fn names_keys_and_contents_cannot_begin_another_command() {
        let entry = |map: &str, key: &str, value: &str| Operation::AddMapEntry {
            map: map.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let good = commands(&entry("maps/a b.map", "k", "v"), &Contents::new());
        assert!(good.is_err(), "a file's name is one word");
        let good = commands(&entry("maps/a.map", "k;x", "a b\\"), &Contents::new()).unwrap();
        assert_eq!(good, [r"set map maps/a.map k\;x a\ b\\", r"add map maps/a.map k\;x a\ b\\"]);
        for (map, key, value) in [
            ("#1", "k", "v"),
            ("@1", "k", "v"),
            ("m;x", "k", "v"),
            ("m", "#0x1", "v"),
            ("m", "k\n", "v"),
            ("m", "k", "v\nshutdown"),
            ("m", "", "v"),
            ("m", "k", ""),
            ("m", "<<", "v"),
        ] {
            assert!(
                commands(&entry(map, key, value), &Contents::new()).is_err(),
                "{map:?} {key:?} {value:?}"
            );
        }
        let line = |line: &str| Operation::AddCrtListLine { list: "l".to_owned(), line: line.to_owned() };
        assert_eq!(
            commands(&line("c [alpn h2] x"), &Contents::new()).unwrap(),
            ["add ssl crt-list l <<\nc [alpn h2] x\n"]
        );
        for bad in ["c\n\nshow info", "", "#c", "a:1"] {
            assert!(commands(&line(bad), &Contents::new()).is_err(), "{bad:?}");
        }
        let backend = Operation::AddBackend { backend: "b".to_owned(), defaults: "a b".to_owned() };
        assert!(commands(&backend, &Contents::new()).is_err());
    }

    #[test]
    fn an_empty_line_in_a_certificate_does_not_end_its_payload() {
        let key = "-----BEGIN PRIVATE KEY-----";
        let contents = Contents::from([("c.pem".to_owned(), format!("{key}\n\n  \r\nb\r\n"))]);
        let set = Operation::SetCertificate { certificate: "c.pem".to_owned() };
        let lines = commands(&set, &contents).unwrap();
        assert_eq!(lines, [format!("set ssl cert c.pem <<\n{key}\nb\n"), "commit ssl cert c.pem".to_owned()]);
        assert!(commands(&set, &Contents::new()).is_err());
        let without_key = Contents::from([("c.pem".to_owned(), "-----BEGIN CERTIFICATE-----\n".to_owned())]);
        assert!(commands(&set, &without_key).unwrap_err().to_string().contains("no private key"));
    }

    #[test]
    fn a_map_is_replaced_in_pieces_that_fit_the_socket() {
        let content: String = (0..2000).map(|n| format!("key{n} value\n")).collect();
        let chunks: Vec<String> = map_chunks("m", "7", &content).unwrap().collect::<Result<_, _>>().unwrap();
        assert!(chunks.len() > 1 && chunks.iter().all(|chunk| chunk.len() < 9000));
        assert_eq!(chunks.iter().map(|chunk| chunk.lines().count() - 1).sum::<usize>(), 2000);
        assert!(map_chunks("m", "7;x", &content).is_err());
        assert!(map_chunks("m", "7", "# nothing\n").unwrap().next().is_none());
        assert!(map_chunks("m", "7", "key\n").unwrap().next().unwrap().unwrap_err().contains("\"key\""));
    }
}
