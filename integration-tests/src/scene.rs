//! What one journey has for itself: a namespace, a block of addresses, a folder, and the parts it starts there.

use crate::{
    backend::Backend,
    cluster::Cluster,
    configuration::{CREDENTIALS, Configuration, FRONTEND_PORTS},
    controller::{Controller, Start},
    failure::Outcome,
    haproxy_pod::{HaproxyPod, PodSpec},
    manifest,
    memory_group::MemoryGroup,
    network::Block,
    process,
    program::{self, HaproxySeries},
    sidecar,
};
use serde_json::Value;
use std::{
    cell::Cell,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::process::Command;

/// A journey's own place.
pub struct Scene {
    /// The cluster, which other journeys use too, unless it is [`Scene::on_own_cluster`].
    pub cluster: Arc<Cluster>,
    /// Its namespace.
    pub namespace: String,
    /// Its addresses.
    pub block: Block,
    /// Its files.
    pub dir: PathBuf,
    /// User and password of its pods.
    pub credentials: (String, String),
    /// Where the folders of its pods are mounted, when they have the Data Plane API.
    mounted: Option<PathBuf>,
    backends: Cell<u8>,
    pods: Cell<u8>,
    controllers: Cell<u8>,
}

impl Scene {
    /// The place of journey `name`, with its namespace made.
    pub async fn new(cluster: Arc<Cluster>, name: &str, block: Block, dir: PathBuf) -> Outcome<Self> {
        fs::create_dir_all(&dir)?;
        let namespace = name.replace('_', "-");
        cluster.apply("", &manifest::namespace(&namespace)).await?;
        let credentials = ("admin".to_owned(), format!("secret of {namespace}"));
        let (backends, pods, controllers) = <(Cell<u8>, Cell<u8>, Cell<u8>)>::default();
        Ok(Self { cluster, namespace, block, dir, credentials, mounted: None, backends, pods, controllers })
    }

    /// The same with pods that have the Data Plane API in the place of an agent.
    #[must_use]
    pub fn through_data_plane_api(self) -> Self {
        // Sockets are below it, and their names must be short: each pod has its own, in a namespace of its own.
        let shared = self.dir.parent().unwrap_or(&self.dir).join("mnt");
        Self { mounted: Some(shared), ..self }
    }

    /// The folder of maps, as haproxy.cfg must name it.
    #[must_use]
    pub fn maps(&self) -> String {
        self.mounted
            .as_ref()
            .map_or_else(|| "maps".to_owned(), |mounted| mounted.join("maps").display().to_string())
    }

    /// The same on a cluster that no other journey uses, and that may therefore be stopped.
    pub async fn on_own_cluster(&self) -> Outcome<Self> {
        let cluster = ready_cluster(self.block.api_server(), &self.dir.join("cluster")).await?;
        let scene = Self::new(Arc::new(cluster), &self.namespace, self.block, self.dir.clone()).await?;
        Ok(Self { mounted: self.mounted.clone(), ..scene })
    }

    /// The same on a cluster that does not know HAPTIC's resources.
    pub async fn on_bare_cluster(&self) -> Outcome<Self> {
        let cluster = Cluster::start(self.block.api_server(), &self.dir.join("cluster")).await?;
        Self::new(Arc::new(cluster), &self.namespace, self.block, self.dir.clone()).await
    }

    /// Makes HAPTIC's resources known to the cluster.
    pub async fn install_definitions(&self) -> Outcome {
        install_definitions(&self.cluster).await
    }

    /// Makes the kinds of the Gateway API known to the cluster, as that is installed.
    pub async fn install_gateway_api(&self) -> Outcome {
        for file in fs::read_dir(program::definitions()?)? {
            let path = file?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("gateway.networking.k8s.io_") {
                self.cluster.install_definitions(&fs::read_to_string(&path)?).await?;
            }
        }
        Ok(())
    }

    /// The configuration, its Secret, one pod and one controller, started and ready.
    pub async fn running(&self) -> Outcome<(HaproxyPod, Controller)> {
        self.configure().await?;
        let pod = self.pod().await?;
        let controller = self.ready_controller().await?;
        // Made late, it would bring a reload that no story tells of.
        controller.says("made the certificate for hosts that have none").await?;
        Ok((pod, controller))
    }

    /// The same, with backends `a` and `b`, and `shop`, whose requests for `host` are answered by `a`.
    pub async fn serving(&self, host: &str) -> Outcome<(HaproxyPod, Controller, [Backend; 2])> {
        let (pod, controller) = self.running().await?;
        let backends = [self.backend("a").await?, self.backend("b").await?];
        let [a, _] = &backends;
        self.publish("shop", host, a).await?;
        pod.serves(host, &a.name).await?;
        Ok((pod, controller, backends))
    }

    /// Has `shop` lead to `backend`, and waits until requests for `host` get there through `pod`.
    pub async fn move_to(&self, backend: &Backend, pod: &HaproxyPod, host: &str) -> Outcome {
        self.apply(&manifest::endpoints("shop", &[backend.address])).await?;
        pod.serves(host, &backend.name).await
    }

    /// Applies the configuration of [`Scene::configuration`] and its Secret.
    pub async fn configure(&self) -> Outcome<Configuration> {
        let configuration = self.configuration()?;
        self.configure_with(&configuration.manifest).await?;
        Ok(configuration)
    }

    /// Applies this configuration, and the Secret that it refers to.
    pub async fn configure_with(&self, configuration: &Value) -> Outcome {
        self.apply(&manifest::credentials(CREDENTIALS, &self.credentials.0, &self.credentials.1)).await?;
        self.apply(configuration).await
    }

    /// The built-in libraries for this journey.
    pub fn configuration(&self) -> Outcome<Configuration> {
        Configuration::libraries(&self.namespace).map(|configuration| self.fitted(configuration))
    }

    /// The configuration that is written by hand, for this journey.
    pub fn by_hand(&self) -> Outcome<Configuration> {
        Configuration::by_hand(&self.namespace).map(|configuration| self.fitted(configuration))
    }

    fn fitted(&self, mut configuration: Configuration) -> Configuration {
        if let Some(mounted) = &self.mounted {
            sidecar::fit(&mut configuration.manifest["spec"], mounted);
        }
        configuration
    }

    /// Starts the next controller.
    pub fn controller(&self) -> Outcome<Controller> {
        self.controller_as("admin")
    }

    /// Starts the next controller, and waits until it is ready.
    pub async fn ready_controller(&self) -> Outcome<Controller> {
        let mut controller = self.controller()?;
        controller.ready().await?;
        Ok(controller)
    }

    /// Starts the next controller, which is `program`.
    pub fn controller_from(&self, program: PathBuf) -> Outcome<Controller> {
        self.start_controller(vec![program.into()], self.cluster.kubeconfig(), &[])
    }

    /// Starts the next controller, with the rights of `user`.
    pub fn controller_as(&self, user: &str) -> Outcome<Controller> {
        self.start_controller(vec![program::haptic()?.into()], self.cluster.kubeconfig_of(user), &[])
    }

    /// Starts the next controller, which reaches the API server as `kubeconfig` says.
    ///
    /// # Errors
    /// There is no `haptic`.
    pub fn controller_by(&self, kubeconfig: PathBuf) -> Outcome<Controller> {
        self.start_controller(vec![program::haptic()?.into()], kubeconfig, &[])
    }

    /// Starts the next controller, with these variables in its environment.
    pub fn controller_with(&self, variables: &[(&str, &str)]) -> Outcome<Controller> {
        self.start_controller(vec![program::haptic()?.into()], self.cluster.kubeconfig(), variables)
    }

    /// Starts the next controller, with no more memory than `group` has.
    pub fn controller_within(&self, group: &MemoryGroup) -> Outcome<Controller> {
        self.start_controller(group.words(&program::haptic()?), self.cluster.kubeconfig(), &[])
    }

    fn start_controller(
        &self,
        words: Vec<OsString>,
        kubeconfig: PathBuf,
        variables: &[(&str, &str)],
    ) -> Outcome<Controller> {
        let number = next(&self.controllers);
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Controller::start(Start {
            words,
            variables: variables.iter().map(owned).collect(),
            namespace: self.namespace.clone(),
            kubeconfig,
            address: self.block.controller(number),
            log: self.dir.join(format!("controller-{number}.log")),
        })
    }

    /// Starts the next pod, with HAProxy 3.4.
    pub async fn pod(&self) -> Outcome<HaproxyPod> {
        self.pod_of(HaproxySeries::default()).await
    }

    /// Starts the next pod with HAProxy `series`.
    pub async fn pod_of(&self, series: HaproxySeries) -> Outcome<HaproxyPod> {
        self.start_pod(series, |_| {}).await
    }

    /// The same without a wire between controller and agent.
    pub async fn unwired_pod_of(&self, series: HaproxySeries) -> Outcome<HaproxyPod> {
        self.start_pod(series, |spec| spec.wired = false).await
    }

    /// A pod whose agent logs all that it can.
    pub async fn traced_pod(&self) -> Outcome<HaproxyPod> {
        self.start_pod(HaproxySeries::default(), |spec| spec.traced = true).await
    }

    async fn start_pod(
        &self,
        series: HaproxySeries,
        change: impl FnOnce(&mut PodSpec),
    ) -> Outcome<HaproxyPod> {
        let number = next(&self.pods);
        let mut spec = PodSpec {
            cluster: Arc::clone(&self.cluster),
            namespace: self.namespace.clone(),
            program: program::haptic()?,
            series,
            credentials: self.credentials.clone(),
            ports: FRONTEND_PORTS,
            wired: true,
            mounted: self.mounted.clone(),
            traced: false,
        };
        change(&mut spec);
        let name = format!("haproxy-{number}");
        HaproxyPod::start(&name, self.block.pod(number), self.dir.join(&name), spec).await
    }

    /// Starts the next backend.
    pub async fn backend(&self, name: &str) -> Outcome<Backend> {
        Backend::start(name, self.block.backend(next(&self.backends))).await
    }

    /// Starts the next backend, which answers after `delay`.
    pub async fn slow_backend(&self, name: &str, delay: std::time::Duration) -> Outcome<Backend> {
        Backend::slow(name, self.block.backend(next(&self.backends)), delay).await
    }

    /// Applies a Service `name` with `backend` as its endpoint and an Ingress for `host`.
    pub async fn publish(&self, name: &str, host: &str, backend: &Backend) -> Outcome {
        self.publish_in(&self.namespace, name, host, backend).await
    }

    /// The same in `namespace`.
    pub async fn publish_in(&self, namespace: &str, name: &str, host: &str, backend: &Backend) -> Outcome {
        let endpoints = manifest::endpoints(name, &[backend.address]);
        for object in [manifest::service(name), endpoints, manifest::ingress(name, host, name)] {
            self.cluster.apply(namespace, &object).await?;
        }
        Ok(())
    }

    /// Makes another namespace, whose name ends in `name`.
    pub async fn another_namespace(&self, name: &str) -> Outcome<String> {
        let namespace = format!("{}-{name}", self.namespace);
        self.cluster.apply("", &manifest::namespace(&namespace)).await?;
        Ok(namespace)
    }

    /// Server-side apply in this journey's namespace.
    pub async fn apply(&self, manifest: &Value) -> Outcome {
        self.cluster.apply(&self.namespace, manifest).await.map(drop)
    }

    /// Deletes the object that `manifest` names.
    pub async fn delete(&self, manifest: &Value) -> Outcome {
        self.cluster.delete(&self.namespace, manifest).await
    }
}

/// A cluster that knows HAPTIC's resources.
pub async fn ready_cluster(address: std::net::Ipv4Addr, dir: &Path) -> Outcome<Cluster> {
    let cluster = Cluster::start(address, dir).await?;
    install_definitions(&cluster).await?;
    Ok(cluster)
}

async fn install_definitions(cluster: &Cluster) -> Outcome {
    let definitions = process::output(Command::new(program::haptic()?).arg("crd")).await?;
    cluster.install_definitions(&definitions).await
}

fn next(counter: &Cell<u8>) -> u8 {
    let number = counter.get();
    counter.set(number + 1);
    number
}
