//! A `server` line with everything it takes from the `default-server` lines before it.

use crate::document::{Document, Line, SectionKind, Word};
use crate::keywords;

/// A server of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendServer {
    /// Its name.
    pub name: String,
    /// The address without the port: `10.0.0.1`, `2001:db8::1` (without brackets), `shop.example`, `unix@/run/x`.
    pub address: String,
    /// The port, `None` when the line has none or one that is not a plain number (`+1000`).
    pub port: Option<u16>,
    /// Address and port as written.
    pub endpoint: String,
    /// Whether an environment variable stands in its name or address.
    pub has_variable: bool,
    /// The parameters of the line itself, in its order.
    pub params: Vec<Parameter>,
    /// The parameters of the `default-server` lines in effect, in their order.
    pub inherited: Vec<Parameter>,
}

/// A parameter of a server with its values: `check`, `weight 10`, `source 10.0.0.1 usesrc clientip`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// Its keyword.
    pub name: String,
    /// What follows; most have no or one value.
    pub values: Vec<String>,
    /// Whether an environment variable stands in it: `"$X"` is one, `'$X'` is three characters.
    pub has_variable: bool,
}

/// Parameters that set what no other one sets, so that it does not matter where they stand.
const INDEPENDENT: &[&str] = &[
    "agent-check",
    "agent-inter",
    "agent-send",
    "alpn",
    "backup",
    "ca-file",
    "check",
    "check-alpn",
    "check-proto",
    "check-sni",
    "check-ssl",
    "ciphers",
    "ciphersuites",
    "cookie",
    "crl-file",
    "crt",
    "disabled",
    "downinter",
    "enabled",
    "error-limit",
    "fall",
    "fastinter",
    "guid",
    "hash-key",
    "id",
    "init-addr",
    "inter",
    "log-bufsize",
    "log-proto",
    "max-reuse",
    "maxconn",
    "maxqueue",
    "minconn",
    "namespace",
    "non-stick",
    "npn",
    "observe",
    "on-error",
    "on-marked-down",
    "on-marked-up",
    "pool-low-conn",
    "pool-max-conn",
    "pool-purge-delay",
    "proto",
    "redir",
    "resolve-net",
    "resolve-opts",
    "resolve-prefer",
    "resolvers",
    "rise",
    "shard",
    "slowstart",
    "sni",
    "ssl",
    "tcp-ut",
    "tfo",
    "track",
    "verify",
    "verifyhost",
    "weight",
    "ws",
];

impl Parameter {
    /// Whether both set the same thing, so that the later one wins: `check` and `no-check` do. `proxy-v2-options` only
    /// adds to the one before.
    fn sets_what(&self, other: &Self) -> bool {
        self.subject() == other.subject() && (self.name != "proxy-v2-options" || self == other)
    }

    /// What it sets: `check` for `no-check`.
    fn subject(&self) -> &str {
        match self.name.as_str() {
            "enabled" => "disabled",
            name => name.strip_prefix("no-").unwrap_or(name),
        }
    }

    fn is_independent(&self) -> bool {
        INDEPENDENT.contains(&self.subject())
    }

    /// Keyword and values.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.values.iter().map(String::as_str))
    }
}

