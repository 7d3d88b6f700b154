//! Two innocent tenants on a HAProxy that a controller keeps, and everything that shows how they fare.
//!
//! Alpha has a host of each kind: plain, of its own certificate, by a wildcard, with client certificates, with a password, with
//! a path for some networks only. Beta has the default certificate. Alpha changes, too: endpoints move, routes come.

use super::{
    case::{Around, Ask, Mallory},
    memory::{self, Watch},
    witness::{Client, Front, Question, Witness},
};
use crate::{
    backend::Backend,
    certificate::{self, Authority},
    configuration::{Configuration, FRONTEND_PORTS, POD_ADDRESS},
    controller::{Controller, HEALTH_PORT},
    eventually::eventually_within,
    failure::{Outcome, ensure},
    haproxy_pod::HaproxyPod,
    http,
    manifest::BACKEND_PORT,
    network::{Block, METADATA},
    objects::Objects,
    process::Process,
    program::{self, HaproxySeries},
    scene::Scene,
};
use serde_json::{Value, json};
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};
use tokio::process::Command;

/// What a server answers that nobody may reach through HAProxy.
pub const CANARY: &str = "nobody may reach this";
/// For HAProxy to serve alpha for the first time.
const STARTED_WITHIN: Duration = Duration::from_secs(120);
const DEBUG_PORT: u16 = 6060;
/// A host that the configuration gives to alpha, whoever asks for it first.
pub const LISTED: &str = "listed.example";

/// How an arena is.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its addresses.
    pub block: Block,
    /// The HAProxy.
    pub series: HaproxySeries,
    /// Ingresses of beta, each with a Service and three endpoints.
    pub innocent: usize,
    /// Its files.
    pub dir: PathBuf,
}

/// A running controller with HAProxy, alpha and beta.
pub struct Arena {
    /// Where objects are written.
    pub objects: Objects,
    /// Where HAProxy answers.
    pub front: Front,
    /// Asks for alpha and beta.
    pub witness: Witness,
    /// The controller's memory.
    pub memory: Watch,
    /// Addresses for hostile objects.
    pub around: Around,
    /// So many changes alpha has made.
    pub(super) changes: usize,
    options: Options,
    controller: Controlled,
    innocents: Innocents,
}

/// Alpha and beta: their objects, servers, and clients.
struct Innocents {
    objects: Vec<Value>,
    /// Without a certificate, and with alpha's.
    clients: (Client, Client),
    _servers: Vec<Backend>,
}

impl Innocents {
    async fn new(block: Block, more: usize) -> Outcome<Self> {
        let authority = Authority::new("alpha")?;
        let clients = (Client::anonymous()?, Client::with(&authority.sign(&["client".to_owned()])?)?);
        Ok(Self { objects: innocent(block, &authority, more)?, clients, _servers: servers(block).await? })
    }
}

/// Who is watched.
enum Controlled {
    /// `haptic local`, at this address.
    Local(Process, Ipv4Addr),
    /// A controller in a cluster, with its pod.
    Cluster(Box<(Controller, HaproxyPod, Scene)>),
}

impl Controlled {
    fn address(&self) -> Ipv4Addr {
        match self {
            Self::Local(_, address) => *address,
            Self::Cluster(parts) => parts.0.address,
        }
    }

    fn id(&self) -> u32 {
        match self {
            Self::Local(process, _) => process.id(),
            Self::Cluster(parts) => parts.0.process_id(),
        }
    }

    async fn is_alive(&mut self) -> Outcome {
        if let Self::Local(process, _) = self {
            process.ensure_running()?;
        }
        let answer = http::get((self.address(), HEALTH_PORT).into(), "controller", "/livez").await?;
        answer.has_status(200)
    }

    async fn end(self) -> Outcome {
        match self {
            Self::Local(process, _) => process.kill().await,
            Self::Cluster(parts) => parts.0.kill().await,
        }
    }

    /// Waits until alpha and beta are answered as they should be.
    async fn serves(front: Front, questions: &[(Question, &str)]) -> Outcome {
        eventually_within(STARTED_WITHIN, "alpha and beta are served", async || {
            for ((client, ask), right) in questions {
                let answer = client.ask(front, ask, Duration::from_secs(5)).await;
                ensure(answer.contains(right), format!("{}{}: {answer}", ask.host, ask.path))?;
            }
            Ok(())
        })
        .await
    }
}

