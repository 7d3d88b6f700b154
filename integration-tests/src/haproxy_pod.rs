//! A HAProxy pod: its Pod object, and on its address the agent with the HAProxy that the agent keeps, or HAProxy with the Data
//! Plane API beside it.

use crate::{
    cluster::Cluster,
    configuration::{POD_ADDRESS, pod_labels},
    eventually::eventually,
    failure::{Failure, Outcome, ensure},
    http::{self, Connection, Response},
    manifest,
    process::Process,
    program::{self, HaproxySeries},
    sidecar::{self, Sidecar},
    traffic::Traffic,
    wire::Wire,
};
use serde_json::Value;
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    process::Command,
};

/// Where controllers find the agent.
pub const AGENT_PORT: u16 = 5555;
/// Where it really listens, behind its [`Wire`].
const BEHIND_WIRE: u16 = 5556;

/// What all pods of a journey have in common.
#[derive(Clone)]
pub struct PodSpec {
    /// Where the Pod object lives.
    pub cluster: Arc<Cluster>,
    /// And in which namespace.
    pub namespace: String,
    /// The `haptic` that its agent is.
    pub program: PathBuf,
    /// Which HAProxy.
    pub series: HaproxySeries,
    /// What the agent accepts.
    pub credentials: (String, String),
    /// Of the frontends: plain and TLS.
    pub ports: (u16, u16),
    /// Whether a [`Wire`] lies between controller and agent.
    pub wired: bool,
    /// Whether its agent logs all that it can.
    pub traced: bool,
    /// Where the folders of pods with the Data Plane API are mounted; `None`: they have an agent.
    pub mounted: Option<PathBuf>,
}

/// What runs in a pod.
enum Containers {
    Agent(Box<Process>),
    Sidecar(Box<Sidecar>),
}

/// The process of HAProxy that takes connections now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its number.
    pub pid: u64,
    /// Reloads since the agent started.
    pub reloads: u64,
}

/// One pod.
pub struct HaproxyPod {
    /// Its name, and its object's.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// What lies between it and the controller.
    pub wire: Wire,
    spec: PodSpec,
    dir: PathBuf,
    containers: Option<Containers>,
}

impl HaproxyPod {
    /// Starts agent and HAProxy with their files in `dir`, then creates the Pod object.
    pub async fn start(name: &str, address: Ipv4Addr, dir: PathBuf, spec: PodSpec) -> Outcome<Self> {
        fs::create_dir_all(&dir)?;
        let wire = if spec.wired {
            Wire::between((address, AGENT_PORT).into(), (address, BEHIND_WIRE).into()).await?
        } else {
            Wire::absent()
        };
        let mut pod = Self { name: name.to_owned(), address, wire, spec, dir, containers: None };
        pod.start_containers().await?;
        let object = pod.object();
        pod.spec.cluster.apply(&pod.spec.namespace, &object).await?;
        pod.spec
            .cluster
            .set_status(&pod.spec.namespace, &object, &manifest::pod_status(address, true))
            .await?;
        Ok(pod)
    }

