//! A running controller with its HAProxy and two innocent tenants, on files or in a cluster, and everything that shows how
//! they fare.

use super::{
    case::Around,
    innocents::{Innocents, LISTED, MOVING, moved_to, questions},
    memory::{self, Watch},
    witness::{Client, Front, Question, Witness},
};
use crate::{
    configuration::{Configuration, FRONTEND_PORTS, POD_ADDRESS},
    controller::{Controller, HEALTH_PORT},
    eventually::eventually_within,
    failure::{Outcome, ensure},
    haproxy_pod::HaproxyPod,
    http,
    network::Block,
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

/// For HAProxy to serve alpha for the first time.
const STARTED_WITHIN: Duration = Duration::from_secs(120);
const DEBUG_PORT: u16 = 6060;

/// How an arena is.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its addresses.
    pub block: Block,
    /// The HAProxy.
    pub series: HaproxySeries,
    /// Ingresses of beta, each with a Service and three endpoints.
    pub innocent: usize,
    /// Whether Gateways are served, too.
    pub gateways: bool,
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

/// Who is watched.
enum Controlled {
    /// `haptic local`, at this address.
    Local(Box<Process>, Ipv4Addr),
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
    async fn serves(&self, front: Front, questions: &[(Question, &str)]) -> Outcome {
        let health = (self.address(), HEALTH_PORT).into();
        eventually_within(STARTED_WITHIN, "alpha and beta are served", async || {
            for ((client, ask), right) in questions {
                let answer = client.ask(front, ask, Duration::from_secs(5)).await;
                ensure(answer.contains(right), format!("{}{}: {answer}", ask.host, ask.path))?;
            }
            // HAProxy may serve what it served before, and the controller be on its way.
            http::get(health, "controller", "/readyz").await?.has_status(200)
        })
        .await
    }
}

impl Arena {
    /// `haptic local` with a folder of manifests: no API server is needed.
    pub async fn local(options: Options) -> Outcome<Self> {
        Self::local_with(options, &[]).await
    }

    /// The same where these objects are there from the beginning.
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
        let class = options.gateways.then(gateway_class);
        let all = innocents.objects.iter().chain(&class).chain(hostile).cloned().collect();
        objects.create_group("beginning", all).await?;
        objects.create(&moved_to(options.block.backend(1))).await?;
        let mut manifest = configuration(Configuration::libraries("alpha")?);
        if options.gateways {
            serve_gateways(&mut manifest["spec"]);
        }
        fs::write(options.dir.join("config.yaml"), manifest.to_string())?;
        let (pod, address) = (options.block.pod(0), options.block.controller(0));
        let front = Front { plain: (pod, FRONTEND_PORTS.0).into(), secure: (pod, FRONTEND_PORTS.1).into() };
        let controller = Controlled::Local(Box::new(start(&options)?), address);
        Self::watched(controller, objects, front, innocents, options).await
    }

    /// A controller with one pod in a cluster that nobody else uses.
    pub async fn in_cluster(scene: Scene) -> Outcome<Self> {
        let controller = scene.controller()?;
        Self::in_cluster_of(scene, controller).await
    }

    /// The same, with a controller that has been started.
    pub async fn in_cluster_of(scene: Scene, controller: Controller) -> Outcome<Self> {
        let (client, namespace) = (scene.cluster.client.clone(), "alpha".to_owned());
        let objects = Objects::Cluster { client, namespace };
        let options = Options {
            block: scene.block,
            series: HaproxySeries::default(),
            innocent: 0,
            gateways: false,
            dir: scene.dir.clone(),
        };
        let innocents = Innocents::new(options.block, 0).await?;
        objects.create_group("beginning", innocents.objects.clone()).await?;
        objects.create(&moved_to(options.block.backend(1))).await?;
        scene.configure_with(&configuration(scene.configuration()?)).await?;
        let pod = scene.pod().await?;
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
        controller.serves(front, &questions(&innocents.clients)).await?;
        let memory = Watch::of(controller.id());
        let asked = questions(&innocents.clients).into_iter().map(|(question, _)| question).collect();
        let witness = Witness::start(front, asked).await;
        let around = around(options.block);
        Ok(Self { objects, front, witness, memory, around, changes: 0, options, controller, innocents })
    }

    /// Kills controller and HAProxy, and starts them on the files that they left; back when alpha and beta are served.
    pub async fn killed_and_started(self) -> Outcome<Self> {
        self.controller.end().await?;
        let controller = Controlled::Local(Box::new(start(&self.options)?), self.options.block.controller(0));
        let again = Self::watched(controller, self.objects, self.front, self.innocents, self.options).await?;
        // What HAProxy serves from before is no change.
        Ok(Self { changes: self.changes, ..again })
    }

    /// Ends it.
    pub async fn end(self) -> Outcome {
        self.innocents.end().await;
        self.controller.end().await
    }

    /// What the controller shows under `path`.
    pub async fn look(&self, path: &str) -> Outcome<Value> {
        Ok(serde_json::from_str(&self.text((self.controller.address(), DEBUG_PORT).into(), path).await?)?)
    }

    async fn text(&self, address: SocketAddr, path: &str) -> Outcome<String> {
        let answer = http::get(address, "controller", path).await?;
        answer.has_status(200)?;
        Ok(answer.body)
    }

    /// Fails unless the controller runs and says that it lives.
    pub async fn is_alive(&mut self) -> Outcome {
        self.controller.is_alive().await
    }

    /// Reloads and worker changes that the agent counts.
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

fn gateway_class() -> Value {
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "haptic"},
        "spec": {"controllerName": "haproxy-haptic.org/gateway-controller"}})
}

/// Gateways have ports of HAProxy's own, at its address.
fn serve_gateways(spec: &mut Value) {
    spec["libraries"] = json!(["base", "ssl", "ingress", "gateway"]);
    spec["controller"]["gateway"] = json!({ "serviceMode": "none" });
    for (snippet, port, name) in [
        ("gateway-bind", "{{port}}", "{{port}}"),
        (
            "gateway-bind-many",
            "{{@root.gateway.firstPort}}-{{add @root.gateway.firstPort @root.gateway.ports -1}}",
            "many",
        ),
    ] {
        let bind = format!("bind \"${{{POD_ADDRESS}}}:{port}\" name {name}");
        spec["templateSnippets"][snippet] = json!({ "template": bind });
    }
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
