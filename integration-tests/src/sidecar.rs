//! HAProxy with the Data Plane API beside it, as pods have had it before there was an agent: the real one, when
//! `HAPTIC_TEST_DATAPLANEAPI` names it, else its double.
//!
//! The API wants absolute names, the same in every pod. So each pod's folder is mounted at one place that all pods of a
//! journey share, in a mount namespace of its own.

use crate::{
    certificate::Certificate,
    configuration::POD_ADDRESS,
    eventually::{eventually, eventually_within},
    failure::{Failure, Outcome, ensure},
    http::{Connection, Response},
    process::Process,
    program::{self, HaproxySeries},
};
use serde_json::{Value, json};
use std::{
    fs,
    net::SocketAddr,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    process::Command,
};

/// Mounts $1 at $2, with the folders in `READ_ONLY` as a disk that takes no writes, and runs the rest there.
const MOUNTED: &str = r#"set -eu; mount --bind "$1" "$2"
for folder in ${READ_ONLY:-}; do mount --bind "$2/$folder" "$2/$folder"; mount -o remount,bind,ro "$2/$folder"; done
shift 2; exec "$@""#;
/// Where the API writes all that it is sent.
const WRITTEN: &str = "maps ssl general dp/tx";
/// After how long the double reloads; the real one cannot do so in less than a second.
const RELOAD_DELAY_MILLIS: &str = "200";
/// A reload takes less.
const RELOADED_WITHIN: Duration = Duration::from_secs(10);
/// What kubelet does with a container that ends.
const AGAIN: &str = r#"while :; do "$@" || true; sleep 0.2; done"#;
/// What HAProxy runs before a controller has come: nothing.
const SEED: &str = "# _version=1\nglobal\n  maxconn 100\n\ndefaults seed\n  mode http\n  timeout connect 5s\n  \
                    timeout client 5s\n  timeout server 5s\n\nfrontend waiting from seed\n  bind \"${POD_IP}:7084\"\n  \
                    http-request return status 503\n";

/// What it is started with.
#[derive(Clone)]
pub struct Spec {
    /// Which HAProxy.
    pub series: HaproxySeries,
    /// Where the API listens.
    pub address: SocketAddr,
    /// What it accepts.
    pub credentials: (String, String),
    /// The pod's folder.
    pub folder: PathBuf,
    /// Where that is mounted.
    pub mounted: PathBuf,
    /// For logs.
    pub dir: PathBuf,
    /// Whether the double reloads sooner than the real one can, so that stories take less long.
    pub is_hurried: bool,
}

/// How the API is run, besides.
#[derive(Clone, Default)]
struct Conditions {
    /// It listens for TLS alone, with this certificate.
    tls: Option<Certificate>,
    /// It cannot write its files.
    is_read_only: bool,
}

/// Both containers, running.
pub struct Sidecar {
    haproxy: Process,
    /// `None` while it is dead.
    api: Option<Process>,
    spec: Spec,
    conditions: Conditions,
}

impl Sidecar {
    /// Starts both on what the folder holds; back when the API answers.
    pub async fn start(spec: Spec) -> Outcome<Self> {
        for folder in ["maps", "ssl", "general", "run", "dp", "dp/tx", "dp/backups", "spoe"] {
            fs::create_dir_all(spec.folder.join(folder))?;
        }
        fs::create_dir_all(&spec.mounted)?;
        let seed = spec.folder.join("haproxy.cfg");
        if !seed.exists() {
            fs::write(seed, SEED)?;
        }
        let mut haproxy = spec.command();
        haproxy.args(["sh", "-c", AGAIN, "again"]).arg(program::haproxy(spec.series)?);
        haproxy.args(["-W", "-db", "-S"]).arg(format!("{},level,admin", spec.inside("run/master.sock")));
        haproxy.args(["-f", &spec.inside("haproxy.cfg")]);
        let haproxy = Process::start(haproxy, &spec.dir.join("haproxy.log"))?;
        let mut sidecar = Self { haproxy, api: None, spec, conditions: Conditions::default() };
        sidecar.restart_api().await?;
        sidecar.answers().await?;
        Ok(sidecar)
    }

    /// Waits until the API answers, and HAProxy through it.
    pub async fn answers(&mut self) -> Outcome {
        let (user, password) = self.spec.credentials.clone();
        eventually("the Data Plane API answers, and HAProxy through it", async || {
            self.api.as_mut().ok_or_else(|| Failure::new("it is dead"))?.ensure_running()?;
            self.haproxy.ensure_running()?;
            let mut api = self.open().await?;
            let answer = api.get_as((&user, &password), "/v3/services/haproxy/runtime/info").await?;
            answer.has_status(200)?;
            let is_up = answer.body.contains("\"pid\"");
            if is_up { Ok(()) } else { Err(Failure::new(answer.body)) }
        })
        .await
    }

