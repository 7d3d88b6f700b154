//! What a bundle is about, as data that changes step by step, and the bundle made of it.

use super::upstream;
use haptic_model::{Bundle, BundleFile, FileKey, FileKind};
use haptic_text::Text;
use rcgen::{CertificateParams, KeyPair};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

/// Hosts that may have routes and certificates.
pub const HOSTS: usize = 4;
/// Certificates that crt-lists may name.
pub const CERTIFICATES: usize = HOSTS;
/// Named defaults sections: their names, and what each holds beside [`COMMON`].
pub const PROFILES: &[(&str, &str)] = &[
    ("web", "    balance roundrobin\n    default-server maxconn 30\n"),
    ("least", "    balance leastconn\n    default-server weight 7 disabled\n"),
    ("keyed", "    balance hdr(x-key)\n    hash-type consistent\n    default-server hash-key addr-port\n"),
    ("numbered", "    balance hdr(x-key)\n    hash-type consistent\n"),
    ("mapped", "    balance hdr(x-key)\n"),
    ("ordered", "    balance first\n"),
    (
        "sticky",
        "    cookie SRV insert indirect nocache\n    balance random\n    default-server check inter 30s\n",
    ),
    ("dynamic", "    balance roundrobin\n    cookie SRV insert dynamic\n    dynamic-cookie-key secret\n"),
    ("proxied", "    balance roundrobin\n    default-server send-proxy\n"),
];
const COMMON: &str = "    mode http
    timeout client 5s
    timeout connect 1s
    timeout queue 1s
    retries 0
    http-reuse never
";

/// Everything that decides the files of a bundle.
#[derive(Clone, Debug)]
pub struct World {
    /// The timeout of all servers, in seconds.
    pub server_timeout: usize,
    pub frontend_maxconn: Option<usize>,
    /// How lines are indented, what comments there are, and the order of backends.
    pub style: usize,
    pub backends: BTreeMap<usize, Backend>,
    /// Looked up by equality, by the longest prefix, by what is contained, by regular expression, by network.
    pub exact: Vec<(String, String)>,
    pub prefix: Vec<(String, String)>,
    pub contained: Vec<(String, String)>,
    pub regex: Vec<(String, String)>,
    pub network: Vec<(String, String)>,
    /// Hosts, and parts of paths, that are denied.
    pub denied: Vec<String>,
    pub denied_parts: Vec<String>,
    /// With `strict-sni`, and without.
    pub strict: Vec<Line>,
    pub lax: Vec<Line>,
    /// Which of its versions each certificate has; the last one is named by a bind line.
    pub certificates: Vec<usize>,
    /// The authorities that each CA file holds.
    pub authorities: [BTreeSet<usize>; 3],
    /// Certificates that no line names are files, too.
    pub keeps_unused: bool,
}

/// A backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// Its name has this number too, so that it can be renamed.
    pub edition: usize,
    pub profile: usize,
    /// Whether it says `from`; otherwise it starts from the last defaults section.
    pub named: bool,
    /// Lines before its servers.
    pub lines: &'static str,
    /// In the order of their lines.
    pub servers: Vec<(usize, Server)>,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub target: Target,
    pub weight: Option<usize>,
    pub maxconn: Option<usize>,
    pub more: String,
    /// `enabled`, `disabled`, or nothing.
    pub state: &'static str,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Plain { address: usize, upstream: usize },
    Tls { upstream: usize, verify: Option<usize>, sni: bool },
}

/// A line of a crt-list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub certificate: usize,
    pub options: &'static str,
    pub hosts: Vec<String>,
}

