//! What the stories need: an agent with its HAProxy, servers behind it, orders, and requests through it.

use haptic_agent::{Agent, AgentOptions, HaproxyMode, RunningAgent};
use haptic_model::{
    Epoch, Generation, Operation,
    agent_api::{Apply, Method, Outcome},
    bundle::digest_of_files,
};
use haptic_text::{Content, Digest};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, UnixStream},
};

/// One story's folder and HAProxy.
pub struct Setting {
    pub dir: tempfile::TempDir,
    pub binary: PathBuf,
}

/// Files by path.
pub type Files = BTreeMap<String, String>;

impl Setting {
    pub fn new(variable: &str) -> Self {
        let binary = std::env::var(variable).unwrap_or_else(|_| {
            panic!("{variable} is not set: run the tests through `make test`, which sets it")
        });
        Self { dir: tempfile::tempdir().unwrap(), binary: binary.into() }
    }

    pub fn options(&self) -> AgentOptions {
        AgentOptions::in_process(self.dir.path().join("d"), &self.binary)
    }

    pub async fn agent(&self) -> RunningAgent {
        Agent::start(self.options()).await.unwrap()
    }

    /// A configuration with backend `web`, whose servers are given as lines.
    pub fn files(&self, servers: &[String]) -> Files {
        let config = format!(
            "global\n    maxconn 200\ndefaults\n    mode http\n    timeout connect 2s\n    timeout client 30s\n    timeout server 30s\n    http-reuse never\n\
             frontend main\n    bind unix@{}\n    http-request return status 200 content-type text/plain lf-string \"%[path,map(maps/a.map,none)]\" if {{ path_beg /map }}\n    default_backend web\n\
             backend web\n    balance roundrobin\n{}",
            self.front().display(),
            servers.iter().map(|s| format!("    server {s}\n")).collect::<String>()
        );
        Files::from([
            ("haproxy.cfg".to_owned(), config),
            ("maps/a.map".to_owned(), "/map one\n".to_owned()),
            ("ssl/other.txt".to_owned(), "unused\n".to_owned()),
        ])
    }

    /// The master socket of a HAProxy that the agent is attached to.
    pub fn master(&self) -> PathBuf {
        self.dir.path().join("m.sock")
    }

    pub fn front(&self) -> PathBuf {
        self.dir.path().join("front.sock")
    }

    /// The body that HAProxy answers for `path`; `Err` when it does not answer 200.
    pub async fn get(&self, path: &str) -> Result<String, String> {
        let mut stream = UnixStream::connect(self.front()).await.map_err(|e| e.to_string())?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.map_err(|e| e.to_string())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.map_err(|e| e.to_string())?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| format!("no answer: {answer:?}"))?;
        if head.starts_with("HTTP/1.1 200") { Ok(body.to_owned()) } else { Err(head.to_owned()) }
    }
}

/// A story's folder, and its agent with the HAProxy that `variable` names.
pub async fn started(variable: &str) -> (Setting, RunningAgent) {
    let setting = Setting::new(variable);
    let agent = setting.agent().await;
    (setting, agent)
}

/// A story that failed leaves no HAProxy behind.
impl Drop for Setting {
    fn drop(&mut self) {
        let Ok(pid) = std::fs::read_to_string(self.dir.path().join("d/haproxy.pid")) else { return };
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if command.contains(&*self.dir.path().to_string_lossy()) {
            let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw);
            let _gone = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM));
        }
    }
}

/// A HAProxy that the agent does not keep; it ends with its story, also with one that failed.
pub struct Neighbour(pub Child);

impl Neighbour {
    /// Starts it on the agent's folder, with or without the agent's own file.
    pub fn start(setting: &Setting, with_agents_file: bool) -> Self {
        let dir = setting.dir.path().join("d");
        let own = setting.dir.path().join("own.cfg");
        std::fs::write(&own, "global\n    default-path config\n").unwrap();
        let mut command = std::process::Command::new(&setting.binary);
        command.args(["-W", "-S"]).arg(setting.master()).arg("-f");
        command.arg(if with_agents_file { dir.join("agent.cfg") } else { own });
        command.arg("-f").arg(dir.join("current/haproxy.cfg")).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
        // A worker whose master is killed ends a little later by itself; told to end, the master takes it along.
        let _told = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM));
        let _ended = self.0.wait();
    }
}

/// An agent attached to the HAProxy behind `master_socket`.
pub async fn attached_to(setting: &Setting, master_socket: PathBuf) -> RunningAgent {
    let options = AgentOptions { haproxy: HaproxyMode::Attach { master_socket }, ..setting.options() };
    Agent::start(options).await.unwrap()
}