    /// Starts the agent, or the Data Plane API, on what the last one left in its folder; back when it answers.
    pub async fn start_containers(&mut self) -> Outcome {
        if let Some(Containers::Sidecar(sidecar)) = &mut self.containers {
            sidecar.restart_api().await?;
            return sidecar.answers().await;
        }
        ensure(self.containers.is_none(), format!("{} is running", self.name))?;
        if let Some(mounted) = self.spec.mounted.clone() {
            let spec = sidecar::Spec {
                series: self.spec.series,
                address: self.agent_address(),
                credentials: self.spec.credentials.clone(),
                folder: self.folder(),
                mounted,
                dir: self.dir.clone(),
                is_hurried: self.spec.wired,
            };
            self.containers = Some(Containers::Sidecar(Box::new(Sidecar::start(spec).await?)));
            return Ok(());
        }
        let mut command = Command::new(&self.spec.program);
        command.arg("agent").arg("--listen").arg(self.agent_address().to_string());
        command
            .arg("--dir")
            .arg(self.dir.join("haproxy"))
            .arg("--haproxy")
            .arg(program::haproxy(self.spec.series)?);
        self.mount_credentials()?;
        command.arg("--credentials-dir").arg(self.credentials_dir());
        if self.spec.traced {
            command.env("RUST_LOG", "trace");
        }
        command.env(POD_ADDRESS, self.address.to_string());
        fs::create_dir_all(self.dir.join("haproxy"))?;
        let agent = Process::start(command, &self.dir.join("agent.log"))?;
        self.containers = Some(Containers::Agent(Box::new(agent)));
        eventually(format!("the agent of {} answers", self.name), async || {
            if let Some(Containers::Agent(agent)) = &mut self.containers {
                agent.ensure_running()?;
            }
            http::get(self.agent_address(), "agent", "/healthz").await?.has_status(200)
        })
        .await
    }

    /// What its agent printed so far, and HAProxy with it.
    #[must_use]
    pub fn printed(&self) -> String {
        self.running().map(Process::printed).unwrap_or_default()
    }

    /// Gives the pod other credentials, as a changed Secret that is mounted.
    pub async fn change_credentials(&mut self, credentials: (String, String)) -> Outcome {
        self.spec.credentials = credentials.clone();
        match &mut self.containers {
            Some(Containers::Sidecar(sidecar)) => sidecar.restart_with(credentials).await,
            _ => self.mount_credentials(),
        }
    }

    /// As kubelet does it: a folder beside the one before, and a link that is swapped.
    fn mount_credentials(&self) -> Outcome {
        let mount = self.credentials_dir();
        let version = format!("..{}", fs::read_dir(&mount).map_or(0, Iterator::count));
        fs::create_dir_all(mount.join(&version))?;
        fs::write(mount.join(&version).join("dataplane_username"), &self.spec.credentials.0)?;
        fs::write(mount.join(&version).join("dataplane_password"), &self.spec.credentials.1)?;
        let new = mount.join("..data.new");
        std::os::unix::fs::symlink(version, &new)?;
        Ok(fs::rename(new, mount.join("..data"))?)
    }

    fn credentials_dir(&self) -> PathBuf {
        self.dir.join("credentials")
    }

    /// Ends agent and HAProxy at once, as a crash of the container does. The Pod object and the files stay.
    pub async fn crash(&mut self) -> Outcome {
        match self.take()? {
            Containers::Agent(agent) => agent.kill().await,
            Containers::Sidecar(sidecar) => sidecar.kill().await,
        }
    }

    /// Ends the agent or the Data Plane API alone, without asking: its HAProxy goes on, and is found by the next one.
    pub async fn kill_agent(&mut self) -> Outcome {
        match self.take()? {
            Containers::Agent(agent) => agent.kill_alone().await,
            Containers::Sidecar(mut sidecar) => {
                let killed = sidecar.kill_api().await;
                self.containers = Some(Containers::Sidecar(sidecar));
                killed
            }
        }
    }

    /// Ends the agent alone, and starts `program` as the next one on the same files.
    pub async fn replace_agent(&mut self, program: PathBuf) -> Outcome {
        self.kill_agent().await?;
        self.spec.program = program;
        self.start_containers().await
    }

    /// Whether it has an agent, and not the Data Plane API.
    #[must_use]
    pub fn has_agent(&self) -> bool {
        self.spec.mounted.is_none()
    }

    /// What HAProxy calls the map in file `name`.
    #[must_use]
    pub fn map(&self, name: &str) -> String {
        match &self.spec.mounted {
            Some(mounted) => mounted.join("maps").join(name).display().to_string(),
            None => format!("maps/{name}"),
        }
    }

    fn take(&mut self) -> Outcome<Containers> {
        self.containers.take().ok_or_else(|| Failure::new(format!("{} does not run", self.name)))
    }