/// The servers of alpha, in the order in which its endpoints move.
pub const MOVING: [&str; 2] = ["alpha one", "alpha two"];

impl Arena {
    /// `haptic local` with a folder of manifests: no API server is needed.
    ///
    /// # Errors
    /// A part is missing, or alpha is not served.
    pub async fn local(options: Options) -> Outcome<Self> {
        Self::local_with(options, &[]).await
    }

    /// The same where these objects are there from the beginning.
    ///
    /// # Errors
    /// A part is missing, or alpha is not served.
    pub async fn local_with(options: Options, hostile: &[Value]) -> Outcome<Self> {
        let manifests = options.dir.join("manifests");
        for left in [&manifests, &options.dir.join("haproxy")] {
            if left.exists() {
                fs::remove_dir_all(left)?;
            }
        }
        fs::create_dir_all(&manifests)?;
        let objects = Objects::Folder { path: manifests, namespace: "alpha".to_owned() };
        let innocents = Innocents::new(options.block, options.innocent).await?;
        let all = innocents.objects.iter().chain(hostile).cloned().collect();
        objects.create_group("beginning", all).await?;
        objects.create(&moved_to(options.block.backend(1))).await?;
        fs::write(
            options.dir.join("config.yaml"),
            configuration(Configuration::libraries("alpha")?).to_string(),
        )?;
        let (pod, address) = (options.block.pod(0), options.block.controller(0));
        let front = Front { plain: (pod, FRONTEND_PORTS.0).into(), secure: (pod, FRONTEND_PORTS.1).into() };
        let controller = Controlled::Local(start(&options)?, address);
        Self::watched(controller, objects, front, innocents, options).await
    }

    /// A controller with one pod in a cluster that nobody else uses.
    ///
    /// # Errors
    /// A part does not start, or alpha is not served.
    pub async fn in_cluster(scene: Scene) -> Outcome<Self> {
        let (client, namespace) = (scene.cluster.client.clone(), "alpha".to_owned());
        let objects = Objects::Cluster { client, namespace };
        let options = Options {
            block: scene.block,
            series: HaproxySeries::default(),
            innocent: 0,
            dir: scene.dir.clone(),
        };
        let innocents = Innocents::new(options.block, 0).await?;
        objects.create_group("beginning", innocents.objects.clone()).await?;
        objects.create(&moved_to(options.block.backend(1))).await?;
        scene.configure_with(&configuration(scene.configuration()?)).await?;
        let pod = scene.pod().await?;
        let controller = scene.controller()?;
        let front = Front { plain: pod.http(), secure: pod.https() };
        let controller = Controlled::Cluster(Box::new((controller, pod, scene)));
        Self::watched(controller, objects, front, innocents, options).await
    }

    async fn watched(
        controller: Controlled,
        objects: Objects,
        front: Front,
        innocents: Innocents,
        options: Options,
    ) -> Outcome<Self> {
        Controlled::serves(front, &questions(&innocents.clients)).await?;
        let memory = Watch::of(controller.id());
        let asked = questions(&innocents.clients).into_iter().map(|(question, _)| question).collect();
        let witness = Witness::start(front, asked).await;
        let around = around(options.block);
        Ok(Self { objects, front, witness, memory, around, changes: 0, options, controller, innocents })
    }

    /// Kills controller and HAProxy, and starts them on the files that they left; back when alpha and beta are served.
    ///
    /// # Errors
    /// They are not.
    pub async fn killed_and_started(self) -> Outcome<Self> {
        self.controller.end().await?;
        let controller = Controlled::Local(start(&self.options)?, self.options.block.controller(0));
        Self::watched(controller, self.objects, self.front, self.innocents, self.options).await
    }

