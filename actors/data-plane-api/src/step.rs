//! What an operation is in calls of the Data Plane API, or why it cannot be brought without a reload. Pure.
//!
//! The planner asks this for every operation, so that a plan holds nothing that the API cannot do; and the API answers
//! "done" to much that it does not do, so whatever was not seen to work is a reason to reload.

use haptic_model::{
    Capabilities, FileKind, HaproxyVersion, Operation,
    operation::{CheckSetting, ServerState},
};
use haptic_text::pattern_file::map_entries;
use serde_json::{Map, Value, json};
use std::net::IpAddr;

/// What the steps of one plan may take: more would take longer than a reload, and their header more than the API takes (1 MiB).
pub(crate) const MOST: usize = 4000;
/// A map of more bytes is replaced at once by the API; to a smaller one it adds.
const REPLACED_AT_ONCE: usize = 8192;
/// A certificate of more bytes reaches HAProxy through its socket from 3.4 on.
const SOCKET_TAKES: usize = 16_000;
/// The first API that brings certificates to a running HAProxy.
const CERTIFICATES: HaproxyVersion = HaproxyVersion::new(3, 2);
/// The first HAProxy whose socket takes large certificates.
const LARGE_PAYLOADS: HaproxyVersion = HaproxyVersion::new(3, 4);

/// One operation, as the API does it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ApiStep {
    /// In the header `X-Runtime-Actions` of a push.
    Action(String),
    /// The same; alone `PUT runtime/backends/B/servers/S`.
    SetState { backend: String, server: String, state: ServerState },
    /// `POST runtime/backends/B/servers`, then its state.
    AddServer { backend: String, server: String, body: Value, enabled: bool },
    /// State maint, and `DELETE runtime/backends/B/servers/S`.
    DeleteServer { backend: String, server: String },
    /// `PUT runtime/maps/M/entries/K`.
    SetEntry { map: String, key: String, value: String },
    /// `POST runtime/maps/M/entries`, or as one of several when its value has blanks.
    AddEntry { map: String, key: String, value: String },
    /// `DELETE runtime/maps/M/entries/K`.
    DeleteEntry { map: String, key: String },
    /// `PUT runtime/maps/M`.
    ReplaceMap { map: String },
    /// `POST runtime/acls/N/entries`.
    AddPattern { list: String, pattern: String },
    /// `DELETE runtime/acls/N/entries/E`.
    DeletePattern { list: String, pattern: String },
    /// `POST` or `PUT storage/ssl_certificates`, which brings it to HAProxy, too.
    Certificate { path: String },
    /// Nothing for HAProxy: the file goes with those that are no longer needed.
    Nothing,
}

impl ApiStep {
    /// Its words, when it is an action.
    pub(crate) fn action(&self) -> Option<String> {
        match self {
            Self::Action(words) => Some(words.clone()),
            Self::SetState { backend, server, state } => {
                Some(["SetServerState", backend, server, word(*state)].join(" "))
            }
            _ => None,
        }
    }

    /// The action that brings the server that this adds into service.
    pub(crate) fn taking_requests(&self) -> Option<Self> {
        match self {
            Self::AddServer { backend, server, enabled: true, .. } => Some(Self::SetState {
                backend: backend.clone(),
                server: server.clone(),
                state: ServerState::Ready,
            }),
            _ => None,
        }
    }

    /// How much it counts of [`MOST`]: what is no action is a call of its own, and is read back.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Action(_) | Self::SetState { .. } => 1,
            Self::Nothing => 0,
            _ => 2,
        }
    }
}