impl World {
    /// The files of it.
    pub fn bundle(&self) -> Bundle {
        let map = |entries: &[(String, String)]| -> String {
            let head = if self.style.is_multiple_of(2) { "" } else { "# a comment\n\n" };
            let lines = entries.iter().map(|(key, value)| format!("{key} {value}\n"));
            std::iter::once(head.to_owned()).chain(lines).collect()
        };
        let lines = |all: &[String]| -> String { all.iter().map(|line| format!("{line}\n")).collect() };
        let list = |all: &[Line]| -> String { all.iter().map(Line::text).collect() };
        let mut files = vec![
            (FileKind::Map, "maps/exact.map".to_owned(), map(&self.exact)),
            (FileKind::Map, "maps/prefix.map".to_owned(), map(&self.prefix)),
            (FileKind::Map, "maps/contained.map".to_owned(), map(&self.contained)),
            (FileKind::Map, "maps/regex.map".to_owned(), map(&self.regex)),
            (FileKind::Map, "maps/network.map".to_owned(), map(&self.network)),
            (FileKind::Map, "maps/denied.lst".to_owned(), lines(&self.denied)),
            (FileKind::Map, "maps/denied-parts.lst".to_owned(), lines(&self.denied_parts)),
            (FileKind::CrtList, "ssl/strict.txt".to_owned(), list(&self.strict)),
            (FileKind::CrtList, "ssl/lax.txt".to_owned(), list(&self.lax)),
        ];
        let entries = || self.strict.iter().chain(&self.lax);
        let shown = self.servers().filter_map(Server::shows);
        let named: BTreeSet<usize> =
            entries().map(|line| line.certificate).chain(shown).chain([CERTIFICATES]).collect();
        for (at, version) in self.certificates.iter().enumerate() {
            if named.contains(&at) || self.keeps_unused {
                let pem = PEMS[at][*version].clone();
                files.push((FileKind::Certificate, format!("ssl/c{at}.pem"), pem));
            }
        }
        for (at, authorities) in self.authorities.iter().enumerate() {
            // One is also named by a bind line.
            let is_named = self.servers().any(|server| server.verifies_with(at))
                || entries().any(|line| line.verifies_with(at));
            if at == 1 || self.keeps_unused || is_named {
                let pem =
                    authorities.iter().map(|authority| upstream::AUTHORITIES[*authority].as_str()).collect();
                files.push((FileKind::Certificate, format!("ssl/ca{at}.pem"), pem));
            }
        }
        let file = |(kind, path, text): (FileKind, String, String)| {
            let name = path.rsplit('/').next().unwrap();
            BundleFile::new(FileKey::new(kind, name), &path, Text::plain(&text))
        };
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&self.config()));
        Bundle::new(config, files.into_iter().map(file))
    }

    fn servers(&self) -> impl Iterator<Item = &Server> {
        self.backends.values().flat_map(|backend| &backend.servers).map(|(_, server)| server)
    }

    fn config(&self) -> String {
        let mut text =
            "global\n    maxconn 500\n    ssl-default-bind-options ssl-min-ver TLSv1.2\n".to_owned();
        for (name, lines) in PROFILES {
            let timeout = self.server_timeout;
            text.push_str(&format!("defaults {name}\n{COMMON}{lines}    timeout server {timeout}s\n"));
        }
        let maxconn =
            self.frontend_maxconn.map_or_else(String::new, |maxconn| format!("    maxconn {maxconn}\n"));
        text.push_str(&format!("frontend http from web\n{maxconn}{FRONTEND}"));
        let mut backends: Vec<String> =
            self.backends.iter().map(|(number, backend)| backend.text(*number)).collect();
        if self.style.is_multiple_of(3) {
            backends.reverse();
        }
        text.push_str(&backends.concat());
        match self.style % 4 {
            1 => text.replace("    ", "\t"),
            2 => format!("# written anew\n{}", text.replace("\nbackend", "\n\n# a backend\nbackend")),
            3 => text.replace(" balance ", " balance   ").replace('\n', "   # end\n"),
            _ => text,
        }
    }
}

/// How the frontend finds backends, and shows what it found.
const FRONTEND: &str = "    bind unix@FOLDER/http
    bind unix@FOLDER/strict ssl strict-sni crt-list ssl/strict.txt
    bind unix@FOLDER/lax ssl crt-list ssl/lax.txt
    bind unix@FOLDER/one ssl crt ssl/c4.pem verify optional ca-file ssl/ca1.pem
    http-request deny deny_status 410 if { req.hdr(host) -i -f maps/denied.lst }
    http-request deny deny_status 403 if { path -m sub -f maps/denied-parts.lst }
    http-request set-var(txn.path) path
    http-request set-var(txn.host) req.hdr(host),map(maps/exact.map)
    http-request set-var(txn.contained) path,map_sub(maps/contained.map,none)
    http-request set-var(txn.regex) path,map_reg(maps/regex.map,none)
    http-request set-var(txn.network) req.hdr(x-address),map_ip(maps/network.map,none)
    http-request set-var(txn.backend) var(txn.host),concat(,txn.path),map_beg(maps/prefix.map) if { var(txn.host) -m found }
    http-after-response set-header x-found \"%[be_name] %[var(txn.contained)] %[var(txn.regex)] %[var(txn.network)]\"
    http-after-response set-header x-server %[srv_name]
    use_backend %[var(txn.backend)] if { var(txn.backend) -m found }
    default_backend none