    /// Its Data Plane API.
    pub fn sidecar(&mut self) -> Outcome<&mut Sidecar> {
        match &mut self.containers {
            Some(Containers::Sidecar(sidecar)) => Ok(sidecar),
            _ => Err(Failure::new(format!("{} has no Data Plane API that runs", self.name))),
        }
    }

    /// Ends HAProxy alone, all its processes, under the agent's feet.
    pub fn kill_haproxy(&self) -> Outcome {
        let killed = match &self.containers {
            Some(Containers::Agent(agent)) => agent.kill_descendants("haproxy"),
            Some(Containers::Sidecar(sidecar)) => sidecar.kill_haproxy(),
            None => 0,
        };
        ensure(killed > 0, format!("{} runs no HAProxy", self.name))
    }

    /// Ends everything and deletes the Pod object: the pod is gone for good.
    pub async fn remove(mut self) -> Outcome {
        self.crash().await?;
        self.spec.cluster.delete(&self.spec.namespace, &self.object()).await
    }

    /// Stops the agent without its notice: it takes connections and answers nothing. Its HAProxy goes on.
    pub fn hang(&self) -> Outcome {
        self.running()?.pause()
    }

    /// Lets the agent go on after [`HaproxyPod::hang`].
    pub fn go_on(&self) -> Outcome {
        self.running()?.resume()
    }

    /// The number of the agent's process.
    pub fn agent_process(&self) -> Outcome<u32> {
        Ok(self.running()?.id())
    }

    /// The worker that HAProxy's master has started last, and how often HAProxy was reloaded, as the agent tells them. There is
    /// none for a moment while the master starts itself anew.
    #[track_caller]
    pub fn worker(&self) -> impl Future<Output = Outcome<Worker>> {
        eventually(format!("{} has a worker", self.name), async || {
            let status = self.status().await?;
            let told = |name: &str| status[name].as_u64().filter(|told| name != "workerPid" || *told > 0);
            match (told("workerPid"), told("reloads")) {
                (Some(pid), Some(reloads)) => Ok(Worker { pid, reloads }),
                _ => Err(Failure::new(format!("no running worker in {status}"))),
            }
        })
    }

    /// HAProxy's answer to a command of its runtime API.
    pub async fn runtime(&self, command: &str) -> Outcome<String> {
        if let Some(Containers::Sidecar(sidecar)) = &self.containers {
            return sidecar.runtime(command).await;
        }
        let mut socket = UnixStream::connect(self.folder().join("worker.sock")).await?;
        socket.write_all(format!("{command}\n").as_bytes()).await?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    /// The addresses of the servers that take requests, in backends whose name contains `backend`.
    pub async fn in_service(&self, backend: &str) -> Outcome<Vec<String>> {
        let state = self.runtime("show servers state").await?;
        let servers = state.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let ready = servers.filter(|words| {
            words.get(1).is_some_and(|name| name.contains(backend)) && words.get(6) == Some(&"0")
        });
        Ok(ready.filter_map(|words| words.get(4).map(|address| (*address).to_owned())).collect())
    }

    /// Where the agent keeps HAProxy's files.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.dir.join("haproxy")
    }

    /// Where the agent itself listens.
    #[must_use]
    pub fn agent_address(&self) -> SocketAddr {
        (self.address, if self.spec.wired { BEHIND_WIRE } else { AGENT_PORT }).into()
    }

    fn running(&self) -> Outcome<&Process> {
        match &self.containers {
            Some(Containers::Agent(agent)) => Ok(agent),
            Some(Containers::Sidecar(sidecar)) => sidecar.api(),
            None => Err(Failure::new(format!("{} does not run", self.name))),
        }
    }

    /// Where it answers plain HTTP.
    #[must_use]
    pub fn http(&self) -> SocketAddr {
        (self.address, self.spec.ports.0).into()
    }