impl BackendServer {
    /// Reads a `server` line; `None` for any other line or one without name and address.
    /// `defaults` are the `default-server` lines in effect at that line, oldest first.
    pub fn from_line(line: &Line<'_>, defaults: &[&Line<'_>]) -> Option<Self> {
        if line.keyword() != "server" {
            return None;
        }
        let (name, endpoint) = (line.words.get(1)?, line.words.get(2)?);
        let has_variable = name.has_variable || endpoint.has_variable;
        let (name, endpoint) = (name.value.to_string(), endpoint.value.to_string());
        let (address, port) = split_endpoint(&endpoint);
        let inherited = defaults.iter().flat_map(|line| parameters(line.from(1))).collect();
        Some(Self {
            name,
            address,
            port,
            endpoint,
            has_variable,
            params: parameters(line.from(3)),
            inherited,
        })
    }

    /// All parameters that are in force: inherited ones first, each replaced by a later one that sets the same
    /// thing. This is what must be written out for `add server`, which inherits nothing.
    pub fn effective_params(&self) -> Vec<Parameter> {
        let mut effective: Vec<Parameter> = Vec::with_capacity(self.inherited.len() + self.params.len());
        for param in self.inherited.iter().chain(&self.params) {
            match effective.iter().position(|known| known.sets_what(param)) {
                Some(at) if param.is_independent() => {
                    effective.push(param.clone());
                    effective.swap_remove(at);
                }
                Some(at) => {
                    effective.remove(at);
                    effective.push(param.clone());
                }
                None => effective.push(param.clone()),
            }
        }
        effective
    }

    /// The values of a parameter that is in force; empty for one without values.
    pub fn param(&self, name: &str) -> Option<Vec<String>> {
        self.effective_params().into_iter().find(|param| param.name == name).map(|param| param.values)
    }

    /// Whether HAProxy starts it in maintenance: of all `enabled` and `disabled`, inherited ones included, the last counts.
    pub fn is_disabled(&self) -> bool {
        let words = self.inherited.iter().chain(&self.params).map(|parameter| parameter.name.as_str());
        words.rev().find(|name| matches!(*name, "enabled" | "disabled")) == Some("disabled")
    }

    /// Whether two servers are the same to HAProxy, wherever their parameters come from.
    pub fn same_as(&self, other: &Self) -> bool {
        let parts = |server: &Self| {
            let params = server.effective_params().into_iter();
            let (mut independent, ordered): (Vec<_>, Vec<_>) = params.partition(Parameter::is_independent);
            independent.sort_by(|a, b| a.name.cmp(&b.name));
            (independent, ordered)
        };
        self.name == other.name
            && self.endpoint == other.endpoint
            && self.has_variable == other.has_variable
            && parts(self) == parts(other)
    }

    /// Whether the parameters that both have, and whose order matters, stand in the same order.
    pub fn keeps_order_of(&self, other: &Self) -> bool {
        let shared = |of: &Self, with: &Self| {
            let mut params = of.effective_params();
            params.retain(|param| !param.is_independent() && with.param(&param.name).is_some());
            params.into_iter().map(|param| param.name).collect::<Vec<_>>()
        };
        shared(self, other) == shared(other, self)
    }
}

/// The servers of the section at `position`, with the `default-server` lines of the section and of the defaults
/// sections it starts from. `inheritance` is [`Document::inheritance`] of the same document.
pub fn servers(
    document: &Document<'_>,
    inheritance: &[Option<usize>],
    position: usize,
) -> Vec<BackendServer> {
    let mut chain = Vec::new();
    let mut parent = inheritance.get(position).copied().flatten();
    while let Some(at) = parent {
        chain.extend(document.sections.get(at));
        // A section starts only from one before it, so this ends.
        parent = inheritance.get(at).copied().flatten().filter(|&next| next < at);
    }
    let is_default = |line: &&Line<'_>| line.keyword() == "default-server";
    let mut defaults: Vec<&Line<'_>> =
        chain.iter().rev().flat_map(|section| section.lines.iter().filter(is_default)).collect();
    let Some(section) = document.sections.get(position) else { return Vec::new() };
    debug_assert_ne!(section.kind, SectionKind::Defaults);
    let mut servers = Vec::new();
    for line in &section.lines {
        match line.keyword() {
            "default-server" => defaults.push(line),
            "server" => servers.extend(BackendServer::from_line(line, &defaults)),
            _ => {}
        }
    }
    servers
}