/// An agent and the HAProxy that it is attached to.
pub async fn attached(setting: &Setting, with_agents_file: bool) -> (RunningAgent, Neighbour) {
    let agent = attached_to(setting, setting.master()).await;
    let haproxy = Neighbour::start(setting, with_agents_file);
    until("HAProxy is found", || async { agent.status().await.alive }).await;
    (agent, haproxy)
}

/// What HAProxy's command line at `socket` answers.
pub async fn tell(socket: &Path, command: &str) -> String {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    stream.write_all(format!("{command}\n").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// One of the agent's own figures.
pub async fn get_metric(agent: &RunningAgent, name: &str) -> u64 {
    let page = agent.handle().metrics().await;
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is not in\n{page}")).parse().unwrap()
}

/// A self-signed certificate of `host` with its key, valid until the first day of `year`.
pub fn certificate(host: &str, year: i32) -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new([host.to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2000, 1, 1);
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    format!("{}\n\n{}", params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// A server that answers its own name; on `/slow` only once told to through `release`.
pub struct Backend {
    pub address: SocketAddr,
    pub release: std::sync::Arc<tokio::sync::Notify>,
    pub arrived: std::sync::Arc<tokio::sync::Notify>,
}

impl Backend {
    pub async fn start(name: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let backend = Self {
            address: listener.local_addr().unwrap(),
            release: Default::default(),
            arrived: Default::default(),
        };
        let (release, arrived) = (backend.release.clone(), backend.arrived.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (release, arrived) = (release.clone(), arrived.clone());
                tokio::spawn(async move {
                    let mut request = vec![0; 4096];
                    let length = stream.read(&mut request).await.unwrap_or(0);
                    if String::from_utf8_lossy(&request[..length]).starts_with("GET /slow") {
                        arrived.notify_one();
                        release.notified().await;
                    }
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{name}",
                        name.len()
                    );
                    let _sent = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        backend
    }

    pub fn line(&self, name: &str) -> String {
        format!("{name} {}", self.address)
    }

    /// After it, the requests of `server` go here.
    pub fn replaces(&self, server: &str) -> Operation {
        Operation::SetServerAddress {
            backend: "web".to_owned(),
            server: server.to_owned(),
            address: self.address.ip().to_string(),
            port: self.address.port(),
        }
    }
}

fn digests(files: &Files) -> BTreeMap<String, Digest> {
    files.iter().map(|(path, content)| (path.clone(), Digest::of(content.as_bytes()))).collect()
}

/// Contents, all of them.
pub fn whole(files: &Files) -> BTreeMap<String, Content> {
    files.iter().map(|(path, content)| (path.clone(), Content::Whole(content.clone()))).collect()
}

/// The digest of a bundle of `files`.
pub fn digest(files: &Files) -> Digest {
    let digests = digests(files);
    let config = ("haproxy.cfg", &digests["haproxy.cfg"]);
    digest_of_files(config, digests.iter().filter(|(p, _)| *p != "haproxy.cfg").map(|(p, d)| (p.as_str(), d)))
}

/// An order from `base` to `files` with the contents that differ.
pub fn order(base: Option<&Files>, files: &Files, method: Method) -> Apply {
    let changed = files.iter().filter(|(path, content)| base.and_then(|b| b.get(*path)) != Some(content));
    Apply {
        epoch: Epoch { lease_created: 1, transitions: 1 },
        generation: Generation(7),
        base: base.map(digest),
        target: digest(files),
        config: "haproxy.cfg".to_owned(),
        since: None,
        files: digests(files).into_iter().map(|(path, digest)| (path, Some(digest))).collect(),
        contents: changed.map(|(p, c)| (p.clone(), Content::Whole(c.clone()))).collect(),
        method,
    }
}

pub fn reload() -> Method {
    Method::Reload { reason: "test".to_owned() }
}

/// Operations toward files that passed every check.
pub fn runtime(operations: impl IntoIterator<Item = Operation>) -> Method {
    Method::Runtime { operations: operations.into_iter().collect(), store: true }
}

/// Applies `files` with a reload, which must work.
pub async fn bring(agent: &RunningAgent, base: Option<&Files>, files: &Files) {
    let outcome = agent.apply(order(base, files, reload())).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: true, .. }), "{outcome:?}");
}

/// Has `operations` lead from `base` to `files`, which must work without a reload.
pub async fn operate(
    agent: &RunningAgent,
    base: &Files,
    files: &Files,
    operations: impl IntoIterator<Item = Operation>,
) {
    let outcome = agent.apply(order(Some(base), files, runtime(operations))).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
}

/// Waits until `condition` holds; a story that waits longer has failed.
pub async fn until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(30), waiting).await.is_ok(),
        "waited in vain until {what}"
    );
}