    /// Where it answers over TLS.
    #[must_use]
    pub fn https(&self) -> SocketAddr {
        (self.address, self.spec.ports.1).into()
    }

    /// One request over plain HTTP.
    pub async fn get(&self, host: &str, path: &str) -> Outcome<Response> {
        http::get(self.http(), host, path).await
    }

    /// Waits until `host` is answered by backend `backend`.
    ///
    /// # Errors
    /// It never is: the last answer.
    #[track_caller]
    pub fn serves(&self, host: &str, backend: &str) -> impl Future<Output = Outcome> {
        let what = format!("{} answers {host} from {backend}", self.name);
        let (address, host, backend) = (self.http(), host.to_owned(), backend.to_owned());
        eventually(what, async move || http::get(address, &host, "/").await?.is_from(&backend))
    }

    /// Waits until `host` is answered with `status`.
    ///
    /// # Errors
    /// It never is: the last answer.
    #[track_caller]
    pub fn answers(&self, host: &str, status: u16) -> impl Future<Output = Outcome> {
        let what = format!("{} answers {host} with {status}", self.name);
        let (address, host) = (self.http(), host.to_owned());
        eventually(what, async move || http::get(address, &host, "/").await?.has_status(status))
    }

    /// Waits until `host` is answered over TLS by `backend`, with `certificate` in DER.
    ///
    /// # Errors
    /// It never is: the last answer.
    #[track_caller]
    pub fn serves_tls(&self, host: &str, backend: &str, certificate: &[u8]) -> impl Future<Output = Outcome> {
        let what =
            format!("{} answers https://{host} from {backend} with the certificate expected", self.name);
        let (address, host, backend, wanted) =
            (self.https(), host.to_owned(), backend.to_owned(), certificate.to_vec());
        eventually(what, async move || {
            let response = http::get_tls(address, &host, "/").await?;
            response.is_from(&backend)?;
            ensure(response.certificate == Some(wanted.clone()), "another certificate")
        })
    }

    /// Steady traffic for `host`.
    #[must_use]
    pub fn traffic(&self, host: &str) -> Traffic {
        Traffic::start(4, self.http(), host)
    }

    /// The newest leadership that the agent has seen: when its Lease was made, and its transitions.
    pub async fn epoch(&self) -> Outcome<(i64, i64)> {
        let status = self.status().await?;
        let number = |field: &str| status["epoch"][field].as_i64();
        number("leaseCreated")
            .zip(number("transitions"))
            .ok_or_else(|| Failure::new(format!("no epoch in {status}")))
    }

    /// Waits until what it runs is on its disk too: the check behind it is over, and a restart would bring the same.
    ///
    /// # Errors
    /// They never become the same: the last status.
    #[track_caller]
    pub fn has_stored_what_it_runs(&self) -> impl Future<Output = Outcome> {
        eventually(format!("{} has stored what it runs", self.name), async || {
            let status = self.status().await?;
            let digest = |bundle: &str| status[bundle]["digest"].as_str();
            // In the midst of an order an agent tells of the bundle before, and that what runs and what lies there is not exactly that.
            let is_settled = status["exact"] == true && status["intact"] != false;
            let is_stored = digest("running").is_some() && digest("running") == digest("stored");
            ensure(is_settled && is_stored, status.to_string())
        })
    }

    /// What the agent says of itself.
    pub async fn status(&self) -> Outcome<Value> {
        if let Some(Containers::Sidecar(sidecar)) = &self.containers {
            return sidecar.status().await;
        }
        let (user, password) = &self.spec.credentials;
        let mut agent = Connection::open(self.agent_address(), None).await?;
        let answer = agent.get_as((user, password), "/v1/status").await?;
        answer.has_status(200)?;
        Ok(serde_json::from_str(&answer.body)?)
    }

    fn object(&self) -> Value {
        manifest::haproxy_pod(&self.name, &pod_labels())
    }
}
