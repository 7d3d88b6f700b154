//! HAProxy with the Data Plane API beside it, as pods have had it before there was an agent: the real one, when
//! `HAPTIC_TEST_DATAPLANEAPI` names it, else its double.
//!
//! The API wants absolute names, the same in every pod. So each pod's folder is mounted at one place that all pods of a
//! journey share, in a mount namespace of its own.

use crate::{
    configuration::POD_ADDRESS,
    eventually::{eventually, eventually_within},
    failure::{Failure, Outcome},
    http::Connection,
    process::Process,
    program::{self, HaproxySeries},
};
use serde_json::{Value, json};
use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    process::Command,
};

/// Mounts $1 at $2, and runs the rest there.
const MOUNTED: &str = r#"set -eu; mount --bind "$1" "$2"; shift 2; exec "$@""#;
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
}

/// Both containers, running.
pub struct Sidecar {
    haproxy: Process,
    api: Process,
    spec: Spec,
}

impl Sidecar {
    /// Starts both on what the folder holds; back when the API answers.
    ///
    /// # Errors
    /// A part is missing, or does not answer.
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
        let api = spec.start_api()?;
        let mut sidecar = Self { haproxy, api, spec };
        sidecar.answers().await?;
        Ok(sidecar)
    }

    async fn answers(&mut self) -> Outcome {
        let (user, password) = self.spec.credentials.clone();
        eventually("the Data Plane API answers, and HAProxy through it", async || {
            self.api.ensure_running()?;
            self.haproxy.ensure_running()?;
            let mut api = Connection::open(self.spec.address, None).await?;
            let answer = api.get_as((&user, &password), "/v3/services/haproxy/runtime/info").await?;
            answer.has_status(200)?;
            let is_up = answer.body.contains("\"pid\"");
            if is_up { Ok(()) } else { Err(Failure::new(answer.body)) }
        })
        .await
    }

    /// Starts the API anew, with other credentials.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn restart_with(&mut self, credentials: (String, String)) -> Outcome {
        self.spec.credentials = credentials;
        self.restart_api()
    }

    /// Ends the API at once and starts it anew: what it had in mind is lost.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn restart_api(&mut self) -> Outcome {
        self.api.kill_now();
        self.api = self.spec.start_api()?;
        Ok(())
    }

    /// The process of the API.
    #[must_use]
    pub fn api(&self) -> &Process {
        &self.api
    }

    /// Ends HAProxy, all its processes; it is started again as kubelet does it.
    #[must_use]
    pub fn kill_haproxy(&self) -> usize {
        self.haproxy.kill_descendants("haproxy")
    }

    /// Ends everything at once.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn kill(self) -> Outcome {
        self.api.kill().await?;
        self.haproxy.kill().await
    }

    /// What the double should do wrong soon; the real one cannot be asked to.
    ///
    /// # Errors
    /// It is the real one.
    pub async fn fault(&self, faults: &Value) -> Outcome {
        let (user, password) = &self.spec.credentials;
        let mut api = Connection::open(self.spec.address, None).await?;
        api.post_as((user, password), "/double/faults", &faults.to_string()).await?.has_status(204)
    }

    /// What HAProxy's worker answers.
    ///
    /// # Errors
    /// HAProxy is down.
    pub async fn runtime(&self, command: &str) -> Outcome<String> {
        self.master(&format!("@1 {command}")).await
    }

    async fn master(&self, command: &str) -> Outcome<String> {
        // From outside the socket has another name. While the master reloads, 3.0 takes no connection.
        let socket = self.spec.folder.join("run/master.sock");
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
    ///
    /// # Errors
    /// HAProxy is down.
    pub async fn status(&self) -> Outcome<Value> {
        let processes = self.master("show proc").await?;
        let line = |kind: &str| {
            let mut lines = processes.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            lines.find(|words| words.get(1) == Some(&kind))
        };
        let number = |words: Option<Vec<&str>>, at: usize| -> Option<u64> { words?.get(at)?.parse().ok() };
        let record = fs::read(self.spec.folder.join("general/haptic-record.json")).unwrap_or_default();
        let record: Value = serde_json::from_slice(&record).unwrap_or_default();
        Ok(json!({
            "running": record["running"], "stored": record["running"], "epoch": record["epoch"],
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

    fn start_api(&self) -> Outcome<Process> {
        fs::write(self.folder.join("dp/dataplaneapi.yaml"), self.settings()?)?;
        let mut command = self.command();
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
    fn settings(&self) -> Outcome<String> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/dataplaneapi/dataplaneapi.yaml");
        let text = fs::read_to_string(file)?.replace("/etc/haproxy", &self.mounted.display().to_string());
        let mut settings: Value = serde_saphyr::from_str(&text)?;
        let (name, password) = &self.credentials;
        settings["dataplaneapi"]["host"] = json!(self.address.ip());
        settings["dataplaneapi"]["port"] = json!(self.address.port());
        settings["dataplaneapi"]["user"] = json!([{ "name": name, "password": password, "insecure": true }]);
        settings["haproxy"]["haproxy_bin"] = json!(program::haproxy(self.series)?);
        Ok(settings.to_string())
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
}