    /// Starts the API anew, with other credentials.
    pub async fn restart_with(&mut self, credentials: (String, String)) -> Outcome {
        self.spec.credentials = credentials;
        self.restart_api().await
    }

    /// Ends the API at once and starts it anew: what it had in mind is lost.
    pub async fn restart_api(&mut self) -> Outcome {
        self.kill_api().await?;
        self.api = Some(self.spec.start_api(&self.conditions)?);
        Ok(())
    }

    /// Ends the API at once: HAProxy goes on.
    pub async fn kill_api(&mut self) -> Outcome {
        match self.api.take() {
            Some(api) => api.kill().await,
            None => Ok(()),
        }
    }

    /// Starts the API anew: from now on it speaks TLS, with this certificate.
    pub async fn restart_with_tls(&mut self, certificate: &Certificate) -> Outcome {
        self.conditions.tls = Some(certificate.clone());
        self.restart_api().await
    }

    /// Starts the API anew, on a disk that takes writes or does not.
    pub async fn restart_on_disk(&mut self, is_read_only: bool) -> Outcome {
        self.conditions.is_read_only = is_read_only;
        self.restart_api().await
    }

    /// The process of the API.
    pub fn api(&self) -> Outcome<&Process> {
        self.api.as_ref().ok_or_else(|| Failure::new("the Data Plane API does not run"))
    }

    async fn open(&self) -> Outcome<Connection> {
        Connection::open(self.spec.address, self.conditions.tls.as_ref().map(|_| "sidecar")).await
    }

    /// Ends HAProxy, all its processes; it is started again as kubelet does it.
    #[must_use]
    pub fn kill_haproxy(&self) -> usize {
        self.haproxy.kill_descendants("haproxy")
    }

    /// Ends everything at once.
    pub async fn kill(self) -> Outcome {
        if let Some(api) = self.api {
            api.kill().await?;
        }
        self.haproxy.kill().await
    }

    /// Somebody else has the API put `configuration` in the place of what is there, and HAProxy reloaded.
    pub async fn push(&self, configuration: &str) -> Outcome {
        let (user, password) = &self.spec.credentials;
        let credentials = (user.as_str(), password.as_str());
        let mut api = self.open().await?;
        eventually("nobody else writes at the same time", async || {
            let version = api.get_as(credentials, "/v3/services/haproxy/configuration/version").await?;
            version.has_status(200)?;
            let path = format!("/v3/services/haproxy/configuration/raw?version={}", version.body.trim());
            let answer = api.post_as(credentials, &path, ("text/plain", configuration)).await?;
            ensure(answer.status == 202, format!("answer {} {:?}", answer.status, answer.body))
        })
        .await
    }

    /// Any call of the API: method and path, further lines of its head, its body.
    pub async fn ask(&self, call: (&str, &str), head: &str, body: &str) -> Outcome<Response> {
        let (user, password) = &self.spec.credentials;
        self.open().await?.ask_as((user, password), call, head, body).await
    }

    /// Where its folder is, for HAProxy and the API.
    #[must_use]
    pub fn mounted(&self) -> String {
        self.spec.mounted.display().to_string()
    }

    /// What the double should do wrong soon; the real one cannot be asked to.
    pub async fn fault(&self, faults: &Value) -> Outcome {
        let (user, password) = &self.spec.credentials;
        let mut api = self.open().await?;
        let body = ("application/json", &*faults.to_string());
        api.post_as((user, password), "/double/faults", body).await?.has_status(204)
    }

    /// What HAProxy's worker answers.
    pub async fn runtime(&self, command: &str) -> Outcome<String> {
        self.master(&format!("@1 {command}")).await
    }