    /// Ends it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn end(self) -> Outcome {
        self.controller.end().await
    }

    /// What the controller shows under `path`.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn look(&self, path: &str) -> Outcome<Value> {
        Ok(serde_json::from_str(&self.text((self.controller.address(), DEBUG_PORT).into(), path).await?)?)
    }

    async fn text(&self, address: SocketAddr, path: &str) -> Outcome<String> {
        let answer = http::get(address, "controller", path).await?;
        answer.has_status(200)?;
        Ok(answer.body)
    }

    /// Fails unless the controller runs and says that it lives.
    ///
    /// # Errors
    /// It does not.
    pub async fn is_alive(&mut self) -> Outcome {
        self.controller.is_alive().await
    }

    /// Reloads and worker changes that the agent counts.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn haproxy(&self) -> Outcome<(f64, f64)> {
        let pods = self.look("/debug/pods").await?;
        let agent: SocketAddr = pods[0]["address"].as_str().unwrap_or_default().parse()?;
        let text = self.text(agent, "/metrics").await?;
        Ok((
            sum(&text, "haptic_agent_haproxy_reloads_total"),
            sum(&text, "haptic_agent_haproxy_worker_changes_total"),
        ))
    }

    /// The anonymous client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.innocents.clients.0
    }

    /// Where the log is.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.options.dir.join("local.log")
    }

    /// The address of one of alpha's moving servers.
    #[must_use]
    pub fn moving(&self, number: usize) -> Ipv4Addr {
        self.options.block.backend(u8::try_from(1 + number % MOVING.len()).unwrap_or_default())
    }

    /// What the controller and its checks take now, in megabytes.
    #[must_use]
    pub fn container(&self) -> f64 {
        memory::look(self.controller.id()).map_or(0.0, |now| now.container)
    }
}

