//! A real HAProxy that carries out operations as an agent does.

#![allow(dead_code, reason = "each test uses a part of it")]

use haptic_model::{Bundle, Operation, operation::ServerState};
use haptic_text::pattern_file::map_entries;
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
        let text = format!(
            "global\n  default-path config\n  nbthread 1\n  stats socket {} level admin\n",
            socket.display()
        );
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
        let mut haproxy = Self { process, folder };
        haproxy.await_ready();
        haproxy
    }

    /// HAProxy tells nobody when it listens: asking is the only way to know. It opens its listeners one after the other
    /// and answers when all of them are open.
    fn await_ready(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while UnixStream::connect(self.socket()).is_err() {
            let ended = self.process.try_wait().unwrap().is_some();
            assert!(!ended && Instant::now() < deadline, "HAProxy did not open its socket: {}", self.log());
            std::thread::park_timeout(Duration::from_millis(1));
        }
        let version = self.command("show version");
        assert!(!version.is_empty(), "HAProxy does not answer: {}", self.log());
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

    /// Sends what an agent sends for `operation`.
    ///
    /// # Errors
    /// A command that HAProxy refuses, and what it says.
    pub fn carry_out(&self, operation: &Operation, target: &Bundle) -> Result<(), String> {
        match operation {
            Operation::SetServerAddress { backend, server, address, port } => self.send(
                &format!("set server {backend}/{server} addr {address} port {port}"),
                &["IP changed", "port changed", "no need"],
            ),
            Operation::SetServerWeight { backend, server, weight } => {
                self.send(&format!("set server {backend}/{server} weight {weight}"), &[])
            }
            Operation::SetServerMaxconn { backend, server, maxconn } => {
                self.send(&format!("set maxconn server {backend}/{server} {maxconn}"), &[])
            }
            Operation::SetServerState { backend, server, state } => {
                let state = match state {
                    ServerState::Ready => "ready",
                    ServerState::Drain => "drain",
                    ServerState::Maint => "maint",
                };
                self.send(&format!("set server {backend}/{server} state {state}"), &[])
            }
            Operation::SetServerCheck { backend, server, setting, value } => {
                let (keyword, value) = (setting.keyword(), escaped(value));
                self.send(&format!("set server {backend}/{server} {keyword} {value}"), &[])
            }
            Operation::AddServer { backend, server, address, params, enabled } => {
                let words: String = params.iter().map(|param| format!(" {}", escaped(param))).collect();
                self.send(
                    &format!("add server {backend}/{server} {address}{words}"),
                    &["New server registered"],
                )?;
                for (param, what) in [("check", "health"), ("", "server"), ("agent-check", "agent")] {
                    let is_server = param.is_empty() && *enabled;
                    if is_server || params.iter().any(|word| word == param) {
                        self.send(&format!("enable {what} {backend}/{server}"), &[])?;
                    }
                }
                Ok(())
            }
            Operation::DeleteServer { backend, server, .. } => {
                self.send(&format!("set server {backend}/{server} state maint"), &[])?;
                self.send_until(&format!("del server {backend}/{server}"), "Server deleted")
            }
            Operation::AddBackend { backend, defaults } => {
                self.send(&format!("add backend {backend} from {defaults}"), &["New backend registered"])
            }
            Operation::PublishBackend { backend } => {
                self.send(&format!("publish backend {backend}"), &["Backend published"])
            }
            Operation::UnpublishBackend { backend } => {
                self.send(&format!("unpublish backend {backend}"), &["Backend unpublished"])
            }
            Operation::DeleteBackend { backend, .. } => {
                self.send_until(&format!("del backend {backend}"), "Backend deleted")
            }
            Operation::SetFrontendMaxconn { frontend, maxconn } => {
                self.send(&format!("set maxconn frontend {frontend} {maxconn}"), &[])
            }
            other => self.carry_out_on_files(other, target),
        }
    }

    fn carry_out_on_files(&self, operation: &Operation, target: &Bundle) -> Result<(), String> {
        match operation {
            Operation::SetMapEntry { map, key, value } => {
                self.send(&format!("set map {map} {} {}", escaped(key), escaped(value)), &[])
            }
            Operation::AddMapEntry { map, key, value } => {
                self.send(&format!("add map {map} {} {}", escaped(key), escaped(value)), &[])
            }
            Operation::DelMapEntry { map, key } => self.send(&format!("del map {map} {}", escaped(key)), &[]),
            Operation::ReplaceMap { map } => {
                let answer = self.command(&format!("prepare map {map}"));
                let version = answer.strip_prefix("New version created: ").ok_or(answer.as_str())?;
                let content = content(target, map);
                let entries: String =
                    map_entries(&content).map(|(key, value)| format!("{key} {value}\n")).collect();
                if !entries.is_empty() {
                    self.send(&format!("add map @{version} {map} <<\n{entries}"), &[])?;
                }
                self.send(&format!("commit map @{version} {map}"), &[])
            }
            Operation::AddAclEntry { acl, pattern } => {
                self.send(&format!("add acl {acl} {}", escaped(pattern)), &[])
            }
            Operation::DelAclEntry { acl, pattern } => {
                self.send(&format!("del acl {acl} {}", escaped(pattern)), &[])
            }
            Operation::AddCertificate { certificate } => {
                self.send(&format!("new ssl cert {certificate}"), &["New empty certificate store"])?;
                self.set("cert", certificate, target)
            }
            Operation::SetCertificate { certificate } => self.set("cert", certificate, target),
            Operation::DeleteCertificate { certificate } => {
                self.send(&format!("del ssl cert {certificate}"), &["deleted!"])
            }
            Operation::AddCaFile { file } => {
                self.send(&format!("new ssl ca-file {file}"), &["New CA file created"])?;
                self.set("ca-file", file, target)
            }
            Operation::SetCaFile { file } => self.set("ca-file", file, target),
            Operation::DeleteCaFile { file } => self.send(&format!("del ssl ca-file {file}"), &["deleted!"]),
            Operation::AddCrtListLine { list, line } => {
                self.send(&format!("add ssl crt-list {list} <<\n{line}\n"), &["Success!"])
            }
            Operation::DeleteCrtListLine { list, line } => {
                let numbered = self.number_of(list, line)?;
                self.send(&format!("del ssl crt-list {list} {numbered}"), &["deleted in crtlist"])
            }
            other => Err(format!("{other} is carried out elsewhere")),
        }
    }

    fn set(&self, kind: &str, path: &str, target: &Bundle) -> Result<(), String> {
        let pem = content(target, path).replace("\n\n", "\n");
        self.send(&format!("set ssl {kind} {path} <<\n{pem}"), &["ransaction created"])?;
        self.send(&format!("commit ssl {kind} {path}"), &["Success!"])
    }

    /// The certificate of a crt-list's line with the number that HAProxy gave that line.
    fn number_of(&self, list: &str, line: &str) -> Result<String, String> {
        let (certificate, rest) = line.split_once(' ').unwrap_or((line, ""));
        // Options are shown in another way than they are written.
        let hosts = |line: &str| line.rsplit(']').next().unwrap_or_default().trim().to_owned();
        let shown = self.command(&format!("show ssl crt-list -n {list}"));
        let found = shown.lines().find(|shown| {
            let (first, shown) = shown.split_once(' ').unwrap_or((shown, ""));
            first.starts_with(&format!("{certificate}:")) && hosts(shown) == hosts(rest)
        });
        let numbered = found.and_then(|line| line.split(' ').next()).map(str::to_owned);
        numbered.ok_or_else(|| format!("{list} has no line {line}:\n{shown}"))
    }

    /// Sends a command whose answer must be empty, or have a last line with one of `expected` in it.
    fn send(&self, command: &str, expected: &[&str]) -> Result<(), String> {
        let answer = self.command(command);
        let last = answer.lines().last().unwrap_or_default();
        let is_fine = if expected.is_empty() {
            answer.is_empty()
        } else {
            expected.iter().any(|words| last.contains(words) || answer.starts_with(words))
        };
        if is_fine { Ok(()) } else { Err(format!("{command}: {answer}")) }
    }

    /// Repeats a deletion whose condition requests that end bring about. News of servers may hide that it is done.
    fn send_until(&self, command: &str, expected: &str) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut result = self.send(command, &[expected]);
        while result.is_err() && Instant::now() < deadline {
            std::thread::park_timeout(Duration::from_millis(1));
            result = self.send(command, &[expected, "No such"]);
        }
        result
    }
}

fn content(bundle: &Bundle, path: &str) -> String {
    bundle.files[path].text.to_string()
}

/// A word of a command.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace(' ', "\\ ").replace(';', "\\;")
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