backend none from web
";

impl Backend {
    /// Its name, as the `number`th backend.
    pub fn name(&self, number: usize) -> String {
        format!("b{number}-{}", self.edition)
    }

    /// Whether the same request goes to the same server each time.
    pub fn chooses_by_key(&self) -> bool {
        matches!(self.balance(), "keyed" | "numbered" | "mapped" | "ordered")
    }

    /// Whether servers of the same weight get the same number of requests.
    pub fn takes_turns(&self) -> bool {
        matches!(self.balance(), "web" | "dynamic" | "proxied")
    }

    fn balance(&self) -> &'static str {
        // Without `from`, it is the last defaults section before it.
        let profile = if self.named { self.profile } else { PROFILES.len() - 1 };
        PROFILES[profile].0
    }

    fn text(&self, number: usize) -> String {
        let from = if self.named { format!(" from {}", PROFILES[self.profile].0) } else { String::new() };
        let servers: String = self
            .servers
            .iter()
            .map(|(name, server)| format!("    server s{name} {}\n", server.text()))
            .collect();
        format!("backend {}{from}\n{}{servers}", self.name(number), self.lines)
    }
}

impl Server {
    /// A plain one.
    pub fn plain(upstream: usize) -> Self {
        let target = Target::Plain { address: 1, upstream };
        Self { target, weight: None, maxconn: None, more: String::new(), state: "" }
    }

    /// The certificate that it is shown.
    fn shows(&self) -> Option<usize> {
        (0..CERTIFICATES).find(|at| self.more.contains(&format!(" crt ssl/c{at}.pem")))
    }

    fn verifies_with(&self, file: usize) -> bool {
        matches!(self.target, Target::Tls { verify: Some(verify), .. } if verify == file)
    }

    fn text(&self) -> String {
        let mut text = match self.target {
            Target::Plain { address, upstream } => format!("127.0.0.{address}:{}", upstream::PLAIN[upstream]),
            Target::Tls { upstream, verify, sni } => {
                let verify = match verify {
                    Some(file) => format!("verify required ca-file ssl/ca{file}.pem"),
                    None => "verify none".to_owned(),
                };
                let sni = if sni { " sni str(up.example)" } else { "" };
                format!("127.0.0.1:{} ssl {verify}{sni}", upstream::TLS[upstream])
            }
        };
        for (name, value) in [("weight", self.weight), ("maxconn", self.maxconn)] {
            text.extend(value.map(|value| format!(" {name} {value}")));
        }
        text + &self.more + self.state
    }
}

impl Line {
    fn verifies_with(&self, file: usize) -> bool {
        self.options.contains(&format!("ca-file ssl/ca{file}.pem"))
    }

    fn text(&self) -> String {
        let mut text = format!("ssl/c{}.pem{}", self.certificate, self.options);
        self.hosts.iter().for_each(|host| text.push_str(&format!(" {host}")));
        text + "\n"
    }
}

/// The versions of each certificate in PEM, with its key.
pub static PEMS: LazyLock<Vec<[String; 3]>> = LazyLock::new(|| each_version(|version| version.0.clone()));
/// The same in DER, without keys.
pub static DERS: LazyLock<Vec<[Vec<u8>; 3]>> = LazyLock::new(|| each_version(|version| version.1.clone()));

/// PEM with the key, and DER.
type Version = (String, Vec<u8>);

/// The second version is also for the next host, the third has another key only.
static VERSIONS: LazyLock<Vec<[Version; 3]>> = LazyLock::new(|| {
    let certificate = |hosts: &[usize]| {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = hosts.iter().map(|host| format!("h{host}.example")).collect();
        let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        (format!("{}{}", certificate.pem(), key.serialize_pem()), certificate.der().to_vec())
    };
    (0..=CERTIFICATES)
        .map(|at| [certificate(&[at]), certificate(&[at, (at + 1) % HOSTS]), certificate(&[at])])
        .collect()
});

fn each_version<T>(of: impl Fn(&Version) -> T) -> Vec<[T; 3]> {
    VERSIONS.iter().map(|versions| [of(&versions[0]), of(&versions[1]), of(&versions[2])]).collect()
}