fn sum(metrics: &str, name: &str) -> f64 {
    let lines = metrics
        .lines()
        .filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{'])));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// Addresses for hostile objects of an arena in this block.
#[must_use]
pub fn around(block: Block) -> Around {
    Around { haproxy: block.pod(0), server: block.backend(3) }
}

async fn servers(block: Block) -> Outcome<Vec<Backend>> {
    let mut servers = Vec::new();
    let names = ["alpha", MOVING[0], MOVING[1], "mallory", "beta"];
    for (number, name) in (0..).zip(names) {
        servers.push(Backend::start(name, block.backend(number)).await?);
    }
    for address in [Ipv4Addr::LOCALHOST, METADATA] {
        servers.push(Backend::start(CANARY, address).await?);
    }
    Ok(servers)
}

fn start(options: &Options) -> Outcome<Process> {
    let mut command = Command::new(program::haptic()?);
    command.arg("local").arg("-f").arg(options.dir.join("config.yaml"));
    command
        .arg("--resources")
        .arg(options.dir.join("manifests"))
        .arg("--dir")
        .arg(options.dir.join("haproxy"));
    for listens in ["--bind-address", "--debug-address"] {
        command.arg(listens).arg(options.block.controller(0).to_string());
    }
    command.arg("--haproxy").arg(program::haproxy(options.series)?);
    command.env(POD_ADDRESS, options.block.pod(0).to_string());
    Process::start(command, &options.dir.join("local.log"))
}

/// The built-in libraries, for all namespaces; reloads may follow each other fast, or most of a test's time would be waiting.
fn configuration(configuration: Configuration) -> Value {
    let mut manifest = configuration.manifest;
    let spec = &mut manifest["spec"];
    for watched in spec["watchedResources"].as_object_mut().into_iter().flat_map(serde_json::Map::values_mut)
    {
        if let Some(watched) = watched.as_object_mut() {
            watched.remove("namespaces");
        }
    }
    spec["dataplane"]["minDeploymentInterval"] = json!("200ms");
    spec["controller"]["massDeletionHold"] = json!("0s");
    spec["hosts"] = json!([{ "hosts": [LISTED, format!("*.{LISTED}")], "namespaces": ["alpha"] }]);
    manifest
}

/// Everything that alpha and beta have.
fn innocent(block: Block, authority: &Authority, more: usize) -> Outcome<Vec<Value>> {
    let tenant = |namespace: &str, server: u8| Mallory {
        namespace: namespace.to_owned(),
        host: format!("{namespace}.example"),
        around: Around { haproxy: block.pod(0), server: block.backend(server) },
    };
    let (alpha, beta) = (tenant("alpha", 0), tenant("beta", 4));
    let own = certificate::for_host("alpha.example")?;
    let wild = certificate::for_host("*.alpha.example")?;
    let users = "anna:$5$rounds=1000$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2\n";
    let named = |mut ingress: Value, host: &str, path: &str| {
        ingress["spec"]["rules"][0]["host"] = host.into();
        ingress["spec"]["rules"][0]["http"]["paths"][0]["path"] = path.into();
        ingress
    };
    let mut secure =
        named(alpha.annotated("secure", &[("client-ca-secret", "ca".into())]), "secure.alpha.example", "/");
    secure["spec"]["tls"] = json!([{ "hosts": ["secure.alpha.example"], "secretName": "wild" }]);
    let mut any = named(alpha.ingress("any"), "*.alpha.example", "/");
    any["spec"]["tls"] = json!([{ "hosts": ["*.alpha.example"], "secretName": "wild" }]);
    let mut objects = alpha.with_web(vec![
        alpha.secured("web", &["alpha.example"], "own"),
        named(
            alpha.annotated("private", &[("allow-from", "192.0.2.0/24".into())]),
            "alpha.example",
            "/private",
        ),
        named(alpha.annotated("login", &[("auth-secret", "users".into())]), "alpha.example", "/login"),
        secure,
        any,
        alpha.tls("own", &own.pem, &own.key),
        alpha.tls("wild", &wild.pem, &wild.key),
        alpha.labelled("ca", "ca.crt", &authority.pem),
        alpha.labelled("users", "auth", users),
        alpha.service("moving"),
        named(alpha.ingress("listed"), LISTED, "/"),
        to_moving(named(alpha.ingress("moving"), "moving.alpha.example", "/")),
    ]);
    objects.extend(beta.with_web(vec![beta.ingress("web")]));
    objects.extend((0..more).flat_map(|number| crowd(&beta, number)));
    for object in &mut objects {
        object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    Ok(objects)
}

/// An Ingress of many, with its Service and endpoints, of which only the first is there.
fn crowd(beta: &Mallory, number: usize) -> [Value; 3] {
    let name = format!("crowd-{number}");
    let mut ingress = beta.ingress(&name);
    ingress["spec"]["rules"][0]["host"] = format!("{name}.beta.example").into();
    ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = name.clone().into();
    let addresses = (1..4).map(|n| format!("10.97.{}.{}", number / 80 % 256, number % 80 * 3 + n));
    [ingress, beta.service(&name), beta.slice(&name, &name, &addresses.collect::<Vec<_>>(), BACKEND_PORT)]
}

fn to_moving(mut ingress: Value) -> Value {
    ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = "moving".into();
    ingress
}

/// Alpha's endpoints that move, at one address.
#[must_use]
pub fn moved_to(address: Ipv4Addr) -> Value {
    let alpha = alpha();
    let mut slice = alpha.slice("moving", "moving", &[address.to_string()], BACKEND_PORT);
    slice["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    slice
}

/// A route of alpha that was not there.
#[must_use]
pub fn fresh(number: usize) -> Value {
    let mut ingress = alpha().ingress(&format!("fresh-{number}"));
    ingress["spec"]["rules"][0]["host"] = format!("fresh-{number}.example").into();
    ingress
}

fn alpha() -> Mallory {
    let nowhere = Around { haproxy: Ipv4Addr::UNSPECIFIED, server: Ipv4Addr::UNSPECIFIED };
    Mallory { namespace: "alpha".to_owned(), host: "alpha.example".to_owned(), around: nowhere }
}

/// What is asked of the two all the time, with a part of the right answer.
fn questions((anonymous, known): &(Client, Client)) -> Vec<(Question, &'static str)> {
    let (alpha, beta) = ("\r\n\r\nalpha", "\r\n\r\nbeta");
    let refused = ["HTTP/1.1 401 ", "HTTP/1.1 403 "];
    let ask = |tls, host: &str, path: &str| (anonymous.clone(), Ask { tls, ..Ask::get(host, path) });
    let login = Ask::get("alpha.example", "/login");
    let (_, secure) = ask(true, "secure.alpha.example", "/");
    vec![
        (ask(false, "alpha.example", "/"), alpha),
        (ask(true, "alpha.example", "/"), alpha),
        (ask(true, "any.alpha.example", "/"), alpha),
        (ask(true, "secure.alpha.example", "/"), refused[1]),
        ((known.clone(), secure), alpha),
        (ask(false, "alpha.example", "/private"), refused[1]),
        ((anonymous.clone(), login.clone()), refused[0]),
        ((anonymous.clone(), login.with_password()), alpha),
        (ask(false, LISTED, "/"), alpha),
        (ask(false, "beta.example", "/"), beta),
        (ask(true, "beta.example", "/"), beta),
    ]
}