/// The step of `operation`; `content` gives a file of the bundle that the pod is brought to.
///
/// # Errors
/// Why it needs a reload.
pub(crate) fn step(
    operation: &Operation,
    capabilities: Capabilities,
    content: &dyn Fn(&str) -> Option<String>,
) -> Result<ApiStep, String> {
    let api = capabilities.data_plane_api.unwrap_or(capabilities.version);
    Ok(match operation.clone() {
        Operation::SetServerAddress { backend, server, address, port } => {
            // It answers 201 to any address, takes only these, and wraps ports.
            let address: IpAddr = address
                .parse()
                .map_err(|_| format!("server {backend}/{server}: {address} is no IP address"))?;
            action(&["SetServerAddr", &backend, &server, &address.to_string(), &port.to_string()])?
        }
        Operation::SetServerWeight { backend, server, weight } => {
            action(&["SetServerWeight", &backend, &server, &weight.to_string()])?
        }
        Operation::SetServerState { backend, server, state } => {
            action_words(&["SetServerState", &backend, &server, word(state)])?;
            ApiStep::SetState { backend, server, state }
        }
        Operation::SetServerCheck { backend, server, setting: CheckSetting::CheckPort, value } => {
            action(&["SetServerCheckPort", &backend, &server, &value])?
        }
        // It has an action for that, and no call that tells what became of it.
        Operation::SetFrontendMaxconn { frontend, .. } => {
            return Err(format!(
                "frontend {frontend}: the Data Plane API cannot tell whether its maxconn was changed"
            ));
        }
        Operation::AddServer { backend, server, address, params, enabled } => {
            let at = format!("server {backend}/{server}");
            // What brings it into service.
            action_words(&["SetServerState", &backend, &server])?;
            let body = server_body(&server, &address, &params).map_err(|why| format!("{at}: {why}"))?;
            ApiStep::AddServer { backend, server, body, enabled }
        }
        Operation::DeleteServer { backend, server, .. } => ApiStep::DeleteServer { backend, server },
        Operation::SetMapEntry { map, key, value } => {
            sendable(&map, [&key, &value])?;
            if value.contains(BLANKS) {
                return Err(format!("map {map}: the Data Plane API would cut a value at its first blank"));
            }
            ApiStep::SetEntry { map, key, value }
        }
        Operation::AddMapEntry { map, key, value } => {
            sendable(&map, [&key, &value])?;
            ApiStep::AddEntry { map, key, value }
        }
        Operation::DelMapEntry { map, key } => {
            sendable(&map, [&key])?;
            ApiStep::DeleteEntry { map, key }
        }
        Operation::ReplaceMap { map } => {
            let text = content(&map).unwrap_or_default();
            let bytes: usize = map_entries(&text).map(|(key, value)| key.len() + value.len() + 2).sum();
            if bytes <= REPLACED_AT_ONCE {
                return Err(format!("map {map}: the Data Plane API replaces only larger maps at once"));
            }
            map_entries(&text).try_for_each(|(key, value)| sendable(&map, [&key, &value]))?;
            ApiStep::ReplaceMap { map }
        }
        Operation::AddAclEntry { acl, pattern } => {
            sendable(&acl, [&pattern])?;
            if pattern.contains(BLANKS) {
                return Err(format!("{acl}: the Data Plane API would cut a pattern at its first blank"));
            }
            ApiStep::AddPattern { list: acl, pattern }
        }
        Operation::DelAclEntry { acl, pattern } => ApiStep::DeletePattern { list: acl, pattern },
        Operation::AddCertificate { certificate } | Operation::SetCertificate { certificate } => {
            if api < CERTIFICATES {
                return Err(format!(
                    "certificate {certificate}: the Data Plane API {api} needs a reload for it"
                ));
            }
            let bytes = content(&certificate).map_or(0, |text| text.len());
            if bytes > SOCKET_TAKES && capabilities.version < LARGE_PAYLOADS {
                let version = capabilities.version;
                return Err(format!(
                    "certificate {certificate}: HAProxy {version} takes {bytes} bytes at a start only"
                ));
            }
            ApiStep::Certificate { path: certificate }
        }
        // What nobody names does no harm in memory.
        Operation::DeleteCertificate { .. } => ApiStep::Nothing,
        other => return Err(format!("the Data Plane API cannot do it at run time: {other}")),
    })
}

