//! Another HAProxy around a site: servers that speak what the echo does not (TLS, HTTP/2), and clients that do what the
//! tests' own client does not (HTTP/2, a certificate).

use crate::ports::free_port;
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{
    certificate::{self, Authority, Certificate},
    program::{self, HaproxySeries},
};
use rustix::{
    fd::OwnedFd,
    io::Errno,
    net::{self, AddressFamily, SocketFlags, SocketType},
};
use serde_json::{Value, json};
use std::{
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A running HAProxy with a configuration of its own.
pub struct Around {
    haproxy: Child,
    ports: [u16; 3],
    names: [&'static str; 3],
    _folder: tempfile::TempDir,
}

impl Drop for Around {
    fn drop(&mut self) {
        self.haproxy.kill().and_then(|()| self.haproxy.wait()).expect("HAProxy can be stopped");
    }
}

impl Around {
    /// Servers behind a site: `h1-tls`, `h2-tls` and `h2`, with a certificate for `host` that `authority` signs.
    pub fn servers(authority: &Authority, host: &str) -> Self {
        let words = ["ssl crt own.pem alpn http/1.1", "ssl crt own.pem alpn h2", "proto h2"];
        Self::answering(authority, host, SERVERS, words, "%HV %[ssl_fc_sni] %[path]")
    }

    /// Servers that want more of HAProxy: `mtls` a certificate that `authority` signed, `proxied` and `proxied-tls` the PROXY protocol. They answer
    /// with the name in the certificate, the client's address, and the name that they were asked for.
    pub fn asking(authority: &Authority, host: &str) -> Self {
        let words = [
            "ssl crt own.pem alpn http/1.1 ca-file ca.pem verify required",
            "accept-proxy",
            "accept-proxy ssl crt own.pem alpn h2",
        ];
        Self::answering(authority, host, ASKING, words, "%[ssl_c_s_dn(CN)] %[src] %[ssl_fc_sni]")
    }

    fn answering(
        authority: &Authority,
        host: &str,
        names: [&'static str; 3],
        words: [&str; 3],
        answer: &str,
    ) -> Self {
        let certificate = authority.sign(&[host.to_owned()]).unwrap();
        Self::start(&certificate, &authority.pem, names, |ports| {
            let frontends = names.iter().zip(ports).zip(words);
            frontends.fold(FRAME.to_owned(), |text, ((name, port), words)| {
                text + &format!("frontend {name}\n  bind 127.0.0.1:{port} {words}\n  http-request return status 200 content-type text/plain lf-string \"{name} {answer}\"\n")
            })
        })
    }

    /// Clients of the site at `site`, for `host`: see [`Self::over_h2`] and [`Self::with_certificate`].
    pub fn clients(authority: &Authority, site: SocketAddr, host: &str) -> Self {
        let certificate = authority.sign(&["client".to_owned()]).unwrap();
        Self::start(&certificate, &authority.pem, SERVERS, |ports| {
            let words = ["alpn h2", "alpn http/1.1 crt own.pem", "alpn http/1.1"];
            let proxies = ports.iter().zip(words);
            proxies.fold(FRAME.to_owned(), |text, (port, words)| {
                text + &format!("listen p{port}\n  bind 127.0.0.1:{port}\n  server site {site} ssl verify none sni str({host}) {words}\n")
            })
        })
    }

    /// Clients of the site at `site`, for `host`, that speak HTTP/3: see [`Self::over_h2`].
    pub fn over_http3(authority: &Authority, site: SocketAddr, host: &str) -> Self {
        let certificate = authority.sign(&["client".to_owned()]).unwrap();
        let frame = FRAME.replace("global\n", "global\n  expose-experimental-directives\n");
        Self::start(&certificate, &authority.pem, SERVERS, |ports| {
            ports.iter().fold(frame.clone(), |text, port| {
                text + &format!("listen p{port}\n  bind 127.0.0.1:{port}\n  server site quic4@{site} ssl verify none sni str({host}) alpn h3\n")
            })
        })
    }

    fn start(
        certificate: &Certificate,
        authority: &str,
        names: [&'static str; 3],
        config: impl Fn([u16; 3]) -> String,
    ) -> Self {
        for _ in 0..5 {
            let ports = [free_port(), free_port(), free_port()];
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("own.cfg"), config(ports)).unwrap();
            let pem = format!("{}{}", certificate.pem, certificate.key);
            std::fs::write(folder.path().join("own.pem"), pem).unwrap();
            std::fs::write(folder.path().join("ca.pem"), authority).unwrap();
            let log = folder.path().join("log");
            let output = std::fs::File::create(&log).unwrap();
            let binary = program::haproxy(HaproxySeries::V3_4).unwrap_or_else(|e| panic!("{e}"));
            let mut haproxy = Command::new(binary)
                .args(["-db", "-dr", "-f"])
                .arg(folder.path().join("own.cfg"))
                .stdin(Stdio::null())
                .stdout(output.try_clone().unwrap())
                .stderr(output)
                .spawn()
                .unwrap();
            if listens(&mut haproxy, ports[2]) {
                return Self { haproxy, ports, names, _folder: folder };
            }
            haproxy.kill().and_then(|()| haproxy.wait()).expect("HAProxy can be stopped");
            let said = std::fs::read_to_string(&log).unwrap();
            assert!(said.contains("Address already in use"), "{said}");
        }
        panic!("five times a port was taken by somebody else")
    }

    /// Where a plain HTTP/1.1 request becomes one over HTTP/2 and TLS to the site.
    pub fn over_h2(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.ports[0]).into()
    }

    /// Where a plain request becomes one over TLS that shows a certificate.
    pub fn with_certificate(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.ports[1]).into()
    }

    /// Services with these servers as endpoints, of their names.
    pub fn services(&self) -> Vec<Value> {
        self.names
            .iter()
            .zip(self.ports)
            .flat_map(|(name, port)| service(name, "IPv4", port, &["127.0.0.1"]))
            .collect()
    }
}

const SERVERS: [&str; 3] = ["h1-tls", "h2-tls", "h2"];
const ASKING: [&str; 3] = ["mtls", "proxied", "proxied-tls"];

const FRAME: &str = "global\n  default-path config\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n";

/// A port at which no connection is ever made: its queue is full.
pub struct Full {
    pub port: u16,
    _listener: OwnedFd,
    _waiting: Vec<OwnedFd>,
}

impl Full {
    pub fn listener() -> Self {
        let socket = || {
            net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::NONBLOCK, None).unwrap()
        };
        let listener = socket();
        net::bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        net::listen(&listener, 0).unwrap();
        let address = SocketAddr::try_from(net::getsockname(&listener).unwrap()).unwrap();
        // One is taken into a queue of none; all others only begin.
        let waiting = (0..4).map(|_| {
            let client = socket();
            let begun = net::connect(&client, &address);
            assert!(begun.is_ok() || begun == Err(Errno::INPROGRESS), "{begun:?}");
            client
        });
        let waiting = waiting.collect();
        Self { port: address.port(), _listener: listener, _waiting: waiting }
    }
}

