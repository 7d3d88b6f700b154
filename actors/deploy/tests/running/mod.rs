//! A real HAProxy that carries out operations as an agent does.

#![allow(dead_code, reason = "each test uses a part of it")]

use haptic_model::{Bundle, Operation, operation::ServerState};
use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A running HAProxy; it ends with this value.
pub struct Haproxy {
    process: Child,
    folder: tempfile::TempDir,
}

impl Haproxy {
    /// Starts a HAProxy with the files of `bundle`, whose names are relative to its folder.
    pub fn start(binary: &str, bundle: &Bundle) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let own = folder.path().join("own.cfg");
        let file = folder.path().join("haproxy.cfg");
        let text =
            format!("global\n  default-path config\n  stats socket {} level admin\n", socket.display());
        std::fs::write(&own, text).unwrap();
        for written in bundle.all() {
            let path = folder.path().join(&*written.path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(
                path,
                written.text.to_string().replace("FOLDER", &folder.path().to_string_lossy()),
            )
            .unwrap();
        }
        let process = Command::new(binary)
            .args(["-db", "-f"])
            .arg(&own)
            .arg("-f")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let haproxy = Self { process, folder };
        haproxy.await_socket();
        haproxy
    }

    /// HAProxy tells nobody when it listens: connecting is the only way to know.
    fn await_socket(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(self.socket()).is_err() {
            assert!(Instant::now() < deadline, "HAProxy did not open its socket within 20 s: {}", self.log());
            std::thread::yield_now();
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// A path in its folder.
    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn socket(&self) -> std::path::PathBuf {
        self.path("s")
    }

    /// One command and its answer.
    pub fn command(&self, command: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        writeln!(stream, "{command}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.trim().to_owned()
    }

    /// Sends what an agent sends for `operation`, and insists that HAProxy takes it.
    pub fn carry_out(&self, operation: &Operation, target: &Bundle) {
        let accept = |command: String, accepted: &[&str]| {
            let answer = self.command(&command);
            assert!(accepted.iter().any(|start| answer.starts_with(start)), "{command}: {answer}");
        };
        match operation {
            Operation::SetServerAddress { backend, server, address, port } => accept(
                format!("set server {backend}/{server} addr {address} port {port}"),
                &["IP changed", "port changed", "no need"],
            ),
            Operation::SetServerWeight { backend, server, weight } => {
                assert_eq!(self.command(&format!("set server {backend}/{server} weight {weight}")), "");
            }
            Operation::SetServerMaxconn { backend, server, maxconn } => {
                assert_eq!(self.command(&format!("set maxconn server {backend}/{server} {maxconn}")), "");
            }
            Operation::SetServerState { backend, server, state } => {
                let state = match state {
                    ServerState::Ready => "ready",
                    ServerState::Drain => "drain",
                    ServerState::Maint => "maint",
                };
                assert_eq!(self.command(&format!("set server {backend}/{server} state {state}")), "");
            }
            Operation::AddServer { backend, server, address, params, enabled } => {
                let params = params.join(" ");
                accept(
                    format!("add server {backend}/{server} {address} {params}"),
                    &["New server registered"],
                );
                if *enabled {
                    assert_eq!(self.command(&format!("enable server {backend}/{server}")), "");
                }
            }
            Operation::DeleteServer { backend, server } => {
                assert_eq!(self.command(&format!("set server {backend}/{server} state maint")), "");
                accept(format!("del server {backend}/{server}"), &["Server deleted"]);
            }
            other => self.carry_out_of_files(other, target),
        }
    }

    fn carry_out_of_files(&self, operation: &Operation, target: &Bundle) {
        let accept = |command: String, last: &str| {
            let answer = self.command(&command);
            let told = answer.lines().last().unwrap_or_default();
            assert!(
                if last.is_empty() { answer.is_empty() } else { told.contains(last) },
                "{command}: {answer}"
            );
        };
        let escaped = |text: &str| text.replace('\\', "\\\\").replace(' ', "\\ ").replace(';', "\\;");
        let content = |path: &str| target.files[path].text.to_string();
        let set = |certificate: &str| {
            let pem = content(certificate).replace("\n\n", "\n");
            accept(format!("set ssl cert {certificate} <<\n{pem}"), "Transaction created");
            accept(format!("commit ssl cert {certificate}"), "Success!");
        };
        match operation {
            Operation::AddBackend { backend, defaults } => {
                accept(format!("add backend {backend} from {defaults}"), "New backend registered");
            }
            Operation::PublishBackend { backend } => {
                accept(format!("publish backend {backend}"), "Backend published");
            }
            Operation::UnpublishBackend { backend } => {
                accept(format!("unpublish backend {backend}"), "Backend unpublished");
            }
            Operation::DeleteBackend { backend, .. } => {
                accept(format!("del backend {backend}"), "Backend deleted");
            }
            Operation::SetMapEntry { map, key, value } => {
                accept(format!("set map {map} {} {}", escaped(key), escaped(value)), "");
            }
            Operation::AddMapEntry { map, key, value } => {
                accept(format!("add map {map} {} {}", escaped(key), escaped(value)), "");
            }
            Operation::DelMapEntry { map, key } => accept(format!("del map {map} {}", escaped(key)), ""),
            Operation::ReplaceMap { map } => {
                let answer = self.command(&format!("prepare map {map}"));
                let version = answer.rsplit(' ').next().unwrap();
                for (key, value) in haptic_model::pattern_file::map_entries(&content(map)) {
                    accept(format!("add map @{version} {map} {} {}", escaped(key), escaped(value)), "");
                }
                accept(format!("commit map @{version} {map}"), "");
            }
            Operation::AddAclEntry { acl, pattern } => {
                accept(format!("add acl {acl} {}", escaped(pattern)), "")
            }
            Operation::DelAclEntry { acl, pattern } => {
                accept(format!("del acl {acl} {}", escaped(pattern)), "")
            }
            Operation::AddCertificate { certificate } => {
                accept(format!("new ssl cert {certificate}"), "New empty certificate store");
                set(certificate);
            }
            Operation::SetCertificate { certificate } => set(certificate),
            Operation::DeleteCertificate { certificate } => {
                accept(format!("del ssl cert {certificate}"), "deleted!");
            }
            Operation::AddCrtListLine { list, line } => {
                accept(format!("add ssl crt-list {list} <<\n{line}\n"), "Success!");
            }
            Operation::DeleteCrtListLine { list, line } => {
                let (certificate, rest) = line.split_once(' ').unwrap_or((line, ""));
                // Options are shown in another way than they are written.
                let hosts = |line: &str| line.rsplit(']').next().unwrap_or_default().trim().to_owned();
                let shown = self.command(&format!("show ssl crt-list -n {list}"));
                let found = shown.lines().find(|shown| {
                    let (first, shown) = shown.split_once(' ').unwrap_or((shown, ""));
                    first.starts_with(&format!("{certificate}:")) && hosts(shown) == hosts(rest)
                });
                let numbered = found.and_then(|line| line.split(' ').next());
                let numbered = numbered.unwrap_or_else(|| panic!("{operation}: {shown}"));
                accept(format!("del ssl crt-list {list} {numbered}"), "deleted in crtlist");
            }
            Operation::SetFrontendMaxconn { frontend, maxconn } => {
                accept(format!("set maxconn frontend {frontend} {maxconn}"), "");
            }
            other => panic!("{other} is carried out elsewhere"),
        }
    }
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