/// What the API parts the words of a line at.
const BLANKS: [char; 2] = [' ', '\t'];

/// Its words are parted by single blanks and its actions by `;`: anything else would be another action, or none.
fn action(words: &[&str]) -> Result<ApiStep, String> {
    action_words(words).map(ApiStep::Action)
}

fn action_words(words: &[&str]) -> Result<String, String> {
    let is_word = |word: &&str| {
        !word.is_empty() && !word.contains(|c: char| c == ';' || c.is_whitespace() || c.is_control())
    };
    match words.iter().all(is_word) && words.iter().all(|word| word.is_ascii()) {
        true => Ok(words.join(" ")),
        false => Err(format!("{words:?} cannot be an action of the Data Plane API")),
    }
}

fn word(state: ServerState) -> &'static str {
    match state {
        ServerState::Ready => "ready",
        ServerState::Drain => "drain",
        ServerState::Maint => "maint",
    }
}

fn sendable<'w>(
    path: &str,
    words: impl IntoIterator<Item = &'w (impl AsRef<str> + ?Sized + 'w)>,
) -> Result<(), String> {
    match words
        .into_iter()
        .find(|word| word.as_ref().contains(|c: char| c == ';' || c.is_control() && c != '\t'))
    {
        // Whatever the entry is: it may be a token.
        Some(_) => Err(format!("{path}: the Data Plane API takes no entry with a ';'")),
        None => Ok(()),
    }
}