/// A Service with its EndpointSlice.
pub fn service(name: &str, family: &str, port: u16, addresses: &[&str]) -> [Value; 2] {
    let endpoints: Vec<Value> = addresses.iter().map(|a| json!({ "addresses": [a] })).collect();
    [
        json!({"kind": "Service", "metadata": {"namespace": "shop", "name": name}, "spec": {"ports": [{"port": 80}]}}),
        json!({"kind": "EndpointSlice",
            "metadata": {"namespace": "shop", "name": format!("{name}-{family}"), "labels": {"kubernetes.io/service-name": name}},
            "addressType": family, "ports": [{"port": port}], "endpoints": endpoints}),
    ]
}

fn listens(haproxy: &mut Child, port: u16) -> bool {
    let deadline = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if haproxy.try_wait().unwrap().is_some() || Instant::now() > deadline {
            return false;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    true
}

/// A certificate of each kind of key for one host, as two Secrets `ecdsa` and `rsa`.
pub fn both_kinds(host: &str) -> [Value; 2] {
    let ecdsa = certificate::for_host(host).unwrap();
    let rsa = include_str!("../../../actors/render/tests/pem/rsa.pem");
    let (chain, key) = rsa.split_once("-----BEGIN PRIVATE").unwrap();
    let secret = |name: &str, chain: &str, key: &str| {
        json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": name},
            "data": {"tls.crt": BASE64.encode(chain), "tls.key": BASE64.encode(key)}})
    };
    [secret("ecdsa", &ecdsa.pem, &ecdsa.key), secret("rsa", chain, &format!("-----BEGIN PRIVATE{key}"))]
}