    async fn master(&self, command: &str) -> Outcome<String> {
        // From outside the socket has another name, which may be too long for one. While the master reloads, 3.0 takes no connection.
        let folder = fs::File::open(self.spec.folder.join("run"))?;
        let socket = format!("/proc/self/fd/{}/master.sock", folder.as_raw_fd());
        let mut socket = eventually_within(RELOADED_WITHIN, "the master's socket answers", async || {
            Ok(UnixStream::connect(&socket).await?)
        })
        .await?;
        socket.write_all(format!("{command}\n").as_bytes()).await?;
        socket.shutdown().await?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    /// What an agent would say of itself, as far as it shows here.
    pub async fn status(&self) -> Outcome<Value> {
        let processes = self.master("show proc").await?;
        let line = |kind: &str| {
            let mut lines = processes.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            lines.find(|words| words.get(1) == Some(&kind))
        };
        let number = |words: Option<Vec<&str>>, at: usize| -> Option<u64> { words?.get(at)?.parse().ok() };
        let record = fs::read(self.spec.folder.join("general/haptic-record.json")).unwrap_or_default();
        let record: Value = serde_json::from_slice(&record).unwrap_or_default();
        // The record is written before and after a change: until then HAProxy may serve what the record does not tell.
        let is_settled = record["halfWay"] == json!(false) && record["unsure"].is_null();
        let stored = if is_settled { record["running"].clone() } else { Value::Null };
        let running = if record["ahead"].is_null() { &record["running"] } else { &record["ahead"] };
        Ok(json!({
            "running": running, "stored": stored, "ahead": !record["ahead"].is_null(), "epoch": record["epoch"],
            "exact": true, "alive": true,
            "workerPid": number(line("worker"), 0), "reloads": number(line("master"), 2),
        }))
    }
}

impl Spec {
    /// A program in the pod's mount namespace.
    fn command(&self) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", MOUNTED, "mounted"]);
        command.arg(&self.folder).arg(&self.mounted);
        command.env(POD_ADDRESS, self.address.ip().to_string());
        command
    }

    fn inside(&self, path: &str) -> String {
        self.mounted.join(path).display().to_string()
    }

    fn start_api(&self, conditions: &Conditions) -> Outcome<Process> {
        let mut settings = self.settings()?;
        if let Some(Certificate { pem, key, .. }) = &conditions.tls {
            for (name, text) in [("tls.crt", pem), ("tls.key", key)] {
                fs::write(self.folder.join("dp").join(name), text)?;
            }
            let own = &mut settings["dataplaneapi"];
            own["scheme"] = json!(["https"]);
            own["tls"] = json!({
                "tls_host": own["host"], "tls_port": own["port"],
                "tls_certificate": self.inside("dp/tls.crt"), "tls_key": self.inside("dp/tls.key"),
            });
        }
        fs::write(self.folder.join("dp/dataplaneapi.yaml"), settings.to_string())?;
        let mut command = self.command();
        if conditions.is_read_only {
            command.env("READ_ONLY", WRITTEN);
        }
        if self.is_hurried {
            command.env("DOUBLE_RELOAD_DELAY_MILLIS", RELOAD_DELAY_MILLIS);
        }
        command.arg(program::data_plane_api()?).args(["-f", &self.inside("dp/dataplaneapi.yaml")]);
        let version = match self.series {
            HaproxySeries::V3_0 => "v3.0.22",
            HaproxySeries::V3_2 => "v3.2.14",
            HaproxySeries::V3_4 => "v3.4.0",
        };
        command.env("DOUBLE_VERSION", version);
        Process::start(command, &self.dir.join("data-plane-api.log"))
    }

    /// Those of the documentation, at this pod's paths. JSON is YAML.
    fn settings(&self) -> Outcome<Value> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/dataplaneapi/dataplaneapi.yaml");
        let text = fs::read_to_string(file)?.replace("/etc/haproxy", &self.mounted.display().to_string());
        let mut settings: Value = serde_saphyr::from_str(&text)?;
        let (name, password) = &self.credentials;
        settings["dataplaneapi"]["host"] = json!(self.address.ip());
        settings["dataplaneapi"]["port"] = json!(self.address.port());
        settings["dataplaneapi"]["user"] = json!([{ "name": name, "password": password, "insecure": true }]);
        settings["haproxy"]["haproxy_bin"] = json!(program::haproxy(self.series)?);
        Ok(settings)
    }
}

/// Sets a configuration up for pods whose folders are mounted at `mounted`.
pub fn fit(spec: &mut Value, mounted: &Path) {
    let at = |path: &str| json!(mounted.join(path));
    let dataplane = &mut spec["dataplane"];
    dataplane["transport"] = json!("dataplaneapi");
    dataplane["mapsDir"] = at("maps");
    dataplane["sslCertsDir"] = at("ssl");
    dataplane["generalStorageDir"] = at("general");
    dataplane["configFile"] = at("haproxy.cfg");
    // What agents do without a reload is one here: stories that tell of both must not take long for it.
    dataplane["minDeploymentInterval"] = json!("500ms");
}