/// How a parameter of a server is written in the body.
#[derive(Clone, Copy)]
enum Field {
    Number(&'static str),
    Word(&'static str),
    /// `enabled`, and it takes no value.
    Flag(&'static str),
}

/// Fields of `runtime_add_server` that mean the same in all versions of the API from 3.0 on. Checks are none of them: it adds a
/// server with `check` and never starts the check.
const FIELDS: &[(&str, Field)] = &[
    ("weight", Field::Number("weight")),
    ("maxconn", Field::Number("maxconn")),
    ("minconn", Field::Number("minconn")),
    ("maxqueue", Field::Number("maxqueue")),
    ("pool-max-conn", Field::Number("pool_max_conn")),
    ("pool-low-conn", Field::Number("pool_low_conn")),
    ("ssl", Field::Flag("ssl")),
    ("send-proxy", Field::Flag("send-proxy")),
    ("send-proxy-v2", Field::Flag("send-proxy-v2")),
    ("verify", Field::Word("verify")),
    ("verifyhost", Field::Word("verifyhost")),
    ("sni", Field::Word("sni")),
    ("alpn", Field::Word("alpn")),
    ("proto", Field::Word("proto")),
    ("ws", Field::Word("ws")),
    ("ca-file", Field::Word("ssl_cafile")),
    ("crt", Field::Word("ssl_certificate")),
];

fn server_body(name: &str, address: &str, params: &[String]) -> Result<Value, String> {
    let (host, port) = address.rsplit_once(':').ok_or("an address without a port")?;
    let host: IpAddr = host
        .trim_matches(['[', ']'])
        .parse()
        .map_err(|_| format!("the Data Plane API adds servers at IP addresses, and {host} is none"))?;
    let port: u16 = port.parse().map_err(|_| format!("{port} is no port"))?;
    let mut body = Map::new();
    body.insert("name".into(), json!(name));
    body.insert("address".into(), json!(host));
    body.insert("port".into(), json!(port));
    let mut words = params.iter();
    while let Some(keyword) = words.next() {
        let known = FIELDS.iter().find(|(known, _)| known == keyword);
        let Some((_, field)) = known else {
            return Err(format!("the Data Plane API cannot add one with {keyword} that works"));
        };
        let mut value = || words.next().map(String::as_str).unwrap_or_default();
        let (field, value) = match field {
            Field::Flag(field) => (field, json!("enabled")),
            Field::Word(field) => (field, json!(value())),
            Field::Number(field) => {
                let value = value();
                (field, json!(value.parse::<u32>().map_err(|_| format!("{keyword} {value:?} is no number"))?))
            }
        };
        body.insert((*field).into(), value);
    }
    Ok(Value::Object(body))
}

/// The kind of file at `path` in its storage: what lies in folders of the layout.
pub(crate) fn kind_of(path: &str, layout: &haptic_model::Layout) -> Option<FileKind> {
    let (folder, _) = path.rsplit_once('/')?;
    [
        (&layout.maps, FileKind::Map),
        (&layout.certificates, FileKind::Certificate),
        (&layout.general, FileKind::General),
    ]
    .into_iter()
    .find_map(|(its, kind)| (its == folder).then_some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(operation: Operation, api: u16) -> Result<ApiStep, String> {
        let capabilities =
            Capabilities::through_data_plane_api(HaproxyVersion::new(3, api), HaproxyVersion::new(3, api));
        let large = |_: &str| Some((0..1000).map(|n| format!("host-{n}.example backend\n")).collect());
        step(&operation, capabilities, &large)
    }

    fn server(params: &[&str]) -> Operation {
        Operation::AddServer {
            backend: "b".into(),
            server: "s".into(),
            address: "10.0.0.1:80".into(),
            params: params.iter().map(|word| (*word).to_owned()).collect(),
            enabled: true,
        }
    }

    #[test]
    fn changes_of_servers_are_actions_which_work_in_all_versions() {
        let (backend, server) = ("b".to_owned(), "s".to_owned());
        let address = |address: &str| Operation::SetServerAddress {
            backend: backend.clone(),
            server: server.clone(),
            address: address.into(),
            port: 80,
        };
        assert_eq!(of(address("fd00::1"), 0), Ok(ApiStep::Action("SetServerAddr b s fd00::1 80".into())));
        for bad in ["localhost", "999.1.1.1", "10.0.0.1;x"] {
            assert!(of(address(bad), 4).unwrap_err().contains("no IP address"));
        }
        let odd = Operation::SetServerWeight { backend: "a b".into(), server, weight: 1 };
        assert!(of(odd, 4).is_err(), "its words are parted by blanks");
    }

    #[test]
    fn servers_are_added_with_what_the_api_passes_on() {
        let Ok(ApiStep::AddServer { body, .. }) = of(server(&["weight", "5", "ssl", "verify", "none"]), 0)
        else {
            panic!("it can be added")
        };
        let expected = json!({"name": "s", "address": "10.0.0.1", "port": 80, "weight": 5, "ssl": "enabled", "verify": "none"});
        assert_eq!(body, expected);
        for keyword in ["check", "cookie", "hash-key", "agent-check"] {
            assert!(of(server(&[keyword]), 4).unwrap_err().contains(keyword));
        }
    }

    #[test]
    fn entries_that_would_be_cut_or_be_commands_need_a_reload() {
        let set =
            |value: &str| Operation::SetMapEntry { map: "m".into(), key: "k".into(), value: value.into() };
        assert!(of(set("v"), 0).is_ok());
        assert!(of(set("a b"), 4).unwrap_err().contains("first blank"));
        assert!(of(set("a;b"), 4).unwrap_err().contains("with a ';'"));
        let add = Operation::AddMapEntry { map: "m".into(), key: "k".into(), value: "a b".into() };
        assert!(of(add, 0).is_ok(), "as one of several it stays whole");
    }

    #[test]
    fn small_maps_are_not_replaced_because_the_api_would_add_to_them() {
        let replace = Operation::ReplaceMap { map: "m".into() };
        assert!(of(replace.clone(), 0).is_ok());
        let api = Capabilities::through_data_plane_api(HaproxyVersion::new(3, 4), HaproxyVersion::new(3, 4));
        let small = step(&replace, api, &|_| Some("a b\n".into()));
        assert!(small.unwrap_err().contains("only larger maps"));
    }

    #[test]
    fn certificates_need_a_reload_where_the_api_does_not_bring_them() {
        let set = Operation::SetCertificate { certificate: "a.pem".into() };
        assert!(of(set.clone(), 0).unwrap_err().contains("3.0 needs a reload"));
        assert!(of(set.clone(), 2).unwrap_err().contains("at a start only"), "it is large");
        assert!(of(set, 4).is_ok());
    }

    #[test]
    fn what_it_has_no_call_for_needs_a_reload() {
        let backend = Operation::PublishBackend { backend: "b".into() };
        assert!(of(backend, 4).unwrap_err().contains("cannot do it at run time"));
        let maxconn = Operation::SetServerMaxconn { backend: "b".into(), server: "s".into(), maxconn: 3 };
        assert!(of(maxconn, 4).is_err());
    }

    /// As the table of the documentation words it.
    fn untellable(operation: &Operation, content: &str) -> &'static str {
        let can = |minor| {
            let version = HaproxyVersion::new(3, minor);
            let api = Capabilities::through_data_plane_api(version, version);
            step(operation, api, &|_| Some(content.to_owned())).is_ok()
        };
        match (can(0), can(2), can(4)) {
            (true, true, true) => "yes",
            (false, true, true) => "from 3.2 on",
            (false, false, true) => "from 3.4 on",
            (false, false, false) => "one reload",
            other => panic!("{operation}: {other:?}"),
        }
    }

    #[test]
    fn the_documentation_tells_what_can_be_done() {
        let name = || "x".to_owned();
        let set = |value: &str| Operation::SetMapEntry { map: name(), key: name(), value: value.into() };
        let check = Operation::SetServerCheck {
            backend: name(),
            server: name(),
            setting: CheckSetting::CheckPort,
            value: "80".into(),
        };
        let certificate = || Operation::SetCertificate { certificate: name() };
        let large = "host.example backend\n".repeat(1000);
        let rows: [(&str, Operation, &str); 18] = [
            ("a server that comes, without a check or a cookie", server(&["weight", "5"]), ""),
            ("a server that comes, with a check", server(&["check"]), ""),
            ("a server that comes, with a cookie", server(&["cookie", "x"]), ""),
            (
                "a server that goes",
                Operation::DeleteServer { backend: name(), server: name(), params: vec![] },
                "",
            ),
            (
                "`maxconn` of a server",
                Operation::SetServerMaxconn { backend: name(), server: name(), maxconn: 1 },
                "",
            ),
            ("port of a server's check", check, ""),
            ("`maxconn` of a frontend", Operation::SetFrontendMaxconn { frontend: name(), maxconn: 1 }, ""),
            (
                "an entry that comes to or goes from a map",
                Operation::DelMapEntry { map: name(), key: name() },
                "",
            ),
            ("the value of an entry", set("v"), ""),
            ("the value of an entry, with blanks in it", set("a b"), ""),
            ("an entry with `;` in it", set("a;b"), ""),
            ("a map as a whole, of more than 8 KB", Operation::ReplaceMap { map: name() }, &large),
            ("a map as a whole, smaller", Operation::ReplaceMap { map: name() }, "a b\n"),
            ("a pattern in the file of an ACL", Operation::AddAclEntry { acl: name(), pattern: name() }, ""),
            ("the content of a certificate", certificate(), "small"),
            ("the content of a certificate of more than 16 KB", certificate(), &large),
            (
                "a line of a crt-list: a host gets a certificate of its own",
                Operation::AddCrtListLine { list: name(), line: name() },
                "",
            ),
            ("a CA file", Operation::SetCaFile { file: name() }, ""),
        ];
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/transports.md");
        let page = std::fs::read_to_string(page).unwrap();
        for (row, operation, content) in rows {
            let line = page.lines().find(|line| line.starts_with(&format!("| {row} |")));
            let line = line.unwrap_or_else(|| panic!("no row {row:?}"));
            assert!(line.ends_with(&format!("| {} |", untellable(&operation, content))), "{line}");
        }
    }
}