/// Groups words into parameters with their values.
fn parameters(words: &[Word<'_>]) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    let mut rest = words.iter().peekable();
    while let Some(name) = rest.next() {
        let mut values = Vec::new();
        if name.value == "source" {
            // `source <address> [usesrc <address>] [interface <name>]`, configuration manual 5.2
            values.extend(rest.next());
            while let Some(option) = rest.next_if(|word| matches!(&*word.value, "usesrc" | "interface")) {
                values.push(option);
                values.extend(rest.next());
            }
        } else if takes_value(&name.value) {
            values.extend(rest.next());
        }
        let has_variable = name.has_variable || values.iter().any(|value| value.has_variable);
        let values = values.into_iter().map(|value| value.value.to_string()).collect();
        parameters.push(Parameter { name: name.value.to_string(), values, has_variable });
    }
    parameters
}

/// Whether any known HAProxy takes a value after this parameter.
fn takes_value(name: &str) -> bool {
    let stem = name.split('(').next().unwrap_or(name);
    keywords::all()
        .iter()
        .rev()
        .filter_map(|table| table.table("server values"))
        .any(|table| table.contains(stem))
}

/// `10.0.0.1:80` and `[::1]:80` as address and port. An address with a scheme or a path keeps everything.
fn split_endpoint(endpoint: &str) -> (String, Option<u16>) {
    let whole = || (endpoint.to_owned(), None);
    if endpoint.contains('/') || endpoint.starts_with("unix@") || endpoint.starts_with("abns") {
        return whole();
    }
    if let Some((address, rest)) = endpoint.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (
            address.to_owned(),
            rest.strip_prefix(':').filter(|port| !port.starts_with('+')).and_then(|port| port.parse().ok()),
        );
    }
    match endpoint.rsplit_once(':') {
        // `::1` has colons and no port, `+1000` is an offset.
        Some((address, port))
            if !address.ends_with(':') && port.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            port.parse().map_or_else(|_| whole(), |port| (address.to_owned(), Some(port)))
        }
        _ => whole(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(text: &str) -> Vec<String> {
        let document = Document::parse(text);
        let inheritance = document.inheritance();
        let at = document.sections.len() - 1;
        let write = |server: &BackendServer| {
            let params = server.effective_params();
            let words: Vec<_> = params.iter().flat_map(Parameter::words).collect();
            format!("{} {}", server.name, words.join(" "))
        };
        servers(&document, &inheritance, at).iter().map(write).collect()
    }

    #[test]
    fn default_server_lines_are_folded_in() {
        for (text, expected) in [
            ("backend b\n server s 1.1.1.1:80 check weight 3\n", vec!["s check weight 3"]),
            (
                "defaults\n default-server check inter 5s\nbackend b\n default-server weight 7\n\
                 server s 1.1.1.1:80 inter 1s\n default-server no-check\n server t 1.1.1.2:80\n",
                vec!["s check inter 1s weight 7", "t no-check inter 5s weight 7"],
            ),
            (
                "defaults a\n default-server rise 1\ndefaults c from a\n default-server fall 2\ndefaults d\n\
                 backend b from c\n server s 1.1.1.1:80\n",
                vec!["s rise 1 fall 2"],
            ),
            ("defaults a\n default-server rise 1\ndefaults d\nbackend b\n server s 1.1.1.1:80\n", vec!["s "]),
            (
                "backend b\n server s 1.1.1.1:80 source 10.0.0.1 usesrc clientip interface eth0 ssl verify none\n",
                vec!["s source 10.0.0.1 usesrc clientip interface eth0 ssl verify none"],
            ),
            (
                "backend b\n server s 1.1.1.1:80 set-proxy-v2-tlv-fmt(0x20) %[src] send-proxy-v2\n",
                vec!["s set-proxy-v2-tlv-fmt(0x20) %[src] send-proxy-v2"],
            ),
        ] {
            assert_eq!(effective(text), expected, "{text}");
        }
    }

    #[test]
    fn endpoints_are_split_into_address_and_port() {
        for (endpoint, address, port) in [
            ("10.0.0.1:80", "10.0.0.1", Some(80)),
            ("10.0.0.1", "10.0.0.1", None),
            ("[2001:db8::1]:443", "2001:db8::1", Some(443)),
            ("::1", "::1", None),
            ("shop.example:8080", "shop.example", Some(8080)),
            ("unix@/run/x.sock", "unix@/run/x.sock", None),
            ("/run/x.sock", "/run/x.sock", None),
            ("10.0.0.1:+1000", "10.0.0.1:+1000", None),
            ("ipv4@10.0.0.1:80", "ipv4@10.0.0.1", Some(80)),
        ] {
            assert_eq!(split_endpoint(endpoint), (address.to_owned(), port), "{endpoint}");
        }
    }
}
